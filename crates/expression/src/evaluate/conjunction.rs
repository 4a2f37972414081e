//! AND and OR.
//!
//! Arguments run in an order that is learned ([`AdaptiveOrder`]): cheap ones that decide many rows
//! come first. Each runs only on the rows that no earlier one decided. A row that failed in one
//! argument and is decided by another has not failed.

use super::{Evaluator, Frame, boolean_vector};
use crate::{
    adaptive_order::AdaptiveOrder,
    marks::{Mark, hit},
    merge::truth,
    node::{Conjunction, NodeId},
};
use std::time::Instant;
use volley_error::Result;
use volley_function::RowErrors;
use volley_vector::{Rows, Vector};

impl Evaluator<'_> {
    /// The arguments in the order to run in.
    fn begin_conjunction(&mut self, node: NodeId, conjunction: &Conjunction) -> Vec<usize> {
        let (order, args) = (&mut self.states[node].conjunction, conjunction.args.len());
        if order.len() != args {
            *order = AdaptiveOrder::new(args);
        }
        if order.is_changed() {
            hit(Mark::Reordered);
        }
        (0..args).map(|it| order.at(it)).collect()
    }

    fn record(
        &mut self,
        node: NodeId,
        arg: usize,
        started: Option<Instant>,
        (rows_in, rows_out): (&Rows, &Rows),
    ) {
        let order = &mut self.states[node].conjunction;
        order.record(arg, started, rows_in.count(), rows_out.count());
    }

    /// The three-valued value: errors and nulls stay in rows that no argument decides.
    pub(super) fn conjunction(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        conjunction: &Conjunction,
        rows: &Rows,
    ) -> Result<Vector> {
        let before = self.ctx.errors.take();
        let result = self.undecided(frame, node, conjunction, rows);
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        let (open, mut nulls) = result?;
        self.add_errors(errors, &open);
        nulls.intersect(&open);
        let mut is_true = open;
        if conjunction.decides {
            let undecided = std::mem::replace(&mut is_true, rows.clone());
            is_true.subtract(&undecided);
        }
        Ok(boolean_vector(&is_true, &nulls))
    }

    /// The rows that no argument decides, and those that are null for one.
    fn undecided(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        conjunction: &Conjunction,
        rows: &Rows,
    ) -> Result<(Rows, Rows)> {
        let mut open = rows.clone();
        let mut nulls = Rows::none(rows.len());
        for arg in self.begin_conjunction(node, conjunction) {
            if open.is_empty() {
                hit(Mark::ShortCut);
                break;
            }
            let started = self.states[node].conjunction.start();
            let (vector, valid) = self.evaluate_valid(frame, conjunction.args[arg], &open)?;
            let (is_true, null_rows) = truth(&vector, &valid)?;
            let mut decided = is_true;
            if !conjunction.decides {
                let mut is_false = valid.into_owned();
                is_false.subtract(&decided);
                is_false.subtract(&null_rows);
                decided = is_false;
            }
            nulls.union(&null_rows);
            let rows_in = open.clone();
            open.subtract(&decided);
            self.record(node, arg, started, (&rows_in, &open));
        }
        self.states[node].conjunction.end_batch();
        Ok((open, nulls))
    }

    /// The rows for which every argument is true (or failed, when no other is false or null).
    pub(super) fn select_and(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        conjunction: &Conjunction,
        rows: &Rows,
    ) -> Result<Rows> {
        let before = self.ctx.errors.take();
        let result = self.all_true(frame, node, conjunction, rows);
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        let mut selected = result?;
        if !errors.is_empty() {
            let failed = Rows::from_indices(rows.len(), errors.rows());
            self.add_errors(errors, &selected);
            selected.subtract(&failed);
        }
        Ok(selected)
    }

    fn all_true(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        conjunction: &Conjunction,
        rows: &Rows,
    ) -> Result<Rows> {
        let mut open = rows.clone();
        for arg in self.begin_conjunction(node, conjunction) {
            if open.is_empty() {
                hit(Mark::ShortCut);
                break;
            }
            let started = self.states[node].conjunction.start();
            let errors = self.ctx.errors.len();
            let mut kept = self.select(frame, conjunction.args[arg], &open)?;
            if let Some(failed) = self.failed_since(errors, rows.len()) {
                kept.union(&failed);
            }
            self.record(node, arg, started, (&open, &kept));
            open = kept;
        }
        self.states[node].conjunction.end_batch();
        Ok(open)
    }

    /// The rows for which some argument is true.
    pub(super) fn select_or(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        conjunction: &Conjunction,
        rows: &Rows,
    ) -> Result<Rows> {
        let before = self.ctx.errors.take();
        let mut open = rows.clone();
        let result = self.none_true(frame, node, conjunction, &mut open);
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        result?;
        self.add_errors(errors, &open);
        let mut selected = rows.clone();
        selected.subtract(&open);
        Ok(selected)
    }

    /// Leaves in `open` the rows for which no argument is true.
    fn none_true(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        conjunction: &Conjunction,
        open: &mut Rows,
    ) -> Result<()> {
        for arg in self.begin_conjunction(node, conjunction) {
            if open.is_empty() {
                hit(Mark::ShortCut);
                break;
            }
            let started = self.states[node].conjunction.start();
            let selected = self.select(frame, conjunction.args[arg], open)?;
            let rows_in = open.clone();
            open.subtract(&selected);
            self.record(node, arg, started, (&rows_in, open));
        }
        self.states[node].conjunction.end_batch();
        Ok(())
    }

    /// Records those of `errors` whose rows are in `rows`.
    fn add_errors(&mut self, mut errors: RowErrors, rows: &Rows) {
        if errors.is_empty() {
            return;
        }
        errors.retain(rows);
        self.ctx.errors.append(errors, |row| row);
    }
}
