//! `regexp_replace` by a lambda of the groups of each match.

use super::{Patterns, doc, each_capture, group};
use regex::CaptureLocations;
use std::{cell::Cell, ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    Applied, ArgumentType, BoundHigherOrder, CHUNK_ELEMENTS, EvalContext, Lambda, Registry,
    ScalarTraits,
    simple::{StringWriter, Varchar, map_text, take_memory, with_memory},
};
use volley_memory::check_cancelled;
use volley_types::Type;
use volley_vector::{
    Decoded, Nested, NullBuffer, Rows, ScalarBuffer, StringBuilder, Values, Vector,
};

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let replace = doc(
        "regexp_replace(varchar, pattern, array(varchar) -> varchar) -> varchar",
        "The text with each match replaced by what the lambda makes of its groups, which do not \
         include the match itself; null when that is null.",
        &[(
            r"regexp_replace('new york', '(\w)(\w*)', x -> upper(x[1]) || lower(x[2]))",
            "New York",
        )],
    );
    registry.add_higher_order("presto.regexp_replace", replace, Arc::new(bind));
}

fn bind(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [text, pattern, ArgumentType::Lambda(lambda)] = args else { return None };
    let is_text = |it: &ArgumentType| matches!(it.value(), Some(Type::Varchar | Type::Unknown));
    if !is_text(text) || !is_text(pattern) || lambda.parameters.len() != 1 {
        return None;
    }
    let text = || ArgumentType::Value(Type::Varchar);
    let groups = Type::array(Type::Varchar);
    let args = vec![text(), text(), ArgumentType::of_lambda([groups], Some(Type::Varchar))];
    let traits = ScalarTraits::DEFAULT;
    Some(BoundHigherOrder::of_closure(args, Type::Varchar, traits, replace))
}

/// The matches of all rows, one after the other.
#[derive(Default)]
struct Matches {
    /// Where each is in its text.
    places: Vec<Range<usize>>,
    /// The row of each.
    owners: Vec<u32>,
    /// For each active row, where its matches end.
    ends: Vec<usize>,
    /// The number of groups of each match.
    sizes: Vec<i32>,
    builder: StringBuilder,
    /// The texts of groups, and whether they take part.
    views: Vec<u128>,
    valid: Vec<bool>,
}

impl Matches {
    fn find(&mut self, patterns: &Patterns, text: &str, pattern: &str, row: usize) -> Result<()> {
        let regex = patterns.get(pattern)?;
        each_capture(&regex, text, |groups| {
            if !take_memory(match_bytes(groups)) {
                // The call fails for another reason.
                return Err(Error::internal("no memory for a match"));
            }
            let (start, end) = groups.get(0).unwrap_or_default();
            self.places.push(start..end);
            self.owners.push(row as u32);
            self.sizes.push(groups.len() as i32 - 1);
            for index in 1..groups.len() {
                let found = group(text, groups, index);
                self.views.push(self.builder.store(found.unwrap_or("").as_bytes()));
                self.valid.push(found.is_some());
            }
            Ok(())
        })
    }

    /// One array of groups for each match.
    fn groups(&mut self) -> Result<Vector> {
        let builder = std::mem::take(&mut self.builder);
        let strings = builder.finish_with_views(std::mem::take(&mut self.views));
        let nulls = NullBuffer::from(std::mem::take(&mut self.valid));
        let elements = Vector::strings(Type::Varchar, strings, Some(nulls));
        let mut end = 0i32;
        let mut offsets = Vec::with_capacity(self.sizes.len());
        for size in &self.sizes {
            offsets.push(end);
            let too_many = || Error::invalid_value("too many groups in one batch");
            end = end.checked_add(*size).ok_or_else(too_many)?;
        }
        let sizes = std::mem::take(&mut self.sizes).into();
        let nested = Nested { offsets: offsets.into(), sizes, elements: elements.into() };
        Ok(Vector::flat(Type::array(Type::Varchar), Values::Array(nested), None))
    }
}

fn replace(
    rows: &Rows,
    args: &[Vector],
    lambdas: &mut [&mut dyn Lambda],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let ([texts, patterns], [lambda]) = (args, lambdas) else {
        return Err(Error::internal("regexp_replace of other than two texts and a lambda"));
    };
    let (texts, pattern) = (Decoded::new(texts)?, Decoded::new(patterns)?);
    let patterns = Patterns::default();
    let mut matches = Matches::default();
    with_memory(ctx, |ctx| {
        rows.for_each(|row| {
            let found = matches.find(&patterns, texts.text(row), pattern.text(row), row);
            if let Err(error) = found {
                ctx.fail(row, || error);
            }
            matches.ends.push(matches.places.len());
        });
        Ok(())
    })?;
    let replaced = apply(&mut matches, *lambda, ctx)?;
    write(rows, args, to, ctx, &matches, &Decoded::new(&replaced)?)
}

/// What is kept of a match, in vectors that grow.
fn match_bytes(groups: &CaptureLocations) -> usize {
    let lens = (1..groups.len()).filter_map(|it| groups.get(it)).map(|it| it.1 - it.0);
    let of_group = size_of::<u128>() + size_of::<bool>();
    let of_match = size_of::<Range<usize>>() + size_of::<u32>() + size_of::<i32>();
    2 * (of_match + groups.len() * of_group) + lens.sum::<usize>()
}

/// What the lambda makes of each match.
fn apply(matches: &mut Matches, lambda: &mut dyn Lambda, ctx: &mut EvalContext) -> Result<Vector> {
    let groups = matches.groups()?;
    let mut results = Vec::new();
    for start in (0..groups.len()).step_by(CHUNK_ELEMENTS) {
        check_cancelled()?;
        let len = CHUNK_ELEMENTS.min(groups.len() - start);
        let owners = matches.owners.get(start..start + len).unwrap_or_default();
        let owners: ScalarBuffer<u32> = owners.to_vec().into();
        let (rows, parameters) = (Rows::all(len), [groups.slice(start, len)]);
        let applied = Applied { rows: &rows, parameters: &parameters, owners: &owners };
        results.push(lambda.evaluate(&applied, ctx)?);
    }
    match results.len() {
        0 => Ok(Vector::nulls(Type::Varchar, 0)),
        _ => Vector::concat(&Type::Varchar, &results),
    }
}

fn write(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
    matches: &Matches,
    replaced: &Decoded<'_>,
) -> Result<Vector> {
    // Active rows come in ascending order.
    let (active, first) = (Cell::new(0), Cell::new(0));
    let one = |(text, _): (&str, &str), out: &mut StringWriter| -> Option<()> {
        let end = matches.ends.get(active.replace(active.get() + 1)).copied()?;
        let of_row = first.replace(end)..end;
        let mut last = 0;
        for at in of_row {
            let place = matches.places.get(at)?;
            if replaced.is_null(at) {
                return None;
            }
            out.push_str(text.get(last..place.start)?);
            out.push_str(replaced.text(at));
            last = place.end;
        }
        out.push_str(text.get(last..)?);
        Some(())
    };
    map_text::<(Varchar, Varchar), _>(rows, args, to, ctx, one)
}
