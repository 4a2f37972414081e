//! EXPORT DATABASE and IMPORT DATABASE.
//!
//! ```text
//! folder/schema.sql      statements that create schemas, types, sequences, macros, tables, views
//!        load.sql        a COPY ... FROM of each table
//!        SCHEMA_TABLE.parquet (or .csv, ...)
//! ```
//!
//! Both read and write one snapshot: the export that of the statement, the import as one
//! transaction. `load.sql` names files with the folder of the export; the import looks for them in
//! the folder that it is given, so that the folder may have been moved.

use crate::{Session, planning::StatementContext, statement, write};
use std::collections::BTreeSet;
use volley_connector::{
    CatalogSnapshot, ForeignKeyDefinition, RelationEntry, SchemaSnapshot, Snapshot, TableEntry,
    TableId, ViewEntry,
};
use volley_error::{Error, Result};
use volley_io::{WriteMode, WriteOutcome, wait};
use volley_sql::{
    Dialect, Parameters, ParsedStatement, Statement, create_index_text, create_macro_text,
    create_sequence_text, create_table_text, create_type_text, create_view_text, foreign_key_text,
    qualified_name, quoted_name, quoted_text,
};

const SCHEMA_FILE: &str = "schema.sql";
const LOAD_FILE: &str = "load.sql";

/// The schema that every database has.
const MAIN: &str = volley_catalog::MAIN;

/// Where EXPORT DATABASE writes, and how.
pub(crate) struct Target {
    pub(crate) folder: String,
    pub(crate) format: String,
    /// Of COPY.
    pub(crate) options: Vec<(String, String)>,
}

/// A table and the schema that it is in.
type InSchema<'a, T> = (&'a SchemaSnapshot, &'a T);

/// Runs EXPORT DATABASE.
pub(crate) fn export(
    session: &Session,
    database: Option<&str>,
    target: &Target,
    cx: &StatementContext,
) -> Result<()> {
    let current = session.catalog.path().current().database.clone();
    let database = database.map_or(current, str::to_lowercase);
    let snapshot = &**cx.catalog.snapshot(&database)?;
    let catalog = snapshot.catalog();
    wait(session.files.of(&target.folder)?.create_folder(&target.folder))?;
    let dialect = session.settings().dialect;
    write_file(session, &target.folder, SCHEMA_FILE, schema_text(snapshot, dialect)?)?;
    let mut names = BTreeSet::new();
    let mut load = String::new();
    let (ordered, later) = ordered_tables(catalog);
    for (schema, table) in ordered {
        let file = file_name(schema, table, &target.format, &mut names);
        let path = format!("{}/{file}", target.folder.trim_end_matches('/'));
        let columns = stored_columns(table);
        let to = quoted_text(&path);
        let source = qualified_name(&[&database, &schema.name, &table.name]);
        let copy = format!("COPY {source}{columns} TO {to} {}", target.options_text());
        run_copy(session, &copy, cx)?;
        let name = object_name(schema, &table.name);
        let options = format!("(FORMAT {})", quoted_text(&target.format));
        load.push_str(&format!("COPY {name}{columns} FROM {to} {options};\n"));
    }
    for (schema, table, key) in later {
        load.push_str(&format!("{};\n", added_key_text(catalog, schema, table, key)));
    }
    write_file(session, &target.folder, LOAD_FILE, load)
}

/// Runs IMPORT DATABASE: in the transaction of the session, or else in one of its own.
pub(crate) fn import(session: &Session, folder: &str, now_micros: i64) -> Result<()> {
    let schema = read_file(session, folder, SCHEMA_FILE)?;
    let load = read_file(session, folder, LOAD_FILE)?;
    let path = session.catalog.path();
    let dialect = session.settings().dialect.to_string();
    let is_own = !session.is_in_transaction();
    if is_own {
        session.catalog.begin(now_micros)?;
    }
    let run = |text: &str, file: &str| -> Result<()> {
        for parsed in volley_sql::parse(text).map_err(|it| it.at("file", file))? {
            let parsed = relocated(parsed, folder);
            run_statement(session, &parsed).map_err(|it| without_span(it).at("file", file))?;
        }
        Ok(())
    };
    let imported = run(&schema, SCHEMA_FILE).and_then(|()| run(&load, LOAD_FILE));
    session.catalog.set_path(path);
    session.set("dialect", &dialect)?;
    match (imported, is_own) {
        (Ok(()), true) => session.catalog.commit(),
        (Err(error), true) => {
            session.catalog.roll_back()?;
            Err(error)
        }
        (imported, false) => imported,
    }
}

fn run_statement(session: &Session, parsed: &ParsedStatement) -> Result<()> {
    match statement::run(session, parsed)? {
        statement::Outcome::Rows(mut rows) => {
            while rows.next()?.is_some() {}
            Ok(())
        }
        statement::Outcome::Done(_) => Ok(()),
    }
}

/// The error without its place, which is in another text than the statement's.
fn without_span(error: Error) -> Error {
    let plain = Error::new(error.kind(), error.to_string());
    match error.hint_text() {
        Some(hint) => plain.hint(hint.to_owned()),
        None => plain,
    }
}

/// A COPY FROM of a file in the folder of the export, with that of the import.
fn relocated(parsed: ParsedStatement, folder: &str) -> ParsedStatement {
    let file = parsed.copied_file().and_then(|it| it.rsplit('/').next()).map(str::to_owned);
    match file {
        Some(file) => parsed.with_copied_file(format!("{}/{file}", folder.trim_end_matches('/'))),
        None => parsed,
    }
}

impl Target {
    /// The options of COPY.
    fn options_text(&self) -> String {
        let options = self
            .options
            .iter()
            .map(|(name, value)| format!(", {} {}", quoted_name(name), quoted_text(value)));
        format!("(FORMAT {}{})", quoted_text(&self.format), options.collect::<String>())
    }
}

/// Writes the rows of a COPY statement, as the statement of `cx` sees them.
fn run_copy(session: &Session, text: &str, cx: &StatementContext) -> Result<()> {
    let parsed = volley_sql::parse(text)?;
    for parsed in &parsed {
        let bound = statement::bind(session, parsed, cx, (Parameters::None, None));
        let Statement::Copy { query, path, format, options } = bound.map_err(without_span)? else {
            return Err(Error::internal("another statement than COPY"));
        };
        let planned = statement::copy_plan(session, query, &path, &format, &options, cx)?;
        let schema = planned.plan.schema().clone();
        write::count_of(&mut session.start(planned, schema)?)?;
    }
    Ok(())
}

/// The statements that create all objects.
fn schema_text(snapshot: &dyn Snapshot, dialect: Dialect) -> Result<String> {
    let catalog = snapshot.catalog();
    let mut text = Statements::default();
    if dialect != Dialect::default() {
        text.add(format!("SET dialect = '{dialect}'"));
    }
    for schema in catalog.schemas.values().filter(|it| !it.name.eq_ignore_ascii_case(MAIN)) {
        text.add(format!("CREATE SCHEMA {}", quoted_name(&schema.name)));
    }
    let all = || catalog.schemas.values();
    for schema in all() {
        for entry in schema.types.values() {
            text.add(create_type_text(dialect, &name_parts(schema, &entry.name), entry));
        }
        for sequence in schema.sequences.values() {
            let next = snapshot.next_number(sequence.id)?;
            let name = name_parts(schema, &sequence.name);
            // One that is at its end begins at the end.
            let last = if sequence.increment > 0 { sequence.greatest } else { sequence.least };
            text.add(create_sequence_text(&name, sequence, next.unwrap_or(last)));
        }
        for entry in schema.macros.values() {
            text.add(create_macro_text(&name_parts(schema, &entry.name), entry));
        }
    }
    let (ordered, later) = ordered_tables(catalog);
    for (schema, table) in ordered {
        let name = name_parts(schema, &table.name);
        let mut definition = (*table.definition).clone();
        let mut referenced = catalog.referenced_names(table.id);
        let is_later = |at: usize| later.iter().any(|it| it.1.id == table.id && it.2 == at);
        let mut positions = 0..;
        definition.foreign_keys.retain(|_| positions.next().is_none_or(|it| !is_later(it)));
        let mut positions = 0..;
        referenced.retain(|_| positions.next().is_none_or(|it| !is_later(it)));
        text.add(create_table_text(dialect, &name, &table.columns, &definition, &referenced));
        for index in &definition.indexes {
            text.add(create_index_text(&name, &table.columns, index));
        }
        table_comments(schema, table, &mut text);
    }
    for (schema, view) in ordered_views(catalog) {
        view_text(schema, view, dialect, &mut text)?;
    }
    Ok(text.0)
}

/// Statements of a file.
#[derive(Default)]
struct Statements(String);

impl Statements {
    fn add(&mut self, statement: String) {
        self.0.push_str(&statement);
        self.0.push_str(";\n");
    }
}

fn view_text(
    schema: &SchemaSnapshot,
    view: &ViewEntry,
    dialect: Dialect,
    text: &mut Statements,
) -> Result<()> {
    let of_view: Dialect = view.dialect.parse()?;
    if of_view != dialect {
        text.add(format!("SET dialect = '{of_view}'"));
    }
    let first = view.search_path.first().filter(|it| !it.eq_ignore_ascii_case(MAIN));
    if let Some(first) = first {
        text.add(format!("USE {}", quoted_name(first)));
    }
    // USE changes what a name without a schema means.
    let name = [schema.name.as_str(), &view.name];
    text.add(create_view_text(&name, &view.sql, &view.columns));
    if first.is_some() {
        text.add(format!("USE {MAIN}"));
    }
    if of_view != dialect {
        text.add(format!("SET dialect = '{dialect}'"));
    }
    let name = qualified_name(&name);
    if let Some(comment) = &view.comment {
        text.add(format!("COMMENT ON VIEW {name} IS {}", quoted_text(comment)));
    }
    for (column, comment) in &view.column_comments {
        let (column, comment) = (quoted_name(column), quoted_text(comment));
        text.add(format!("COMMENT ON COLUMN {name}.{column} IS {comment}"));
    }
    Ok(())
}

fn table_comments(schema: &SchemaSnapshot, table: &TableEntry, text: &mut Statements) {
    let name = object_name(schema, &table.name);
    if let Some(comment) = &table.definition.comment {
        text.add(format!("COMMENT ON TABLE {name} IS {}", quoted_text(comment)));
    }
    for (column, field) in table.definition.columns.iter().zip(&table.columns.fields) {
        if let Some(comment) = &column.comment {
            let (field, comment) = (quoted_name(&field.name), quoted_text(comment));
            text.add(format!("COMMENT ON COLUMN {name}.{field} IS {comment}"));
        }
    }
}

/// Schema and name; the schema `main` need not be written.
fn name_parts<'a>(schema: &'a SchemaSnapshot, name: &'a str) -> Vec<&'a str> {
    match schema.name.eq_ignore_ascii_case(MAIN) {
        true => vec![name],
        false => vec![&schema.name, name],
    }
}

fn object_name(schema: &SchemaSnapshot, name: &str) -> String {
    qualified_name(&name_parts(schema, name))
}

fn tables(catalog: &CatalogSnapshot) -> impl Iterator<Item = InSchema<'_, TableEntry>> {
    catalog.schemas.values().flat_map(|schema| {
        let relations = schema.relations.values();
        relations.filter_map(move |it| Some((&**schema, &**it.as_table()?)))
    })
}

/// A foreign key that is added when all tables have rows: its table, and its position there.
type LaterKey<'a> = (&'a SchemaSnapshot, &'a TableEntry, usize);

/// The tables, those that foreign keys reference first, and the foreign keys that no such order
/// allows.
fn ordered_tables(catalog: &CatalogSnapshot) -> (Vec<InSchema<'_, TableEntry>>, Vec<LaterKey<'_>>) {
    let mut left: Vec<InSchema<'_, TableEntry>> = tables(catalog).collect();
    let (mut ordered, mut later) = (Vec::with_capacity(left.len()), Vec::new());
    while !left.is_empty() {
        let ids: BTreeSet<TableId> = left.iter().map(|it| it.1.id).collect();
        let waits = |table: &TableEntry, key: &ForeignKeyDefinition| {
            key.table.is_some_and(|it| it != table.id && ids.contains(&it))
        };
        let is_free = |it: &InSchema<'_, TableEntry>| {
            !it.1.definition.foreign_keys.iter().any(|key| waits(it.1, key))
        };
        // Tables that reference each other are in any order.
        let at = left.iter().position(is_free).unwrap_or_default();
        let (schema, table) = left.remove(at);
        let keys = table.definition.foreign_keys.iter().enumerate();
        later.extend(keys.filter(|it| waits(table, it.1)).map(|it| (schema, table, it.0)));
        ordered.push((schema, table));
    }
    (ordered, later)
}

/// ALTER TABLE that adds a foreign key.
fn added_key_text(
    catalog: &CatalogSnapshot,
    schema: &SchemaSnapshot,
    table: &TableEntry,
    position: usize,
) -> String {
    let referenced = catalog.referenced_names(table.id);
    let key = table.definition.foreign_keys.get(position).zip(referenced.get(position));
    let text = key.map_or_else(String::new, |it| foreign_key_text(&table.columns, it.0, it.1));
    let name = key.and_then(|it| it.0.name.as_deref());
    let name = name.map_or_else(String::new, |it| format!("CONSTRAINT {} ", quoted_name(it)));
    format!("ALTER TABLE {} ADD {name}{text}", object_name(schema, &table.name))
}

/// The views, those that others may read first. A text may read the view whose name is a word of
/// it.
fn ordered_views(catalog: &CatalogSnapshot) -> Vec<InSchema<'_, ViewEntry>> {
    let mut left: Vec<InSchema<'_, ViewEntry>> = Vec::new();
    for schema in catalog.schemas.values() {
        for relation in schema.relations.values() {
            if let RelationEntry::View(view) = relation {
                left.push((schema, view));
            }
        }
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let names: BTreeSet<String> = left.iter().map(|it| it.1.name.to_lowercase()).collect();
        let is_free = |it: &InSchema<'_, ViewEntry>| {
            let own = it.1.name.to_lowercase();
            words(&it.1.sql).all(|word| word == own || !names.contains(&word))
        };
        // Views whose texts have each other's names are in any order.
        let at = left.iter().position(is_free).unwrap_or_default();
        ordered.push(left.remove(at));
    }
    ordered
}

/// The words of a text, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_end = |it: char| !it.is_alphanumeric() && it != '_';
    text.split(is_end).filter(|it| !it.is_empty()).map(str::to_lowercase)
}

/// The columns that rows have, in parentheses, if some are computed.
fn stored_columns(table: &TableEntry) -> String {
    let is_generated = |it: &usize| table.definition.is_generated(*it);
    let all = 0..table.columns.len();
    if !all.clone().any(|it| is_generated(&it)) {
        return String::new();
    }
    let names = all.filter(|it| !is_generated(it));
    let names = names.filter_map(|it| table.columns.fields.get(it));
    let names: Vec<String> = names.map(|it| quoted_name(&it.name)).collect();
    format!(" ({})", names.join(", "))
}

/// A name for the file of a table, which no other table has.
fn file_name(
    schema: &SchemaSnapshot,
    table: &TableEntry,
    format: &str,
    taken: &mut BTreeSet<String>,
) -> String {
    let parts = name_parts(schema, &table.name).join("_").to_lowercase();
    let is_plain = |it: char| it.is_alphanumeric() || it == '_' || it == '-';
    let stem: String = parts.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
    let mut name = format!("{stem}.{format}");
    for number in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{stem}_{number}.{format}");
    }
    name
}

fn write_file(session: &Session, folder: &str, name: &str, text: String) -> Result<()> {
    let path = format!("{}/{name}", folder.trim_end_matches('/'));
    let bytes = text.into_bytes().into();
    let written = session.files.of(&path)?.write(&path, bytes, WriteMode::CreateNew);
    match wait(written)? {
        WriteOutcome::Written(_) => Ok(()),
        WriteOutcome::AlreadyExists => {
            let error = Error::invalid_query("the folder has an exported database already");
            Err(error.at("file", path).hint("name another folder, or remove it"))
        }
    }
}

fn read_file(session: &Session, folder: &str, name: &str) -> Result<String> {
    let path = format!("{}/{name}", folder.trim_end_matches('/'));
    let file = session.files.open(&path)?;
    let bytes = file.read(0..file.size_bytes())?.to_vec();
    String::from_utf8(bytes)
        .map_err(|_| Error::invalid_value("the file is not UTF-8").at("file", path))
}
