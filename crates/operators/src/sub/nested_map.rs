//! NestedMap: a plan that is lowered again, and runs, for each tuple.
//!
//! The chains of the plan run within the steps of the map's driver. Its drivers take whole batches
//! of tuples; each runs one tuple at a time with one driver per pipeline.

use super::{parameter::Tuples, sub_node};
use crate::registration::wrong_node;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use volley_error::Result;
use volley_exec::{
    BatchSink, BlockedOn, Inputs, Lowering, LoweringRegistry, NestedRun, Operator, PipelineBuilder,
    SinkOperator, Spill, Step, StepContext, TaskContext, Turn,
};
use volley_plan::{PlanNode, sub::SubOperator};
use volley_state::{barrier::Waiters, queue::Room};
use volley_vector::Batch;

/// Batches of a nested plan that wait for the map; then its chains wait.
const BATCHES_MAX: usize = 2;

/// The plan is lowered for each tuple.
pub(crate) fn skipped_input(node: &PlanNode, _cx: &mut Lowering) -> Option<usize> {
    match node {
        PlanNode::Sub(node) => node.nested_input(),
        _ => None,
    }
}

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let (SubOperator::NestedMap(map), [_, plan]) = (&node.op, &node.inputs[..]) else {
        return Err(wrong_node());
    };
    let mut input = inputs.take()?;
    let task =
        TaskContext { drivers: 1, exprs: Some(Arc::default()), ..cx.task().as_ref().clone() };
    let nested = Arc::new(NestedPlan {
        map: map.id,
        plan: Arc::clone(plan),
        task: Arc::new(task),
        registry: Arc::clone(cx.registry()),
        outer: cx.state::<Tuples>().clone(),
    });
    cx.add(&mut input, "nested map", move |_| {
        let plan = Arc::clone(&nested);
        Ok(Box::new(NestedMap { plan, tuples: None, run: None, input_done: false }))
    });
    Ok(input)
}

/// What a map runs for each tuple.
struct NestedPlan {
    map: u32,
    plan: Arc<PlanNode>,
    task: Arc<TaskContext>,
    registry: Arc<LoweringRegistry>,
    /// The tuples of the maps around this one.
    outer: Tuples,
}

/// The plan while it runs for a tuple.
struct TupleRun {
    chains: Arc<NestedRun>,
    rows: Arc<Mutex<NestedRows>>,
}

/// Rows of the plan that the map has not returned.
#[derive(Default)]
struct NestedRows {
    batches: VecDeque<Batch>,
    /// Chains that wait for room.
    waiters: Waiters,
}

impl NestedPlan {
    /// Begins to run the plan for a tuple: a batch of one row.
    fn start(&self, tuple: Batch) -> Result<TupleRun> {
        let mut cx = Lowering::nested(&self.task, &self.registry);
        let mut tuples = self.outer.clone();
        tuples.0.insert(self.map, tuple);
        *cx.state() = tuples;
        let mut last = cx.lower_plan(&self.plan)?;
        let rows: Arc<Mutex<NestedRows>> = Arc::default();
        let made = Arc::clone(&rows);
        cx.add(&mut last, "nested rows", move |_| {
            Ok(Box::new(SinkOperator::new(NestedSink(Arc::clone(&made)))))
        });
        cx.seal(last);
        Ok(TupleRun { chains: NestedRun::of(cx)?, rows })
    }
}

impl TupleRun {
    /// The next batch that is there.
    fn take(&self) -> Option<Batch> {
        let mut rows = lock(&self.rows);
        let batch = rows.batches.pop_front()?;
        let waiters = rows.waiters.take();
        drop(rows);
        waiters.wake();
        Some(batch)
    }
}

/// The end of a nested plan.
struct NestedSink(Arc<Mutex<NestedRows>>);

impl BatchSink for NestedSink {
    fn name(&self) -> &'static str {
        "nested rows"
    }

    fn poll_room(&mut self, waker: &Waker) -> Room {
        let mut rows = lock(&self.0);
        if rows.batches.len() < BATCHES_MAX {
            return Room::Free;
        }
        rows.waiters.add(waker);
        Room::Full
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        lock(&self.0).batches.push_back(batch);
        Ok(Room::Free)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Runs the plan for the tuples of a driver.
struct NestedMap {
    plan: Arc<NestedPlan>,
    /// Tuples, and which of them is next.
    tuples: Option<(Batch, usize)>,
    run: Option<TupleRun>,
    input_done: bool,
}

impl Operator for NestedMap {
    fn name(&self) -> &'static str {
        "nested map"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.tuples = Some((input.loaded()?, 0));
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(run) = &self.run {
            if let Some(batch) = run.take() {
                return Ok(Step::Output(batch));
            }
            match run.chains.step(cx.waker)? {
                Turn::Worked => return Ok(Step::Yield),
                Turn::Wait => return Ok(Step::Blocked(BlockedOn::Build)),
                Turn::Over => {}
            }
            // The last rows may have come with the end.
            if let Some(batch) = run.take() {
                return Ok(Step::Output(batch));
            }
            self.run = None;
        }
        let Some((tuples, next)) = self.tuples.take() else {
            return Ok(if self.input_done { Step::Finished } else { Step::NeedInput });
        };
        let tuple = tuples.slice(next, 1);
        if next + 1 < tuples.rows() {
            self.tuples = Some((tuples, next + 1));
        }
        self.run = Some(self.plan.start(tuple)?);
        Ok(Step::Yield)
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }

    fn abort(&mut self) {
        if let Some(run) = &self.run {
            run.chains.abort();
        }
    }
}

impl Spill for NestedMap {
    fn reclaimable_bytes(&self) -> usize {
        self.run.as_ref().map_or(0, |it| it.chains.reclaimable_bytes())
    }

    fn spill(&mut self) -> Result<()> {
        self.run.as_ref().map_or(Ok(()), |it| it.chains.spill())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
