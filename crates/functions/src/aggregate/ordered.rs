//! Order statistics of a group: quantiles, `median` and `mad`.
//!
//! All ignore nulls. A quantile is the value at the position of a share `q` of `n` values:
//!
//! ```text
//! quantile_disc   the ceil(n * q)-th value, at least the first
//! quantile_cont   place (n - 1) * q, counted from 0; between two values, a part of their distance
//! ```
//!
//! A negative share counts from the greatest value.
//!
//! Values are selected, not sorted: those of fixed width as keys that compare as integers do.
//! Aggregations keep these in states (`states`). Other values, and the rows of window frames, are
//! collected.

mod group;
mod items;
mod place;
mod select;
mod states;
#[cfg(test)]
mod tests;

use super::{collected, typed::unexpected_layout};
use crate::documentation::doc;
use items::{Items, Keys, ValueRows};
use place::{Between, Place, Share};
use states::OrderedStates;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundAggregate, CollectingFunction, Expanded, Registry,
    aggregate::typed::{bound_collecting, bound_keeping},
};
use volley_memory::check_cancelled;
use volley_types::{Field, Type, Value, match_native};
use volley_vector::{Decoded, Nested, NullBuffer, Rows, Values, Vector};

/// How many values are worked on between two checks for cancellation.
const CHECKED_VALUES: usize = 1 << 16;

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
#[derive(Clone, Copy)]
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
    Some(bound(vec![value, share], result, Choice::Quantile(place)))
}

fn bind_median(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    let (value, place) = match Between::of(value) {
        Some((value, between)) => (value, Place::Between(between)),
        None if *value == Type::Interval => (Type::Interval, Place::Between(Between::Time)),
        None => (value.clone(), Place::Whole),
    };
    Some(bound(vec![value.clone()], value, Choice::Median(place)))
}

fn bind_mad(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    let (value, between) = Between::of(value).filter(|it| it.0.is_numeric())?;
    Some(bound(vec![value.clone()], value, Choice::Deviation(between)))
}

/// By states where values have keys, or by rows.
fn bound(args: Vec<Type>, result: Type, choice: Choice) -> BoundAggregate {
    let row = Type::row(args.iter().map(|it| Field::new("", it.clone())).collect::<Vec<_>>());
    let function = Ordered { choice, row: row.clone(), result: result.clone() };
    if let Some(value) = args.first().filter(|it| it.key_type().is_none()) {
        match_native!(value.physical(), T => {
            let states = OrderedStates::<T>::new(choice, &args, result.clone());
            return bound_keeping(args, states.partial_type(), result, states, function);
        }, else {})
    }
    // Rows are in arrays of rows as intermediate results.
    let bound = bound_collecting(args, Type::array(row), result, function);
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
        let shares = shares.first();
        if values.data_type().key_type().is_some() {
            return self.choose(&ValueRows::new(values)?, shares, ends);
        }
        match_native!(values.data_type().physical(), T => {
            let column = Decoded::new(values)?;
            self.choose(&Keys::<T>::new(&column, self.choice.place())?, shares, ends)
        }, else self.choose(&ValueRows::new(values)?, shares, ends))
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        collected::cut_rows(&self.row, args, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        collected::expand_rows(intermediate, rows)
    }
}

impl Ordered {
    /// What is chosen of each group.
    fn choose<I: Items>(
        &self,
        values: &I,
        shares: Option<&Vector>,
        ends: &[u32],
    ) -> Result<Vector> {
        let mut chosen = Chosen::with_capacity(ends.len());
        let mut items = Vec::new();
        let mut start = 0;
        for end in ends.iter().map(|it| *it as usize) {
            items.clear();
            for from in (start..end).step_by(CHECKED_VALUES) {
                if from > start {
                    check_cancelled()?;
                }
                values.extend(&mut items, from..end.min(from + CHECKED_VALUES));
            }
            let share = shares.filter(|_| !items.is_empty());
            let share = share.map(|it| it.value(start)).transpose()?;
            start = end;
            chosen.push_group(items.is_empty(), share.as_ref(), |share| {
                self.choice.of_group(values, &mut items, share)
            })?;
        }
        chosen.finish(&self.result, shares.map(Vector::data_type), |it| values.column(it))
    }
}

/// What was chosen of groups.
struct Chosen<C> {
    values: Vec<Option<C>>,
    /// Of arrays of shares; `None`: a null, as one element.
    sizes: Vec<Option<usize>>,
}

impl<C> Chosen<C> {
    fn with_capacity(groups: usize) -> Chosen<C> {
        Chosen { values: Vec::with_capacity(groups), sizes: Vec::with_capacity(groups) }
    }

    /// Adds what `choose` says for the share, or each of an array of them.
    fn push_group(
        &mut self,
        is_empty: bool,
        share: Option<&Value>,
        mut choose: impl FnMut(Option<&Value>) -> Result<Option<C>>,
    ) -> Result<()> {
        let mut size = None;
        match share {
            _ if is_empty => self.values.push(None),
            Some(Value::Array(shares)) => {
                for share in shares.iter() {
                    self.values.push(choose(Some(share))?);
                }
                size = Some(shares.len());
            }
            share => self.values.push(choose(share)?),
        }
        self.sizes.push(size);
        Ok(())
    }

    /// The results, of type `result`; `share`: the type of the shares, where there are any.
    fn finish(
        self,
        result: &Type,
        share: Option<&Type>,
        column: impl FnOnce(&[Option<C>]) -> Result<Vector>,
    ) -> Result<Vector> {
        let elements = column(&self.values)?;
        match share {
            Some(Type::Array(_)) => arrays(result, elements, &self.sizes),
            _ => Ok(elements),
        }
    }
}

impl Choice {
    fn place(self) -> Place {
        match self {
            Choice::Quantile(place) | Choice::Median(place) => place,
            Choice::Deviation(between) => Place::Between(between),
        }
    }

    /// What is chosen of a group of at least one value; `share`: `None` where none is given.
    fn of_group<I: Items>(
        self,
        values: &I,
        items: &mut [I::Item],
        share: Option<&Value>,
    ) -> Result<Option<I::Chosen>> {
        let compare = |left: &I::Item, right: &I::Item| values.compare(left, right);
        let at = |items: &mut [I::Item], share| {
            self.place().at(items, share, &compare).map(|it| values.chosen(it))
        };
        let Some(share) = self.share_of(share)? else { return Ok(None) };
        let found = at(items, share)?;
        if !matches!(self, Choice::Deviation(_)) {
            return Ok(Some(found));
        }
        for part in items.chunks_mut(CHECKED_VALUES) {
            values.make_distances(part, found)?;
        }
        if items.len() > CHECKED_VALUES {
            check_cancelled()?;
        }
        at(items, share).map(Some)
    }

    /// The share of the values that is asked for; `None` for null.
    fn share_of(self, share: Option<&Value>) -> Result<Option<Share>> {
        match (self, share) {
            (Choice::Quantile(_), Some(share)) => Share::of(share),
            (Choice::Quantile(_), None) => Err(unexpected_layout()),
            _ => Ok(Some(Share::HALF)),
        }
    }
}

/// Arrays of `sizes` elements each; `None`: a null array, for which there is one element.
fn arrays(data_type: &Type, elements: Vector, sizes: &[Option<usize>]) -> Result<Vector> {
    collected::offset(elements.len())?;
    let nulls = NullBuffer::from_iter(sizes.iter().map(Option::is_some));
    let mut end = 0;
    let offset = |size: &Option<usize>| {
        let start = end;
        end += size.unwrap_or(1) as i32;
        start
    };
    let offsets: Vec<i32> = sizes.iter().map(offset).collect();
    let sizes: Vec<i32> = sizes.iter().map(|it| it.unwrap_or(0) as i32).collect();
    let elements = Arc::new(elements);
    let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
    Ok(Vector::flat(data_type.clone(), Values::Array(nested), Some(nulls)))
}
