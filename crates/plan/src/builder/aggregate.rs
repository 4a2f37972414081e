//! Aggregations of a [`PlanBuilder`].

use super::{Columns, PlanBuilder};
use crate::{
    Aggregate, AggregateStep, AggregationNode, GroupIdNode, GroupingSet, PlanNode, PlanNodeId,
};
use std::sync::Arc;
use volley_error::Result;
use volley_expression::SourceSpan;
use volley_function::Registry;
use volley_types::{Field, Schema, Type};

impl PlanBuilder {
    /// Groups by `keys` and computes aggregates: (output name, function, argument columns).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use volley_function::Registry;
    /// # use volley_plan::PlanBuilder;
    /// # use volley_types::{Type, Value};
    /// let rows = vec![vec![Value::text("a"), Value::BigInt(1)]];
    /// let plan = PlanBuilder::new(&Arc::new(Registry::new()))
    ///     .values(&[("name", Type::Varchar), ("n", Type::BigInt)], rows)
    ///     .aggregate(&["name"], &[])
    ///     .build()?;
    /// assert_eq!(plan.schema().len(), 1);
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn aggregate(self, keys: &[&str], aggregates: &[(&str, &str, &[&str])]) -> PlanBuilder {
        self.wrap(|input, registry| {
            aggregation(AggregateStep::Single, input, &registry, keys, aggregates)
        })
    }

    /// The same in two parts with an exchange between them: drivers group what they see, then the
    /// groups of all drivers are brought together.
    pub fn aggregate_in_parts(
        self,
        keys: &[&str],
        aggregates: &[(&str, &str, &[&str])],
    ) -> PlanBuilder {
        self.wrap(|input, registry| {
            let step = AggregateStep::Partial;
            let partial = aggregation(step, input, &registry, keys, aggregates)?;
            finish(partial, &registry)
        })
    }

    /// Repeats the rows for each of these grouping sets: appends a column per key of all sets, in
    /// the order in which they first occur, and the set's number; with `extra_rows`, see
    /// [`GroupIdNode::extra_rows`], a column that says whether it is none of them.
    pub fn group_id(self, sets: &[&[&str]], extra_rows: bool) -> PlanBuilder {
        self.wrap(|input, registry| {
            let columns = Columns::new(input.schema(), &registry);
            let mut keys: Vec<usize> = Vec::new();
            let mut numbered = Vec::with_capacity(sets.len());
            for (id, set) in (0..).zip(sets) {
                let mut own = Vec::with_capacity(set.len());
                for column in columns.positions(set)? {
                    let known = keys.iter().position(|it| *it == column);
                    own.push(known.unwrap_or(keys.len()));
                    if known.is_none() {
                        keys.push(column);
                    }
                }
                own.sort_unstable();
                numbered.push(GroupingSet { id, keys: own });
            }
            let mut schema = input.schema().clone();
            let copies: Vec<Field> = keys.iter().map(|it| schema.fields[*it].clone()).collect();
            schema.fields.extend(copies);
            schema.fields.push(Field::new("group_id", Type::BigInt));
            schema.fields.extend(extra_rows.then(|| Field::new("present", Type::Boolean)));
            Ok(PlanNode::GroupId(GroupIdNode {
                node_id: PlanNodeId::UNASSIGNED,
                input,
                keys,
                sets: numbered,
                extra_rows,
                schema,
            }))
        })
    }

    /// Keeps one of each set of equal rows.
    pub fn distinct(self) -> PlanBuilder {
        self.wrap(|input, _| {
            let schema = input.schema().clone();
            Ok(PlanNode::Aggregation(AggregationNode {
                node_id: PlanNodeId::UNASSIGNED,
                keys: (0..schema.len()).collect(),
                input,
                step: AggregateStep::Single,
                aggregates: Vec::new(),
                schema,
            }))
        })
    }
}

fn aggregation(
    step: AggregateStep,
    input: Arc<PlanNode>,
    registry: &Arc<Registry>,
    keys: &[&str],
    aggregates: &[(&str, &str, &[&str])],
) -> Result<PlanNode> {
    let columns = Columns::new(input.schema(), registry);
    let keys = columns.positions(keys)?;
    let mut fields: Vec<Field> = keys.iter().map(|it| input.schema().fields[*it].clone()).collect();
    let mut resolved = Vec::with_capacity(aggregates.len());
    for (name, function, args) in aggregates {
        let args = columns.positions(args)?;
        let arg_types: Vec<Type> =
            args.iter().map(|it| input.schema().fields[*it].data_type.clone()).collect();
        let bound = registry.resolve_aggregate(function, &arg_types)?;
        let result = if step == AggregateStep::Partial { bound.intermediate } else { bound.result };
        fields.push(Field::new(*name, result));
        resolved.push(Aggregate {
            function: bound.name,
            args,
            arg_types,
            distinct: false,
            merges: false,
            filter: None,
            order_by: Vec::new(),
            place: SourceSpan::default(),
        });
    }
    let (aggregates, schema) = (resolved, Schema::new(fields));
    Ok(PlanNode::Aggregation(AggregationNode {
        node_id: PlanNodeId::UNASSIGNED,
        input,
        step,
        keys,
        aggregates,
        schema,
    }))
}

/// The final step above a partial one. (Lowering puts the exchange between them.)
fn finish(partial: PlanNode, registry: &Registry) -> Result<PlanNode> {
    let PlanNode::Aggregation(node) = &partial else { return Ok(partial) };
    let keys = node.keys.len();
    let mut schema = node.schema.clone();
    let mut aggregates = node.aggregates.clone();
    for (index, aggregate) in aggregates.iter_mut().enumerate() {
        let bound = registry.resolve_aggregate(&aggregate.function, &aggregate.arg_types)?;
        schema.fields[keys + index].data_type = bound.result;
        aggregate.args = vec![keys + index];
        aggregate.filter = None;
    }
    Ok(PlanNode::Aggregation(AggregationNode {
        node_id: PlanNodeId::UNASSIGNED,
        step: AggregateStep::Final,
        keys: (0..keys).collect(),
        aggregates,
        schema,
        input: Arc::new(partial),
    }))
}
