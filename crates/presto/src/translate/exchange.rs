//! Local exchanges and unions.

use super::{
    Translator,
    relation::{Relation, unnamed},
    simple::order_by,
};
use crate::{
    json::Object,
    plan_json::{OrderingScheme, Variable, class_of, variable_name},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_plan::{PlanNode, PlanNodeId, UnionNode};
use volley_types::Schema;

impl Translator<'_> {
    /// A local exchange names columns of its sources anew. One with an order sorts its rows, so
    /// that sorts of its sources are not needed.
    pub(super) fn exchange(&mut self, node: &Object<'_>) -> Result<Relation> {
        let scope: String = node.read("scope")?;
        if !scope.starts_with("LOCAL") {
            return Err(Error::unsupported(format!("an exchange {scope} within a fragment")));
        }
        let scheme = node.json("partitioningScheme").object("a partitioning scheme")?;
        let layout: Vec<Variable> = scheme.read("outputLayout")?;
        let inputs: Vec<Vec<Variable>> = node.read("inputs")?;
        let sources = node.elements("sources")?;
        if sources.len() != inputs.len() {
            return Err(Error::invalid_value("an exchange with another number of inputs"));
        }
        let order: Option<OrderingScheme> = node.read("orderingScheme")?;
        let mut relations = Vec::new();
        for (mut source, variables) in sources.into_iter().zip(inputs) {
            if order.is_some() && class_of(source, "a plan node")? == "SortNode" {
                source = source.object("a plan node")?.json("source");
            }
            let names: Vec<String> = variables.into_iter().map(|it| it.name).collect();
            let pairs = || names.iter().zip(layout.iter().map(|it| it.name.as_str()));
            pairs().for_each(|(from, to)| self.rename_read(from, to));
            let relation = self.relation(source)?;
            pairs().for_each(|(from, to)| self.rename_made(from, to));
            relations.push((relation, names));
        }
        let relation = unite(relations, &layout)?;
        match order {
            Some(scheme) => order_by(relation, &scheme),
            None => Ok(relation),
        }
    }

    pub(super) fn union(&mut self, node: &Object<'_>) -> Result<Relation> {
        let layout: Vec<Variable> = node.read("outputVariables")?;
        let outputs = node.members("outputToInputs")?;
        let mut relations = Vec::new();
        for (index, source) in node.elements("sources")?.into_iter().enumerate() {
            let mut names = Vec::new();
            for variable in &layout {
                let found = outputs.iter().find(|it| variable_name(&it.0) == variable.name);
                let inputs: Vec<Variable> = match found {
                    Some((_, inputs)) => inputs.read("the inputs of a union")?,
                    None => return Err(Error::invalid_value("a union without an input")),
                };
                let input = inputs.into_iter().nth(index);
                let input = input.ok_or_else(|| Error::invalid_value("a union without an input"));
                names.push(input?.name);
            }
            relations.push((self.relation(source)?, names));
        }
        unite(relations, &layout)
    }
}

/// The rows of all relations, of each these columns, as the variables of `layout`.
fn unite(mut relations: Vec<(Relation, Vec<String>)>, layout: &[Variable]) -> Result<Relation> {
    if relations.iter().any(|it| it.1.len() != layout.len()) {
        return Err(Error::invalid_value("an input of another number of columns"));
    }
    if relations.len() == 1
        && let Some((relation, names)) = relations.pop()
    {
        let pairs: Vec<(&str, &str)> =
            names.iter().zip(layout).map(|(from, to)| (from.as_str(), to.name.as_str())).collect();
        return relation.renamed(&pairs);
    }
    let mut inputs = Vec::new();
    let mut schema = Schema::default();
    for (relation, names) in relations {
        let exprs = names.iter().map(|it| Ok((it.clone(), relation.column(it)?)));
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let input = relation.project(exprs).node;
        if inputs.is_empty() {
            schema = input.schema().types().cloned().map(unnamed).collect();
        }
        inputs.push(input);
    }
    let union = PlanNode::Union(UnionNode { node_id: PlanNodeId::UNASSIGNED, inputs, schema });
    let columns = layout.iter().map(|it| it.name.clone()).zip(0..).collect();
    Ok(Relation { node: Arc::new(union), columns })
}
