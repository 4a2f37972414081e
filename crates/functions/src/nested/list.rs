//! Whole arrays: their lengths, what they contain, and arrays made of them.

use super::{infallible, nested_of, nested_values, settle};
use crate::{documentation::doc, order::comparison_of};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundScalar, FunctionDoc, Registry, ScalarTraits};
use volley_types::{CustomOrder, Type, Value, common_type};
use volley_vector::{BooleanBuffer, Decoded, Nested, Vector};

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
    register_values(registry);
}

fn bind_length(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Array(_) | Type::Map(_)] = args else { return None };
    let function = infallible(|_, args, to| {
        let flat = args[0].flatten()?;
        let sizes = nested_values(&flat)?.sizes.iter().map(|it| i64::from(*it));
        Ok(Vector::native::<i64>(
            to.clone(),
            sizes.collect::<Vec<_>>(),
            flat.null_buffer().cloned(),
        ))
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
        let elements = nested.elements.to_values()?;
        let wanted = args[1].to_values()?;
        let compare = comparison_of(args[1].data_type());
        let mut found: Vec<Option<usize>> = vec![None; rows.len()];
        rows.for_each(|row| {
            let equal = |it: &Value| !it.is_null() && compare(it, &wanted[row]).is_eq();
            found[row] = elements[nested.range(row)].iter().position(equal);
        });
        if wants_position {
            let values: Vec<Value> = found
                .iter()
                .map(|it| it.map_or(Value::Null, |at| Value::BigInt(at as i64 + 1)))
                .collect();
            return Ok(Vector::from_values(Type::BigInt, &values));
        }
        let bits = BooleanBuffer::from_iter(found.iter().map(Option::is_some));
        Ok(Vector::boolean(bits, None))
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
        let starts: Vec<usize> = parts
            .iter()
            .scan(0, |end, part| {
                let start = *end;
                *end += part.len();
                Some(start)
            })
            .collect();
        let mut sizes = vec![0i32; rows.len()];
        let mut indices = Vec::new();
        rows.for_each(|row| {
            let before = indices.len();
            for (index, nested) in nested.iter().enumerate() {
                if !decoded[index].is_null(row) {
                    indices.extend(nested.range(row).map(|at| (starts[index] + at) as u32));
                }
            }
            sizes[row] = (indices.len() - before) as i32;
        });
        let element = match to {
            Type::Array(element) => element.as_ref(),
            _ => &Type::Unknown,
        };
        let elements = Vector::concat(element, &parts)?.gather(&indices)?;
        let values = volley_vector::Values::Array(nested_of(sizes, elements));
        Ok(Vector::flat(to.clone(), values, None))
    });
    let traits = ScalarTraits { propagates_nulls, ..ScalarTraits::INFALLIBLE };
    settle(vec![common.clone(); args.len()], common, traits, function)
}

/// Functions that work on one array at a time, as scalars.
fn register_values(registry: &mut Registry) {
    let add = |registry: &mut Registry,
               names: [&str; 2],
               text: &str,
               example: (&str, &str),
               needs: CustomOrder,
               f: fn(&mut Vec<Value>, &Type)| {
        for name in names {
            let doc = doc(&format!("{name}(array) -> array"), text, "nested", &[example]);
            registry.add_scalar(
                name,
                doc,
                Arc::new(move |args: &[Type]| bind_values(args, needs, f)),
            );
        }
    };
    add(
        registry,
        ["list_sort", "array_sort"],
        "The elements in ascending order, nulls first.",
        ("list_sort([2, NULL, 1])", "[NULL, 1, 2]"),
        CustomOrder::Ordered,
        |values, element| {
            let compare = comparison_of(element);
            values.sort_by(|a, b| b.is_null().cmp(&a.is_null()).then_with(|| compare(a, b)));
        },
    );
    add(
        registry,
        ["list_distinct", "array_distinct"],
        "Each element once, without nulls.",
        ("list_sort(list_distinct([1, 1, NULL]))", "[1]"),
        CustomOrder::Equality,
        |values, element| {
            let compare = comparison_of(element);
            values.retain(|it| !it.is_null());
            values.sort_by(&compare);
            values.dedup_by(|a, b| compare(a, b).is_eq());
        },
    );
    add(
        registry,
        ["list_reverse", "array_reverse"],
        "The elements in reverse order.",
        ("list_reverse([1, 2])", "[2, 1]"),
        CustomOrder::None,
        |values, _| values.reverse(),
    );
}

fn bind_values(
    args: &[Type],
    needs: CustomOrder,
    f: fn(&mut Vec<Value>, &Type),
) -> Option<BoundScalar> {
    let [array @ Type::Array(element)] = args else { return None };
    if element.order() < needs {
        return None;
    }
    let element = Arc::clone(element);
    let function = infallible(move |rows, args, to| {
        let mut values = args[0].to_values()?;
        rows.for_each(|row| {
            if let Value::Array(elements) = &values[row] {
                let mut elements = elements.to_vec();
                f(&mut elements, &element);
                values[row] = Value::Array(elements.into());
            }
        });
        Ok(Vector::from_values(to.clone(), &values))
    });
    settle(vec![array.clone()], array.clone(), ScalarTraits::INFALLIBLE, function)
}
