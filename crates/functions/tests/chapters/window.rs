//! Functions over hand-made partitions.

use volley_function::{Exclusion, Ranges, Registry, ValidRows, WindowRows};
use volley_types::{Type, Value};
use volley_vector::Vector;

/// Two partitions of 3 and 2 rows; the last two rows of the first one are peers.
const PARTITIONS: [(u32, u32); 5] = [(0, 3), (0, 3), (0, 3), (3, 5), (3, 5)];
const PEERS: [(u32, u32); 5] = [(0, 1), (1, 3), (1, 3), (3, 4), (4, 5)];

fn ranges(of: &[(u32, u32)]) -> Ranges {
    let mut ranges = Ranges::default();
    of.iter().for_each(|it| ranges.push(it.0, it.1));
    ranges
}

fn evaluate(
    name: &str,
    args: &[Vector],
    frames: &[(u32, u32)],
    ignores_nulls: bool,
) -> Result<Vec<Value>, volley_error::Error> {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
    let bound = registry.resolve_window(name, &types).unwrap();
    let mut valid = ValidRows::default();
    if let Some(arg) = args.first() {
        valid.push(arg.null_buffer(), arg.len());
    }
    let window = WindowRows {
        rows: 0..5,
        args,
        partitions: &ranges(&PARTITIONS),
        peers: &ranges(&PEERS),
        groups_before: &[0, 1, 1, 0, 1],
        frames: &ranges(frames),
        exclusion: Exclusion::NoOthers,
        valid: ignores_nulls.then_some(&valid),
        piece: None,
        guests: None,
    };
    Ok(bound.function.evaluate(&window)?.to_values().unwrap())
}

/// Results as text, and null as `-`.
#[track_caller]
fn check(name: &str, args: &[Vector], ignores_nulls: bool, expected: &str) {
    let found = evaluate(name, args, &PARTITIONS, ignores_nulls).unwrap();
    let text = |it: &Value| match it {
        Value::Null => "-".to_owned(),
        Value::Double(it) => it.to_string(),
        other => other.as_i128().unwrap().to_string(),
    };
    let found: Vec<String> = found.iter().map(text).collect();
    assert_eq!(found.join(" "), expected, "{name}");
}

fn column(values: &[Option<i64>]) -> Vector {
    let values: Vec<Value> =
        values.iter().map(|it| it.map_or(Value::Null, Value::BigInt)).collect();
    Vector::from_values(Type::BigInt, &values)
}

fn all(value: i64) -> Vector {
    column(&[Some(value); 5])
}

#[test]
fn ranks_count_rows_peers_and_groups() {
    check("row_number", &[], false, "1 2 3 1 2");
    check("rank", &[], false, "1 2 2 1 2");
    check("dense_rank", &[], false, "1 2 2 1 2");
    check("percent_rank", &[], false, "0 0.5 0.5 0 1");
    check("cume_dist", &[], false, "0.3333333333333333 1 1 0.5 1");
}

#[test]
fn parts_differ_by_one_row_at_most() {
    check("ntile", &[all(2)], false, "1 1 2 1 2");
    check("ntile", &[all(1)], false, "1 1 1 1 1");
    check("ntile", &[all(i64::MAX)], false, "1 2 3 1 2");
    check("ntile", &[column(&[None, Some(3), Some(3), None, Some(1)])], false, "- 2 3 - 1");
    assert!(evaluate("ntile", &[all(0)], &PARTITIONS, false).is_err());
}

#[test]
fn neighbors_stay_in_the_partition() {
    let x = column(&[Some(10), None, Some(30), Some(40), Some(50)]);
    check("lag", std::slice::from_ref(&x), false, "- 10 - - 40");
    check("lead", std::slice::from_ref(&x), false, "- 30 - 50 -");
    check("lag", &[x.clone(), all(-1)], false, "- 30 - 50 -");
    check("lag", &[x.clone(), all(2), all(7)], false, "7 7 10 7 7");
    check("lag", &[x.clone(), column(&[None; 5]), all(7)], false, "- - - - -");
    check("lead", &[x.clone(), all(i64::MIN)], false, "- - - - -");
    check("lag", &[x.clone(), all(i64::MIN)], false, "- - - - -");
    check("lag", &[x.clone(), all(0)], false, "10 - 30 40 50");
    check("lag", std::slice::from_ref(&x), true, "- 10 10 - 40");
    check("lead", std::slice::from_ref(&x), true, "30 30 - 50 -");
    check("lead", &[x.clone(), all(2), all(7)], true, "7 7 7 7 7");
    check("lag", &[x, all(0)], true, "10 - 30 40 50");
}

#[test]
fn frames_have_a_first_a_last_and_an_nth_value() {
    let x = column(&[None, Some(20), None, Some(40), Some(50)]);
    check("first_value", std::slice::from_ref(&x), false, "- - - 40 40");
    check("first_value", std::slice::from_ref(&x), true, "20 20 20 40 40");
    check("last_value", std::slice::from_ref(&x), false, "- - - 50 50");
    check("last_value", std::slice::from_ref(&x), true, "20 20 20 50 50");
    check("nth_value", &[x.clone(), all(2)], false, "20 20 20 50 50");
    check("nth_value", &[x.clone(), all(2)], true, "- - - 50 50");
    check("nth_value", &[x.clone(), all(i64::MAX)], false, "- - - - -");
    assert!(evaluate("nth_value", &[x.clone(), all(0)], &PARTITIONS, false).is_err());
    let empty = evaluate("first_value", &[x], &[(2, 2); 5], true).unwrap();
    assert!(empty.iter().all(Value::is_null));
}
