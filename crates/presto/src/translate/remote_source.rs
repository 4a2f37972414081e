//! Pages of other fragments: RemoteSource nodes, and what fragments write for them.
//!
//! ```text
//! PARTIAL aggregation ── states of the engine's types ──> pages ──> RemoteSource ──> FINAL
//! ```
//!
//! Between workers of this engine, intermediate results of aggregations have the engine's types:
//! Presto's plan names others. The fragment that reads finds them by the aggregation above: it
//! notes the type of each state before it translates what is below. HUGEINT, which pages do not
//! have, is transferred as DECIMAL(38, 0).

use super::{
    Translator,
    relation::Relation,
    scan::{literal, one_row},
};
use crate::{
    json::{Json, Object},
    partition::{OutputPartitioning, PartitionFunction, PartitionKey},
    plan_json::{OrderingScheme, PartitioningHandle, Variable, class_of},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_plan::{FragmentId, PageSourceNode, PlanNode, PlanNodeId, TaskInputNode};
use volley_types::{DECIMAL_PRECISION_MAX, Field, Interval, Schema, Type, Value};

/// Intermediate results of aggregations, by variable.
#[derive(Default)]
pub(super) struct States {
    /// The types of states that aggregations above read.
    pub read: BTreeMap<String, Type>,
    /// Variables that hold states which aggregations below made.
    pub made: BTreeSet<String>,
}

/// A RemoteSource node of a fragment.
#[derive(Clone, Debug)]
pub(crate) struct TranslatedRemoteSource {
    /// The task input in the plan, or the page source; `None` if nothing reads it.
    pub node: Option<PlanNodeId>,
    pub order: RemoteOrder,
    /// The name of its first column, by which it is found in the plan.
    pub(super) name: String,
    /// The types of the columns in pages.
    pub types: Arc<[Type]>,
}

/// The order in which other tasks send their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteOrder {
    /// Any: the plan has a task input.
    Any,
    /// Each task sorts its rows: the plan has a page source that merges them.
    Sorted,
}

impl Translator<'_> {
    pub(super) fn remote_source(&mut self, node: &Object<'_>) -> Result<Relation> {
        let id: String = node.read("id")?;
        let variables: Vec<Variable> = node.read("outputVariables")?;
        let mut types = Vec::new();
        let mut states = Vec::new();
        for variable in &variables {
            let state = self.states.read.get(&variable.name).cloned();
            types.push(match &state {
                Some(state) => transfer_type(state),
                None => transferred(&variable.signature, self.parse_type(&variable.signature)?),
            });
            states.push(state);
        }
        let name = format!("remote source {id}");
        let mut schema: Schema = types.iter().cloned().map(|it| Field::new("", it)).collect();
        match schema.fields.first_mut() {
            Some(first) => first.name = name.clone(),
            // Rows without columns have one of nulls, so that they are counted.
            None => schema.fields.push(Field::new(name.clone(), Type::Boolean)),
        }
        let (types, names) = (types.into(), variables.iter().map(|it| it.name.clone()));
        let node_id = PlanNodeId::UNASSIGNED;
        let input = PlanNode::TaskInput(TaskInputNode { node_id, schema: schema.clone() });
        let mut relation = Relation::new(input, names.clone());
        let mut order = RemoteOrder::Any;
        if let Some(scheme) = node.read::<Option<OrderingScheme>>("orderingScheme")? {
            order = RemoteOrder::Sorted;
            let (merge, fragment) = (relation.sort_keys(&scheme)?, FragmentId(0));
            let input = PageSourceNode { node_id, fragment, output: 0, merge, schema };
            relation = Relation::new(PlanNode::PageSource(input), names);
        }
        self.remote_sources.insert(id, TranslatedRemoteSource { node: None, order, name, types });
        self.received(relation, &variables, states)
    }

    /// The variables with the types that they have in the engine.
    fn received(
        &self,
        relation: Relation,
        variables: &[Variable],
        states: Vec<Option<Type>>,
    ) -> Result<Relation> {
        let scope = self.scope(&relation)?;
        let mut columns = Vec::new();
        for (variable, state) in variables.iter().zip(states) {
            let column = relation.column(&variable.name)?;
            let column = match (state, variable.signature.as_str()) {
                (Some(state), _) => column.cast(state),
                (None, "interval day to second") => {
                    let milli = Interval { nanoseconds: 1_000_000, ..Interval::default() };
                    scope.function("multiply", vec![column, interval(milli)])?
                }
                (None, "interval year to month") => {
                    let month = Interval { months: 1, ..Interval::default() };
                    scope.function("multiply", vec![column.cast(Type::BigInt), interval(month)])?
                }
                (None, _) => column,
            };
            columns.push((variable.name.clone(), column));
        }
        drop(scope);
        Ok(relation.project(columns))
    }

    /// Notes which variables are states that an aggregation reads.
    pub(super) fn read_states(&mut self, states: impl Iterator<Item = (String, Type)>) {
        self.states.read.extend(states);
    }

    /// Notes that `to` are the values of `from`, where the variables above are known.
    pub(super) fn rename_read(&mut self, from: &str, to: &str) {
        if let Some(state) = self.states.read.get(to).cloned() {
            self.states.read.insert(from.to_owned(), state);
        }
    }

    /// Notes that `to` are the values of `from`, where the variables below are known.
    pub(super) fn rename_made(&mut self, from: &str, to: &str) {
        if self.states.made.contains(from) {
            self.states.made.insert(to.to_owned());
        }
    }

    /// The output partitioning of a fragment with columns `layout`.
    pub(super) fn output_partitioning(
        &self,
        scheme: &Object<'_>,
        layout: &[Variable],
    ) -> Result<OutputPartitioning> {
        let partitioning = scheme.json("partitioning").object("a partitioning")?;
        let handle: PartitioningHandle = partitioning.read("handle")?;
        if scheme.optional("hashColumn").is_some() {
            let error = Error::unsupported("hashes that the plan computes");
            return Err(error.hint("set optimizer.optimize-hash-generation=false"));
        }
        let function = match handle.connector_handle.function.as_deref() {
            Some("SINGLE" | "BROADCAST" | "UNKNOWN") => PartitionFunction::Single,
            Some("ROUND_ROBIN") => PartitionFunction::RoundRobin,
            Some("HASH") => {
                let arguments = partitioning.elements("arguments")?.into_iter();
                let keys = arguments.map(|it| self.partition_key(it, layout));
                PartitionFunction::Hash(keys.collect::<Result<_>>()?)
            }
            other => {
                let found = other.unwrap_or("of a connector");
                let error = Error::unsupported(format!("output partitioning {found}"));
                return Err(error.hint("set tpch.partitioning-enabled=false in the catalog tpch"));
            }
        };
        Ok(OutputPartitioning {
            function,
            bucket_to_partition: scheme.read("bucketToPartition")?,
            replicates_nulls_and_any: scheme
                .read::<Option<bool>>("replicateNullsAndAny")?
                .unwrap_or(false),
        })
    }

    fn partition_key(&self, json: Json<'_>, layout: &[Variable]) -> Result<PartitionKey> {
        let class = class_of(json, "a partitioning argument")?;
        if class == "constant" || class == "ConstantExpression" {
            let nothing = Relation::new(one_row(), []);
            let expr = self.scope(&nothing)?.expr(json)?;
            let constant = literal(&expr);
            let constant = constant.ok_or_else(|| Error::internal("a constant without a value"))?;
            return Ok(PartitionKey::Constant(constant, expr.data_type));
        }
        let variable: Variable = json.read("a partitioning argument")?;
        let position = layout.iter().position(|it| it.name == variable.name);
        let position = position.ok_or_else(|| {
            let message = format!("rows partitioned by {}, which is no output", variable.name);
            Error::invalid_value(message)
        })?;
        Ok(PartitionKey::Column(position))
    }
}

fn interval(value: Interval) -> Expr {
    Expr::constant(Value::Interval(value), Type::Interval)
}

/// The type of a column of pages that holds values of a type of Presto.
fn transferred(signature: &str, data_type: Type) -> Type {
    match signature {
        "interval day to second" => Type::BigInt,
        "interval year to month" => Type::Integer,
        _ => data_type,
    }
}

/// The type of a column of pages that holds intermediate results of this type.
pub(super) fn transfer_type(state: &Type) -> Type {
    match state {
        Type::HugeInt => Type::decimal(DECIMAL_PRECISION_MAX, 0),
        Type::Array(element) => Type::array(transfer_type(element)),
        Type::Map(entry) => Type::map(transfer_type(&entry.0), transfer_type(&entry.1)),
        Type::Row(fields) => Type::row(
            fields.iter().map(|it| Field::new(it.name.clone(), transfer_type(&it.data_type))),
        ),
        other => other.clone(),
    }
}
