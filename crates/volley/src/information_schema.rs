//! The tables of `information_schema`.

use crate::{
    catalog::{CatalogSnapshot, DATABASE, Entry, MAIN, schema_and_name},
    listing::listed,
    named_type::NamedType,
    temporary::plain_name,
};
use std::sync::Arc;
use volley_connector::{Table, TableArguments, TableDefinition};
use volley_error::{Error, Result};
use volley_logical::ColumnIds;
use volley_sql::{BindSettings, Statement};
use volley_types::{Field, Schema, Type, Value};

/// The schema's name.
pub(crate) const SCHEMA: &str = "information_schema";

/// A table: its name, its columns, and what makes its rows.
struct Described {
    name: &'static str,
    columns: &'static [(&'static str, Type)],
    rows: fn(&CatalogSnapshot) -> Result<Vec<Vec<Value>>>,
}

const TEXT: Type = Type::Varchar;

const TABLES: [Described; 6] = [
    Described {
        name: "tables",
        columns: &[
            ("table_catalog", TEXT),
            ("table_schema", TEXT),
            ("table_name", TEXT),
            ("table_type", TEXT),
            ("is_insertable_into", TEXT),
            ("table_comment", TEXT),
        ],
        rows: tables,
    },
    Described {
        name: "columns",
        columns: &[
            ("table_catalog", TEXT),
            ("table_schema", TEXT),
            ("table_name", TEXT),
            ("column_name", TEXT),
            ("ordinal_position", Type::Integer),
            ("column_default", TEXT),
            ("is_nullable", TEXT),
            ("data_type", TEXT),
            ("numeric_precision", Type::Integer),
            ("numeric_scale", Type::Integer),
            ("column_comment", TEXT),
        ],
        rows: columns,
    },
    Described {
        name: "schemata",
        columns: &[("catalog_name", TEXT), ("schema_name", TEXT)],
        rows: schemata,
    },
    Described {
        name: "views",
        columns: &[
            ("table_catalog", TEXT),
            ("table_schema", TEXT),
            ("table_name", TEXT),
            ("view_definition", TEXT),
        ],
        rows: views,
    },
    Described {
        name: "table_constraints",
        columns: &[
            ("table_catalog", TEXT),
            ("table_schema", TEXT),
            ("table_name", TEXT),
            ("constraint_type", TEXT),
            ("constraint_text", TEXT),
        ],
        rows: constraints,
    },
    Described {
        name: "user_defined_types",
        columns: &[
            ("user_defined_type_catalog", TEXT),
            ("user_defined_type_schema", TEXT),
            ("user_defined_type_name", TEXT),
            ("data_type", TEXT),
        ],
        rows: types,
    },
];

/// The table of this name, if it is one of these.
pub(crate) fn table(catalog: &CatalogSnapshot, name: &str) -> Option<Result<Arc<dyn Table>>> {
    let (schema, name) = name.split_once('.')?;
    if !schema.eq_ignore_ascii_case(SCHEMA) {
        return None;
    }
    let found = TABLES.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
    Some(made(catalog, found))
}

fn made(catalog: &CatalogSnapshot, described: &Described) -> Result<Arc<dyn Table>> {
    let fields = described.columns.iter().map(|it| Field::new(it.0, it.1.clone()));
    let schema: Schema = fields.collect();
    let rows = (described.rows)(catalog)?;
    listed(format!("{SCHEMA}.{}", described.name), schema, &rows, catalog.pool())
}

/// Database, schema and name of a table.
fn place(name: &str) -> Vec<Value> {
    let (schema, name) = schema_and_name(name);
    vec![Value::text(DATABASE), Value::text(schema), Value::text(name)]
}

fn yes_or_no(is_yes: bool) -> Value {
    Value::text(if is_yes { "YES" } else { "NO" })
}

fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

fn tables(catalog: &CatalogSnapshot) -> Result<Vec<Vec<Value>>> {
    let row = |(name, entry): (&str, &Entry)| {
        let mut row = place(name);
        let is_temporary = plain_name(name) != name;
        row.push(Value::text(match (entry.is_view(), is_temporary) {
            (true, _) => "VIEW",
            (false, true) => "LOCAL TEMPORARY",
            (false, false) => "BASE TABLE",
        }));
        row.push(yes_or_no(matches!(entry, Entry::Memory(_))));
        row.push(optional(match entry {
            Entry::Table(_) => None,
            Entry::Memory(table) => table.definition().comment.as_deref(),
            Entry::View { comments, .. } => comments.view.as_deref(),
        }));
        row
    };
    Ok(catalog.entries().map(row).collect())
}

fn columns(catalog: &CatalogSnapshot) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (name, entry) in catalog.entries() {
        let no_promises = Arc::default();
        let (schema, definition): (Schema, &Arc<TableDefinition>) = match entry {
            Entry::Table(table) => (table.schema().clone(), &no_promises),
            Entry::Memory(table) => (table.schema().clone(), table.definition()),
            // A view that cannot be bound any more, or that reads the columns table, has none.
            Entry::View { .. } => match view_schema(catalog, name) {
                Ok(schema) => (schema, &no_promises),
                Err(_) => continue,
            },
        };
        for (index, field) in schema.fields.iter().enumerate() {
            let mut row = column(name, index, field, definition);
            row.push(optional(match entry {
                Entry::View { comments, .. } => {
                    comments.columns.get(&field.name.to_lowercase()).map(String::as_str)
                }
                _ => definition.columns.get(index).and_then(|it| it.comment.as_deref()),
            }));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn column(table: &str, index: usize, field: &Field, definition: &TableDefinition) -> Vec<Value> {
    let position = i32::try_from(index + 1).unwrap_or(i32::MAX);
    let default = definition.columns.get(index).and_then(|it| it.default.as_deref());
    let (precision, scale) = numeric(&field.data_type);
    let number = |it: Option<i32>| it.map_or(Value::Null, Value::Integer);
    let mut row = place(table);
    row.extend([
        Value::text(&field.name),
        Value::Integer(position),
        optional(default),
        yes_or_no(!definition.is_not_null(index)),
        Value::text(field.data_type.to_string()),
        number(precision),
        number(scale),
    ]);
    row
}

/// Precision (in bits for what is not decimal) and scale of numbers.
fn numeric(data_type: &Type) -> (Option<i32>, Option<i32>) {
    let bits = |it: i32| (Some(it), Some(0));
    match data_type {
        Type::TinyInt => bits(8),
        Type::SmallInt => bits(16),
        Type::Integer => bits(32),
        Type::BigInt => bits(64),
        Type::HugeInt => bits(128),
        Type::Real => (Some(24), None),
        Type::Double => (Some(53), None),
        Type::Decimal { precision, scale } => (Some((*precision).into()), Some((*scale).into())),
        _ => (None, None),
    }
}

/// The columns of the view `name`.
pub(crate) fn view_schema(catalog: &CatalogSnapshot, name: &str) -> Result<Schema> {
    // What a view says of the columns of all views would not end.
    let outside = WithoutColumns(catalog);
    let quoted: Vec<String> =
        name.split('.').map(|it| format!("\"{}\"", it.replace('"', "\"\""))).collect();
    let parsed = volley_sql::parse(&format!("DESCRIBE SELECT * FROM {}", quoted.join(".")))?;
    let parsed = parsed.first().ok_or_else(|| Error::internal("no statement"))?;
    let ids = ColumnIds::new();
    let settings = BindSettings { dialect: catalog.dialect(), ..BindSettings::default() };
    match volley_sql::bind(parsed, &outside, catalog.registry(), &ids, &settings)? {
        Statement::Describe { columns } => {
            Ok(columns.into_iter().map(|(name, data_type)| Field::new(name, data_type)).collect())
        }
        _ => Err(Error::internal("DESCRIBE became another statement")),
    }
}

/// The catalog, with an empty table in the place of `information_schema.columns`.
struct WithoutColumns<'a>(&'a CatalogSnapshot);

impl volley_sql::Catalog for WithoutColumns<'_> {
    fn table(&self, name: &str) -> Result<Option<volley_sql::Relation>> {
        if name.eq_ignore_ascii_case("information_schema.columns") {
            let empty = |_: &CatalogSnapshot| Ok(Vec::new());
            let described = TABLES.iter().find(|it| it.name == "columns");
            let described = described.map(|it| Described { rows: empty, ..*it });
            let described = described.ok_or_else(|| Error::internal("no such table"))?;
            return Ok(Some(volley_sql::Relation::Table(made(self.0, &described)?)));
        }
        self.0.table(name)
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        self.0.file(path)
    }

    fn file_of(&self, path: &str, format: &str) -> Result<Arc<dyn Table>> {
        self.0.file_of(path, format)
    }

    fn names(&self) -> Vec<String> {
        volley_sql::Catalog::names(self.0)
    }

    fn macro_called(&self, name: &str) -> Option<Arc<volley_sql::MacroDefinition>> {
        self.0.macro_called(name)
    }

    fn type_called(&self, name: &str) -> Option<Type> {
        self.0.type_called(name)
    }

    fn type_names(&self) -> Vec<String> {
        self.0.type_names()
    }

    fn has_sequence(&self, name: &str) -> bool {
        self.0.has_sequence(name)
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.0.has_table_function(name)
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        self.0.table_function(name, arguments, types)
    }
}

fn schemata(catalog: &CatalogSnapshot) -> Result<Vec<Vec<Value>>> {
    let names = [MAIN, SCHEMA].into_iter().chain(catalog.schemas());
    Ok(names.map(|it| vec![Value::text(DATABASE), Value::text(it)]).collect())
}

fn views(catalog: &CatalogSnapshot) -> Result<Vec<Vec<Value>>> {
    let row = |(name, entry): (&str, &Entry)| {
        let Entry::View { sql, .. } = entry else { return None };
        let mut row = place(name);
        row.push(Value::text(sql));
        Some(row)
    };
    Ok(catalog.entries().filter_map(row).collect())
}

fn types(catalog: &CatalogSnapshot) -> Result<Vec<Vec<Value>>> {
    let row = |it: &NamedType| {
        let mut row = place(&it.name);
        row.push(Value::text(it.data_type.to_string()));
        row
    };
    Ok(catalog.types().map(row).collect())
}

fn constraints(catalog: &CatalogSnapshot) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (name, entry) in catalog.entries() {
        let Entry::Memory(table) = entry else { continue };
        let mut add = |kind: &str, text: String| {
            let mut row = place(name);
            row.extend([Value::text(kind), Value::text(text)]);
            rows.push(row);
        };
        let fields = &table.schema().fields;
        let name_of = |it: usize| fields.get(it).map_or("", |it| it.name.as_str());
        for key in &table.definition().keys {
            let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
            let names: Vec<&str> = key.columns.iter().map(|it| name_of(*it)).collect();
            add(kind, format!("{kind}({})", names.join(", ")));
        }
        for check in &table.definition().checks {
            add("CHECK", format!("CHECK({})", check.condition));
        }
        for index in (0..fields.len()).filter(|it| table.definition().is_not_null(*it)) {
            add("NOT NULL", format!("{} NOT NULL", name_of(index)));
        }
    }
    Ok(rows)
}
