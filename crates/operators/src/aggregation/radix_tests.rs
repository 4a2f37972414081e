//! Many groups, spread over parts, against a table of the standard library.

use super::{
    operator::HashAggregation,
    tests::{run_and_look, spec, sum},
};
use crate::test_kit::Harness;
use std::{collections::HashMap, sync::Arc};
use volley_exec::Operator;
use volley_plan::AggregateStep;
use volley_testkit::RandomColumns;
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

const BATCH_ROWS: usize = 1024;

/// A key: null now and then, and a text of the number.
fn key_of(group: usize) -> (Value, Value) {
    let number = if group % 1000 == 7 { Value::Null } else { Value::BigInt(group as i64 * 31) };
    (number, Value::Varchar(format!("the text of group {}", group / 2).into()))
}

/// Batches of the keys and the number of each row; `group_of` each row.
pub(super) fn batches(rows: usize, group_of: impl Fn(usize) -> usize) -> Vec<Batch> {
    let types = [Type::BigInt, Type::Varchar, Type::BigInt];
    let batch = |start: usize| {
        let rows = start..rows.min(start + BATCH_ROWS);
        let keys: Vec<(Value, Value)> = rows.clone().map(|row| key_of(group_of(row))).collect();
        let (numbers, texts): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
        let values = rows.clone().map(|row| Value::BigInt(row as i64)).collect();
        let columns = types.iter().zip([numbers, texts, values]);
        let columns = columns.map(|(it, values)| Vector::from_values(it.clone(), &values));
        Batch::new(columns.collect(), rows.len())
    };
    (0..rows).step_by(BATCH_ROWS).map(batch).collect()
}

/// Sums by key, as text.
fn sums(batches: &[Batch], keys: usize, value: usize) -> HashMap<String, i128> {
    let mut sums = HashMap::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
        for row in 0..batch.rows() {
            let key: Vec<&Value> = columns[..keys].iter().map(|it| &it[row]).collect();
            *sums.entry(format!("{key:?}")).or_insert(0) += columns[value][row].as_i128().unwrap();
        }
    }
    sums
}

#[track_caller]
fn check(step: AggregateStep, rows: usize, group_of: impl Fn(usize) -> usize) {
    let batches = batches(rows, group_of);
    let expected = sums(&batches, 2, 2);
    let spec = spec(step, &[Type::BigInt, Type::Varchar], vec![sum(2)]);
    let (output, is_spread) = run_and_look(spec, batches, BATCH_ROWS);
    assert!(is_spread);
    let groups: usize = output.iter().map(Batch::rows).sum();
    assert_eq!(groups, expected.len(), "each group once");
    assert!(sums(&output, 2, 2) == expected);
}

#[test]
fn spread_groups_are_those_of_one_table() {
    let mut random = RandomColumns::new(11);
    let order: Vec<usize> = (0..40_000).map(|_| random.below(1 << 30) as usize).collect();
    check(AggregateStep::Single, order.len(), |row| order[row]);
    check(AggregateStep::Final, order.len(), |row| order[row] % 32_000);
}

#[test]
fn parts_are_grouped_early_where_groups_come_again() {
    // First each of 30,000 groups once, then the same again and again.
    check(AggregateStep::Single, 90_000, |row| row % 30_000);
}

#[test]
fn few_groups_are_not_spread() {
    let spec = spec(AggregateStep::Single, &[Type::BigInt, Type::Varchar], vec![sum(2)]);
    let (output, is_spread) = run_and_look(spec, batches(50_000, |row| row % 5000), BATCH_ROWS);
    assert!(!is_spread);
    assert_eq!(output.iter().map(Batch::rows).sum::<usize>(), 5000);
}

#[test]
fn aggregates_that_depend_on_the_order_of_rows_are_not_spread() {
    let mut aggregate = sum(2);
    aggregate.bound.order_sensitive = true;
    let spec = spec(AggregateStep::Single, &[Type::BigInt, Type::Varchar], vec![aggregate]);
    let (output, is_spread) = run_and_look(spec, batches(32_000, |row| row), BATCH_ROWS);
    assert!(!is_spread);
    assert_eq!(output.iter().map(Batch::rows).sum::<usize>(), 32_000);
}

#[test]
fn what_waits_in_parts_can_be_given_back() {
    let spec = spec(AggregateStep::Single, &[Type::Varchar], vec![sum(1)]);
    let cx = Harness::context(BATCH_ROWS);
    let mut operator = HashAggregation::new("test", Arc::new(spec), &cx);
    let text = |row: usize| Value::Varchar(format!("{row:0>500}").into());
    let mut rows = 0;
    let mut accept = |operator: &mut HashAggregation| {
        let texts: Vec<Value> = (rows..rows + BATCH_ROWS).map(text).collect();
        rows += BATCH_ROWS;
        let numbers = Vector::constant(Type::BigInt, &Value::BigInt(1), BATCH_ROWS);
        let texts = Vector::from_values(Type::Varchar, &texts);
        operator.accept(Batch::new(vec![texts, numbers], BATCH_ROWS)).unwrap();
    };
    while !operator.is_spread() {
        accept(&mut operator);
    }
    // Groups and, later on, rows that wait for others of their parts; all but the buffers of parts.
    let buffers_max = 3 << 19;
    for _ in 0..50 {
        let offered = operator.as_spill().unwrap().reclaimable_bytes();
        let held = cx.pool.stats().bytes;
        assert!(held - offered <= buffers_max, "{offered} of {held} bytes can be spilled");
        accept(&mut operator);
    }
}
