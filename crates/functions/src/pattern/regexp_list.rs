//! Functions on regular expressions, and on separators, that give arrays.

use super::{Cache, expression::Options};
use crate::{documentation::doc, nested::texts_column};
use regex::Regex;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, Registry, ScalarTraits, simple};
use volley_types::{Type, implicit_cast_cost};
use volley_vector::Decoded;

/// Registers `regexp_extract_all`, `regexp_split_to_array` and `string_split`.
pub(super) fn register(registry: &mut Registry) {
    let extract = doc(
        "regexp_extract_all(text, pattern[, group]) -> array(varchar)",
        "All matches, or a group of each.",
        "string",
        &[("regexp_extract_all('a1b2', '[a-z]([0-9])', 1)", "[1, 2]")],
    );
    registry.add_scalar("regexp_extract_all", extract, Arc::new(bind_extract));
    let split = doc(
        "regexp_split_to_array(text, pattern) -> array(varchar)",
        "The parts between matches.",
        "string",
        &[("regexp_split_to_array('a1b', '[0-9]')", "[a, b]")],
    );
    for name in ["regexp_split_to_array", "string_split_regex"] {
        let bind = |args: &[Type]| {
            bind(args, &[Type::Varchar, Type::Varchar], |args, row, cache| {
                let expression = compiled(cache, args[1].text(row))?;
                Ok(expression.split(args[0].text(row)).map(str::to_owned).collect())
            })
        };
        registry.add_scalar(name, split.clone(), Arc::new(bind));
    }
    let plain = doc(
        "string_split(text, separator) -> array(varchar)",
        "The parts between separators; the characters when the separator is empty.",
        "string",
        &[("string_split('a,b', ',')", "[a, b]")],
    );
    for name in ["string_split", "split", "str_split", "string_to_array"] {
        let bind = |args: &[Type]| {
            bind(args, &[Type::Varchar, Type::Varchar], |args, row, _| {
                let (text, separator) = (args[0].text(row), args[1].text(row));
                if separator.is_empty() {
                    return Ok(text.chars().map(String::from).collect());
                }
                Ok(text.split(separator).map(str::to_owned).collect())
            })
        };
        registry.add_scalar(name, plain.clone(), Arc::new(bind));
    }
}

fn bind_extract(args: &[Type]) -> Option<BoundScalar> {
    let types = [Type::Varchar, Type::Varchar, Type::BigInt];
    bind(args, types.get(..args.len()).filter(|it| it.len() >= 2)?, |args, row, cache| {
        let expression = compiled(cache, args[1].text(row))?;
        let group = args.get(2).map_or(0, |it| it.native::<i64>()[it.index(row)]);
        let group = usize::try_from(group).ok().filter(|it| *it < expression.captures_len());
        let missing = || Error::invalid_value("the pattern has no such group");
        let group = group.ok_or_else(missing)?;
        let matches = expression.captures_iter(args[0].text(row));
        let texts = matches.map(|it| it.get(group).map_or("", |it| it.as_str()).to_owned());
        Ok(texts.collect())
    })
}

fn compiled(cache: &Cache<Regex>, pattern: &str) -> Result<std::rc::Rc<Regex>> {
    cache.get(pattern, || Options::default().compile(pattern))
}

/// A function from texts to an array of texts.
fn bind(
    given: &[Type],
    args: &[Type],
    f: impl Fn(&[Decoded<'_>], usize, &Cache<Regex>) -> Result<Vec<String>> + Send + Sync + 'static,
) -> Option<BoundScalar> {
    let fits = given.len() == args.len()
        && given.iter().zip(args).all(|(from, to)| implicit_cast_cost(from, to).is_some());
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let cache = Cache::new();
        let mut texts = vec![None; rows.len()];
        rows.for_each(|row| {
            if args.iter().any(|it| it.is_null(row)) {
                return;
            }
            match f(&args, row, &cache) {
                Ok(found) => texts[row] = Some(found),
                Err(error) => ctx.fail(row, || error),
            }
        });
        texts_column(to, &texts)
    });
    fits.then(|| BoundScalar {
        name: String::new(),
        args: args.to_vec(),
        result: Type::array(Type::Varchar),
        traits: ScalarTraits::DEFAULT,
        function,
    })
}
