//! Names of types as DuckDB writes them.

use crate::{Field, Type, custom::Collation, data_type::shown_name};
use std::{fmt, str::FromStr};
use volley_error::{Error, Result};

/// How names of types are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypeNames {
    /// As the SQL standard and Presto do: `ARRAY(INTEGER)`, `ROW(a INTEGER)`.
    #[default]
    Sql,
    /// As DuckDB does: `INTEGER[]`, `STRUCT(a INTEGER)`.
    DuckDb,
}

impl TypeNames {
    /// The name of a type.
    pub fn name(self, data_type: &Type) -> String {
        match self {
            TypeNames::Sql => data_type.to_string(),
            TypeNames::DuckDb => duckdb_name(data_type),
        }
    }
}

fn duckdb_name(data_type: &Type) -> String {
    match data_type {
        Type::Real => "FLOAT".to_owned(),
        Type::Varbinary => "BLOB".to_owned(),
        Type::Unknown => "\"NULL\"".to_owned(),
        Type::Array(element) => format!("{}[]", duckdb_name(element)),
        Type::FixedArray(array) => format!("{}[{}]", duckdb_name(&array.0), array.1),
        Type::Map(entry) => format!("MAP({}, {})", duckdb_name(&entry.0), duckdb_name(&entry.1)),
        Type::Row(fields) => {
            let field = |it: &Field| match it.name.is_empty() {
                true => duckdb_name(&it.data_type),
                false => format!("{} {}", shown_name(&it.name), duckdb_name(&it.data_type)),
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("STRUCT({})", fields.join(", "))
        }
        Type::Custom(custom) if Collation::named(custom.name()).is_some() => "VARCHAR".to_owned(),
        other => other.to_string(),
    }
}

impl FromStr for TypeNames {
    type Err = Error;

    fn from_str(text: &str) -> Result<TypeNames> {
        match text.to_ascii_lowercase().as_str() {
            "sql" => Ok(TypeNames::Sql),
            "duckdb" => Ok(TypeNames::DuckDb),
            _ => Err(Error::invalid_value(format!("type_names must be sql or duckdb: '{text}'"))),
        }
    }
}

impl fmt::Display for TypeNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TypeNames::Sql => "sql",
            TypeNames::DuckDb => "duckdb",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_types_have_duckdbs_names() {
        let list = |it: Type| Type::array(it);
        let row = Type::row(vec![
            Field::new("a", Type::Real),
            Field::new("b c", list(list(Type::Varbinary))),
        ]);
        for (data_type, name) in [
            (list(Type::Integer), "INTEGER[]"),
            (row, "STRUCT(a FLOAT, \"b c\" BLOB[][])"),
            (Type::Decimal { precision: 5, scale: 2 }, "DECIMAL(5,2)"),
            (Type::row(vec![Field::new("", Type::Date)]), "STRUCT(DATE)"),
        ] {
            assert_eq!(TypeNames::DuckDb.name(&data_type), name);
            assert_eq!(TypeNames::Sql.name(&data_type), data_type.to_string());
        }
        assert!("other".parse::<TypeNames>().is_err());
        assert_eq!("DuckDB".parse::<TypeNames>().unwrap().to_string(), "duckdb");
    }
}
