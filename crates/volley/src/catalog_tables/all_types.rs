//! `test_all_types()`: a column of each type, with its least or an empty value, its greatest or a
//! full one, and null. Names and values are those of DuckDB's function.

/// A column: its name, its type, and two values as SQL.
type Column = (&'static str, &'static str, &'static str, &'static str);

const COLUMNS: [Column; 37] = [
    ("bool", "BOOLEAN", "false", "true"),
    ("tinyint", "TINYINT", "'-128'", "127"),
    ("smallint", "SMALLINT", "'-32768'", "32767"),
    ("int", "INTEGER", "'-2147483648'", "2147483647"),
    ("bigint", "BIGINT", "'-9223372036854775808'", "9223372036854775807"),
    (
        "hugeint",
        "HUGEINT",
        "'-170141183460469231731687303715884105728'",
        "'170141183460469231731687303715884105727'",
    ),
    ("date", "DATE", "'5877642-06-25 (BC)'", "'5881580-07-10'"),
    ("time", "TIME", "'00:00:00'", "'24:00:00'"),
    ("timestamp", "TIMESTAMP", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"),
    (
        "timestamp_tz",
        "TIMESTAMP WITH TIME ZONE",
        "'290309-12-22 (BC) 00:00:00+00'",
        "'294247-01-10 04:00:54.775806+00'",
    ),
    ("float", "REAL", "'-3.4028235e+38'", "'3.4028235e+38'"),
    ("double", "DOUBLE", "'-1.7976931348623157e+308'", "'1.7976931348623157e+308'"),
    ("dec_4_1", "DECIMAL(4, 1)", "'-999.9'", "'999.9'"),
    ("dec_9_4", "DECIMAL(9, 4)", "'-99999.9999'", "'99999.9999'"),
    ("dec_18_6", "DECIMAL(18, 6)", "'-999999999999.999999'", "'999999999999.999999'"),
    (
        "dec38_10",
        "DECIMAL(38, 10)",
        "'-9999999999999999999999999999.9999999999'",
        "'9999999999999999999999999999.9999999999'",
    ),
    (
        "uuid",
        "UUID",
        "'00000000-0000-0000-0000-000000000000'",
        "'ffffffff-ffff-ffff-ffff-ffffffffffff'",
    ),
    ("interval", "INTERVAL", "'00:00:00'", "'83 years 3 months 999 days 00:16:39.999999'"),
    ("varchar", "VARCHAR", "repeat('🦆', 6)", "'goo' || chr(0) || 'se'"),
    ("blob", "BLOB", "'thisisalongblob\\x00withnullbytes'", "'\\x00\\x00\\x00a'"),
    ("small_enum", "ENUM('DUCK_DUCK_ENUM', 'GOOSE')", "'DUCK_DUCK_ENUM'", "'GOOSE'"),
    ("int_array", "INTEGER[]", "[]", "[42, 999, NULL, NULL, -42]"),
    (
        "double_array",
        "DOUBLE[]",
        "[]",
        "[42, 'nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::DOUBLE, NULL, -42]",
    ),
    ("varchar_array", "VARCHAR[]", "[]", "[repeat('🦆', 6), 'goose', NULL, '']"),
    (
        "nested_int_array",
        "INTEGER[][]",
        "[]",
        "[[], [42, 999, NULL, NULL, -42], NULL, [], [42, 999, NULL, NULL, -42]]",
    ),
    (
        "struct",
        "STRUCT(a INTEGER, b VARCHAR)",
        "{'a': NULL, 'b': NULL}",
        "{'a': 42, 'b': repeat('🦆', 6)}",
    ),
    (
        "struct_of_arrays",
        "STRUCT(a INTEGER[], b VARCHAR[])",
        "{'a': NULL, 'b': NULL}",
        "{'a': [42, 999, NULL, NULL, -42], 'b': [repeat('🦆', 6), 'goose', NULL, '']}",
    ),
    (
        "array_of_structs",
        "STRUCT(a INTEGER, b VARCHAR)[]",
        "[]",
        "[{'a': NULL, 'b': NULL}, {'a': 42, 'b': repeat('🦆', 6)}, NULL]",
    ),
    ("map", "MAP(VARCHAR, VARCHAR)", "MAP {}", "MAP {'key1': repeat('🦆', 6), 'key2': 'goose'}"),
    ("fixed_int_array", "INTEGER[3]", "[NULL, 2, 3]", "[4, 5, 6]"),
    ("fixed_varchar_array", "VARCHAR[3]", "['a', NULL, 'c']", "['d', 'e', 'f']"),
    (
        "fixed_nested_int_array",
        "INTEGER[3][3]",
        "[[NULL, 2, 3], NULL, [NULL, 2, 3]]",
        "[[4, 5, 6], [NULL, 2, 3], [4, 5, 6]]",
    ),
    (
        "fixed_nested_varchar_array",
        "VARCHAR[3][3]",
        "[['a', NULL, 'c'], NULL, ['a', NULL, 'c']]",
        "[['d', 'e', 'f'], ['a', NULL, 'c'], ['d', 'e', 'f']]",
    ),
    (
        "fixed_struct_array",
        "STRUCT(a INTEGER, b VARCHAR)[3]",
        "[{'a': NULL, 'b': NULL}, {'a': 42, 'b': repeat('🦆', 6)}, {'a': NULL, 'b': NULL}]",
        "[{'a': 42, 'b': repeat('🦆', 6)}, {'a': NULL, 'b': NULL}, {'a': 42, 'b': repeat('🦆', 6)}]",
    ),
    (
        "struct_of_fixed_array",
        "STRUCT(a INTEGER[3], b VARCHAR[3])",
        "{'a': [NULL, 2, 3], 'b': ['a', NULL, 'c']}",
        "{'a': [4, 5, 6], 'b': ['d', 'e', 'f']}",
    ),
    (
        "fixed_array_of_int_list",
        "INTEGER[][3]",
        "[[], [42, 999, NULL, NULL, -42], []]",
        "[[42, 999, NULL, NULL, -42], [], [42, 999, NULL, NULL, -42]]",
    ),
    (
        "list_of_fixed_int_array",
        "INTEGER[3][]",
        "[[NULL, 2, 3], [4, 5, 6], [NULL, 2, 3]]",
        "[[4, 5, 6], [NULL, 2, 3], [4, 5, 6]]",
    ),
];

/// The name of the function.
pub(super) const TEST_ALL_TYPES: &str = "test_all_types";

/// The query of the three rows.
pub(super) fn query() -> String {
    let row = |value: &dyn Fn(&Column) -> &'static str| {
        let columns = COLUMNS.iter();
        let columns = columns.map(|it| format!("CAST({} AS {}) AS \"{}\"", value(it), it.1, it.0));
        format!("SELECT {}", columns.collect::<Vec<_>>().join(", "))
    };
    [row(&|it| it.2), row(&|it| it.3), row(&|_| "NULL")].join(" UNION ALL ")
}
