//! The SQL corpus of the repository binds.

use super::{Empty, Tables, describe, statement_in, unqualified};
use std::{fmt::Write, path::Path, sync::Arc};
use volley_connector::{ColumnDefinition, IndexDefinition, IndexPart, KeyDefinition};
use volley_error::Error;
use volley_sql::{
    Alteration, Catalog, Dialect, DropKind, Home, Relation, Statement, TypeDefinition, parse,
};
use volley_types::custom::Enumeration;

/// A record of a `.slt` file: its statement and whether it fails.
struct Record {
    sql: String,
    fails: bool,
}

fn records(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for block in text.split("\n\n") {
        let mut lines = block.lines().skip_while(|it| it.starts_with('#') || it.is_empty());
        let Some(head) = lines.next() else { continue };
        if !(head.starts_with("statement") || head.starts_with("query")) {
            continue;
        }
        let sql: Vec<&str> = lines.take_while(|it| !it.starts_with("----")).collect();
        let fails = head.starts_with("statement error") || head.starts_with("query error");
        records.push(Record { sql: sql.join("\n"), fails });
    }
    records
}

/// Binds, and makes and drops tables and views, and changes the dialect.
fn run(tables: &Tables, dialect: &mut Dialect, sql: &str) -> Result<(), Error> {
    let mut chosen = Ok(*dialect);
    let mut map = |bound: Statement| match bound {
        Statement::CreateTable { name, columns, definition, .. } => {
            let definition = Arc::new(definition);
            put(tables, Empty { name, schema: columns, definition });
        }
        Statement::AlterTable { table, alteration: Some(alteration) } => {
            alter(tables, &table, alteration);
        }
        Statement::CreateIndex { table, index, .. } => add_index(tables, &table, &index),
        Statement::CreateView { name, sql, columns, dialect, .. } => {
            let view = Relation::View { sql, columns, dialect, home: Home::default() };
            tables.0.borrow_mut().insert(name.to_ascii_lowercase(), view);
        }
        Statement::CreateSequence { name, .. } => {
            tables.1.borrow_mut().sequences.insert(unqualified(&name));
        }
        Statement::CreateType { name, definition, .. } => {
            let data_type = match definition {
                TypeDefinition::Type { data_type, .. } => data_type,
                TypeDefinition::Labels(_) => Enumeration::data_type(Vec::new()).unwrap(),
            };
            tables.1.borrow_mut().types.insert(unqualified(&name), data_type);
        }
        Statement::CreateMacro { name, definition, .. } => {
            tables.1.borrow_mut().macros.insert(unqualified(&name), Arc::new(definition));
        }
        Statement::Drop { kind, names, .. } => {
            for name in names.iter().map(|it| unqualified(it)) {
                let mut defined = tables.1.borrow_mut();
                let _ = match kind {
                    DropKind::Sequence => defined.sequences.remove(&name),
                    DropKind::Type | DropKind::TypeAndUsers => {
                        defined.types.remove(&name).is_some()
                    }
                    DropKind::Macro => defined.macros.remove(&name).is_some(),
                    _ => tables.0.borrow_mut().remove(&name).is_some(),
                };
            }
        }
        Statement::Set { name, value } if name == "dialect" => chosen = value.parse(),
        _ => {}
    };
    for part in parse(sql)? {
        // The parts of such a statement are bound when those before them have run.
        if part.changes_in_with()?.is_some() {
            continue;
        }
        statement_in(*dialect, tables, part.text()).map(&mut map)?;
    }
    *dialect = chosen?;
    Ok(())
}

fn put(tables: &Tables, table: Empty) {
    let name = table.name.to_ascii_lowercase();
    let relation = tables.relation(table);
    tables.0.borrow_mut().insert(name, relation);
}

fn add_index(tables: &Tables, name: &str, index: &IndexDefinition) {
    let Ok(Some(Relation::Table(old))) = tables.table(name) else { return };
    let stored = old.table.as_stored().unwrap();
    let (schema, mut definition) = (old.table.schema().clone(), (*stored.definition).clone());
    if index.is_unique {
        let columns = index.parts.iter().filter_map(|it| match it {
            IndexPart::Column(column) => Some(*column),
            IndexPart::Expression(_) => None,
        });
        let (columns, index) = (columns.collect(), Some(index.name.clone()));
        definition.keys.push(KeyDefinition { columns, is_primary: false, index });
    }
    definition.indexes.push(index.clone());
    put(tables, Empty { name: name.to_owned(), schema, definition: Arc::new(definition) });
}

fn alter(tables: &Tables, name: &str, alteration: Alteration) {
    let Ok(Some(Relation::Table(old))) = tables.table(name) else { return };
    let stored = old.table.as_stored().unwrap();
    let (mut schema, mut definition) = (old.table.schema().clone(), (*stored.definition).clone());
    let mut name = name.to_owned();
    definition.columns.resize(schema.len(), ColumnDefinition::default());
    match alteration {
        Alteration::AddColumn { field, definition: column, .. } => {
            schema.fields.push(field);
            definition.columns.push(column);
        }
        Alteration::DropColumn { index } => {
            schema.fields.remove(index);
            definition.columns.remove(index);
        }
        Alteration::RenameColumn { index, name } => schema.fields[index].name = name,
        Alteration::RenameTable { name: new } => name = new,
        Alteration::Retype { index, data_type, .. } => schema.fields[index].data_type = data_type,
        Alteration::Define { definition: new } => definition = new,
    }
    put(tables, Empty { name, schema, definition: Arc::new(definition) });
}

/// Whether the columns of a file, or a function not written yet, are the reason.
fn needs_files(sql: &str, error: &Error) -> bool {
    let message = error.message();
    ["tests/data", "$__TEST_DIR__"].iter().any(|it| sql.contains(it))
        || ["no such function", "no such table", "no such column", "INSERT has"]
            .iter()
            .any(|it| message.starts_with(it))
}

fn files(folder: &Path, ending: &str, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn statements_that_work_bind() {
    let folder = Path::new("../../tests/slt");
    let mut found = Vec::new();
    files(folder, "slt", &mut found);
    // The catalog of this test knows one database.
    found.retain(|it| !it.ends_with("ddl/attach.slt"));
    let mut failures = String::new();
    for path in found {
        let tables = Tables::default();
        let mut dialect = Dialect::default();
        for record in records(&std::fs::read_to_string(&path).unwrap()) {
            if let Err(error) = run(&tables, &mut dialect, &record.sql)
                && !record.fails
                && !needs_files(&record.sql, &error)
                && !error.message().starts_with("a statement that runs a query before")
            {
                let name = path.file_name().unwrap().to_string_lossy();
                writeln!(failures, "{name}: {}\n    {}", describe(&record.sql, &error), record.sql)
                    .unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Errors that the session finds, not the front.
const OF_THE_SESSION: [&str; 7] = [
    "a table made twice",
    "dropping",
    "a setting",
    "a unit of time",
    "too few",
    "a cast",
    "too many",
];

#[test]
fn statements_that_fail_in_the_front_fail() {
    let folder = Path::new("../../tests/errors");
    let mut failures = String::new();
    for file in ["names", "syntax", "types"] {
        let text = std::fs::read_to_string(folder.join(format!("{file}.err"))).unwrap();
        for case in text.split("\ncase ").skip(1) {
            let tables = Tables::default();
            let mut sql = Vec::new();
            let mut wanted = String::new();
            let mut kind = "";
            for line in case.lines() {
                match line.split_once(' ').unwrap_or((line, "")) {
                    ("setup", setup) => {
                        run(&tables, &mut Dialect::default(), setup).unwrap();
                    }
                    ("sql", line) => sql.push(line),
                    ("contains", text) => wanted = text.to_ascii_lowercase(),
                    ("kind", text) => kind = text,
                    _ => {}
                }
            }
            let sql = sql.join("\n");
            let name = case.lines().next().unwrap();
            match run(&tables, &mut Dialect::default(), &sql) {
                Ok(()) if OF_THE_SESSION.iter().any(|it| name.starts_with(it)) => {}
                Ok(()) => writeln!(failures, "{file}: {name}: no error").unwrap(),
                Err(error) => {
                    let shown = describe(&sql, &error);
                    if shown.contains("no such function") {
                        continue;
                    }
                    if !shown.to_ascii_lowercase().contains(&wanted)
                        || format!("{:?}", error.kind()) != kind
                    {
                        writeln!(failures, "{file}: {name}: {:?} {shown}", error.kind()).unwrap();
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
