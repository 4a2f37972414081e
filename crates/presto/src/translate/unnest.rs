//! Elements of arrays and maps as rows.

use super::{
    Translator,
    relation::{Relation, unnamed},
};
use crate::{
    json::Object,
    plan_json::{Variable, variable_name},
};
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_plan::{Generator, GeneratorKind, PlanNode, PlanNodeId, UnnestNode};
use volley_types::{Field, Schema, Type, Value};

impl Translator<'_> {
    /// An array of rows has a variable per field, unless it has one for the row.
    pub(super) fn unnest(&mut self, node: &Object<'_>) -> Result<Relation> {
        let source = self.relation(node.json("source"))?;
        let variables: Vec<Variable> = node.read("replicateVariables")?;
        let replicated = source.positions(&variables)?;
        let mut schema = Schema::default();
        let mut exprs: Vec<(String, Expr)> = Vec::new();
        for (variable, data_type) in variables.iter().zip(source.types_at(&replicated)?) {
            exprs.push((variable.name.clone(), Expr::column(schema.len(), data_type.clone())));
            schema.fields.push(unnamed(data_type));
        }
        let mut generators = Vec::new();
        for (key, made) in node.members("unnestVariables")? {
            let position = source.position(variable_name(&key))?;
            generators.push(Generator { kind: GeneratorKind::Elements, args: vec![position] });
            let made: Vec<Variable> = made.read("the variables of an unnest")?;
            exprs.extend(elements(source.type_at(position)?, &made, &mut schema)?);
        }
        let ordinality: Option<Variable> = node.read("ordinalityVariable")?;
        if let Some(variable) = &ordinality {
            exprs.push((variable.name.clone(), Expr::column(schema.len(), Type::BigInt)));
            schema.fields.push(unnamed(Type::BigInt));
        }
        let names: Vec<String> = schema.fields.iter().map(|it| it.name.clone()).collect();
        let node = PlanNode::Unnest(UnnestNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: source.node,
            replicated,
            generators,
            ordinality: ordinality.is_some(),
            outer: false,
            schema,
        });
        Ok(Relation::new(node, names).project(exprs))
    }
}

/// The columns that the elements of one array or map become.
fn elements(
    data_type: &Type,
    made: &[Variable],
    schema: &mut Schema,
) -> Result<Vec<(String, Expr)>> {
    let at = schema.len();
    let column = |at, it: &Variable, of: &Type| (it.name.clone(), Expr::column(at, of.clone()));
    match (data_type, made) {
        (Type::Map(entry), [key, value]) => {
            schema.fields.push(unnamed(entry.0.clone()));
            schema.fields.push(unnamed(entry.1.clone()));
            Ok(vec![column(at, key, &entry.0), column(at + 1, value, &entry.1)])
        }
        (Type::Array(element), [variable]) if !is_one_field(element, variable) => {
            schema.fields.push(unnamed((**element).clone()));
            Ok(vec![column(at, variable, element)])
        }
        (Type::Array(element), _) => match &**element {
            Type::Row(fields) if fields.len() == made.len() => {
                schema.fields.push(unnamed((**element).clone()));
                let row = Expr::column(at, (**element).clone());
                let field = |(index, (it, field)): (usize, (&Variable, &Field))| {
                    let index = Expr::constant(Value::BigInt(index as i64 + 1), Type::BigInt);
                    let args = vec![row.clone(), index];
                    (it.name.clone(), Expr::call("struct_extract", args, field.data_type.clone()))
                };
                Ok(made.iter().zip(fields.iter()).enumerate().map(field).collect())
            }
            _ => Err(wrong_variables(data_type, made.len())),
        },
        _ => Err(wrong_variables(data_type, made.len())),
    }
}

/// Whether the variable is the only field of a row, and not the row.
fn is_one_field(element: &Type, variable: &Variable) -> bool {
    let is_row = variable.signature.starts_with("row(");
    matches!(element, Type::Row(fields) if fields.len() == 1) && !is_row
}

fn wrong_variables(data_type: &Type, count: usize) -> Error {
    Error::invalid_value(format!("{count} variables for the elements of {data_type}"))
}
