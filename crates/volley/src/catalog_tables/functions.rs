//! Functions in FROM that describe what a session knows; names and columns are DuckDB's.

use super::{
    ColumnType::{BigInt, BigInts, Boolean, Integer, Tags, Text, Texts},
    Described, objects, session,
};
use crate::{catalog::SessionHost, maintenance};
use std::sync::Arc;
use volley_catalog::StatementCatalog;
use volley_connector::{Table, TableArgument, TableArguments};
use volley_error::{Error, Result};
use volley_memory::Pool;

const FUNCTIONS: [Described; 15] = [
    Described {
        name: "duckdb_databases",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("path", Text),
            ("comment", Text),
            ("tags", Tags),
            ("internal", Boolean),
            ("type", Text),
            ("readonly", Boolean),
        ],
        rows: objects::databases,
    },
    Described {
        name: "duckdb_schemas",
        columns: &[
            ("oid", BigInt),
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("comment", Text),
            ("tags", Tags),
            ("internal", Boolean),
            ("sql", Text),
        ],
        rows: objects::schemas,
    },
    Described {
        name: "duckdb_tables",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("table_name", Text),
            ("table_oid", BigInt),
            ("comment", Text),
            ("tags", Tags),
            ("internal", Boolean),
            ("temporary", Boolean),
            ("has_primary_key", Boolean),
            ("estimated_size", BigInt),
            ("column_count", BigInt),
            ("index_count", BigInt),
            ("check_constraint_count", BigInt),
            ("sql", Text),
        ],
        rows: objects::tables,
    },
    Described {
        name: "duckdb_views",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("view_name", Text),
            ("view_oid", BigInt),
            ("comment", Text),
            ("tags", Tags),
            ("internal", Boolean),
            ("temporary", Boolean),
            ("column_count", BigInt),
            ("sql", Text),
            ("is_bound", Boolean),
        ],
        rows: objects::views,
    },
    Described {
        name: "duckdb_columns",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("table_name", Text),
            ("table_oid", BigInt),
            ("column_name", Text),
            ("column_index", Integer),
            ("comment", Text),
            ("internal", Boolean),
            ("column_default", Text),
            ("is_nullable", Boolean),
            ("data_type", Text),
            ("data_type_id", BigInt),
            ("character_maximum_length", Integer),
            ("numeric_precision", Integer),
            ("numeric_precision_radix", Integer),
            ("numeric_scale", Integer),
            ("tags", Tags),
            ("is_generated", Boolean),
            ("generation_expression", Text),
        ],
        rows: objects::columns,
    },
    Described {
        name: "duckdb_constraints",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("table_name", Text),
            ("table_oid", BigInt),
            ("constraint_index", BigInt),
            ("constraint_type", Text),
            ("constraint_text", Text),
            ("expression", Text),
            ("constraint_column_indexes", BigInts),
            ("constraint_column_names", Texts),
            ("constraint_name", Text),
            ("referenced_table", Text),
            ("referenced_column_names", Texts),
        ],
        rows: objects::constraints,
    },
    Described {
        name: "duckdb_indexes",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("index_name", Text),
            ("index_oid", BigInt),
            ("table_name", Text),
            ("table_oid", BigInt),
            ("comment", Text),
            ("tags", Tags),
            ("is_unique", Boolean),
            ("is_primary", Boolean),
            ("expressions", Text),
            ("sql", Text),
        ],
        rows: objects::indexes,
    },
    Described {
        name: "duckdb_sequences",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("sequence_name", Text),
            ("sequence_oid", BigInt),
            ("comment", Text),
            ("tags", Tags),
            ("temporary", Boolean),
            ("start_value", BigInt),
            ("min_value", BigInt),
            ("max_value", BigInt),
            ("increment_by", BigInt),
            ("cycle", Boolean),
            ("sql", Text),
        ],
        rows: objects::sequences,
    },
    Described {
        name: "duckdb_types",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("schema_oid", BigInt),
            ("type_oid", BigInt),
            ("type_name", Text),
            ("type_size", BigInt),
            ("logical_type", Text),
            ("type_category", Text),
            ("comment", Text),
            ("tags", Tags),
            ("internal", Boolean),
            ("extension_name", Text),
            ("labels", Texts),
        ],
        rows: session::types,
    },
    Described {
        name: "duckdb_functions",
        columns: &[
            ("database_name", Text),
            ("database_oid", BigInt),
            ("schema_name", Text),
            ("function_name", Text),
            ("alias_of", Text),
            ("function_type", Text),
            ("description", Text),
            ("comment", Text),
            ("tags", Tags),
            ("return_type", Text),
            ("parameters", Texts),
            ("parameter_types", Texts),
            ("varargs", Text),
            ("macro_definition", Text),
            ("has_side_effects", Boolean),
            ("internal", Boolean),
            ("function_oid", BigInt),
            ("examples", Texts),
            ("stability", Text),
            ("categories", Texts),
        ],
        rows: session::functions,
    },
    Described {
        name: "duckdb_settings",
        columns: &[
            ("name", Text),
            ("value", Text),
            ("description", Text),
            ("input_type", Text),
            ("scope", Text),
            ("aliases", Texts),
        ],
        rows: session::settings,
    },
    Described {
        name: "duckdb_variables",
        columns: &[("name", Text), ("value", Text), ("type", Text)],
        rows: session::variables,
    },
    Described {
        name: "reject_scans",
        columns: &[
            ("scan_id", BigInt),
            ("file_id", BigInt),
            ("file_path", Text),
            ("columns", Text),
            ("user_arguments", Text),
        ],
        rows: |host, _| Ok(host.session.reject_scans().scans()),
    },
    Described {
        name: "reject_errors",
        columns: &[
            ("scan_id", BigInt),
            ("file_id", BigInt),
            ("line", BigInt),
            ("column_idx", BigInt),
            ("column_name", Text),
            ("error_type", Text),
            ("csv_line", Text),
            ("error_message", Text),
        ],
        rows: |host, _| Ok(host.session.reject_scans().errors()),
    },
    Described {
        name: "pragma_database_size",
        columns: &maintenance::DATABASE_SIZE,
        rows: |host, catalog| maintenance::database_sizes(catalog, &host.pool),
    },
];

/// The names of the function that tells what a table takes on disk.
const STORAGE_INFO: [&str; 2] = ["storage_info", "pragma_storage_info"];

/// Those that find out the columns of views, which they are part of the views of.
const OF_COLUMNS: [&str; 2] = ["duckdb_columns", "duckdb_views"];

/// Whether this is the name of one of the functions, ignoring case.
pub(crate) fn is_function(name: &str) -> bool {
    find(name).is_some() || is_storage_info(name)
}

/// The names of the functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|it| it.name).chain(STORAGE_INFO)
}

/// The table that the function of this name makes, if it is one of these.
pub(crate) fn table(
    host: &SessionHost,
    catalog: &StatementCatalog,
    (name, arguments): (&str, &TableArguments),
) -> Option<Result<Arc<dyn Table>>> {
    if is_storage_info(name) {
        return Some(storage_info(host, catalog, arguments));
    }
    let function = find(name)?;
    if !arguments.arguments.is_empty() || !arguments.options.is_empty() {
        let message = format!("table function {} takes no arguments", function.name);
        return Some(Err(Error::invalid_query(message)));
    }
    Some(function.table(host, catalog))
}

/// The table of a function that finds out the columns of views, with no rows.
pub(super) fn without_rows(name: &str, pool: &Pool) -> Option<Result<Arc<dyn Table>>> {
    let function = find(name).filter(|it| OF_COLUMNS.contains(&it.name))?;
    Some(function.of_rows(pool, &[]))
}

fn is_storage_info(name: &str) -> bool {
    STORAGE_INFO.iter().any(|it| it.eq_ignore_ascii_case(name))
}

fn storage_info(
    host: &SessionHost,
    catalog: &StatementCatalog,
    arguments: &TableArguments,
) -> Result<Arc<dyn Table>> {
    let rows = maintenance::storage_info(catalog, arguments)?;
    let [name, _] = STORAGE_INFO;
    let described =
        Described { name, columns: &maintenance::STORAGE_INFO, rows: |_, _| Ok(Vec::new()) };
    let of = match arguments.arguments.as_slice() {
        [TableArgument::Value(of, _)] => of.as_str().unwrap_or_default(),
        _ => "",
    };
    described.of_rows_named(format!("{name}('{of}')"), &host.pool, &rows)
}

fn find(name: &str) -> Option<&'static Described> {
    FUNCTIONS.iter().find(|it| it.name.eq_ignore_ascii_case(name))
}
