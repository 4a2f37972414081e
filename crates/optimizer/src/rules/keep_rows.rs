//! Runs subplans of a recursive step once if they do not depend on the iteration.
//!
//! ```text
//! Recursive                     Recursive
//!   anchor                        anchor
//!   Join                          Join
//!     WorkingTable                  WorkingTable
//!     Filter                        CteRef kept
//!       Scan                          Filter
//!                                       Scan
//! ```
//!
//! Lowering reads such a reference from rows that the recursion keeps (`lowering/recursive.rs`).

use super::share_subplans::repeats;
use crate::OptimizerContext;
use crate::columns::{for_each_node, fresh_copy, rewrite_up};
use crate::stack::deep;
use std::sync::Arc;
use volley_error::Result;
use volley_logical::{Cte, Plan, RECURRING};

/// Makes references of the largest parts of steps that are the same in all iterations.
pub(super) fn keep_rows(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let (mut next_cte, mut is_recursive) = (0, false);
    for_each_node(&plan, &mut |node| match node {
        Plan::CteRef { cte, .. } => next_cte = next_cte.max(cte.id.saturating_add(1)),
        Plan::Recursive { .. } => is_recursive = true,
        _ => {}
    });
    if !is_recursive {
        return Ok(plan);
    }
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |mut node| {
            if let Plan::Recursive { id, inputs, .. } = &mut node
                && let Some((step, _)) = inputs.get_mut(1)
            {
                keep_in(step, *id, &mut next_cte, ctx);
            }
            Ok(node)
        })
    })
}

fn keep_in(plan: &mut Plan, recursion: u32, next_cte: &mut u32, ctx: &OptimizerContext<'_>) {
    deep(|| {
        if matches!(plan, Plan::Values { .. } | Plan::CteRef { .. } | Plan::WorkingTable { .. }) {
            return;
        }
        if reads_working_table(plan, |it| it == recursion) || !repeats(plan, ctx) {
            let inputs = plan.inputs_mut();
            return inputs.into_iter().for_each(|it| keep_in(it, recursion, next_cte, ctx));
        }
        let columns = plan.columns();
        let (definition, _) = fresh_copy(plan, ctx.column_ids);
        let (id, name) = (*next_cte, "kept".to_owned());
        *next_cte += 1;
        let cte = Arc::new(Cte { id, name, plan: definition, materialized: true });
        *plan = Plan::CteRef { cte, columns };
    });
}

/// Whether a plan reads the rows that came last of a recursion that is one of these.
pub(crate) fn reads_working_table(plan: &Plan, is_one: impl Fn(u32) -> bool) -> bool {
    let mut found = false;
    for_each_node(plan, &mut |node| {
        found |= matches!(node, Plan::WorkingTable { id, .. } if is_one(*id & !RECURRING));
    });
    found
}

/// Whether a plan reads the last row of each key of a recursion.
pub(crate) fn reads_recurring(plan: &Plan, recursion: u32) -> bool {
    let mut found = false;
    for_each_node(plan, &mut |node| {
        found |= matches!(node, Plan::WorkingTable { id, .. } if *id == recursion | RECURRING);
    });
    found
}
