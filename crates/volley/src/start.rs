//! Starting plans: as one task, or as the fragments of several.

use crate::{
    ResultStream, Session, Settings, distribution,
    planning::{Planned, PlannedTables},
    profiles::WatchedPlan,
    readers::file_options,
    session::shown,
};
use std::sync::Arc;
use volley_connector_hive::{CONNECTOR, FileTable};
use volley_error::{Error, Result};
use volley_exec::{RowOrder, Task, TaskConfig, TaskPorts};
use volley_function::QueryConstants;
use volley_io::check_process;
use volley_operators::PageEncoding;
use volley_plan::DistributedPlan;
use volley_schedule::{
    DistributedConfig, DistributedQuery, PartialQuery, Platform, Processes, QuerySpec, TaskNumbers,
};
use volley_state::StateSizes;
use volley_types::Schema;
use volley_wire::NativeFormat;

impl Session {
    /// Starts a plan.
    pub(crate) fn start(&self, mut planned: Planned, schema: Schema) -> Result<ResultStream> {
        let schema = shown(schema, &planned.constants.time_zone);
        let settings = self.settings();
        if self.tasks() > 1 {
            let plan = distribution::fragments(self, &planned.plan, &planned.tables)?;
            if plan.fragments.len() > 1 {
                let plan = Arc::new(plan);
                let query = match &self.platform {
                    None => self.start_distributed(&planned, &plan, &settings).map(Some),
                    Some(platform) => self.start_on(&**platform, &planned, &plan, &settings),
                };
                let query = query.or_else(|error| {
                    let watched = WatchedPlan::of(&mut planned);
                    let mut source = self.profile_source(watched, settings.clone());
                    source.end_unstarted(&plan, &error).and(Err(error))
                })?;
                if let Some(query) = query {
                    let watched = WatchedPlan::of(&mut planned);
                    let source = self.watch_query(&query, watched, settings);
                    return Ok(ResultStream::of_query(schema, query, source));
                }
            }
        }
        let watched = WatchedPlan::of(&mut planned);
        let task = self.start_task(planned, TaskPorts::default())?;
        let source = self.watch(&task, watched, settings);
        Ok(ResultStream::of_task(schema, task, source))
    }

    /// Starts the fragments of a plan on the threads of this process.
    fn start_distributed(
        &self,
        planned: &Planned,
        plan: &Arc<DistributedPlan>,
        settings: &Settings,
    ) -> Result<DistributedQuery> {
        let plan = match settings.saves_plans {
            true => {
                let bytes = plan.to_bytes()?;
                Arc::new(DistributedPlan::from_bytes(&bytes, &self.registry, &self.custom_nodes)?)
            }
            false => Arc::clone(plan),
        };
        let config = self.task_config(planned.clone(), TaskPorts::default())?;
        let executor = self.executor();
        DistributedQuery::start(
            &distribution::config(plan, config, settings, &self.page_formats)?,
            &executor,
        )
    }

    /// Starts the fragments of a plan in the processes of a platform; `None` if they cannot run it.
    fn start_on(
        &self,
        platform: &dyn Platform,
        planned: &Planned,
        plan: &Arc<DistributedPlan>,
        settings: &Settings,
    ) -> Result<Option<DistributedQuery>> {
        let task = self.task_config(planned.clone(), TaskPorts::default())?;
        let config = DistributedConfig {
            plan: Arc::clone(plan),
            // A process has the drivers of one task.
            task: task.clone(),
            tasks: platform.processes(),
            encoding: PageEncoding::Bytes(Arc::new(NativeFormat::Plain)),
            page_bytes: settings.exchange_page_bytes.min(platform.page_bytes()),
        };
        let spec = distribution::spec(&config.plan, &planned.tables, &config)?;
        let Some((spec, bytes)) = spec else { return Ok(None) };
        let numbers = TaskNumbers::new(&spec.plan, spec.tasks);
        let processes = platform.begin(bytes, numbers)?;
        DistributedQuery::start_on(&config, processes, &self.executor()).map(Some)
    }

    /// Starts the tasks of a query that another process of a platform answers; see
    /// [`Platform::begin`] for `spec`. Tables are opened by their definitions.
    ///
    /// # Errors
    ///
    /// Corruption; what [`DistributedPlan::check`] refuses; a table that this process cannot open;
    /// as [`Task::start`].
    pub fn start_fragments(
        &self,
        spec: &[u8],
        processes: Arc<dyn Processes>,
    ) -> Result<PartialQuery> {
        let spec = QuerySpec::from_bytes(spec, &self.registry, &self.custom_nodes)?;
        let options = file_options(&self.files, &self.host.formats, &self.pool.child("tables"));
        let mut tables = PlannedTables::default();
        for (handle, definition) in &spec.tables {
            if handle.connector != CONNECTOR {
                let error = Error::unsupported("scan of this table in another process");
                return Err(error.at("connector", &handle.connector));
            }
            let table = FileTable::from_definition(definition, &options, self.registry.types());
            let table = table.map_err(|it| it.at("table", &handle.table))?;
            tables = tables.with(handle.clone(), Arc::new(table));
        }
        let plan = spec.plan.fragments.last().map(|it| Arc::clone(&it.plan));
        let plan = plan.ok_or_else(|| Error::corruption("a query without fragments"))?;
        let cancellation = self.begin().cancellation.clone();
        let constants = QueryConstants { cancellation, ..spec.constants() };
        let (tables, constants) = (Arc::new(tables), Arc::new(constants));
        let (statement, estimates) = ("".into(), Vec::new());
        let planned = Planned { plan, tables, constants, sinks: None, statement, estimates };
        let task = TaskConfig {
            batch_rows: spec.batch_rows.max(1),
            dynamic_filters: spec.dynamic_filters,
            spill_always: spec.spill_always,
            ..self.task_config(planned, TaskPorts::default())?
        };
        let config = DistributedConfig {
            plan: spec.plan,
            task,
            tasks: spec.tasks,
            encoding: PageEncoding::Bytes(Arc::new(NativeFormat::Plain)),
            page_bytes: spec.page_bytes.max(1),
        };
        PartialQuery::start(&config, processes, &self.executor())
    }

    /// How many tasks run a fragment of a query.
    pub(crate) fn tasks(&self) -> usize {
        match &self.platform {
            Some(platform) => platform.processes(),
            None => self.settings().tasks,
        }
    }

    /// Starts a plan whose rows go where `ports` says.
    pub(crate) fn start_task(&self, planned: Planned, ports: TaskPorts) -> Result<Task> {
        let config = self.task_config(planned, ports)?;
        let executor = self.executor();
        Task::start(config, &executor)
    }

    fn task_config(&self, planned: Planned, ports: TaskPorts) -> Result<TaskConfig> {
        check_process(self.process, "threads of the session")?;
        let settings = self.settings();
        let constants = planned.constants;
        let plan = match settings.saves_plans {
            true => self.plan_from_bytes(&planned.plan.to_bytes()?)?,
            false => planned.plan,
        };
        Ok(TaskConfig {
            plan,
            tables: planned.tables,
            sinks: planned.sinks.unwrap_or_else(|| Arc::clone(&self.sinks) as _),
            registry: Arc::clone(&self.registry),
            lowerings: Arc::clone(&self.lowerings),
            query: constants,
            pool: self.pool.child("query"),
            spill: self.spill.clone(),
            drivers: settings.drivers(),
            batch_rows: settings.batch_rows,
            dynamic_filters: settings.dynamic_filters,
            row_order: match settings.preserves_insertion_order {
                true => RowOrder::OfSource,
                false => RowOrder::Any,
            },
            spill_always: settings.spill_always,
            sizes: StateSizes::NORMAL,
            ports,
            priority: settings.query_priority,
        })
    }
}
