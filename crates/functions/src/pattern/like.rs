//! LIKE and ILIKE, with and without ESCAPE, and GLOB.

use super::{
    Compiled, PatternCache,
    matcher::{Matcher, Syntax},
};
use crate::{documentation::doc, string::of_texts};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Argument, BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits,
    simple::{self, Boolean, Varchar, function1},
};
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// Registers `like`, `ilike` and `glob`.
pub(super) fn register(registry: &mut Registry) {
    let like = doc(
        "text LIKE pattern [ESCAPE character] -> boolean",
        "Whether all of the text matches: `%` matches any characters, `_` for one; the character \
         after the escape character is literal.",
        "string",
        &[("'hello' LIKE 'h%o'", "true"), ("'a_b' LIKE 'a!_b' ESCAPE '!'", "true")],
    );
    let ilike = doc(
        "text ILIKE pattern [ESCAPE character] -> boolean",
        "As LIKE, ignoring case.",
        "string",
        &[("'HELLO' ILIKE 'h%o'", "true")],
    );
    let glob = doc(
        "text GLOB pattern -> boolean",
        "Whether all of the text matches: `*` matches any characters, `?` for one, `[a-c]` for \
         one of these and `[!a-c]` for one of the others; a backslash escapes the next \
         character.",
        "string",
        &[("'hello' GLOB 'h*[m-o]'", "true"), ("'a*b' GLOB 'a\\*b'", "true")],
    );
    let all = [("like", like, Syntax::Like), ("ilike", ilike, Syntax::ILike)];
    for (name, doc, syntax) in all.into_iter().chain([("glob", glob, Syntax::Glob)]) {
        let bind = move |args: &[Type]| bind(args, syntax);
        registry.add_scalar(name, doc, Arc::new(bind));
    }
}

/// Whether all of `text` matches a LIKE pattern.
///
/// # Errors
///
/// Invalid value: an escape character at the end of the pattern, or before an ordinary one.
pub fn matches_like(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    Ok(Matcher::new(pattern, escape, Syntax::Like)?.matches(text))
}

fn bind(args: &[Type], syntax: Syntax) -> Option<BoundScalar> {
    let is_text = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    let takes_escape = syntax != Syntax::Glob;
    let fits = args.len() == 2 || (args.len() == 3 && takes_escape);
    if !fits || !args.iter().all(is_text) {
        return None;
    }
    // A pattern without an escape character is always well formed.
    let traits = if args.len() == 2 { ScalarTraits::INFALLIBLE } else { ScalarTraits::DEFAULT };
    Some(BoundScalar {
        name: String::new(),
        args: vec![Type::Varchar; args.len()],
        result: Type::Boolean,
        traits,
        function: Arc::new(Like { syntax }),
    })
}

struct Like {
    syntax: Syntax,
}

impl ScalarFunction for Like {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let cache = PatternCache::default();
        if args.len() == 2 {
            let matches = |text: &str, pattern: &str| -> Result<bool, Error> {
                let compile = || compiled(pattern, None, self.syntax);
                Ok(cache.get(pattern, compile)?.matches(text))
            };
            return simple::map2::<Varchar, Varchar, Boolean, _>(
                rows,
                args,
                result_type,
                ctx,
                matches,
            );
        }
        let matches = |text: &str, pattern: &str, escape: &str| -> Result<bool, Error> {
            let compile = || compiled(pattern, escape_of(escape)?, self.syntax);
            // Patterns with different escape characters must not meet in the cache.
            let key = format!("{escape}\u{0}{pattern}");
            Ok(cache.get(&key, compile)?.matches(text))
        };
        simple::map3::<Varchar, Varchar, Varchar, Boolean, _>(rows, args, result_type, ctx, matches)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let constant = |index: usize| {
            args.get(index).and_then(|it| it.constant.as_ref()).and_then(|it| it.as_str())
        };
        let Some(pattern) = constant(1) else { return Ok(None) };
        let escape = match (args.len(), constant(2)) {
            (2, _) => None,
            (_, None) => return Ok(None),
            (_, Some(escape)) => escape_of(escape)?,
        };
        let matcher = Arc::new(Matcher::new(pattern, escape, self.syntax)?);
        let each = Arc::clone(&matcher);
        let by_row = function1::<Varchar, Boolean, _>(move |text: &str| each.matches(text));
        Ok(Some(of_texts(by_row, move |texts, _, _| matcher.select(texts))))
    }
}

/// A pattern for the cache.
fn compiled(pattern: &str, escape: Option<char>, syntax: Syntax) -> Result<Compiled<Matcher>> {
    /// Of one character of a pattern that becomes an expression, at most, roughly.
    const CHARACTER_BYTES: usize = 1 << 10;
    let bytes = pattern.len().saturating_mul(CHARACTER_BYTES);
    Ok(Compiled { pattern: Matcher::new(pattern, escape, syntax)?, bytes })
}

fn escape_of(escape: &str) -> Result<Option<char>> {
    let mut characters = escape.chars();
    let first = characters.next();
    if characters.next().is_some() {
        let message = format!("escape must be one character, not '{escape}'");
        return Err(Error::invalid_value(message));
    }
    Ok(first)
}
