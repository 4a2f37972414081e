//! Views and macros of the system: queries over the functions of [`functions`](super::functions).
//!
//! `pg_catalog` has what tools for PostgreSQL read (PostgreSQL manual, chapter "System Catalogs"),
//! with the columns that have a meaning here, and constants for others that tools name.

use super::all_types::{self, TEST_ALL_TYPES};
use volley_catalog::{INFORMATION_SCHEMA, PG_CATALOG};
use volley_sql::{MacroDefinition, MacroParameter};

/// A view: its schema, empty for one that is found without, its name and its query.
type View = (&'static str, &'static str, &'static str);

const DUCKDB_VIEWS: [View; 14] = [
    ("", "reject_scans", "FROM reject_scans()"),
    ("", "reject_errors", "FROM reject_errors()"),
    ("", "duckdb_databases", "FROM duckdb_databases() WHERE NOT internal"),
    ("", "duckdb_schemas", "FROM duckdb_schemas() WHERE NOT internal"),
    ("", "duckdb_tables", "FROM duckdb_tables() WHERE NOT internal"),
    ("", "duckdb_views", "FROM duckdb_views() WHERE NOT internal"),
    ("", "duckdb_columns", "FROM duckdb_columns() WHERE NOT internal"),
    ("", "duckdb_constraints", "FROM duckdb_constraints()"),
    ("", "duckdb_indexes", "FROM duckdb_indexes()"),
    ("", "duckdb_types", "FROM duckdb_types()"),
    ("", "duckdb_functions", "FROM duckdb_functions()"),
    ("", "duckdb_settings", "FROM duckdb_settings()"),
    (
        "",
        "pragma_database_list",
        "SELECT database_oid AS seq, database_name AS name, path AS file
         FROM duckdb_databases() WHERE NOT internal ORDER BY 1",
    ),
    (
        "",
        "sqlite_master",
        "SELECT 'table' AS type, table_name AS name, table_name AS tbl_name, 0 AS rootpage, sql
         FROM duckdb_tables() WHERE NOT temporary
         UNION ALL SELECT 'view', view_name, view_name, 0, sql
         FROM duckdb_views() WHERE NOT temporary
         UNION ALL SELECT 'index', index_name, table_name, 0, sql FROM duckdb_indexes()",
    ),
];

const INFORMATION_VIEWS: [View; 4] = [
    (
        INFORMATION_SCHEMA,
        "check_constraints",
        "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema,
         constraint_name, CASE constraint_type WHEN 'NOT NULL'
             THEN constraint_column_names[1] || ' IS NOT NULL' ELSE expression END AS check_clause
         FROM duckdb_constraints() WHERE constraint_type IN ('CHECK', 'NOT NULL')",
    ),
    (
        INFORMATION_SCHEMA,
        "key_column_usage",
        "SELECT * EXCLUDE (constraint_type), CASE constraint_type WHEN 'FOREIGN KEY'
             THEN ordinal_position END::INTEGER AS position_in_unique_constraint
         FROM (SELECT database_name AS constraint_catalog, schema_name AS constraint_schema,
             constraint_name, database_name AS table_catalog, schema_name AS table_schema,
             table_name, unnest(constraint_column_names) AS column_name,
             unnest(range(1, len(constraint_column_names) + 1)) AS ordinal_position,
             constraint_type
             FROM duckdb_constraints()
             WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY'))",
    ),
    (
        INFORMATION_SCHEMA,
        "constraint_column_usage",
        "SELECT database_name AS table_catalog, schema_name AS table_schema, table_name,
         unnest(constraint_column_names) AS column_name, database_name AS constraint_catalog,
         schema_name AS constraint_schema, constraint_name, constraint_type, constraint_text
         FROM duckdb_constraints()",
    ),
    (
        INFORMATION_SCHEMA,
        "referential_constraints",
        "SELECT f.database_name AS constraint_catalog, f.schema_name AS constraint_schema,
         f.constraint_name, k.database_name AS unique_constraint_catalog,
         k.schema_name AS unique_constraint_schema, k.constraint_name AS unique_constraint_name,
         'NONE' AS match_option, 'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
         FROM duckdb_constraints() f JOIN duckdb_constraints() k
         ON f.database_name = k.database_name AND f.referenced_table = k.table_name
             AND list_sort(f.referenced_column_names) = list_sort(k.constraint_column_names)
         WHERE f.constraint_type = 'FOREIGN KEY'
             AND k.constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
    ),
];

const PG_VIEWS: [View; 20] = [
    (
        PG_CATALOG,
        "pg_namespace",
        "SELECT oid, schema_name AS nspname, 0::BIGINT AS nspowner, NULL::VARCHAR AS nspacl
         FROM duckdb_schemas()",
    ),
    (
        PG_CATALOG,
        "pg_class",
        "WITH relations AS (
             SELECT table_oid AS oid, table_name AS relname, schema_oid AS relnamespace,
                 estimated_size AS reltuples, index_count > 0 AS relhasindex, temporary,
                 'r' AS relkind, column_count AS relnatts, check_constraint_count AS relchecks,
                 has_primary_key AS relhaspkey
             FROM duckdb_tables()
             UNION ALL SELECT view_oid, view_name, schema_oid, 0, FALSE, temporary, 'v',
                 column_count, 0, FALSE FROM duckdb_views()
             UNION ALL SELECT sequence_oid, sequence_name, schema_oid, 0, FALSE, temporary, 'S', 0,
                 0, FALSE FROM duckdb_sequences()
             UNION ALL SELECT index_oid, index_name, schema_oid, 0, FALSE, FALSE, 'i', NULL, 0,
                 FALSE FROM duckdb_indexes())
         SELECT oid, relname, relnamespace, 0::BIGINT AS reltype, 0::BIGINT AS reloftype,
             0::BIGINT AS relowner, 0::BIGINT AS relam, 0::BIGINT AS relfilenode,
             0::BIGINT AS reltablespace, 0 AS relpages, reltuples::REAL AS reltuples,
             0 AS relallvisible, 0::BIGINT AS reltoastrelid, relhasindex, FALSE AS relisshared,
             CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, relkind, relnatts,
             relchecks, FALSE AS relhasoids, relhaspkey, FALSE AS relhasrules,
             FALSE AS relhastriggers, FALSE AS relhassubclass, FALSE AS relrowsecurity,
             FALSE AS relforcerowsecurity, TRUE AS relispopulated, 'd' AS relreplident,
             FALSE AS relispartition, NULL::VARCHAR AS relacl, NULL::VARCHAR AS reloptions
         FROM relations",
    ),
    (
        PG_CATALOG,
        "pg_attribute",
        "SELECT table_oid AS attrelid, column_name AS attname, data_type_id AS atttypid,
             NULL::INTEGER AS attlen, column_index AS attnum, 0 AS attndims,
             CASE WHEN data_type LIKE 'DECIMAL%' THEN numeric_precision * 1000 + numeric_scale
                 ELSE -1 END AS atttypmod,
             NOT is_nullable AS attnotnull, column_default IS NOT NULL AS atthasdef,
             '' AS attidentity, CASE WHEN is_generated THEN 's' ELSE '' END AS attgenerated,
             FALSE AS attisdropped, TRUE AS attislocal, 0 AS attinhcount, 0::BIGINT AS attcollation,
             NULL::VARCHAR AS attacl, NULL::VARCHAR AS attoptions
         FROM duckdb_columns()",
    ),
    (
        PG_CATALOG,
        "pg_attrdef",
        "SELECT table_oid + column_index AS oid, table_oid AS adrelid, column_index AS adnum,
             column_default AS adbin
         FROM duckdb_columns() WHERE column_default IS NOT NULL",
    ),
    (
        PG_CATALOG,
        "pg_type",
        "SELECT type_oid AS oid, type_name AS typname, schema_oid AS typnamespace,
             0::BIGINT AS typowner, coalesce(type_size, -1) AS typlen, FALSE AS typbyval,
             CASE WHEN labels IS NOT NULL THEN 'e' WHEN type_category = 'COMPOSITE' THEN 'c'
                 ELSE 'b' END AS typtype,
             CASE type_category WHEN 'NUMERIC' THEN 'N' WHEN 'STRING' THEN 'S'
                 WHEN 'DATETIME' THEN 'D' WHEN 'BOOLEAN' THEN 'B' WHEN 'COMPOSITE' THEN 'C'
                 ELSE 'U' END AS typcategory,
             FALSE AS typispreferred, TRUE AS typisdefined, ',' AS typdelim, 0::BIGINT AS typrelid,
             0::BIGINT AS typelem, 0::BIGINT AS typarray, FALSE AS typnotnull,
             0::BIGINT AS typbasetype, -1 AS typtypmod, 0 AS typndims, 0::BIGINT AS typcollation,
             NULL::VARCHAR AS typdefault
         FROM duckdb_types()",
    ),
    (
        PG_CATALOG,
        "pg_enum",
        "SELECT type_oid AS oid, type_oid AS enumtypid,
             unnest(range(1, len(labels) + 1))::REAL AS enumsortorder,
             unnest(labels) AS enumlabel
         FROM duckdb_types() WHERE labels IS NOT NULL",
    ),
    (
        PG_CATALOG,
        "pg_constraint",
        "SELECT table_oid + constraint_index AS oid, constraint_name AS conname,
             schema_oid AS connamespace,
             CASE constraint_type WHEN 'CHECK' THEN 'c' WHEN 'UNIQUE' THEN 'u'
                 WHEN 'PRIMARY KEY' THEN 'p' WHEN 'FOREIGN KEY' THEN 'f' ELSE 'n' END AS contype,
             FALSE AS condeferrable, FALSE AS condeferred, TRUE AS convalidated,
             table_oid AS conrelid, 0::BIGINT AS contypid, 0::BIGINT AS conindid,
             0::BIGINT AS conparentid, 0::BIGINT AS confrelid, 'a' AS confupdtype,
             'a' AS confdeltype, 's' AS confmatchtype, TRUE AS conislocal, 0 AS coninhcount,
             FALSE AS connoinherit, [it + 1 FOR it IN constraint_column_indexes] AS conkey,
             NULL::BIGINT[] AS confkey, expression AS conbin, constraint_text AS consrc
         FROM duckdb_constraints()",
    ),
    (
        PG_CATALOG,
        "pg_index",
        "SELECT index_oid AS indexrelid, table_oid AS indrelid, 0 AS indnatts, 0 AS indnkeyatts,
             is_unique AS indisunique, is_primary AS indisprimary, FALSE AS indisexclusion,
             TRUE AS indimmediate, FALSE AS indisclustered, TRUE AS indisvalid,
             FALSE AS indcheckxmin, TRUE AS indisready, TRUE AS indislive, FALSE AS indisreplident,
             expressions AS indexprs, NULL::VARCHAR AS indpred
         FROM duckdb_indexes()",
    ),
    (
        PG_CATALOG,
        "pg_indexes",
        "SELECT schema_name AS schemaname, table_name AS tablename, index_name AS indexname,
             NULL::VARCHAR AS tablespace, sql AS indexdef
         FROM duckdb_indexes()",
    ),
    (
        PG_CATALOG,
        "pg_database",
        "SELECT database_oid AS oid, database_name AS datname, 0::BIGINT AS datdba, 6 AS encoding,
             NOT internal AS datallowconn, FALSE AS datistemplate
         FROM duckdb_databases()",
    ),
    (
        PG_CATALOG,
        "pg_description",
        "SELECT table_oid AS objoid, 0::BIGINT AS classoid, 0 AS objsubid, comment AS description
         FROM duckdb_tables() WHERE comment IS NOT NULL
         UNION ALL SELECT view_oid, 0, 0, comment FROM duckdb_views() WHERE comment IS NOT NULL
         UNION ALL SELECT table_oid, 0, column_index, comment FROM duckdb_columns()
         WHERE comment IS NOT NULL",
    ),
    (
        PG_CATALOG,
        "pg_proc",
        "SELECT f.function_oid AS oid, f.function_name AS proname, s.oid AS pronamespace,
             0::BIGINT AS proowner, NULL::BIGINT AS prolang,
             CASE f.function_type WHEN 'aggregate' THEN 'a' WHEN 'window' THEN 'w' ELSE 'f' END
                 AS prokind,
             f.function_type IN ('table', 'table_macro') AS proretset,
             f.return_type AS prorettype, f.parameter_types AS proargtypes,
             f.parameters AS proargnames, f.macro_definition AS prosrc
         FROM duckdb_functions() f LEFT JOIN duckdb_schemas() s
         USING (database_name, schema_name)",
    ),
    (
        PG_CATALOG,
        "pg_sequence",
        "SELECT sequence_oid AS seqrelid, 0::BIGINT AS seqtypid, start_value AS seqstart,
             increment_by AS seqincrement, max_value AS seqmax, min_value AS seqmin,
             0::BIGINT AS seqcache, cycle AS seqcycle
         FROM duckdb_sequences()",
    ),
    (
        PG_CATALOG,
        "pg_sequences",
        "SELECT schema_name AS schemaname, sequence_name AS sequencename,
             'volley' AS sequenceowner, 'bigint' AS data_type, start_value, min_value, max_value,
             increment_by, cycle, 0::BIGINT AS cache_size
         FROM duckdb_sequences()",
    ),
    (
        PG_CATALOG,
        "pg_settings",
        "SELECT name, value AS setting, description AS short_desc,
             CASE WHEN input_type = 'VARCHAR' THEN 'string' ELSE lower(input_type) END AS vartype
         FROM duckdb_settings()",
    ),
    (
        PG_CATALOG,
        "pg_tables",
        "SELECT schema_name AS schemaname, table_name AS tablename, 'volley' AS tableowner,
             NULL::VARCHAR AS tablespace, index_count > 0 AS hasindexes, FALSE AS hasrules,
             FALSE AS hastriggers
         FROM duckdb_tables()",
    ),
    (
        PG_CATALOG,
        "pg_views",
        "SELECT schema_name AS schemaname, view_name AS viewname, 'volley' AS viewowner,
             sql AS definition
         FROM duckdb_views()",
    ),
    (
        PG_CATALOG,
        "pg_tablespace",
        "SELECT 0::BIGINT AS oid, 'pg_default' AS spcname, 0::BIGINT AS spcowner,
             NULL::VARCHAR AS spcacl, NULL::VARCHAR AS spcoptions",
    ),
    (
        PG_CATALOG,
        "pg_roles",
        "SELECT 0::BIGINT AS oid, 'volley' AS rolname, TRUE AS rolsuper, TRUE AS rolinherit,
             TRUE AS rolcreaterole, TRUE AS rolcreatedb, TRUE AS rolcanlogin",
    ),
    (
        PG_CATALOG,
        "pg_am",
        "SELECT 0::BIGINT AS oid, 'heap' AS amname, 0::BIGINT AS amhandler, 't' AS amtype",
    ),
];

/// A macro: its name, its parameters (a default after `:=`), and its expression.
type Macro = (&'static str, &'static [&'static str], &'static str);

const MACROS: [Macro; 13] = [
    (
        "format_type",
        &["type_oid", "modifier := NULL"],
        "(SELECT any_value(logical_type) FROM duckdb_types() t WHERE t.type_oid = type_oid)",
    ),
    ("pg_get_userbyid", &["role_oid"], "'volley'"),
    ("pg_get_expr", &["text", "relation", "pretty := FALSE"], "text"),
    (
        "pg_get_viewdef",
        &["oid", "pretty := FALSE"],
        "(SELECT any_value(sql) FROM duckdb_views() v WHERE v.view_oid = oid)",
    ),
    (
        "pg_get_constraintdef",
        &["constraint_oid", "pretty := FALSE"],
        "(SELECT any_value(constraint_text) FROM duckdb_constraints() c
          WHERE c.table_oid + c.constraint_index = constraint_oid)",
    ),
    (
        "obj_description",
        &["object_oid", "catalog_name := NULL"],
        "(SELECT any_value(description) FROM pg_catalog.pg_description d
          WHERE d.objoid = object_oid AND d.objsubid = 0)",
    ),
    (
        "col_description",
        &["table_oid", "column_number"],
        "(SELECT any_value(description) FROM pg_catalog.pg_description d
          WHERE d.objoid = table_oid AND d.objsubid = column_number)",
    ),
    ("shobj_description", &["object_oid", "catalog_name"], "NULL::VARCHAR"),
    ("pg_table_is_visible", &["table_oid"], "TRUE"),
    ("pg_type_is_visible", &["type_oid"], "TRUE"),
    ("pg_function_is_visible", &["function_oid"], "TRUE"),
    ("has_table_privilege", &["relation", "privilege"], "TRUE"),
    ("has_schema_privilege", &["schema_name", "privilege"], "TRUE"),
];

/// The query of the view that a name means, if it means one of the system.
pub(crate) fn view(name: &str) -> Option<&'static str> {
    let mut parts = name.rsplit('.');
    let (name, schema) = (parts.next()?, parts.next());
    // The schema is that of any database.
    if parts.next().is_some() && parts.next().is_some() {
        return None;
    }
    let all = DUCKDB_VIEWS.iter().chain(&INFORMATION_VIEWS).chain(&PG_VIEWS);
    let mut named = all.filter(|it| it.1.eq_ignore_ascii_case(name));
    let is_in = |it: &View| match schema {
        Some(schema) => it.0.eq_ignore_ascii_case(schema),
        None => it.0 != INFORMATION_SCHEMA,
    };
    named.find(|it| is_in(it)).map(|it| it.2)
}

/// The macro that a name means, if it means one of the system.
pub(crate) fn macro_called(name: &str) -> Option<MacroDefinition> {
    let name = match name.split_once('.') {
        Some((schema, name)) if schema.eq_ignore_ascii_case(PG_CATALOG) => name,
        _ => name,
    };
    if name.eq_ignore_ascii_case(TEST_ALL_TYPES) {
        let body = all_types::query();
        return Some(MacroDefinition { parameters: Vec::new(), body, is_table: true });
    }
    let (_, parameters, body) = MACROS.iter().find(|it| it.0.eq_ignore_ascii_case(name))?;
    let parameter = |text: &&str| {
        let (name, default) = match text.split_once(" := ") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (*text, None),
        };
        MacroParameter { name: name.to_owned(), data_type: None, default }
    };
    let parameters = parameters.iter().map(parameter).collect();
    Some(MacroDefinition { parameters, body: (*body).to_owned(), is_table: false })
}
