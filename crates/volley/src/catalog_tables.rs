//! Tables that describe what a session knows: databases and their objects, functions, settings.
//!
//! [`information_schema`] is the schema of the SQL standard. [`functions`] are functions in FROM,
//! with names and columns of DuckDB. [`views`] are queries over both: `pg_catalog` and others.

mod all_types;
pub(crate) mod functions;
pub(crate) mod information_schema;
mod objects;
mod rows;
mod session;
pub(crate) mod views;

use crate::{catalog::SessionHost, listing::listed};
use std::sync::Arc;
use volley_catalog::StatementCatalog;
use volley_connector::Table;
use volley_error::Result;
use volley_memory::Pool;
use volley_types::{Field, Schema, Type, Value};

/// A table: its name, its columns, and what makes its rows.
struct Described {
    name: &'static str,
    columns: &'static [(&'static str, ColumnType)],
    rows: fn(&SessionHost, &StatementCatalog) -> Result<Vec<Vec<Value>>>,
}

/// The type of a column.
#[derive(Clone, Copy)]
pub(crate) enum ColumnType {
    Text,
    Boolean,
    Integer,
    BigInt,
    /// ARRAY(VARCHAR).
    Texts,
    /// ARRAY(BIGINT).
    BigInts,
    /// MAP(VARCHAR, VARCHAR).
    Tags,
}

impl ColumnType {
    fn data_type(self) -> Type {
        match self {
            ColumnType::Text => Type::Varchar,
            ColumnType::Boolean => Type::Boolean,
            ColumnType::Integer => Type::Integer,
            ColumnType::BigInt => Type::BigInt,
            ColumnType::Texts => Type::Array(Arc::new(Type::Varchar)),
            ColumnType::BigInts => Type::Array(Arc::new(Type::BigInt)),
            ColumnType::Tags => Type::Map(Arc::new((Type::Varchar, Type::Varchar))),
        }
    }
}

impl Described {
    /// The table, as a statement sees it.
    fn table(&self, host: &SessionHost, catalog: &StatementCatalog) -> Result<Arc<dyn Table>> {
        self.of_rows(&host.pool, &(self.rows)(host, catalog)?)
    }

    /// The table with these rows.
    fn of_rows(&self, pool: &Pool, rows: &[Vec<Value>]) -> Result<Arc<dyn Table>> {
        self.of_rows_named(self.name.to_owned(), pool, rows)
    }

    /// The same under another name, which tells it from other tables of this kind in a query.
    fn of_rows_named(
        &self,
        name: String,
        pool: &Pool,
        rows: &[Vec<Value>],
    ) -> Result<Arc<dyn Table>> {
        let fields = self.columns.iter().map(|it| Field::new(it.0, it.1.data_type()));
        listed(name, Schema { fields: fields.collect() }, rows, pool)
    }
}
