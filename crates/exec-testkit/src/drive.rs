//! Operators without a task, for tests.

use crate::harness::Nothing;
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, Step, StepContext, TaskContext};
use volley_function::Registry;
use volley_memory::{Pool, spill::SpillSpace};
use volley_state::StateSizes;
use volley_vector::Batch;

/// A context for one of `drivers` drivers of an operator, charged to `pool`.
pub fn operator_context(
    pool: &Pool,
    (driver, drivers): (usize, usize),
    batch_rows: usize,
) -> OperatorContext {
    let task = TaskContext {
        tables: Arc::new(Nothing),
        sinks: Arc::new(Nothing),
        registry: Arc::new(Registry::new()),
        query: Arc::default(),
        pool: pool.clone(),
        spill: SpillSpace::new(std::env::temp_dir(), None),
        drivers,
        batch_rows,
        dynamic_filters: true,
        row_order: volley_exec::RowOrder::Any,
        spill_always: false,
        sizes: StateSizes::SMALL,
        ports: Arc::default(),
        steps: Arc::default(),
        exprs: None,
    };
    OperatorContext {
        driver,
        drivers,
        pool: pool.clone(),
        metrics: Arc::default(),
        task: Arc::new(task),
    }
}

/// Runs an operator on this thread, which waits when the operator is blocked.
pub fn drive(operator: &mut dyn Operator, batches: Vec<Batch>) -> Result<Vec<Batch>> {
    struct Unpark(std::thread::Thread);

    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Arc::new(Unpark(std::thread::current())).into();
    let (mut batches, mut output) = (batches.into_iter(), Vec::new());
    loop {
        match operator.step(&mut StepContext { waker: &waker })? {
            Step::Output(batch) => {
                assert!(batch.rows() > 0, "an empty batch was emitted");
                // A lazy column may be loaded only until the next step.
                output.push(batch.loaded()?);
            }
            Step::NeedInput => match batches.next() {
                Some(batch) => operator.accept(batch)?,
                None => operator.finish_input()?,
            },
            Step::Yield | Step::EndOfSplit => {}
            Step::Blocked(_) => std::thread::park(),
            Step::Finished => return Ok(output),
        }
    }
}
