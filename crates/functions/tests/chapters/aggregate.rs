use crate::states::{States, finish, folding, run_bound};
use volley_function::{BoundAggregate, Registry};
use volley_memory::Slots;
use volley_types::{Interval, Type, Value};
use volley_vector::{Rows, ScalarBuffer, Vector};

fn resolve(name: &str, types: &[Type]) -> BoundAggregate {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry.resolve_aggregate(name, types).unwrap()
}

/// Every result of an aggregate of these arguments.
fn run(name: &str, args: &[Vector]) -> Vec<Value> {
    let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
    let aggregate = resolve(name, &types);
    for (arg, expected) in types.iter().zip(&aggregate.args) {
        assert_eq!(arg, expected, "the test must cast itself");
    }
    run_bound(&aggregate, args)
}

#[test]
fn rows_are_lifted_as_groups_of_one_row_are() {
    let values = [Some(7), None, Some(-3), Some(7)].map(|it| it.map_or(Value::Null, Value::BigInt));
    let column = Vector::from_values(Type::BigInt, &values);
    let codes: ScalarBuffer<u32> = vec![3, 1, 2, 1, 0].into();
    let dictionary = Vector::dictionary(codes, column.clone().into(), None);
    let constant = Vector::constant(Type::BigInt, &Value::BigInt(5), 3);
    let nulls = Vector::nulls(Type::BigInt, 3);
    for name in ["sum", "avg", "count", "min", "max", "any_value"] {
        let aggregate = resolve(name, &[Type::BigInt]);
        for column in [&column, &dictionary, &constant, &nulls] {
            let rows = column.len();
            let mut states = States::new(&aggregate, rows);
            let all = states.all();
            let arg = std::slice::from_ref(column);
            let expected = states.with(&all, |it, slots| {
                folding(it).add(slots, arg, &Rows::all(rows)).unwrap();
                folding(it).extract_intermediate(slots).unwrap()
            });
            let lifted = folding(&aggregate).lift(arg, rows).unwrap().expect("it can be lifted");
            assert_eq!(lifted.to_values().unwrap(), expected.to_values().unwrap(), "{name}");
        }
    }
    let lifted = folding(&resolve("count", &[])).lift(&[], 2).unwrap().expect("it can be lifted");
    assert_eq!(lifted.to_values().unwrap(), [Value::BigInt(1), Value::BigInt(1)]);
}

#[track_caller]
fn check(name: &str, data_type: Type, values: &[Value], expected: Value) {
    let vector = Vector::from_values(data_type, values);
    for result in run(name, &[vector]) {
        let same = format!("{result:?}") == format!("{expected:?}");
        assert!(same, "{name} of {values:?}: {result:?}, expected {expected:?}");
    }
}

fn integers(values: impl IntoIterator<Item = i32>) -> Vec<Value> {
    values.into_iter().map(Value::Integer).collect()
}

fn doubles(values: impl IntoIterator<Item = f64>) -> Vec<Value> {
    values.into_iter().map(Value::Double).collect()
}

#[test]
fn sums_of_integers_are_exact() {
    check("sum", Type::Integer, &integers(-3..100), Value::HugeInt((-3..100).sum()));
    let max = Value::BigInt(i64::MAX);
    let expected = Value::HugeInt(i128::from(i64::MAX) * 3);
    check("sum", Type::BigInt, &[max.clone(), Value::Null, max.clone(), max], expected);
    let min = vec![Value::BigInt(i64::MIN); 5];
    check("sum", Type::BigInt, &min, Value::HugeInt(i128::from(i64::MIN) * 5));
    check("sum", Type::BigInt, &[Value::Null, Value::Null], Value::Null);
    check("sum", Type::TinyInt, &[Value::TinyInt(127), Value::TinyInt(1)], Value::HugeInt(128));
}

#[test]
fn sums_of_doubles_overflow_only_where_adding_in_order_does() {
    let turns = (0..64).map(|it| if it % 2 == 0 { 1e308 } else { -1e308 });
    check("sum", Type::Double, &doubles(turns.clone()), Value::Double(0.0));
    check("avg", Type::Double, &doubles(turns), Value::Double(0.0));
    let too_much = doubles([1e308; 64]);
    check("sum", Type::Double, &too_much, Value::Double(f64::INFINITY));
    let not_a_number = doubles((0..64).map(|it| if it == 33 { f64::NAN } else { 1.0 }));
    check("sum", Type::Double, &not_a_number, Value::Double(f64::NAN));
    check("sum", Type::Double, &doubles((0..100).map(f64::from)), Value::Double(4950.0));
    check("sum", Type::Double, &doubles([-0.0; 40]), Value::Double(0.0));
}

#[test]
fn sums_of_decimals_keep_their_scale_and_check_their_digits() {
    let values = [Value::Decimal(150), Value::Null, Value::Decimal(-25)];
    check("sum", Type::decimal(15, 2), &values, Value::Decimal(125));
    check("sum", Type::decimal(38, 2), &values, Value::Decimal(125));
    assert_eq!(resolve("sum", &[Type::decimal(15, 2)]).result, Type::decimal(38, 2));

    let large = Value::Decimal(10i128.pow(38) - 1);
    let aggregate = resolve("sum", &[Type::decimal(38, 0)]);
    let vector = Vector::from_values(Type::decimal(38, 0), &[large.clone(), large]);
    let mut states = States::new(&aggregate, 1);
    states.with(&[0], |it, slot| folding(it).add_to_one(slot, &[vector], &Rows::all(2)).unwrap());
    let error = states.with(&[0], |it, slot| folding(it).extract(slot).unwrap_err());
    assert_eq!(error.message(), "overflow in sum: the result does not fit DECIMAL(38,0)");
}

#[test]
fn sums_beyond_128_bits_are_errors() {
    let aggregate = resolve("sum", &[Type::HugeInt]);
    let constant = Vector::constant(Type::HugeInt, &Value::HugeInt(i128::MAX), 2);
    for vector in [constant.flatten().unwrap(), constant] {
        let mut states = States::new(&aggregate, 1);
        let add = |it: &BoundAggregate, slot: &mut Slots<'_>| {
            folding(it).add_to_one(slot, &[vector], &Rows::all(2)).unwrap();
            folding(it).extract(slot).unwrap_err()
        };
        let error = states.with(&[0], add);
        assert_eq!(error.message(), "overflow in sum: the result does not fit HUGEINT");
    }
}

#[test]
fn constants_count_once_per_row() {
    let rows = Rows::from_indices(10, [1, 3, 5]);
    let one = Vector::constant(Type::Integer, &Value::Integer(7), 10);
    let null = Vector::nulls(Type::Integer, 10);
    for (name, vector, expected) in [
        ("sum", &one, Value::HugeInt(21)),
        ("count", &one, Value::BigInt(3)),
        ("count", &null, Value::BigInt(0)),
        ("sum", &null, Value::Null),
        ("avg", &one, Value::Double(7.0)),
        ("min", &one, Value::Integer(7)),
    ] {
        let aggregate = resolve(name, &[Type::Integer]);
        let mut states = States::new(&aggregate, 1);
        states.with(&[0], |it, slot| {
            folding(it).add_to_one(slot, std::slice::from_ref(vector), &rows).unwrap();
        });
        assert_eq!(finish(&mut states), expected, "{name}");
    }
}

#[test]
fn counts_of_rows_need_no_argument() {
    let aggregate = resolve("count", &[]);
    assert!(!aggregate.ignores_nulls);
    let mut states = States::new(&aggregate, 1);
    let rows = Rows::from_indices(10, [1, 3]);
    states.with(&[0], |it, slot| folding(it).add_to_one(slot, &[], &rows).unwrap());
    let groups = vec![0; 10];
    states.with(&groups, |it, slots| folding(it).add(slots, &[], &rows).unwrap());
    assert_eq!(finish(&mut states), Value::BigInt(4));
}

#[test]
fn averages_divide_the_exact_sum() {
    check("avg", Type::Integer, &integers([1, 2, 2]), Value::Double(5.0 / 3.0));
    let values = [Value::Decimal(150), Value::Decimal(25), Value::Null];
    check("avg", Type::decimal(15, 2), &values, Value::Double(0.875));
    check("avg", Type::Double, &doubles([1.0, 2.0]), Value::Double(1.5));
    let max = Value::BigInt(i64::MAX);
    let values = [max.clone(), max, Value::BigInt(1)];
    check("avg", Type::BigInt, &values, Value::Double(6.148914691236517e18));
    check("avg", Type::Double, &[Value::Null], Value::Null);
}

#[test]
fn extremes_know_nan_strings_and_intervals() {
    let floats = doubles([1.5, f64::NAN, f64::NEG_INFINITY]);
    check("max", Type::Double, &floats, Value::Double(f64::NAN));
    check("min", Type::Double, &floats, Value::Double(f64::NEG_INFINITY));
    let texts = ["b", "", "a string of many characters", "ä"].map(Value::text);
    check("min", Type::Varchar, &texts, Value::text(""));
    check("max", Type::Varchar, &texts, Value::text("ä"));
    let booleans = [Value::Boolean(true), Value::Null, Value::Boolean(false)];
    check("max", Type::Boolean, &booleans, Value::Boolean(true));
    check("min", Type::Boolean, &booleans, Value::Boolean(false));
    let days = |days| Value::Interval(Interval { months: 0, days, nanoseconds: 0 });
    let month = Value::Interval(Interval { months: 1, days: 0, nanoseconds: 0 });
    check("max", Type::Interval, &[days(29), month.clone()], month.clone());
    check("max", Type::Interval, &[days(31), month], days(31));
    let array = |values: [i32; 2]| Value::Array(integers(values).into());
    let arrays = [array([1, 2]), array([1, 3])];
    check("max", Type::array(Type::Integer), &arrays, array([1, 3]));
    check("max", Type::Date, &[Value::Date(3), Value::Date(-3)], Value::Date(3));
}

#[test]
fn variances_follow_the_definition() {
    let values = doubles([1.0, 2.0, 3.0, 4.0, 5.0]);
    check("var_samp", Type::Double, &values, Value::Double(2.5));
    check("var_pop", Type::Double, &values, Value::Double(2.0));
    check("stddev_pop", Type::Double, &values, Value::Double(2f64.sqrt()));
    check("stddev", Type::Double, &doubles([1.0]), Value::Null);
    check("var_pop", Type::Double, &[Value::Null], Value::Null);
    let far = doubles([1_000_000_001.0, 1_000_000_002.0, 1_000_000_003.0]);
    check("variance", Type::Double, &far, Value::Double(1.0));
}

#[test]
fn booleans_fold_in_three_valued_logic() {
    let values = [Value::Boolean(true), Value::Null, Value::Boolean(false)];
    check("bool_and", Type::Boolean, &values, Value::Boolean(false));
    check("bool_or", Type::Boolean, &values, Value::Boolean(true));
    check("bool_and", Type::Boolean, &values[..2], Value::Boolean(true));
    check("bool_or", Type::Boolean, &values[1..2], Value::Null);
}

#[test]
fn first_any_and_array_keep_or_skip_nulls() {
    let values = [Value::Null, Value::Integer(2), Value::Integer(3)];
    check("first", Type::Integer, &values, Value::Null);
    check("last", Type::Integer, &values, Value::Integer(3));
    check("any_value", Type::Integer, &values, Value::Integer(2));
    check("array_agg", Type::Integer, &values, Value::Array(values.clone().into()));
    check("array_agg", Type::Integer, &[], Value::Null);
    let texts = [Value::text("x"), Value::Null];
    check("any_value", Type::Varchar, &texts, Value::text("x"));
}

#[test]
fn strings_are_joined_in_order() {
    let texts = [Value::text("a"), Value::Null, Value::text(""), Value::text("c")];
    check("string_agg", Type::Varchar, &texts, Value::text("a,,c"));
    let separator = Vector::constant(Type::Varchar, &Value::text("--"), 4);
    let vector = Vector::from_values(Type::Varchar, &texts);
    for result in run("string_agg", &[vector, separator]) {
        assert_eq!(result, Value::text("a----c"));
    }
    check("string_agg", Type::Varchar, &[Value::Null], Value::Null);
    let long = "ab".repeat(400_000);
    let texts = [long.as_str(), "c", &long, "d"].map(Value::text);
    check("string_agg", Type::Varchar, &texts, Value::text(format!("{long},c,{long},d")));
}

#[test]
fn distinct_values_are_counted() {
    check("approx_distinct", Type::Integer, &integers([1, 2, 2, 3]), Value::BigInt(3));
    let floats = doubles([0.0, -0.0, f64::NAN, -f64::NAN]);
    check("approx_distinct", Type::Double, &floats, Value::BigInt(2));
    let texts = ["a", "a", "b"].map(Value::text);
    check("approx_distinct", Type::Varchar, &texts, Value::BigInt(2));
    check("approx_distinct", Type::Integer, &[Value::Null], Value::BigInt(0));
}
