//! Logarithms whose result is null where there is none.

use crate::{
    constant::{for_constants, loop_of},
    doc,
};
use std::sync::Arc;
use volley_function::{Registry, ScalarFunction};
use volley_types::{Type, Value};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let description = "The natural logarithm of the sum of a value and an offset; null where the \
                       sum is not positive, NaN where it is NaN.";
    registry.add_scalar(
        "log_or_null",
        doc("log_or_null(value, offset) -> double", description),
        for_constants(log_or_null, log_loop),
    );
}

fn log_or_null(value: f64, offset: f64) -> Option<f64> {
    let shifted = value + offset;
    // NaN is not up to 0: its logarithm is NaN.
    let has_none = shifted <= 0.0;
    (!has_none).then(|| shifted.ln())
}

/// The loop of [`log_or_null`] for a constant offset.
fn log_loop(constants: &[Value]) -> Option<Arc<dyn ScalarFunction>> {
    let &[Value::Double(offset)] = constants else { return None };
    loop_of(move |value: f64| log_or_null(value, offset), &Type::Double)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_function::{Argument, EvalContext};
    use volley_vector::{Rows, Vector};

    fn values() -> Vec<Value> {
        let numbers = [0.0, -0.0, 1.0, -1.0, -2.5, 1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
        let mut all: Vec<Value> = numbers.into_iter().map(Value::Double).collect();
        all.extend([Value::Double(f64::NAN), Value::Null, Value::Double(7.0)]);
        all
    }

    fn expected(value: &Value, offset: f64) -> Value {
        match value {
            Value::Double(it) if *it + offset <= 0.0 => Value::Null,
            Value::Double(it) => Value::Double((*it + offset).ln()),
            _ => Value::Null,
        }
    }

    #[test]
    fn the_loop_and_the_function_agree_with_the_definition() {
        let mut registry = Registry::new();
        register(&mut registry);
        let bound = registry.resolve_scalar("log_or_null", &[Type::Double, Type::Double]).unwrap();
        for offset in [0.0, 1.0, -1.0, f64::NAN] {
            let many = std::iter::repeat_n(values(), 100).flatten().collect();
            for values in [values(), values()[2..3].to_vec(), Vec::new(), many] {
                let rows = Rows::all(values.len());
                let vector = Vector::from_values(Type::Double, &values);
                let offsets = vec![Value::Double(offset); values.len()];
                let offsets = Vector::from_values(Type::Double, &offsets);
                let mut context = EvalContext::default();
                let made = log_loop(&[Value::Double(offset)]).unwrap();
                let found = made.evaluate(&rows, &[vector.clone()], &Type::Double, &mut context);
                let plain = [vector, offsets];
                let plain =
                    bound.function.evaluate(&rows, &plain, &Type::Double, &mut context).unwrap();
                let expected: Vec<_> = values.iter().map(|it| expected(it, offset)).collect();
                let shown = |it: &[Value]| format!("{it:?}");
                assert_eq!(shown(&found.unwrap().to_values().unwrap()), shown(&expected));
                assert_eq!(shown(&plain.to_values().unwrap()), shown(&expected));
            }
        }
        let argument = |constant| Argument { data_type: Type::Double, constant };
        let specialize = |offset| bound.function.specialize(&[argument(None), argument(offset)]);
        assert!(specialize(Some(Value::Double(1.0))).unwrap().is_some());
        assert!(specialize(None).unwrap().is_none());
        assert!(log_loop(&[Value::Null]).is_none());
    }
}
