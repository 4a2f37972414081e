//! Growing partitions under a memory limit.

use super::{Partitioner, Purpose};
use volley_memory::Pool;
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
    let mut partitioner = Partitioner::new(vec![0], PARTS, Purpose::Spread, 8192, &pool);
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
    let mut partitioner = Partitioner::new(vec![0], PARTS, Purpose::Spread, 1024, &pool);
    for step in 0..100 {
        for (_, batch) in partitioner.split(&batch(step * 2000, 2000)).unwrap() {
            assert!(batch.rows() >= 512, "{} rows", batch.rows());
        }
    }
}
