//! Functions in FROM that list the attached databases, their schemas, and what they take on disk.

use crate::{catalog::SessionHost, listing::listed, maintenance};
use std::sync::Arc;
use volley_catalog::{INFORMATION_SCHEMA, MEMORY, StatementCatalog, TEMPORARY};
use volley_connector::{Table, TableArguments, WriteAccess};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, Value};

/// A function: its name, its columns, and what makes its rows.
struct Function {
    name: &'static str,
    columns: &'static [(&'static str, Type)],
    takes: Takes,
    rows: fn(&Call<'_>) -> Result<Vec<Vec<Value>>>,
}

/// What a function takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Table,
}

/// A call of a function.
struct Call<'a> {
    catalog: &'a StatementCatalog,
    arguments: &'a TableArguments,
    pool: &'a Pool,
}

const FUNCTIONS: [Function; 5] = [
    Function {
        name: "duckdb_databases",
        columns: &[
            ("database_name", Type::Varchar),
            ("path", Type::Varchar),
            ("internal", Type::Boolean),
            ("readonly", Type::Boolean),
        ],
        takes: Takes::Nothing,
        rows: databases,
    },
    Function {
        name: "duckdb_schemas",
        columns: &[
            ("database_name", Type::Varchar),
            ("schema_name", Type::Varchar),
            ("internal", Type::Boolean),
        ],
        takes: Takes::Nothing,
        rows: schemas,
    },
    Function {
        name: "pragma_database_size",
        columns: &maintenance::DATABASE_SIZE,
        takes: Takes::Nothing,
        rows: |call| maintenance::database_sizes(call.catalog, call.pool),
    },
    STORAGE_INFO,
    Function { name: "pragma_storage_info", ..STORAGE_INFO },
];

const STORAGE_INFO: Function = Function {
    name: "storage_info",
    columns: &maintenance::STORAGE_INFO,
    takes: Takes::Table,
    rows: |call| maintenance::storage_info(call.catalog, call.arguments),
};

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
    let has_arguments = !arguments.arguments.is_empty() || !arguments.options.is_empty();
    if has_arguments && function.takes == Takes::Nothing {
        let message = format!("table function {} takes no arguments", function.name);
        return Some(Err(Error::invalid_query(message)));
    }
    let columns: Schema =
        function.columns.iter().map(|it| Field::new(it.0, it.1.clone())).collect();
    let call = Call { catalog, arguments, pool: &host.pool };
    let rows = (function.rows)(&call);
    Some(rows.and_then(|it| listed(function.name.to_owned(), columns, &it, &host.pool)))
}

fn databases(call: &Call<'_>) -> Result<Vec<Vec<Value>>> {
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
    Ok(call.catalog.databases().map(row).collect())
}

fn schemas(call: &Call<'_>) -> Result<Vec<Vec<Value>>> {
    let (mut rows, catalog) = (Vec::new(), call.catalog);
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
