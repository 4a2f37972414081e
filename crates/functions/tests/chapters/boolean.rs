use volley_function::{EvalContext, Registry};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

#[test]
fn not_turns_truth_and_keeps_null() {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let bound = registry.resolve_scalar("not", &[Type::Boolean]).unwrap();
    let values = [Value::Boolean(true), Value::Boolean(false), Value::Null];
    let vector = Vector::from_values(Type::Boolean, &values);
    for (vector, expected) in [
        (vector.clone(), [Value::Boolean(false), Value::Boolean(true), Value::Null]),
        (Vector::repeat(vector.slice(1, 1), 3), [const { Value::Boolean(true) }; 3]),
    ] {
        let mut ctx = EvalContext::default();
        let result = bound.function.evaluate(&Rows::all(3), &[vector], &Type::Boolean, &mut ctx);
        assert_eq!(result.unwrap().to_values().unwrap(), expected);
    }
}
