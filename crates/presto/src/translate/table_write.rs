//! Writing tables.

use super::{
    Translator,
    relation::{Relation, unnamed},
    scan::StoredTime,
};
use crate::{json::Object, plan_json::Variable, table_write::WriteColumns};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_plan::{PlanNode, PlanNodeId, TableWriteNode, WriteTarget};
use volley_types::{Schema, Type, Value};

/// The variables of a TableWriter node.
pub(super) struct WriteVariables {
    rows: String,
    fragment: String,
    commit_context: String,
}

impl Translator<'_> {
    /// Writes the rows; the counts of rows are columns, and the others are nulls, which the end of
    /// the task replaces.
    pub(super) fn table_writer(&mut self, node: &Object<'_>) -> Result<Relation> {
        if node.optional("statisticsAggregation").is_some() {
            let error = Error::unsupported("statistics of columns while a table is written");
            return Err(error.hint("set hive.collect-column-statistics-on-write=false"));
        }
        let source = self.relation(node.json("source"))?;
        let columns: Vec<Variable> = node.read("columns")?;
        let column_names: Vec<String> = node.read("columnNames")?;
        if columns.len() != column_names.len() {
            return Err(Error::invalid_value("a table writer with another number of columns"));
        }
        let not_null: Option<Vec<Variable>> = node.read("notNullColumnVariables")?;
        if not_null.is_some_and(|it| !it.is_empty()) {
            return Err(Error::unsupported("writing columns that are not null"));
        }
        let input = self.declared(source, &columns)?;
        let input = self.timestamps_moved(input, StoredTime::Written)?.node;
        let rows: Variable = node.read("rowCountVariable")?;
        let fragment: Variable = node.read("fragmentVariable")?;
        let commit_context: Variable = node.read("tableCommitContextVariable")?;
        let write = PlanNode::TableWrite(TableWriteNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            target: WriteTarget::default(),
            checks: Vec::new(),
            column_names,
            schema: Schema::new(vec![unnamed(Type::BigInt)]),
        });
        let counts = Relation { node: Arc::new(write), columns: vec![(rows.name.clone(), 0)] };
        let null = || Expr::constant(Value::Null, Type::Varbinary);
        let exprs = vec![
            (rows.name.clone(), counts.column(&rows.name)?),
            (fragment.name.clone(), null()),
            (commit_context.name.clone(), null()),
        ];
        let variables = WriteVariables {
            rows: rows.name,
            fragment: fragment.name,
            commit_context: commit_context.name,
        };
        if self.writes.replace(variables).is_some() {
            return Err(Error::unsupported("several table writers in a fragment"));
        }
        Ok(counts.project(exprs))
    }

    /// Where the output has the columns of the table writer, if there is one.
    pub(super) fn write_columns(&self, layout: &[Variable]) -> Result<Option<WriteColumns>> {
        let Some(writes) = &self.writes else { return Ok(None) };
        let position = |name: &str| {
            let found = layout.iter().position(|it| it.name == name);
            found.ok_or_else(|| {
                Error::unsupported(format!("a table writer whose column {name} is no output"))
            })
        };
        Ok(Some(WriteColumns {
            rows: position(&writes.rows)?,
            fragment: position(&writes.fragment)?,
            commit_context: position(&writes.commit_context)?,
        }))
    }
}
