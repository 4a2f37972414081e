//! Calling functions in tests.

use volley_error::ErrorKind;
use volley_function::{BoundScalar, EvalContext, Registry};
use volley_memory::Pool;
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// A function for arguments of these types.
pub(crate) fn resolve(name: &str, types: &[Type]) -> BoundScalar {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let bound = registry.resolve_scalar(name, types).unwrap();
    let again = registry.resolve_scalar(name, &bound.args).unwrap();
    assert_eq!(again.args, bound.args, "binding {name} again must give the same");
    assert_eq!(again.result, bound.result, "binding {name} again must give the same");
    bound
}

/// A cast.
pub(crate) fn resolve_cast(from: &Type, to: &Type) -> BoundScalar {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry.resolve_cast(from, to).unwrap()
}

/// Evaluates a bound function on two rows of the same values: in flat and in constant form.
fn evaluate(bound: &BoundScalar, args: &[(Type, Value)]) -> Result<Value, String> {
    let mut outcomes = Vec::new();
    for flat in [true, false] {
        let vectors: Vec<Vector> = args
            .iter()
            .zip(&bound.args)
            .map(|((from, value), to)| {
                let constant = Vector::constant(from.clone(), value, 2);
                let vector = if flat { constant.flatten().unwrap() } else { constant };
                if from == to { vector } else { run(&resolve_cast(from, to), &[vector]).unwrap() }
            })
            .collect();
        let arguments: Vec<_> = args
            .iter()
            .zip(&bound.args)
            .map(|((from, value), to)| volley_function::Argument {
                data_type: to.clone(),
                constant: (from == to && !flat).then(|| value.clone()),
            })
            .collect();
        let outcome = match bound.function.specialize(&arguments) {
            Ok(Some(function)) => run(&BoundScalar { function, ..bound.clone() }, &vectors),
            Ok(None) => run(bound, &vectors),
            Err(error) => Err(error.message().to_owned()),
        };
        outcomes.push(outcome.map(|vector| vector.value(1).unwrap()));
    }
    assert_eq!(format!("{:?}", outcomes[0]), format!("{:?}", outcomes[1]), "{bound:?}");
    outcomes.remove(0)
}

fn run(bound: &BoundScalar, args: &[Vector]) -> Result<Vector, String> {
    let mut ctx = EvalContext::default();
    let mut rows = Rows::all(2);
    if bound.traits.propagates_nulls && args.iter().any(|it| it.value(0).unwrap().is_null()) {
        return Ok(Vector::nulls(bound.result.clone(), 2));
    }
    if args.is_empty() {
        rows = Rows::all(2);
    }
    let result = bound.function.evaluate(&rows, args, &bound.result, &mut ctx);
    let result = result.map_err(|error| error.message().to_owned())?;
    assert_eq!(result.data_type(), &bound.result, "{bound:?}");
    assert_eq!(result.len(), 2);
    match ctx.errors.first() {
        Some(error) => {
            assert!(!bound.traits.infallible, "{bound:?} fails though infallible");
            Err(error.message().to_owned())
        }
        None => Ok(result),
    }
}

/// The result of a call whose arguments are cast as the function asks.
#[track_caller]
pub(crate) fn call(name: &str, args: &[(Type, Value)]) -> Value {
    let types: Vec<Type> = args.iter().map(|it| it.0.clone()).collect();
    match evaluate(&resolve(name, &types), args) {
        Ok(value) => value,
        Err(message) => panic!("{name}: {message}"),
    }
}

/// The message of a call that fails.
#[track_caller]
pub(crate) fn fails(name: &str, args: &[(Type, Value)]) -> String {
    let types: Vec<Type> = args.iter().map(|it| it.0.clone()).collect();
    evaluate(&resolve(name, &types), args).expect_err("the call must fail")
}

/// A call on `rows` rows of the same arguments must not find the memory that it needs.
#[track_caller]
pub(crate) fn exhausts(name: &str, args: &[(Type, Value)], rows: usize) {
    let types: Vec<Type> = args.iter().map(|it| it.0.clone()).collect();
    exhausts_bound(&resolve(name, &types), args, rows);
}

/// As [`exhausts`], of a cast.
#[track_caller]
pub(crate) fn cast_exhausts(value: Value, from: &Type, to: &Type, rows: usize) {
    exhausts_bound(&resolve_cast(from, to), &[(from.clone(), value)], rows);
}

#[track_caller]
fn exhausts_bound(bound: &BoundScalar, args: &[(Type, Value)], rows: usize) {
    /// Less than the results have.
    const LIMIT: usize = 8 << 20;
    let pool = Pool::root("test", Some(LIMIT));
    let memory = Some(pool.reservation());
    let mut ctx = EvalContext { memory, ..EvalContext::default() };
    let vectors: Vec<Vector> = args
        .iter()
        .map(|(from, value)| Vector::constant(from.clone(), value, rows).flatten().unwrap())
        .collect();
    let result = bound.function.evaluate(&Rows::all(rows), &vectors, &bound.result, &mut ctx);
    assert_eq!(result.map(|it| it.len()).unwrap_err().kind(), ErrorKind::OutOfMemory, "{bound:?}");
}

/// The result of a cast, or its message.
pub(crate) fn cast(value: Value, from: &Type, to: &Type) -> Result<Value, String> {
    evaluate(&resolve_cast(from, to), &[(from.clone(), value)])
}

/// The result as text of a call whose arguments and result are text.
#[track_caller]
pub(crate) fn text(name: &str, args: &[(Type, Value)]) -> String {
    let types: Vec<Type> = args.iter().map(|it| it.0.clone()).collect();
    let result = resolve(name, &types).result;
    call(name, args).display(&result).to_string()
}
