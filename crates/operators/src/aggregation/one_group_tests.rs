//! Batches whose rows all have the same keys, against the same rows with keys that do not show it.

use super::{
    accumulator::AccumulatorSpec,
    operator::ONE_GROUP_BATCHES,
    tests::{collected, listing, run_and_count, sorted, spec, sum},
};
use std::sync::Arc;
use volley_exec::OperatorMetrics;
use volley_plan::AggregateStep;
use volley_testkit::RandomColumns;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

const KEY_TYPES: [Type; 3] = [Type::BigInt, Type::Varchar, Type::Double];

/// Keys of a batch: some come back, some are null, NaN or either zero.
fn keys_of(batch: usize) -> [Value; 3] {
    let doubles = [f64::NAN, 0.0, -0.0, 1.5];
    [
        if batch.is_multiple_of(5) { Value::Null } else { Value::BigInt(batch as i64 % 3) },
        Value::text(["größer als zwölf Bytes", "b", ""][batch % 3]),
        Value::Double(doubles[batch % 4]),
    ]
}

/// Three key columns, a BIGINT and a BOOLEAN; keys are constant in all batches but each fourth.
fn batches(rows: usize) -> Vec<Batch> {
    let values =
        RandomColumns::new(rows as u64).batches(&[Type::BigInt, Type::Boolean], 40 * rows, rows);
    let with_keys = values.into_iter().enumerate().map(|(number, values)| {
        let rows = values.rows();
        let keys = keys_of(number);
        let key =
            |(data_type, value): (&Type, &Value)| Vector::constant(data_type.clone(), value, rows);
        let mut columns: Vec<Vector> = KEY_TYPES.iter().zip(&keys).map(key).collect();
        if number % 4 == 3 {
            columns[1] = columns[1].flatten().unwrap();
        }
        columns.extend(values.into_columns());
        Batch::new(columns, rows)
    });
    with_keys.collect()
}

fn flat(batches: &[Batch]) -> Vec<Batch> {
    let flat = |it: &Batch| {
        let columns = it.columns().iter().map(|it| it.flatten().unwrap()).collect();
        Batch::new(columns, it.rows())
    };
    batches.iter().map(flat).collect()
}

/// Runs over constant and over flat keys; how many batches were of one group.
fn check(step: AggregateStep, aggregates: impl Fn() -> Vec<AccumulatorSpec>, rows: usize) -> u64 {
    let run = |batches: Vec<Batch>| {
        let metrics = Arc::<OperatorMetrics>::default();
        let (output, _) =
            run_and_count(spec(step, &KEY_TYPES, aggregates()), batches, 1024, &metrics);
        let named = metrics.counts().named;
        let counted = named.iter().find(|it| it.0 == ONE_GROUP_BATCHES).map_or(0, |it| it.1);
        (sorted(&output), counted)
    };
    let batches = batches(rows);
    let (expected, of_flat) = run(flat(&batches));
    assert_eq!(of_flat, 0);
    let (output, counted) = run(batches);
    assert_eq!(output, expected);
    counted
}

#[test]
fn rows_of_one_group_are_added_to_it_together() {
    for rows in [1, 3, 1000] {
        assert_eq!(check(AggregateStep::Single, || vec![sum(3), sum(3)], rows), 30);
        assert_eq!(check(AggregateStep::Single, Vec::new, rows), 30);
        assert!(check(AggregateStep::Partial, || vec![sum(3), listing(3)], rows) > 0);
        assert_eq!(check(AggregateStep::Final, || vec![sum(3)], rows), 30);
    }
}

#[test]
fn aggregates_that_tell_rows_apart_take_them_by_group() {
    let distinct = || vec![AccumulatorSpec { distinct: true, ..sum(3) }];
    let filtered = || vec![sum(3), AccumulatorSpec { filter: Some(4), ..sum(3) }];
    for rows in [1, 3, 1000] {
        assert_eq!(check(AggregateStep::Single, distinct, rows), 0);
        assert_eq!(check(AggregateStep::Single, filtered, rows), 0);
        assert_eq!(check(AggregateStep::Single, || vec![collected(3)], rows), 0);
    }
}
