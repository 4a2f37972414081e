//! Values put into texts: `format` with fields as of the library fmt, `printf` with those of C.
//!
//! ```text
//! template ── parse (once per template) ──> pieces: text, fields ─┐
//! arguments ── cast to BOOLEAN, an integer, DOUBLE or text ───────┴─> text
//! ```

mod template;
mod printf;
mod write;

use crate::{constant_cache::ConstantCache, documentation::doc};
use std::sync::Arc;
use template::{Piece, Template};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{self, StringWriter},
};
use volley_types::Type;
use volley_vector::{Decoded, Rows, Vector};
use write::Argument;

/// Registers `format` and `printf`.
pub(crate) fn register(registry: &mut Registry) {
    let format = doc(
        "format(template, x, ...) -> varchar",
        "The template with values in place of its fields, which look like `{}`, `{0}`, `{:>10}`, \
         `{:,}`, `{:.2f}` or `{:08x}`, as those of the library fmt; `{{` and `}}` are braces.",
        "string",
        &[
            ("format('{} is {:.1f} %', 'x', 12.345)", "x is 12.3 %"),
            ("format('{:,}|{:>5}|{:05}', 1234567, 'ab', 42)", "1,234,567|   ab|00042"),
        ],
    );
    registry.add_scalar("format", format, Arc::new(|args: &[Type]| bind(args, Template::parse)));
    let printf = doc(
        "printf(template, x, ...) -> varchar",
        "The template with values in place of its fields, which look like `%d`, `%s`, `%5.2f` or \
         `%-10s`, as those of C; `%,d` separates thousands, and `%%` is a percent sign.",
        "string",
        &[("printf('%s: %5.2f|%03d', 'x', 12.345, 7)", "x: 12.35|007")],
    );
    registry.add_scalar("printf", printf, Arc::new(|args: &[Type]| bind(args, printf::parse)));
}

/// Registers a function as Java's `String.format` under a name.
pub fn register_java(registry: &mut Registry, name: &str) {
    let java = doc(
        "format(template, x, ...) -> varchar",
        "The template with values in place of its fields, which look like `%d`, `%s`, `%5.2f` or \
         `%-10s`, as those of Java; `%s` takes any value, `%,d` separates thousands, and `%%` is a \
         percent sign.",
        "string",
        &[
            ("format('%s%%', 123)", "123%"),
            ("format('%,.2f', 1234567.891)", "1,234,567.89"),
            ("format('%2$s %3$s %1$s', 'a', 'b', 'c')", "b c a"),
            ("format('%s %b %05d', 1.5, true, 42)", "1.5 true 00042"),
        ],
    );
    registry.add_scalar(name, java, Arc::new(|args: &[Type]| bind(args, printf::parse_java)));
}

fn bind(args: &[Type], parse: fn(&str) -> Result<Template>) -> Option<BoundScalar> {
    let (template, values) = args.split_first()?;
    if !matches!(template, Type::Varchar | Type::Unknown) {
        return None;
    }
    let takes = std::iter::once(Type::Varchar).chain(values.iter().map(taken)).collect();
    let function = simple::vectorized(move |rows, args, _, ctx| evaluate(rows, args, parse, ctx));
    Some(BoundScalar::new(takes, Type::Varchar, ScalarTraits::DEFAULT, function))
}

/// What a value is cast to.
fn taken(given: &Type) -> Type {
    match given {
        Type::Boolean | Type::HugeInt => given.clone(),
        Type::Decimal { .. } | Type::Real | Type::Double => Type::Double,
        _ if given.unsigned().is_some() => Type::HugeInt,
        _ if given.is_integer() => Type::BigInt,
        _ => Type::Varchar,
    }
}

fn evaluate(
    rows: &Rows,
    args: &[Vector],
    parse: fn(&str) -> Result<Template>,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let decoded = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
    let (templates, values) =
        decoded.split_first().ok_or_else(|| Error::internal("format without a template"))?;
    let known = ConstantCache::default();
    let (strings, _) = simple::write_texts(rows, ctx, |row, out| -> Result<()> {
        fill(&*known.get(templates.text(row), parse)?, values, row, out)
    })?;
    Ok(Vector::strings(Type::Varchar, strings, None))
}

/// Appends the template with the values of a row.
fn fill(
    template: &Template,
    values: &[Decoded<'_>],
    row: usize,
    out: &mut StringWriter,
) -> Result<()> {
    let argument = |index: usize| {
        let value = values.get(index).ok_or_else(|| {
            Error::invalid_value(format!("the template has no value for field {}", index + 1))
                .hint(format!("there are {}", values.len()))
        })?;
        argument_of(value, row)
    };
    for piece in &template.pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Field(field) => write::push(field, &argument, out)?,
        }
    }
    Ok(())
}

fn argument_of<'a>(value: &'a Decoded<'_>, row: usize) -> Result<Argument<'a>> {
    let at = value.index(row);
    let missing = || Error::internal("a value to format that is not there");
    Ok(match value.data_type() {
        Type::Boolean => Argument::Boolean(value.boolean(row)),
        Type::BigInt => {
            Argument::Integer(i128::from(*value.native::<i64>().get(at).ok_or_else(missing)?))
        }
        Type::HugeInt => Argument::Integer(*value.native::<i128>().get(at).ok_or_else(missing)?),
        Type::Double => Argument::Double(*value.native::<f64>().get(at).ok_or_else(missing)?),
        _ => Argument::Text(value.text(row)),
    })
}
