//! A join algorithm composed of sub-operators, without a change of the engine.
//!
//! ```text
//! keys      = distinct keys of the build rows
//! reduced   = Probe semi (probe rows, Build keys)             rows without a match leave early
//! tuples    = Zip (Partition reduced, Partition build rows)   one tuple per partition
//! result    = NestedMap tuples: Probe (RowScan #1, Build (RowScan #2))
//! ```
//!
//! Each table of a partition fits the cache, and few probe rows are partitioned in vain. The
//! built-in join does the same work with one table: the test compares their rows.
//!
//! `cargo run -p volley-example-join`

mod reduced_radix_join;

use reduced_radix_join::{Sides, reduced_radix_join};
use std::time::Instant;
use volley::{PlanBuilder, Session, Type, Value};
use volley_plan::{JoinKind, expand::sub_operators};

fn main() -> volley::Result<()> {
    let session = Session::new()?;
    let (orders, lines) = (orders(&session, 20_000), lines(&session, 100_000));
    let sides = Sides { probe_key: "line_order", build_key: "order_id", bits: 6 };
    let composed = reduced_radix_join(lines.clone(), orders.clone(), sides);
    let built_in = lines.hash_join(JoinKind::Inner, orders, &[("line_order", "order_id")]);
    println!("{}", sub_operators(&composed.clone().build()?)?);
    for (name, plan) in [("composed", composed), ("built in", built_in)] {
        let count = plan.reduce(&[("rows", "count", &[]), ("total", "sum", &["price"])]);
        let start = Instant::now();
        let rows = session.run_plan(count.build()?, [])?.collect_values()?;
        println!("{name}: {rows:?} in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

/// Orders with even numbers.
fn orders(session: &Session, count: i64) -> PlanBuilder {
    let row = |it: i64| vec![Value::BigInt(it * 2), Value::text(format!("customer {}", it % 97))];
    let columns = [("order_id", Type::BigInt), ("customer", Type::Varchar)];
    PlanBuilder::new(session.registry()).values(&columns, (0..count).map(row).collect())
}

/// Lines of orders: half of them have no order, some no number.
fn lines(session: &Session, count: i64) -> PlanBuilder {
    let row = |it: i64| {
        let order = if it % 101 == 0 { Value::Null } else { Value::BigInt(it * 7 % 40_009) };
        vec![order, Value::BigInt(it % 1000)]
    };
    let columns = [("line_order", Type::BigInt), ("price", Type::BigInt)];
    PlanBuilder::new(session.registry()).values(&columns, (0..count).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::expand::Expander;

    fn sorted(session: &Session, plan: PlanBuilder) -> volley::Result<Vec<String>> {
        let rows = session.run_plan(plan.build()?, [])?.collect_values()?;
        let mut rows: Vec<String> = rows.iter().map(|it| format!("{it:?}")).collect();
        rows.sort();
        Ok(rows)
    }

    #[test]
    fn the_composed_join_has_the_rows_of_the_built_in_one() -> volley::Result<()> {
        for (build_rows, probe_rows) in [(0, 0), (0, 50), (50, 0), (1, 1), (300, 5000)] {
            for batch_rows in ["3", "1024"] {
                let session = Session::new()?;
                session.set("batch_rows", batch_rows)?;
                let sides = || (lines(&session, probe_rows), orders(&session, build_rows));
                let keys = [("line_order", "order_id")];
                let (probe, build) = sides();
                let built_in = sorted(&session, probe.hash_join(JoinKind::Inner, build, &keys))?;
                for bits in [0, 1, 5] {
                    let (probe, build) = sides();
                    let sides = Sides { probe_key: "line_order", build_key: "order_id", bits };
                    let composed = reduced_radix_join(probe, build, sides);
                    assert_eq!(sorted(&session, composed)?, built_in);
                }
            }
        }
        Ok(())
    }

    /// Joins on one key as one map over the partitions of all inputs, by an expansion.
    #[test]
    fn a_sequence_of_joins_partitions_each_input_once() -> volley::Result<()> {
        let kinds = [
            JoinKind::Inner,
            JoinKind::Left,
            JoinKind::Right,
            JoinKind::Full,
            JoinKind::LeftSemi,
            JoinKind::LeftAnti,
            JoinKind::RightSemi,
            JoinKind::RightAnti,
            JoinKind::LeftMark,
        ];
        let session = Session::new()?;
        let side = |rows| orders(&session, rows).map(|it| Ok(vec![("k", it.column("order_id")?)]));
        let mut sequences = 0;
        for (first, second) in kinds.iter().flat_map(|it| kinds.map(|second| (*it, second))) {
            let rows = lines(&session, 200).map(|it| Ok(vec![("k", it.column("line_order")?)]));
            let plain = rows.hash_join(first, side(20), &[("#0", "#0")]).hash_join(
                second,
                side(30),
                &[("#0", "#0")],
            );
            let names = ["radix_joins", "join_sequences"].map(str::to_owned).to_vec();
            let expanded = Expander::new(names, 3).expand(&plain.clone().build()?)?;
            sequences += usize::from(expanded.to_string().matches("NestedMap").count() == 1);
            let composed = PlanBuilder::from_plan(session.registry(), expanded);
            assert_eq!(sorted(&session, composed)?, sorted(&session, plain)?, "{first}, {second}");
        }
        // The first join's key is in its partition, but for sides that are padded with nulls.
        assert_eq!(sequences, 7 * kinds.len());
        Ok(())
    }

    #[test]
    fn the_plan_is_made_of_sub_operators() -> volley::Result<()> {
        let session = Session::new()?;
        let sides = Sides { probe_key: "line_order", build_key: "order_id", bits: 4 };
        let plan = reduced_radix_join(lines(&session, 10), orders(&session, 10), sides).build()?;
        let text = plan.to_string();
        for name in ["NestedMap 1", "Zip", "Partition radix(#0, bits 0..4)", "Probe left semi #0"] {
            assert!(text.contains(name), "{name}: {text}");
        }
        assert!(!text.contains("HashJoin"), "{text}");
        // It crosses processes as bytes, like every plan.
        let again = session.plan_from_bytes(&plan.to_bytes()?)?;
        assert_eq!(again.to_string(), text);
        Ok(())
    }
}
