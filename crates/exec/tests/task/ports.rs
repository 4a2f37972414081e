//! Tasks that get splits and rows from outside, and whose rows go elsewhere.

use crate::kit::config;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Poll, Wake, Waker},
    thread::{self, Thread},
};
use volley_connector::{
    Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split, SplitSource, SplitStep, Table,
    TableProvider, TableStatistics,
};
use volley_error::{Error, ErrorKind, Result};
use volley_exec::{
    BlockedOn, Executor, InputState, Operator, OperatorContext, Step, StepContext, Task,
    TaskConfig, TaskInput, TaskOutput, TaskPorts,
};
use volley_exec_testkit::{
    A, InputEncoding, SETUPS, Setup, TestTables, drain, drop_whole, plan, test_split,
};
use volley_memory::Pool;
use volley_plan::{PlanBuilder, PlanNodeId, TableHandle};
use volley_state::barrier::Waiters;
use volley_testkit::{RowValues, integers, rows_of, sorted};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

const SETUP: Setup = Setup { threads: 2, drivers: 4, batch_rows: 16, spill_always: false };

/// The scan of the plans here: the only node, or the one below the root.
const SCAN: PlanNodeId = PlanNodeId::new(0);

fn fed(tables: &TestTables, scan: PlanNodeId, setup: Setup) -> TaskConfig {
    let config = config(tables.scan("t").build().unwrap(), tables, setup);
    let ports = TaskPorts { added_splits: BTreeSet::from([scan]), ..TaskPorts::default() };
    TaskConfig { ports, ..config }
}

#[test]
fn rows_come_of_splits_that_are_added_while_the_task_runs() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&A, integers(0..100), manners);
        for setup in SETUPS {
            let executor = Executor::new(setup.threads).unwrap();
            let task = Task::start(fed(&tables, SCAN, setup), &executor).unwrap();
            let mut rows = Vec::new();
            for split in 0..5 {
                task.add_splits(SCAN, vec![test_split(split)]).unwrap();
                while rows.len() < (split + 1) * 20 {
                    rows.extend(rows_of(&task.next().unwrap().unwrap()));
                }
            }
            assert!(task.outcome().is_none());
            task.no_more_splits(SCAN).unwrap();
            assert!(task.next().unwrap().is_none());
            assert_eq!(sorted(rows), sorted(integers(0..100)), "{manners:?}, {setup:?}");
            assert_eq!(task.statistics().splits(), (5, 5));
            drop_whole(task, executor);
        }
    }
}

#[test]
fn a_scan_without_splits_ends_when_it_is_told_so() {
    let tables = TestTables::one(&A, integers(0..100), InputEncoding::Flat);
    let executor = Executor::new(1).unwrap();
    let task = Task::start(fed(&tables, SCAN, SETUP), &executor).unwrap();
    task.no_more_splits(SCAN).unwrap();
    assert_eq!(drain(&task).unwrap(), integers(0..0));
}

#[test]
fn splits_after_the_last_ones_and_of_unknown_nodes_are_refused() {
    let tables = TestTables::one(&A, integers(0..100), InputEncoding::Flat);
    let executor = Executor::new(1).unwrap();
    let other = PlanNodeId::new(9);
    let error = Task::start(fed(&tables, other, SETUP), &executor).map(drop).unwrap_err();
    let unknown = "the task has no table scan with the id 9 whose splits are added";
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidQuery, unknown));
    let task = Task::start(fed(&tables, SCAN, SETUP), &executor).unwrap();
    assert_eq!(task.add_splits(other, vec![]).unwrap_err().message(), unknown);
    assert_eq!(task.no_more_splits(other).unwrap_err().message(), unknown);
    let input = task.input(SCAN).unwrap_err();
    assert_eq!(input.message(), "the plan has no task input with the id 0");
    task.add_splits(SCAN, vec![test_split(1)]).unwrap();
    task.no_more_splits(SCAN).unwrap();
    task.no_more_splits(SCAN).unwrap();
    let late = task.add_splits(SCAN, vec![test_split(2)]).unwrap_err();
    assert_eq!(late.message(), "splits for plan node 0 after its last ones");
    assert_eq!(drain(&task).unwrap(), integers(20..40));
    // A scan that lists its splits takes none.
    let plan = tables.scan("t").build().unwrap();
    let task = Task::start(config(plan, &tables, SETUP), &executor).unwrap();
    assert_eq!(task.add_splits(SCAN, vec![]).unwrap_err().kind(), ErrorKind::InvalidQuery);
}

#[test]
fn malformed_splits_fail_the_task_with_their_label() {
    let tables = TestTables::one(&A, integers(0..100), InputEncoding::Flat);
    let executor = Executor::new(1).unwrap();
    let bytes = test_split(3).bytes;
    let (mut refused, mut read) = (0, 0);
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 0x55;
        for bytes in [changed, bytes[..at].to_vec()] {
            let task = Task::start(fed(&tables, SCAN, SETUP), &executor).unwrap();
            task.add_splits(SCAN, vec![Split::new(bytes, "sent from elsewhere")]).unwrap();
            task.no_more_splits(SCAN).unwrap();
            match drain(&task) {
                Ok(_) => read += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption);
                    assert!(error.to_string().contains("(split: sent from elsewhere)"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert_eq!((refused, read), (2 * bytes.len(), 0));
    let task = Task::start(fed(&tables, SCAN, SETUP), &executor).unwrap();
    task.add_splits(SCAN, vec![test_split(5)]).unwrap();
    assert_eq!(drain(&task).unwrap_err().message(), "no part 5");
}

#[test]
fn a_cancelled_task_does_not_wait_for_splits_or_rows() {
    let tables = TestTables::one(&A, integers(0..100), InputEncoding::Flat);
    for setup in SETUPS {
        let executor = Executor::new(setup.threads).unwrap();
        let task = Task::start(fed(&tables, SCAN, setup), &executor).unwrap();
        task.add_splits(SCAN, vec![test_split(0)]).unwrap();
        assert!(task.next().unwrap().is_some());
        task.cancel();
        assert_eq!(drain(&task).unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(task.add_splits(SCAN, vec![test_split(1)]).is_ok());
        let (task, input) = input_task(PlanBuilder::order_by, setup, None, &executor);
        input.push(batch(0..9)).unwrap();
        task.cancel();
        assert_eq!(drain(&task).unwrap_err().kind(), ErrorKind::Cancelled);
        executor.wait_released();
        assert_eq!(input.poll_ready(Waker::noop()), Poll::Ready(InputState::Closed));
        drop_whole(task, executor);
    }
}

/// A table of many splits of one row, which notes how many were listed.
#[derive(Clone, Debug)]
struct ManySplits {
    schema: Schema,
    splits: usize,
    listed: Arc<AtomicUsize>,
    /// Before each answer it is blocked, and woken from another thread.
    is_slow: bool,
}

impl ManySplits {
    fn new(splits: usize, is_slow: bool) -> ManySplits {
        let schema = A.iter().map(|it| Field::new(it.0, it.1.clone())).collect();
        ManySplits { schema, splits, listed: Arc::default(), is_slow }
    }

    fn scan(&self) -> PlanBuilder {
        plan().scan(self.handle(), &self.schema, &["a"])
    }

    fn start(&self, plan: PlanBuilder, executor: &Executor) -> Task {
        let config = config(plan.build().unwrap(), &TestTables::default(), SETUP);
        Task::start(TaskConfig { tables: Arc::new(self.clone()), ..config }, executor).unwrap()
    }
}

impl TableProvider for ManySplits {
    fn table(&self, _handle: &TableHandle) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(self.clone()))
    }
}

impl Table for ManySplits {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: "test".to_owned(), table: "many".to_owned() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, _request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(self.clone()))
    }
}

impl Scan for ManySplits {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        Ok(Box::new(ManyListed { table: self.clone(), next: 0, is_due: false }))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(OneRow(None)))
    }
}

struct ManyListed {
    table: ManySplits,
    next: usize,
    is_due: bool,
}

impl SplitSource for ManyListed {
    fn next(&mut self, max: usize, waker: &Waker) -> Result<SplitStep> {
        if self.table.is_slow && !self.is_due {
            self.is_due = true;
            let waker = waker.clone();
            thread::spawn(move || waker.wake());
            return Ok(SplitStep::Blocked);
        }
        self.is_due = false;
        let end = self.table.splits.min(self.next + max);
        let bytes = |it: usize| (it as u64).to_le_bytes().to_vec();
        let splits: Vec<_> = (self.next..end).map(|it| Split::new(bytes(it), "row")).collect();
        self.table.listed.fetch_add(splits.len(), Ordering::Relaxed);
        self.next = end;
        Ok(if splits.is_empty() { SplitStep::End } else { SplitStep::Splits(splits) })
    }
}

struct OneRow(Option<i64>);

impl Source for OneRow {
    fn start(&mut self, split: Split) -> Result<()> {
        let bytes: [u8; 8] = split.bytes[..].try_into().unwrap();
        self.0 = Some(i64::from_le_bytes(bytes));
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        Ok(match self.0.take() {
            Some(row) => SourceStep::Batch(batch(row..row + 1)),
            None => SourceStep::NeedSplit,
        })
    }

    fn metrics(&self) -> ScanMetrics {
        ScanMetrics::default()
    }
}

#[test]
fn many_splits_are_listed_as_drivers_take_them() {
    let executor = Executor::new(2).unwrap();
    let few = ManySplits::new(10_000, false);
    let task = few.start(few.scan().limit(0, 1), &executor);
    assert_eq!(few.listed.load(Ordering::Relaxed), 10_000, "all at once");
    drop(task);
    let many = ManySplits::new(1_000_000, false);
    let task = many.start(many.scan().limit(0, 20), &executor);
    assert_eq!(drain(&task).unwrap().len(), 20);
    let listed = many.listed.load(Ordering::Relaxed);
    assert!((10_000..13_000).contains(&listed), "{listed} splits were listed");
    drop(task);
    for is_slow in [false, true] {
        let many = ManySplits::new(25_000, is_slow);
        let task = many.start(many.scan(), &executor);
        assert!(many.listed.load(Ordering::Relaxed) < 25_000);
        assert_eq!(sorted(drain(&task).unwrap()), sorted(integers(0..25_000)), "slow: {is_slow}");
        assert_eq!(task.statistics().splits(), (25_000, 25_000));
    }
    let none = ManySplits::new(0, true);
    assert_eq!(drain(&none.start(none.scan(), &executor)).unwrap(), integers(0..0));
}

fn batch(values: std::ops::Range<i64>) -> Batch {
    let values: Vec<i64> = values.collect();
    let rows = values.len();
    Batch::new(vec![Vector::native::<i64>(Type::BigInt, values, None)], rows)
}

/// A task over one input, and the input.
fn input_task(
    above: impl FnOnce(PlanBuilder, &[&str]) -> PlanBuilder,
    setup: Setup,
    limit: Option<usize>,
    executor: &Executor,
) -> (Task, TaskInput) {
    let schema = A.iter().map(|it| Field::new(it.0, it.1.clone())).collect();
    let built = above(plan().task_input(schema), &["a"]).build().unwrap();
    let id = built.walk().last().unwrap().node.id();
    let config = config(built, &TestTables::default(), setup);
    let config = TaskConfig { pool: Pool::root("query", limit), ..config };
    let task = Task::start(config, executor).unwrap();
    let input = task.input(id).unwrap();
    (task, input)
}

fn as_it_is(plan: PlanBuilder, _keys: &[&str]) -> PlanBuilder {
    plan
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for room.
fn ready(input: &TaskInput) -> InputState {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match input.poll_ready(&waker) {
            Poll::Ready(state) => return state,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_task_puts_out_the_rows_that_it_is_fed_with() {
    for setup in SETUPS {
        let executor = Executor::new(setup.threads).unwrap();
        let (task, input) = input_task(PlanBuilder::order_by, setup, None, &executor);
        for part in (0..10).rev() {
            assert_eq!(ready(&input), InputState::Ready);
            input.push(batch(part * 10..part * 10 + 10)).unwrap();
            input.push(batch(0..0)).unwrap();
        }
        input.finish();
        assert_eq!(drain(&task).unwrap(), integers(0..100), "{setup:?}");
        assert_eq!(ready(&input), InputState::Closed);
        assert!(input.push(batch(0..1)).is_ok(), "rows for a closed input are dropped");
        drop(input);
        drop_whole(task, executor);
    }
}

#[test]
fn a_task_that_is_not_read_holds_back_who_feeds_it() {
    let executor = Executor::new(2).unwrap();
    let setup = Setup { batch_rows: 1000, ..SETUP };
    let (task, input) = input_task(as_it_is, setup, Some(64 << 20), &executor);
    // 80,000 bytes each. The queue has 4 MiB, the result as much.
    let part = |number: i64| batch(number * 10_000..(number + 1) * 10_000);
    let mut pushed = 0;
    while pushed < 10_000 && input.poll_ready(Waker::noop()).is_ready() {
        input.push(part(pushed)).unwrap();
        pushed += 1;
        // Lets drivers take what there is room for.
        thread::yield_now();
    }
    assert!((50..1000).contains(&pushed), "{pushed} batches were taken");
    let rows = thread::scope(|scope| {
        let reader = scope.spawn(|| drain(&task).unwrap());
        for number in pushed..300 {
            assert_eq!(ready(&input), InputState::Ready);
            input.push(part(number)).unwrap();
        }
        input.finish();
        reader.join().unwrap()
    });
    assert_eq!(rows.len() as i64, 10_000 * pushed.max(300));
    assert_eq!(sorted(rows)[..2], sorted(integers(0..10_000 * pushed.max(300)))[..2]);
}

#[test]
fn an_input_is_closed_when_the_task_needs_no_more_rows() {
    let executor = Executor::new(2).unwrap();
    let (task, input) = input_task(|it, _| it.limit(0, 3), SETUP, None, &executor);
    input.push(batch(0..9)).unwrap();
    assert_eq!(drain(&task).unwrap(), integers(0..3));
    assert_eq!(ready(&input), InputState::Closed);
}

#[test]
fn errors_of_an_input_and_wrong_rows_are_told() {
    let executor = Executor::new(1).unwrap();
    let (task, input) = input_task(PlanBuilder::order_by, SETUP, None, &executor);
    let texts = Vector::from_values(Type::Varchar, &[Value::text("x")]);
    let wrong = input.push(Batch::new(vec![texts], 1)).unwrap_err();
    assert_eq!(wrong.message(), "rows of other types than those of the task input");
    assert!(input.push(Batch::new(vec![], 1)).is_err());
    input.push(batch(0..3)).unwrap();
    input.fail(Error::new(ErrorKind::Io, "the peer is gone"));
    input.finish();
    assert_eq!(drain(&task).unwrap_err().message(), "the peer is gone");
    let (task, input) = input_task(PlanBuilder::order_by, SETUP, None, &executor);
    // While the drivers are paused the input stays open.
    task.handle().pause_wait();
    input.finish();
    let late = input.push(batch(0..3)).unwrap_err();
    assert_eq!(late.message(), "rows for a task input after its end");
    task.handle().resume();
    assert!(drain(&task).unwrap().is_empty());
}

/// Takes rows for a reader who lets through some at a time.
#[derive(Default)]
struct Collected(Mutex<CollectedState>);

#[derive(Default)]
struct CollectedState {
    drivers: usize,
    rows: RowValues,
    room: usize,
    waiters: Waiters,
    outcomes: Vec<Result<()>>,
}

struct CollectSink {
    to: Arc<Collected>,
    pending: Option<Batch>,
    input_done: bool,
}

/// Shares the state with its sinks.
struct CollectOutput(Arc<Collected>);

impl TaskOutput for CollectOutput {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn open(&self, types: &[Type], drivers: usize, _pool: &Pool) -> Result<()> {
        assert_eq!(types, [Type::BigInt]);
        self.0.0.lock().unwrap().drivers = drivers;
        Ok(())
    }

    fn sink(&self, _cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let to = Arc::clone(&self.0);
        Ok(Box::new(CollectSink { to, pending: None, input_done: false }))
    }

    fn close(&self, outcome: Result<()>) {
        self.0.0.lock().unwrap().outcomes.push(outcome);
    }
}

impl Operator for CollectSink {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let mut state = self.to.0.lock().unwrap();
        if self.pending.is_some() && state.room == 0 {
            state.waiters.add(cx.waker);
            return Ok(Step::Blocked(BlockedOn::Reader));
        }
        if let Some(batch) = self.pending.take() {
            state.room -= 1;
            state.rows.extend(rows_of(&batch));
        }
        Ok(if self.input_done { Step::Finished } else { Step::NeedInput })
    }
}

fn output_task(tables: &TestTables, setup: Setup, executor: &Executor) -> (Task, Arc<Collected>) {
    let collected = Arc::new(Collected::default());
    let config = config(tables.scan("t").build().unwrap(), tables, setup);
    let output: Arc<dyn TaskOutput> = Arc::new(CollectOutput(Arc::clone(&collected)));
    let ports = TaskPorts { output: Some(output), ..TaskPorts::default() };
    (Task::start(TaskConfig { ports, ..config }, executor).unwrap(), collected)
}

fn let_through(collected: &Collected, batches: usize) {
    let mut state = collected.0.lock().unwrap();
    state.room = batches;
    let waiters = state.waiters.take();
    drop(state);
    waiters.wake();
}

#[test]
fn rows_go_to_the_output_that_the_task_was_given() {
    for setup in SETUPS {
        let tables = TestTables::one(&A, integers(0..100), InputEncoding::Flat);
        let executor = Executor::new(setup.threads).unwrap();
        let (task, collected) = output_task(&tables, setup, &executor);
        let refused = task.next().unwrap_err();
        assert_eq!(refused.message(), "the rows of this task go to its output, not to its owner");
        assert!(task.outcome().is_none(), "nothing is let through");
        let_through(&collected, usize::MAX);
        task.wait().unwrap();
        assert!(matches!(task.outcome(), Some(Ok(()))));
        let state = std::mem::take(&mut *collected.0.lock().unwrap());
        assert_eq!(sorted(state.rows), sorted(integers(0..100)), "{setup:?}");
        assert!(matches!(state.outcomes[..], [Ok(())]), "{:?}", state.outcomes);
        assert_eq!(state.drivers, setup.drivers.min(5));
        let statistics = task.statistics();
        let mut operators = statistics.nodes.iter().flat_map(|it| &it.operators);
        assert_eq!(operators.find(|it| it.name == "collect").unwrap().total().rows_in, 100);
        drop_whole(task, executor);
    }
}

#[test]
fn an_output_is_told_of_errors_and_of_a_cancel_once() {
    let executor = Executor::new(2).unwrap();
    let failing = TestTables::one(&A, integers(0..1000), InputEncoding::Failing);
    let (task, collected) = output_task(&failing, SETUP, &executor);
    let_through(&collected, usize::MAX);
    assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Corruption);
    drop(task);
    let kinds = |it: &Collected| {
        let outcomes = std::mem::take(&mut it.0.lock().unwrap().outcomes);
        outcomes.into_iter().map(|it| it.map_err(|it| it.kind())).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&collected), [Err(ErrorKind::Corruption)]);
    let stuck = TestTables::one(&A, integers(0..1000), InputEncoding::Flat);
    let (task, collected) = output_task(&stuck, SETUP, &executor);
    task.cancel();
    assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    drop(task);
    assert_eq!(kinds(&collected), [Err(ErrorKind::Cancelled)]);
}
