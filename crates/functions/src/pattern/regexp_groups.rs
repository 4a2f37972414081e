//! `regexp_extract` and `regexp_extract_all` with names for the groups: rows of texts.
//!
//! The names stand in the type of the third argument, which is a null.

use super::{Cache, expression::Options};
use crate::documentation::doc;
use regex::{Captures, Regex};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, Registry, ScalarTraits, simple};
use volley_types::{Field, Type, Value};
use volley_vector::{Decoded, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let first = doc(
        "regexp_extract(text, pattern, array of names[, options]) -> row",
        "The groups of the first match, from the first one on, as fields with these names, which are \
         constants; empty texts when there is no match.",
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
        let cache = Cache::new();
        let mut values = vec![Value::Null; rows.len()];
        rows.for_each(|row| {
            let options = args.get(3);
            if args[0].is_null(row)
                || args[1].is_null(row)
                || options.is_some_and(|it| it.is_null(row))
            {
                return;
            }
            let letters = options.map_or("", |it| it.text(row));
            match extract(&cache, args[0].text(row), args[1].text(row), letters, (matches, names)) {
                Ok(value) => values[row] = value,
                Err(error) => ctx.fail(row, || error),
            }
        });
        Ok(Vector::from_values(to.clone(), &values))
    });
    let mut args = vec![Type::Varchar, Type::Varchar, row];
    args.extend(options.iter().map(|_| Type::Varchar));
    let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT };
    Some(BoundScalar::new(args, result, traits, function))
}

fn extract(
    cache: &Cache<Regex>,
    text: &str,
    pattern: &str,
    letters: &str,
    (matches, names): (Matches, usize),
) -> Result<Value> {
    let key = format!("{letters}\u{0}{pattern}");
    let compile = || Options::parse(letters, false)?.compile(pattern);
    let expression = cache.get(&key, compile)?;
    let groups = expression.captures_len() - 1;
    if names > groups {
        let message = format!("{names} names for the {groups} groups of '{pattern}'");
        return Err(Error::invalid_value(message));
    }
    let part =
        |found: &Captures<'_>, group: usize| found.get(group).map(|it| Value::text(it.as_str()));
    Ok(match matches {
        Matches::First => {
            let found = expression.captures(text);
            let field =
                |group| found.as_ref().and_then(|it| part(it, group)).unwrap_or(Value::text(""));
            Value::Row((1..=names).map(field).collect())
        }
        Matches::All => {
            let row = |it: Captures<'_>| {
                Value::Row((1..=names).map(|at| part(&it, at).unwrap_or(Value::Null)).collect())
            };
            Value::Array(expression.captures_iter(text).map(row).collect())
        }
    })
}
