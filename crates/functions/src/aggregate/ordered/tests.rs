use super::*;

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
    let volley_function::AggregateKind::Collecting(function) = bound.function else { panic!() };
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
