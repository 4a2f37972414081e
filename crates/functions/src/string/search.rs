//! Whether and where a text occurs in another.

use super::code_points;
use crate::documentation::doc;
use memchr::memmem;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    Argument, BindScalar, BoundScalar, EvalContext, Registry, ScalarFunction,
    simple::{self, BigInt, Boolean, Varchar, ascii_binary, ascii_unary, binary, unary},
};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// Registers `position`, `contains`, `starts_with`, `ends_with` and their aliases.
pub(super) fn register(registry: &mut Registry) {
    let position_doc = doc(
        "position(text, part) -> bigint",
        "Where `part` first occurs in `text`, in code points from 1; 0 when it does not.",
        "string",
        &[("position('hello', 'l')", "3"), ("position('hello', 'x')", "0")],
    );
    for name in ["position", "strpos", "instr"] {
        registry.add_scalar(
            name,
            position_doc.clone(),
            searching(
                ascii_binary::<Varchar, Varchar, BigInt, _>(
                    |text: &str, part: &str| {
                        position(text, memmem::find(text.as_bytes(), part.as_bytes()))
                    },
                    |text: &str, part: &str| {
                        ascii_position(memmem::find(text.as_bytes(), part.as_bytes()))
                    },
                ),
                |finder| {
                    let general = finder.clone();
                    ascii_unary::<Varchar, BigInt, _>(
                        move |text: &str| position(text, general.find(text.as_bytes())),
                        move |text: &str| ascii_position(finder.find(text.as_bytes())),
                    )
                },
            ),
        );
    }
    let predicate = |signature: &str, description: &str, example: (&str, &str)| {
        doc(signature, description, "string", &[example])
    };
    let contains_doc = predicate(
        "contains(text, part) -> boolean",
        "Whether `part` occurs in `text`.",
        ("contains('hello', 'ell')", "true"),
    );
    let contains = searching(
        binary::<Varchar, Varchar, Boolean, _>(|text: &str, part: &str| {
            memmem::find(text.as_bytes(), part.as_bytes()).is_some()
        }),
        |finder| {
            unary::<Varchar, Boolean, _>(move |text: &str| finder.find(text.as_bytes()).is_some())
        },
    );
    registry.add_scalar("contains", contains_doc, contains);
    let starts = predicate(
        "starts_with(text, start) -> boolean",
        "Whether `text` begins with `start`.",
        ("starts_with('hello', 'he')", "true"),
    );
    for name in ["starts_with", "prefix"] {
        let bind =
            binary::<Varchar, Varchar, Boolean, _>(|text: &str, start| text.starts_with(start));
        registry.add_scalar(name, starts.clone(), bind);
    }
    let ends = predicate(
        "ends_with(text, end) -> boolean",
        "Whether `text` ends with `end`.",
        ("ends_with('hello', 'lo')", "true"),
    );
    for name in ["ends_with", "suffix"] {
        let bind = binary::<Varchar, Varchar, Boolean, _>(|text: &str, end| text.ends_with(end));
        registry.add_scalar(name, ends.clone(), bind);
    }
}

/// The code point of a match at byte `at`, from 1; 0 when there is none.
fn position(text: &str, at: Option<usize>) -> i64 {
    // Matches of valid text begin at a code point.
    at.map_or(0, |at| code_points(&text[..at]) as i64 + 1)
}

/// [`position`] where bytes are code points.
fn ascii_position(at: Option<usize>) -> i64 {
    at.map_or(0, |at| at as i64 + 1)
}

/// A function of a text and what is searched in it; `prepared` makes the function of the text alone
/// for a constant that was prepared for searching.
fn searching(
    bind: BindScalar,
    prepared: impl Fn(memmem::Finder<'static>) -> BindScalar + Send + Sync + 'static,
) -> BindScalar {
    let prepared = Arc::new(prepared);
    Arc::new(move |types: &[Type]| {
        let bound = bind(types)?;
        let (general, prepared) = (Arc::clone(&bound.function), Arc::clone(&prepared));
        Some(BoundScalar { function: Arc::new(Searching { general, prepared }), ..bound })
    })
}

struct Searching<F> {
    general: Arc<dyn ScalarFunction>,
    prepared: Arc<F>,
}

impl<F> ScalarFunction for Searching<F>
where
    F: Fn(memmem::Finder<'static>) -> BindScalar + Send + Sync,
{
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.general.evaluate(rows, args, result_type, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let Some(Argument { constant: Some(Value::Varchar(part)), .. }) = args.get(1) else {
            return Ok(None);
        };
        let finder = memmem::Finder::new(part.as_bytes()).into_owned();
        let Some(bound) = (self.prepared)(finder)(&[Type::Varchar]) else { return Ok(None) };
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            bound.function.evaluate(rows, &args[..1], to, ctx)
        })))
    }
}
