//! A catalog of tables with statistics and without rows, and plans of SQL text over it.

use crate::{OptimizerContext, lower, optimize};
use std::sync::Arc;
use volley_connector::{
    ColumnField, ColumnStatistics, KeyDefinition, Scan, ScanRequest, StoredTable, Table,
    TableDefinition, TableStatistics,
};
use volley_error::{Error, Result};
use volley_function::{QueryConstants, Registry};
use volley_logical::{ColumnIds, ExternalTables, NamedTable, Plan, TableRef, TableResolver};
use volley_plan::{PlanNode, TableHandle};
use volley_sql::{BindSettings, Catalog, Relation, Statement, bind, parse};
use volley_types::{Field, Schema, Type, Value};

/// A table of statistics only.
#[derive(Clone, Debug)]
struct TestTable {
    name: String,
    schema: Schema,
    fields: Vec<ColumnField>,
    definition: Arc<TableDefinition>,
    statistics: Arc<TableStatistics>,
}

impl Table for TestTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: "test".to_owned(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn fields(&self) -> &[ColumnField] {
        &self.fields
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(self.statistics.clone())
    }

    fn as_stored(&self) -> Option<StoredTable> {
        let definition = self.definition.clone();
        Some(StoredTable { definition, with_row_ids: Arc::new(self.clone()) })
    }

    fn scan(&self, _request: ScanRequest) -> Result<Box<dyn Scan>> {
        Err(Error::internal("the table has no rows"))
    }
}

/// `name rows: column type [min max [key]], ...` per line.
const TABLES: &str = "
t 1000: a integer 1 100, b integer 1 1000, c varchar, d double
s 100000: a integer 1 100, b integer 1 1000, c varchar, d double
u 50: a integer 1 50, e integer 1 50
k 1000: id integer 1 1000 key, name varchar, g integer 1 10
p 1000: id bigint 1 1000, at place, l bigint
region 5: r_regionkey integer 0 4, r_name varchar, r_comment varchar
nation 25: n_nationkey integer 0 24, n_name varchar, n_regionkey integer 0 4, n_comment varchar
supplier 10000: s_suppkey bigint 1 10000, s_name varchar, s_address varchar, \
 s_nationkey integer 0 24, s_phone varchar, s_acctbal decimal, s_comment varchar
part 200000: p_partkey bigint 1 200000, p_name varchar, p_mfgr varchar, p_brand varchar, \
 p_type varchar, p_size integer 1 50, p_container varchar, p_retailprice decimal, p_comment varchar
partsupp 800000: ps_partkey bigint 1 200000, ps_suppkey bigint 1 10000, \
 ps_availqty integer 1 9999, ps_supplycost decimal, ps_comment varchar
customer 150000: c_custkey bigint 1 150000, c_name varchar, c_address varchar, \
 c_nationkey integer 0 24, c_phone varchar, c_acctbal decimal, c_mktsegment varchar, \
 c_comment varchar
orders 1500000: o_orderkey bigint 1 6000000, o_custkey bigint 1 149999, o_orderstatus varchar, \
 o_totalprice decimal, o_orderdate date 8035 10440, o_orderpriority varchar, o_clerk varchar, \
 o_shippriority integer 0 0, o_comment varchar
lineitem 6001215: l_orderkey bigint 1 6000000, l_partkey bigint 1 200000, \
 l_suppkey bigint 1 10000, l_linenumber integer 1 7, l_quantity decimal, l_extendedprice decimal, \
 l_discount decimal, l_tax decimal, l_returnflag varchar, l_linestatus varchar, \
 l_shipdate date 8036 10561, l_commitdate date 8066 10530, l_receiptdate date 8037 10591, \
 l_shipinstruct varchar, l_shipmode varchar, l_comment varchar
";

struct TestCatalog {
    tables: Vec<Arc<TestTable>>,
    external: ExternalTables,
}

impl TestCatalog {
    fn new() -> TestCatalog {
        let lines = TABLES.lines().filter(|it| !it.trim().is_empty());
        let tables = lines.map(|it| Arc::new(table(it))).collect();
        TestCatalog { tables, external: ExternalTables::default() }
    }
}

fn table(line: &str) -> TestTable {
    let (head, columns) = line.split_once(": ").expect("a table has columns");
    let (name, rows) = head.split_once(' ').expect("a table has rows");
    let rows: u64 = rows.parse().expect("rows are a number");
    let mut fields = Vec::new();
    let mut statistics = Vec::new();
    let mut definition = TableDefinition::default();
    for column in columns.split(", ") {
        let words: Vec<&str> = column.split_whitespace().collect();
        let data_type = match words[1] {
            "integer" => Type::Integer,
            "bigint" => Type::BigInt,
            "double" => Type::Double,
            "decimal" => Type::decimal(15, 2),
            "date" => Type::Date,
            "place" => {
                let inner = [("name", Type::Varchar), ("z", Type::Double)];
                let inner = inner.map(|it| Field::new(it.0, it.1)).to_vec();
                let fields = [("x", Type::Integer), ("inner", Type::row(inner))];
                Type::row(fields.map(|it| Field::new(it.0, it.1)).to_vec())
            }
            _ => Type::Varchar,
        };
        let bound = |at: usize| {
            let number: i64 = words.get(at)?.parse().ok()?;
            Some(match data_type {
                Type::BigInt => Value::BigInt(number),
                Type::Date => Value::Date(number as i32),
                _ => Value::Integer(number as i32),
            })
        };
        let (min, max) = (bound(2), bound(3));
        if words.get(4) == Some(&"key") {
            definition.keys.push(KeyDefinition {
                columns: vec![fields.len()],
                is_primary: true,
                index: None,
            });
        }
        statistics.push(ColumnStatistics { min, max, nulls: Some(0), distinct: None });
        fields.push(Field::new(words[0], data_type));
    }
    let statistics = TableStatistics { rows: Some(rows), columns: statistics, is_exact: false };
    TestTable {
        name: name.to_owned(),
        fields: fields.iter().enumerate().flat_map(|it| leaves(it.0, Vec::new(), it.1)).collect(),
        schema: Schema::new(fields),
        definition: Arc::new(definition),
        statistics: Arc::new(statistics),
    }
}

/// The fields of a column's rows that are no rows.
fn leaves(column: usize, path: Vec<usize>, field: &Field) -> Vec<ColumnField> {
    let Type::Row(fields) = &field.data_type else {
        return match path.is_empty() {
            true => Vec::new(),
            false => vec![ColumnField { column, path, field: field.clone() }],
        };
    };
    let below = |(at, inner): (usize, &Field)| {
        let path = path.iter().copied().chain([at]).collect();
        let inner = Field::new(format!("{}.{}", field.name, inner.name), inner.data_type.clone());
        leaves(column, path, &inner)
    };
    fields.iter().enumerate().flat_map(below).collect()
}

impl TableResolver for TestCatalog {
    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        match reference {
            TableRef::External(number) => self.external.get(*number),
            TableRef::Stored { .. } => Err(Error::internal("a table of a database")),
        }
    }
}

impl Catalog for TestCatalog {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        let found = self.tables.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        Ok(found.map(|it| {
            let table: Arc<dyn Table> = it.clone();
            Relation::Table(NamedTable { reference: self.add_external(Arc::clone(&table)), table })
        }))
    }

    fn add_external(&self, table: Arc<dyn Table>) -> TableRef {
        self.external.add(table)
    }

    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        TableResolver::resolve(self, reference)
    }

    fn file(&self, _path: &str) -> Result<Arc<dyn Table>> {
        Err(Error::unsupported("files"))
    }

    fn names(&self) -> Vec<String> {
        self.tables.iter().map(|it| it.name.clone()).collect()
    }
}

/// What planning a query gives.
pub(crate) struct Planned {
    pub(crate) logical: Plan,
    pub(crate) lowered: Arc<PlanNode>,
}

/// Plans a query with rules switched off, for one driver.
pub(crate) fn plan_without(sql: &str, disabled: &[&str]) -> Result<Planned> {
    plan_for(sql, disabled, 1)
}

/// Plans a query for a number of drivers.
pub(crate) fn plan_for(sql: &str, disabled: &[&str], drivers: usize) -> Result<Planned> {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    let ids = ColumnIds::new();
    let statements = parse(sql)?;
    let settings = BindSettings::default();
    let catalog = Arc::new(TestCatalog::new());
    let statement = bind(&statements[0], &*catalog, &registry, &ids, &settings)?;
    let Statement::Query(query) = statement else {
        return Err(Error::unsupported("a statement that is no query"));
    };
    let ctx = OptimizerContext {
        registry: Arc::new(registry),
        query: Arc::new(QueryConstants::default()),
        column_ids: &ids,
        tables: catalog,
        drivers,
        disabled_rules: disabled.iter().map(|it| (*it).to_owned()).collect(),
        always_merges_joins: false,
        always_cascades_sets: false,
    };
    let logical = optimize(query.plan, &ctx)?;
    let lowered = lower(&logical, &ctx)?;
    Ok(Planned { logical, lowered })
}

/// The optimized plan as text.
pub(crate) fn optimized(sql: &str) -> String {
    optimized_without(sql, &[])
}

/// The optimized plan as text, with rules switched off.
pub(crate) fn optimized_without(sql: &str, disabled: &[&str]) -> String {
    match plan_without(sql, disabled) {
        Ok(planned) => planned.logical.to_string(),
        Err(error) => format!("{error}\n"),
    }
}
