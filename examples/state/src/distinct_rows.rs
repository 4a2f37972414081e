//! Counts distinct rows twice: in one hash table, and in one table per partition of rows on disk.
//!
//! ```text
//! batches ── GroupTable ──────────────────────────────────────> count
//! batches ── PartitionedRuns ── 8 x SpillReader ── GroupTable ──> sum
//! ```
//!
//! Equal rows have equal hashes, so that they are in the same partition. The second way needs
//! memory for one partition at a time.

use volley_error::Result;
use volley_memory::{Pool, spill::SpillSpace};
use volley_state::{
    StateSizes,
    hash_table::GroupTable,
    partition::{HashSalt, PartitionedRuns},
    spill::SpillRun,
};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

const PARTITIONS: usize = 8;

const BATCH_ROWS: usize = 1024;

/// 100 batches of a number and a text, with 2,000 distinct rows.
pub fn sample() -> Vec<Batch> {
    let batch = |number: i64| {
        let values = (0..BATCH_ROWS as i64).map(|row| (number * 7919 + row * 31) % 2000);
        let numbers: Vec<Value> = values.clone().map(Value::BigInt).collect();
        let texts: Vec<Value> = values.map(|it| Value::text(format!("row {it}"))).collect();
        let columns = vec![
            Vector::from_values(Type::BigInt, &numbers),
            Vector::from_values(Type::Varchar, &texts),
        ];
        Batch::new(columns, BATCH_ROWS)
    };
    (0..100).map(batch).collect()
}

fn types() -> Vec<Type> {
    vec![Type::BigInt, Type::Varchar]
}

/// Finds or makes the group of every row in one table.
pub fn count_in_memory(batches: &[Batch]) -> Result<usize> {
    let pool = Pool::root("distinct rows", Some(64 << 20));
    let mut table = GroupTable::new(types(), Vec::new(), StateSizes::NORMAL, &pool);
    for batch in batches {
        table.find_or_insert(batch.columns(), batch.rows())?;
    }
    Ok(table.len())
}

/// Writes rows to disk by the hash of all columns, then counts the groups of each partition.
pub fn count_spilled(batches: &[Batch]) -> Result<usize> {
    let pool = Pool::root("distinct rows", Some(16 << 20));
    let mut distinct = 0;
    for run in spill(batches, &pool)? {
        let mut table = GroupTable::new(types(), Vec::new(), StateSizes::NORMAL, &pool);
        let mut reader = run.read(&pool, BATCH_ROWS)?;
        while let Some(batch) = reader.next()? {
            table.find_or_insert(batch.columns(), batch.rows())?;
        }
        distinct += table.len();
    }
    Ok(distinct)
}

/// The rows in one file per partition. A file disappears with its run.
fn spill(batches: &[Batch], pool: &Pool) -> Result<Vec<SpillRun>> {
    let space = SpillSpace::new(std::env::temp_dir(), None);
    let (keys, place) = (vec![0, 1], (&space, pool));
    let mut runs = PartitionedRuns::new(keys, PARTITIONS, HashSalt::Spill(0), BATCH_ROWS, place);
    batches.iter().try_for_each(|it| runs.write(it))?;
    Ok(runs.finish()?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The plain twin.
    fn count_plainly(batches: &[Batch]) -> usize {
        let mut rows = HashSet::new();
        for batch in batches {
            for row in 0..batch.rows() {
                let values: Vec<Value> =
                    batch.columns().iter().map(|it| it.value(row).unwrap()).collect();
                rows.insert(format!("{values:?}"));
            }
        }
        rows.len()
    }

    #[test]
    fn both_ways_find_what_a_set_of_rows_finds() {
        let mut rows = sample();
        rows.push(Batch::new(types().iter().map(|it| Vector::nulls(it.clone(), 1)).collect(), 1));
        let expected = count_plainly(&rows);
        assert_eq!(expected, 2001);
        assert_eq!(count_in_memory(&rows).unwrap(), expected);
        assert_eq!(count_spilled(&rows).unwrap(), expected);
    }

    #[test]
    fn all_rows_are_in_files_and_some_in_each() {
        let pool = Pool::root("test", None);
        let runs = spill(&sample(), &pool).unwrap();
        assert_eq!(runs.iter().map(SpillRun::rows).sum::<usize>(), 100 * BATCH_ROWS);
        assert!(runs.iter().all(|it| it.rows() > 0 && it.bytes() > 0));
    }

    #[test]
    fn no_rows_have_no_groups() {
        assert_eq!(count_in_memory(&[]).unwrap(), 0);
        assert_eq!(count_spilled(&[]).unwrap(), 0);
    }
}
