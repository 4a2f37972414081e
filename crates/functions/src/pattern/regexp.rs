//! Functions on regular expressions that give one value.

use super::{
    Compiled, PatternCache,
    expression::{Options, replacement},
};
use crate::documentation::doc;
use regex::Regex;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Argument, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, CancelCheck, StringWriter},
};
use volley_types::{Type, Value};
use volley_vector::{BooleanBuffer, Decoded, NullBuffer, Rows, Vector};

/// Registers `regexp_like`, `regexp_full_match`, `regexp_replace` and `regexp_extract`.
pub(super) fn register(registry: &mut Registry) {
    let like = doc(
        "regexp_like(text, pattern[, options]) -> boolean",
        "Whether the regular expression matches somewhere in the text.",
        "string",
        &[("regexp_like('hello', '^h.*o$')", "true"), ("regexp_like('ABC', 'b', 'i')", "true")],
    );
    for name in ["regexp_like", "regexp_matches"] {
        add(registry, name, &like, Task::Like, &[2, 3]);
    }
    let full = doc(
        "regexp_full_match(text, pattern[, options]) -> boolean",
        "Whether the regular expression matches all of the text.",
        "string",
        &[("regexp_full_match('abc', 'b')", "false")],
    );
    add(registry, "regexp_full_match", &full, Task::FullMatch, &[2, 3]);
    let replace = doc(
        "regexp_replace(text, pattern, replacement[, options]) -> varchar",
        "The text with the first match replaced, or every one with option g; \\1 in the replacement \
         is the first group.",
        "string",
        &[
            ("regexp_replace('hello', 'l', 'L', 'g')", "heLLo"),
            (r"regexp_replace('john smith', '(\w+) (\w+)', '\2 \1')", "smith john"),
        ],
    );
    add(registry, "regexp_replace", &replace, Task::Replace, &[3, 4]);
    let extract = doc(
        "regexp_extract(text, pattern[, group[, options]]) -> varchar",
        "The first match, or a group of it; empty when there is none.",
        "string",
        &[("regexp_extract('abc123', '([a-z]+)([0-9]+)', 2)", "123")],
    );
    add(registry, "regexp_extract", &extract, Task::Extract, &[2, 3, 4]);
}

fn add(
    registry: &mut Registry,
    name: &str,
    doc: &FunctionDoc,
    task: Task,
    arities: &'static [usize],
) {
    let bind = move |given: &[Type]| {
        if !arities.contains(&given.len()) {
            return None;
        }
        let args: Vec<Type> = (0..given.len()).map(|index| task.argument(index)).collect();
        let fits = given
            .iter()
            .zip(&args)
            .all(|(from, to)| volley_types::implicit_cast_cost(from, to).is_some());
        fits.then(|| BoundScalar {
            name: String::new(),
            args,
            result: task.result(),
            traits: ScalarTraits::DEFAULT,
            function: Arc::new(Regexp { task, compiled: None }),
        })
    };
    registry.add_scalar(name, doc.clone(), Arc::new(bind));
}

/// What to do with matches.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Like,
    FullMatch,
    Replace,
    Extract,
}

impl Task {
    fn result(self) -> Type {
        match self {
            Task::Like | Task::FullMatch => Type::Boolean,
            Task::Replace | Task::Extract => Type::Varchar,
        }
    }

    fn argument(self, index: usize) -> Type {
        if self == Task::Extract && index == 2 { Type::BigInt } else { Type::Varchar }
    }

    /// Which argument holds the options.
    fn options_index(self) -> usize {
        if matches!(self, Task::Like | Task::FullMatch) { 2 } else { 3 }
    }

    fn compile(self, pattern: &str, options: Options) -> Result<Compiled<Regex>> {
        match self {
            Task::FullMatch => options.compile_full(pattern),
            _ => options.compile(pattern),
        }
    }
}

/// A function on a regular expression; compiled already when the pattern is constant.
struct Regexp {
    task: Task,
    compiled: Option<(Regex, Options)>,
}

impl ScalarFunction for Regexp {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        _result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let cache = PatternCache::default();
        let is_null = |row: usize| args.iter().any(|arg| arg.is_null(row));
        let mut cancel = CancelCheck::default();
        if self.task.result() != Type::Boolean {
            let (strings, nulls) =
                simple::write_texts(rows, ctx, |row, out| -> Result<Option<()>> {
                    if is_null(row) || !cancel.go_on(args[0].bytes(row).len()) {
                        return Ok(None);
                    }
                    let write = |expression: &Regex, options: Options| {
                        self.task.write(expression, options, &args, row, out)
                    };
                    self.with_expression(&args, &cache, row, write).map(Some)
                })?;
            return Ok(Vector::strings(self.task.result(), strings, nulls));
        }
        let (mut matching, mut valid) = (vec![false; rows.len()], vec![true; rows.len()]);
        rows.try_for_each(|row| {
            if is_null(row) {
                valid[row] = false;
                return Ok(());
            }
            cancel.check(args[0].bytes(row).len())?;
            let is_match =
                |expression: &Regex, _: Options| Ok(expression.is_match(args[0].text(row)));
            match self.with_expression(&args, &cache, row, is_match) {
                Ok(is_match) => matching[row] = is_match,
                Err(error) => ctx.fail(row, || error),
            }
            Ok::<_, Error>(())
        })?;
        Ok(Vector::boolean(BooleanBuffer::from(matching), Some(NullBuffer::from(valid))))
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let constant = |index: usize| args.get(index).and_then(|it| it.constant.as_ref());
        let Some(pattern) = constant(1).and_then(Value::as_str) else { return Ok(None) };
        let index = self.task.options_index();
        let letters = match (args.get(index), constant(index).and_then(Value::as_str)) {
            (None, _) => "",
            (Some(_), Some(letters)) => letters,
            (Some(_), None) => return Ok(None),
        };
        let options = Options::parse(letters, self.task == Task::Replace)?;
        let compiled = Some((self.task.compile(pattern, options)?.pattern, options));
        Ok(Some(Arc::new(Regexp { task: self.task, compiled })))
    }
}

impl Regexp {
    /// Gives `f` the expression of a row, and its options.
    fn with_expression<T>(
        &self,
        args: &[Decoded<'_>],
        cache: &PatternCache<Regex>,
        row: usize,
        f: impl FnOnce(&Regex, Options) -> Result<T>,
    ) -> Result<T> {
        if let Some((expression, options)) = &self.compiled {
            return f(expression, *options);
        }
        let letters = args.get(self.task.options_index()).map_or("", |it| it.text(row));
        let options = Options::parse(letters, self.task == Task::Replace)?;
        let pattern = args[1].text(row);
        let key = format!("{letters}\u{0}{pattern}");
        let expression = cache.get(&key, || self.task.compile(pattern, options))?;
        f(&expression, options)
    }
}

impl Task {
    /// Writes the text of a row.
    fn write(
        self,
        expression: &Regex,
        options: Options,
        args: &[Decoded<'_>],
        row: usize,
        out: &mut StringWriter,
    ) -> Result<()> {
        let text = args[0].text(row);
        if self == Task::Replace {
            let new = checked_replacement(args[2].text(row), expression)?;
            let most = if options.global { usize::MAX } else { 1 };
            replace(expression, text, &new, most, out);
            return Ok(());
        }
        let group = match args.get(2) {
            Some(groups) => group_of(groups, row)?,
            None => 0,
        };
        out.push_str(extracted(expression, text, group));
        Ok(())
    }
}

/// Writes the text with the first matches, up to a maximum number, replaced by `new`, in which `$`
/// precedes groups.
fn replace(expression: &Regex, text: &str, new: &str, most: usize, out: &mut StringWriter) {
    let mut start = 0;
    if !new.contains('$') {
        for found in expression.find_iter(text).take(most) {
            if out.is_refused() {
                break;
            }
            out.push_str(&text[start..found.start()]);
            out.push_str(new);
            start = found.end();
        }
        return out.push_str(&text[start..]);
    }
    let mut expanded = String::new();
    for captures in expression.captures_iter(text).take(most) {
        let Some(found) = captures.get(0).filter(|_| !out.is_refused()) else { break };
        out.push_str(&text[start..found.start()]);
        expanded.clear();
        captures.expand(new, &mut expanded);
        out.push_str(&expanded);
        start = found.end();
    }
    out.push_str(&text[start..]);
}

fn group_of(groups: &Decoded<'_>, row: usize) -> Result<usize> {
    let group = groups.native::<i64>()[groups.index(row)];
    usize::try_from(group).ok().filter(|it| *it <= 9).ok_or_else(|| {
        Error::invalid_value(format!("regular expression group must be 0 to 9, not {group}"))
    })
}

/// The text of a group of the first match; empty without one.
fn extracted<'a>(expression: &Regex, text: &'a str, group: usize) -> &'a str {
    if group == 0 {
        return expression.find(text).map_or("", |it| it.as_str());
    }
    let found = expression.captures(text).and_then(|it| it.get(group));
    found.map_or("", |it| it.as_str())
}

fn checked_replacement(text: &str, expression: &Regex) -> Result<String> {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let group = if character == '\\' { characters.next() } else { None };
        let group = group.and_then(|it| it.to_digit(10)).unwrap_or(0) as usize;
        if group >= expression.captures_len() {
            let message =
                format!("replacement names group {group}, which the pattern lacks: '{text}'");
            return Err(Error::invalid_value(message));
        }
    }
    Ok(replacement(text))
}
