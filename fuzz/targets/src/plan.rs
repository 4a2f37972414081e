//! Plans as bytes.

use crate::{REGISTRY, assert_not_internal, query::TABLES};
use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};
use volley_connector::{SinkFactory, TableWriter};
use volley_error::{Error, Result};
use volley_exec::{Executor, Priority, Task, TaskConfig, TaskPorts};
use volley_function::QueryConstants;
use volley_memory::{CancellationToken, Deadline, Pool, spill::SpillSpace};
use volley_plan::{PlanNode, WriteTarget};
use volley_state::StateSizes;
use volley_types::Schema;
use volley_vector::save::Writer;

/// What is inside of a file with a plan.
const PLAN: u8 = 4;

/// Bytes of such a file around its content: magic, version, what is inside; checksum.
const FRAME_BYTES: (usize, usize) = (13, 8);

/// The maximum memory that a plan gets.
const MEMORY_BYTES: usize = 32 << 20;

/// How long a plan runs.
const TIME: Duration = Duration::from_millis(50);

static EXECUTOR: LazyLock<Result<Executor>> = LazyLock::new(|| Executor::new(1));

/// Writes nothing.
struct NoFiles;

impl SinkFactory for NoFiles {
    fn writer(&self, _: &WriteTarget, _: &Schema) -> Result<Arc<dyn TableWriter>> {
        Err(Error::unsupported("no files here"))
    }
}

/// The input of [`plan`]: the content of a file with a plan, without its header and checksum.
pub fn plan_content(plan: &Arc<PlanNode>) -> Result<Vec<u8>> {
    let bytes = plan.to_bytes()?;
    Ok(bytes[FRAME_BYTES.0..bytes.len() - FRAME_BYTES.1].to_vec())
}

/// The plan whose [`plan_content`] these bytes are.
pub fn read_plan(content: &[u8]) -> Result<Arc<PlanNode>> {
    let mut writer = Writer::new(PLAN);
    writer.raw(content);
    PlanNode::from_bytes(&writer.finish(), &REGISTRY)
}

/// Reads a plan. A valid plan must survive another round trip, and running it must not be an
/// internal error.
pub fn plan(bytes: &[u8]) {
    let plan = match read_plan(bytes) {
        Ok(plan) => plan,
        Err(error) => return assert_not_internal(&error),
    };
    let again = plan.to_bytes().and_then(|it| PlanNode::from_bytes(&it, &REGISTRY));
    assert!(again.is_ok(), "not read again: {again:?}");
    let again = again.map(|it| format!("{it:?}")).unwrap_or_default();
    assert_eq!(again, format!("{plan:?}"));
    assert!(!plan.to_string().is_empty());
    if let Err(error) = run(plan) {
        assert_not_internal(&error);
    }
}

fn run(plan: Arc<PlanNode>) -> Result<()> {
    let executor = EXECUTOR.clone()?;
    let query = QueryConstants {
        cancellation: CancellationToken::until(Deadline::after(TIME)),
        ..QueryConstants::default()
    };
    let config = TaskConfig {
        plan,
        tables: Arc::new(TABLES.clone()),
        sinks: Arc::new(NoFiles),
        registry: Arc::clone(&REGISTRY),
        lowerings: Arc::new(volley_operators::registry()),
        query: Arc::new(query),
        pool: Pool::root("query", Some(MEMORY_BYTES)),
        spill: SpillSpace::new(std::env::temp_dir(), Some(0)),
        drivers: 2,
        batch_rows: 64,
        dynamic_filters: true,
        row_order: volley_exec::RowOrder::Any,
        spill_always: false,
        sizes: StateSizes::SMALL,
        ports: TaskPorts::default(),
        priority: Priority::Normal,
    };
    let task = Task::start(config, &executor)?;
    while task.next()?.is_some() {}
    Ok(())
}
