//! `=` and `<>` of arrays, maps and rows, where a null inside leaves open what they say.
//!
//! Two nested values differ where two parts do, or where they have not the same number of parts;
//! else it is unknown where a part is null. Maps are equal whatever the order of their entries is.

use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{CancelCheck, vectorized},
    sort_unstable_by,
};
use volley_functions::value_aggregate::compare_values;
use volley_memory::check_cancelled;
use volley_types::{CustomOrder, Type, Value, comparable_type_by_position};
use volley_vector::{Rows, Vector};

/// Registers both for nested values; those of others are the core's.
pub(super) fn register(registry: &mut Registry) {
    for (name, negated) in [("presto.eq", false), ("presto.neq", true)] {
        let bind = move |given: &[Type]| bind(given, negated);
        registry.add_scalar(name, FunctionDoc::default(), Arc::new(bind));
    }
}

fn bind(given: &[Type], negated: bool) -> Option<BoundScalar> {
    let [left, right] = given else { return None };
    let common = comparable_type_by_position(left, right)?.without_size();
    if !common.is_nested() || common.order() < CustomOrder::Equality {
        return None;
    }
    let function = vectorized(move |rows, args, to, _| compare(rows, args, to, negated));
    let args = vec![common.clone(), common];
    Some(BoundScalar::new(args, Type::Boolean, ScalarTraits::INFALLIBLE, function))
}

fn compare(rows: &Rows, args: &[Vector], to: &Type, negated: bool) -> Result<Vector> {
    let [left, right] = args else {
        return Err(Error::internal("comparison of other than two values"));
    };
    let mut results = vec![Value::Null; left.len()];
    let mut cancel = CancelCheck::default();
    rows.try_for_each(|row| {
        check_cancelled()?;
        let value = |it: &Vector| it.value(row).map(|value| it.data_type().key_of(&value));
        let equal = is_equal(&value(left)?, &value(right)?, &mut cancel)?;
        if let Some(result) = results.get_mut(row) {
            *result = equal.map_or(Value::Null, |it| Value::Boolean(it != negated));
        }
        Ok::<(), Error>(())
    })?;
    Ok(Vector::from_values(to.clone(), &results))
}

/// Whether two values are equal; `None` where that is unknown.
fn is_equal(left: &Value, right: &Value, cancel: &mut CancelCheck) -> Result<Option<bool>> {
    cancel.check(1)?;
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(None),
        (Value::Array(left), Value::Array(right)) | (Value::Row(left), Value::Row(right)) => {
            if left.len() != right.len() {
                return Ok(Some(false));
            }
            let pairs = left.iter().zip(right.iter());
            all(pairs.map(|(left, right)| is_equal(left, right, cancel)))
        }
        (Value::Map(left), Value::Map(right)) => {
            if left.len() != right.len() {
                return Ok(Some(false));
            }
            let mut entries: Vec<&(Value, Value)> = right.iter().collect();
            sort_unstable_by(&mut entries, |a, b| compare_values(&a.0, &b.0))?;
            all(left.iter().map(|(key, value)| {
                match entries.binary_search_by(|it| compare_values(&it.0, key)) {
                    Ok(at) => is_equal(value, &entries[at].1, cancel),
                    Err(_) => Ok(Some(false)),
                }
            }))
        }
        _ => Ok(Some(compare_values(left, right).is_eq())),
    }
}

/// AND of SQL.
fn all(parts: impl Iterator<Item = Result<Option<bool>>>) -> Result<Option<bool>> {
    let mut result = Some(true);
    for part in parts {
        match part? {
            Some(false) => return Ok(Some(false)),
            None => result = None,
            Some(true) => {}
        }
    }
    Ok(result)
}
