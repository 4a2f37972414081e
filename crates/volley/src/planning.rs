//! Turns a bound query into an executable plan.

use crate::{Replacements, Session, distribution};
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use volley_catalog::{StatementCatalog, Turn};
use volley_connector::{SinkFactory, Table, TableProvider};
use volley_error::{Error, Result};
use volley_function::QueryConstants;
use volley_logical::{ColumnIds, Plan, TableResolver};
use volley_memory::Reservation;
use volley_optimizer::OptimizerContext;
use volley_plan::{PlanNode, PlanNodeId, TableHandle, ValuesNode};
use volley_types::Schema;

/// A plan and the tables that it names.
#[derive(Clone)]
pub(crate) struct Planned {
    pub(crate) plan: Arc<PlanNode>,
    pub(crate) tables: Arc<PlannedTables>,
    /// What was folded into the plan.
    pub(crate) constants: Arc<QueryConstants>,
    /// What it writes to, where that is not what the session knows.
    pub(crate) sinks: Option<Arc<dyn SinkFactory>>,
    /// The text of its statement; empty for a plan that comes without.
    pub(crate) statement: Arc<str>,
    /// How many rows nodes are expected to make; empty when nothing asks for it.
    pub(crate) estimates: Vec<(PlanNodeId, f64)>,
}

/// What a statement is planned with.
pub(crate) struct StatementContext {
    pub(crate) column_ids: ColumnIds,
    pub(crate) constants: Arc<QueryConstants>,
    /// The tables and views that it sees.
    pub(crate) catalog: Arc<StatementCatalog>,
    /// What it takes until its query runs.
    pub(crate) memory: StatementMemory,
    /// Tables of the caller, which are in no database.
    pub(crate) replacements: Option<Arc<dyn Replacements>>,
    /// Its text, or the beginning of a long one, for profiles.
    pub(crate) text: Arc<str>,
    /// Whether plans are to say how many rows are expected.
    estimates_rows: AtomicBool,
}

/// The most bytes of a statement's text that profiles show.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// What the text, the syntax tree and the plans of a statement take, about.
pub(crate) struct StatementMemory(Mutex<(usize, Reservation)>);

/// A statement that takes no more than this is not charged.
const UNCHARGED_BYTES: usize = 1 << 20;

/// The tables that one plan names, as they were when it was made.
#[derive(Default)]
pub(crate) struct PlannedTables(HashMap<TableHandle, Arc<dyn Table>>);

impl StatementContext {
    /// That of a statement that begins now; `turn`: its right to change a table.
    pub(crate) fn begin(
        session: &Session,
        constants: Arc<QueryConstants>,
        turn: Option<&Turn>,
        text: &str,
    ) -> StatementContext {
        let (host, dialect) = (Arc::clone(&session.host), session.settings().dialect);
        let catalog = Arc::new(session.catalog.statement(turn, host, dialect));
        let memory = StatementMemory::new(session);
        StatementContext {
            column_ids: ColumnIds::new(),
            constants,
            catalog,
            memory,
            replacements: None,
            text: text[..text.floor_char_boundary(TEXT_BYTES_MAX)].into(),
            estimates_rows: AtomicBool::new(session.wants_estimates()),
        }
    }

    /// From now on, plans say how many rows are expected.
    pub(crate) fn estimate_rows(&self) {
        self.estimates_rows.store(true, Ordering::Relaxed);
    }
}

impl StatementMemory {
    pub(crate) fn new(session: &Session) -> StatementMemory {
        StatementMemory(Mutex::new((0, session.pool.child("statement").reservation())))
    }

    /// Reserves this number of bytes.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(crate) fn take(&self, bytes: usize) -> Result<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (taken, reservation) = &mut *held;
        *taken = taken.saturating_add(bytes);
        reservation.resize(taken.saturating_sub(UNCHARGED_BYTES))
    }
}

/// Optimizes and lowers.
pub(crate) fn plan_query(session: &Session, plan: Plan, cx: &StatementContext) -> Result<Planned> {
    let settings = session.settings();
    let context = OptimizerContext {
        registry: Arc::clone(&session.registry),
        query: Arc::clone(&cx.constants),
        column_ids: &cx.column_ids,
        tables: Arc::clone(&cx.catalog) as _,
        // Tasks share work as drivers do: groups are aggregated in steps.
        drivers: if session.tasks() > 1 { settings.drivers().max(2) } else { settings.drivers() },
        disabled_rules: settings.disabled_rules.clone(),
        always_merges_joins: settings.always_merges_joins,
        always_cascades_sets: settings.always_cascades_sets,
    };
    let plan = volley_optimizer::optimize(plan, &context)?;
    let tables = Arc::new(PlannedTables::of(&plan, &*cx.catalog)?);
    let (plan, estimates) = match cx.estimates_rows.load(Ordering::Relaxed) {
        true => volley_optimizer::lower_with_estimates(&plan, &context)?,
        false => (volley_optimizer::lower(&plan, &context)?, Vec::new()),
    };
    // The fragments of several tasks are expanded when the plan is cut.
    let is_expanded = session.tasks() <= 1 && !settings.expansions.is_empty();
    let (plan, estimates) = match is_expanded {
        // Expanded nodes have other identities than those that the estimates are of.
        true => (distribution::expanded(&plan, &settings)?, Vec::new()),
        false => (plan, estimates),
    };
    let (constants, statement) = (Arc::clone(&cx.constants), Arc::clone(&cx.text));
    Ok(Planned { plan, tables, constants, sinks: None, statement, estimates })
}

impl Planned {
    /// Puts nodes above the plan: `wrap` adds `added` of them, each with one input.
    pub(crate) fn wrap(&mut self, added: u32, wrap: impl FnOnce(Arc<PlanNode>) -> Arc<PlanNode>) {
        // The plan must have one owner to be numbered without a copy.
        let none = PlanNode::numbered(Arc::new(PlanNode::Values(ValuesNode {
            node_id: PlanNodeId::UNASSIGNED,
            rows: Vec::new(),
            schema: Schema::default(),
        })));
        let plan = std::mem::replace(&mut self.plan, none);
        self.plan = PlanNode::numbered(wrap(plan));
        // Nodes are numbered from the root.
        for (id, _) in &mut self.estimates {
            *id = PlanNodeId::new(id.number().saturating_add(added));
        }
    }
}

impl PlannedTables {
    fn of(plan: &Plan, resolver: &dyn TableResolver) -> Result<PlannedTables> {
        let mut tables = HashMap::new();
        let mut ctes = HashSet::new();
        let mut rest = vec![plan];
        while let Some(plan) = rest.pop() {
            match plan {
                Plan::Scan { table, .. } => {
                    let handle = resolver.handle(table)?;
                    let table = resolver.resolve(table)?;
                    tables.insert(handle, Arc::clone(&table));
                    // What the plan of a table scans in turn; its own tables are none of plans.
                    let inner = table.as_plan().map_or(&[][..], |it| it.tables());
                    tables.extend(inner.iter().map(|it| (it.handle(), Arc::clone(it))));
                }
                Plan::CteRef { cte, .. } if ctes.insert(cte.id) => rest.push(&cte.plan),
                _ => rest.extend(plan.inputs()),
            }
        }
        Ok(PlannedTables(tables))
    }

    /// These, with another table behind `handle`.
    pub(crate) fn with(&self, handle: TableHandle, table: Arc<dyn Table>) -> PlannedTables {
        let mut tables = self.0.clone();
        tables.insert(handle, table);
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
