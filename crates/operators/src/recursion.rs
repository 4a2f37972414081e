//! WITH RECURSIVE: a plan that runs repeatedly over the rows of its last iteration.
//!
//! ```text
//! anchor ─── writer ──> rows 0 ──┐
//! kept parts ── writers ──> rows │ that every iteration reads
//!                                v
//! RecursiveUnion   emits rows i; then lowers the step over them, and runs its chains within its
//!                  own steps (see `nested`), until rows i + 1 are complete; ends without rows
//! helpers          run chains of the same iteration, when it takes long enough
//! ```
//!
//! With UNION, writers drop the rows that came before (see `seen`).
//!
//! Nothing of an iteration is left for the next one but its rows, the rows that are kept, the
//! tables of joins whose build side is kept, and what expressions were compiled to. An iteration of
//! few rows runs with one driver per pipeline, on the thread that began it: to wake another one
//! would take longer. If it only filters and computes, it runs without pipelines (see `direct`).

mod direct;
mod keyed;
mod lower;
mod operator;
mod seen;
mod settle;
#[cfg(test)]
mod tests;

pub(crate) use lower::{lower, lower_working_table, skipped_input};
pub use operator::{RecursionHelper, RecursiveUnion};

use crate::{
    hash_join::{CachedBuilds, StepBuilds},
    spool::{SpoolSink, spool},
};
use keyed::KeyedRows;
use lower::KeptRowsById;
use seen::{DistinctSink, SeenRows};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use volley_error::Result;
use volley_exec::{
    Lowering, LoweringRegistry, NestedRun, PipelineBuilder, SinkOperator, TaskContext,
};
use volley_memory::Pool;
use volley_plan::{PlanNode, RECURRING, RecursiveUnionNode};
use volley_state::{
    barrier::Waiters,
    queue::{BatchQueue, QueueReader},
};
use volley_types::Type;
use volley_vector::Batch;

/// An iteration over more rows than this is spread over drivers,
const PARALLEL_ROWS: usize = 1 << 14;

/// and so is one after an iteration that took longer than this.
const PARALLEL_TIME: Duration = Duration::from_millis(2);

/// What the drivers of a recursion share.
pub struct Recursion {
    step: Arc<PlanNode>,
    registry: Arc<LoweringRegistry>,
    id: u32,
    types: Vec<Type>,
    pool: Pool,
    /// As the query's, and with one driver per pipeline.
    task: Arc<TaskContext>,
    single: Arc<TaskContext>,
    /// What recursions around the step keep, and this one, by identity.
    kept: HashMap<u32, Arc<BatchQueue>>,
    /// Keeps it.
    _holders: Vec<QueueReader>,
    builds: Arc<CachedBuilds>,
    seen: Option<Arc<SeenRows>>,
    /// USING KEY: the last row of each key.
    keyed: Option<Mutex<KeyedRows>>,
    reads_all: bool,
    /// The iteration that helpers may take part in.
    run: Mutex<Option<Arc<NestedRun>>>,
    helpers: Mutex<Waiters>,
    has_ended: AtomicBool,
}

/// The rows of an iteration.
pub(crate) struct Generation {
    rows: Arc<BatchQueue>,
    /// Keeps them for readers that come later.
    _holder: QueueReader,
    output: QueueReader,
}

impl Recursion {
    /// Of a node; `kept`: what recursions around it keep, and its own parts.
    pub(crate) fn new(
        node: &RecursiveUnionNode,
        kept: HashMap<u32, Arc<BatchQueue>>,
        cx: &Lowering,
    ) -> Result<Recursion> {
        let task = cx.task();
        let pool = task.pool.child("recursion");
        let types: Vec<Type> = node.schema.types().cloned().collect();
        let exprs = Some(Arc::default());
        let context = |drivers| {
            let (pool, exprs) = (pool.clone(), exprs.clone());
            Arc::new(TaskContext { drivers, pool, exprs, ..TaskContext::clone(task) })
        };
        let holders = kept.values().map(|it| QueueReader::new(it, 0));
        Ok(Recursion {
            _holders: holders.collect::<Result<_>>()?,
            step: Arc::clone(&node.step),
            registry: Arc::clone(cx.registry()),
            id: node.id,
            seen: (node.distinct && node.keys.is_empty())
                .then(|| Arc::new(SeenRows::new(&types, &pool, task))),
            keyed: (!node.keys.is_empty())
                .then(|| Mutex::new(KeyedRows::new(&node.keys, &types, node.distinct, &pool))),
            reads_all: node.reads_all,
            types,
            task: context(task.drivers),
            single: context(1),
            pool,
            kept,
            builds: Arc::default(),
            run: Mutex::default(),
            helpers: Mutex::default(),
            has_ended: AtomicBool::new(false),
        })
    }

    /// Rows that `writers` drivers will write. Where rows must be new, the union is one more
    /// producer: it finds some of them on disk.
    pub(crate) fn generation(&self, writers: usize) -> Result<Generation> {
        let rows = spool(self.types.clone(), &self.pool, &self.task);
        rows.add_producers(writers + usize::from(self.seen.is_some()));
        let (_holder, output) = (QueueReader::new(&rows, 0)?, QueueReader::new(&rows, 0)?);
        Ok(Generation { rows, _holder, output })
    }

    /// Ends `pipeline` with writers to `generation`.
    pub(crate) fn write(
        self: &Arc<Self>,
        generation: &Generation,
        mut pipeline: PipelineBuilder,
        cx: &mut Lowering,
    ) {
        let (rows, seen) = (Arc::clone(&generation.rows), self.seen.clone());
        cx.add(&mut pipeline, "recursion writer", move |cx| {
            let sink = SpoolSink::new("recursion writer", &rows, &cx.metrics);
            Ok(match &seen {
                Some(seen) => {
                    let sink = DistinctSink::new(sink, Arc::clone(seen), &cx.metrics);
                    Box::new(SinkOperator::new(sink))
                }
                None => Box::new(SinkOperator::new(sink)),
            })
        });
        cx.seal(pipeline);
    }

    /// Lowers the step over `last`; the rows that it will make, and what makes them.
    fn iterate(
        self: &Arc<Self>,
        last: &Generation,
        last_took: Duration,
    ) -> Result<(Generation, Arc<NestedRun>)> {
        let is_large = last.rows.pushed_rows() > PARALLEL_ROWS || last_took > PARALLEL_TIME;
        let task = if is_large { &self.task } else { &self.single };
        let mut kept = self.kept.clone();
        kept.insert(self.id, Arc::clone(&last.rows));
        // Kept until the step has its readers.
        let all = match &self.keyed {
            Some(keyed) if self.reads_all => Some(self.complete(lock(keyed).all()?)?),
            _ => None,
        };
        kept.extend(all.iter().map(|it| (RECURRING | self.id, Arc::clone(&it.rows))));
        let mut cx = Lowering::nested(task, &self.registry);
        *cx.state() = KeptRowsById(kept);
        *cx.state() = StepBuilds(Some((self.id, Arc::clone(&self.builds))));
        let pipeline = cx.lower_plan(&self.step)?;
        let next = self.generation(pipeline.drivers())?;
        self.write(&next, pipeline, &mut cx);
        let run = NestedRun::of(cx)?;
        if is_large {
            *lock(&self.run) = Some(Arc::clone(&run));
            std::mem::take(&mut *lock(&self.helpers)).wake();
        }
        Ok((next, run))
    }

    /// Rows that are there already.
    pub(super) fn complete(&self, batches: impl IntoIterator<Item = Batch>) -> Result<Generation> {
        let rows = spool(self.types.clone(), &self.pool, &self.task);
        rows.add_producers(1);
        let (_holder, output) = (QueueReader::new(&rows, 0)?, QueueReader::new(&rows, 0)?);
        for batch in batches {
            rows.push(0, batch)?;
        }
        rows.producer_finished();
        Ok(Generation { rows, _holder, output })
    }

    /// USING KEY: the last row of each key.
    fn keyed(&self) -> Option<MutexGuard<'_, KeyedRows>> {
        self.keyed.as_ref().map(lock)
    }

    /// Takes the iteration away from helpers.
    pub(super) fn close_run(&self) {
        *lock(&self.run) = None;
    }

    /// Lets helpers end.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        self.close_run();
        std::mem::take(&mut *lock(&self.helpers)).wake();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
