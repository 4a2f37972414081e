//! `regexp_extract` and `regexp_extract_all` with names for the groups: rows of texts.
//!
//! The names are in the type of the third argument, which is a null.

use super::{PatternCache, expression::Options};
use crate::documentation::doc;
use regex::{Captures, Regex};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{self, CancelCheck},
};
use volley_memory::check_cancelled;
use volley_types::{Field, Type, Value};
use volley_vector::{Decoded, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let first = doc(
        "regexp_extract(text, pattern, array of names[, options]) -> row",
        "The groups of the first match, from the first one on, as fields with these names, which \
         are constants; empty texts without a match.",
        "string",
        &[(
            r"regexp_extract('2020-07', '(\d+)-(\d+)', ['year', 'month'])",
            "{'year': 2020, 'month': 07}",
        )],
    );
    registry.add_scalar(
        "regexp_extract",
        first,
        Arc::new(|args: &[Type]| bind(args, Matches::First)),
    );
    let all = doc(
        "regexp_extract_all(text, pattern, array of names[, options]) -> array(row)",
        "The groups of each match as fields with these names.",
        "string",
        &[(
            r"regexp_extract_all('a1b2', '([a-z])(\d)', ['letter', 'digit'])",
            "[{'letter': a, 'digit': 1}, {'letter': b, 'digit': 2}]",
        )],
    );
    registry.add_scalar(
        "regexp_extract_all",
        all,
        Arc::new(|args: &[Type]| bind(args, Matches::All)),
    );
}

#[derive(Clone, Copy)]
enum Matches {
    First,
    All,
}

fn bind(given: &[Type], matches: Matches) -> Option<BoundScalar> {
    let [text, pattern, Type::Row(fields), options @ ..] = given else { return None };
    let is_text = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    let is_named = |it: &Field| it.data_type == Type::Varchar;
    if !is_text(text) || !is_text(pattern) || options.len() > 1 || !options.iter().all(is_text) {
        return None;
    }
    if !fields.iter().all(is_named) {
        return None;
    }
    let (row, names) = (given[2].clone(), fields.len());
    let result = match matches {
        Matches::First => row.clone(),
        Matches::All => Type::array(row.clone()),
    };
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let cache = PatternCache::default();
        let mut values = vec![Value::Null; rows.len()];
        let mut cancel = CancelCheck::default();
        rows.try_for_each(|row| {
            let options = args.get(3);
            if args[0].is_null(row)
                || args[1].is_null(row)
                || options.is_some_and(|it| it.is_null(row))
            {
                return Ok(());
            }
            let letters = options.map_or("", |it| it.text(row));
            let [text, pattern] = [args[0].text(row), args[1].text(row)];
            cancel.check(text.len())?;
            let expression = match expression(&cache, pattern, letters, names) {
                Ok(expression) => expression,
                Err(error) => {
                    ctx.fail(row, || error);
                    return Ok(());
                }
            };
            values[row] = match matches {
                Matches::First => first(&expression, text, names),
                Matches::All => all(&expression, text, names, ctx)?,
            };
            Ok::<_, Error>(())
        })?;
        Ok(Vector::from_values(to.clone(), &values))
    });
    let mut args = vec![Type::Varchar, Type::Varchar, row];
    args.extend(options.iter().map(|_| Type::Varchar));
    let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT };
    Some(BoundScalar::new(args, result, traits, function))
}

/// The compiled pattern, which must have a group for each name.
fn expression(
    cache: &PatternCache<Regex>,
    pattern: &str,
    letters: &str,
    names: usize,
) -> Result<Arc<Regex>> {
    let key = format!("{letters}\u{0}{pattern}");
    let compile = || Options::parse(letters, false)?.compile(pattern);
    let expression = cache.get(&key, compile)?;
    let groups = expression.captures_len() - 1;
    if names > groups {
        let message = format!("{names} names for the {groups} groups of '{pattern}'");
        return Err(Error::invalid_value(message));
    }
    Ok(expression)
}

fn part(found: &Captures<'_>, group: usize) -> Option<Value> {
    found.get(group).map(|it| Value::text(it.as_str()))
}

fn first(expression: &Regex, text: &str, names: usize) -> Value {
    let found = expression.captures(text);
    let field = |group| found.as_ref().and_then(|it| part(it, group)).unwrap_or(Value::text(""));
    Value::Row((1..=names).map(field).collect())
}

/// The groups of all matches, charged as they arrive.
fn all(expression: &Regex, text: &str, names: usize, ctx: &mut EvalContext) -> Result<Value> {
    /// Matches between two charges.
    const CHARGED: usize = 1024;
    // A value of each group and of the row, and as much for the text of each and for the row.
    let bytes = 2 * (names + 1) * size_of::<Value>();
    let mut found = Vec::new();
    for captures in expression.captures_iter(text) {
        if found.len().is_multiple_of(CHARGED) {
            check_cancelled()?;
            ctx.charge(CHARGED * bytes)?;
        }
        let fields = (1..=names).map(|at| part(&captures, at).unwrap_or(Value::Null));
        found.push(Value::Row(fields.collect()));
    }
    Ok(Value::Array(found.into()))
}
