//! From a bound query to a plan that can run.

use crate::Settings;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use volley_connector::{Table, TableProvider};
use volley_error::{Error, Result};
use volley_function::{QueryConstants, Registry};
use volley_logical::{ColumnIds, Plan};
use volley_optimizer::OptimizerContext;
use volley_plan::{PlanNode, TableHandle};

/// A plan and the tables that it names.
pub(crate) struct Planned {
    pub(crate) plan: Arc<PlanNode>,
    pub(crate) tables: Arc<PlannedTables>,
    /// What was folded into the plan.
    pub(crate) constants: Arc<QueryConstants>,
}

/// The tables that one plan names, as they were when it was made.
#[derive(Default)]
pub(crate) struct PlannedTables(HashMap<TableHandle, Arc<dyn Table>>);

/// Optimizes and lowers.
pub(crate) fn plan_query(
    plan: Plan,
    column_ids: &ColumnIds,
    registry: &Arc<Registry>,
    query: &Arc<QueryConstants>,
    settings: &Settings,
) -> Result<Planned> {
    let context = OptimizerContext {
        registry: Arc::clone(registry),
        query: Arc::clone(query),
        column_ids,
        drivers: settings.threads,
        disabled_rules: settings.disabled_rules.clone(),
    };
    let plan = volley_optimizer::optimize(plan, &context)?;
    let tables = Arc::new(PlannedTables::of(&plan));
    let plan = volley_optimizer::lower(&plan, &context)?;
    Ok(Planned { plan, tables, constants: Arc::clone(query) })
}

impl PlannedTables {
    fn of(plan: &Plan) -> PlannedTables {
        let mut tables = HashMap::new();
        let mut ctes = HashSet::new();
        let mut rest = vec![plan];
        while let Some(plan) = rest.pop() {
            match plan {
                Plan::Scan { table, .. } => {
                    tables.insert(table.handle(), Arc::clone(table));
                    // What the plan of a table scans in turn; its own tables are none of plans.
                    let inner = table.as_plan().map_or(&[][..], |it| it.tables());
                    tables.extend(inner.iter().map(|it| (it.handle(), Arc::clone(it))));
                }
                Plan::CteRef { cte, .. } if ctes.insert(cte.id) => rest.push(&cte.plan),
                _ => rest.extend(plan.inputs()),
            }
        }
        PlannedTables(tables)
    }

    /// Tables by their own handles.
    pub(crate) fn from_tables(tables: impl IntoIterator<Item = Arc<dyn Table>>) -> PlannedTables {
        PlannedTables(tables.into_iter().map(|it| (it.handle(), it)).collect())
    }
}

impl TableProvider for PlannedTables {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        self.0.get(handle).cloned().ok_or_else(|| {
            Error::invalid_query(format!("no such table: {}", handle.table))
                .at("connector", &handle.connector)
        })
    }
}
