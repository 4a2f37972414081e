use super::*;
use crate::{
    aggregate::states::{folding, run_bound},
    order::compare_values,
};
use volley_function::{AggregateKind, aggregate::Groups};
use volley_vector::random::Generator;

fn shares(all: &[f64], rows: usize) -> Vector {
    let shares: Vec<Value> = all.iter().map(|it| Value::Double(*it)).collect();
    let row = Value::Array(shares.into());
    Vector::from_values(Type::array(Type::Double), &vec![row; rows])
}

fn quantiles(bind: fn(&[Type]) -> Option<BoundAggregate>, values: &[i32], all: &[f64]) -> String {
    let types = [Type::Integer, Type::array(Type::Double)];
    let bound = bind(&types).unwrap();
    let values: Vec<Value> = match bound.args[0] {
        Type::Double => values.iter().map(|it| Value::Double((*it).into())).collect(),
        _ => values.iter().map(|it| Value::Integer(*it)).collect(),
    };
    let args = [Vector::from_values(bound.args[0].clone(), &values), shares(all, values.len())];
    let AggregateKind::Collecting(function) = bound.clone().in_frames().function else { panic!() };
    let ends = [values.len() as u32];
    let direct = function.results(&args, &ends).unwrap().value(0).unwrap();
    let intermediate = function.intermediate(&args, &ends).unwrap();
    let expanded = function.expand(&intermediate, &Rows::all(1)).unwrap();
    assert_eq!(expanded.sources, vec![0; values.len()]);
    let again = function.results(&expanded.args, &ends).unwrap().value(0).unwrap();
    assert_eq!(direct, again);
    direct.display(&bound.result).to_string()
}

#[test]
fn shares_are_places_among_the_values() {
    let values = [4, 1, 10, 2];
    let all = [0.0, 0.25, 0.26, 0.5, 0.75, 1.0, -0.25, -0.26, -0.0];
    assert_eq!(quantiles(bind_disc, &values, &all), "[1, 1, 2, 2, 4, 10, 10, 4, 10]");
    let all = [0.0, 0.5, 1.0, -1.0, 0.25];
    assert_eq!(quantiles(bind_cont, &values, &all), "[1.0, 3.0, 10.0, 1.0, 1.75]");
}

#[test]
fn a_share_that_is_whole_but_for_rounding_is_whole() {
    let values: Vec<i32> = (1..=100).collect();
    assert_eq!(quantiles(bind_disc, &values, &[0.07, 0.14, 0.29, 0.57]), "[7, 14, 29, 57]");
}

/// The results of groups of values.
fn answers(bound: &BoundAggregate, args: &[Vector], ends: &[u32]) -> Vec<Value> {
    let AggregateKind::Collecting(function) = bound.clone().in_frames().function else { panic!() };
    let results = function.results(args, ends).unwrap();
    assert_eq!(results.data_type(), &bound.result);
    results.to_values().unwrap()
}

/// The value at a share of sorted values, as the module says it.
fn whole(sorted: &[Value], share: f64) -> Value {
    let Some(last) = sorted.len().checked_sub(1) else { return Value::Null };
    let place = (sorted.len() as f64 * share.abs() - 1e-6).ceil().max(1.0) as usize - 1;
    sorted[if share.is_sign_negative() { last - place } else { place }].clone()
}

#[test]
fn keys_choose_the_values_that_sorting_does() {
    let mut random = Generator::new(3);
    let mut types = vec![Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt, Type::HugeInt];
    types.extend([Type::Real, Type::Double, Type::decimal(12, 2), Type::decimal(38, 4)]);
    types.extend([Type::Date, Type::Time, Type::Timestamp, Type::Interval]);
    types.extend([Type::Boolean, Type::Varchar, Type::array(Type::Integer)]);
    for data_type in types {
        let values = random.vector(&data_type, 200).flatten().unwrap();
        let all = [0.0, 0.3, 0.5, 1.0, -0.2, -1.0];
        let bound = bind_disc(&[data_type.clone(), Type::array(Type::Double)]).unwrap();
        let ends = [0, 1, 3, 3, 200];
        let many = answers(&bound, &[values.clone(), shares(&all, 200)], &ends);
        for (group, answer) in ends.windows(2).zip(&many[1..]) {
            let rows = group[0] as usize..group[1] as usize;
            let mut sorted = values.to_values().unwrap()[rows].to_vec();
            sorted.retain(|it| !it.is_null());
            sorted.sort_by(compare_values);
            let expected: Vec<Value> = all.iter().map(|it| whole(&sorted, *it)).collect();
            let Value::Array(chosen) = answer else {
                assert!(sorted.is_empty());
                continue;
            };
            // Equal values may look different.
            let same = |(a, b): (&Value, &Value)| compare_values(a, b).is_eq();
            assert!(chosen.iter().zip(&expected).all(same), "{data_type}: {chosen:?} {expected:?}");
        }
    }
}

#[test]
fn keys_are_used_for_floats_and_make_all_nans_one() {
    let strange = f64::from_bits(f64::NAN.to_bits() | 1 << 63 | 5);
    let values = Vector::from_values(Type::Double, &[Value::Double(strange)]);
    let bound = bind_disc(&[Type::Double, Type::Double]).unwrap();
    let share = Vector::constant(Type::Double, &Value::Double(0.5), 1);
    let answers = answers(&bound, &[values, share], &[1]);
    let [Value::Double(answer)] = answers[..] else { panic!() };
    assert_eq!(answer.to_bits(), f64::NAN.to_bits());
}

#[test]
fn middles_and_distances_of_each_type_that_has_them() {
    let decimal = Type::decimal(6, 2);
    let decimals: Vec<Value> = [150, -25, 0, 300].map(Value::Decimal).to_vec();
    let reals: Vec<Value> = [1.5, -0.25, 0.0, 3.0].map(Value::Real).to_vec();
    for (data_type, values, median, mad) in [
        (decimal.clone(), decimals, Value::Decimal(75), Value::Decimal(87)),
        (Type::Real, reals, Value::Real(0.75), Value::Real(0.875)),
    ] {
        let column = Vector::from_values(data_type.clone(), &values);
        for (bind, expected) in
            [(bind_median as fn(&[Type]) -> Option<BoundAggregate>, median), (bind_mad, mad)]
        {
            let bound = bind(&[data_type.clone()]).unwrap();
            assert_eq!(answers(&bound, &[column.clone()], &[0, 4]), [Value::Null, expected]);
        }
    }
    let far = [i128::MIN, i128::MAX, i128::MAX].map(Value::Decimal);
    let far = Vector::from_values(Type::decimal(38, 0), &far);
    let bound = bind_mad(&[Type::decimal(38, 0)]).unwrap();
    let mut groups = Groups::new(Arc::clone(folding(&bound)), 1);
    groups.add(&[0, 0, 0], std::slice::from_ref(&far)).unwrap();
    let error = groups.results().unwrap_err();
    assert_eq!(error.message(), "distance of values is out of range");
    let AggregateKind::Collecting(function) = bound.in_frames().function else { panic!() };
    let error = function.results(&[far], &[3]).unwrap_err();
    assert_eq!(error.message(), "distance of values is out of range");
}

#[test]
fn null_shares_and_groups_without_values_give_null() {
    let values = Vector::from_values(Type::Integer, &[Value::Null, Value::Integer(1)]);
    let list = Type::array(Type::Double);
    let no_share = Value::Array([Value::Null, Value::Double(1.0)].into());
    for (share, expected) in [
        (Value::Null, Value::Null),
        (no_share, Value::Array([Value::Null, Value::Integer(1)].into())),
        (Value::Array([].into()), Value::Array([].into())),
    ] {
        let bound = bind_disc(&[Type::Integer, list.clone()]).unwrap();
        let column = Vector::from_values(list.clone(), &[share.clone(), share]);
        let last = [values.slice(1, 1), column.slice(1, 1)];
        assert!(run_bound(&bound, &last).iter().all(|it| *it == expected), "{expected:?}");
        let answers = answers(&bound, &[values.clone(), column], &[1, 2]);
        assert_eq!(answers, [Value::Null, expected]);
    }
}

#[test]
fn states_choose_what_rows_do() {
    let mut random = Generator::new(5);
    let mut types = vec![Type::TinyInt, Type::SmallInt, Type::Integer, Type::BigInt, Type::HugeInt];
    types.extend([Type::Real, Type::Double, Type::decimal(12, 2), Type::decimal(38, 4)]);
    types.extend([Type::Date, Type::Time, Type::Timestamp, Type::Interval]);
    let list = Type::array(Type::Double);
    for data_type in types {
        for rows in [0, 1, 2, 30, 500] {
            let values = random.vector(&data_type, rows).loaded().unwrap();
            let all = shares(&[0.0, 0.3, 0.5, 1.0, -0.2, -1.0], rows);
            let one = Vector::constant(Type::Double, &Value::Double(0.7), rows);
            let disc = |share: &Type| bind_disc(&[data_type.clone(), share.clone()]);
            let mut calls =
                vec![(disc(&list), Some(all.clone())), (disc(&Type::Double), Some(one))];
            let is_own = Between::of(&data_type).is_some_and(|it| it.0 == data_type);
            if is_own {
                calls.push((bind_cont(&[data_type.clone(), list.clone()]), Some(all)));
                calls.push((bind_median(&[data_type.clone()]), None));
            }
            if is_own && data_type.is_numeric() {
                calls.push((bind_mad(&[data_type.clone()]), None));
            }
            for (bound, share) in calls {
                let bound = bound.unwrap();
                let args: Vec<Vector> = std::iter::once(values.clone()).chain(share).collect();
                let flat: Vec<Vector> = args.iter().map(|it| it.flatten().unwrap()).collect();
                let expected = answers(&bound, &flat, &[rows as u32]);
                assert!(bound.over_rows.is_some(), "{data_type} has no states");
                for result in run_bound(&bound, &args) {
                    let same = compare_values(&result, &expected[0]).is_eq();
                    assert!(same, "{data_type} {rows}: {result:?} {:?}", expected[0]);
                }
            }
        }
    }
}

#[test]
fn states_of_groups_are_told_apart() {
    let bound = bind_disc(&[Type::Integer, Type::Double]).unwrap();
    let values: Vec<Value> = (0..400).map(|it| Value::Integer(it * 7 % 100)).collect();
    let values = Vector::from_values(Type::Integer, &values);
    let share = |it: usize| Value::Double([0.0, 1.0, 0.5][it % 3]);
    let shares: Vec<Value> = (0..400).map(share).collect();
    let shares = Vector::from_values(Type::Double, &shares);
    let groups: Vec<u32> = (0..400).map(|it| it % 3).collect();
    let mut states = Groups::new(Arc::clone(folding(&bound)), 4);
    states.add(&groups, &[values, shares]).unwrap();
    assert!(states.bytes() > 400 * 4);
    let results = states.results().unwrap().to_values().unwrap();
    let expected = [Value::Integer(0), Value::Integer(99), Value::Integer(50), Value::Null];
    assert_eq!(results, expected);
}
