//! Starting plans: as one task, or as the fragments of several.

use crate::{
    ResultStream, Session, Settings, distribution, planning::Planned, profiles::WatchedPlan,
    session::shown,
};
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{RowOrder, Task, TaskConfig, TaskPorts};
use volley_io::check_process;
use volley_plan::DistributedPlan;
use volley_schedule::DistributedQuery;
use volley_state::StateSizes;
use volley_types::Schema;

impl Session {
    /// Starts a plan.
    pub(crate) fn start(&self, mut planned: Planned, schema: Schema) -> Result<ResultStream> {
        let schema = shown(schema, &planned.constants.time_zone);
        let settings = self.settings();
        if settings.tasks > 1 {
            let plan = distribution::fragments(&planned.plan, &planned.tables, &settings)?;
            if plan.fragments.len() > 1 {
                let query = self.start_distributed(planned, plan, &settings)?;
                return Ok(ResultStream::of_query(schema, query));
            }
        }
        let watched = WatchedPlan::of(&mut planned);
        let task = self.start_task(planned, TaskPorts::default())?;
        let source = self.watch(&task, watched, settings);
        Ok(ResultStream::of_task(schema, task, source))
    }

    /// Starts the fragments of a plan.
    fn start_distributed(
        &self,
        planned: Planned,
        plan: DistributedPlan,
        settings: &Settings,
    ) -> Result<DistributedQuery> {
        let plan = match settings.saves_plans {
            true => {
                let bytes = plan.to_bytes()?;
                DistributedPlan::from_bytes(&bytes, &self.registry, &self.custom_nodes)?
            }
            false => plan,
        };
        let config = self.task_config(planned, TaskPorts::default())?;
        let executor = self.executor();
        DistributedQuery::start(&distribution::config(plan, config, settings), &executor)
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
