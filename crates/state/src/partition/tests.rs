//! Growing partitions under a memory limit, and runs of partitions.

use super::{
    HashSalt, PartitionSet, PartitionedRuns, Partitioner, SharedRuns, partitions_of,
    partitions_within,
};
use crate::spill::{SpillRun, SpillWriter};
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

const PARTS: usize = 64;
const LIMIT: usize = 64 << 20;

/// Rows with numbers from `start` on.
fn batch(start: usize, rows: usize) -> Batch {
    let numbers = (start..start + rows).map(|it| Value::BigInt(it as i64)).collect::<Vec<_>>();
    let text = |it: usize| Value::text(format!("a text of some length, {it}"));
    let texts = (start..start + rows).map(text).collect::<Vec<_>>();
    let columns = [(Type::BigInt, numbers), (Type::Varchar, texts)];
    let columns = columns.map(|(it, values)| Vector::from_values(it, &values));
    Batch::new(columns.into(), rows)
}

#[test]
fn what_grows_takes_a_part_of_the_limit_and_is_charged_whole() {
    const ROWS: usize = 1 << 14;
    let pool = Pool::root("test", Some(LIMIT));
    let mut partitioner = Partitioner::new(vec![0], PARTS, HashSalt::Local, 8192, &pool);
    let (mut rows, mut most) = (0, 0);
    for step in 0..40 {
        let before = pool.stats().bytes;
        let full = partitioner.split(&batch(step * ROWS, ROWS)).unwrap();
        rows += full.iter().map(|it| it.1.rows()).sum::<usize>();
        most = most.max(pool.stats().bytes);
        // All parts grow at once, and must not all take room for far more than came.
        assert!(pool.stats().bytes < before + LIMIT / 16, "{before} before step {step}");
    }
    assert!((LIMIT / 256..LIMIT / 8).contains(&most), "{most} bytes");
    let charged = pool.stats().bytes;
    let rest = partitioner.finish().unwrap();
    let kept: usize = rest.iter().map(|it| it.1.retained_bytes()).sum();
    assert!(kept <= charged, "{kept} bytes of batches, {charged} were charged");
    rows += rest.iter().map(|it| it.1.rows()).sum::<usize>();
    assert_eq!(rows, 40 * ROWS);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn without_a_limit_batches_are_half_full_or_more() {
    let pool = Pool::root("test", None);
    let mut partitioner = Partitioner::new(vec![0], PARTS, HashSalt::Local, 1024, &pool);
    for step in 0..100 {
        for (_, batch) in partitioner.split(&batch(step * 2000, 2000)).unwrap() {
            assert!(batch.rows() >= 512, "{} rows", batch.rows());
        }
    }
}

/// The numbers in runs, by partition.
fn numbers_of(runs: &[Option<SpillRun>], pool: &Pool) -> Vec<Vec<i64>> {
    let numbers = |run: &SpillRun| {
        let mut numbers = Vec::new();
        let mut reader = run.read(pool, 1000).unwrap();
        while let Some(batch) = reader.next().unwrap() {
            let column = batch.column(0).flatten().unwrap();
            numbers.extend(column.flat_values().unwrap().native::<i64>().unwrap());
        }
        numbers
    };
    runs.iter().map(|it| it.as_ref().map(numbers).unwrap_or_default()).collect()
}

#[test]
fn rows_are_in_the_run_of_their_partition() {
    let (pool, space) = (Pool::root("test", None), SpillSpace::new(std::env::temp_dir(), None));
    for (partitions, salt) in [(2, HashSalt::Local), (16, HashSalt::Spill(1))] {
        let place = (&space, &pool);
        let mut runs = PartitionedRuns::new(vec![0], partitions, salt, 1024, place);
        assert_eq!(runs.first_written(), None);
        for (start, rows) in [(0, 1), (1, 2), (3, 5000), (5003, 1000)] {
            runs.write(&batch(start, rows)).unwrap();
        }
        let finished = runs.finish().unwrap();
        assert_eq!(runs.first_written(), None);
        let numbers = numbers_of(&finished, &pool);
        assert_eq!(numbers.len(), partitions);
        assert!(numbers.iter().all(|it| !it.is_empty()));
        for (partition, numbers) in numbers.iter().enumerate() {
            assert!(numbers.is_sorted(), "rows of a partition keep their order");
            for number in numbers {
                let keys = batch(*number as usize, 1).columns()[..1].to_vec();
                let target = partitions_of(&keys, 1, partitions, salt).unwrap();
                assert_eq!(target, [partition as u32]);
            }
        }
        let mut all = numbers.concat();
        all.sort_unstable();
        assert_eq!(all, (0..6003).collect::<Vec<_>>());
    }
}

#[test]
fn a_partition_that_was_taken_begins_another_run() {
    let (pool, space) = (Pool::root("test", None), SpillSpace::new(std::env::temp_dir(), None));
    let mut runs = PartitionedRuns::new(vec![0], 4, HashSalt::Spill(0), 1024, (&space, &pool));
    assert!(runs.take(0).unwrap().is_none());
    runs.write_to(2, &batch(0, 10)).unwrap();
    assert_eq!(runs.first_written(), Some(2));
    let first = runs.take(2).unwrap().unwrap();
    assert_eq!((first.rows(), first.spilled().runs), (10, 1));
    runs.write_to(2, &batch(10, 5)).unwrap();
    let rest = runs.finish().unwrap();
    assert_eq!(numbers_of(&rest, &pool)[2], (10..15).collect::<Vec<_>>());
    assert!(runs.take(9).unwrap().is_none());
}

#[test]
fn buffers_of_partitions_take_a_share_of_the_limit() {
    let limited = |bytes| Pool::root("test", Some(bytes));
    assert_eq!(partitions_within(&Pool::root("test", None), 16, 64), 64);
    assert_eq!(partitions_within(&limited(1 << 20), 16, 64), 2);
    let ten = limited(10 * 16 * SpillWriter::BYTES);
    assert_eq!(partitions_within(&ten, 16, 64), 10);
    assert_eq!(partitions_within(&ten, 160, 64), 2);
    assert_eq!(partitions_within(&ten, 0, 64), 64);
}

#[test]
fn drivers_share_the_runs_of_some_partitions() {
    let (pool, space) = (Pool::root("test", None), SpillSpace::new(std::env::temp_dir(), None));
    let types = || vec![Type::BigInt, Type::Varchar];
    let runs = SharedRuns::new(types(), (8, 0), &space, &pool);
    let mut on_disk = PartitionSet::default();
    on_disk.insert(1);
    on_disk.insert(6);
    runs.open(on_disk).unwrap();
    assert_eq!(runs.on_disk(), on_disk);
    let others = std::thread::scope(|scope| {
        let write = |start: usize| {
            let (runs, rows) = (&runs, batch(start, 1000));
            scope.spawn(move || runs.write(&rows, &rows.columns()[..1]).unwrap())
        };
        let drivers = [0, 1000, 2000].map(write);
        drivers.map(|it| it.join().unwrap().map_or(0, |it| it.rows())).iter().sum::<usize>()
    });
    let finished = runs.finish().unwrap();
    let numbers = numbers_of(&finished, &pool);
    let written: Vec<usize> = (0..8).filter(|it| !numbers[*it].is_empty()).collect();
    assert_eq!(written, [1, 6]);
    assert_eq!(numbers.concat().len() + others, 3000);
    let late = runs.write(&batch(0, 1000), &batch(0, 1000).columns()[..1]).unwrap_err();
    assert!(late.message().contains("after its run was finished"), "{late}");
}

#[test]
fn rows_without_a_key_are_not_written_where_they_match_nothing() {
    let (pool, space) = (Pool::root("test", None), SpillSpace::new(std::env::temp_dir(), None));
    let value = |it: i64| if it % 3 == 0 { Value::Null } else { Value::BigInt(it) };
    let values: Vec<Value> = (0..90).map(value).collect();
    let batch = Batch::new(vec![Vector::from_values(Type::BigInt, &values)], values.len());
    for (without, written) in [(vec![], 90), (vec![0], 60)] {
        let runs = SharedRuns::new(vec![Type::BigInt], (4, 0), &space, &pool);
        let runs = runs.without_nulls(without);
        runs.open_all().unwrap();
        let others = runs.write(&batch, batch.columns()).unwrap();
        assert_eq!(others.map_or(0, |it| it.rows()), 90 - written);
        let finished = runs.finish().unwrap();
        assert_eq!(finished.iter().flatten().map(|it| it.rows()).sum::<usize>(), written);
    }
}
