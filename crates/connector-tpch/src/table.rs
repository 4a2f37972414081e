//! The tables.

use crate::source::TpchScan;
use std::sync::Arc;
use volley_connector::{Scan, ScanRequest, Table, TableStatistics};
use volley_error::{Error, Result};
use volley_plan::TableHandle;
use volley_types::{Field, Schema, Type};

/// A table of TPC-H at some scale.
#[derive(Clone, Debug)]
pub struct TpchTable {
    name: &'static str,
    scale: f64,
    /// Into how many splits a scan divides the table.
    parts: u32,
    schema: Schema,
}

/// Each table: its name, the prefix of its columns, their names and types.
type Definition = (&'static str, &'static str, &'static [(&'static str, Type)]);

const DEFINITIONS: [Definition; 8] = [
    (
        "customer",
        "c_",
        &[
            ("custkey", Type::BigInt),
            ("name", Type::Varchar),
            ("address", Type::Varchar),
            ("nationkey", Type::BigInt),
            ("phone", Type::Varchar),
            ("acctbal", Type::Double),
            ("mktsegment", Type::Varchar),
            ("comment", Type::Varchar),
        ],
    ),
    (
        "lineitem",
        "l_",
        &[
            ("orderkey", Type::BigInt),
            ("partkey", Type::BigInt),
            ("suppkey", Type::BigInt),
            ("linenumber", Type::Integer),
            ("quantity", Type::Double),
            ("extendedprice", Type::Double),
            ("discount", Type::Double),
            ("tax", Type::Double),
            ("returnflag", Type::Varchar),
            ("linestatus", Type::Varchar),
            ("shipdate", Type::Date),
            ("commitdate", Type::Date),
            ("receiptdate", Type::Date),
            ("shipinstruct", Type::Varchar),
            ("shipmode", Type::Varchar),
            ("comment", Type::Varchar),
        ],
    ),
    (
        "nation",
        "n_",
        &[
            ("nationkey", Type::BigInt),
            ("name", Type::Varchar),
            ("regionkey", Type::BigInt),
            ("comment", Type::Varchar),
        ],
    ),
    (
        "orders",
        "o_",
        &[
            ("orderkey", Type::BigInt),
            ("custkey", Type::BigInt),
            ("orderstatus", Type::Varchar),
            ("totalprice", Type::Double),
            ("orderdate", Type::Date),
            ("orderpriority", Type::Varchar),
            ("clerk", Type::Varchar),
            ("shippriority", Type::Integer),
            ("comment", Type::Varchar),
        ],
    ),
    (
        "part",
        "p_",
        &[
            ("partkey", Type::BigInt),
            ("name", Type::Varchar),
            ("mfgr", Type::Varchar),
            ("brand", Type::Varchar),
            ("type", Type::Varchar),
            ("size", Type::Integer),
            ("container", Type::Varchar),
            ("retailprice", Type::Double),
            ("comment", Type::Varchar),
        ],
    ),
    (
        "partsupp",
        "ps_",
        &[
            ("partkey", Type::BigInt),
            ("suppkey", Type::BigInt),
            ("availqty", Type::Integer),
            ("supplycost", Type::Double),
            ("comment", Type::Varchar),
        ],
    ),
    (
        "region",
        "r_",
        &[("regionkey", Type::BigInt), ("name", Type::Varchar), ("comment", Type::Varchar)],
    ),
    (
        "supplier",
        "s_",
        &[
            ("suppkey", Type::BigInt),
            ("name", Type::Varchar),
            ("address", Type::Varchar),
            ("nationkey", Type::BigInt),
            ("phone", Type::Varchar),
            ("acctbal", Type::Double),
            ("comment", Type::Varchar),
        ],
    ),
];

impl TpchTable {
    /// Table `name` at `scale`, which a scan divides into `parts` splits.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. Invalid value: a scale that cannot be generated, no parts.
    pub fn new(name: &str, scale: f64, parts: u32) -> Result<TpchTable> {
        volley_tpch::check_scale(scale)?;
        if parts == 0 || i32::try_from(parts).is_err() {
            return Err(Error::invalid_value(format!("{parts} parts of a table")));
        }
        let found = DEFINITIONS.iter().find(|it| it.0 == name);
        let (name, prefix, columns) = found.ok_or_else(|| {
            let names: Vec<&str> = DEFINITIONS.iter().map(|it| it.0).collect();
            let error = Error::invalid_query(format!("no such table of TPC-H: {name}"));
            error.hint(format!("the tables are {}", names.join(", ")))
        })?;
        let field = |it: &(&str, Type)| Field::new(format!("{prefix}{}", it.0), it.1.clone());
        let schema = columns.iter().map(field).collect();
        Ok(TpchTable { name, scale, parts, schema })
    }

    /// The same table with amounts as DECIMAL(15, 2), as the specification has them.
    pub fn with_decimals(mut self) -> TpchTable {
        let amount = Type::Decimal { precision: 15, scale: 2 };
        for field in &mut self.schema.fields {
            if field.data_type == Type::Double {
                field.data_type = amount.clone();
            }
        }
        self
    }

    /// The position of a column, whose name may lack the prefix of the table: `l_orderkey` or
    /// `orderkey`.
    pub fn position(&self, column: &str) -> Option<usize> {
        let without_prefix = |name: &str| name.split_once('_').is_some_and(|it| it.1 == column);
        self.schema.fields.iter().position(|it| it.name == column || without_prefix(&it.name))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    pub(crate) fn parts(&self) -> u32 {
        self.parts
    }
}

impl Table for TpchTable {
    fn handle(&self) -> TableHandle {
        TableHandle {
            connector: "tpch".to_owned(),
            table: format!("{} at scale {}", self.name, self.scale),
        }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let rows = volley_tpch::TABLES.iter().find(|it| it.0 == self.name).map_or(0, |it| it.1);
        let is_fixed = matches!(self.name, "nation" | "region");
        let rows = if is_fixed { rows as f64 } else { rows as f64 * self.scale };
        Ok(Arc::new(TableStatistics { rows: Some(rows as u64), ..TableStatistics::default() }))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(TpchScan::new(self.clone(), request)))
    }
}
