//! Joins of a [`PlanBuilder`].

use super::{Columns, PlanBuilder};
use crate::{
    AsofJoinNode, Comparison, HashJoinNode, JoinKind, MergeJoinNode, MergeKey, NestedLoopJoinNode,
    PlanNode, PlanNodeId, RangeCondition,
};
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_types::{Field, Schema, Type};

impl PlanBuilder {
    /// Joins with `build` on equal columns: (column of this plan, column of `build`). Returns all
    /// columns of the kind; the methods below change the join.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use volley_function::Registry;
    /// # use volley_types::{Type, Value};
    /// use volley_plan::{JoinKind, PlanBuilder};
    ///
    /// let new = || PlanBuilder::new(&Arc::new(Registry::new()));
    /// let names = new().values(&[("id", Type::BigInt), ("name", Type::Varchar)], vec![]);
    /// let plan = new()
    ///     .values(&[("x", Type::BigInt)], vec![vec![Value::BigInt(7)]])
    ///     .hash_join(JoinKind::Left, names, &[("x", "id")])
    ///     .join_output(&["x", "name"])
    ///     .build()?;
    /// assert_eq!(
    ///     plan.to_string(),
    ///     "\
    /// HashJoin left on #0 = build #0 output=[#0 as x, #2 as name]
    ///   Values (7)
    ///   Values
    /// "
    /// );
    /// # Ok::<(), volley_error::Error>(())
    /// ```
    pub fn hash_join(
        self,
        kind: JoinKind,
        build: PlanBuilder,
        keys: &[(&str, &str)],
    ) -> PlanBuilder {
        self.wrap(|probe, registry| {
            let build = build.unnumbered()?;
            let left = Columns::new(probe.schema(), &registry);
            let right = Columns::new(build.schema(), &registry);
            let probe_keys = keys.iter().map(|it| left.position(it.0)).collect::<Result<_>>()?;
            let build_keys = keys.iter().map(|it| right.position(it.1)).collect::<Result<_>>()?;
            let schema = kind.schema(probe.schema(), build.schema());
            Ok(PlanNode::HashJoin(HashJoinNode {
                node_id: PlanNodeId::UNASSIGNED,
                dynamic_filters: Vec::new(),
                probe,
                build,
                kind,
                probe_keys,
                build_keys,
                nulls_equal: vec![false; keys.len()],
                filter: None,
                null_aware: false,
                output: (0..schema.len()).collect(),
                schema,
            }))
        })
    }

    /// Joins every row with every row of `build`.
    pub fn nested_loop_join(self, kind: JoinKind, build: PlanBuilder) -> PlanBuilder {
        self.wrap(|probe, _| {
            let build = build.unnumbered()?;
            let schema = kind.schema(probe.schema(), build.schema());
            Ok(PlanNode::NestedLoopJoin(NestedLoopJoinNode {
                node_id: PlanNodeId::UNASSIGNED,
                probe,
                build,
                kind,
                condition: None,
                ranges: Vec::new(),
                residual: None,
                output: (0..schema.len()).collect(),
                schema,
            }))
        })
    }

    /// Joins every row with the rows of `build` for which all comparisons hold, one or two: (column
    /// of this plan, comparison, column of `build`).
    pub fn range_join(
        self,
        kind: JoinKind,
        build: PlanBuilder,
        ranges: &[(&str, Comparison, &str)],
    ) -> PlanBuilder {
        self.nested_loop_join(kind, build).wrap(|node, registry| {
            let PlanNode::NestedLoopJoin(node) = &*node else { return Err(no_join()) };
            let mut node = node.clone();
            let left = Columns::new(node.probe.schema(), &registry);
            let right = Columns::new(node.build.schema(), &registry);
            let pair = JoinKind::Inner.schema(node.probe.schema(), node.build.schema());
            let pair = Columns::new(&pair, &registry);
            let mut conditions = Vec::with_capacity(ranges.len());
            for (probe, comparison, build) in ranges {
                let (probe, build) = (left.position(probe)?, right.position(build)?);
                node.ranges.push(RangeCondition { probe, comparison: *comparison, build });
                let name = match comparison {
                    Comparison::Less => "lt",
                    Comparison::LessOrEqual => "lte",
                    Comparison::Greater => "gt",
                    Comparison::GreaterOrEqual => "gte",
                };
                let column = |at: usize| {
                    let fields =
                        node.probe.schema().fields.iter().chain(&node.build.schema().fields);
                    let data_type = fields.map(|it| it.data_type.clone()).nth(at);
                    Expr::column(at, data_type.unwrap_or(Type::Boolean))
                };
                let width = node.probe.schema().len();
                conditions.push(pair.call(name, [column(probe), column(width + build)])?);
            }
            node.condition = Some(Expr::and(conditions));
            Ok(PlanNode::NestedLoopJoin(node))
        })
    }

    /// Joins each row with the nearest row of `build` that has equal keys and satisfies a
    /// comparison; see [`AsofJoinNode`].
    pub fn asof_join(
        self,
        kind: JoinKind,
        build: PlanBuilder,
        keys: &[(&str, &str)],
        (probe, comparison, build_column): (&str, Comparison, &str),
    ) -> PlanBuilder {
        self.hash_join(kind, build, keys).wrap(|node, registry| {
            let PlanNode::HashJoin(node) = &*node else { return Err(no_join()) };
            let node = node.clone();
            let probe = Columns::new(node.probe.schema(), &registry).position(probe)?;
            let build = Columns::new(node.build.schema(), &registry).position(build_column)?;
            Ok(PlanNode::AsofJoin(AsofJoinNode {
                node_id: PlanNodeId::UNASSIGNED,
                probe: node.probe.clone(),
                build: node.build.clone(),
                kind,
                probe_keys: node.probe_keys.clone(),
                build_keys: node.build_keys.clone(),
                nulls_equal: node.nulls_equal.clone(),
                range: RangeCondition { probe, comparison, build },
                output: node.output.clone(),
                schema: node.schema.clone(),
            }))
        })
    }

    /// Turns the last hash join into a merge join. Its inputs must be sorted by the keys,
    /// ascending, nulls last.
    pub fn merged(self) -> PlanBuilder {
        self.wrap(|node, _| {
            let PlanNode::HashJoin(node) = &*node else { return Err(no_join()) };
            let columns = node.probe_keys.iter().zip(&node.build_keys).zip(&node.nulls_equal);
            let key = |((probe, build), nulls_equal): ((&usize, &usize), &bool)| MergeKey {
                probe: *probe,
                build: *build,
                nulls_equal: *nulls_equal,
                descending: false,
                nulls_first: false,
            };
            let (mut probe, mut build) = (node.probe.clone(), node.build.clone());
            PlanNode::keep_order(&mut probe);
            PlanNode::keep_order(&mut build);
            Ok(PlanNode::MergeJoin(MergeJoinNode {
                node_id: PlanNodeId::UNASSIGNED,
                probe,
                build,
                kind: node.kind,
                keys: columns.map(key).collect(),
                filter: node.filter.clone(),
                output: node.output.clone(),
                schema: node.schema.clone(),
            }))
        })
    }

    /// Adds a condition on pairs to the join made last; it sees the columns of both sides.
    pub fn join_condition(self, condition: impl FnOnce(&Columns) -> Result<Expr>) -> PlanBuilder {
        self.wrap(|node, registry| match &*node {
            PlanNode::HashJoin(node) => {
                let mut node = node.clone();
                let pair = JoinKind::Inner.schema(node.probe.schema(), node.build.schema());
                node.filter = Some(condition(&Columns::new(&pair, &registry))?);
                Ok(PlanNode::HashJoin(node))
            }
            PlanNode::NestedLoopJoin(node) => {
                let mut node = node.clone();
                let pair = JoinKind::Inner.schema(node.probe.schema(), node.build.schema());
                node.condition = Some(condition(&Columns::new(&pair, &registry))?);
                Ok(PlanNode::NestedLoopJoin(node))
            }
            _ => Err(no_join()),
        })
    }

    /// Returns only these columns of the last join.
    pub fn join_output(self, columns: &[&str]) -> PlanBuilder {
        self.wrap(|node, registry| {
            let chosen = Columns::new(node.schema(), &registry).positions(columns)?;
            let fields = chosen.iter().map(|it| node.schema().fields[*it].clone());
            let schema: Schema = fields.collect();
            let select = |output: &[usize]| chosen.iter().map(|it| output[*it]).collect();
            match &*node {
                PlanNode::HashJoin(node) => {
                    let output = select(&node.output);
                    Ok(PlanNode::HashJoin(HashJoinNode { output, schema, ..node.clone() }))
                }
                PlanNode::NestedLoopJoin(node) => {
                    let (output, node) = (select(&node.output), node.clone());
                    Ok(PlanNode::NestedLoopJoin(NestedLoopJoinNode { output, schema, ..node }))
                }
                _ => Err(no_join()),
            }
        })
    }

    /// Gives the hash join made last the null semantics of `IN` and `NOT IN`.
    pub fn null_aware(self) -> PlanBuilder {
        self.change_hash_join(|it| it.null_aware = true)
    }

    /// Lets null keys of the hash join made last match each other.
    pub fn nulls_equal(self) -> PlanBuilder {
        self.change_hash_join(|it| it.nulls_equal.fill(true))
    }

    fn change_hash_join(self, change: impl FnOnce(&mut HashJoinNode)) -> PlanBuilder {
        self.wrap(|node, _| match &*node {
            PlanNode::HashJoin(node) => {
                let mut node = node.clone();
                change(&mut node);
                Ok(PlanNode::HashJoin(node))
            }
            _ => Err(no_join()),
        })
    }
}

fn no_join() -> Error {
    Error::invalid_query("the last node is no join of this sort")
}

impl JoinKind {
    /// All columns that a join of this kind can return.
    pub fn schema(self, probe: &Schema, build: &Schema) -> Schema {
        let mut fields = Vec::new();
        if self.has_probe_columns() {
            fields.extend(probe.fields.iter().cloned());
        }
        if self.has_build_columns() {
            fields.extend(build.fields.iter().cloned());
        }
        if self == JoinKind::LeftMark {
            fields.push(Field::new("mark", Type::Boolean));
        }
        Schema::new(fields)
    }
}
