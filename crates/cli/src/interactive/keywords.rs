//! The words of SQL.

/// The words that statements are made of, in upper case, sorted.
#[rustfmt::skip]
pub const KEYWORDS: &[&str] = &[
    "ADD", "ALL", "ALTER", "ANALYZE", "AND", "ANTI", "ANY", "ARRAY", "AS", "ASC", "ASOF",
    "ATTACH", "BEGIN", "BETWEEN", "BIGINT", "BOOLEAN", "BY", "CASCADE", "CASE", "CAST", "CHECK",
    "COALESCE", "COLLATE", "COLUMN", "COLUMNS", "COMMENT", "COMMIT", "CONFLICT", "CONSTRAINT",
    "COPY", "CREATE", "CROSS", "CUBE", "CURRENT", "DATABASE", "DATE", "DEALLOCATE", "DECIMAL",
    "DEFAULT", "DELETE", "DESC", "DESCRIBE", "DETACH", "DISTINCT", "DO", "DOUBLE", "DROP", "ELSE",
    "END", "ESCAPE", "EXCEPT", "EXCLUDE", "EXECUTE", "EXISTS", "EXPLAIN", "EXTRACT", "FALSE",
    "FETCH", "FILTER", "FIRST", "FOLLOWING", "FOR", "FOREIGN", "FORMAT", "FROM", "FULL",
    "FUNCTION", "FUNCTIONS", "GROUP", "GROUPING", "GROUPS", "HAVING", "IF", "IGNORE", "ILIKE",
    "IN", "INNER", "INSERT", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "IS", "JOIN", "KEY",
    "LAST", "LATERAL", "LEFT", "LIKE", "LIMIT", "MACRO", "MAP", "MATCHED", "MERGE", "NATURAL",
    "NEXT", "NOT", "NOTHING", "NULL", "NULLIF", "NULLS", "OFFSET", "ON", "ONLY", "OR", "ORDER",
    "OUTER", "OVER", "PARTITION", "PIVOT", "POSITIONAL", "PRECEDING", "PREPARE", "PRIMARY",
    "QUALIFY", "RANGE", "REAL", "RECURSIVE", "REFERENCES", "RENAME", "REPLACE", "RESET",
    "RESPECT", "RETURNING", "RIGHT", "ROLLBACK", "ROLLUP", "ROW", "ROWS", "SAVEPOINT", "SCHEMA",
    "SELECT", "SEMI", "SEQUENCE", "SET", "SETS", "SHOW", "SMALLINT", "SOME", "STRUCT",
    "SUMMARIZE", "TABLE", "TABLES", "TABLESAMPLE", "TEMPORARY", "THEN", "TIES", "TIME",
    "TIMESTAMP", "TINYINT", "TO", "TRANSACTION", "TRUE", "TRY_CAST", "TYPE", "UNBOUNDED", "UNION",
    "UNIQUE", "UNNEST", "UNPIVOT", "UPDATE", "USE", "USING", "VALUES", "VARBINARY", "VARCHAR",
    "VARIABLE", "VIEW", "VIEWS", "WHEN", "WHERE", "WINDOW", "WITH", "WITHIN", "WITHOUT", "ZONE",
];

/// Whether a word is one of them, in any case.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.binary_search(&word.to_uppercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_and_found_in_any_case() {
        assert!(KEYWORDS.is_sorted());
        assert!(is_keyword("select") && is_keyword("SELECT") && !is_keyword("selected"));
    }
}
