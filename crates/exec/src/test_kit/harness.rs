//! Runs one operator by hand.

use super::{RowValues, rows_of};
use crate::{Operator, OperatorContext, OperatorMetrics, Step, StepContext, TaskContext};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Wake, Waker},
};
use volley_error::Result;
use volley_memory::{Pool, spill::SpillSpace};
use volley_vector::Batch;

/// Counts how often it was woken.
#[derive(Default)]
pub(crate) struct CountingWaker(AtomicUsize);

impl CountingWaker {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// One operator, stepped by the test.
pub(crate) struct Harness {
    operator: Box<dyn Operator>,
    /// It spills before every so many steps.
    spill_every: Option<usize>,
    steps: usize,
    pub waker: Arc<CountingWaker>,
}

impl Harness {
    pub(crate) fn new(operator: impl Operator + 'static) -> Harness {
        let operator = Box::new(operator);
        Harness { operator, spill_every: None, steps: 0, waker: Arc::default() }
    }

    /// The operator spills before every `steps` steps; `None` for never.
    pub(crate) fn spilling(self, steps: Option<usize>) -> Harness {
        Harness { spill_every: steps, ..self }
    }

    /// What an operator is made with.
    pub(crate) fn context(batch_rows: usize) -> OperatorContext {
        let pool = Pool::root("test", None);
        let task = TaskContext {
            tables: Arc::new(super::TestTables::default()),
            sinks: Arc::new(super::NoSinks),
            registry: super::registry(),
            lowerings: Arc::default(),
            query: Arc::default(),
            pool: pool.clone(),
            spill: SpillSpace::new(std::env::temp_dir(), None),
            drivers: 1,
            batch_rows,
            dynamic_filters: true,
            spill_always: false,
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

    pub(crate) fn step(&mut self) -> Result<Step> {
        self.steps += 1;
        if self.spill_every.is_some_and(|it| self.steps.is_multiple_of(it)) {
            self.operator.as_spill().map_or(Ok(()), |it| it.spill())?;
        }
        let waker = Waker::from(Arc::clone(&self.waker));
        self.operator.step(&mut StepContext { waker: &waker })
    }

    pub(crate) fn accept(&mut self, batch: Batch) -> Result<()> {
        self.operator.accept(batch)
    }

    pub(crate) fn finish_input(&mut self) -> Result<()> {
        self.operator.finish_input()
    }

    /// Feeds batches as the operator asks for them; answers the rows it puts out.
    pub(crate) fn feed(&mut self, batches: Vec<Batch>) -> Result<RowValues> {
        let batches = self.feed_batches(batches)?;
        Ok(batches.iter().flat_map(rows_of).collect())
    }

    /// As [`Harness::feed`]; answers the batches' sizes and their sum.
    pub(crate) fn feed_sizes(&mut self, batches: Vec<Batch>) -> Result<(Vec<usize>, usize)> {
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
                Step::Yield => {}
                Step::Blocked(why) => panic!("blocked on {why}"),
                Step::Finished => return Ok(output),
            }
        }
    }
}
