use crate::test_kit::{InputEncoding, SETUPS, TestTables, run};
use std::sync::Arc;
use volley_error::Result;
use volley_plan::GeneratorKind::{Elements, Range, Series};
use volley_testkit::sorted;
use volley_types::{Interval, Type, Value, civil};

fn list(values: &[Option<i64>]) -> Value {
    Value::Array(values.iter().map(|it| number(*it)).collect())
}

fn number(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::BigInt)
}

/// Rows of a number, a list, a map, and another list.
fn rows() -> Vec<Vec<Value>> {
    let map = |entries: &[(&str, i64)]| {
        let entries = entries.iter().map(|it| (Value::text(it.0), Value::BigInt(it.1)));
        Value::Map(entries.collect::<Vec<_>>().into())
    };
    let long: Vec<Option<i64>> = (0..3000).map(Some).collect();
    vec![
        vec![number(Some(1)), list(&[Some(7), None]), map(&[("a", 1)]), list(&[Some(3)])],
        vec![number(Some(2)), list(&[]), map(&[]), list(&[])],
        vec![number(Some(3)), Value::Null, Value::Null, list(&[Some(5), Some(6)])],
        vec![number(None), list(&long), map(&[("x", 1), ("y", 2)]), Value::Null],
        vec![number(Some(5)), list(&[Some(9)]), map(&[("é", 3)]), list(&[None])],
    ]
}

fn columns() -> [(&'static str, Type); 4] {
    let numbers = Type::array(Type::BigInt);
    let map = Type::map(Type::Varchar, Type::BigInt);
    [("n", Type::BigInt), ("list", numbers.clone()), ("map", map), ("other", numbers)]
}

/// The rows that a row by row loop makes.
fn expected(outer: bool) -> Vec<Vec<Value>> {
    let mut expected = Vec::new();
    let at = |of: &Value, place: usize| match of {
        Value::Array(values) => values.get(place).cloned(),
        _ => None,
    };
    let entry = |of: &Value, place: usize| match of {
        Value::Map(entries) => entries.get(place).cloned(),
        _ => None,
    };
    for row in rows() {
        for place in 0.. {
            let parts = (at(&row[1], place), entry(&row[2], place), at(&row[3], place));
            let is_over = matches!(parts, (None, None, None));
            if is_over && !(outer && place == 0) {
                break;
            }
            let or_null = |it: Option<Value>| it.unwrap_or(Value::Null);
            let (key, value) = parts.1.unwrap_or((Value::Null, Value::Null));
            let ordinality = if is_over { Value::Null } else { Value::BigInt(place as i64 + 1) };
            let made = [or_null(parts.0), key, value, or_null(parts.2), ordinality];
            expected.push([row[0].clone()].into_iter().chain(made).collect());
            if is_over {
                break;
            }
        }
    }
    expected
}

#[test]
fn lists_and_maps_stand_side_by_side() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&columns(), rows(), manners);
        for setup in SETUPS {
            for outer in [false, true] {
                let generators: [(_, &[&str], &[&str]); 3] = [
                    (Elements, &["list"], &["element"]),
                    (Elements, &["map"], &["key", "value"]),
                    (Elements, &["other"], &["other"]),
                ];
                let plan = tables.scan("t").unnest(&["n"], &generators, Some("at"), outer);
                let made = run(plan, &tables, setup).unwrap();
                assert!(sorted(made) == sorted(expected(outer)), "{manners:?} {setup:?} {outer}");
            }
        }
    }
}

/// The values of a series, with a column beside them to look at their order.
fn series(kind: volley_plan::GeneratorKind, bounds: [Value; 3]) -> Result<Vec<Value>> {
    let types = match bounds[0] {
        Value::Timestamp(_) => [Type::Timestamp, Type::Timestamp, Type::Interval],
        _ => [Type::BigInt, Type::BigInt, Type::BigInt],
    };
    let names = ["start", "end", "step"];
    let columns: Vec<(&str, Type)> = names.into_iter().zip(types).collect();
    let mut results = Vec::new();
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&columns, vec![bounds.to_vec()], manners);
        for setup in SETUPS {
            let generators: [(_, &[&str], &[&str]); 1] = [(kind, &names, &["value"])];
            let plan = tables.scan("t").unnest(&[], &generators, None, false);
            let made = run(plan, &tables, setup)?;
            let made: Vec<Value> = made.into_iter().flatten().collect();
            results.push(made);
        }
    }
    assert!(results.windows(2).all(|it| it[0] == it[1]), "{bounds:?}");
    Ok(results.swap_remove(0))
}

#[test]
fn series_of_numbers_end_where_they_should() {
    let of = |kind, start: i64, end: i64, step: i64| {
        let made = series(kind, [start, end, step].map(Value::BigInt)).unwrap();
        let number = |it: Value| it.as_i128().unwrap() as i64;
        made.into_iter().map(number).collect::<Vec<i64>>()
    };
    assert_eq!(of(Range, 0, 3, 1), [0, 1, 2]);
    assert_eq!(of(Series, 0, 3, 1), [0, 1, 2, 3]);
    assert_eq!(of(Series, 0, 3, 2), [0, 2]);
    assert_eq!(of(Range, 0, 4, 2), [0, 2]);
    assert_eq!(of(Range, 3, 0, -1), [3, 2, 1]);
    assert_eq!(of(Series, 3, 0, -3), [3, 0]);
    assert_eq!(of(Series, 3, 3, 1), [3]);
    assert_eq!(of(Range, 3, 3, 1), Vec::<i64>::new());
    assert_eq!(of(Series, 3, 0, 1), Vec::<i64>::new());
    assert_eq!(of(Range, 0, 5000, 1), (0..5000).collect::<Vec<i64>>());
    assert_eq!(of(Series, i64::MAX - 1, i64::MAX, 1), [i64::MAX - 1, i64::MAX]);
    assert_eq!(of(Series, i64::MIN, i64::MAX, i64::MAX), [i64::MIN, -1, i64::MAX - 1]);
    assert_eq!(of(Series, i64::MAX, i64::MIN, i64::MIN), [i64::MAX, -1]);
}

#[test]
fn a_step_of_zero_is_an_error() {
    let error = series(Range, [1, 2, 0].map(Value::BigInt)).unwrap_err();
    assert_eq!(error.message(), "step of a series is zero");
}

#[test]
fn series_of_months_keep_to_the_ends_of_months() {
    let at = |text: &str| {
        let mut parts = text.split('-').map(|it| it.parse::<i64>().unwrap());
        let [year, month, day] = std::array::from_fn(|_| parts.next().unwrap());
        let day = civil::checked_days(year, month, day).unwrap();
        Value::Timestamp(civil::timestamp_of(day, 0).unwrap())
    };
    let step = |months, days| Value::Interval(Interval { months, days, nanoseconds: 0 });
    let made = series(Series, [at("2020-01-31"), at("2020-04-29"), step(1, 0)]).unwrap();
    assert_eq!(made, ["2020-01-31", "2020-02-29", "2020-03-29", "2020-04-29"].map(at));
    let made = series(Range, [at("2020-03-31"), at("2020-01-29"), step(-1, 0)]).unwrap();
    assert_eq!(made, ["2020-03-31", "2020-02-29"].map(at));
    let made = series(Range, [at("2020-01-01"), at("2020-03-05"), step(1, 1)]).unwrap();
    assert_eq!(made, ["2020-01-01", "2020-02-02", "2020-03-03"].map(at));
    let error = series(Range, [at("2020-01-01"), at("2020-03-05"), step(1, -1)]).unwrap_err();
    assert_eq!(error.message(), "step of a series has parts of different signs");
}

#[test]
fn a_null_bound_makes_no_rows() {
    for at in 0..3 {
        let mut bounds = [1, 5, 1].map(Value::BigInt);
        bounds[at] = Value::Null;
        let columns = ["start", "end", "step"].map(|it| (it, Type::BigInt));
        let tables = TestTables::one(&columns, vec![bounds.to_vec()], InputEncoding::WHOLE[0]);
        let generators: [(_, &[&str], &[&str]); 1] =
            [(Range, &["start", "end", "step"], &["value"])];
        let plan = tables.scan("t").unnest(&["start"], &generators, None, false);
        assert!(run(plan, &tables, SETUPS[0]).unwrap().is_empty());
    }
}

#[test]
fn a_row_of_very_many_elements_comes_in_pieces() {
    let long = Value::Array((0..100_000).map(Value::BigInt).collect::<Arc<[Value]>>());
    let columns = [("list", Type::array(Type::BigInt))];
    let vector = volley_vector::Vector::from_values(columns[0].1.clone(), &[long]);
    let schema = volley_types::Schema::default();
    let node = volley_plan::UnnestNode {
        node_id: volley_plan::PlanNodeId::UNASSIGNED,
        input: Arc::new(volley_plan::PlanNode::Values(volley_plan::ValuesNode {
            node_id: volley_plan::PlanNodeId::UNASSIGNED,
            rows: Vec::new(),
            schema: schema.clone(),
        })),
        replicated: vec![0],
        generators: vec![volley_plan::Generator { kind: Elements, args: vec![0] }],
        ordinality: false,
        outer: false,
        schema,
    };
    let context = crate::test_kit::Harness::context(1000);
    let mut harness = crate::test_kit::Harness::new(volley_exec::TransformOperator::new(
        super::Unnest::new(&node, &context),
    ));
    let batch = volley_vector::Batch::new(vec![vector], 1);
    let (sizes, sum) = harness.feed_sizes(vec![batch]).unwrap();
    assert_eq!(sizes, vec![1000; 100]);
    assert_eq!(sum, 100_000);
    assert_eq!(context.pool.stats().bytes, 0);
    assert!(context.pool.stats().peak_bytes >= 800_000);
}
