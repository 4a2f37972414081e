//! Aggregations.

use super::{
    Translator,
    function_call::function_name,
    group_id::INPUT_ROW,
    reduce_agg::{Fold, REDUCE_AGG, is_hidden},
    relation::{Computed, Relation, unnamed},
};
use crate::{
    json::{Json, Object},
    plan_json::{FunctionHandle, GroupingSets, OrderingScheme, Step, Variable, variable_name},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, SourceSpan};
use volley_function::BoundAggregate;
use volley_plan::{
    Aggregate, AggregateStep, AggregationNode, ExchangeKind, LocalExchangeNode, PlanNode,
    PlanNodeId,
};
use volley_types::{Field, Schema, Type};

/// The aggregates of a node, as they are translated.
pub(super) struct Calls {
    pub(super) computed: Computed,
    pub(super) step: AggregateStep,
    pub(super) aggregates: Vec<Aggregate>,
    /// The variable of each, with the type that Presto gives it.
    pub(super) variables: Vec<(String, Type)>,
    pub(super) fields: Vec<Field>,
    pub(super) folds: Vec<Fold>,
}

impl Translator<'_> {
    pub(super) fn aggregation(&mut self, node: &Object<'_>) -> Result<Relation> {
        match node.read::<Step>("step")? {
            Step::Single | Step::Final => self.shared(|it| it.any_aggregation(node)),
            Step::Partial | Step::Intermediate => self.any_aggregation(node),
        }
    }

    fn any_aggregation(&mut self, node: &Object<'_>) -> Result<Relation> {
        if matches!(node.read::<Step>("step")?, Step::Intermediate | Step::Final) {
            self.note_read_states(node)?;
        }
        let source = self.relation(node.json("source"))?;
        let step = match node.read::<Step>("step")? {
            Step::Single => AggregateStep::Single,
            Step::Partial => AggregateStep::Partial,
            Step::Intermediate => AggregateStep::Intermediate,
            Step::Final => AggregateStep::Final,
        };
        let sets: GroupingSets = node.read("groupingSets")?;
        let keys = source.positions(&sets.grouping_keys)?;
        let key_types = source.types_at(&keys)?;
        // Sets without keys have a group even without rows: the rows that the GroupId node adds
        // make it, and do not count.
        let input_rows = match step.merges() || sets.global_grouping_sets.is_empty() {
            true => None,
            false if keys.is_empty() => None,
            false => Some(source.column(INPUT_ROW).map_err(|_| {
                Error::unsupported("grouping sets without keys apart from their GroupId node")
            })?),
        };
        let fields = key_types.into_iter().map(unnamed).collect();
        let computed = Computed::new(source);
        let (aggregates, variables, folds) = (Vec::new(), Vec::new(), Vec::new());
        let mut calls = Calls { computed, step, aggregates, variables, fields, folds };
        for (key, json) in node.members("aggregations")? {
            self.aggregate(&mut calls, &key, json, input_rows.as_ref())?;
            if !step.finishes() {
                self.states.made.insert(variable_name(&key).to_owned());
            }
        }
        self.grouped(calls, keys, &sets.grouping_keys)
    }

    /// The types of the states that a merging aggregation reads.
    fn note_read_states(&mut self, node: &Object<'_>) -> Result<()> {
        let mut states = Vec::new();
        for (_, json) in node.members("aggregations")? {
            let object = json.object("an aggregation")?;
            let call = object.json("call").object("a call")?;
            if name_of(&call)? == REDUCE_AGG {
                states.extend(self.reduce_state(&call)?);
                continue;
            }
            let bound = self.bound_aggregate(&call)?;
            let arguments = call.elements("arguments")?;
            let state: Option<Variable> = arguments.first().and_then(|it| it.read("a state").ok());
            states.extend(state.map(|it| (it.name, bound.intermediate)));
        }
        self.read_states(states.into_iter());
        Ok(())
    }

    fn grouped(&self, calls: Calls, keys: Vec<usize>, variables: &[Variable]) -> Result<Relation> {
        let Calls { computed, step, aggregates, variables: results, fields, folds } = calls;
        let input = computed.finish().node;
        let input = match step.repeats_groups() {
            true => input,
            false => bring_together(input, &keys),
        };
        let schema = Schema::new(fields);
        let names = variables.iter().map(|it| it.name.clone());
        let names: Vec<String> = names.chain(results.iter().map(|it| it.0.clone())).collect();
        let width = keys.len();
        let node_id = PlanNodeId::UNASSIGNED;
        let node = AggregationNode { node_id, input, step, keys, aggregates, schema };
        let fields = node.schema.fields.clone();
        let relation = Relation::new(PlanNode::Aggregation(node), names.clone());
        if !step.finishes() && folds.is_empty() {
            return Ok(relation);
        }
        let columns = names.iter().cloned().zip(fields.iter().enumerate());
        let columns =
            columns.map(|(name, (at, it))| (name, Expr::column(at, it.data_type.clone())));
        let mut columns: Vec<(String, Expr)> = columns.collect();
        self.scope(&relation)?.folded(&mut columns, width, folds)?;
        if !step.finishes() {
            columns.retain(|it| !is_hidden(&it.0));
            return Ok(relation.project(columns));
        }
        let types = results.into_iter().map(|it| it.1);
        for ((_, column), data_type) in columns.iter_mut().skip(width).zip(types) {
            *column = column.clone().cast(data_type);
        }
        columns.retain(|it| !is_hidden(&it.0));
        Ok(relation.project(columns))
    }

    /// One aggregate: `json` under the key `name<type>`.
    fn aggregate(
        &self,
        calls: &mut Calls,
        key: &str,
        json: Json<'_>,
        input_rows: Option<&Expr>,
    ) -> Result<()> {
        let object = json.object("an aggregation")?;
        let call = object.json("call").object("a call")?;
        let shown: String = call.read("displayName")?;
        if name_of(&call)? == REDUCE_AGG {
            let filter = self.aggregate_filter(calls, &object, input_rows)?;
            let called = self.reduce_agg(calls, key, &call, filter);
            return called.map_err(|it| it.at("aggregate", shown));
        }
        let bound = self.bound_aggregate(&call).map_err(|it| it.at("aggregate", &shown))?;
        let args = self.aggregate_args(calls, &call, &bound)?;
        let filter = self.aggregate_filter(calls, &object, input_rows)?;
        let order_by = match object.read::<Option<OrderingScheme>>("orderBy")? {
            Some(scheme) => calls.computed.relation().sort_keys(&scheme)?,
            None => Vec::new(),
        };
        let distinct = object.read::<Option<bool>>("distinct")?.unwrap_or(false);
        if calls.step != AggregateStep::Single && (distinct || !order_by.is_empty()) {
            return Err(Error::unsupported(
                "DISTINCT or ORDER BY in an aggregate of several steps",
            ));
        }
        let result = match calls.step.finishes() {
            true => bound.result.clone(),
            false => bound.intermediate.clone(),
        };
        let name = variable_name(key).to_owned();
        let declared = key.split_once('<').and_then(|it| it.1.strip_suffix('>'));
        let declared = match declared {
            Some(signature) if calls.step.finishes() => self.parse_type(signature)?,
            _ => result.clone(),
        };
        calls.fields.push(unnamed(result));
        calls.variables.push((name, declared));
        calls.aggregates.push(Aggregate {
            function: bound.name,
            args,
            arg_types: bound.args,
            distinct,
            merges: false,
            filter,
            order_by,
            place: SourceSpan::default(),
        });
        Ok(())
    }

    /// The function of a call, by the types of its signature.
    pub(super) fn bound_aggregate(&self, call: &Object<'_>) -> Result<BoundAggregate> {
        let handle: FunctionHandle = call.read("functionHandle")?;
        let name = function_name(&handle, &call.read::<String>("displayName")?)?;
        let signature = handle.signature.map(|it| it.argument_types).unwrap_or_default();
        let types = signature.iter().map(|it| self.parse_type(it)).collect::<Result<Vec<_>>>()?;
        // Sums of floats that several tasks add up in any order must not differ: queries compare
        // one with another.
        if name == "sum" && types == [Type::Double] && !self.is_whole_query {
            return self.names().resolve_aggregate("kahan_sum", &types);
        }
        self.names().resolve_aggregate(&name, &types)
    }

    fn aggregate_args(
        &self,
        calls: &mut Calls,
        call: &Object<'_>,
        bound: &BoundAggregate,
    ) -> Result<Vec<usize>> {
        let mut exprs = Vec::new();
        for argument in call.elements("arguments")? {
            exprs.push(self.scope(calls.computed.relation())?.expr(argument)?);
        }
        if calls.step.merges() {
            // Intermediate results, and arguments that are the same for all rows.
            let state = exprs.into_iter().next();
            let state =
                state.ok_or_else(|| Error::invalid_value("an aggregate without a state"))?;
            return Ok(vec![calls.computed.position(state)]);
        }
        if exprs.len() != bound.args.len() {
            return Err(Error::invalid_value("an aggregate with another number of arguments"));
        }
        let exprs = exprs.into_iter().zip(&bound.args);
        Ok(exprs.map(|(it, to)| calls.computed.position(it.cast(to.clone()))).collect())
    }

    /// The column of the rows that count: by FILTER, by a mask, and of the input.
    fn aggregate_filter(
        &self,
        calls: &mut Calls,
        object: &Object<'_>,
        input_rows: Option<&Expr>,
    ) -> Result<Option<usize>> {
        if calls.step.merges() {
            return Ok(None);
        }
        let mut conditions: Vec<Expr> = input_rows.cloned().into_iter().collect();
        if let Some(filter) = object.optional("filter") {
            conditions.push(self.scope(calls.computed.relation())?.expr(filter)?);
        }
        if let Some(mask) = object.read::<Option<Variable>>("mask")? {
            conditions.push(calls.computed.relation().column(&mask.name)?);
        }
        Ok(match conditions.is_empty() {
            true => None,
            false => Some(calls.computed.position(Expr::and(conditions))),
        })
    }
}

/// The name of the function of a call.
fn name_of(call: &Object<'_>) -> Result<String> {
    function_name(&call.read::<FunctionHandle>("functionHandle")?, "an aggregate")
}

/// Rows with equal keys with one driver; without keys, all rows.
pub(super) fn bring_together(input: Arc<PlanNode>, keys: &[usize]) -> Arc<PlanNode> {
    let kind = match keys {
        [] => ExchangeKind::Gather,
        _ => ExchangeKind::Hash(keys.to_vec()),
    };
    let node_id = PlanNodeId::UNASSIGNED;
    Arc::new(PlanNode::LocalExchange(LocalExchangeNode { node_id, input, kind }))
}
