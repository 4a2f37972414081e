//! Rows that describe the objects of databases.

use super::{
    information_schema::view_schema,
    rows::{
        Kind, count, is_internal, is_temporary, no_tags, number, numeric, object, object_id,
        optional, texts, type_id,
    },
};
use crate::catalog::SessionHost;
use std::sync::Arc;
use volley_catalog::{
    Attached, FoundTable, INFORMATION_SCHEMA, MAIN, MEMORY, Object, SchemaPlace, StatementCatalog,
    TEMPORARY,
};
use volley_connector::{
    KeyDefinition, ReferencedName, SchemaSnapshot, TableDefinition, TableEntry, WriteAccess,
};
use volley_error::Result;
use volley_sql::{
    create_index_text, create_sequence_text, create_table_text, create_view_text, foreign_key_text,
    index_part_texts,
};
use volley_types::{Field, Schema, Value, text::TypeNames};

type Rows = Result<Vec<Vec<Value>>>;

pub(super) fn databases(_host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let row = |(name, attached): (&str, &Attached)| {
        let (path, kind) = match attached.path.as_str() {
            ":memory:" => (Value::Null, "memory"),
            path => (Value::text(path), "native"),
        };
        vec![
            Value::text(&attached.name),
            object_id(Kind::Database, &[name]),
            path,
            Value::Null,
            no_tags(),
            Value::Boolean(name == TEMPORARY),
            Value::text(kind),
            Value::Boolean(attached.access == WriteAccess::ReadOnly),
        ]
    };
    Ok(catalog.databases().map(row).collect())
}

pub(super) fn schemas(_host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let mut rows = Vec::new();
    let mut add = |at: &SchemaPlace, attached: &Attached, name: &str| {
        rows.push(vec![
            object_id(Kind::Schema, &[&at.database, &at.schema]),
            Value::text(&attached.name),
            object_id(Kind::Database, &[&at.database]),
            Value::text(name),
            Value::Null,
            no_tags(),
            Value::Boolean(is_internal(at)),
            match at.schema == MAIN || is_internal(at) {
                true => Value::Null,
                false => Value::text(format!("CREATE SCHEMA {name};")),
            },
        ]);
    };
    for (database, attached) in catalog.databases() {
        let snapshot = catalog.snapshot(database)?;
        for (key, schema) in &snapshot.catalog().schemas {
            add(&SchemaPlace::new(database, key), attached, &schema.name);
        }
        if database == MEMORY {
            let at = SchemaPlace::new(database, INFORMATION_SCHEMA);
            add(&at, attached, INFORMATION_SCHEMA);
        }
    }
    Ok(rows)
}

pub(super) fn tables(_host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        let at = &found.place;
        let none = Arc::default();
        let (schema, definition, rows_known) = match &found.object {
            Object::View(_) => continue,
            Object::Registered(it) => {
                (it.table.schema().clone(), &none, it.table.statistics()?.rows)
            }
            Object::Table(it) => {
                let table = catalog.snapshot(&at.database)?.table(it.id)?;
                (it.columns.clone(), &it.definition, table.statistics()?.rows)
            }
        };
        let sql = create_table_text(
            catalog.dialect(),
            &shown(at, found.object.name()),
            &schema,
            definition,
            &referenced_by(catalog, &found)?,
        );
        let estimate = rows_known.map_or(Value::Null, |it| count(it as usize));
        let mut row = object(Kind::Relation, at, found.object.name());
        row.extend([
            optional(definition.comment.as_deref()),
            no_tags(),
            Value::Boolean(false),
            Value::Boolean(is_temporary(at)),
            Value::Boolean(definition.keys.iter().any(|it| it.is_primary)),
            estimate,
            count(schema.fields.len()),
            count(key_constraints(definition).count() + definition.indexes.len()),
            count(definition.checks.len()),
            Value::text(sql + ";"),
        ]);
        rows.push(row);
    }
    Ok(rows)
}

pub(super) fn views(host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        let Object::View(view) = &found.object else { continue };
        let at = &found.place;
        // A view that cannot be bound any more has no columns.
        let schema = columns_of(host, catalog, &found).ok();
        let sql = create_view_text(&shown(at, &view.name), &view.sql, &view.columns);
        let mut row = object(Kind::Relation, at, &view.name);
        row.extend([
            optional(view.comment.as_deref()),
            no_tags(),
            Value::Boolean(false),
            Value::Boolean(is_temporary(at)),
            schema.as_ref().map_or(Value::Null, |it| count(it.fields.len())),
            Value::text(sql + ";"),
            Value::Boolean(schema.is_some()),
        ]);
        rows.push(row);
    }
    Ok(rows)
}

pub(super) fn columns(host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let type_names = host.session.settings().type_names;
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        // A view that cannot be bound any more has no columns.
        let Ok(schema) = columns_of(host, catalog, &found) else { continue };
        let none = Arc::default();
        let definition = match &found.object {
            Object::Table(it) => &it.definition,
            _ => &none,
        };
        for (index, field) in schema.fields.iter().enumerate() {
            rows.push(column(&found, (index, field), definition, type_names));
        }
    }
    Ok(rows)
}

fn column(
    found: &FoundTable,
    (index, field): (usize, &Field),
    definition: &TableDefinition,
    type_names: TypeNames,
) -> Vec<Value> {
    let own = definition.columns.get(index);
    let comment = match &found.object {
        Object::View(view) => {
            view.column_comments.get(&field.name.to_lowercase()).map(String::as_str)
        }
        _ => own.and_then(|it| it.comment.as_deref()),
    };
    let generated = own.and_then(|it| it.generated.as_deref());
    let data_type = type_names.name(&field.data_type);
    let (precision, radix, scale) = numeric(&field.data_type);
    let mut row = object(Kind::Relation, &found.place, found.object.name());
    row.extend([
        Value::text(&field.name),
        number(i32::try_from(index + 1).ok()),
        optional(comment),
        Value::Boolean(false),
        optional(own.and_then(|it| it.default.as_deref())),
        Value::Boolean(!definition.is_not_null(index)),
        Value::text(&data_type),
        type_id(&field.data_type),
        Value::Null,
        number(precision),
        number(radix),
        number(scale),
        no_tags(),
        Value::Boolean(generated.is_some()),
        optional(generated),
    ]);
    row
}

pub(super) fn constraints(_host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        let Object::Table(table) = &found.object else { continue };
        let referenced = referenced_by(catalog, &found)?;
        for (index, it) in constraints_of(table, &referenced).into_iter().enumerate() {
            let names = it.column_names(table);
            let name = it.full_name(table);
            let other = it.referenced;
            let mut row = object(Kind::Relation, &found.place, &table.name);
            row.extend([
                count(index),
                Value::text(it.kind),
                Value::text(it.text),
                optional(it.expression.as_deref()),
                Value::Array(it.columns.iter().map(|it| count(*it)).collect()),
                texts(names),
                Value::text(name),
                optional(other.map(|it| it.table.as_str())),
                texts(other.into_iter().flat_map(|it| &it.columns).map(String::as_str)),
            ]);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The tables that the foreign keys of a table reference.
pub(super) fn referenced_by(
    catalog: &StatementCatalog,
    found: &FoundTable,
) -> Result<Vec<ReferencedName>> {
    match &found.object {
        Object::Table(table) => {
            Ok(catalog.snapshot(&found.place.database)?.catalog().referenced_names(table.id))
        }
        _ => Ok(Vec::new()),
    }
}

/// The keys that are constraints, not indexes.
fn key_constraints(definition: &TableDefinition) -> impl Iterator<Item = &KeyDefinition> {
    definition.keys.iter().filter(|it| it.index.is_none())
}

/// A constraint of a table.
pub(super) struct Constraint<'r> {
    pub(super) kind: &'static str,
    /// What the name of one without a name ends in.
    suffix: &'static str,
    name: Option<String>,
    pub(super) text: String,
    expression: Option<String>,
    columns: Vec<usize>,
    /// What a foreign key references.
    referenced: Option<&'r ReferencedName>,
}

impl Constraint<'_> {
    /// The names of its columns.
    pub(super) fn column_names<'t>(&self, table: &'t TableEntry) -> Vec<&'t str> {
        let fields = self.columns.iter().filter_map(|it| table.columns.fields.get(*it));
        fields.map(|it| it.name.as_str()).collect()
    }

    /// Its name, or one made of those of its table and columns.
    fn full_name(&self, table: &TableEntry) -> String {
        let made = || {
            let columns = self.column_names(table);
            let others = self.referenced.into_iter().flat_map(|it| &it.columns);
            let others: Vec<&str> = others.map(String::as_str).collect();
            let parts = [&[table.name.as_str()], columns.as_slice(), &others, &[self.suffix]];
            parts.concat().join("_")
        };
        self.name.clone().unwrap_or_else(made)
    }
}

/// Keys, then foreign keys, then checks, then columns that are not null. `referenced`: the tables
/// of the foreign keys.
pub(super) fn constraints_of<'r>(
    table: &TableEntry,
    referenced: &'r [ReferencedName],
) -> Vec<Constraint<'r>> {
    let definition = &table.definition;
    let name_of = |it: &usize| table.columns.fields.get(*it).map_or("", |it| it.name.as_str());
    let mut all = Vec::new();
    for key in key_constraints(definition) {
        let (kind, suffix) = match key.is_primary {
            true => ("PRIMARY KEY", "pkey"),
            false => ("UNIQUE", "key"),
        };
        let names: Vec<&str> = key.columns.iter().map(name_of).collect();
        let text = format!("{kind}({})", names.join(", "));
        let columns = key.columns.clone();
        let (name, expression, referenced) = (None, None, None);
        all.push(Constraint { kind, suffix, name, text, expression, columns, referenced });
    }
    all.extend(definition.foreign_keys.iter().zip(referenced).map(|(key, referenced)| {
        Constraint {
            kind: "FOREIGN KEY",
            suffix: "fkey",
            name: key.name.clone(),
            text: foreign_key_text(&table.columns, key, referenced),
            expression: None,
            columns: key.columns.clone(),
            referenced: Some(referenced),
        }
    }));
    all.extend(definition.checks.iter().map(|check| Constraint {
        kind: "CHECK",
        suffix: "check",
        name: check.name.clone(),
        text: format!("CHECK({})", check.condition),
        expression: Some(check.condition.clone()),
        columns: Vec::new(),
        referenced: None,
    }));
    let not_null = (0..table.columns.fields.len()).filter(|it| definition.is_not_null(*it));
    all.extend(not_null.map(|index| Constraint {
        kind: "NOT NULL",
        suffix: "not_null",
        name: None,
        text: "NOT NULL".to_owned(),
        expression: None,
        columns: vec![index],
        referenced: None,
    }));
    all
}

/// The indexes of keys, and those of CREATE INDEX.
pub(super) fn indexes(_host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        let Object::Table(table) = &found.object else { continue };
        let at = &found.place;
        let mut add = |index: &str, (is_unique, is_primary), expressions: String, sql: Value| {
            let mut row = object(Kind::Index, at, index);
            row.extend([
                Value::text(&table.name),
                object_id(Kind::Relation, &[&at.database, &at.schema, &table.name]),
                Value::Null,
                no_tags(),
                Value::Boolean(is_unique),
                Value::Boolean(is_primary),
                Value::text(expressions),
                sql,
            ]);
            rows.push(row);
        };
        let is_key = |it: &Constraint<'_>| ["pkey", "key"].contains(&it.suffix);
        for it in constraints_of(table, &[]).into_iter().filter(is_key) {
            let names = format!("[{}]", it.column_names(table).join(", "));
            add(&it.full_name(table), (true, it.suffix == "pkey"), names, Value::Null);
        }
        for it in &table.definition.indexes {
            let parts = index_part_texts(&table.columns, it);
            let quoted = parts.iter().map(|part| match part.starts_with('(') {
                true => format!("'{}'", part.replace('\'', "''")),
                false => part.clone(),
            });
            let parts = format!("[{}]", quoted.collect::<Vec<_>>().join(", "));
            let sql = create_index_text(&shown(at, &table.name), &table.columns, it) + ";";
            add(&it.name, (it.is_unique, false), parts, Value::text(sql));
        }
    }
    Ok(rows)
}

pub(super) fn sequences(_host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let mut rows = Vec::new();
    for (at, schema) in schemas_of(catalog)? {
        for sequence in schema.sequences.values() {
            let name = shown(&at, &sequence.name);
            let mut row = object(Kind::Sequence, &at, &sequence.name);
            row.extend([
                Value::Null,
                no_tags(),
                Value::Boolean(is_temporary(&at)),
                Value::BigInt(sequence.start),
                Value::BigInt(sequence.least),
                Value::BigInt(sequence.greatest),
                Value::BigInt(sequence.increment),
                Value::Boolean(sequence.cycles),
                Value::text(create_sequence_text(&name, sequence, sequence.start) + ";"),
            ]);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// All schemas, by database and name.
pub(super) fn schemas_of(
    catalog: &StatementCatalog,
) -> Result<Vec<(SchemaPlace, Arc<SchemaSnapshot>)>> {
    let mut all = Vec::new();
    for (database, _) in catalog.databases() {
        let snapshot = catalog.snapshot(database)?;
        let schemas = snapshot.catalog().schemas.iter();
        all.extend(schemas.map(|(key, it)| (SchemaPlace::new(database, key), Arc::clone(it))));
    }
    Ok(all)
}

/// The columns of a table or view.
fn columns_of(
    host: &SessionHost,
    catalog: &StatementCatalog,
    found: &FoundTable,
) -> Result<Schema> {
    match &found.object {
        Object::Registered(it) => Ok(it.table.schema().clone()),
        Object::Table(it) => Ok(it.columns.clone()),
        Object::View(view) => {
            let SchemaPlace { database, schema } = &found.place;
            view_schema(host, catalog, &format!("{database}.{schema}.{}", view.name))
        }
    }
}

/// The parts of a name in a statement that creates the object in its database.
fn shown<'a>(at: &'a SchemaPlace, name: &'a str) -> Vec<&'a str> {
    match at.schema == MAIN {
        true => vec![name],
        false => vec![&at.schema, name],
    }
}
