//! Regular expression functions.
//!
//! Patterns have Java's syntax, without lookaround and backreferences: the engine takes time linear
//! in the text. Matches are those of Java and Presto: an empty match may directly follow another
//! match.

mod extract;
mod lambda;
mod replace;
mod syntax;

use regex::{CaptureLocations, Regex, RegexBuilder};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Argument, EvalContext, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, Pattern},
};
use volley_functions::{Compiled, PatternCache, compile_within};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    extract::register(registry);
    replace::register(registry);
    lambda::register(registry);
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "regexp", examples)
}

/// Computes a function of a text, a pattern and maybe more.
type Run = fn(&Patterns, &Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector>;

fn add(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    args: Vec<Pattern>,
    result: Pattern,
    run: Run,
) {
    let function = Arc::new(Regexp { run, compiled: None });
    let bind = simple::bind(args, result, ScalarTraits::DEFAULT, function);
    registry.add_scalar(&format!("presto.{name}"), doc, bind);
}

/// A function whose second argument is a pattern; compiled already when that is constant.
struct Regexp {
    run: Run,
    compiled: Option<Arc<Regex>>,
}

impl ScalarFunction for Regexp {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let patterns = Patterns { constant: self.compiled.clone(), ..Patterns::default() };
        (self.run)(&patterns, rows, args, result_type, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let pattern = args.get(1).and_then(|it| it.constant.as_ref()).and_then(Value::as_str);
        let Some(pattern) = pattern else { return Ok(None) };
        let compiled = Some(Arc::new(compile(pattern)?.pattern));
        Ok(Some(Arc::new(Regexp { run: self.run, compiled })))
    }
}

/// The compiled patterns of a batch.
#[derive(Default)]
struct Patterns {
    /// The only one.
    constant: Option<Arc<Regex>>,
    /// Those that were met, by their text.
    compiled: PatternCache<Regex>,
}

impl Patterns {
    fn get(&self, pattern: &str) -> Result<Arc<Regex>> {
        if let Some(constant) = &self.constant {
            return Ok(Arc::clone(constant));
        }
        self.compiled.get(pattern, || compile(pattern))
    }
}

fn compile(pattern: &str) -> Result<Compiled<Regex>> {
    let invalid = |reason: String| {
        Error::invalid_value(format!("invalid regular expression: '{pattern}'")).hint(reason)
    };
    let translated = syntax::translate(pattern).map_err(|it| invalid(it.to_owned()))?;
    let within = |bytes: usize| RegexBuilder::new(&translated).size_limit(bytes).build();
    compile_within(within).map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => invalid("it is too large".to_owned()),
        // The reason is in the last line of the parser's drawing.
        other => {
            let message = other.to_string();
            let last = message.lines().next_back().unwrap_or_default();
            invalid(last.trim().trim_start_matches("error: ").to_owned())
        }
    })
}

/// Where the search for the next match begins; `None`: nowhere.
fn after(text: &str, start: usize, end: usize) -> Option<usize> {
    if start < end {
        return Some(end);
    }
    // After an empty match comes what is one character further.
    let character = text.get(end..).and_then(|it| it.chars().next())?;
    Some(end + character.len_utf8())
}

/// Gives `found` the bytes of each match.
fn each_match(regex: &Regex, text: &str, mut found: impl FnMut(usize, usize)) {
    let mut at = Some(0);
    while let Some(it) = at.and_then(|at| regex.find_at(text, at)) {
        found(it.start(), it.end());
        at = after(text, it.start(), it.end());
    }
}

/// Gives `found` the groups of each match, of which the first one is the match itself.
fn each_capture(
    regex: &Regex,
    text: &str,
    mut found: impl FnMut(&CaptureLocations) -> Result<()>,
) -> Result<()> {
    let mut groups = regex.capture_locations();
    let mut at = Some(0);
    while let Some(it) = at.and_then(|at| regex.captures_read_at(&mut groups, text, at)) {
        let (start, end) = (it.start(), it.end());
        found(&groups)?;
        at = after(text, start, end);
    }
    Ok(())
}

/// The text of a group; `None` when it is not part of the match.
fn group<'a>(text: &'a str, groups: &CaptureLocations, group: usize) -> Option<&'a str> {
    let (start, end) = groups.get(group)?;
    text.get(start..end)
}
