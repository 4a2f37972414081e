//! Objects of a catalog as the statements that create them again.
//!
//! Names are lists of parts: an object, or a schema and an object, or a database before both.

use crate::{Dialect, dialect::RESERVED};
use sqlparser::tokenizer::Token;
use volley_connector::{
    CatalogSnapshot, ColumnDefinition, ForeignKeyDefinition, IndexDefinition, IndexPart,
    MacroEntry, OnCommit, ReferencedName, SequenceEntry, TableDefinition, TypeEntry,
};
use volley_types::{Field, Schema};

/// Blanks before a column.
const INDENT: &str = "    ";

/// CREATE TABLE. `referenced`: the tables of the first foreign keys; others are left out.
pub fn create_table_text(
    dialect: Dialect,
    name: &[&str],
    columns: &Schema,
    definition: &TableDefinition,
    referenced: &[ReferencedName],
) -> String {
    let plain = ColumnDefinition::default();
    let of_column = |index: usize| definition.columns.get(index).unwrap_or(&plain);
    let fields = columns.fields.iter().enumerate();
    let mut parts: Vec<String> =
        fields.map(|(index, it)| column_text(dialect, it, of_column(index))).collect();
    let column_name =
        |it: &usize| columns.fields.get(*it).map_or_else(String::new, |it| quoted_name(&it.name));
    parts.extend(definition.keys.iter().filter(|it| it.index.is_none()).map(|key| {
        let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
        let names: Vec<String> = key.columns.iter().map(column_name).collect();
        format!("{kind} ({})", names.join(", "))
    }));
    parts.extend(definition.checks.iter().map(|check| {
        let name = check.name.as_ref();
        let name = name.map_or_else(String::new, |it| format!("CONSTRAINT {} ", quoted_name(it)));
        format!("{name}CHECK ({})", check.condition)
    }));
    let foreign = definition.foreign_keys.iter().zip(referenced);
    parts.extend(foreign.map(|(key, referenced)| {
        let name = key.name.as_ref();
        let name = name.map_or_else(String::new, |it| format!("CONSTRAINT {} ", quoted_name(it)));
        format!("{name}{}", foreign_key_text(columns, key, referenced))
    }));
    let parts: Vec<String> = parts.iter().map(|it| format!("{INDENT}{it}")).collect();
    let on_commit = match definition.on_commit {
        OnCommit::PreserveRows => "",
        OnCommit::DeleteRows => " ON COMMIT DELETE ROWS",
        OnCommit::Drop => " ON COMMIT DROP",
    };
    let temporary = if on_commit.is_empty() { "" } else { "TEMPORARY " };
    let (name, parts) = (qualified_name(name), parts.join(",\n"));
    format!("CREATE {temporary}TABLE {name} (\n{parts}\n){on_commit}")
}

/// FOREIGN KEY of a table with these columns.
pub fn foreign_key_text(
    columns: &Schema,
    key: &ForeignKeyDefinition,
    referenced: &ReferencedName,
) -> String {
    let own = key.columns.iter().filter_map(|it| columns.fields.get(*it));
    let own: Vec<String> = own.map(|it| quoted_name(&it.name)).collect();
    let others: Vec<String> = referenced.columns.iter().map(|it| quoted_name(it)).collect();
    let ReferencedName { schema, table, .. } = referenced;
    let table = match schema.eq_ignore_ascii_case(CatalogSnapshot::MAIN) {
        true => quoted_name(table),
        false => qualified_name(&[schema, table]),
    };
    format!("FOREIGN KEY ({}) REFERENCES {table}({})", own.join(", "), others.join(", "))
}

/// CREATE INDEX of a table with these columns.
pub fn create_index_text(table: &[&str], columns: &Schema, index: &IndexDefinition) -> String {
    let unique = if index.is_unique { "UNIQUE " } else { "" };
    let parts = index_part_texts(columns, index).join(", ");
    let (name, table) = (quoted_name(&index.name), qualified_name(table));
    format!("CREATE {unique}INDEX {name} ON {table}({parts})")
}

/// What an index of a table with these columns is made of: columns, and expressions in parentheses.
pub fn index_part_texts(columns: &Schema, index: &IndexDefinition) -> Vec<String> {
    let text = |it: &IndexPart| match it {
        IndexPart::Column(column) => {
            columns.fields.get(*column).map_or_else(String::new, |it| quoted_name(&it.name))
        }
        IndexPart::Expression(text) => format!("({text})"),
    };
    index.parts.iter().map(text).collect()
}

fn column_text(dialect: Dialect, field: &Field, column: &ColumnDefinition) -> String {
    let data_type = dialect.type_name(&field.data_type);
    let mut text = format!("{} {data_type}", quoted_name(&field.name));
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

/// CREATE VIEW.
pub fn create_view_text(name: &[&str], sql: &str, columns: &[String]) -> String {
    let names: Vec<String> = columns.iter().map(|it| quoted_name(it)).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!("CREATE VIEW {}{names} AS\n{sql}", qualified_name(name))
}

/// CREATE SEQUENCE, which begins with `start`.
pub fn create_sequence_text(name: &[&str], sequence: &SequenceEntry, start: i64) -> String {
    let SequenceEntry { increment, least, greatest, cycles, .. } = sequence;
    let cycle = if *cycles { "CYCLE" } else { "NO CYCLE" };
    format!(
        "CREATE SEQUENCE {} INCREMENT BY {increment} MINVALUE {least} MAXVALUE {greatest} \
         START WITH {start} {cycle}",
        qualified_name(name)
    )
}

/// CREATE TYPE.
pub fn create_type_text(dialect: Dialect, name: &[&str], entry: &TypeEntry) -> String {
    format!("CREATE TYPE {} AS {}", qualified_name(name), dialect.type_name(&entry.data_type))
}

/// CREATE MACRO.
pub fn create_macro_text(name: &[&str], entry: &MacroEntry) -> String {
    let parameters = entry.parameters.iter().map(|it| {
        let mut text = quoted_name(&it.name);
        if let Some(data_type) = &it.data_type {
            text.push_str(&format!(" {data_type}"));
        }
        if let Some(default) = &it.default {
            text.push_str(&format!(" := {default}"));
        }
        text
    });
    let parameters: Vec<String> = parameters.collect();
    let table = if entry.is_table { "TABLE " } else { "" };
    let (name, parameters) = (qualified_name(name), parameters.join(", "));
    format!("CREATE MACRO {name}({parameters}) AS {table}{}", entry.body)
}

/// The parts of a name as statements have them, joined by dots.
pub fn qualified_name(parts: &[&str]) -> String {
    parts.iter().map(|it| quoted_name(it)).collect::<Vec<_>>().join(".")
}

/// A name as statements have it: in quotes where it needs them.
pub fn quoted_name(name: &str) -> String {
    let begins = name.starts_with(|it: char| it.is_ascii_lowercase() || it == '_');
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    let is_reserved = matches!(Token::make_word(name, None), Token::Word(word)
        if RESERVED.contains(&word.keyword));
    match begins && name.chars().all(is_plain) && !is_reserved {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A text as a literal of SQL.
pub fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
