//! JSON made of values: `to_json`, `json_object`, `json_array`, and the aggregates
//! `json_group_array` and `json_group_object`.
//!
//! Numbers, booleans and nulls are what they are in JSON, lists and rows without names arrays, maps
//! and rows with names objects; JSON is itself, without white space; everything else is its text.

use super::json_doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{self, StringWriter},
};
use volley_types::{Field, Type, Value, custom::Json};
use volley_vector::{
    Cells, JsonStyle, NullBuffer, PlainJson, Rows, Values, Vector, push_json_string,
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let to = json_doc(
        "to_json(x) -> json",
        "The value as JSON: numbers and booleans as they are, lists as arrays, rows and maps as \
         objects, other values as their text; infinite numbers and NaN as null.",
        &[
            ("to_json({'a': 1, 'b': [true, NULL]})", "{\"a\":1,\"b\":[true,null]}"),
            ("to_json(DATE '2020-01-01')", "\"2020-01-01\""),
        ],
    );
    for name in ["to_json", "json_quote"] {
        registry.add_scalar(name, to.clone(), Arc::new(|args: &[Type]| bind_one(args, |_| true)));
    }
    let row = json_doc(
        "row_to_json(row) -> json",
        "The row as a JSON object.",
        &[("row_to_json({'a': 1})", "{\"a\":1}")],
    );
    let is_row = |it: &Type| matches!(it, Type::Row(_));
    registry.add_scalar("row_to_json", row, Arc::new(move |args: &[Type]| bind_one(args, is_row)));
    let array = json_doc(
        "array_to_json(array) -> json",
        "The list as a JSON array.",
        &[("array_to_json([1, NULL])", "[1,null]")],
    );
    let is_array = |it: &Type| matches!(it, Type::Array(_));
    let bind_array = move |args: &[Type]| bind_one(args, is_array);
    registry.add_scalar("array_to_json", array, Arc::new(bind_array));
    let list = json_doc(
        "json_array(x, ...) -> json",
        "The JSON array of the values.",
        &[("json_array(1, 'a', NULL)", "[1,\"a\",null]")],
    );
    registry.add_scalar("json_array", list, Arc::new(bind_array_of));
    let object = json_doc(
        "json_object(name, x, ...) -> json",
        "The JSON object with these members: their names, each followed by its value.",
        &[("json_object('a', 1, 'b', [2])", "{\"a\":1,\"b\":[2]}")],
    );
    registry.add_scalar("json_object", object, Arc::new(bind_object));
}

fn bind_one(args: &[Type], takes: impl Fn(&Type) -> bool) -> Option<BoundScalar> {
    let [arg] = args else { return None };
    takes(arg).then(|| to_json(arg))
}

/// The function that makes values of a type JSON; null stays null.
pub(crate) fn to_json(data_type: &Type) -> BoundScalar {
    let bound = settled(std::slice::from_ref(data_type), |out, columns, row| {
        columns.iter().try_for_each(|it| out.push(it, row, &CoreJson))
    });
    BoundScalar { traits: ScalarTraits::INFALLIBLE, ..bound }
}

fn bind_array_of(args: &[Type]) -> Option<BoundScalar> {
    Some(settled(args, |out, columns, row| {
        out.push_str("[");
        for (index, column) in columns.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            out.push(column, row, &CoreJson)?;
        }
        out.push_str("]");
        Ok(())
    }))
}

fn bind_object(args: &[Type]) -> Option<BoundScalar> {
    let is_name = |it: &Type| *it == Type::Varchar;
    if args.len() % 2 == 1 || !args.iter().step_by(2).all(is_name) {
        return None;
    }
    let bound = settled(args, |out, columns, row| {
        out.push_str("{");
        for (index, member) in columns.chunks_exact(2).enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            push_json_string(&mut out.piece, name(&member[0], row)?);
            out.push_str(":");
            out.push(&member[1], row, &CoreJson)?;
        }
        out.push_str("}");
        Ok(())
    });
    Some(BoundScalar {
        traits: ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT },
        ..bound
    })
}

/// The name of a member.
///
/// # Errors
///
/// It is null.
pub(crate) fn name(names: &Cells, row: usize) -> Result<&str> {
    let name = if names.is_null(row) { None } else { names.text(row) };
    name.ok_or_else(|| Error::invalid_value("the name of a member must not be null"))
}

/// A function that writes the values of a row.
fn settled(
    args: &[Type],
    write: impl Fn(&mut JsonText<'_>, &[Cells], usize) -> Result<()> + Send + Sync + 'static,
) -> BoundScalar {
    let types = args.to_vec();
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let zone = &ctx.query.time_zone;
        let columns = args.iter().zip(&types).map(|(it, of)| Cells::new(it, &of.in_zone(zone)));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        json_texts(rows, to, ctx, |row, out| write(out, &columns, row))
    });
    let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };
    BoundScalar::new(args.to_vec(), Json::data_type(), traits, function)
}

/// Rows without names are arrays, and a REAL is the DOUBLE that is the same number.
pub(crate) struct CoreJson;

impl JsonStyle for CoreJson {
    fn is_array(&self, fields: &[Field]) -> bool {
        fields.iter().all(|it| it.name.is_empty())
    }

    fn push_plain(&self, text: &mut String, value: &Value, data_type: &Type) {
        match value {
            Value::Real(number) => {
                let number = Value::Double(f64::from(*number));
                PlainJson.push_plain(text, &number, &Type::Double);
            }
            _ => PlainJson.push_plain(text, value, data_type),
        }
    }
}

/// The JSON of a row that is written.
pub struct JsonText<'a> {
    /// What is not written yet.
    piece: String,
    out: &'a mut StringWriter,
}

impl JsonText<'_> {
    /// Appends text.
    pub fn push_str(&mut self, text: &str) {
        self.piece.push_str(text);
    }

    /// Appends a cell.
    ///
    /// # Errors
    ///
    /// The call fails whatever is answered; those of the style.
    pub fn push(&mut self, cells: &Cells, row: usize, style: &impl JsonStyle) -> Result<()> {
        let out = &mut *self.out;
        cells.push_json(row, style, &mut self.piece, &mut |piece: &mut String| {
            out.push_str(piece);
            piece.clear();
            if simple::may_continue() { Ok(()) } else { Err(Error::cancelled()) }
        })
    }
}

/// The texts that `write` makes of `rows`; others are null.
///
/// # Errors
///
/// The memory limit; a text that is too long; cancelled.
pub fn json_texts(
    rows: &Rows,
    to: &Type,
    ctx: &mut EvalContext,
    write: impl Fn(usize, &mut JsonText<'_>) -> Result<()>,
) -> Result<Vector> {
    let mut spare = String::new();
    let (strings, _) = simple::write_texts(rows, ctx, |row, out| -> Result<()> {
        let mut text = JsonText { piece: std::mem::take(&mut spare), out };
        write(row, &mut text)?;
        text.out.push_str(&text.piece);
        text.piece.clear();
        spare = text.piece;
        Ok(())
    })?;
    let nulls = (!rows.is_all()).then(|| NullBuffer::new(rows.to_bits()));
    Ok(Vector::flat(to.clone(), Values::View(strings), nulls))
}
