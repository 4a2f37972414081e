//! SQL texts.

use crate::{REGISTRY, assert_not_internal};
use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};
use volley_connector::{Table, TableProvider};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_function::QueryConstants;
use volley_logical::ColumnIds;
use volley_memory::Pool;
use volley_optimizer::{OptimizerContext, lower, optimize};
use volley_plan::{PlanNode, TableHandle};
use volley_sql::{BindSettings, Catalog, Dialect, Relation, Statement, bind, parse};
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

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        let sql = "SELECT a, count(*) AS n FROM t GROUP BY a".to_owned();
        Ok(match name.to_ascii_lowercase().as_str() {
            "t" => self.0.first().map(|it| Relation::Table(Arc::clone(it) as _)),
            "u" => self.0.get(1).map(|it| Relation::Table(Arc::clone(it) as _)),
            "v" => Some(Relation::View { sql, columns: Vec::new(), dialect: Dialect::default() }),
            _ => None,
        })
    }

    fn file(&self, _path: &str) -> Result<Arc<dyn Table>> {
        Err(Error::invalid_query("no files here"))
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
        bind(it, &*TABLES, &REGISTRY, &ids, &BindSettings::default()).and_then(|it| plan(it, &ids))
    };
    parsed.iter().map(plan_of).collect()
}

fn plan(statement: Statement, ids: &ColumnIds) -> Result<Option<Arc<PlanNode>>> {
    let query = match statement {
        Statement::Query(query)
        | Statement::CreateTable { query: Some(query), .. }
        | Statement::Copy { query, .. } => query,
        Statement::Write(write) => write.query,
        Statement::Explain { statement, .. } => return plan(*statement, ids),
        _ => return Ok(None),
    };
    let context = OptimizerContext {
        registry: Arc::clone(&REGISTRY),
        query: Arc::new(QueryConstants::default()),
        column_ids: ids,
        drivers: 2,
        disabled_rules: BTreeSet::new(),
        always_merges_joins: false,
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
