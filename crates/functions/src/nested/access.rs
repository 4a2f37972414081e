//! Access: elements of arrays, values of maps, fields of rows.

use super::{entry_field, infallible, nested_values};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{Any, AnyWriter, ArrayView, IntoSimple},
};
use volley_types::{Field, Type, Value};
use volley_vector::{BooleanBuffer, Encoding, Nested, NullBuffer, Rows, Values, Vector};

/// Registers the functions that take parts of nested values.
pub(super) fn register(registry: &mut Registry) {
    let element = doc(
        "array_extract(array, index) -> element",
        "The element at `index`, from 1, or from the end when negative; null if there is none. Of a \
         text the character, or an empty text.",
        "nested",
        &[("[10, 20][2]", "20"), ("[10, 20][-1]", "20")],
    );
    let by_row = |array: ArrayView<Any<0>>, index: i64, out: &mut AnyWriter<0>| {
        let at = position(index, array.len());
        if let Some(element) = at.and_then(|at| array.get(at)) {
            out.set(element);
        }
    };
    let by_row = by_row.into_simple().into_bind();
    let bind_element: BindScalar = Arc::new(move |args: &[Type]| {
        let bound = by_row(args)?;
        Some(BoundScalar { function: Arc::new(Element { by_row: bound.function }), ..bound })
    });
    for name in ["array_extract", "list_extract", "list_element", "element_at"] {
        registry.add_scalar(name, element.clone(), Arc::clone(&bind_element));
    }
    for name in ["array_extract", "list_extract", "list_element"] {
        registry.simple(name, FunctionDoc::default(), |text: &str, index: i64| {
            let from_one = usize::try_from(index.unsigned_abs()).ok();
            let place = from_one.and_then(|it| it.checked_sub(1));
            let found = place.and_then(|it| match index {
                0.. => text.chars().nth(it),
                _ => text.chars().nth_back(it),
            });
            found.map(String::from).unwrap_or_default()
        });
    }
    let field = doc(
        "struct_extract(row, 'name') -> field",
        "The field of a row.",
        "nested",
        &[("struct_extract({'a': 1, 'b': 2}, 'b')", "2")],
    );
    registry.add_scalar("struct_extract", field, Arc::new(bind_field));
    for (name, index, text, example) in [
        ("map_keys", 0, "The keys of a map.", ("map_keys(map(['a'], [1]))", "[a]")),
        ("map_values", 1, "The values of a map.", ("map_values(map(['a'], [1]))", "[1]")),
    ] {
        let doc = doc(&format!("{name}(map) -> array"), text, "nested", &[example]);
        registry.add_scalar(name, doc, Arc::new(move |args: &[Type]| bind_entries(args, index)));
    }
}

/// The place, from 0, that an index from 1 or from the end means.
fn position(index: i64, len: usize) -> Option<usize> {
    let len = len as i64;
    let at = if index > 0 { index - 1 } else { len.checked_add(index)? };
    (index != 0 && (0..len).contains(&at)).then_some(at as usize)
}

/// The elements of arrays at an index. Those of flat arrays at a constant one are rows of the
/// arrays' elements, found by a loop over offsets and sizes.
struct Element {
    by_row: Arc<dyn ScalarFunction>,
}

impl ScalarFunction for Element {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        if let [arrays, index] = args
            && let Some(Values::Array(nested)) = arrays.flat_values()
            && let Encoding::Constant(index) = index.encoding()
            && let Value::BigInt(index) = index.value(0)?
            && !nested.elements.is_empty()
            && !nested.elements.is_lazy()
        {
            return Ok(elements_at(nested, arrays.null_buffer(), index));
        }
        self.by_row.evaluate(rows, args, result_type, ctx)
    }
}

fn elements_at(nested: &Nested, nulls: Option<&NullBuffer>, index: i64) -> Vector {
    let Nested { offsets, sizes, elements } = nested;
    let len = offsets.len();
    // From 0, and whether the row has such an element.
    let place = |row: usize| {
        let size = i64::from(sizes[row]);
        let at = if index > 0 { index - 1 } else { size + index };
        (at, index != 0 && (0..size).contains(&at))
    };
    let code = |row: usize| match place(row) {
        (at, true) => (i64::from(offsets[row]) + at) as u32,
        _ => 0,
    };
    let codes: Vec<u32> = (0..len).map(code).collect();
    let found = NullBuffer::new(BooleanBuffer::collect_bool(len, |row| place(row).1));
    let found = (found.null_count() > 0).then_some(found);
    let nulls = NullBuffer::union(nulls, found.as_ref());
    Vector::dictionary(codes.into(), Arc::clone(elements), nulls)
}

/// Of the first field, if the name is unknown.
fn bind_field(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Row(fields), Type::Varchar | Type::BigInt] = args else { return None };
    let result = fields.first()?.data_type.clone();
    Some(BoundScalar::new(args.to_vec(), result, ScalarTraits::INFALLIBLE, Arc::new(FieldOfRow)))
}

/// The field of rows with a constant name, or at a constant position from 1.
struct FieldOfRow;

impl ScalarFunction for FieldOfRow {
    fn evaluate(
        &self,
        _rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let [row, name] = args else { return Err(Error::internal("a field of other arguments")) };
        let flat = row.flatten()?;
        let (Type::Row(fields), Some(Values::Row { children, .. })) =
            (flat.data_type(), flat.flat_values())
        else {
            return Err(Error::internal("struct_extract of a vector of an unexpected layout"));
        };
        if flat.is_empty() {
            return Ok(Vector::from_values(result_type.clone(), &[]));
        }
        let index = field_index(fields, &name.value(0)?);
        let field = index.and_then(|it| children.get(it));
        let field = field.ok_or_else(|| Error::invalid_query("no such field of a row"))?;
        with_nulls(field, flat.null_buffer())
    }

    fn result_for(&self, args: &[(&Type, Option<&Value>)]) -> Result<Option<Type>> {
        let [(Type::Row(fields), _), (_, name)] = args else { return Ok(None) };
        let Some(name) = name else {
            return Err(Error::invalid_query("the name of a field must be constant"));
        };
        match field_index(fields, name) {
            Some(index) => Ok(Some(fields[index].data_type.clone())),
            None => Err(Error::invalid_query("no such field of a row")),
        }
    }
}

/// Which field a name, or a position from 1, means.
fn field_index(fields: &[Field], name: &Value) -> Option<usize> {
    let at = match name {
        Value::Varchar(name) => fields.iter().position(|it| it.name.eq_ignore_ascii_case(name)),
        position => usize::try_from(position.as_i128()? - 1).ok(),
    };
    at.filter(|it| *it < fields.len())
}

/// The vector with more null rows.
pub(super) fn with_nulls(vector: &Vector, nulls: Option<&NullBuffer>) -> Result<Vector> {
    let Some(nulls) = nulls else { return Ok(vector.clone()) };
    let flat = vector.flatten()?;
    let all = NullBuffer::union(Some(nulls), flat.null_buffer());
    match flat.flat_values() {
        Some(values) => Ok(Vector::flat(flat.data_type().clone(), values.clone(), all)),
        None => Err(Error::internal("flattened vector is not flat")),
    }
}

fn bind_entries(args: &[Type], index: usize) -> Option<BoundScalar> {
    let [Type::Map(entry)] = args else { return None };
    let element = if index == 0 { &entry.0 } else { &entry.1 };
    let result = Type::array(element.clone());
    let function = infallible(move |_, args, to| {
        let maps = args[0].flatten()?;
        let nested = nested_values(&maps)?;
        let elements = Arc::new(entry_field(nested, index)?);
        let (offsets, sizes) = (nested.offsets.clone(), nested.sizes.clone());
        let values = Values::Array(Nested { offsets, sizes, elements });
        Ok(Vector::flat(to.clone(), values, maps.null_buffer().cloned()))
    });
    Some(BoundScalar::new(args.to_vec(), result, ScalarTraits::INFALLIBLE, function))
}
