use super::*;
use crate::{RangeBounds, conformance::windows};
use std::{sync::Arc, thread};
use volley_error::ErrorKind;
use volley_types::SortKey;
use volley_vector::Vector;

/// Runs `f` in a thread per rank.
fn in_ranks<T: Send>(ranks: usize, f: impl Fn(&mut ThreadPort) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let f = &f;
        let ports = ThreadPort::connected(ranks).into_iter();
        let threads: Vec<_> = ports.map(|mut it| scope.spawn(move || f(&mut it))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn windows_of_threads_pass_the_suite() {
    for ranks in [1, 2, 3, 5] {
        for found in in_ranks(ranks, |port| windows(port, 0..40)) {
            assert_eq!(found, Ok(()), "{}", found.clone().unwrap_err());
        }
    }
}

/// A port that writes each put four bytes too far.
struct Shifting(ThreadPort);

struct ShiftingMemory(Box<dyn WindowMemory>);

impl WindowPort for Shifting {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn ranks(&self) -> usize {
        self.0.ranks()
    }

    fn scan(&mut self, values: &[u64]) -> Result<Scan> {
        self.0.scan(values)
    }

    fn allocate(&mut self, bytes: usize) -> Result<Box<dyn WindowMemory>> {
        Ok(Box::new(ShiftingMemory(self.0.allocate(bytes + 4)?)))
    }
}

impl WindowMemory for ShiftingMemory {
    fn put(&mut self, to: usize, offset: usize, bytes: Vec<u8>, len: usize) -> Result<Vec<u8>> {
        self.0.put(to, offset + 4, bytes, len)
    }

    fn close(self: Box<Self>) -> Result<Buffer> {
        self.0.close()
    }
}

#[test]
fn the_suite_finds_bytes_in_other_places() {
    let mut port = Shifting(ThreadPort::connected(1).remove(0));
    assert!(windows(&mut port, 0..10).is_err());
}

fn numbers(values: Vec<i64>) -> Batch {
    let rows = values.len();
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], rows)
}

#[test]
fn large_lanes_are_put_in_several_buffers() {
    // More rows than a buffer has, in one lane; none in the other.
    let rows = 50_000;
    let batches = in_ranks(2, |port| {
        let batch = numbers((0..rows).map(|it| it * 2 + port.rank() as i64).collect());
        let mut counted = WindowHistogram::new(Partitioning::Gather, &[Type::BigInt], 2).unwrap();
        counted.add(&batch).unwrap();
        let mut writer = counted.open(port).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap()
    });
    let values = |batch: &Batch| -> Vec<i64> {
        batch.column(0).flat_values().unwrap().native::<i64>().unwrap().to_vec()
    };
    let expected: Vec<i64> =
        (0..2).flat_map(|rank| (0..rows).map(move |it| it * 2 + rank)).collect();
    assert_eq!(values(&batches[0]), expected);
    assert_eq!(batches[1].rows(), 0);
}

#[test]
fn rows_that_were_not_counted_are_refused() {
    let run = |counted: i64, written: i64| {
        let mut port = ThreadPort::connected(1).remove(0);
        let types = [Type::BigInt];
        let mut histogram = WindowHistogram::new(Partitioning::Gather, &types, 1).unwrap();
        histogram.add(&numbers((0..counted).collect())).unwrap();
        assert_eq!(histogram.rows(), [counted as u64]);
        let mut writer = histogram.open(&mut port)?;
        writer.write(&numbers((0..written).collect()))?;
        writer.finish().map(|it| it.rows() as i64)
    };
    assert_eq!(run(10, 10).unwrap(), 10);
    for (counted, written) in [(10, 11), (10, 9), (0, 1)] {
        assert_eq!(run(counted, written).unwrap_err().kind(), ErrorKind::Internal);
    }
}

#[test]
fn texts_and_copies_are_refused() {
    let new = |partitioning, data_type: Type| {
        let made = WindowHistogram::new(partitioning, &[data_type], 2);
        made.map(|_| ()).map_err(|it| it.kind())
    };
    assert_eq!(new(Partitioning::Gather, Type::Varchar), Err(ErrorKind::Unsupported));
    let array = Type::array(Type::BigInt);
    assert_eq!(new(Partitioning::Gather, array), Err(ErrorKind::Unsupported));
    assert_eq!(new(Partitioning::Broadcast, Type::BigInt), Err(ErrorKind::Unsupported));
}

#[test]
fn ranges_put_the_lanes_in_order() {
    let sorted = in_ranks(3, |port| {
        let key = SortKey { column: 0, descending: false, nulls_first: false };
        let bounds = RangeBounds::new(vec![key], numbers(vec![100, 200])).unwrap();
        let partitioning = Partitioning::Range(Arc::new(bounds));
        let batch = numbers((0..300).filter(|it| it % 3 == port.rank() as i64).collect());
        let mut counted = WindowHistogram::new(partitioning, &[Type::BigInt], 3).unwrap();
        counted.add(&batch).unwrap();
        let mut writer = counted.open(port).unwrap();
        writer.write(&batch).unwrap();
        let lane = writer.finish().unwrap();
        let values = lane.column(0).flat_values().unwrap().native::<i64>().unwrap().to_vec();
        (values.len(), values.iter().min().copied(), values.iter().max().copied())
    });
    assert_eq!(
        sorted,
        [(100, Some(0), Some(99)), (100, Some(100), Some(199)), (100, Some(200), Some(299))]
    );
}
