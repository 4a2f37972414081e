//! Nodes with one input that need no more than a plan node: filters, projections, sorts, limits.

use super::{
    Translator,
    aggregate::bring_together,
    expression::ExpressionScope,
    relation::{Relation, unnamed},
    remote_source::transfer_type,
};
use crate::{
    json::Object,
    plan_json::{OrderingScheme, Step, Variable, variable_name},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::{Expr, ExprKind, Parameter, SourceSpan};
use volley_plan::{
    AggregateStep, AggregationNode, EnforceSingleRowNode, FilterNode, LimitNode, OrderByNode,
    PlanNode, PlanNodeId, TopNNode, UniqueIdNode,
};
use volley_types::{Schema, Type, Value};

const NODE_ID: PlanNodeId = PlanNodeId::UNASSIGNED;

impl Translator<'_> {
    pub(super) fn output(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        self.declared(source, &node.read::<Vec<Variable>>("outputVariables")?)
    }

    /// The variables in this order, with the types that Presto gives them.
    pub(super) fn declared(&self, source: Relation, variables: &[Variable]) -> Result<Relation> {
        let column = |it: &Variable| {
            let column = source.column(&it.name)?;
            // States keep the engine's types.
            let column = match self.states.made.contains(&it.name) {
                true => column,
                false => column.cast(self.parse_type(&it.signature)?),
            };
            Ok((it.name.clone(), column))
        };
        let columns = variables.iter().map(column).collect::<Result<Vec<(String, Expr)>>>()?;
        Ok(source.project(columns))
    }

    /// The variables as they are transferred: intervals are numbers of milliseconds or months.
    pub(super) fn transferable(&self, source: Relation, layout: &[Variable]) -> Result<Relation> {
        let scope = self.scope(&source)?;
        let mut columns = Vec::new();
        for variable in layout {
            let column = source.column(&variable.name)?;
            let column = match variable.signature.as_str() {
                _ if self.states.made.contains(&variable.name) => {
                    let data_type = transfer_type(&column.data_type);
                    column.cast(data_type)
                }
                signature => transferred(&scope, column, signature, 0)?,
            };
            columns.push((variable.name.clone(), column));
        }
        drop(scope);
        Ok(source.project(columns))
    }

    pub(super) fn filter(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let predicate = self.scope(&source)?.expr(node.json("predicate"))?;
        let predicate = predicate.cast(Type::Boolean);
        Ok(source.wrap(|input| PlanNode::Filter(FilterNode { node_id: NODE_ID, input, predicate })))
    }

    pub(super) fn project(&mut self, node: &Object<'_>) -> Result<Relation> {
        let assignments = node.json("assignments").object("assignments")?;
        let assignments = assignments.members("assignments")?;
        // Variables that are renamed may be states of aggregations.
        let renamed = assignments.iter().filter_map(|(key, json)| {
            let from: Variable = json.read("a variable").ok()?;
            Some((from.name, variable_name(key).to_owned()))
        });
        let renamed: Vec<(String, String)> = renamed.collect();
        renamed.iter().for_each(|(from, to)| self.rename_read(from, to));
        let source = self.relation(node.json("source"))?;
        renamed.iter().for_each(|(from, to)| self.rename_made(from, to));
        let mut exprs = Vec::new();
        for (key, json) in assignments {
            let expr = self.scope(&source)?.expr(json)?;
            exprs.push((variable_name(&key).to_owned(), expr));
        }
        Ok(source.project(exprs))
    }

    /// A partial sort is that of the task: other tasks may merge its rows.
    pub(super) fn sort(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let partition_by: Option<Vec<Variable>> = node.read("partitionBy")?;
        if partition_by.is_some_and(|it| !it.is_empty()) {
            return Err(Error::unsupported("a sort within partitions"));
        }
        order_by(source, &node.read("orderingScheme")?)
    }

    /// A partial top N is part of the final one, if that is in the same fragment: its drivers keep
    /// their own first rows.
    pub(super) fn top_n(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        if node.read::<Step>("step")? == Step::Partial && self.is_whole_query {
            return Ok(source);
        }
        let keys = source.sort_keys(&node.read::<OrderingScheme>("orderingScheme")?)?;
        let limit = node.read("count")?;
        Ok(source.wrap(|input| {
            let (node_id, offset, dynamic_filter) = (NODE_ID, 0, None);
            PlanNode::TopN(TopNNode { node_id, input, keys, offset, limit, dynamic_filter })
        }))
    }

    pub(super) fn limit(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        if node.read::<Step>("step")? == Step::Partial && self.is_whole_query {
            return Ok(source);
        }
        Ok(first_rows(source, 0, Some(node.read("count")?)))
    }

    pub(super) fn offset(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        Ok(first_rows(source, node.read("count")?, None))
    }

    pub(super) fn distinct_limit(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let variables: Vec<Variable> = node.read("distinctVariables")?;
        let keys = source.positions(&variables)?;
        let types = source.types_at(&keys)?;
        let schema: Schema = types.into_iter().map(unnamed).collect();
        let input = bring_together(source.node, &keys);
        let distinct = PlanNode::Aggregation(AggregationNode {
            node_id: NODE_ID,
            input,
            step: AggregateStep::Single,
            keys,
            aggregates: Vec::new(),
            schema,
        });
        let distinct = Relation::new(distinct, variables.into_iter().map(|it| it.name));
        Ok(first_rows(distinct, 0, Some(node.read("limit")?)))
    }

    pub(super) fn enforce_single_row(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        Ok(source.wrap(|input| {
            let place = SourceSpan::default();
            PlanNode::EnforceSingleRow(EnforceSingleRowNode { node_id: NODE_ID, input, place })
        }))
    }

    /// The numbers of other tasks are others.
    pub(super) fn assign_unique_id(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let variable: Variable = node.read("idVariable")?;
        let mut schema = source.node.schema().clone();
        schema.fields.push(unnamed(Type::BigInt));
        let mut columns = source.columns;
        columns.push((variable.name.clone(), schema.len() - 1));
        let input = source.node;
        let node = PlanNode::UniqueId(UniqueIdNode { node_id: NODE_ID, input, schema });
        let relation = Relation { node: Arc::new(node), columns };
        if self.first_unique_id == 0 {
            return Ok(relation);
        }
        let mut exprs = Vec::new();
        for (name, _) in &relation.columns {
            let mut expr = relation.column(name)?;
            if *name == variable.name {
                let first = Value::BigInt(self.first_unique_id);
                let first = Expr::constant(first, Type::BigInt);
                expr = self.scope(&relation)?.function("plus", vec![expr, first])?;
            }
            exprs.push((name.clone(), expr));
        }
        Ok(relation.project(exprs))
    }
}

/// A value of a type of Presto as pages have it: intervals, also in arrays, are numbers of
/// milliseconds or months.
/// `level` is that of a lambda in the expression.
fn transferred(
    scope: &ExpressionScope<'_>,
    value: Expr,
    signature: &str,
    level: usize,
) -> Result<Expr> {
    match (signature, &value.data_type) {
        ("interval day to second", _) => scope.function("to_milliseconds", vec![value]),
        ("interval year to month", _) => months(scope, &value),
        (_, Type::Array(element)) if signature.contains("interval ") => {
            let Some(inner) = element_of(signature) else { return Ok(value) };
            let element = (**element).clone();
            let parameter = ExprKind::Parameter(Parameter { level, index: 0 });
            let parameter = Expr::new(parameter, element.clone());
            let body = Box::new(transferred(scope, parameter, inner, level + 1)?);
            let data_type = body.data_type.clone();
            let kind = ExprKind::Lambda { level, parameters: vec![element], body };
            scope.with_lambdas("transform", vec![value, Expr::new(kind, data_type)])
        }
        _ => Ok(value),
    }
}

/// The signature of the elements of an array.
pub(super) fn element_of(signature: &str) -> Option<&str> {
    signature.strip_prefix("array(")?.strip_suffix(')')
}

/// The months of an interval, with its years.
fn months(scope: &ExpressionScope<'_>, interval: &Expr) -> Result<Expr> {
    let part = |name: &str| {
        let name = Expr::constant(Value::text(name), Type::Varchar);
        let part = scope.function("date_part", vec![name, interval.clone()])?;
        Ok::<_, Error>(part.cast(Type::Integer))
    };
    let months_of_year = Expr::constant(Value::Integer(12), Type::Integer);
    let years = scope.function("multiply", vec![part("year")?, months_of_year])?;
    scope.function("plus", vec![years.cast(Type::Integer), part("month")?])
}

/// All rows in an order.
pub(super) fn order_by(source: Relation, scheme: &OrderingScheme) -> Result<Relation> {
    let keys = source.sort_keys(scheme)?;
    Ok(source.wrap(|input| PlanNode::OrderBy(OrderByNode { node_id: NODE_ID, input, keys })))
}

fn first_rows(source: Relation, offset: u64, limit: Option<u64>) -> Relation {
    source.wrap(|input| PlanNode::Limit(LimitNode { node_id: NODE_ID, input, offset, limit }))
}
