//! Joins: the left side is the probe side, the right one the build side, as in Presto.

use super::{
    Translator,
    relation::{Computed, Relation, unnamed},
};
use crate::{
    json::Object,
    plan_json::{EquiJoinClause, Variable},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_plan::{HashJoinNode, JoinKind, NestedLoopJoinNode, PlanNode, PlanNodeId};
use volley_types::{Schema, Type, common_type};

const NODE_ID: PlanNodeId = PlanNodeId::UNASSIGNED;

/// Both sides of a join, with equal types of keys.
struct Sides {
    probe: Relation,
    build: Relation,
    probe_keys: Vec<usize>,
    build_keys: Vec<usize>,
}

impl Translator<'_> {
    pub(super) fn join(&mut self, node: &Object<'_>) -> Result<Relation> {
        let kind: String = node.read("type")?;
        let kind = match kind.as_str() {
            "INNER" => JoinKind::Inner,
            "LEFT" => JoinKind::Left,
            "RIGHT" => JoinKind::Right,
            "FULL" => JoinKind::Full,
            other => return Err(Error::unsupported(format!("a join of type {other}"))),
        };
        let left = self.relation(node.json("left"))?;
        let right = self.relation(node.json("right"))?;
        let criteria: Vec<EquiJoinClause> = node.read("criteria")?;
        let pairs = criteria.iter().map(|it| (it.left.name.as_str(), it.right.name.as_str()));
        let sides = sides(left, right, pairs.collect())?;
        let filter = match node.optional("filter") {
            Some(json) => Some(self.scope_of_pairs(&sides.probe, Some(&sides.build))?.expr(json)?),
            None => None,
        };
        let variables: Vec<Variable> = node.read("outputVariables")?;
        let width = sides.probe.node.schema().len();
        let (mut output, mut schema) = (Vec::new(), Schema::default());
        for variable in &variables {
            let name = &variable.name;
            let (position, data_type) = match sides.probe.position(name) {
                Ok(position) => (position, sides.probe.type_at(position)?),
                Err(_) => {
                    let position = sides.build.position(name)?;
                    (width + position, sides.build.type_at(position)?)
                }
            };
            output.push(position);
            schema.fields.push(unnamed(data_type.clone()));
        }
        let joined = sides.joined(kind, filter, output, schema);
        Ok(Relation::new(joined, variables.into_iter().map(|it| it.name)))
    }

    /// A column that tells for each row of the source whether its value is one of the other side,
    /// or null, as IN does.
    pub(super) fn semi_join(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let filtering = self.relation(node.json("filteringSource"))?;
        let left: Variable = node.read("sourceJoinVariable")?;
        let right: Variable = node.read("filteringSourceJoinVariable")?;
        let mark: Variable = node.read("semiJoinOutput")?;
        let mut columns = source.columns.clone();
        let width = source.node.schema().len();
        let mut schema = source.node.schema().clone();
        let sides = sides(source, filtering, vec![(&left.name, &right.name)])?;
        let computed_width = sides.probe.node.schema().len();
        schema.fields.push(unnamed(Type::Boolean));
        columns.push((mark.name, width));
        let output = (0..width).chain([computed_width]).collect();
        let node = PlanNode::HashJoin(HashJoinNode {
            node_id: NODE_ID,
            nulls_equal: vec![false],
            probe: sides.probe.node,
            build: sides.build.node,
            kind: JoinKind::LeftMark,
            probe_keys: sides.probe_keys,
            build_keys: sides.build_keys,
            filter: None,
            null_aware: true,
            output,
            schema,
            dynamic_filters: Vec::new(),
        });
        Ok(Relation { node: Arc::new(node), columns })
    }
}

/// Finds the keys of both sides; where their types differ, both are cast to the common type.
fn sides(probe: Relation, build: Relation, keys: Vec<(&str, &str)>) -> Result<Sides> {
    let (mut probe, mut build) = (Computed::new(probe), Computed::new(build));
    let (mut probe_keys, mut build_keys) = (Vec::new(), Vec::new());
    for (left, right) in keys {
        let (left, right) = (probe.relation().column(left)?, build.relation().column(right)?);
        let common = common_type(&left.data_type, &right.data_type).ok_or_else(|| {
            let types = format!("{} and {}", left.data_type, right.data_type);
            Error::invalid_query(format!("a join on keys of types {types}"))
        })?;
        probe_keys.push(probe.position(left.cast(common.clone())));
        build_keys.push(build.position(right.cast(common)));
    }
    let (probe, build) = (probe.finish(), build.finish());
    Ok(Sides { probe, build, probe_keys, build_keys })
}

impl Sides {
    fn joined(
        self,
        kind: JoinKind,
        filter: Option<Expr>,
        output: Vec<usize>,
        schema: Schema,
    ) -> PlanNode {
        let (probe, build) = (self.probe.node, self.build.node);
        if self.probe_keys.is_empty() {
            return PlanNode::NestedLoopJoin(NestedLoopJoinNode {
                node_id: NODE_ID,
                probe,
                build,
                kind,
                residual: filter.clone(),
                condition: filter,
                ranges: Vec::new(),
                output,
                schema,
            });
        }
        PlanNode::HashJoin(HashJoinNode {
            node_id: NODE_ID,
            nulls_equal: vec![false; self.probe_keys.len()],
            probe,
            build,
            kind,
            probe_keys: self.probe_keys,
            build_keys: self.build_keys,
            filter,
            null_aware: false,
            output,
            schema,
            dynamic_filters: Vec::new(),
        })
    }
}
