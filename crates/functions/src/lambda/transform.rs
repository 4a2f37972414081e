//! One new element or entry for each old one: transform, transform_keys, transform_values.

use super::{body_type, element_and_place, element_type, elements::Collections, entry_types};
use crate::{
    documentation::doc,
    nested::{entries_of, nested_of, reject_bad_keys},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    ArgumentType, BoundHigherOrder, EvalContext, Lambda, Registry, ScalarTraits,
};
use volley_types::Type;
use volley_vector::{Rows, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let transform = doc(
        "transform(array, x -> y) -> array",
        "The lambda's value for each element. A second parameter is the element's place, from 1.",
        "lambda",
        &[
            ("transform([1, 2], x -> x + 1)", "[2, 3]"),
            ("transform(['a', 'b'], (x, i) -> x || i)", "[a1, b2]"),
        ],
    );
    for name in
        ["transform", "list_transform", "array_transform", "list_apply", "array_apply", "apply"]
    {
        registry.add_higher_order(name, transform.clone(), Arc::new(bind_transform));
    }
    let keys = doc(
        "transform_keys(map, (key, value) -> key) -> map",
        "The same values under the keys that the lambda makes, which must differ.",
        "lambda",
        &[("transform_keys(map(['a'], [1]), (k, v) -> k || v)", "{a1=1}")],
    );
    registry.add_higher_order("transform_keys", keys, Arc::new(|args| bind_entries(args, 0)));
    let values = doc(
        "transform_values(map, (key, value) -> value) -> map",
        "The same keys with the values that the lambda makes.",
        "lambda",
        &[("transform_values(map(['a'], [1]), (k, v) -> v + 1)", "{a=2}")],
    );
    registry.add_higher_order("transform_values", values, Arc::new(|args| bind_entries(args, 1)));
}

fn bind_transform(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, ArgumentType::Lambda(lambda)] = args else { return None };
    let element = element_type(array)?;
    let parameters = element_and_place(&element, lambda)?;
    let with_index = parameters.len() == 2;
    let result = Type::array(body_type(lambda));
    let args = vec![
        ArgumentType::Value(Type::array(element)),
        ArgumentType::of_lambda(parameters, lambda.result.clone()),
    ];
    let traits = ScalarTraits::INFALLIBLE;
    Some(BoundHigherOrder::of_closure(args, result, traits, move |rows, args, lambdas, to, ctx| {
        let arrays = Collections::new(&args[0])?;
        let element = match to {
            Type::Array(element) => element,
            _ => &Type::Unknown,
        };
        let elements = apply_to_all(&arrays, rows, lambdas[0], element, with_index, ctx)?;
        let values = Values::Array(nested_of(arrays.sizes(rows)?, elements)?);
        Ok(Vector::flat(to.clone(), values, None))
    }))
}

/// The lambda's values for all elements of the active rows, next to each other.
pub(super) fn apply_to_all(
    collections: &Collections<'_>,
    rows: &Rows,
    lambda: &mut dyn Lambda,
    to: &Type,
    with_index: bool,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let columns = collections.columns()?;
    let before = ctx.charged();
    let mut parts = Vec::new();
    collections.for_each_chunk(rows, |chunk| {
        let parameters = chunk.parameters(&columns, with_index);
        parts.push(chunk.apply(lambda, &parameters, ctx)?.0);
        Ok(())
    })?;
    match parts.as_slice() {
        [one] => Ok(one.clone()),
        _ => {
            // Both are there for a moment.
            ctx.charge(ctx.charged() - before)?;
            Vector::concat(to, &parts)
        }
    }
}

/// `changed`: 0 for new keys, 1 for new values.
fn bind_entries(args: &[ArgumentType], changed: usize) -> Option<BoundHigherOrder> {
    let [map, ArgumentType::Lambda(lambda)] = args else { return None };
    let (key, value) = entry_types(map)?;
    if lambda.parameters.len() != 2 {
        return None;
    }
    let result = match changed {
        0 => Type::map(body_type(lambda), value.clone()),
        _ => Type::map(key.clone(), body_type(lambda)),
    };
    let args = vec![
        ArgumentType::Value(Type::map(key.clone(), value.clone())),
        ArgumentType::of_lambda([key, value], lambda.result.clone()),
    ];
    let traits = if changed == 0 { ScalarTraits::DEFAULT } else { ScalarTraits::INFALLIBLE };
    Some(BoundHigherOrder::of_closure(args, result, traits, move |rows, args, lambdas, to, ctx| {
        let maps = Collections::new(&args[0])?;
        let entry = to.entry_type();
        let new_type = match &entry {
            Type::Row(fields) => &fields[changed].data_type,
            _ => &Type::Unknown,
        };
        let new = apply_to_all(&maps, rows, lambdas[0], new_type, false, ctx)?;
        let kept = maps.taken(rows, 1 - changed)?;
        let children = if changed == 0 { [new, kept] } else { [kept, new] };
        let nested = nested_of(maps.sizes(rows)?, entries_of(&entry, children))?;
        let result = Vector::flat(to.clone(), Values::Map(nested), None);
        if changed == 0 {
            reject_bad_keys(&result, rows, ctx)?;
        }
        Ok(result)
    }))
}
