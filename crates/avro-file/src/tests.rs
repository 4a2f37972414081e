//! Files that are written are read.

use crate::AvroFormat;
use bytes::Bytes;
use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    task::Waker,
};
use volley_connector::{FormatExtension, FormatFile, FormatRequest, SourceStep};
use volley_error::{ErrorKind, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector, random::Generator};

/// A file in memory.
#[derive(Debug)]
struct MemoryFile(Bytes);

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        "test.avro"
    }

    fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let end = start + out.len() as u64;
        self.check_range(&(start..end))?;
        out.copy_from_slice(&self.0[start as usize..end as usize]);
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(schema: &Schema, batches: &[Batch], compression: &str) -> Result<Bytes> {
    let output = Output::default();
    let options = [("compression".to_owned(), compression.to_owned())];
    let mut writer = AvroFormat.write(Box::new(output.clone()), schema, &options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?;
    Ok(output.0.lock().unwrap().clone().into())
}

fn open(bytes: &Bytes, pool: &Pool) -> Result<Arc<dyn FormatFile>> {
    AvroFormat.open(Arc::new(MemoryFile(bytes.clone())), pool)
}

/// All rows of columns, split by split.
fn read(bytes: &Bytes, columns: &[usize], batch_rows: usize, pool: &Pool) -> Result<Vec<Batch>> {
    let file = open(bytes, pool)?;
    let mut batches = Vec::new();
    for split in 0..file.splits() {
        let request = FormatRequest { batch_rows, pool: pool.clone() };
        let mut reader = file.read(split, columns, &request)?;
        loop {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => {
                    assert!(batch.rows() > 0 && batch.rows() <= batch_rows);
                    batches.push(batch);
                }
                SourceStep::NeedSplit => break,
                SourceStep::Blocked | SourceStep::Progress => {}
            }
        }
    }
    Ok(batches)
}

/// The rows as text: NaN is NaN.
fn rows(batches: &[Batch], columns: &[usize]) -> Vec<String> {
    let wider = |it: Value| match it {
        Value::TinyInt(it) => Value::Integer(it.into()),
        other => other,
    };
    let of_batch = |batch: &Batch| {
        let values = |it: usize| batch.column(it).to_values().unwrap().into_iter().map(wider);
        let columns = columns.iter().map(|it| values(*it).collect::<Vec<_>>());
        let columns: Vec<_> = columns.collect();
        let row = |row: usize| columns.iter().map(|it| it[row].clone()).collect::<Vec<Value>>();
        (0..batch.rows()).map(|it| format!("{:?}", row(it))).collect()
    };
    batches.iter().flat_map(|it: &Batch| -> Vec<String> { of_batch(it) }).collect()
}

/// Names the first row that differs.
#[track_caller]
fn assert_same(found: &[String], expected: &[String]) {
    assert_eq!(found.len(), expected.len());
    let differs = found.iter().zip(expected).find(|(found, expected)| found != expected);
    assert_eq!(differs, None);
}

fn types() -> Vec<Type> {
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::Integer,
        Type::BigInt,
        Type::Real,
        Type::Double,
        Type::Varchar,
        Type::Varbinary,
        Type::Date,
        Type::Timestamp,
        Type::array(Type::Varchar),
        Type::map(Type::Varchar, Type::BigInt),
        Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Varchar)]),
    ]
}

/// Rows of all types, and batches of them.
fn random_batches(seed: u64, count: usize) -> (Schema, Vec<Batch>) {
    let mut generator = Generator::new(seed);
    let types = types();
    let fields =
        types.iter().enumerate().map(|(index, it)| Field::new(format!("c{index}"), it.clone()));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let batches = (0..count).map(|index| {
        let rows = [1, 3, 1024][index % 3];
        let columns = types.iter().map(|it| generator.vector(it, rows));
        Batch::new(columns.collect(), rows)
    });
    (schema, batches.collect())
}

#[test]
fn files_of_all_types_are_read_as_they_were_written() {
    for (seed, compression) in ["none", "zstd"].into_iter().enumerate() {
        let (schema, batches) = random_batches(seed as u64, 6);
        let bytes = write(&schema, &batches, compression).unwrap();
        let pool = Pool::root("test", Some(64 << 20));
        let file = open(&bytes, &pool).unwrap();
        // Avro has integers of 32 and 64 bits alone.
        let read_as = |it: &Type| if *it == Type::TinyInt { Type::Integer } else { it.clone() };
        let expected: Vec<_> = schema.types().map(read_as).collect();
        assert_eq!(file.schema().types().cloned().collect::<Vec<_>>(), expected);
        let all: Vec<usize> = (0..schema.len()).collect();
        let expected = rows(&batches, &all);
        for batch_rows in [1, 3, 1024] {
            let found = read(&bytes, &all, batch_rows, &pool).unwrap();
            assert_same(&rows(&found, &all), &expected);
        }
        // Some columns, in another order, and none.
        let found = read(&bytes, &[6, 2], 1000, &pool).unwrap();
        assert_same(&rows(&found, &[0, 1]), &rows(&batches, &[6, 2]));
        let found = read(&bytes, &[], 1000, &pool).unwrap();
        assert_eq!(found.iter().map(Batch::rows).sum::<usize>(), expected.len());
    }
}

#[test]
fn an_empty_file_has_columns() {
    let schema = Schema::new(vec![Field::new("a", Type::Integer)]);
    let bytes = write(&schema, &[], "none").unwrap();
    let pool = Pool::root("test", None);
    assert_eq!(open(&bytes, &pool).unwrap().splits(), 0);
    assert!(read(&bytes, &[0], 10, &pool).unwrap().is_empty());
}

#[test]
fn blocks_are_read_by_splits() {
    let schema = Schema::new(vec![Field::new("a", Type::BigInt)]);
    let column = Vector::native::<i64>(Type::BigInt, (0..60_000_i64).collect::<Vec<_>>(), None);
    let batches = vec![Batch::new(vec![column], 60_000); 40];
    let bytes = write(&schema, &batches, "none").unwrap();
    let pool = Pool::root("test", Some(16 << 20));
    let splits = open(&bytes, &pool).unwrap().splits();
    assert!((2..=4).contains(&splits), "{splits}");
    let found = read(&bytes, &[0], 8192, &pool).unwrap();
    assert_eq!(found.iter().map(Batch::rows).sum::<usize>(), 40 * 60_000);
    assert_eq!(pool.stats().bytes, 0, "what was reserved is released");
}

#[test]
fn other_bytes_and_options_are_refused() {
    let pool = Pool::root("test", None);
    for bytes in ["", "PAR1", "Obj", "Obj\u{1}\u{2}"] {
        let error = open(&Bytes::from_static(bytes.as_bytes()), &pool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{bytes}");
    }
    let schema = Schema::new(vec![Field::new("a", Type::Integer)]);
    assert_eq!(write(&schema, &[], "snappy").unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Bytes that are changed give an error or rows, and take no more memory than the pool has.
#[test]
fn damaged_files_are_errors() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    let files = ["none", "zstd"].map(|it| {
        let (schema, batches) = random_batches(3, 3);
        (schema.len(), write(&schema, &batches, it).unwrap())
    });
    for _ in 0..3000 {
        let (columns, bytes) = &files[random.usize(..2)];
        let mut bytes = bytes.to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = if random.bool() { random.u8(..) } else { 0xff };
        }
        if random.u8(..8) == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        let all: Vec<usize> = (0..*columns).collect();
        let pool = Pool::root("test", Some(16 << 20));
        match read(&bytes.into(), &all, 1024, &pool) {
            Ok(_) => {}
            Err(error) => {
                let kinds = [ErrorKind::Corruption, ErrorKind::Unsupported, ErrorKind::OutOfMemory];
                assert!(kinds.contains(&error.kind()), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
}
