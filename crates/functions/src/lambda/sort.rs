//! Sorting with a lambda: array_sort with a comparison or a key.
//!
//! A comparison is evaluated for many pairs at once: all rows' arrays are sorted by merging runs of
//! 1, 2, 4, ... elements, and in each level every element of a left run searches its place in the
//! right run, all of them halving together:
//!
//! ```text
//! for width in 1, 2, 4, ...:
//!     search = for each element of a left run: low..high = the right run
//!     while some low < high:
//!         lambda(element, right[middle])     one evaluation for all searches
//!         1: low = middle + 1                else: high = middle
//!     merge: each left element stands behind the right ones before its place
//! ```
//!
//! That compares more often than merging pair by pair, but an array of `n` elements takes about
//! `log2(n)^2 / 2` evaluations instead of `n log2(n)`. Equal elements keep their order. Places of a
//! left run that decrease, which only a comparison that contradicts itself gives, are raised: the
//! result has each element once, whatever the lambda says.

use super::{body_type, element_type, elements::Collections, transform::apply_to_all};
use crate::{documentation::doc, nested::nested_of};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    Applied, ArgumentType, BoundHigherOrder, CHUNK_ELEMENTS, EvalContext, Lambda, Registry,
    ScalarTraits, sort_by,
};
use volley_types::{CustomOrder, Type, common_type};
use volley_vector::{Comparable, Decoded, Rows, ScalarBuffer, Values, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let compare = doc(
        "array_sort(array, (a, b) -> comparison) -> array",
        "The elements in the order that the lambda says: -1 when `a` comes before `b`, 0 when they \
         are equal, 1 when `a` comes after `b`; another value is an error. Elements can be null. \
         Equal elements keep their order.",
        "lambda",
        &[(
            "array_sort([3, 1, 2], (a, b) -> CASE WHEN a > b THEN -1 WHEN a < b THEN 1 ELSE 0 END)",
            "[3, 2, 1]",
        )],
    );
    let key = doc(
        "array_sort(array, x -> key) -> array",
        "The elements in ascending order of what the lambda makes of them, those with a null last. \
         Elements with equal keys keep their order.",
        "lambda",
        &[("array_sort(['ccc', 'a', 'bb'], x -> length(x))", "[a, bb, ccc]")],
    );
    for name in ["array_sort", "list_sort"] {
        registry.add_higher_order(name, compare.clone(), Arc::new(bind_by_comparison));
        registry.add_higher_order(name, key.clone(), Arc::new(bind_by_key));
    }
}

fn bind_by_comparison(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, ArgumentType::Lambda(lambda)] = args else { return None };
    let element = element_type(array)?;
    let is_whole = |it: &Type| common_type(it, &Type::BigInt) == Some(Type::BigInt);
    if lambda.parameters.len() != 2 || !lambda.result.as_ref().is_none_or(is_whole) {
        return None;
    }
    let array = Type::array(element.clone());
    let args = vec![
        ArgumentType::Value(array.clone()),
        ArgumentType::of_lambda([element.clone(), element], Some(Type::BigInt)),
    ];
    let traits = ScalarTraits::DEFAULT;
    Some(BoundHigherOrder::of_closure(args, array, traits, |rows, args, lambdas, to, ctx| {
        let arrays = Collections::new(&args[0])?;
        let elements = arrays.columns()?.remove(0);
        let mut sort = MergeSort::new(&arrays, &elements, rows, ctx)?;
        sort.run(lambdas[0], ctx)?;
        sorted(&arrays, rows, &elements, &sort.order, to)
    }))
}

fn bind_by_key(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, ArgumentType::Lambda(lambda)] = args else { return None };
    let element = element_type(array)?;
    let key = body_type(lambda);
    if lambda.parameters.len() != 1 || key.order() != CustomOrder::Ordered {
        return None;
    }
    let array = Type::array(element.clone());
    let args = vec![
        ArgumentType::Value(array.clone()),
        ArgumentType::of_lambda([element], lambda.result.clone()),
    ];
    let traits = ScalarTraits::INFALLIBLE;
    Some(BoundHigherOrder::of_closure(args, array, traits, move |rows, args, lambdas, to, ctx| {
        let arrays = Collections::new(&args[0])?;
        let keys = apply_to_all(&arrays, rows, lambdas[0], &key, false, ctx)?;
        let keys = Comparable::new(&keys)?;
        let (positions, ranges) = positions_of(&arrays, rows)?;
        let mut order: Vec<u32> = (0..positions.len() as u32).collect();
        for (_, range) in ranges {
            sort_by(&mut order[range], |a, b| keys.compare(*a as usize, &keys, *b as usize))?;
        }
        order.iter_mut().for_each(|it| *it = positions[*it as usize]);
        sorted(&arrays, rows, &arrays.columns()?[0], &order, to)
    }))
}

/// The position of the elements of the active rows, row after row, and for each row which of them
/// are its own.
fn positions_of(
    arrays: &Collections<'_>,
    rows: &Rows,
) -> Result<(Vec<u32>, Vec<(u32, Range<usize>)>)> {
    let (mut positions, mut ranges) = (Vec::new(), Vec::with_capacity(rows.count()));
    rows.try_for_each(|row| -> Result<()> {
        let start = positions.len();
        positions.extend(arrays.range(row)?.map(|it| it as u32));
        ranges.push((row as u32, start..positions.len()));
        Ok(())
    })?;
    Ok((positions, ranges))
}

/// The elements at `order`, row after row.
fn sorted(
    arrays: &Collections<'_>,
    rows: &Rows,
    elements: &Vector,
    order: &[u32],
    to: &Type,
) -> Result<Vector> {
    let nested = nested_of(arrays.sizes(rows)?, elements.select(order))?;
    Ok(Vector::flat(to.clone(), Values::Array(nested), None))
}

/// Arrays being sorted.
struct MergeSort<'a> {
    elements: &'a Vector,
    /// The position of the elements, row after row, in runs that are sorted.
    order: Vec<u32>,
    /// The rows that have not failed before this level, and which of `order` are theirs.
    rows: Vec<(u32, Range<usize>)>,
    /// One per row of the call.
    failed: Vec<bool>,
}

/// An element of a left run, which searches its place in the right run.
struct Search {
    owner: u32,
    /// Where it is in the order.
    at: u32,
    /// Where in the order its place is.
    low: u32,
    high: u32,
}

impl<'a> MergeSort<'a> {
    fn new(
        arrays: &Collections<'_>,
        elements: &'a Vector,
        rows: &Rows,
        ctx: &mut EvalContext,
    ) -> Result<MergeSort<'a>> {
        let count: usize = arrays.sizes(rows)?.iter().map(|it| *it as usize).sum();
        // Of each element its place, also while runs are merged; half of them search.
        ctx.charge(count * (2 * size_of::<u32>() + size_of::<Search>() / 2))?;
        let failed = vec![false; rows.len()];
        let (order, rows) = positions_of(arrays, rows)?;
        Ok(MergeSort { elements, order, rows, failed })
    }

    fn run(&mut self, lambda: &mut dyn Lambda, ctx: &mut EvalContext) -> Result<()> {
        let mut width = 1;
        while self.rows.iter().any(|(_, range)| range.len() > width) {
            let mut searches = self.searches(width);
            let mut active: Vec<u32> = (0..searches.len() as u32).collect();
            while !active.is_empty() {
                for chunk in active.chunks(CHUNK_ELEMENTS) {
                    self.halve(&mut searches, chunk, lambda, ctx)?;
                }
                active.retain(|it| {
                    let search = &searches[*it as usize];
                    search.low < search.high && !self.failed[search.owner as usize]
                });
            }
            self.merge(width, &searches);
            self.rows.retain(|(row, _)| !self.failed[*row as usize]);
            width *= 2;
        }
        Ok(())
    }

    /// The searches of all elements of left runs.
    fn searches(&self, width: usize) -> Vec<Search> {
        let mut searches = Vec::new();
        for (owner, range) in &self.rows {
            for (left, right) in pairs(range, width) {
                let (low, high) = (right.start as u32, right.end as u32);
                let new = left.map(|at| Search { owner: *owner, at: at as u32, low, high });
                searches.extend(new);
            }
        }
        searches
    }

    /// Compares the elements that search with those in the middle of where their places are.
    fn halve(
        &mut self,
        searches: &mut [Search],
        active: &[u32],
        lambda: &mut dyn Lambda,
        ctx: &mut EvalContext,
    ) -> Result<()> {
        let own = active.iter().map(|it| &searches[*it as usize]);
        let left: Vec<u32> = own.clone().map(|it| self.order[it.at as usize]).collect();
        let right: Vec<u32> = own.clone().map(|it| self.order[it.middle()]).collect();
        let owners: ScalarBuffer<u32> = own.map(|it| it.owner).collect::<Vec<_>>().into();
        let parameters = [self.elements.select(&left), self.elements.select(&right)];
        let rows = Rows::all(owners.len());
        let errors_before = ctx.errors.len();
        let applied = Applied { rows: &rows, parameters: &parameters, owners: &owners };
        let compared = lambda.evaluate(&applied, ctx)?;
        ctx.errors.rows().skip(errors_before).for_each(|row| self.failed[row] = true);
        let compared = Decoded::new(&compared)?;
        let values = compared.native::<i64>();
        for (row, index) in active.iter().enumerate() {
            let search = &mut searches[*index as usize];
            if self.failed[search.owner as usize] {
                continue;
            }
            let value = (!compared.is_null(row)).then(|| values[compared.index(row)]);
            match value {
                Some(1) => search.low = search.middle() as u32 + 1,
                Some(-1 | 0) => search.high = search.middle() as u32,
                _ => {
                    self.failed[search.owner as usize] = true;
                    ctx.fail(search.owner as usize, || not_a_comparison(value));
                }
            }
        }
        Ok(())
    }

    /// Merges runs, whose left elements have found their places.
    fn merge(&mut self, width: usize, searches: &[Search]) {
        let (mut searches, mut merged) = (searches.iter(), Vec::new());
        for (_, range) in &self.rows {
            for (left, right) in pairs(range, width) {
                merged.clear();
                let mut taken = right.start;
                for (at, search) in left.clone().zip(searches.by_ref()) {
                    let place = (search.low as usize).max(taken);
                    merged.extend_from_slice(&self.order[taken..place]);
                    merged.push(self.order[at]);
                    taken = place;
                }
                merged.extend_from_slice(&self.order[taken..right.end]);
                self.order[left.start..right.end].copy_from_slice(&merged);
            }
        }
    }
}

impl Search {
    fn middle(&self) -> usize {
        (self.low as usize + self.high as usize) / 2
    }
}

/// The runs of `width` elements that are merged with the next one, which may be shorter.
fn pairs(range: &Range<usize>, width: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let end = range.end;
    let starts = range.clone().step_by(2 * width).take_while(move |it| it + width < end);
    starts.map(move |it| (it..it + width, it + width..end.min(it + 2 * width)))
}

fn not_a_comparison(value: Option<i64>) -> Error {
    let value = value.map_or_else(|| "NULL".to_owned(), |it| it.to_string());
    Error::invalid_value(format!("lambda comparator must return either -1, 0, or 1: {value}"))
}
