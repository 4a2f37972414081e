//! SQL texts.

use crate::{REGISTRY, assert_not_internal};
use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};
use volley_connector::{Table, TableId, TableProvider};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_function::QueryConstants;
use volley_logical::{ColumnIds, ExternalTables, NamedTable, RowIds, TableRef, TableResolver};
use volley_memory::Pool;
use volley_optimizer::{OptimizerContext, lower, optimize};
use volley_plan::{PlanNode, TableHandle};
use volley_sql::{BindSettings, Catalog, Dialect, Home, Relation, Statement, bind, parse};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// Tables `t` and `u` of many types, and a view `v`; no files.
#[derive(Clone)]
pub(crate) struct Tables(Vec<Arc<MemoryTable>>);

pub(crate) static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let pool = Pool::root("fuzz", None);
    let types = [
        ("a", Type::Integer),
        ("b", Type::BigInt),
        ("c", Type::Varchar),
        ("d", Type::Double),
        ("e", Type::Decimal { precision: 12, scale: 2 }),
        ("f", Type::Date),
        ("g", Type::Timestamp),
        ("h", Type::Boolean),
        ("i", Type::Interval),
        ("j", Type::array(Type::Integer)),
        ("k", Type::map(Type::Varchar, Type::Double)),
        ("l", Type::row(vec![Field::new("x", Type::Integer), Field::new("y", Type::Varchar)])),
    ];
    let schema: Schema = types.iter().map(|it| Field::new(it.0, it.1.clone())).collect();
    let table = |name: &str| {
        let column = |it: &Type| Vector::from_values(it.clone(), &[Value::Null, Value::Null]);
        let batch = Batch::new(schema.types().map(column).collect(), 2);
        MemoryTable::new(name, schema.clone(), vec![batch], &pool).ok().map(Arc::new)
    };
    Tables(["t", "u"].into_iter().filter_map(table).collect())
});

/// The names that a statement sees.
struct Names(ExternalTables);

/// How plans name the tables: by position.
fn reference(index: usize, row_ids: RowIds) -> TableRef {
    TableRef::Stored { database: "memory".to_owned(), table: TableId(index as u64), row_ids }
}

fn named(index: usize) -> Option<Relation> {
    let table = Arc::clone(TABLES.0.get(index)?) as _;
    let reference = reference(index, RowIds::Without);
    Some(Relation::Table(NamedTable { reference, table }))
}

impl TableResolver for Names {
    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        let missing = || Error::invalid_query("no such table");
        match reference {
            TableRef::External(number) => self.0.get(*number),
            TableRef::Stored { table, row_ids, .. } => {
                let found = TABLES.0.get(table.0 as usize).ok_or_else(missing)?;
                match row_ids {
                    RowIds::Without => Ok(Arc::clone(found) as _),
                    RowIds::Appended => Ok(found.as_stored().ok_or_else(missing)?.with_row_ids),
                }
            }
        }
    }
}

impl Catalog for Names {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        let sql = "SELECT a, count(*) AS n FROM t GROUP BY a".to_owned();
        Ok(match name.to_ascii_lowercase().as_str() {
            "t" => named(0),
            "u" => named(1),
            "v" => {
                let (dialect, home) = (Dialect::default(), Home::default());
                Some(Relation::View { sql, columns: Vec::new(), dialect, home })
            }
            _ => None,
        })
    }

    fn file(&self, _path: &str) -> Result<Arc<dyn Table>> {
        Err(Error::invalid_query("no files here"))
    }

    fn add_external(&self, table: Arc<dyn Table>) -> TableRef {
        self.0.add(table)
    }

    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        TableResolver::resolve(self, reference)
    }

    fn names(&self) -> Vec<String> {
        ["t", "u", "v"].map(str::to_owned).to_vec()
    }
}

/// Parses, binds, optimizes and lowers each statement; none of them runs.
pub fn sql(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for outcome in lowered(text) {
        if let Err(error) = outcome {
            assert_not_internal(&error);
        }
    }
}

/// The plans of the statements of a text; none for those that have none.
pub fn lowered(text: &str) -> Vec<Result<Option<Arc<PlanNode>>>> {
    let parsed = parse(text).unwrap_or_default();
    let plan_of = |it| {
        let ids = ColumnIds::new();
        let names = Arc::new(Names(ExternalTables::default()));
        let bound = bind(it, &*names, &REGISTRY, &ids, &BindSettings::default());
        bound.and_then(|it| plan(it, &ids, &names))
    };
    parsed.iter().map(plan_of).collect()
}

fn plan(
    statement: Statement,
    ids: &ColumnIds,
    names: &Arc<Names>,
) -> Result<Option<Arc<PlanNode>>> {
    let query = match statement {
        Statement::Query(query)
        | Statement::CreateTable { query: Some(query), .. }
        | Statement::Copy { query, .. } => query,
        Statement::Write(write) => write.query,
        Statement::Explain { statement, .. } => return plan(*statement, ids, names),
        _ => return Ok(None),
    };
    let context = OptimizerContext {
        registry: Arc::clone(&REGISTRY),
        query: Arc::new(QueryConstants::default()),
        column_ids: ids,
        tables: Arc::clone(names) as _,
        drivers: 2,
        disabled_rules: BTreeSet::new(),
        always_merges_joins: false,
        always_cascades_sets: false,
    };
    lower(&optimize(query.plan, &context)?, &context).map(Some)
}

/// What plans of [`lowered`] read.
impl TableProvider for Tables {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        let found = self.0.iter().find(|it| it.handle() == *handle);
        match found {
            Some(table) => Ok(Arc::clone(table) as _),
            None => Err(Error::invalid_query("no such table")),
        }
    }
}
