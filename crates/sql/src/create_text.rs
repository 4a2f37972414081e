//! Statements that create objects again, as text.

use crate::{Dialect, dialect::RESERVED};
use sqlparser::tokenizer::Token;
use volley_connector::{ColumnDefinition, OnCommit, SequenceEntry, Table, TableDefinition};
use volley_types::{Field, Schema};

/// Blanks before a column.
const INDENT: &str = "    ";

/// The statement that creates a table again; `name`: parts joined by dots.
pub fn table(dialect: Dialect, name: &str, table: &dyn Table) -> String {
    let stored = table.as_stored();
    let none = TableDefinition::default();
    let definition = stored.as_ref().map_or(&none, |it| &*it.definition);
    stored_table(dialect, name, (table.schema(), definition))
}

/// The statement that creates a table of these columns and promises again.
pub fn stored_table(
    dialect: Dialect,
    name: &str,
    (schema, definition): (&Schema, &TableDefinition),
) -> String {
    let plain = ColumnDefinition::default();
    let mut parts: Vec<String> = schema
        .fields
        .iter()
        .enumerate()
        .map(|it| column(dialect, it.1, definition.columns.get(it.0).unwrap_or(&plain)))
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

fn column(dialect: Dialect, field: &Field, column: &ColumnDefinition) -> String {
    let data_type = dialect.type_name(&field.data_type);
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

/// The statement that creates a view again.
pub fn view(name: &str, sql: &str, columns: &[String]) -> String {
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

/// The statement that creates a sequence again, at its start.
pub fn sequence(name: &str, entry: &SequenceEntry) -> String {
    let SequenceEntry { start, increment, least, greatest, cycles, .. } = entry;
    let cycle = if *cycles { "CYCLE" } else { "NO CYCLE" };
    format!(
        "CREATE SEQUENCE {} INCREMENT BY {increment} MINVALUE {least} MAXVALUE {greatest} \
         START {start} {cycle}",
        quoted_parts(name)
    )
}
