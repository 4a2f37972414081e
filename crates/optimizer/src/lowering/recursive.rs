//! Recursions.
//!
//! A step is a plan of its own, which runs again for every iteration. If a common table expression
//! in it depends on the rows of the last iteration, it is part of the step. Otherwise it is lowered
//! outside and runs once, and the step reads its rows from the recursion.

use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::ColumnSet;
use crate::rules::{reads_recurring, reads_working_table};
use std::collections::HashMap;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Cte, Plan, RECURRING};
use volley_plan::{LoopInvariant, PlanNode, PlanNodeId, RecursiveUnionNode, WorkingTableNode};

/// The first identity of shared subplans within steps: beyond those of common table expressions.
const SHARED_IN_STEP: u32 = 1 << 31;

/// The recursions whose steps are being lowered.
#[derive(Default)]
pub(super) struct Recursions {
    /// Outermost first.
    open: Vec<Recursion>,
    next_working: u32,
    next_shared: u32,
}

struct Recursion {
    /// In the logical plan.
    logical: u32,
    /// In the plan.
    id: u32,
    kept: Vec<LoopInvariant>,
    /// The position of a common table expression in `kept`.
    kept_ctes: HashMap<u32, usize>,
    /// Common table expressions that were lowered within the step.
    lowered: Vec<u32>,
}

impl Recursions {
    fn next_id(&mut self) -> u32 {
        self.next_working += 1;
        self.next_working - 1
    }

    /// The identity of the shared subplan that a common table expression becomes.
    pub(super) fn shared_id(&mut self, cte: u32) -> u32 {
        if self.open.is_empty() {
            return cte;
        }
        self.next_shared += 1;
        SHARED_IN_STEP + self.next_shared
    }

    /// Notes that a common table expression was lowered in the current step, of which its nodes are
    /// part.
    pub(super) fn note_lowered(&mut self, cte: u32) {
        self.open.last_mut().into_iter().for_each(|it| it.lowered.push(cte));
    }

    /// The number of open recursions up to the innermost one whose working table a plan reads.
    fn depth_of(&self, plan: &Plan) -> usize {
        let reads = |it: &Recursion| reads_working_table(plan, |id| id == it.logical);
        self.open.iter().rposition(reads).map_or(0, |it| it + 1)
    }
}

impl Lowering<'_> {
    pub(super) fn recursive(&mut self, plan: &Plan) -> Result<Lowered> {
        let Plan::Recursive { id: logical, distinct, keys, inputs, columns, .. } = plan else {
            return Err(not_this_node());
        };
        let [anchor, step] = inputs.as_slice() else { return Err(not_this_node()) };
        let reads_all = reads_recurring(&step.0, *logical);
        let anchor = self.fed(anchor, columns)?;
        let id = self.recursions.next_id();
        self.recursions.open.push(Recursion {
            logical: *logical,
            id,
            kept: Vec::new(),
            kept_ctes: HashMap::new(),
            lowered: Vec::new(),
        });
        let step = self.fed(step, columns);
        let closed = self.recursions.open.pop();
        let closed = closed.ok_or_else(|| Error::internal("a recursion was closed twice"))?;
        for cte in closed.lowered {
            self.shared.remove(&cte);
        }
        let node = PlanNode::RecursiveUnion(RecursiveUnionNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            anchor,
            step: step?,
            kept: closed.kept,
            distinct: *distinct,
            keys: keys.clone(),
            reads_all,
            schema: schema_of(columns),
        });
        Ok(Lowered::new(node, columns.iter().cloned()))
    }

    /// The anchor or the step of a recursion, with exactly the output columns of the recursion.
    fn fed(
        &mut self,
        (plan, feeds): &(Plan, Vec<ColumnId>),
        columns: &[Column],
    ) -> Result<Arc<PlanNode>> {
        let required: ColumnSet = feeds.iter().copied().collect();
        let lowered = self.plan(plan, &required)?;
        let feed =
            |(column, feed): (&Column, &ColumnId)| Ok((column.clone(), lowered.position(*feed)?));
        let fed = columns.iter().zip(feeds).map(feed).collect::<Result<_>>()?;
        Lowered { node: lowered.node, columns: fed }.exactly(columns)
    }

    pub(super) fn working_table(&mut self, plan: &Plan) -> Result<Lowered> {
        let Plan::WorkingTable { id, name, columns } = plan else { return Err(not_this_node()) };
        let found = self.recursions.open.iter().rfind(|it| it.logical == *id & !RECURRING);
        let found = found.ok_or_else(|| Error::internal("a working table outside of its step"))?;
        let id = found.id | *id & RECURRING;
        let (name, schema) = (name.clone(), schema_of(columns));
        let node = PlanNode::WorkingTable(WorkingTableNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            name,
            schema,
        });
        Ok(Lowered::new(node, columns.iter().cloned()))
    }

    /// A reference in a step to what does not depend on its iterations; `None` when it does, or is
    /// in no step.
    pub(super) fn kept_rows(&mut self, cte: &Cte, columns: &[Column]) -> Result<Option<Lowered>> {
        let depth = self.recursions.depth_of(&cte.plan);
        let Some(outermost) = self.recursions.open.get(depth) else { return Ok(None) };
        let place = match outermost.kept_ctes.get(&cte.id) {
            Some(place) => *place,
            None => self.keep(cte, depth)?,
        };
        let kept = self.recursions.open.get(depth).and_then(|it| it.kept.get(place));
        let id = kept.ok_or_else(not_this_node)?.id;
        let (name, schema) = (cte.name.clone(), schema_of(columns));
        let node = PlanNode::WorkingTable(WorkingTableNode {
            node_id: PlanNodeId::UNASSIGNED,
            id,
            name,
            schema,
        });
        Ok(Some(Lowered::new(node, columns.iter().cloned())))
    }

    /// Lowers what the step of the recursion at `depth`, and those within it, read again and again.
    fn keep(&mut self, cte: &Cte, depth: usize) -> Result<usize> {
        let inner = self.recursions.open.split_off(depth);
        let made = cte.plan.columns();
        let lowered = self.cte_node(cte, &made);
        self.recursions.open.extend(inner);
        let input = lowered?.exactly(&made)?;
        let id = self.recursions.next_id();
        let Some(outermost) = self.recursions.open.get_mut(depth) else {
            return Err(not_this_node());
        };
        outermost.kept.push(LoopInvariant { id, input });
        outermost.kept_ctes.insert(cte.id, outermost.kept.len() - 1);
        Ok(outermost.kept.len() - 1)
    }
}
