//! The tables of `information_schema`.

use super::{
    ColumnType::{Integer, Text},
    Described, functions,
    objects::{constraints_of, referenced_by},
    rows::{number, numeric, optional},
};
use crate::catalog::SessionHost;
use std::sync::Arc;
use volley_catalog::{
    FoundTable, Host, INFORMATION_SCHEMA, Object, SchemaPlace, StatementCatalog, TEMPORARY,
};
use volley_connector::{Table, TableArguments, TableDefinition, TypeEntry};
use volley_error::{Error, Result};
use volley_logical::ColumnIds;
use volley_memory::Pool;
use volley_sql::{BindSettings, MacroDefinition, Statement};
use volley_types::{Field, Schema, Type, Value, text::TypeNames};

const TABLES: [Described; 6] = [
    Described {
        name: "tables",
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("table_type", Text),
            ("is_insertable_into", Text),
            ("table_comment", Text),
        ],
        rows: tables,
    },
    Described {
        name: "columns",
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("column_name", Text),
            ("ordinal_position", Integer),
            ("column_default", Text),
            ("is_nullable", Text),
            ("data_type", Text),
            ("numeric_precision", Integer),
            ("numeric_scale", Integer),
            ("column_comment", Text),
        ],
        rows: columns,
    },
    Described {
        name: "schemata",
        columns: &[("catalog_name", Text), ("schema_name", Text)],
        rows: schemata,
    },
    Described {
        name: "views",
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("view_definition", Text),
        ],
        rows: views,
    },
    Described {
        name: "table_constraints",
        columns: &[
            ("table_catalog", Text),
            ("table_schema", Text),
            ("table_name", Text),
            ("constraint_type", Text),
            ("constraint_text", Text),
        ],
        rows: constraints,
    },
    Described {
        name: "user_defined_types",
        columns: &[
            ("user_defined_type_catalog", Text),
            ("user_defined_type_schema", Text),
            ("user_defined_type_name", Text),
            ("data_type", Text),
        ],
        rows: types,
    },
];

/// The table of this name, if it is one of these.
pub(crate) fn table(
    host: &SessionHost,
    catalog: &StatementCatalog,
    name: &str,
) -> Option<Result<Arc<dyn Table>>> {
    let found = TABLES.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
    Some(found.table(host, catalog))
}

/// Database, schema and name of an object.
fn place_of(place: &SchemaPlace, name: &str) -> Vec<Value> {
    vec![Value::text(&place.database), Value::text(&place.schema), Value::text(name)]
}

fn place(found: &FoundTable) -> Vec<Value> {
    place_of(&found.place, found.object.name())
}

fn yes_or_no(is_yes: bool) -> Value {
    Value::text(if is_yes { "YES" } else { "NO" })
}

fn tables(_host: &SessionHost, catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let row = |found: &FoundTable| {
        let mut row = place(found);
        let is_temporary = found.place.database == TEMPORARY;
        row.push(Value::text(match (found.object.is_view(), is_temporary) {
            (true, _) => "VIEW",
            (false, true) => "LOCAL TEMPORARY",
            (false, false) => "BASE TABLE",
        }));
        row.push(yes_or_no(matches!(found.object, Object::Table(_))));
        row.push(optional(match &found.object {
            Object::Registered(_) => None,
            Object::Table(table) => table.definition.comment.as_deref(),
            Object::View(view) => view.comment.as_deref(),
        }));
        row
    };
    Ok(catalog.objects()?.iter().map(row).collect())
}

fn columns(host: &SessionHost, catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let type_names = host.session.settings().type_names;
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        let no_promises = Arc::default();
        let (schema, definition): (Schema, &Arc<TableDefinition>) = match &found.object {
            Object::Registered(it) => (it.table.schema().clone(), &no_promises),
            Object::Table(table) => (table.columns.clone(), &table.definition),
            // A view that cannot be bound any more, or that reads the columns table, has none.
            Object::View(view) => {
                let SchemaPlace { database, schema } = &found.place;
                let name = format!("{database}.{schema}.{}", view.name);
                match view_schema(host, catalog, &name) {
                    Ok(schema) => (schema, &no_promises),
                    Err(_) => continue,
                }
            }
        };
        for (index, field) in schema.fields.iter().enumerate() {
            let mut row = column(&found, index, (field, type_names), definition);
            row.push(optional(match &found.object {
                Object::View(view) => {
                    view.column_comments.get(&field.name.to_lowercase()).map(String::as_str)
                }
                _ => definition.columns.get(index).and_then(|it| it.comment.as_deref()),
            }));
            rows.push(row);
        }
    }
    Ok(rows)
}

fn column(
    table: &FoundTable,
    index: usize,
    (field, type_names): (&Field, TypeNames),
    definition: &TableDefinition,
) -> Vec<Value> {
    let position = i32::try_from(index + 1).unwrap_or(i32::MAX);
    let default = definition.columns.get(index).and_then(|it| it.default.as_deref());
    let (precision, _, scale) = numeric(&field.data_type);
    let mut row = place(table);
    row.extend([
        Value::text(&field.name),
        Value::Integer(position),
        optional(default),
        yes_or_no(!definition.is_not_null(index)),
        Value::text(type_names.name(&field.data_type)),
        number(precision),
        number(scale),
    ]);
    row
}

/// The columns of the view `name`.
pub(crate) fn view_schema(
    host: &SessionHost,
    catalog: &StatementCatalog,
    name: &str,
) -> Result<Schema> {
    // What a view says of the columns of all views would not end.
    let without = WithoutColumns { host: Arc::clone(catalog.host()), pool: host.pool.clone() };
    let outside = catalog.with_host(Arc::new(without));
    let quoted: Vec<String> =
        name.split('.').map(|it| format!("\"{}\"", it.replace('"', "\"\""))).collect();
    let parsed = volley_sql::parse(&format!("DESCRIBE SELECT * FROM {}", quoted.join(".")))?;
    let parsed = parsed.first().ok_or_else(|| Error::internal("no statement"))?;
    let ids = ColumnIds::new();
    let settings = BindSettings { dialect: catalog.dialect(), ..BindSettings::default() };
    match volley_sql::bind(parsed, &outside, &host.registry, &ids, &settings)? {
        Statement::Describe { columns } => {
            Ok(columns.into_iter().map(|(name, data_type)| Field::new(name, data_type)).collect())
        }
        _ => Err(Error::internal("DESCRIBE became another statement")),
    }
}

/// A host whose tables of columns have no rows.
struct WithoutColumns {
    host: Arc<dyn Host>,
    pool: Pool,
}

impl Host for WithoutColumns {
    fn file(&self, path: &str, format: Option<&str>) -> Result<Arc<dyn Table>> {
        self.host.file(path, format)
    }

    fn information(
        &self,
        catalog: &StatementCatalog,
        name: &str,
    ) -> Option<Result<Arc<dyn Table>>> {
        if !name.eq_ignore_ascii_case("columns") {
            return self.host.information(catalog, name);
        }
        let described = TABLES.iter().find(|it| it.name == "columns")?;
        Some(described.of_rows(&self.pool, &[]))
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.host.has_table_function(name)
    }

    fn table_function(
        &self,
        catalog: &StatementCatalog,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        match functions::without_rows(name, &self.pool) {
            Some(table) => table,
            None => self.host.table_function(catalog, name, arguments, types),
        }
    }

    fn view(&self, name: &str) -> Option<&'static str> {
        self.host.view(name)
    }

    fn macro_called(&self, name: &str) -> Option<MacroDefinition> {
        self.host.macro_called(name)
    }
}

fn schemata(_host: &SessionHost, catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, _) in catalog.databases() {
        let snapshot = catalog.snapshot(database)?;
        let own = snapshot.catalog().schemas.values().map(|it| it.name.as_str());
        let names = own.chain([INFORMATION_SCHEMA]);
        rows.extend(names.map(|it| vec![Value::text(database), Value::text(it)]));
    }
    Ok(rows)
}

fn views(_host: &SessionHost, catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let row = |found: &FoundTable| {
        let Object::View(view) = &found.object else { return None };
        let mut row = place(found);
        row.push(Value::text(&view.sql));
        Some(row)
    };
    Ok(catalog.objects()?.iter().filter_map(row).collect())
}

fn types(_host: &SessionHost, catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let types = catalog.types()?.into_iter();
    let row = |(at, entry): (SchemaPlace, Arc<TypeEntry>)| {
        let mut row = place_of(&at, &entry.name);
        row.push(Value::text(entry.data_type.to_string()));
        row
    };
    Ok(types.map(row).collect())
}

fn constraints(_host: &SessionHost, catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for found in catalog.objects()? {
        let Object::Table(table) = &found.object else { continue };
        for constraint in constraints_of(table, &referenced_by(catalog, &found)?) {
            let text = match constraint.kind {
                "NOT NULL" => format!("{} NOT NULL", constraint.column_names(table).join("")),
                _ => constraint.text,
            };
            let mut row = place(&found);
            row.extend([Value::text(constraint.kind), Value::text(text)]);
            rows.push(row);
        }
    }
    Ok(rows)
}
