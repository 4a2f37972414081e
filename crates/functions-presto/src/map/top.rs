//! The entries, keys and values that are greatest.
//!
//! Entries are ordered by their values, null last, and those with equal values by their keys, both
//! descending.

use super::doc;
use crate::array::{ComparisonSort, take_from_end};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    ArgumentType, BoundHigherOrder, Registry, ScalarTraits,
    simple::{
        Any, Array, ArrayWriter, MapView, MapWriter, Orderable, OrderableValue, map_written, sorted,
    },
};
use volley_functions::nested::entry_field;
use volley_types::Type;
use volley_vector::{Nested, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.map_top_n",
        doc(
            "map_top_n(map, n) -> map",
            "The n entries with the greatest values, the greatest first and null last. Of equal \
             values, that with the greater key comes first.",
            &[("map_top_n(map(ARRAY['a', 'b', 'c'], ARRAY[2, 3, 1]), 2)", "{b=3, a=2}")],
        ),
        |map: MapView<Orderable<0>, Orderable<1>>,
         n: i64,
         out: &mut MapWriter<Any<0>, Any<1>>|
         -> Result<()> {
            for_entries_by_value(map, count_of(n)?, |(value, key)| out.push(key, value));
            Ok(())
        },
    );
    for name in ["map_keys_by_top_n_values", "map_top_n_keys_by_value"] {
        let call = format!("{name}(map(ARRAY['a', 'b', 'c'], ARRAY[2, 3, 1]), 2)");
        let description = "The keys of the n entries with the greatest values, as in map_top_n.";
        registry.simple(
            &format!("presto.{name}"),
            doc(&format!("{name}(map, n) -> array"), description, &[(&call, "[b, a]")]),
            |map: MapView<Orderable<0>, Orderable<1>>,
             n: i64,
             out: &mut ArrayWriter<Any<0>>|
             -> Result<()> {
                for_entries_by_value(map, count_of(n)?, |(_, key)| out.push(key));
                Ok(())
            },
        );
    }
    registry.simple(
        "presto.map_top_n_keys",
        doc(
            "map_top_n_keys(map, n) -> array",
            "The n greatest keys, the greatest first.",
            &[("map_top_n_keys(map(ARRAY['a', 'b', 'c'], ARRAY[1, 2, 3]), 2)", "[c, b]")],
        ),
        |map: MapView<Orderable<0>, Any<1>>, n: i64, out: &mut ArrayWriter<Any<0>>| -> Result<()> {
            let keys = map.keys();
            for_greatest(keys.iter().flatten(), keys.len(), count_of(n)?, |it| out.push(it));
            Ok(())
        },
    );
    registry.simple(
        "presto.map_top_n_values",
        doc(
            "map_top_n_values(map, n) -> array",
            "The n greatest values, the greatest first and null last.",
            &[("map_top_n_values(map(ARRAY['a', 'b', 'c'], ARRAY[1, 2, 3]), 2)", "[3, 2]")],
        ),
        |map: MapView<Any<0>, Orderable<1>>, n: i64, out: &mut ArrayWriter<Any<1>>| -> Result<()> {
            let values = map.values();
            for_greatest(values.iter(), values.len(), count_of(n)?, |it| out.extend([it]));
            Ok(())
        },
    );
    register_comparisons(registry);
}

/// The requested number of entries.
fn count_of(n: i64) -> Result<usize> {
    usize::try_from(n)
        .map_err(|_| Error::invalid_value(format!("n must be greater than or equal to 0: {n}")))
}

/// An entry: its value and its key.
type Entry<'a> = (Option<OrderableValue<'a, 1>>, OrderableValue<'a, 0>);

/// Calls `f` with the first `count` entries in the order of this chapter.
fn for_entries_by_value<'a>(
    map: MapView<'a, Orderable<0>, Orderable<1>>,
    count: usize,
    f: impl FnMut(Entry<'a>),
) {
    for_greatest(map.iter().map(|(key, value)| (value, key)), map.len(), count, f);
}

/// Calls `f` with the `count` greatest of `len` values, the greatest first: one that is there is
/// greater than one that is not. Not at all where the call fails.
fn for_greatest<T: Ord>(
    values: impl Iterator<Item = T>,
    len: usize,
    count: usize,
    f: impl FnMut(T),
) {
    if let Some(mut values) = sorted(len, values, |a, b| b.cmp(a)) {
        values.drain(..).take(count).for_each(f);
    }
}

/// The forms with a lambda that compares two keys or two values.
fn register_comparisons(registry: &mut Registry) {
    let sort = ComparisonSort::of(registry);
    let keys = doc(
        "map_top_n_keys(map, n, (a, b) -> comparison) -> array",
        "The last n keys in the order that the lambda says, in reverse; it answers -1, 0 or 1, as \
         for array_sort.",
        &[(
            "map_top_n_keys(map(ARRAY[1, -5, 3], ARRAY['a', 'b', 'c']), 2, \
             (a, b) -> IF(abs(a) < abs(b), -1, IF(abs(a) = abs(b), 0, 1)))",
            "[-5, 3]",
        )],
    );
    let by_keys = sort.clone();
    registry.add_higher_order(
        "presto.map_top_n_keys",
        keys,
        Arc::new(move |args: &[ArgumentType]| bind_comparison(&by_keys, args, Part::Keys)),
    );
    let values = doc(
        "map_top_n_values(map, n, (a, b) -> comparison) -> array",
        "The last n values in the order of the lambda, in reverse, and nulls after them; the \
         lambda returns -1, 0 or 1, as for array_sort.",
        &[(
            "map_top_n_values(map(ARRAY['a', 'b', 'c'], ARRAY[1, -5, NULL]), 3, \
             (a, b) -> IF(abs(a) < abs(b), -1, IF(abs(a) = abs(b), 0, 1)))",
            "[-5, 1, NULL]",
        )],
    );
    registry.add_higher_order(
        "presto.map_top_n_values",
        values,
        Arc::new(move |args: &[ArgumentType]| bind_comparison(&sort, args, Part::Values)),
    );
}

/// What a lambda compares.
#[derive(Clone, Copy)]
enum Part {
    Keys,
    Values,
}

fn bind_comparison(
    sort: &ComparisonSort,
    args: &[ArgumentType],
    part: Part,
) -> Option<BoundHigherOrder> {
    let [map, _, ArgumentType::Lambda(lambda)] = args else { return None };
    let Type::Map(entry) = map.value()? else { return None };
    let element = match part {
        Part::Keys => entry.0.clone(),
        Part::Values => entry.1.clone(),
    };
    let sort = sort.bind(&element, lambda)?;
    let result = Type::array(element);
    let args = vec![map.clone(), ArgumentType::Value(Type::BigInt), sort.args.get(1)?.clone()];
    let traits = ScalarTraits { infallible: false, ..sort.traits };
    Some(BoundHigherOrder::of_closure(args, result, traits, move |rows, args, lambdas, to, ctx| {
        let parts = parts_of(&args[0], part, to)?;
        let Part::Values = part else {
            let sorted = sort.function.evaluate(rows, &[parts], lambdas, to, ctx)?;
            return take_from_end(rows, &[sorted, args[1].clone()], count_of, to, ctx);
        };
        let valid = map_written::<(Array<Any<0>>,), ArrayWriter<Any<0>>, ()>(
            rows,
            std::slice::from_ref(&parts),
            to,
            ctx,
            |(array,), out| out.extend(array.iter().flatten()),
        )?;
        let sorted = sort.function.evaluate(rows, &[valid], lambdas, to, ctx)?;
        type Args = (Array<Any<0>>, Array<Any<0>>, i64);
        map_written::<Args, ArrayWriter<Any<0>>, Result<()>>(
            rows,
            &[sorted, parts, args[1].clone()],
            to,
            ctx,
            |(sorted, all, n), out| {
                let nulls = all.iter().filter(Option::is_none);
                out.extend(sorted.iter().rev().chain(nulls).take(count_of(n)?));
                Ok(())
            },
        )
    }))
}

/// The keys or values of maps, as arrays.
fn parts_of(maps: &Vector, part: Part, to: &Type) -> Result<Vector> {
    let maps = maps.flatten()?;
    let Some(Values::Map(nested)) = maps.flat_values() else {
        return Err(Error::internal("map function got a vector of an unexpected layout"));
    };
    let elements = entry_field(nested, part as usize)?.into();
    let values = Values::Array(Nested { elements, ..nested.clone() });
    Ok(Vector::flat(to.clone(), values, maps.null_buffer().cloned()))
}
