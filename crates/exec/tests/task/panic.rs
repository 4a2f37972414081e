//! Operators that panic, wherever they are called: the query fails, and nothing else does.

use crate::kit::config;
use std::sync::Arc;
use volley_error::{ErrorKind, Result};
use volley_exec::{Executor, LoweringRegistry, Operator, Spill, Step, StepContext, Task};
use volley_exec_testkit::{A, InputEncoding, Setup, TestTables, drain};
use volley_memory::Reservation;
use volley_plan::{CustomNode, PlanBuilder};
use volley_testkit::integers;
use volley_types::Schema;
use volley_vector::Batch;

/// Where an operator panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Nowhere,
    Start,
    Accept,
    Step,
    FinishInput,
    Spill,
    Drop,
    /// In a step, and in the drop that follows.
    StepAndDrop,
    Withdraw,
}

/// A node that passes rows on.
#[derive(Debug)]
struct Fragile(At);

impl CustomNode for Fragile {
    fn name(&self) -> &str {
        "Fragile"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        Ok(inputs[0].clone())
    }
}

struct FragileOperator {
    at: At,
    pending: Option<Batch>,
    input_done: bool,
    _held: Reservation,
}

impl FragileOperator {
    fn reach(&self, at: &[At]) {
        assert!(!at.contains(&self.at), "fragile {:?}", self.at);
    }
}

impl Operator for FragileOperator {
    fn name(&self) -> &'static str {
        "fragile"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.reach(&[At::Accept]);
        self.pending = Some(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.reach(&[At::FinishInput]);
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        self.reach(&[At::Step, At::StepAndDrop]);
        Ok(match self.pending.take() {
            Some(batch) => Step::Output(batch),
            None if self.input_done => Step::Finished,
            None => Step::NeedInput,
        })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }

    fn abort(&mut self) {
        self.reach(&[At::Withdraw]);
    }
}

impl Spill for FragileOperator {
    fn reclaimable_bytes(&self) -> usize {
        0
    }

    fn spill(&mut self) -> Result<()> {
        self.reach(&[At::Spill]);
        Ok(())
    }
}

impl Drop for FragileOperator {
    fn drop(&mut self) {
        self.reach(&[At::Drop, At::StepAndDrop]);
    }
}

fn lowerings() -> Arc<LoweringRegistry> {
    let mut registry = volley_operators::registry();
    let lower = registry.add("Fragile", |node, mut inputs, cx| {
        let at = node.downcast::<Fragile>()?.0;
        let mut input = inputs.remove(0);
        cx.add(&mut input, "fragile", move |cx| {
            assert!(at != At::Start, "fragile Start");
            let mut held = cx.pool.reservation();
            held.grow(1000)?;
            Ok(Box::new(FragileOperator { at, pending: None, input_done: false, _held: held }))
        });
        Ok(input)
    });
    lower.unwrap();
    Arc::new(registry)
}

/// Two fragile operators, one above the other, so that two panics may meet.
fn plan(tables: &TestTables, at: At) -> PlanBuilder {
    tables.scan("t").custom(Fragile(at)).custom(Fragile(at)).order_by(&["a"])
}

#[track_caller]
fn check(at: At, operator: Option<&str>) {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Flat);
    let executor = Executor::new(2).unwrap();
    let setup = Setup { threads: 2, drivers: 4, batch_rows: 16, spill_always: at == At::Spill };
    let other = config(tables.scan("t").order_by(&["a"]).build().unwrap(), &tables, setup);
    let other_pool = other.pool.clone();
    let other = Task::start(other, &executor).unwrap();
    let plan = plan(&tables, at).build().unwrap();
    let mut config = config(plan, &tables, setup);
    config.lowerings = lowerings();
    let pool = config.pool.clone();
    let rows = Task::start(config, &executor).and_then(|it| drain(&it));
    match operator {
        None => assert_eq!(rows.unwrap(), integers(0..1000)),
        Some(operator) => {
            let error = rows.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
            assert!(error.message().starts_with("panic: fragile"), "{error}");
            assert!(error.to_string().contains(&format!("(operator: {operator})")), "{error}");
            assert!(error.hint_text().unwrap().contains("OrderBy #0\n  Fragile"), "{error:?}");
        }
    }
    assert_eq!(drain(&other).unwrap(), integers(0..1000));
    drop(other);
    executor.wait_released();
    assert_eq!((pool.stats().bytes, other_pool.stats().bytes), (0, 0));
}

#[test]
fn a_panic_fails_the_query_alone_and_names_operator_and_plan() {
    check(At::Nowhere, None);
    check(At::Start, Some("start"));
    for at in [At::Accept, At::Step, At::FinishInput, At::Spill, At::Drop, At::StepAndDrop] {
        check(at, Some("fragile"));
    }
}

#[test]
fn panics_while_a_cancelled_task_is_cleared_away_are_swallowed() {
    for at in [At::Withdraw, At::Drop] {
        let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Stuck);
        let executor = Executor::new(1).unwrap();
        let setup = Setup { threads: 1, drivers: 2, batch_rows: 16, spill_always: false };
        let mut config = config(plan(&tables, at).build().unwrap(), &tables, setup);
        config.lowerings = lowerings();
        let pool = config.pool.clone();
        let task = Task::start(config, &executor).unwrap();
        task.cancel();
        assert_eq!(drain(&task).unwrap_err().kind(), ErrorKind::Cancelled);
        drop(task);
        executor.wait_released();
        assert_eq!(pool.stats().bytes, 0, "{at:?}");
    }
}
