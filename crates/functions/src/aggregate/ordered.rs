//! What is chosen of a group's values in order: quantiles, `median` and `mad`.
//!
//! All collect the rows of a group and look at those that are not null. A quantile finds the place
//! of a share `q` of `n` values:
//!
//! ```text
//! quantile_disc   the ceil(n * q)-th value, at least the first
//! quantile_cont   place (n - 1) * q, counted from 0; between two values, a part of their distance
//! ```
//!
//! A negative share counts from the greatest value.

mod place;
#[cfg(test)]
mod tests;

use super::{
    collected,
    form::{row_column, unexpected_layout},
};
use crate::documentation::doc;
use place::{Between, Place, midpoint};
use std::{cmp::Ordering, sync::Arc};
use volley_error::Result;
use volley_function::{
    BoundAggregate, CollectingFunction, Expanded, Registry, aggregate::form::bound_collecting,
};
use volley_types::{Field, Type, Value};
use volley_vector::{Comparable, Rows, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let cont = doc(
        "quantile_cont(x, share) -> double",
        "The value that this share of the values (from 0 to 1; negative: from the greatest) is not \
         above, between two values a part of their distance. An array of shares gives an array.",
        "aggregate",
        &[("quantile_cont(x, 0.25) FROM (VALUES (1), (2), (3)) v(x)", "1.5")],
    );
    let disc = doc(
        "quantile_disc(x, share) -> same as x",
        "The least value that this share of the values (from 0 to 1; negative: from the greatest) \
         is not above. An array of shares gives an array.",
        "aggregate",
        &[("quantile_disc(x, 0.5) FROM (VALUES (1), (2), (3), (9)) v(x)", "2")],
    );
    let median = doc(
        "median(x) -> double",
        "The value in the middle; the mean of both when there are two, of types that have one.",
        "aggregate",
        &[("median(x) FROM (VALUES (1), (2), (9), (4)) v(x)", "3.0")],
    );
    let mad = doc(
        "mad(x) -> double",
        "The median of the distances of the values from their median.",
        "aggregate",
        &[("mad(x) FROM (VALUES (1), (2), (9), (4)) v(x)", "1.5")],
    );
    registry.add_aggregate("quantile_cont", cont, Arc::new(bind_cont));
    registry.add_aggregate("quantile_disc", disc.clone(), Arc::new(bind_disc));
    registry.add_aggregate("quantile", disc, Arc::new(bind_disc));
    registry.add_aggregate("median", median, Arc::new(bind_median));
    registry.add_aggregate("mad", mad, Arc::new(bind_mad));
}

/// What is chosen.
enum Choice {
    /// The value at a share of the rows.
    Quantile(Place),
    /// The middle.
    Median(Place),
    /// The distance from the middle.
    Deviation(Between),
}

fn bind_cont(args: &[Type]) -> Option<BoundAggregate> {
    let [value, share] = args else { return None };
    let (value, between) = Between::of(value)?;
    quantile(value, share, Place::Between(between))
}

fn bind_disc(args: &[Type]) -> Option<BoundAggregate> {
    let [value, share] = args else { return None };
    quantile(value.clone(), share, Place::Whole)
}

fn quantile(value: Type, share: &Type, place: Place) -> Option<BoundAggregate> {
    let (share, result) = match share {
        Type::Array(of) if of.is_numeric() || **of == Type::Unknown => {
            (Type::array(Type::Double), Type::array(value.clone()))
        }
        other if other.is_numeric() || *other == Type::Unknown => (Type::Double, value.clone()),
        _ => return None,
    };
    Some(collecting(vec![value, share], result, Choice::Quantile(place)))
}

fn bind_median(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    let (value, place) = match Between::of(value) {
        Some((value, between)) => (value, Place::Between(between)),
        None => (value.clone(), Place::Whole),
    };
    Some(collecting(vec![value.clone()], value, Choice::Median(place)))
}

fn bind_mad(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    let (value, between) = Between::of(value).filter(|it| it.0.is_numeric())?;
    Some(collecting(vec![value.clone()], value, Choice::Deviation(between)))
}

/// Rows that are collected stand in arrays of rows as intermediate results.
fn collecting(args: Vec<Type>, result: Type, choice: Choice) -> BoundAggregate {
    let row = Type::row(args.iter().map(|it| Field::new("", it.clone())).collect::<Vec<_>>());
    let intermediate = Type::array(row.clone());
    let function = Ordered { choice, row, result: result.clone() };
    let bound = bound_collecting(args, intermediate, result, function);
    BoundAggregate { order_sensitive: false, ignores_nulls: true, ..bound }
}

struct Ordered {
    choice: Choice,
    /// The type of collected rows.
    row: Type,
    result: Type,
}

impl CollectingFunction for Ordered {
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let [values, shares @ ..] = args else { return Err(unexpected_layout()) };
        let order = Comparable::new(values)?;
        let compare = |a: &u32, b: &u32| order.compare_valid(*a as usize, &order, *b as usize);
        let mut results = Vec::with_capacity(ends.len());
        let mut start = 0;
        for end in ends {
            let group = start..*end;
            let share = shares.first().filter(|_| !group.is_empty());
            let share = share.map_or(Ok(Value::Null), |it| it.value(start as usize))?;
            let mut rows: Vec<u32> = group.filter(|it| !order.is_null(*it as usize)).collect();
            start = *end;
            results.push(match rows.is_empty() {
                true => Value::Null,
                false => self.choice.of_group(values, &mut rows, &share, &compare)?,
            });
        }
        Ok(Vector::from_values(self.result.clone(), &results))
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let len = ends.last().map_or(0, |it| *it as usize);
        let elements = row_column(&self.row, args.to_vec(), len);
        collected::cut(&Type::array(self.row.clone()), elements, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        let Some(parts) = collected::take_apart(intermediate, rows)? else {
            return Ok(Expanded { args: vec![], sources: vec![] });
        };
        let elements = parts.elements.flatten()?;
        let Some(Values::Row { children, .. }) = elements.flat_values() else {
            return Err(unexpected_layout());
        };
        let args = children.iter().map(|it| it.gather(&parts.positions)).collect::<Result<_>>()?;
        Ok(Expanded { args, sources: parts.sources })
    }
}

impl Choice {
    /// The result of a group; `rows`: those whose value is not null, at least one.
    fn of_group(
        &self,
        values: &Vector,
        rows: &mut [u32],
        share: &Value,
        compare: &impl Fn(&u32, &u32) -> Ordering,
    ) -> Result<Value> {
        match self {
            Choice::Quantile(place) => match share {
                Value::Array(shares) => {
                    rows.sort_unstable_by(compare);
                    let all = shares.iter().map(|it| place.at(values, rows, it, compare));
                    Ok(Value::Array(all.collect::<Result<Vec<_>>>()?.into()))
                }
                share => place.at(values, rows, share, compare),
            },
            Choice::Median(place) => place.at(values, rows, &Value::Double(0.5), compare),
            Choice::Deviation(between) => {
                let middle = Place::Between(*between);
                let middle = middle.at(values, rows, &Value::Double(0.5), compare)?;
                let mut distances = Vec::with_capacity(rows.len());
                for row in rows {
                    distances.push(between.distance(&values.value(*row as usize)?, &middle)?);
                }
                Ok(midpoint(*between, distances))
            }
        }
    }
}
