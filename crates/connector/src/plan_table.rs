//! A table whose rows a plan makes.

use crate::{Scan, ScanRequest, Table, TableStatistics};
use std::{fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_plan::{PlanNode, TableHandle};
use volley_types::Schema;

/// The connector's name in table handles.
const CONNECTOR: &str = "plan";

/// A table whose rows a plan makes, anew for each time that a query reads it: so SQL reaches what
/// only plans can say. It is not scanned; the plan takes the place of the scan.
pub struct PlanTable {
    name: String,
    plan: Arc<PlanNode>,
    tables: Vec<Arc<dyn Table>>,
}

impl PlanTable {
    /// The rows of `plan`, which scans `tables`.
    ///
    /// # Errors
    ///
    /// Unsupported: a plan with shared subplans, whose numbers would meet those of a query.
    pub fn new(
        name: impl Into<String>,
        plan: Arc<PlanNode>,
        tables: impl IntoIterator<Item = Arc<dyn Table>>,
    ) -> Result<PlanTable> {
        if plan.walk().iter().any(|it| matches!(it.node, PlanNode::Spool(_))) {
            return Err(Error::unsupported("shared subplans in the plan of a table"));
        }
        Ok(PlanTable { name: name.into(), plan, tables: tables.into_iter().collect() })
    }

    /// What makes the rows.
    pub fn plan(&self) -> &Arc<PlanNode> {
        &self.plan
    }

    /// The tables that the plan scans.
    pub fn tables(&self) -> &[Arc<dyn Table>] {
        &self.tables
    }
}

impl Table for PlanTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.into(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        self.plan.schema()
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, _request: ScanRequest) -> Result<Box<dyn Scan>> {
        Err(Error::unsupported("scanning a table that a plan makes").at("table", &self.name))
    }

    fn as_plan(&self) -> Option<&PlanTable> {
        Some(self)
    }
}

impl fmt::Debug for PlanTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanTable({})", self.name)
    }
}
