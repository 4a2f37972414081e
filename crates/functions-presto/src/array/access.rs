//! Elements of arrays and values of maps: `element_at` and the subscript.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{
        Any, AnyWriter, Arg, ArrayView, Equatable, EquatableValue, Key, MapView, Simple, SqlType,
        Varchar, scalar,
    },
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let element = doc(
        "element_at(array, index) -> element",
        "The element at `index`, from 1, or from the end when negative; null if there is none.",
        &[("element_at(ARRAY[10, 20], 2)", "20"), ("element_at(ARRAY[10, 20], -1)", "20")],
    );
    registry.simple(
        "presto.element_at",
        element,
        |array: ArrayView<Any<0>>, index: i64, out: &mut AnyWriter<0>| -> Result<()> {
            let at = place(index, array.len())?;
            if let Some(element) = at.and_then(|it| array.get(it)) {
                out.set(element);
            }
            Ok(())
        },
    );
    let value = doc(
        "element_at(map, key) -> value",
        "The value of the key; null if there is none.",
        &[("element_at(map(ARRAY['a'], ARRAY[1]), 'b')", "NULL")],
    );
    add_for_keys(registry, "presto.element_at", &value, false);
    let subscript = doc(
        "subscript(array, index) -> element",
        "The element at `index`, from 1, as `array[index]`; an error when there is none.",
        &[("subscript(ARRAY[10, 20], 2)", "20")],
    );
    registry.simple(
        "presto.subscript",
        subscript,
        |array: ArrayView<Any<0>>, index: i64, out: &mut AnyWriter<0>| -> Result<()> {
            let at = present_place(index, array.len())?;
            if let Some(element) = array.get(at) {
                out.set(element);
            }
            Ok(())
        },
    );
    let value = doc(
        "subscript(map, key) -> value",
        "The value of the key, as `map[key]`; an error when the map does not have the key.",
        &[("subscript(map(ARRAY['a'], ARRAY[1]), 'a')", "1")],
    );
    add_for_keys(registry, "presto.subscript", &value, true);
}

/// The position of the element, from 0, that an index from 1 or from the end means.
///
/// # Errors
///
/// Index 0.
pub(super) fn place(index: i64, len: usize) -> Result<Option<usize>> {
    if index == 0 {
        return Err(Error::invalid_value("SQL array indices start at 1"));
    }
    let len = len as i64;
    let at = if index > 0 { Some(index - 1) } else { len.checked_add(index) };
    Ok(at.filter(|it| (0..len).contains(it)).map(|it| it as usize))
}

/// Like [`place`], of an index from 1 that must be there.
fn present_place(index: i64, len: usize) -> Result<usize> {
    if index < 0 {
        return Err(Error::invalid_value(format!("array subscript is negative: {index}"))
            .hint("element_at counts from the end"));
    }
    place(index, len)?.ok_or_else(|| {
        let limit = "array subscript must be less than or equal to array length";
        Error::invalid_value(format!("{limit}: {index} > {len}"))
            .hint("element_at gives null instead")
    })
}

/// Adds the overloads for maps. That for all types comes last: of two that fit alike, the first one
/// is taken.
fn add_for_keys(registry: &mut Registry, name: &str, doc: &FunctionDoc, must_be_there: bool) {
    let frequent = [of_native::<i32>, of_native::<i64>, of_native::<f64>, of_text];
    for simple in frequent {
        registry.simple(name, doc.clone(), simple(must_be_there));
    }
    let of_any = move |map: MapView<Equatable<1>, Any<0>>,
                       key: EquatableValue<1>,
                       out: &mut AnyWriter<0>| set(out, map, key, must_be_there);
    registry.simple(name, doc.clone(), scalar(of_any));
}

fn of_native<T: SqlType + Key + for<'a> Arg<Value<'a> = T>>(must_be_there: bool) -> Simple {
    scalar(move |map: MapView<T, Any<0>>, key: T, out: &mut AnyWriter<0>| {
        set(out, map, key, must_be_there)
    })
}

fn of_text(must_be_there: bool) -> Simple {
    scalar(move |map: MapView<Varchar, Any<0>>, key: &str, out: &mut AnyWriter<0>| {
        set(out, map, key, must_be_there)
    })
}

fn set<K: Key>(
    out: &mut AnyWriter<0>,
    map: MapView<'_, K, Any<0>>,
    key: K::Value<'_>,
    must_be_there: bool,
) -> Result<()> {
    let position = map.position(key);
    if position.is_none() && must_be_there {
        let error = Error::invalid_value("key not present in map");
        return Err(error.hint("element_at gives null instead"));
    }
    if let Some(value) = position.and_then(|it| map.values().get(it)) {
        out.set(value);
    }
    Ok(())
}
