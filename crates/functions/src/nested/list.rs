//! Whole arrays: their lengths, what they contain, and arrays made of them.

use super::{infallible, nested_of, nested_values, settle, too_many_elements};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundScalar, FunctionDoc, Registry, ScalarTraits};
use volley_types::{CustomOrder, Type, common_type};
use volley_vector::{
    Comparator, Decoded, Deltas, Nested, NullBuffer, ScalarBuffer, Values, Vector, comparator,
};

/// Registers the functions on whole arrays.
pub(super) fn register(registry: &mut Registry) {
    let length = doc(
        "cardinality(array or map) -> bigint",
        "The number of elements or entries.",
        "nested",
        &[("cardinality([1, NULL])", "2")],
    );
    for name in ["cardinality", "array_length", "length", "len"] {
        registry.add_scalar(name, length.clone(), Arc::new(bind_length));
    }
    let contains = doc(
        "array_contains(array, x) -> boolean",
        "Whether the array has an element equal to x.",
        "nested",
        &[("array_contains([1, 2], 2)", "true")],
    );
    for name in ["array_contains", "list_contains", "list_has", "array_has", "contains"] {
        registry.add_scalar(
            name,
            contains.clone(),
            Arc::new(|args: &[Type]| bind_search(args, false)),
        );
    }
    let position = doc(
        "array_position(array, x) -> bigint",
        "Where the first element equal to x stands, from 1; null when there is none.",
        "nested",
        &[("array_position([1, 2], 2)", "2")],
    );
    for name in ["array_position", "list_position", "list_indexof"] {
        registry.add_scalar(
            name,
            position.clone(),
            Arc::new(|args: &[Type]| bind_search(args, true)),
        );
    }
    let concat = doc(
        "list_concat(array, array) -> array",
        "The elements of both arrays.",
        "nested",
        &[("list_concat([1], [2])", "[1, 2]")],
    );
    for name in ["list_concat", "array_concat", "list_cat", "array_cat"] {
        registry.add_scalar(
            name,
            concat.clone(),
            Arc::new(|args: &[Type]| bind_concat(args, false)),
        );
    }
    let none = FunctionDoc::default;
    registry.add_scalar("concat", none(), Arc::new(|args: &[Type]| bind_concat(args, false)));
    registry.add_scalar("concat_op", none(), Arc::new(|args: &[Type]| bind_concat(args, true)));
    register_arranged(registry);
}

/// The sizes are there: as distances from 0, which nobody has to copy.
fn bind_length(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Array(_) | Type::Map(_)] = args else { return None };
    let function = infallible(|_, args, to| {
        let flat = args[0].flatten()?;
        let sizes = &nested_values(&flat)?.sizes;
        // Sizes are not negative, in null rows neither.
        let sizes = ScalarBuffer::new(sizes.inner().clone(), 0, sizes.len());
        Ok(Vector::bias(to.clone(), 0, Deltas::U32(sizes), flat.null_buffer().cloned()))
    });
    settle(args.to_vec(), Type::BigInt, ScalarTraits::INFALLIBLE, function)
}

fn bind_search(args: &[Type], wants_position: bool) -> Option<BoundScalar> {
    let [Type::Array(element), wanted] = args else { return None };
    let common = common_type(element, wanted)?;
    if common.order() < CustomOrder::Equality {
        return None;
    }
    let result = if wants_position { Type::BigInt } else { Type::Boolean };
    let function = infallible(move |rows, args, _| {
        let arrays = args[0].flatten()?;
        let nested = nested_values(&arrays)?;
        let compare = comparator(&nested.elements, &args[1])?;
        let find = |row: usize| {
            let equal = |at: usize| !compare.left_is_null(at) && compare.is_equal(at, row);
            nested.range(row).position(equal)
        };
        if wants_position {
            let mut found = vec![0i64; rows.len()];
            rows.for_each(|row| found[row] = find(row).map_or(0, |at| at as i64 + 1));
            let nulls = NullBuffer::from_iter(found.iter().map(|it| *it > 0));
            return Ok(Vector::native::<i64>(Type::BigInt, found, Some(nulls)));
        }
        let mut found = vec![false; rows.len()];
        rows.for_each(|row| found[row] = find(row).is_some());
        Ok(Vector::boolean(found.into(), None))
    });
    let args = vec![Type::array(common.clone()), common];
    settle(args, result, ScalarTraits::INFALLIBLE, function)
}

/// `concat` and `list_concat` leave out null arrays; `||` with one is null.
fn bind_concat(args: &[Type], propagates_nulls: bool) -> Option<BoundScalar> {
    let is_array = |it: &Type| matches!(it, Type::Array(_) | Type::Unknown);
    if args.len() < 2 || !args.iter().all(is_array) || args.iter().all(|it| *it == Type::Unknown) {
        return None;
    }
    let common = args.iter().cloned().try_fold(Type::Unknown, |a, b| common_type(&a, &b))?;
    let function = infallible(|rows, args, to| {
        let flat = args.iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
        let nested = flat.iter().map(nested_values).collect::<Result<Vec<&Nested>>>()?;
        let decoded = flat.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let parts: Vec<Vector> = nested.iter().map(|it| it.elements.as_ref().clone()).collect();
        let starts = starts_of(&parts)?;
        let mut sizes = vec![0i32; rows.len()];
        let mut indices = Vec::new();
        rows.for_each(|row| {
            let before = indices.len();
            for (index, nested) in nested.iter().enumerate() {
                if !decoded[index].is_null(row) {
                    indices.extend(nested.range(row).map(|at| starts[index] + at as u32));
                }
            }
            sizes[row] = (indices.len() - before) as i32;
        });
        let element = match to {
            Type::Array(element) => element.as_ref(),
            _ => &Type::Unknown,
        };
        let elements = Vector::concat(element, &parts)?;
        Ok(Vector::flat(to.clone(), arrays_of(&elements, indices, sizes)?, None))
    });
    let traits = ScalarTraits { propagates_nulls, ..ScalarTraits::INFALLIBLE };
    settle(vec![common.clone(); args.len()], common, traits, function)
}

/// Where the elements of each part stand among those of all.
fn starts_of(parts: &[Vector]) -> Result<Vec<u32>> {
    let mut end = 0u32;
    let start = |part: &Vector| {
        let start = end;
        end = u32::try_from(part.len()).ok().and_then(|len| end.checked_add(len))?;
        Some(start)
    };
    let starts: Option<Vec<u32>> = parts.iter().map(start).collect();
    starts.ok_or_else(too_many_elements)
}

/// Arrays of the elements at `positions`, one row after the other. No element is copied.
fn arrays_of(elements: &Vector, positions: Vec<u32>, sizes: Vec<i32>) -> Result<Values> {
    let taken = elements.loaded()?.wrap(&positions.into(), &mut Vec::new());
    Ok(Values::Array(nested_of(sizes, taken)?))
}

/// Puts the positions of one array's elements in another order, or leaves some out.
type Arrange = fn(&mut Vec<u32>, &Comparator);

/// Functions that take elements of one array at a time, in some order.
fn register_arranged(registry: &mut Registry) {
    let add = |registry: &mut Registry,
               names: [&str; 2],
               text: &str,
               example: (&str, &str),
               needs: CustomOrder,
               arrange: Arrange| {
        for name in names {
            let doc = doc(&format!("{name}(array) -> array"), text, "nested", &[example]);
            registry.add_scalar(
                name,
                doc,
                Arc::new(move |args: &[Type]| bind_arranged(args, needs, arrange)),
            );
        }
    };
    add(
        registry,
        ["list_sort", "array_sort"],
        "The elements in ascending order, nulls first.",
        ("list_sort([2, NULL, 1])", "[NULL, 1, 2]"),
        CustomOrder::Ordered,
        |positions, compare| {
            positions.sort_by(|a, b| {
                let (a, b) = (*a as usize, *b as usize);
                let nulls = compare.left_is_null(b).cmp(&compare.left_is_null(a));
                nulls.then_with(|| compare.compare(a, b))
            });
        },
    );
    add(
        registry,
        ["list_distinct", "array_distinct"],
        "Each element once, without nulls.",
        ("list_sort(list_distinct([1, 1, NULL]))", "[1]"),
        CustomOrder::Equality,
        |positions, compare| {
            positions.retain(|it| !compare.left_is_null(*it as usize));
            positions.sort_by(|a, b| compare.compare(*a as usize, *b as usize));
            positions.dedup_by(|a, b| compare.is_equal(*a as usize, *b as usize));
        },
    );
    add(
        registry,
        ["list_reverse", "array_reverse"],
        "The elements in reverse order.",
        ("list_reverse([1, 2])", "[2, 1]"),
        CustomOrder::None,
        |positions, _| positions.reverse(),
    );
}

fn bind_arranged(args: &[Type], needs: CustomOrder, arrange: Arrange) -> Option<BoundScalar> {
    let [array @ Type::Array(element)] = args else { return None };
    if element.order() < needs {
        return None;
    }
    let function = infallible(move |rows, args, to| {
        let flat = args[0].flatten()?;
        let nested = nested_values(&flat)?;
        let compare = comparator(&nested.elements, &nested.elements)?;
        let mut sizes = vec![0i32; rows.len()];
        let (mut taken, mut positions) = (Vec::new(), Vec::new());
        rows.for_each(|row| {
            positions.clear();
            positions.extend(nested.range(row).map(|it| it as u32));
            arrange(&mut positions, &compare);
            sizes[row] = positions.len() as i32;
            taken.extend_from_slice(&positions);
        });
        let values = arrays_of(&nested.elements, taken, sizes)?;
        Ok(Vector::flat(to.clone(), values, flat.null_buffer().cloned()))
    });
    settle(vec![array.clone()], array.clone(), ScalarTraits::INFALLIBLE, function)
}
