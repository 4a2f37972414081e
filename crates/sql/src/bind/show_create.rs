//! SHOW CREATE: the statement that creates a table or view again.

use super::{Binder, write::projected};
use crate::{Relation, Statement, dialect::RESERVED, parse};
use sqlparser::{
    ast::{ObjectName, Spanned},
    tokenizer::Token,
};
use volley_connector::{ColumnDefinition, OnCommit, Table, TableDefinition};
use volley_error::{Error, Result};
use volley_logical::{Expr, Plan};
use volley_types::{Field, Type, Value};

/// Blanks before a column.
const INDENT: &str = "    ";

impl Binder<'_> {
    /// A row with the text of a statement, for a view or else a table.
    pub(super) fn show_create(&self, name: &ObjectName, is_view: bool) -> Result<Statement> {
        let span = self.span(name.span());
        let dotted = parse::dotted(name);
        let found = self.shared.catalog.table(&dotted).map_err(|it| it.span(span))?;
        let text = match found.ok_or_else(|| self.no_table(&dotted, span))? {
            Relation::Table(table) if !is_view => self.create_table_text(&dotted, &*table.table),
            Relation::View { sql, columns, .. } if is_view => {
                create_view_text(&dotted, &sql, &columns)
            }
            Relation::Table(_) => {
                let error = Error::invalid_query(format!("not a view: {dotted}")).span(span);
                return Err(error.hint(format!("SHOW CREATE TABLE {dotted}")));
            }
            Relation::View { .. } => {
                let error = Error::invalid_query(format!("not a table: {dotted}")).span(span);
                return Err(error.hint(format!("SHOW CREATE VIEW {dotted}")));
            }
        };
        let title = if is_view { "Create View" } else { "Create Table" };
        let column = self.column(title, Type::Varchar);
        let text = Expr::constant(Value::text(text), Type::Varchar);
        Ok(Statement::Query(projected(Plan::one_row(), vec![(column, text)]).into()))
    }

    fn create_table_text(&self, name: &str, table: &dyn Table) -> String {
        let schema = table.schema();
        let stored = table.as_stored();
        let none = TableDefinition::default();
        let definition = stored.as_ref().map_or(&none, |it| &*it.definition);
        let plain = ColumnDefinition::default();
        let mut parts: Vec<String> = schema
            .fields
            .iter()
            .enumerate()
            .map(|it| self.column_text(it.1, definition.columns.get(it.0).unwrap_or(&plain)))
            .collect();
        let column_name =
            |it: &usize| schema.fields.get(*it).map_or_else(String::new, |it| quoted(&it.name));
        parts.extend(definition.keys.iter().map(|key| {
            let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
            let names: Vec<String> = key.columns.iter().map(column_name).collect();
            format!("{kind} ({})", names.join(", "))
        }));
        parts.extend(definition.checks.iter().map(|check| {
            let name = check.name.as_ref();
            let name = name.map_or_else(String::new, |it| format!("CONSTRAINT {} ", quoted(it)));
            format!("{name}CHECK ({})", check.condition)
        }));
        let parts: Vec<String> = parts.iter().map(|it| format!("{INDENT}{it}")).collect();
        let on_commit = match definition.on_commit {
            OnCommit::PreserveRows => "",
            OnCommit::DeleteRows => " ON COMMIT DELETE ROWS",
            OnCommit::Drop => " ON COMMIT DROP",
        };
        let temporary = if on_commit.is_empty() { "" } else { "TEMPORARY " };
        let (name, parts) = (quoted_parts(name), parts.join(",\n"));
        format!("CREATE {temporary}TABLE {name} (\n{parts}\n){on_commit}")
    }

    fn column_text(&self, field: &Field, column: &ColumnDefinition) -> String {
        let data_type = self.shared.dialect.type_name(&field.data_type);
        let mut text = format!("{} {data_type}", quoted(&field.name));
        if column.is_not_null {
            text.push_str(" NOT NULL");
        }
        if let Some(default) = &column.default {
            text.push_str(&format!(" DEFAULT {default}"));
        }
        if let Some(generated) = &column.generated {
            text.push_str(&format!(" GENERATED ALWAYS AS ({generated})"));
        }
        text
    }
}

fn create_view_text(name: &str, sql: &str, columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|it| quoted(it)).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!("CREATE VIEW {}{names} AS\n{sql}", quoted_parts(name))
}

/// A name with a schema, perhaps.
fn quoted_parts(name: &str) -> String {
    name.split('.').map(quoted).collect::<Vec<_>>().join(".")
}

/// A name as statements have it: in quotes where it needs them.
fn quoted(name: &str) -> String {
    let begins = name.starts_with(|it: char| it.is_ascii_lowercase() || it == '_');
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    let is_reserved = matches!(Token::make_word(name, None), Token::Word(word)
        if RESERVED.contains(&word.keyword));
    match begins && name.chars().all(is_plain) && !is_reserved {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
