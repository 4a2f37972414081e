//! Inner joins by a sparse 64-bit key against [`HashArray`].

use crate::{
    Args,
    hash_array::HashArray,
    measure::Table,
    setup::{integers, numbers, register, session},
};
use volley::Result;

/// Rows of the build side: tables that fit the first cache, the second one, and none.
const BUILDS: [usize; 4] = [1_000, 20_000, 500_000, 4_000_000];

/// Adds the lines: every probe row has one match.
pub fn run(args: &Args, table: &mut Table) -> Result<()> {
    for builds in BUILDS {
        let mut random = fastrand::Rng::with_seed(builds as u64);
        let keys: Vec<u64> = (0..builds).map(|_| random.u64(1..1 << 62)).collect();
        let weights: Vec<u64> = (0..builds).map(|_| random.u64(0..1000)).collect();
        let probes: Vec<u64> = (0..args.rows).map(|_| keys[random.usize(0..builds)]).collect();
        let values: Vec<u64> = (0..args.rows).map(|_| random.u64(0..1000)).collect();

        let session = session(1)?;
        let names = ["k", "w"].into_iter().zip(integers(&[&keys, &weights]));
        register(&session, "build", names.collect())?;
        let names = ["k", "v"].into_iter().zip(integers(&[&probes, &values]));
        register(&session, "probe", names.collect())?;
        let sql = "SELECT count(*), sum(v), sum(w) FROM probe JOIN build ON probe.k = build.k";
        let by_hand = || {
            let mut built = HashArray::with_capacity(builds);
            keys.iter().zip(&weights).for_each(|(key, weight)| *built.entry(*key) = *weight);
            let mut answer = [0; 3];
            for (key, value) in probes.iter().zip(&values) {
                if let Some(weight) = built.get(*key) {
                    answer = [answer[0] + 1, answer[1] + value, answer[2] + weight];
                }
            }
            vec![answer.map(i128::from).to_vec()]
        };
        let name = format!("join, {} rows probe {builds}", args.rows);
        table.compare(&name, || numbers(&session, sql), by_hand)?;
    }
    Ok(())
}
