//! Drops rows before they are sorted that cannot be the first one of their group.
//!
//! ```text
//! group  order              best of group 7
//!   7      5   passes              5
//!   7      9   dropped             5
//!   7      5   passes: a tie       5
//!   7      2   passes              2
//! ```
//!
//! Each driver remembers the best row of some groups: as many as there are slots, one group per
//! slot, the last one that came. A group that lost its slot begins anew, so that a row is dropped
//! only if a better one of its group has passed. Rows of null groups, and rows of a null order,
//! always pass.

use crate::nested_loop_join::ordered_integers;
use std::collections::HashMap;
use volley_error::Result;
use volley_exec::{Lowering, OperatorContext, Transform};
use volley_memory::Reservation;
use volley_plan::{GroupLimitNode, PlanNode, PlanNodeId, PlanWalk};
use volley_types::Type;
use volley_vector::{Batch, Decoded, Rows, Vector};

/// Groups that are remembered at most; a power of two.
const SLOTS: usize = 1 << 17;

/// Rows after which it is known whether dropping pays.
const TRIED_ROWS: u64 = 1 << 16;

/// Dropping pays if fewer than this many of four rows pass.
const PASSED_OF_FOUR_MAX: u64 = 3;

/// The counter of rows that were dropped.
pub(super) const DROPPED: &str = "rows behind the first";

/// The column of the groups and that of their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstRowsOf {
    group: usize,
    order: usize,
    descending: bool,
}

/// The sorts of a plan whose rows are cut to the first one of each group.
#[derive(Debug, Default)]
pub(crate) struct FirstRowSorts(HashMap<PlanNodeId, FirstRowsOf>);

/// Finds the sorts of a plan.
pub(crate) fn find(plan: &PlanWalk<'_>, cx: &mut Lowering) {
    let found = plan.visits.iter().filter_map(|visit| match visit.node {
        PlanNode::GroupLimit(node) => Some((node.input.id(), FirstRowsOf::of(node)?)),
        _ => None,
    });
    let found: HashMap<_, _> = found.collect();
    if !found.is_empty() {
        *cx.state() = FirstRowSorts(found);
    }
}

impl FirstRowSorts {
    /// What is left of the rows of the sort that is lowered.
    pub(crate) fn of_node(cx: &mut Lowering) -> Option<FirstRowsOf> {
        let node = cx.node();
        cx.state::<FirstRowSorts>().0.get(&node).copied()
    }
}

impl FirstRowsOf {
    /// For groups of one column of integers that keep only their first row in the order of another
    /// column of numbers.
    fn of(limit: &GroupLimitNode) -> Option<FirstRowsOf> {
        let PlanNode::OrderBy(sort) = &*limit.input else { return None };
        let &[group] = limit.keys.as_slice() else { return None };
        if limit.limit != Some(1) || limit.offset > 0 || sort.keys.first()?.column != group {
            return None;
        }
        let order = sort.keys.iter().find(|it| it.column != group)?;
        let types: Vec<&Type> = sort.input.schema().types().collect();
        let is_integer = |it: &Type| {
            matches!(
                it,
                Type::TinyInt
                    | Type::SmallInt
                    | Type::Integer
                    | Type::BigInt
                    | Type::Date
                    | Type::Timestamp
            )
        };
        let is_ordered = |it: &Type| is_integer(it) || matches!(it, Type::Real | Type::Double);
        let fits = is_integer(types.get(group)?) && is_ordered(types.get(order.column)?);
        let (order, descending) = (order.column, order.descending);
        fits.then_some(FirstRowsOf { group, order, descending })
    }
}

/// A group, and the best place in its order so far; less is better.
#[derive(Clone, Copy)]
struct Slot {
    group: i64,
    best: i64,
}

/// The slots of a driver.
struct Slots {
    slots: Vec<Slot>,
    _charge: Reservation,
}

/// Passes the rows that may be the first ones of their groups.
pub(crate) struct FirstRows {
    of: FirstRowsOf,
    /// `None` without memory for them, and where few rows are dropped: then all rows pass.
    slots: Option<Slots>,
    /// Made with the first batch.
    is_begun: bool,
    rows: u64,
    passed: u64,
    cx: OperatorContext,
}

impl FirstRows {
    pub(crate) fn new(of: FirstRowsOf, cx: &OperatorContext) -> FirstRows {
        FirstRows { of, slots: None, is_begun: false, rows: 0, passed: 0, cx: cx.clone() }
    }

    fn begin(&mut self) {
        self.is_begun = true;
        let mut charge = self.cx.pool.reservation();
        if charge.grow(SLOTS * size_of::<Slot>()).is_ok() {
            // No row is dropped by the greatest integer.
            let slots = vec![Slot { group: 0, best: i64::MAX }; SLOTS];
            self.slots = Some(Slots { slots, _charge: charge });
        }
    }

    /// The rows of a batch that pass.
    fn passing(&mut self, batch: Batch) -> Result<Batch> {
        let Some(Slots { slots, .. }) = &mut self.slots else { return Ok(batch) };
        let group = batch.column(self.of.group).loaded()?;
        let order = batch.column(self.of.order).loaded()?;
        let (Some(groups), Some(places)) = (ordered_integers(&group)?, ordered_integers(&order)?)
        else {
            return Ok(batch);
        };
        let (group, order) = (nulls(&group)?, nulls(&order)?);
        let mut passing = Vec::with_capacity(batch.rows());
        for (row, (value, place)) in groups.into_iter().zip(places).enumerate() {
            let place = if self.of.descending { !place } else { place };
            let is_null = group.get(row) == Some(&true) || order.get(row) == Some(&true);
            let slot = slots.get_mut(slot_of(value));
            if is_null || slot.is_none_or(|it| it.take(value, place)) {
                passing.push(row);
            }
        }
        self.rows += batch.rows() as u64;
        self.passed += passing.len() as u64;
        self.cx.metrics.add(DROPPED, (batch.rows() - passing.len()) as u64);
        if self.rows >= TRIED_ROWS && self.passed * 4 >= self.rows * PASSED_OF_FOUR_MAX {
            self.slots = None;
        }
        Ok(match passing.len() == batch.rows() {
            true => batch,
            false => batch.select(&Rows::from_indices(batch.rows(), passing)),
        })
    }
}

impl Slot {
    /// Whether a row of a group passes, which is remembered then.
    fn take(&mut self, group: i64, place: i64) -> bool {
        if self.group == group && self.best < place {
            return false;
        }
        *self = Slot { group, best: place };
        true
    }
}

/// The slot of a group: neighboring groups have different ones.
fn slot_of(group: i64) -> usize {
    let bits = (group as u64) ^ (group as u64 >> SLOTS.ilog2());
    bits as usize & (SLOTS - 1)
}

/// Whether each value is null; empty if none is.
fn nulls(column: &Vector) -> Result<Vec<bool>> {
    let decoded = Decoded::new(column)?;
    if !decoded.has_nulls() {
        return Ok(Vec::new());
    }
    Ok((0..column.len()).map(|row| decoded.is_null(row)).collect())
}

impl Transform for FirstRows {
    fn name(&self) -> &'static str {
        "first rows"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        if !self.is_begun {
            self.begin();
        }
        Ok(Some(self.passing(batch)?).filter(|it| it.rows() > 0))
    }
}
