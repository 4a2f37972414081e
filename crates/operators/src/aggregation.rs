//! Groups and aggregates.
//!
//! ```text
//! batch ── keys ──> GroupTable ── group of each row ──┐
//!       └─ arguments ── filter ── distinct ── order ──┴──> states in the groups' rows
//! end   ── groups, some at a time ──> keys, results
//! ```
//!
//! Rows of aggregates that collect (array_agg) and of those with an ORDER BY of their own
//! are kept as columns; at the end they are sorted by group, or added in their order (see `kept`).
//!
//! Where the groups of a last step outgrow the caches, rows wait in partitions: see
//! `radix_partitions`; where they outgrow the memory, they are written to a file per partition: see
//! `spilled_groups`.
//!
//! A partial aggregation hands its groups on early when they take too much memory, and stops
//! grouping when the table does not reduce: then rows pass as groups of one row, made without
//! states where functions know how, or, where neighbors have equal keys, run by run: see
//! `partial`.

mod accumulator;
mod spilled_groups;
mod buffered_rows;
mod grouping;
mod operator;
mod outside;
mod partial;
mod runs;
mod radix_partitions;
mod lower;
#[cfg(test)]
mod one_group_tests;
#[cfg(test)]
mod spill_tests;
#[cfg(test)]
mod radix_tests;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use accumulator::{AccumulatorSpec, collected};
use volley_error::Result;
use volley_function::{AggregateFunction, AggregateKind};
use volley_plan::AggregateStep;
use volley_state::spill::can_spill;
use volley_types::Type;

/// What all drivers of an aggregation know.
struct AggregationSpec {
    step: AggregateStep,
    /// Key columns of the input.
    keys: Vec<usize>,
    key_types: Vec<Type>,
    aggregates: Vec<AccumulatorSpec>,
}

impl AggregationSpec {
    /// Whether groups can be taken out of their table and put in again, and rows added in any
    /// order.
    fn can_spread(&self) -> bool {
        let folds = |it: &AccumulatorSpec| {
            let in_any_order = !it.bound.order_sensitive && it.order_by.is_empty();
            in_any_order && !it.collects() && !it.distinct
        };
        !self.step.repeats_groups()
            && !self.keys.is_empty()
            // They would be copied again and again.
            && !self.states_grow()
            && self.aggregates.iter().all(folds)
    }

    /// Whether some states hold all values of their groups.
    fn states_grow(&self) -> bool {
        self.aggregates.iter().any(|it| it.bound.over_rows.is_some())
    }

    /// Whether groups can be written to disk and merged later.
    fn can_spill(&self) -> bool {
        let state_types = |it: &AccumulatorSpec| match it.has_rows() {
            true => it.row_types(self.step),
            false => vec![it.bound.intermediate.clone()],
        };
        let states = self.aggregates.iter().flat_map(state_types);
        let types: Vec<Type> = self.key_types.iter().cloned().chain(states).collect();
        !self.step.repeats_groups()
            && !self.keys.is_empty()
            && self.aggregates.iter().all(AccumulatorSpec::can_replay)
            && can_spill(&types)
            && can_spill(&self.result_types())
    }

    /// The aggregates whose groups cannot be merged without rows of their own.
    fn with_rows(&self) -> Vec<usize> {
        (0..self.aggregates.len()).filter(|it| self.aggregates[*it].has_rows()).collect()
    }

    /// The others, whose states stand for their rows.
    fn without_rows(&self) -> impl Iterator<Item = (usize, &AccumulatorSpec)> {
        self.aggregates.iter().enumerate().filter(|it| !it.1.has_rows())
    }

    /// The types of the output columns.
    fn result_types(&self) -> Vec<Type> {
        let result = |it: &AccumulatorSpec| match self.step.finishes() {
            true => it.bound.result.clone(),
            false => it.bound.intermediate.clone(),
        };
        self.key_types.iter().cloned().chain(self.aggregates.iter().map(result)).collect()
    }

    /// The function of an aggregate that folds rows when they come.
    fn folding(&self, index: usize) -> Result<&dyn AggregateFunction> {
        match self.aggregates.get(index).map(|it| &it.bound.function) {
            Some(AggregateKind::Folding(function)) => Ok(function.as_ref()),
            _ => Err(collected()),
        }
    }
}
