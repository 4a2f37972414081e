//! Builds plans without SQL.

mod aggregate;
mod columns;
mod custom;
mod join;
mod sub;
mod unnest;
mod window;
#[cfg(test)]
mod tests;

pub use columns::Columns;

use crate::{
    ExchangeKind, ExchangeNode, FilterNode, LimitNode, LocalExchangeNode, OrderByNode, PlanNode,
    PlanNodeId, ProjectNode, Routing, SortKey, SpoolNode, TableHandle, TableScanNode, TaskCount,
    TaskInputNode, TopNNode, UnionNode, UniqueIdNode, ValuesNode,
    nodes::{EnforceSingleRowNode, GroupLimitNode, RepeatNode, SampleMethod, SampleNode},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, SourceSpan};
use volley_function::Registry;
use volley_types::{Field, Schema, Type, Value};

/// Builds a plan node by node, from its sources up.
///
/// Columns are given by name (the first one of that name, ignoring case) or by position, as `#0`.
/// The registry resolves functions and adds casts. The builder keeps the first error;
/// [`PlanBuilder::build`] returns it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use volley_function::Registry;
/// use volley_plan::PlanBuilder;
/// use volley_types::{Type, Value};
///
/// let rows = (0..4).map(|it| vec![Value::BigInt(it), Value::text("x")]).collect();
/// let plan = PlanBuilder::new(&Arc::new(Registry::new()))
///     .values(&[("id", Type::BigInt), ("name", Type::Varchar)], rows)
///     .project(|c| Ok(vec![("name", c.column("name")?), ("id", c.column("#0")?)]))
///     .order_by(&["name", "id desc nulls first"])
///     .limit(0, 2)
///     .build()?;
/// assert_eq!(
///     plan.to_string(),
///     "\
/// Limit 2
///   OrderBy #0, #1 desc nulls first
///     Project #1 as name, #0 as id
///       Values (0, x), (1, x), (2, x), ... 4 rows
/// "
/// );
/// # Ok::<(), volley_error::Error>(())
/// ```
#[derive(Clone)]
pub struct PlanBuilder {
    registry: Arc<Registry>,
    /// The plan so far; no node before the source.
    node: Result<Option<Arc<PlanNode>>>,
}

impl PlanBuilder {
    /// An empty plan; `registry` has the functions that expressions call.
    pub fn new(registry: &Arc<Registry>) -> PlanBuilder {
        PlanBuilder { registry: Arc::clone(registry), node: Ok(None) }
    }

    /// Goes on from a plan that is there already.
    pub fn from_plan(registry: &Arc<Registry>, plan: Arc<PlanNode>) -> PlanBuilder {
        PlanBuilder { registry: Arc::clone(registry), node: Ok(Some(plan)) }
    }

    /// The plan, with ids.
    ///
    /// # Errors
    ///
    /// The first thing that was wrong: an unknown column or function, types that do not fit, no
    /// source.
    pub fn build(self) -> Result<Arc<PlanNode>> {
        self.unnumbered().map(PlanNode::numbered)
    }

    /// The plan, whose nodes may have no ids.
    pub(crate) fn unnumbered(self) -> Result<Arc<PlanNode>> {
        self.node?.ok_or_else(no_source)
    }

    /// The columns of the plan so far.
    ///
    /// # Errors
    ///
    /// As [`PlanBuilder::build`].
    pub fn schema(&self) -> Result<Schema> {
        let node = self.node.as_ref().map_err(Error::clone)?.as_ref();
        node.map(|it| it.schema().clone()).ok_or_else(no_source)
    }

    /// Replaces the plan by what `f` makes of it.
    fn wrap(self, f: impl FnOnce(Arc<PlanNode>, Arc<Registry>) -> Result<PlanNode>) -> PlanBuilder {
        let registry = Arc::clone(&self.registry);
        let node = self.unnumbered().and_then(|it| f(it, Arc::clone(&registry)));
        PlanBuilder { registry, node: node.map(|it| Some(Arc::new(it))) }
    }

    fn source(self, node: PlanNode) -> PlanBuilder {
        let node = match self.node {
            Ok(None) => Ok(Some(Arc::new(node))),
            Ok(Some(_)) => Err(Error::invalid_query("a source above another node")),
            Err(error) => Err(error),
        };
        PlanBuilder { registry: self.registry, node }
    }

    /// Starts with literal rows.
    pub fn values(self, columns: &[(&str, Type)], rows: Vec<Vec<Value>>) -> PlanBuilder {
        let fields = columns.iter().map(|(name, data_type)| Field::new(*name, data_type.clone()));
        let schema = fields.collect();
        self.source(PlanNode::Values(ValuesNode { node_id: PlanNodeId::UNASSIGNED, rows, schema }))
    }

    /// Starts with rows that are pushed into the running task.
    pub fn task_input(self, schema: Schema) -> PlanBuilder {
        let node_id = PlanNodeId::UNASSIGNED;
        self.source(PlanNode::TaskInput(TaskInputNode { node_id, schema }))
    }

    /// Starts with columns of a table whose columns are `schema`.
    pub fn scan(self, table: TableHandle, schema: &Schema, columns: &[&str]) -> PlanBuilder {
        self.scan_filtered(table, schema, columns, |_| Ok(Vec::new()))
    }

    /// Like [`PlanBuilder::scan`], but only returns rows that satisfy all filters. Filters may use
    /// columns of the table that are not returned.
    pub fn scan_filtered(
        self,
        table: TableHandle,
        schema: &Schema,
        columns: &[&str],
        filters: impl FnOnce(&Columns) -> Result<Vec<Expr>>,
    ) -> PlanBuilder {
        let scope = Columns::new(schema, &self.registry);
        let node = scope.positions(columns).and_then(|columns| {
            let filters = filters(&scope)?;
            let schema = columns.iter().map(|it| schema.fields[*it].clone()).collect();
            Ok(PlanNode::TableScan(TableScanNode {
                node_id: PlanNodeId::UNASSIGNED,
                dynamic_filters: Vec::new(),
                table,
                columns,
                filters,
                schema,
            }))
        });
        match node {
            Ok(node) => self.source(node),
            Err(error) => PlanBuilder { registry: self.registry, node: self.node.and(Err(error)) },
        }
    }

    /// Keeps the rows for which a predicate is true.
    pub fn filter(self, predicate: impl FnOnce(&Columns) -> Result<Expr>) -> PlanBuilder {
        self.wrap(|input, registry| {
            let predicate = predicate(&Columns::new(input.schema(), &registry))?;
            Ok(PlanNode::Filter(FilterNode { node_id: PlanNodeId::UNASSIGNED, input, predicate }))
        })
    }

    /// Computes named columns.
    pub fn project<'a>(
        self,
        columns: impl FnOnce(&Columns) -> Result<Vec<(&'a str, Expr)>>,
    ) -> PlanBuilder {
        self.wrap(|input, registry| {
            let columns = columns(&Columns::new(input.schema(), &registry))?;
            let fields = columns.iter().map(|(name, it)| Field::new(*name, it.data_type.clone()));
            let schema = fields.collect();
            let exprs = columns.into_iter().map(|it| it.1).collect();
            Ok(PlanNode::Project(ProjectNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                exprs,
                schema,
            }))
        })
    }

    /// Sorts. A key is a column, then optionally `desc`, then optionally `nulls first`.
    pub fn order_by(self, keys: &[&str]) -> PlanBuilder {
        self.wrap(|input, registry| {
            let keys = sort_keys(&Columns::new(input.schema(), &registry), keys)?;
            Ok(PlanNode::OrderBy(OrderByNode { node_id: PlanNodeId::UNASSIGNED, input, keys }))
        })
    }

    /// Sorts, skips `offset` rows and keeps `limit`.
    pub fn top_n(self, keys: &[&str], offset: u64, limit: u64) -> PlanBuilder {
        self.wrap(|input, registry| {
            let keys = sort_keys(&Columns::new(input.schema(), &registry), keys)?;
            Ok(PlanNode::TopN(TopNNode {
                node_id: PlanNodeId::UNASSIGNED,
                dynamic_filter: None,
                input,
                keys,
                offset,
                limit,
            }))
        })
    }

    /// Skips `offset` rows and keeps `limit`.
    pub fn limit(self, offset: u64, limit: u64) -> PlanBuilder {
        self.wrap(|input, _| {
            Ok(PlanNode::Limit(LimitNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                offset,
                limit: Some(limit),
            }))
        })
    }

    /// Skips `rows` rows.
    pub fn offset(self, rows: u64) -> PlanBuilder {
        self.wrap(|input, _| {
            Ok(PlanNode::Limit(LimitNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                offset: rows,
                limit: None,
            }))
        })
    }

    /// Skips `offset` rows and keeps `limit` of each run of rows with equal `keys`.
    pub fn group_limit(self, keys: &[&str], offset: u64, limit: Option<u64>) -> PlanBuilder {
        self.wrap(|input, registry| {
            let keys = Columns::new(input.schema(), &registry).positions(keys)?;
            Ok(PlanNode::GroupLimit(GroupLimitNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                keys,
                offset,
                limit,
            }))
        })
    }

    /// Repeats each row as often as the last column says, and drops that column.
    pub fn repeat(self) -> PlanBuilder {
        self.wrap(|input, _| {
            let mut schema = input.schema().clone();
            schema.fields.pop();
            Ok(PlanNode::Repeat(RepeatNode { node_id: PlanNodeId::UNASSIGNED, input, schema }))
        })
    }

    /// Keeps rows by chance, or appends a column of random numbers called `random`.
    pub fn sample(self, method: SampleMethod, seed: Option<u64>) -> PlanBuilder {
        self.wrap(|input, _| {
            let mut schema = input.schema().clone();
            let number = method == SampleMethod::Number;
            schema.fields.extend(number.then(|| Field::new("random", Type::BigInt)));
            Ok(PlanNode::Sample(SampleNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                method,
                seed,
                schema,
            }))
        })
    }

    /// Adds the rows of other plans with the same column types.
    pub fn union(self, others: Vec<PlanBuilder>) -> PlanBuilder {
        self.wrap(|first, _| {
            let schema = first.schema().clone();
            let others = others.into_iter().map(PlanBuilder::unnumbered);
            let inputs: Vec<_> = std::iter::once(Ok(first)).chain(others).collect::<Result<_>>()?;
            if inputs.iter().any(|it| !it.schema().types().eq(schema.types())) {
                return Err(Error::invalid_query("a union of different column types"));
            }
            Ok(PlanNode::Union(UnionNode { node_id: PlanNodeId::UNASSIGNED, inputs, schema }))
        })
    }

    /// Appends a column of distinct integers.
    pub fn unique_id(self, name: &str) -> PlanBuilder {
        self.wrap(|input, _| {
            let mut schema = input.schema().clone();
            schema.fields.push(Field::new(name, Type::BigInt));
            Ok(PlanNode::UniqueId(UniqueIdNode { node_id: PlanNodeId::UNASSIGNED, input, schema }))
        })
    }

    /// Fails on a second row, and makes a row of nulls of no row.
    pub fn enforce_single_row(self) -> PlanBuilder {
        self.wrap(|input, _| {
            let place = SourceSpan::default();
            Ok(PlanNode::EnforceSingleRow(EnforceSingleRowNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                place,
            }))
        })
    }

    /// Brings all rows to one driver.
    pub fn gather(self) -> PlanBuilder {
        self.exchange(|_| Ok(ExchangeKind::Gather))
    }

    /// Spreads batches over all drivers.
    pub fn round_robin(self) -> PlanBuilder {
        self.exchange(|_| Ok(ExchangeKind::RoundRobin))
    }

    /// Spreads rows over all drivers, those with equal `keys` to the same one.
    pub fn partition(self, keys: &[&str]) -> PlanBuilder {
        self.exchange(|columns| Ok(ExchangeKind::Hash(columns.positions(keys)?)))
    }

    fn exchange(self, kind: impl FnOnce(&Columns) -> Result<ExchangeKind>) -> PlanBuilder {
        self.wrap(|input, registry| {
            let kind = kind(&Columns::new(input.schema(), &registry))?;
            Ok(PlanNode::LocalExchange(LocalExchangeNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                kind,
            }))
        })
    }

    /// Moves rows between tasks; the plan so far is run by `senders`.
    pub fn exchange_tasks(
        self,
        senders: TaskCount,
        routing: impl FnOnce(&Columns) -> Result<Routing>,
    ) -> PlanBuilder {
        self.wrap(|input, registry| {
            let routing = routing(&Columns::new(input.schema(), &registry))?;
            let node_id = PlanNodeId::UNASSIGNED;
            Ok(PlanNode::Exchange(ExchangeNode { node_id, input, senders, routing }))
        })
    }

    /// Marks the plan so far as one that runs once, though several plans read it: clone the builder
    /// after this call. `id` is different for each such plan.
    pub fn shared(self, id: u32) -> PlanBuilder {
        self.wrap(|input, _| {
            Ok(PlanNode::Spool(SpoolNode { node_id: PlanNodeId::UNASSIGNED, id, input }))
        })
    }
}

fn no_source() -> Error {
    Error::invalid_query("a plan without a source")
}

fn sort_keys(columns: &Columns, keys: &[&str]) -> Result<Vec<SortKey>> {
    keys.iter().map(|it| sort_key(columns, it)).collect()
}

/// Reads `name [desc] [nulls first]`.
fn sort_key(columns: &Columns, text: &str) -> Result<SortKey> {
    let (rest, nulls_first) = match text.strip_suffix(" nulls first") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (name, descending) = match rest.strip_suffix(" desc") {
        Some(name) => (name, true),
        None => (rest, false),
    };
    Ok(SortKey { column: columns.position(name)?, descending, nulls_first })
}
