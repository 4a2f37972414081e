//! Lowers the logical plan to plan nodes: columns become positions.
//!
//! Top down, a node is given the *required* columns. Bottom up, it returns a [`Lowered`]: the node,
//! and the position of each column in its output. Renaming and dropping columns needs no node:
//! positions that are not required have no name. They are projected away before rows are stored:
//! below sorts, exchanges, unions and on the build side of joins.

mod expr;
mod relation;
mod join;
mod merge_join;
mod range_join;

pub(crate) use join::as_key;
mod aggregate;
pub(crate) use aggregate::DISTINCT_GROUPS_MAX;
mod distinct;
mod grouping_sets;
mod set_operation;
mod sort;
mod unnest;
mod window;
mod recursive;

use crate::expr::ColumnSet;
use crate::stack::deep;
use crate::{Estimator, OptimizerContext};
use recursive::Recursions;
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Cte, Expr, Plan};
use volley_plan::{PlanNode, PlanNodeId, PlanWalk, ProjectNode, SpoolNode, Visit};
use volley_types::{Field, Schema};

/// Turns a plan without subqueries and lateral joins into plan nodes. The root returns exactly the
/// plan's columns, in order, under their names. All nodes have ids.
///
/// # Errors
///
/// Internal, when the plan uses a column that it does not make, or was not optimized.
pub fn lower(plan: &Plan, ctx: &OptimizerContext<'_>) -> Result<Arc<PlanNode>> {
    let lowered = lower_noting(plan, ctx, None)?;
    Ok(PlanNode::numbered(lowered.0))
}

/// As [`lower`]; also how many rows the nodes are estimated to make. A node that is one of several
/// for the same part of the logical plan has no estimate.
///
/// # Errors
///
/// As [`lower`].
pub fn lower_with_estimates(
    plan: &Plan,
    ctx: &OptimizerContext<'_>,
) -> Result<(Arc<PlanNode>, Vec<(PlanNodeId, f64)>)> {
    let of_plans = Estimator::rows_of_all(plan, ctx);
    let (node, noted) =
        lower_noting(plan, ctx, Some(NotedRows { of_plans, of_nodes: HashMap::new() }))?;
    // Numbering copies nodes, in the same order.
    let of_nodes = noted.map(|it| it.of_nodes).unwrap_or_default();
    let walk = PlanWalk::new(&node);
    let rows = |it: &Visit<'_>| of_nodes.get(&std::ptr::from_ref(it.node)).map(|it| it.1);
    let mut by_visit: Vec<Option<f64>> = walk.visits.iter().map(rows).collect();
    complete_estimates(&walk, &mut by_visit);
    drop(walk);
    drop(of_nodes);
    let node = PlanNode::numbered(node);
    let ids = node.walk().into_iter().map(|it| it.node.id());
    let estimates = ids.zip(by_visit).filter_map(|(id, rows)| Some((id, rows?))).collect();
    Ok((node, estimates))
}

/// Estimates nodes that stand for no part of the logical plan of their own: some emit the rows of
/// their inputs, and the first step of an aggregation has about the groups of the last.
fn complete_estimates(walk: &PlanWalk<'_>, rows: &mut [Option<f64>]) {
    for (position, visit) in walk.visits.iter().enumerate() {
        let PlanNode::Aggregation(_) = visit.node else { continue };
        let (mut below, groups) = (position, rows[position]);
        while walk.inputs(below) == 1 {
            below = walk.input(below, 0);
            match walk.visits.get(below).map(|it| it.node) {
                Some(PlanNode::LocalExchange(_) | PlanNode::Exchange(_)) => {}
                Some(PlanNode::Aggregation(_)) => {
                    rows[below] = rows[below].or(groups);
                    break;
                }
                _ => break,
            }
        }
    }
    for (position, visit) in walk.visits.iter().enumerate().rev() {
        let keeps = matches!(
            visit.node,
            PlanNode::Project(_) | PlanNode::LocalExchange(_) | PlanNode::Exchange(_)
        );
        if keeps && walk.inputs(position) == 1 && rows[position].is_none() {
            rows[position] = rows.get(walk.input(position, 0)).copied().flatten();
        }
    }
}

/// The plan without ids, and what was noted of its nodes.
fn lower_noting(
    plan: &Plan,
    ctx: &OptimizerContext<'_>,
    noted: Option<NotedRows>,
) -> Result<(Arc<PlanNode>, Option<NotedRows>)> {
    let mut lowering = Lowering {
        ctx,
        references: HashMap::new(),
        shared: HashMap::new(),
        estimator: Estimator::new(ctx),
        recursions: Recursions::default(),
        exchange_keys: None,
        noted,
    };
    lowering.count_references(plan);
    let columns = plan.columns();
    let required = columns.iter().map(|it| it.id).collect();
    let lowered = lowering.plan(plan, &required)?.named(&columns)?;
    // The rest of it holds nodes, which numbering would have to copy.
    Ok((lowered, lowering.noted))
}

struct Lowering<'a> {
    ctx: &'a OptimizerContext<'a>,
    /// How often each common table expression is referenced.
    references: HashMap<u32, usize>,
    /// Those lowered so far.
    shared: HashMap<u32, (Arc<PlanNode>, Vec<Column>)>,
    estimator: Estimator,
    recursions: Recursions,
    /// By what the window that is lowered next spreads its rows, where it is not its partitions.
    exchange_keys: Option<Vec<Expr>>,
    noted: Option<NotedRows>,
}

/// Estimated rows.
struct NotedRows {
    /// By the address of the logical plan.
    of_plans: HashMap<*const Plan, f64>,
    /// By the address of the node. Holds the nodes, so that no address is used twice.
    of_nodes: HashMap<*const PlanNode, (Arc<PlanNode>, f64)>,
}

/// A node, and where each column is in its output.
#[derive(Clone)]
struct Lowered {
    node: Arc<PlanNode>,
    columns: Vec<(Column, usize)>,
}

impl Lowering<'_> {
    fn count_references(&mut self, plan: &Plan) {
        let mut rest = vec![plan];
        while let Some(plan) = rest.pop() {
            rest.extend(plan.inputs());
            if let Plan::CteRef { cte, .. } = plan {
                let references = self.references.entry(cte.id).or_default();
                *references += 1;
                if *references == 1 {
                    rest.push(&cte.plan);
                }
            }
        }
    }

    fn plan(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let lowered = deep(|| self.plan_node(plan, required))?;
        if let Some(noted) = &mut self.noted
            && let Some(rows) = noted.of_plans.get(&std::ptr::from_ref(plan))
        {
            let node = Arc::clone(&lowered.node);
            noted.of_nodes.insert(Arc::as_ptr(&node), (node, *rows));
        }
        Ok(lowered)
    }

    fn plan_node(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        match plan {
            Plan::Scan { .. } => self.scan(plan, required),
            Plan::Values { columns, rows } => self.values(columns, rows),
            Plan::Project { input, exprs } => self.project(input, exprs, required),
            Plan::Filter { input, conjuncts } => self.filter(input, conjuncts, required),
            Plan::Join { .. } => self.join(plan, required),
            Plan::AsofJoin { .. } => self.asof_join(plan, required),
            Plan::Aggregate { .. } => self.aggregate(plan, required),
            Plan::GroupId { .. } => self.group_id(plan, required),
            Plan::Window { .. } => self.window(plan, required),
            Plan::Sort { input, keys } => self.sort(input, keys, required),
            Plan::Limit { input, offset, limit } => self.limit(input, *offset, *limit, required),
            Plan::GroupLimit { .. } => self.group_limit(plan, required),
            Plan::SetOperation { .. } => self.set_operation(plan, required),
            Plan::CteRef { .. } => self.cte_ref(plan),
            Plan::Sample { input, method, seed } => self.sample(input, *method, *seed, required),
            Plan::Recursive { .. } => self.recursive(plan),
            Plan::WorkingTable { .. } => self.working_table(plan),
            Plan::SingleRow { input, span } => self.single_row(input, *span, required),
            Plan::UniqueId { input, column } => self.unique_id(input, column, required),
            Plan::Unnest { .. } => self.unnest(plan, required),
        }
    }

    fn cte_ref(&mut self, plan: &Plan) -> Result<Lowered> {
        let Plan::CteRef { cte, columns } = plan else { return Err(not_this_node()) };
        if let Some(kept) = self.kept_rows(cte, columns)? {
            return Ok(kept);
        }
        self.cte_node(cte, columns)
    }

    /// The definition of a common table expression, lowered with its first reference.
    fn cte_node(&mut self, cte: &Cte, columns: &[Column]) -> Result<Lowered> {
        if !self.shared.contains_key(&cte.id) {
            let made = cte.plan.columns();
            let required = made.iter().map(|it| it.id).collect();
            let lowered = self.plan(&cte.plan, &required)?.exactly(&made)?;
            let node = if self.references.get(&cte.id).is_some_and(|it| *it > 1) {
                let id = self.recursions.shared_id(cte.id);
                Arc::new(PlanNode::Spool(SpoolNode {
                    node_id: PlanNodeId::UNASSIGNED,
                    id,
                    input: lowered,
                }))
            } else {
                lowered
            };
            self.recursions.note_lowered(cte.id);
            self.shared.insert(cte.id, (node, made));
        }
        let Some((node, _)) = self.shared.get(&cte.id) else { return Err(not_this_node()) };
        let columns = columns.iter().cloned().zip(0..).collect();
        Ok(Lowered { node: node.clone(), columns })
    }
}

impl Lowered {
    /// A node whose columns are all named, in order.
    fn new(node: PlanNode, columns: impl IntoIterator<Item = Column>) -> Lowered {
        let columns = columns.into_iter().zip(0..).collect();
        Lowered { node: Arc::new(node), columns }
    }

    /// A node that returns the columns of its input, at their positions.
    fn same_columns(node: PlanNode, columns: Vec<(Column, usize)>) -> Lowered {
        Lowered { node: Arc::new(node), columns }
    }

    fn position(&self, id: ColumnId) -> Result<usize> {
        let found = self.columns.iter().find(|it| it.0.id == id);
        found
            .map(|it| it.1)
            .ok_or_else(|| Error::internal(format!("the plan does not make column {id}")))
    }

    /// The position of every column.
    fn positions(&self) -> HashMap<ColumnId, usize> {
        self.columns.iter().rev().map(|(column, position)| (column.id, *position)).collect()
    }

    fn width(&self) -> usize {
        self.node.schema().len()
    }

    /// Names only the required columns.
    fn narrowed(mut self, required: &ColumnSet) -> Lowered {
        self.columns.retain(|it| required.contains(&it.0.id));
        self
    }

    /// A node that returns exactly these columns, under these names.
    fn named(&self, columns: &[Column]) -> Result<Arc<PlanNode>> {
        let node = self.exactly(columns)?;
        if *node.schema() == schema_of(columns) {
            return Ok(node);
        }
        self.projected(columns)
    }

    /// A node that returns exactly these columns, under any names.
    fn exactly(&self, columns: &[Column]) -> Result<Arc<PlanNode>> {
        let positions = self.positions();
        let in_place = columns.len() == self.width()
            && columns.iter().zip(0..).all(|(column, at)| positions.get(&column.id) == Some(&at));
        if in_place { Ok(self.node.clone()) } else { self.projected(columns) }
    }

    fn projected(&self, columns: &[Column]) -> Result<Arc<PlanNode>> {
        let positions = self.positions();
        let mut exprs = Vec::with_capacity(columns.len());
        for column in columns {
            let position = *positions.get(&column.id).ok_or_else(|| self.lacks(column))?;
            exprs.push(volley_expression::Expr::column(position, column.data_type.clone()));
        }
        let (input, schema) = (self.node.clone(), schema_of(columns));
        Ok(Arc::new(PlanNode::Project(ProjectNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            exprs,
            schema,
        })))
    }

    fn lacks(&self, column: &Column) -> Error {
        Error::internal(format!("the plan does not make column {}{}", column.name, column.id))
    }

    /// The same without the columns that are not required, for what stores rows.
    fn packed(self, required: &ColumnSet) -> Result<Lowered> {
        let mut columns: Vec<Column> = Vec::new();
        for (column, _) in &self.columns {
            let is_new = columns.iter().all(|it| it.id != column.id);
            if required.contains(&column.id) && is_new {
                columns.push(column.clone());
            }
        }
        if columns.len() == self.width() {
            return Ok(self);
        }
        let node = self.exactly(&columns)?;
        Ok(Lowered { node, columns: columns.into_iter().zip(0..).collect() })
    }
}

/// The names and types of columns.
fn schema_of<'a>(columns: impl IntoIterator<Item = &'a Column>) -> Schema {
    columns.into_iter().map(|it| Field::new(it.name.clone(), it.data_type.clone())).collect()
}

fn not_this_node() -> Error {
    Error::internal("a plan node was lowered by the function of another one")
}
