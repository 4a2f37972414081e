use super::*;
use std::{io::ErrorKind as Io, sync::Arc};
use volley_error::{ErrorKind, Result};
use volley_memory::{
    Pool,
    spill::{Fault, SpillSpace},
};
use volley_testkit::{RowValues, rows_of};
use volley_types::{Type, Value};
use volley_vector::{
    Batch, Encoding, Vector,
    random::{Generator, opaque_type},
};

fn space() -> SpillSpace {
    SpillSpace::new(std::env::temp_dir(), None)
}

fn pool() -> Pool {
    Pool::root("test", None)
}

fn write(space: &SpillSpace, types: &[Type], batches: &[Batch], pool: &Pool) -> Result<SpillRun> {
    let mut writer = SpillWriter::new(space, types, pool)?;
    batches.iter().try_for_each(|it| writer.write(it))?;
    writer.finish()
}

/// All batches, none of them empty or too large.
fn read(run: &SpillRun, batch_rows: usize, pool: &Pool) -> Result<Vec<Batch>> {
    let mut reader = run.read(pool, batch_rows)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next()? {
        assert!((1..=batch_rows).contains(&batch.rows()), "{} rows", batch.rows());
        batch.validate().unwrap();
        batches.push(batch);
    }
    assert!(reader.next()?.is_none(), "the end stays the end");
    Ok(batches)
}

/// The rows as text, in which NaN is itself.
fn text(batches: &[Batch]) -> String {
    let rows: RowValues = batches.iter().flat_map(rows_of).collect();
    format!("{rows:?}")
}

/// One BIGINT column and one of text.
fn numbered(rows: std::ops::Range<usize>, text_bytes: usize) -> Batch {
    let numbers: Vec<i64> = rows.clone().map(|it| it as i64).collect();
    let text = |it| Value::text(format!("{it:0text_bytes$}"));
    let texts: Vec<Value> = rows.clone().map(text).collect();
    let texts = Vector::from_values(Type::Varchar, &texts);
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, numbers, None), texts], rows.len())
}

const NUMBERED: [Type; 2] = [Type::BigInt, Type::Varchar];

#[test]
fn rows_of_any_types_and_batches_come_back_in_their_order() {
    let (space, pool) = (space(), pool());
    for seed in 0..60 {
        let mut random = Generator::new(seed);
        let types: Vec<Type> = (0..random.below(4)).map(|_| random.data_type(2)).collect();
        let sizes: &[usize] = &[0, 1, 3, 100, 1024, 5000];
        let batches: Vec<Batch> = (0..random.below(8))
            .map(|_| {
                let rows = *random.choose(sizes);
                random.batch(&types, rows)
            })
            .collect();
        let run = write(&space, &types, &batches, &pool).unwrap();
        assert_eq!(run.rows(), batches.iter().map(Batch::rows).sum::<usize>());
        assert_eq!(run.types(), types);
        for batch_rows in [3, 1024, 1 << 20] {
            let found = read(&run, batch_rows, &pool).unwrap();
            assert_eq!(text(&found), text(&batches), "seed {seed}");
        }
        drop(run);
        assert_eq!((space.stats().bytes, pool.stats().bytes), (0, 0));
    }
}

#[test]
fn rows_without_columns_are_counted() {
    let (space, pool) = (space(), pool());
    let batches = [1, 100_000, 5].map(|it| Batch::new(Vec::new(), it));
    let run = write(&space, &[], &batches, &pool).unwrap();
    let rows = read(&run, 1024, &pool).unwrap().iter().map(Batch::rows).sum::<usize>();
    assert_eq!((run.rows(), rows), (100_006, 100_006));
}

#[test]
fn a_run_without_rows_has_no_file() {
    let space = space();
    let run = write(&space, &NUMBERED, &[], &pool()).unwrap();
    assert_eq!((run.rows(), run.bytes(), space.operations()), (0, 0, 0));
    assert!(read(&run, 10, &pool()).unwrap().is_empty());
}

#[test]
fn small_batches_are_put_together_and_large_ones_cut() {
    let (space, pool) = (space(), pool());
    let small: Vec<Batch> = (0..20_000).map(|it| numbered(it..it + 1, 5)).collect();
    let run = write(&space, &NUMBERED, &small, &pool).unwrap();
    let batches = read(&run, usize::MAX, &pool).unwrap();
    // 8 bytes, 5 of text, and up to 4 for its length.
    let fewest = 20_000 * 13 / BLOCK_BYTES;
    assert!((fewest..3 * fewest).contains(&batches.len()), "{} batches", batches.len());
    let large = write(&space, &NUMBERED, &[numbered(0..20_000, 5)], &pool).unwrap();
    let found = read(&large, usize::MAX, &pool).unwrap();
    assert!((fewest..3 * fewest).contains(&found.len()), "{} batches", found.len());
    assert_eq!(text(&found), text(&batches));
    assert!(run.bytes() < 2 * large.bytes() && large.bytes() < 2 * run.bytes());
}

#[test]
fn encodings_of_large_batches_are_kept() {
    let rows = 8000;
    let words: Vec<Value> =
        (0..5).map(|it| Value::text(format!("a long word, number {it}"))).collect();
    let codes: Vec<u32> = (0..rows).map(|it| it as u32 % 5).collect();
    let base = Arc::new(Vector::from_values(Type::Varchar, &words));
    let columns = vec![
        Vector::dictionary(codes.into(), base, None),
        Vector::constant(Type::Varchar, &words[1], rows),
    ];
    let batch = Batch::new(columns, rows);
    let types = [Type::Varchar, Type::Varchar];
    let run = write(&space(), &types, std::slice::from_ref(&batch), &pool()).unwrap();
    let found = read(&run, usize::MAX, &pool()).unwrap();
    assert_eq!(found.len(), 1, "dictionaries do not count as flat");
    assert!(matches!(found[0].column(0).encoding(), Encoding::Dictionary { .. }));
    assert!(found[0].column(1).is_constant());
    assert_eq!(text(&found), text(&[batch]));
}

#[test]
fn writers_and_readers_hold_what_they_claim_and_no_more() {
    let (space, pool) = (space(), pool());
    let batch = numbered(0..8192, 30);
    let mut writers: Vec<_> =
        (0..64).map(|_| SpillWriter::new(&space, &NUMBERED, &pool).unwrap()).collect();
    for start in (0..8192).step_by(128) {
        let writer = start / 128 % 64;
        writers[writer].write(&batch.slice(start, 128)).unwrap();
    }
    assert_eq!(pool.stats().bytes, 64 * WRITER_BYTES);
    assert_eq!(writers.iter().map(SpillWriter::rows).sum::<usize>(), 8192);
    writers[0].write(&batch).unwrap();
    assert!(writers[0].bytes() > 0);
    assert_eq!(pool.stats().peak_bytes, 64 * WRITER_BYTES);
    let runs: Vec<_> = writers.into_iter().map(|it| it.finish().unwrap()).collect();
    assert_eq!(pool.stats().bytes, 0);
    let readers: Vec<_> = runs.iter().map(|it| it.read(&pool, 1024).unwrap()).collect();
    assert_eq!(pool.stats().bytes, 64 * READER_BYTES);
    for mut reader in readers {
        while reader.next().unwrap().is_some() {}
    }
    assert_eq!((pool.stats().bytes, pool.stats().peak_bytes), (0, 64 * READER_BYTES));
}

#[test]
fn rows_larger_than_a_block_are_charged_while_they_are_written_and_read() {
    let (space, pool) = (space(), pool());
    let large = Value::text("large ".repeat(1 << 20));
    let values = [Value::text("a"), large.clone(), Value::text("b"), Value::Null, large];
    let batch = Batch::new(vec![Vector::from_values(Type::Varchar, &values)], 5);
    let run = write(&space, &[Type::Varchar], std::slice::from_ref(&batch), &pool).unwrap();
    assert_eq!(pool.stats().bytes, 0);
    assert!(pool.stats().peak_bytes > 6 << 20);
    assert_eq!(text(&read(&run, 1024, &pool).unwrap()), text(&[batch.clone()]));
    assert_eq!(pool.stats().bytes, 0);
    let tight = Pool::root("tight", Some(4 << 20));
    let error = read(&run, 1024, &tight).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    let error = write(&space, &[Type::Varchar], &[batch], &tight).unwrap_err();
    assert_eq!((error.kind(), tight.stats().bytes), (ErrorKind::OutOfMemory, 0));
}

#[test]
fn a_writer_without_memory_is_refused() {
    let pool = Pool::root("test", Some(WRITER_BYTES - 1));
    let error = SpillWriter::new(&space(), &NUMBERED, &pool).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}

#[test]
fn objects_cannot_be_spilled() {
    let error = SpillWriter::new(&space(), &[Type::Opaque(opaque_type())], &pool()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.hint_text().is_some());
}

#[test]
fn several_readers_read_a_run_at_once() {
    let pool = pool();
    let batch = numbered(0..30_000, 12);
    let run = write(&space(), &NUMBERED, std::slice::from_ref(&batch), &pool).unwrap();
    let expected = text(std::slice::from_ref(&batch));
    std::thread::scope(|scope| {
        for batch_rows in [100, 1024, 5000] {
            let (run, pool, expected) = (&run, &pool, &expected);
            scope.spawn(move || {
                assert_eq!(text(&read(run, batch_rows, pool).unwrap()), *expected);
            });
        }
    });
}

#[test]
fn a_reader_outlives_its_run() {
    let (space, pool) = (space(), pool());
    let run = write(&space, &NUMBERED, &[numbered(0..20_000, 12)], &pool).unwrap();
    let mut reader = run.read(&pool, 1024).unwrap();
    drop(run);
    let mut rows = 0;
    while let Some(batch) = reader.next().unwrap() {
        rows += batch.rows();
    }
    assert_eq!((rows, space.stats().bytes), (20_000, 0));
}

#[test]
fn every_operation_of_the_disk_that_fails_is_an_error_or_harmless() {
    let batches: Vec<Batch> = (0..6).map(|it| numbered(it * 1000..(it + 1) * 1000, 40)).collect();
    let expected = text(&batches);
    for fault in [Fault::Error(Io::StorageFull), Fault::Short, Fault::FlippedBit] {
        for operation in 0.. {
            let (space, pool) = (space(), pool());
            space.inject(operation, fault);
            let result =
                write(&space, &NUMBERED, &batches, &pool).and_then(|run| read(&run, 1024, &pool));
            match result {
                Ok(found) => assert_eq!(text(&found), expected),
                Err(error) => {
                    assert!([ErrorKind::Io, ErrorKind::Corruption].contains(&error.kind()));
                }
            }
            assert_eq!((space.stats().bytes, pool.stats().bytes), (0, 0));
            if operation >= space.operations() {
                assert!(operation > 10, "nothing was tried");
                break;
            }
        }
    }
}

#[test]
fn the_limit_of_the_space_ends_the_writer() {
    let space = SpillSpace::new(std::env::temp_dir(), Some(50_000));
    let error = write(&space, &NUMBERED, &[numbered(0..100_000, 40)], &pool()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().starts_with("max_spill_size exceeded"), "{error}");
    assert_eq!(space.stats().bytes, 0);
}
