//! Sums by a sparse 64-bit key against [`HashArray`].

use crate::{
    Args,
    hash_array::HashArray,
    measure::Table,
    setup::{integers, numbers, register, session},
};
use volley::Result;

/// Groups: tables that fit the first cache, the second one, and none.
const GROUPS: [usize; 5] = [10, 1_000, 20_000, 500_000, 4_000_000];

/// Adds the lines.
pub fn run(args: &Args, table: &mut Table) -> Result<()> {
    for groups in GROUPS {
        let mut random = fastrand::Rng::with_seed(groups as u64);
        let names: Vec<u64> = (0..groups).map(|_| random.u64(1..1 << 62)).collect();
        let keys: Vec<u64> = (0..args.rows).map(|_| names[random.usize(0..groups)]).collect();
        let values: Vec<u64> = (0..args.rows).map(|_| random.u64(0..1000)).collect();

        let session = session(1)?;
        let columns = ["k", "v"].into_iter().zip(integers(&[&keys, &values]));
        register(&session, "t", columns.collect())?;
        let sql = "SELECT count(*), max(s) FROM (SELECT k, sum(v) AS s FROM t GROUP BY k) g";
        let by_hand = || {
            let mut sums = HashArray::with_capacity(groups.min(args.rows));
            keys.iter().zip(&values).for_each(|(key, value)| *sums.entry(*key) += value);
            let (mut count, mut most) = (0, 0);
            sums.values().for_each(|sum| (count, most) = (count + 1, sum.max(most)));
            vec![vec![count, i128::from(most)]]
        };
        let name = format!("sums of {} rows by {groups} keys", args.rows);
        table.compare(&name, || numbers(&session, sql), by_hand)?;
    }
    Ok(())
}
