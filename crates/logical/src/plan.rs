//! The logical plan.

use crate::{Column, ColumnId, Expr, TableRef, WindowCall};
use std::sync::Arc;
use volley_error::Span;
use volley_types::{Type, Value};

pub use volley_plan::{GeneratorKind, JoinKind};

/// A node of the logical plan. Bags of rows; only [`Plan::Sort`] orders them.
#[derive(Clone, Debug)]
pub enum Plan {
    /// A table.
    Scan {
        /// The table.
        table: TableRef,
        /// Its name or alias, for EXPLAIN.
        name: String,
        /// The columns read, and their positions in the table.
        columns: Vec<(Column, usize)>,
        /// Conjuncts pushed into the scan by the optimizer.
        filters: Vec<Expr>,
    },
    /// Literal rows. `SELECT 1` without FROM reads one row of no columns.
    Values {
        /// The columns.
        columns: Vec<Column>,
        /// The rows: one expression per column; without columns of an input, maybe correlated.
        rows: Vec<Vec<Expr>>,
    },
    /// Computes columns; returns only these.
    Project {
        /// Where rows come from.
        input: Box<Plan>,
        /// The columns and what they are; a plain column keeps its identity.
        exprs: Vec<(Column, Expr)>,
    },
    /// Keeps the rows for which all conjuncts are true.
    Filter {
        /// Where rows come from.
        input: Box<Plan>,
        /// BOOLEAN.
        conjuncts: Vec<Expr>,
    },
    /// Joins. Inner without conditions is the cross product.
    Join {
        /// Left input.
        left: Box<Plan>,
        /// Right input. May refer to columns of the left one when `lateral` (before unnesting).
        right: Box<Plan>,
        /// Left, Right, Full, Inner, LeftSemi, LeftAnti, LeftMark; "left" is `left` here.
        kind: JoinKind,
        /// Conjuncts on pairs.
        conditions: Vec<Expr>,
        /// LeftAnti or LeftMark made from NOT IN or IN: conjuncts that are null count as
        /// unknown, not as false.
        null_aware: bool,
        /// For LeftMark: the BOOLEAN column appended.
        mark: Option<Column>,
        /// Whether `right` may be correlated to `left`.
        lateral: bool,
    },
    /// Joins each left row with the nearest right row (ASOF JOIN).
    AsofJoin {
        /// Left input.
        left: Box<Plan>,
        /// Right input.
        right: Box<Plan>,
        /// Left, Right, Full, Inner, LeftSemi, LeftAnti.
        kind: JoinKind,
        /// Equalities of both sides, and one comparison, by which the nearest row is found.
        conditions: Vec<Expr>,
    },
    /// Groups and aggregates; returns keys, then aggregates. Without keys there is always one
    /// group.
    Aggregate {
        /// Where rows come from.
        input: Box<Plan>,
        /// The keys.
        keys: Vec<(Column, Expr)>,
        /// The aggregates; none for DISTINCT.
        aggregates: Vec<(Column, AggregateCall)>,
    },
    /// Repeats the rows for each of several grouping sets, under a [`Plan::Aggregate`] whose keys
    /// are columns made here. Returns the input's columns, then the keys, `id` and `present`.
    GroupId {
        /// Where rows come from.
        input: Box<Plan>,
        /// The keys of all sets: new columns, null in the rows for sets that lack them.
        keys: Vec<(Column, Expr)>,
        /// The sets.
        sets: Vec<GroupingSet>,
        /// BIGINT: the identity of the row's set.
        id: Column,
        /// BOOLEAN: true in rows of the input. Where there is such a column, each set without keys
        /// has one more row, in which everything is null but `id`: its group is always there.
        present: Option<Column>,
    },
    /// Computes window functions over partitions of rows in an order; returns the input's columns,
    /// then a column per call.
    Window {
        /// Where rows come from.
        input: Box<Plan>,
        /// Rows of one partition agree in these.
        partition_by: Vec<Expr>,
        /// The order within a partition.
        order_by: Vec<SortKey>,
        /// The calls.
        calls: Vec<(Column, WindowCall)>,
        /// Returns only rows whose value of this ranking call is at most that.
        limit: Option<(ColumnId, u64)>,
    },
    /// Sorts.
    Sort {
        /// Where rows come from.
        input: Box<Plan>,
        /// Most significant first.
        keys: Vec<SortKey>,
    },
    /// Skips `offset` rows, then keeps `limit` (all when `None`).
    Limit {
        /// Where rows come from.
        input: Box<Plan>,
        /// Rows skipped.
        offset: u64,
        /// Rows kept.
        limit: Option<u64>,
    },
    /// Of each group of rows with equal keys (null equals null), in an order, skips `offset` rows,
    /// then keeps `limit`. Made by unnesting: a LIMIT that holds per row of an outer query.
    GroupLimit {
        /// Where rows come from.
        input: Box<Plan>,
        /// Columns of the input.
        keys: Vec<ColumnId>,
        /// The order within a group; most significant first.
        order: Vec<SortKey>,
        /// Rows skipped, per group.
        offset: u64,
        /// Rows kept, per group.
        limit: Option<u64>,
    },
    /// UNION, INTERSECT, EXCEPT. Two inputs, or more for UNION ALL.
    SetOperation {
        /// Which one.
        operation: SetOperation,
        /// Keeps multiplicities.
        all: bool,
        /// The inputs, and for each the columns that feed the output columns, in order; types
        /// are those of `columns`.
        inputs: Vec<(Plan, Vec<ColumnId>)>,
        /// The output columns: new identities.
        columns: Vec<Column>,
    },
    /// A reference to a common table expression. Several references share one definition.
    CteRef {
        /// The definition.
        cte: Arc<Cte>,
        /// The output columns (new identities), one per column of the definition.
        columns: Vec<Column>,
    },
    /// WITH RECURSIVE: the rows of the anchor, then those that the step makes of the rows that came
    /// last, and so on until there are none.
    Recursive {
        /// Which recursion it is, within the statement.
        id: u32,
        /// The name of the common table expression, for EXPLAIN.
        name: String,
        /// UNION without ALL: a row that came before does not come again.
        distinct: bool,
        /// The positions of the columns of USING KEY: a row replaces the one with the same key.
        /// Empty without it.
        keys: Vec<usize>,
        /// Anchor and step, and for each the columns that feed the output columns, in order; types
        /// are those of `columns`.
        inputs: Vec<(Plan, Vec<ColumnId>)>,
        /// The output columns: new identities.
        columns: Vec<Column>,
    },
    /// In the step of a recursion: the rows that came last, or the last row of each key.
    WorkingTable {
        /// Which recursion; with [`RECURRING`], the last row of each key.
        id: u32,
        /// The name of the common table expression, for EXPLAIN.
        name: String,
        /// The output columns (new identities), one per column of the recursion.
        columns: Vec<Column>,
    },
    /// Exactly one row: the input's, or nulls; an error when there are two.
    SingleRow {
        /// Where rows come from.
        input: Box<Plan>,
        /// The subquery in the text.
        span: Option<Span>,
    },
    /// Keeps some of the rows, by chance.
    Sample {
        /// Where rows come from.
        input: Box<Plan>,
        /// Which ones.
        method: SampleMethod,
        /// Chooses the same rows again of rows that come in the same order.
        seed: Option<u64>,
    },
    /// Appends a BIGINT column of distinct values.
    UniqueId {
        /// Where rows come from.
        input: Box<Plan>,
        /// The new column.
        column: Column,
    },
    /// Returns each row once for every row that its generators produce, next to each other; shorter
    /// generators are padded with nulls. Returns the input's columns, those of the generators, and
    /// the ordinality.
    Unnest {
        /// Where rows come from.
        input: Box<Plan>,
        /// What makes rows of each row.
        generators: Vec<Generator>,
        /// A BIGINT that counts what is made of each row, from 1.
        ordinality: Option<Column>,
        /// Whether an input row that generates no row is returned once, with nulls.
        outer: bool,
    },
}

/// Makes rows of one row.
#[derive(Clone, Debug)]
pub struct Generator {
    /// What the rows are.
    pub kind: GeneratorKind,
    /// What they are made of, see [`GeneratorKind`]. A null makes no rows.
    pub args: Vec<Expr>,
    /// The columns made: a key and a value of a MAP, one of all else.
    pub columns: Vec<Column>,
}

/// What [`Plan::column_refs`] still has to visit.
enum Part<'a> {
    Node(&'a Plan),
    Column(&'a Column),
}

/// How a sample is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleMethod {
    /// Each row with this probability.
    Rows(f64),
    /// Each batch of rows with this probability.
    Batches(f64),
    /// This number of rows, or all if there are fewer; every such set is equally likely.
    Count(u64),
}

/// One of several lists of keys that rows are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupingSet {
    /// Its identity among the sets of a node.
    pub id: i64,
    /// Which of the node's keys it has: positions, ascending.
    pub keys: Vec<usize>,
}

/// A common table expression.
#[derive(Debug)]
pub struct Cte {
    /// Identity within the statement.
    pub id: u32,
    /// Its name, for EXPLAIN.
    pub name: String,
    /// The definition; it does not depend on outer columns.
    pub plan: Plan,
    /// Written `AS MATERIALIZED`: never inlined.
    pub materialized: bool,
}

/// A set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperation {
    /// Rows of either.
    Union,
    /// Rows of both.
    Intersect,
    /// Rows of the first that the second lacks.
    Except,
}

/// An aggregate function call.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The registered name.
    pub function: String,
    /// Arguments, cast to the types that the registry resolved; `count(*)` has none.
    pub args: Vec<Expr>,
    /// Only distinct argument rows count.
    pub distinct: bool,
    /// FILTER (WHERE ...): BOOLEAN.
    pub filter: Option<Expr>,
    /// ORDER BY within the call.
    pub order_by: Vec<SortKey>,
    /// Which part of the work it does.
    pub step: CallStep,
    /// The type of what it makes: results, or intermediate results.
    pub data_type: Type,
    /// Its position in the text.
    pub span: Option<Span>,
}

/// Which part of an aggregation a call does. The calls of a node all make results, or are all
/// [`CallStep::Partial`], or all [`CallStep::Merge`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CallStep {
    /// Arguments to results.
    #[default]
    Complete,
    /// Arguments to intermediate results. A group may be returned several times.
    Partial,
    /// Intermediate results, the only argument, to fewer of them: every group is returned once. The
    /// types of the arguments behind them.
    Merge(Vec<Type>),
    /// Intermediate results, the only argument, to results; the types of the arguments behind them.
    Final(Vec<Type>),
}

/// One key of an order.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// What is compared.
    pub expr: Expr,
    /// Largest first.
    pub descending: bool,
    /// Nulls before all values.
    pub nulls_first: bool,
}

impl Plan {
    /// The output columns of the node, in order.
    pub fn columns(&self) -> Vec<Column> {
        self.column_refs().into_iter().cloned().collect()
    }

    /// The output columns of the node, in order. Linear in the nodes that pass columns on and in
    /// the columns.
    pub fn column_refs(&self) -> Vec<&Column> {
        let mut columns = Vec::new();
        // The last is the next: inputs and, after the inputs of a join, its mark.
        let mut rest = vec![Part::Node(self)];
        while let Some(part) = rest.pop() {
            match part {
                Part::Column(column) => columns.push(column),
                Part::Node(node) => node.add_own(&mut columns, &mut rest),
            }
        }
        columns
    }

    /// Adds the columns that the node defines itself, or what is to be visited for its columns.
    fn add_own<'a>(&'a self, columns: &mut Vec<&'a Column>, rest: &mut Vec<Part<'a>>) {
        match self {
            Plan::Scan { columns: own, .. } => columns.extend(own.iter().map(|it| &it.0)),
            Plan::Values { columns: own, .. }
            | Plan::SetOperation { columns: own, .. }
            | Plan::Recursive { columns: own, .. }
            | Plan::WorkingTable { columns: own, .. }
            | Plan::CteRef { columns: own, .. } => columns.extend(own),
            Plan::Project { exprs, .. } => columns.extend(exprs.iter().map(|it| &it.0)),
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::GroupLimit { input, .. }
            | Plan::Sample { input, .. }
            | Plan::SingleRow { input, .. } => rest.push(Part::Node(input)),
            Plan::Join { left, right, kind, mark, .. } => {
                rest.extend(mark.as_ref().map(Part::Column));
                if kind.has_build_columns() {
                    rest.push(Part::Node(right));
                }
                if kind.has_probe_columns() {
                    rest.push(Part::Node(left));
                }
            }
            Plan::AsofJoin { left, right, kind, .. } => {
                if kind.has_build_columns() {
                    rest.push(Part::Node(right));
                }
                rest.push(Part::Node(left));
            }
            Plan::Aggregate { keys, aggregates, .. } => {
                columns.extend(keys.iter().map(|it| &it.0));
                columns.extend(aggregates.iter().map(|it| &it.0));
            }
            Plan::UniqueId { input, column } => {
                rest.extend([Part::Column(column), Part::Node(input)]);
            }
            Plan::Unnest { input, generators, ordinality, .. } => {
                rest.extend(ordinality.as_ref().map(Part::Column));
                let made = generators.iter().flat_map(|it| &it.columns);
                rest.extend(made.rev().map(Part::Column));
                rest.push(Part::Node(input));
            }
            Plan::GroupId { input, keys, id, present, .. } => {
                rest.extend(present.iter().map(Part::Column));
                rest.push(Part::Column(id));
                rest.extend(keys.iter().rev().map(|it| Part::Column(&it.0)));
                rest.push(Part::Node(input));
            }
            Plan::Window { input, calls, .. } => {
                rest.extend(calls.iter().rev().map(|it| Part::Column(&it.0)));
                rest.push(Part::Node(input));
            }
        }
    }

    /// One row of no columns: what `SELECT` without FROM reads.
    pub fn one_row() -> Plan {
        Plan::Values { columns: Vec::new(), rows: vec![Vec::new()] }
    }

    /// The node's inputs.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::Scan { .. }
            | Plan::Values { .. }
            | Plan::CteRef { .. }
            | Plan::WorkingTable { .. } => Vec::new(),
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::GroupId { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::GroupLimit { input, .. }
            | Plan::SingleRow { input, .. }
            | Plan::Sample { input, .. }
            | Plan::UniqueId { input, .. }
            | Plan::Unnest { input, .. } => vec![input],
            Plan::Join { left, right, .. } | Plan::AsofJoin { left, right, .. } => {
                vec![left, right]
            }
            Plan::SetOperation { inputs, .. } | Plan::Recursive { inputs, .. } => {
                inputs.iter().map(|it| &it.0).collect()
            }
        }
    }

    /// The node's inputs, to change.
    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Plan::Scan { .. }
            | Plan::Values { .. }
            | Plan::CteRef { .. }
            | Plan::WorkingTable { .. } => Vec::new(),
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::GroupId { input, .. }
            | Plan::Window { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::GroupLimit { input, .. }
            | Plan::SingleRow { input, .. }
            | Plan::Sample { input, .. }
            | Plan::UniqueId { input, .. }
            | Plan::Unnest { input, .. } => vec![input],
            Plan::Join { left, right, .. } | Plan::AsofJoin { left, right, .. } => {
                vec![left, right]
            }
            Plan::SetOperation { inputs, .. } | Plan::Recursive { inputs, .. } => {
                inputs.iter_mut().map(|it| &mut it.0).collect()
            }
        }
    }

    /// The node's own expressions (not those of its inputs).
    pub fn exprs(&self) -> Vec<&Expr> {
        match self {
            Plan::Scan { filters, .. } => filters.iter().collect(),
            Plan::Values { rows, .. } => rows.iter().flatten().collect(),
            Plan::Project { exprs, .. } | Plan::GroupId { keys: exprs, .. } => {
                exprs.iter().map(|it| &it.1).collect()
            }
            Plan::Filter { conjuncts, .. } => conjuncts.iter().collect(),
            Plan::Join { conditions, .. } | Plan::AsofJoin { conditions, .. } => {
                conditions.iter().collect()
            }
            Plan::Aggregate { keys, aggregates, .. } => {
                let calls = aggregates.iter().flat_map(|it| it.1.exprs());
                keys.iter().map(|it| &it.1).chain(calls).collect()
            }
            Plan::Window { partition_by, order_by, calls, .. } => {
                let order = order_by.iter().map(|it| &it.expr);
                let calls = calls.iter().flat_map(|it| it.1.exprs());
                partition_by.iter().chain(order).chain(calls).collect()
            }
            Plan::Sort { keys, .. } | Plan::GroupLimit { order: keys, .. } => {
                keys.iter().map(|it| &it.expr).collect()
            }
            Plan::Unnest { generators, .. } => generators.iter().flat_map(|it| &it.args).collect(),
            _ => Vec::new(),
        }
    }

    /// The node's own expressions, to change.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Plan::Scan { filters, .. } => filters.iter_mut().collect(),
            Plan::Values { rows, .. } => rows.iter_mut().flatten().collect(),
            Plan::Project { exprs, .. } | Plan::GroupId { keys: exprs, .. } => {
                exprs.iter_mut().map(|it| &mut it.1).collect()
            }
            Plan::Filter { conjuncts, .. } => conjuncts.iter_mut().collect(),
            Plan::Join { conditions, .. } | Plan::AsofJoin { conditions, .. } => {
                conditions.iter_mut().collect()
            }
            Plan::Aggregate { keys, aggregates, .. } => {
                let calls = aggregates.iter_mut().flat_map(|it| it.1.exprs_mut());
                keys.iter_mut().map(|it| &mut it.1).chain(calls).collect()
            }
            Plan::Window { partition_by, order_by, calls, .. } => {
                let order = order_by.iter_mut().map(|it| &mut it.expr);
                let calls = calls.iter_mut().flat_map(|it| it.1.exprs_mut());
                partition_by.iter_mut().chain(order).chain(calls).collect()
            }
            Plan::Sort { keys, .. } | Plan::GroupLimit { order: keys, .. } => {
                keys.iter_mut().map(|it| &mut it.expr).collect()
            }
            Plan::Unnest { generators, .. } => {
                generators.iter_mut().flat_map(|it| &mut it.args).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl AggregateCall {
    /// Arguments, filter and order.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order_by.iter().map(|it| &it.expr);
        self.args.iter().chain(&self.filter).chain(order)
    }

    /// Arguments, filter and order, to change.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order_by.iter_mut().map(|it| &mut it.expr);
        self.args.iter_mut().chain(&mut self.filter).chain(order)
    }
}

impl Default for Plan {
    /// [`Plan::one_row`], so that a plan can be taken out of its place.
    fn default() -> Plan {
        Plan::one_row()
    }
}

impl Plan {
    /// The rows of a [`Plan::Values`] node whose expressions are all constant.
    pub fn constant_rows(&self) -> Option<Vec<Vec<Value>>> {
        let Plan::Values { rows, .. } = self else { return None };
        let value = |expr: &Expr| match &expr.kind {
            crate::ExprKind::Constant(value) => Some(value.clone()),
            _ => None,
        };
        rows.iter().map(|row| row.iter().map(value).collect()).collect()
    }
}

/// The bit in the identity of a working table that stands for the last row of each key of a
/// recursion, instead of the rows that came last.
pub const RECURRING: u32 = 1 << 30;
