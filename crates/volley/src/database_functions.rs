//! Functions in FROM that list the attached databases and their schemas.

use crate::{catalog::SessionHost, listing::listed};
use std::sync::Arc;
use volley_catalog::{INFORMATION_SCHEMA, MEMORY, StatementCatalog, TEMPORARY};
use volley_connector::{Table, TableArguments, WriteAccess};
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type, Value};

/// A function: its name, its columns, and what makes its rows.
struct Function {
    name: &'static str,
    columns: &'static [(&'static str, Type)],
    rows: fn(&StatementCatalog) -> Result<Vec<Vec<Value>>>,
}

const FUNCTIONS: [Function; 2] = [
    Function {
        name: "duckdb_databases",
        columns: &[
            ("database_name", Type::Varchar),
            ("path", Type::Varchar),
            ("internal", Type::Boolean),
            ("readonly", Type::Boolean),
        ],
        rows: databases,
    },
    Function {
        name: "duckdb_schemas",
        columns: &[
            ("database_name", Type::Varchar),
            ("schema_name", Type::Varchar),
            ("internal", Type::Boolean),
        ],
        rows: schemas,
    },
];

/// Whether this is the name of one of the functions, ignoring case.
pub(crate) fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|it| it.name.eq_ignore_ascii_case(name))
}

/// The table that the function of this name makes, if it is one of these.
pub(crate) fn table(
    host: &SessionHost,
    catalog: &StatementCatalog,
    (name, arguments): (&str, &TableArguments),
) -> Option<Result<Arc<dyn Table>>> {
    let function = FUNCTIONS.iter().find(|it| it.name.eq_ignore_ascii_case(name))?;
    if !arguments.arguments.is_empty() || !arguments.options.is_empty() {
        let message = format!("table function {} takes no arguments", function.name);
        return Some(Err(Error::invalid_query(message)));
    }
    let columns: Schema =
        function.columns.iter().map(|it| Field::new(it.0, it.1.clone())).collect();
    let rows = (function.rows)(catalog);
    Some(rows.and_then(|it| listed(function.name.to_owned(), columns, &it, &host.pool)))
}

fn databases(catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let row = |(name, attached): (&str, &volley_catalog::Attached)| {
        let path = match attached.path.as_str() {
            ":memory:" => Value::Null,
            path => Value::text(path),
        };
        let is_internal = name == TEMPORARY;
        let is_read_only = attached.access == WriteAccess::ReadOnly;
        vec![
            Value::text(&attached.name),
            path,
            Value::Boolean(is_internal),
            Value::Boolean(is_read_only),
        ]
    };
    Ok(catalog.databases().map(row).collect())
}

fn schemas(catalog: &StatementCatalog) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for (database, attached) in catalog.databases() {
        let snapshot = catalog.snapshot(database)?;
        let own = snapshot.catalog().schemas.values();
        let own = own.map(|it| (it.name.as_str(), database == TEMPORARY));
        let internal = (database == MEMORY).then_some((INFORMATION_SCHEMA, true));
        rows.extend(own.chain(internal).map(|(schema, is_internal)| {
            let names = [attached.name.as_str(), schema].map(Value::text);
            names.into_iter().chain([Value::Boolean(is_internal)]).collect()
        }));
    }
    Ok(rows)
}
