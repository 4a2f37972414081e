//! JSON as values of other types: what all dialects have in common.
//!
//! JSON's null is null. Arrays become arrays, objects maps; what else becomes what is the dialect's
//! to say.

use super::document::{Document, Kind};
use volley_error::{Error, Result};
use volley_function::{
    BadParts, EvalContext,
    simple::{take_memory, with_memory},
};
use volley_types::{Field, Type, Value, custom::Json};
use volley_vector::{Decoded, Rows, Vector};

/// Characters of a JSON text that errors show.
const SHOWN: usize = 60;

/// How a dialect reads JSON.
pub trait JsonRules: Sized {
    /// The values of a text.
    ///
    /// # Errors
    ///
    /// The text is no JSON.
    fn parse<'a>(&self, text: &'a str) -> Result<Document<'a>>;

    /// A value as JSON.
    fn json(&self, document: &Document<'_>, at: usize) -> Value;

    /// A value, which is not null, as one of a type without parts; `None` when it is none.
    fn plain(&self, document: &Document<'_>, at: usize, to: &Type) -> Option<Value>;

    /// A value, which is not null, as a row.
    ///
    /// # Errors
    ///
    /// It is none.
    fn row(&self, reader: &JsonReader<'_, Self>, at: usize, fields: &[Field]) -> Result<Value>;
}

/// A document whose values are read.
pub struct JsonReader<'a, R> {
    /// The document.
    pub document: Document<'a>,
    /// How it is read.
    pub rules: &'a R,
    /// What becomes of parts that are no values of their types.
    pub bad_parts: BadParts,
}

/// The JSON values of `column` as values of the type `to`.
///
/// # Errors
///
/// What decoding the column reports. A value that is none of the type fails its row, unless bad
/// parts are null.
pub fn read_json(
    rules: &impl JsonRules,
    bad_parts: BadParts,
    rows: &Rows,
    column: &Vector,
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let decoded = Decoded::new(column)?;
    let read = to.in_zone(&ctx.query.time_zone);
    let mut values = vec![Value::Null; rows.len()];
    let mut read_row = |row: usize, ctx: &mut EvalContext| {
        // The values are kept until all rows are read.
        if decoded.is_null(row) || !take_memory(values_bytes(decoded.text(row))) {
            return;
        }
        let document = rules.parse(decoded.text(row));
        let value = document.and_then(|document| {
            let reader = JsonReader { document, rules, bad_parts };
            reader.part(reader.document.root(), &read)
        });
        match value {
            Ok(value) => values[row] = value,
            Err(error) => ctx.fail(row, || error),
        }
    };
    with_memory(ctx, |ctx| {
        rows.for_each(|row| read_row(row, ctx));
        Ok(())
    })?;
    Ok(Vector::from_values(to.clone(), &values))
}

/// What the values of a text take, roughly: each one in its array, and in the list that this is
/// made of; and their texts.
fn values_bytes(text: &str) -> usize {
    let values = text.bytes().filter(|it| matches!(it, b',' | b':')).count() + 1;
    values.saturating_mul(4 * size_of::<Value>()).saturating_add(text.len())
}

impl<R: JsonRules> JsonReader<'_, R> {
    /// An element, a field, a map's value or the whole value; null when it is bad and may be.
    ///
    /// # Errors
    ///
    /// It is no value of the type.
    pub fn part(&self, at: usize, to: &Type) -> Result<Value> {
        match (self.value(at, to), self.bad_parts) {
            (Err(_), BadParts::Null) => Ok(Value::Null),
            (value, _) => value,
        }
    }

    /// The error of a value that is none of a type.
    pub fn misfit(&self, at: usize, to: &Type) -> Error {
        let source = self.document.source(at);
        let shown: String = source.chars().take(SHOWN).collect();
        let dots = if shown.len() < source.len() { "..." } else { "" };
        Error::invalid_value(format!("cannot cast JSON to {to}: {shown}{dots}"))
            .hint("TRY_CAST gives NULL instead of an error")
    }

    fn value(&self, at: usize, to: &Type) -> Result<Value> {
        if *to == Json::data_type() {
            return Ok(self.rules.json(&self.document, at));
        }
        match (self.document.kind(at), to) {
            (Kind::Null, _) => Ok(Value::Null),
            (Kind::Array, Type::Array(element)) => self.array(at, element),
            (Kind::Array, Type::FixedArray(array)) => {
                if self.document.elements(at).count() != array.1 as usize {
                    return Err(self.misfit(at, to));
                }
                self.array(at, &array.0)
            }
            (Kind::Object, Type::Map(types)) => self.map(at, &types.0, &types.1),
            (_, Type::Row(fields)) => self.rules.row(self, at, fields),
            (_, to) if to.is_nested() => Err(self.misfit(at, to)),
            _ => {
                let plain = self.rules.plain(&self.document, at, to);
                plain.ok_or_else(|| self.misfit(at, to))
            }
        }
    }

    fn array(&self, at: usize, element: &Type) -> Result<Value> {
        let elements = self.document.elements(at).map(|it| self.part(it, element));
        Ok(Value::Array(elements.collect::<Result<_>>()?))
    }

    fn map(&self, at: usize, key_type: &Type, value: &Type) -> Result<Value> {
        let mut entries = Vec::new();
        for (name, member) in self.document.members(at) {
            let key = self.rules.plain(&self.document, name, key_type);
            let key = key.ok_or_else(|| self.misfit(name, key_type))?;
            entries.push((key, self.part(member, value)?));
        }
        let names = entries.iter().map(|it: &(Value, Value)| it.0.display(key_type).to_string());
        let mut names: Vec<String> = names.collect();
        names.sort();
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some([twice, ..]) => Err(twice_error("a map has a key twice", twice)),
            _ => Ok(Value::Map(entries.into())),
        }
    }
}

/// The error of a name that occurs twice where it may not.
pub fn twice_error(what: &str, name: &str) -> Error {
    Error::invalid_value(format!("{what}: {name}"))
}
