//! Rows repeated for grouping sets.

use super::{
    Translator,
    relation::{Relation, unnamed},
};
use crate::{
    json::Object,
    plan_json::{Variable, variable_name},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_plan::{GroupIdNode, GroupingSet, PlanNode, PlanNodeId};
use volley_types::Type;

/// The variable that is true for rows of the input, and null for the rows that make the groups of
/// sets without keys. Presto has no such name.
pub(super) const INPUT_ROW: &str = "$input_row";

impl Translator<'_> {
    pub(super) fn group_id(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let width = source.node.schema().len();
        let mut schema = source.node.schema().clone();
        let arguments: Vec<Variable> = node.read("aggregationArguments")?;
        let mut columns = Vec::new();
        for argument in arguments {
            let position = source.position(&argument.name)?;
            columns.push((argument.name, position));
        }
        let (mut keys, mut names) = (Vec::new(), Vec::new());
        for (key, input) in node.members("groupingColumns")? {
            let input: Variable = input.read("a grouping column")?;
            let position = source.position(&input.name)?;
            let name = variable_name(&key).to_owned();
            schema.fields.push(unnamed(source.type_at(position)?.clone()));
            columns.push((name.clone(), width + keys.len()));
            keys.push(position);
            names.push(name);
        }
        let mut sets = Vec::new();
        for (id, set) in node.read::<Vec<Vec<Variable>>>("groupingSets")?.iter().enumerate() {
            let mut members = Vec::new();
            for variable in set {
                let found = names.iter().position(|it| *it == variable.name);
                members.push(found.ok_or_else(|| {
                    Error::invalid_value(format!("no grouping column {}", variable.name))
                })?);
            }
            members.sort_unstable();
            members.dedup();
            sets.push(GroupingSet { id: id as i64, keys: members });
        }
        let id: Variable = node.read("groupIdVariable")?;
        columns.push((id.name, schema.len()));
        schema.fields.push(unnamed(Type::BigInt));
        let extra_rows = sets.iter().any(|it| it.keys.is_empty());
        if extra_rows {
            columns.push((INPUT_ROW.to_owned(), schema.len()));
            schema.fields.push(unnamed(Type::Boolean));
        }
        let (node_id, input) = (PlanNodeId::UNASSIGNED, source.node);
        let node = GroupIdNode { node_id, input, keys, sets, extra_rows, schema };
        Ok(Relation { node: Arc::new(PlanNode::GroupId(node)), columns })
    }
}
