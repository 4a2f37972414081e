//! The elements or entries for which a lambda is true: filter, map_filter, find_first.

use super::{element_and_place, element_type, elements::Collections, entry_types};
use crate::{
    documentation::doc,
    nested::{entries_of, gather_or_null, nested_of},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    ArgumentType, BoundHigherOrder, EvalContext, Lambda, Registry, ScalarTraits,
};
use volley_types::Type;
use volley_vector::{Decoded, Rows, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let filter = doc(
        "filter(array, x -> condition) -> array",
        "The elements for which the lambda is true. A second parameter is the element's place, \
         from 1.",
        "lambda",
        &[
            ("filter([1, 2, NULL, 3], x -> x > 1)", "[2, 3]"),
            ("filter(['a', 'b', 'c'], (x, i) -> i <> 2)", "[a, c]"),
        ],
    );
    for name in ["filter", "list_filter", "array_filter"] {
        registry.add_higher_order(name, filter.clone(), Arc::new(bind_filter));
    }
    let map_filter = doc(
        "map_filter(map, (key, value) -> condition) -> map",
        "The entries for which the lambda is true.",
        "lambda",
        &[("map_filter(map(['a', 'b'], [1, 2]), (k, v) -> v > 1)", "{b=2}")],
    );
    registry.add_higher_order("map_filter", map_filter, Arc::new(bind_map_filter));
    let find = doc(
        "find_first(array, x -> condition) -> element",
        "The first element for which the lambda is true; null if there is none.",
        "lambda",
        &[("find_first([1, 2, 3], x -> x > 1)", "2")],
    );
    registry.add_higher_order("find_first", find, Arc::new(bind_find));
}

/// The elements that a lambda keeps.
struct Kept {
    /// Their positions among all, row after row.
    positions: Vec<u32>,
    /// How many each row keeps.
    sizes: Vec<i32>,
}

impl Kept {
    fn new(
        collections: &Collections<'_>,
        rows: &Rows,
        lambda: &mut dyn Lambda,
        with_index: bool,
        ctx: &mut EvalContext,
    ) -> Result<Kept> {
        let columns = collections.columns()?;
        let mut kept = Kept { positions: Vec::new(), sizes: vec![0; rows.len()] };
        collections.for_each_chunk(rows, |chunk| {
            let parameters = chunk.parameters(&columns, with_index);
            let positions = chunk.positions.clone();
            let (verdicts, owners) = chunk.apply(lambda, &parameters, ctx)?;
            let verdicts = Decoded::new(&verdicts)?;
            for (element, (&position, &owner)) in positions.iter().zip(owners.iter()).enumerate() {
                if !verdicts.is_null(element) && verdicts.boolean(element) {
                    kept.positions.push(position);
                    kept.sizes[owner as usize] += 1;
                }
            }
            Ok(())
        })?;
        Ok(kept)
    }
}

fn bind_filter(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, ArgumentType::Lambda(lambda)] = args else { return None };
    let element = element_type(array)?;
    let parameters = element_and_place(&element, lambda)?;
    let with_index = parameters.len() == 2;
    let array = Type::array(element);
    let args = vec![
        ArgumentType::Value(array.clone()),
        ArgumentType::of_lambda(parameters, Some(Type::Boolean)),
    ];
    let traits = ScalarTraits::INFALLIBLE;
    Some(BoundHigherOrder::of_closure(args, array, traits, move |rows, args, lambdas, to, ctx| {
        let arrays = Collections::new(&args[0])?;
        let kept = Kept::new(&arrays, rows, lambdas[0], with_index, ctx)?;
        let elements = arrays.columns()?[0].select(&kept.positions);
        Ok(Vector::flat(to.clone(), Values::Array(nested_of(kept.sizes, elements)?), None))
    }))
}

fn bind_map_filter(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [map, ArgumentType::Lambda(lambda)] = args else { return None };
    let (key, value) = entry_types(map)?;
    if lambda.parameters.len() != 2 {
        return None;
    }
    let map = Type::map(key.clone(), value.clone());
    let args = vec![
        ArgumentType::Value(map.clone()),
        ArgumentType::of_lambda([key, value], Some(Type::Boolean)),
    ];
    let traits = ScalarTraits::INFALLIBLE;
    Some(BoundHigherOrder::of_closure(args, map, traits, |rows, args, lambdas, to, ctx| {
        let maps = Collections::new(&args[0])?;
        let kept = Kept::new(&maps, rows, lambdas[0], false, ctx)?;
        let columns = maps.columns()?;
        let children = [0, 1].map(|field| columns[field].select(&kept.positions));
        let entries = entries_of(&to.entry_type(), children);
        Ok(Vector::flat(to.clone(), Values::Map(nested_of(kept.sizes, entries)?), None))
    }))
}

fn bind_find(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, ArgumentType::Lambda(lambda)] = args else { return None };
    let element = element_type(array)?;
    if lambda.parameters.len() != 1 {
        return None;
    }
    let args = vec![
        ArgumentType::Value(Type::array(element.clone())),
        ArgumentType::of_lambda([element.clone()], Some(Type::Boolean)),
    ];
    let traits = ScalarTraits::INFALLIBLE;
    Some(BoundHigherOrder::of_closure(args, element, traits, |rows, args, lambdas, _, ctx| {
        let arrays = Collections::new(&args[0])?;
        let kept = Kept::new(&arrays, rows, lambdas[0], false, ctx)?;
        let mut rest = kept.positions.as_slice();
        let mut first_of = |size: &i32| {
            let (own, others) = rest.split_at(*size as usize);
            rest = others;
            own.first().copied()
        };
        let found: Vec<Option<u32>> = kept.sizes.iter().map(&mut first_of).collect();
        gather_or_null(&arrays.columns()?[0], &found)
    }))
}
