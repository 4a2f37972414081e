//! JSON as values of other types, as the core reads it: its casts, `json_transform` and their like.
//!
//! ```text
//!                           a part that does not fit  a missing member  an unknown member
//! CAST                      fails                     fails             fails
//! json_transform_strict     fails                     fails             is left out
//! TRY_CAST, json_transform  null                      null              is left out
//! ```

use super::{
    document::{Document, Kind},
    json_doc, parse,
    read::{JsonReader, JsonRules, read_json, twice_error},
    text::push_value,
};
use crate::cast::value_of;
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_function::{BadParts, BoundScalar, EvalContext, Registry, ScalarTraits, simple};
use volley_types::{Field, Type, Value, custom::Json};
use volley_vector::{Rows, Vector};

/// Registers the functions. The structure comes as a null of the type that it names.
pub(super) fn register(registry: &mut Registry) {
    let transform = json_doc(
        "json_transform(json, structure) -> any",
        "The JSON value as a value of another type, which the structure, a constant, describes: \
         the name of a type in quotes, an array of an element's structure, or an object of the \
         fields'. Parts that do not fit are null, members without a field are left out.",
        &[
            (
                "json_transform('{\"a\": 1, \"b\": [2]}', \
                 '{\"a\": \"DOUBLE\", \"b\": [\"INTEGER\"]}')",
                "{'a': 1.0, 'b': [2]}",
            ),
            ("json_transform('[1, \"x\"]', '[\"INTEGER\"]')", "[1, NULL]"),
        ],
    );
    let strict = json_doc(
        "json_transform_strict(json, structure) -> any",
        "As json_transform, but parts that do not fit or are missing are errors.",
        &[("json_transform_strict('{\"a\": 1}', '{\"a\": \"VARCHAR\"}')", "{'a': 1}")],
    );
    for (names, doc, bad_parts) in [
        (["json_transform", "from_json"], transform, BadParts::Null),
        (["json_transform_strict", "from_json_strict"], strict, BadParts::Fail),
    ] {
        for name in names {
            let bind = move |args: &[Type]| bind_transform(args, bad_parts);
            registry.add_scalar(name, doc.clone(), std::sync::Arc::new(bind));
        }
    }
}

fn bind_transform(args: &[Type], bad_parts: BadParts) -> Option<BoundScalar> {
    let [json, to] = args else { return None };
    let takes = |it: &Type| matches!(it, Type::Varchar | Type::Unknown) || *it == Json::data_type();
    if !takes(json) || matches!(to, Type::Opaque(_)) {
        return None;
    }
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let rules = CoreRules { skips_unknown: true };
        read_json(&rules, bad_parts, rows, &args[0], to, ctx)
    });
    // The second argument is always null.
    let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT };
    Some(BoundScalar::new(vec![Type::Varchar, to.clone()], to.clone(), traits, function))
}

/// JSON values as CAST and TRY_CAST convert them.
///
/// # Errors
///
/// As [`read_json`].
pub(crate) fn cast_json(
    rows: &Rows,
    column: &Vector,
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    read_json(&CoreRules { skips_unknown: false }, ctx.bad_parts, rows, column, to, ctx)
}

/// How the core reads JSON.
struct CoreRules {
    /// Whether members that no field is made of are left out; else they are errors.
    skips_unknown: bool,
}

impl JsonRules for CoreRules {
    fn parse<'a>(&self, text: &'a str) -> Result<Document<'a>> {
        parse(text)
    }

    fn json(&self, document: &Document<'_>, at: usize) -> Value {
        if document.kind(at) == Kind::Null {
            return Value::Null;
        }
        let mut text = String::new();
        push_value(document, at, &mut text);
        Value::text(text)
    }

    fn plain(&self, document: &Document<'_>, at: usize, to: &Type) -> Option<Value> {
        let kind = document.kind(at);
        let is_number = to.is_number();
        let text = match kind {
            Kind::Text => {
                let mut text = String::new();
                document.push_text(at, &mut text);
                Cow::Owned(text)
            }
            Kind::True | Kind::False if is_number => {
                Cow::Borrowed(if kind == Kind::True { "1" } else { "0" })
            }
            Kind::Integer | Kind::Number if *to == Type::Boolean => {
                return Some(Value::Boolean(document.source(at).parse::<f64>().ok()? != 0.0));
            }
            Kind::Number if to.is_integer() || to.unsigned().is_some() => {
                let number = document.source(at).parse::<f64>().ok()?.round_ties_even();
                let is_whole = number.is_finite() && number.abs() < i128::MAX as f64;
                Cow::Owned(is_whole.then_some(number as i128)?.to_string())
            }
            Kind::Integer | Kind::Number if is_number => Cow::Borrowed(document.source(at)),
            Kind::Array | Kind::Object if is_number => return None,
            // Unlike those of texts, a number of no unit is no interval.
            _ if *to == Type::Interval => return None,
            _ => {
                let mut text = String::new();
                push_value(document, at, &mut text);
                Cow::Owned(text)
            }
        };
        let value = value_of(&text, to, BadParts::Fail);
        // What is beyond a DOUBLE is infinite, as in texts; what is beyond a REAL does not fit.
        value.filter(|it| kind == Kind::Text || !matches!(it, Value::Real(it) if it.is_infinite()))
    }

    fn row(&self, reader: &JsonReader<'_, Self>, at: usize, fields: &[Field]) -> Result<Value> {
        let document = &reader.document;
        let misfit = || Err(reader.misfit(at, &Type::row(fields.to_vec())));
        if fields.iter().all(|it| it.name.is_empty()) {
            let elements: Vec<usize> = document.elements(at).collect();
            if elements.len() != fields.len() {
                return misfit();
            }
            let values = elements.into_iter().zip(fields);
            let values = values.map(|(it, field)| reader.part(it, &field.data_type));
            return Ok(Value::Row(values.collect::<Result<_>>()?));
        }
        if document.kind(at) != Kind::Object && reader.bad_parts == BadParts::Fail {
            return misfit();
        }
        self.members(reader, at, fields)
    }
}

impl CoreRules {
    /// The members that the fields are, which have the same names in the same case.
    fn members(&self, reader: &JsonReader<'_, Self>, at: usize, fields: &[Field]) -> Result<Value> {
        let document = &reader.document;
        let is_strict = reader.bad_parts == BadParts::Fail;
        let mut found = vec![None; fields.len()];
        for (name, member) in document.members(at) {
            let field = fields.iter().position(|it| document.is_text(name, &it.name));
            match field {
                Some(field) if found[field].is_none() => found[field] = Some(member),
                Some(_) if is_strict => {
                    return Err(twice_error("an object has a name twice", document.source(name)));
                }
                None if is_strict && !self.skips_unknown => {
                    let message = format!(
                        "an object has a member without a field: {}",
                        document.source(name)
                    );
                    return Err(Error::invalid_value(message)
                        .hint("json_transform leaves out members without a field"));
                }
                _ => {}
            }
        }
        let values = fields.iter().zip(found).map(|(field, member)| match member {
            Some(member) => reader.part(member, &field.data_type),
            None if is_strict => {
                let message = format!("an object lacks the member \"{}\"", field.name);
                Err(Error::invalid_value(message).hint("json_transform gives NULL for it"))
            }
            None => Ok(Value::Null),
        });
        Ok(Value::Row(values.collect::<Result<_>>()?))
    }
}
