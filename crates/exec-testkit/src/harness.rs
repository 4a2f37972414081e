//! Runs one operator by hand.

use super::{RowValues, registry, rows_of};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
};
use volley_connector::{SinkFactory, Table, TableProvider, TableWriter};
use volley_error::{Error, Result};
use volley_exec::{Operator, OperatorContext, OperatorMetrics, Step, StepContext, TaskContext};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{TableHandle, WriteTarget};
use volley_state::StateSizes;
use volley_types::Schema;
use volley_vector::Batch;

/// Counts how often it was woken.
#[derive(Default)]
pub struct CountingWaker(AtomicUsize);

impl CountingWaker {
    /// How often.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// One operator, stepped by the test.
pub struct Harness {
    operator: Box<dyn Operator>,
    /// It spills whenever this number of steps has passed.
    spill_every: Option<usize>,
    steps: usize,
    /// What the operator is stepped with.
    pub waker: Arc<CountingWaker>,
}

impl Harness {
    /// Steps `operator`.
    pub fn new(operator: impl Operator + 'static) -> Harness {
        Harness::boxed(Box::new(operator))
    }

    /// As [`Harness::new`] for an operator that was made by a factory.
    pub fn boxed(operator: Box<dyn Operator>) -> Harness {
        Harness { operator, spill_every: None, steps: 0, waker: Arc::default() }
    }

    /// The operator spills before every `steps` steps; `None` for never.
    pub fn spilling(self, steps: Option<usize>) -> Harness {
        Harness { spill_every: steps, ..self }
    }

    /// What an operator is made with.
    pub fn context(batch_rows: usize) -> OperatorContext {
        let pool = Pool::root("test", None);
        let task = TaskContext {
            tables: Arc::new(Nothing),
            sinks: Arc::new(Nothing),
            registry: registry(),
            query: Arc::default(),
            pool: pool.clone(),
            spill: SpillSpace::new(std::env::temp_dir(), None),
            drivers: 1,
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
            driver: 0,
            drivers: 1,
            pool,
            metrics: Arc::new(OperatorMetrics::default()),
            task: Arc::new(task),
        }
    }

    /// One step, after a spill if one is due.
    pub fn step(&mut self) -> Result<Step> {
        self.steps += 1;
        if self.spill_every.is_some_and(|it| self.steps.is_multiple_of(it)) {
            self.operator.as_spill().map_or(Ok(()), |it| it.spill())?;
        }
        let waker = Waker::from(Arc::clone(&self.waker));
        self.operator.step(&mut StepContext { waker: &waker })
    }

    /// As [`Operator::accept`].
    pub fn accept(&mut self, batch: Batch) -> Result<()> {
        self.operator.accept(batch)
    }

    /// As [`Operator::finish_input`].
    pub fn finish_input(&mut self) -> Result<()> {
        self.operator.finish_input()
    }

    /// Feeds batches as the operator asks for them; returns its output rows.
    pub fn feed(&mut self, batches: Vec<Batch>) -> Result<RowValues> {
        let batches = self.feed_batches(batches)?;
        Ok(batches.iter().flat_map(rows_of).collect())
    }

    /// As [`Harness::feed`]; answers the batches' sizes and their sum.
    pub fn feed_sizes(&mut self, batches: Vec<Batch>) -> Result<(Vec<usize>, usize)> {
        let sizes: Vec<usize> = self.feed_batches(batches)?.iter().map(Batch::rows).collect();
        let sum = sizes.iter().sum();
        Ok((sizes, sum))
    }

    fn feed_batches(&mut self, batches: Vec<Batch>) -> Result<Vec<Batch>> {
        let mut batches = batches.into_iter();
        let mut output = Vec::new();
        let mut ended = false;
        loop {
            match self.step()? {
                Step::Output(batch) => output.push(batch),
                Step::NeedInput => match batches.next() {
                    Some(batch) => self.operator.accept(batch)?,
                    None => {
                        let again = std::mem::replace(&mut ended, true);
                        assert!(!again, "input asked for after its end");
                        self.operator.finish_input()?;
                    }
                },
                Step::Yield | Step::EndOfSplit => {}
                Step::Blocked(why) => panic!("blocked on {why}"),
                Step::Finished => return Ok(output),
            }
        }
    }
}

/// Neither tables nor sinks.
pub struct Nothing;

impl TableProvider for Nothing {
    fn table(&self, _handle: &TableHandle) -> Result<Arc<dyn Table>> {
        Err(Error::invalid_query("no tables in this test"))
    }
}

impl SinkFactory for Nothing {
    fn writer(&self, _: &WriteTarget, _: &Schema) -> Result<Arc<dyn TableWriter>> {
        Err(Error::invalid_query("no sinks in this test"))
    }
}
