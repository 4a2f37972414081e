//! The algorithm.

use volley::PlanBuilder;
use volley_plan::JoinKind;

/// The keys of both sides, and how finely they are partitioned.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The key column of the probe rows.
    pub probe_key: &'a str,
    /// The key column of the build rows, of the same type.
    pub build_key: &'a str,
    /// There are 2 to the power of this many partitions.
    pub bits: u8,
}

/// The inner join of `probe` and `build`: columns of `probe`, then of `build`.
pub fn reduced_radix_join(
    probe: PlanBuilder,
    build: PlanBuilder,
    Sides { probe_key, build_key, bits }: Sides<'_>,
) -> PlanBuilder {
    let keys = build
        .clone()
        .map(|columns| Ok(vec![("key", columns.column(build_key)?)]))
        .distinct()
        .build_table(&["key"]);
    let reduced = probe.probe(JoinKind::LeftSemi, &[probe_key], keys);
    let partitions = |rows: PlanBuilder, key: &str| rows.radix_partition(&[key], 0..bits);
    let tuples = partitions(reduced, probe_key).zip(partitions(build, build_key));
    tuples.nested_map(1, |tuple| {
        let table = tuple.clone().row_scan("#2").build_table(&[build_key]);
        tuple.row_scan("#1").probe(JoinKind::Inner, &[probe_key], table)
    })
}
