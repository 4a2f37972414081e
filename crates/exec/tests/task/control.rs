//! Pausing, deadlines, and how tasks share the threads.

use crate::kit::config;
use std::{
    sync::{Arc, Barrier, mpsc},
    thread,
    time::{Duration, Instant},
};
use volley_error::{ErrorKind, Result};
use volley_exec::{Executor, Operator, Priority, Step, StepContext, Task, TaskConfig};
use volley_exec_testkit::{A, InputEncoding, SETUPS, Setup, TestTables, drain};
use volley_function::QueryConstants;
use volley_memory::{CancellationToken, Deadline, Pool};
use volley_plan::{CustomNode, PlanBuilder};
use volley_testkit::integers;
use volley_types::Schema;
use volley_vector::Batch;

const SETUP: Setup = Setup { threads: 2, drivers: 4, batch_rows: 16, spill_always: false };

fn endless() -> TestTables {
    TestTables::one(&A, integers(0..1000), InputEncoding::Endless)
}

/// Never ends and puts nothing out.
fn hog(tables: &TestTables, setup: Setup) -> TaskConfig {
    config(tables.scan("t").top_n(&["a"], 0, 1).build().unwrap(), tables, setup)
}

fn rows_scanned(task: &Task) -> u64 {
    let statistics = task.statistics();
    let operators = statistics.nodes.iter().flat_map(|it| &it.operators);
    operators.filter(|it| it.name == "table scan").map(|it| it.total().rows_out).sum()
}

fn in_time(config: TaskConfig, limit: Duration) -> TaskConfig {
    let query = QueryConstants {
        cancellation: CancellationToken::until(Deadline::after(limit)),
        ..(*config.query).clone()
    };
    TaskConfig { query: Arc::new(query), ..config }
}

#[test]
fn a_paused_task_stands_still_and_goes_on() {
    let tables = endless();
    for setup in SETUPS {
        let executor = Executor::new(setup.threads).unwrap();
        let task = Task::start(hog(&tables, setup), &executor).unwrap();
        let handle = task.handle();
        for _ in 0..3 {
            handle.pause_wait();
            let before = rows_scanned(&task);
            thread::sleep(Duration::from_millis(2));
            assert_eq!(rows_scanned(&task), before, "{setup:?}");
            handle.resume();
            while rows_scanned(&task) == before {
                thread::yield_now();
            }
        }
    }
}

#[test]
fn pausing_at_any_moment_loses_no_row() {
    for manners in [InputEncoding::Flat, InputEncoding::Blocking] {
        let tables = TestTables::one(&A, integers(0..3000), manners);
        for setup in SETUPS {
            let plan = tables.scan("t").partition(&["a"]).order_by(&["a"]).build().unwrap();
            let executor = Executor::new(setup.threads).unwrap();
            let task = Task::start(config(plan, &tables, setup), &executor).unwrap();
            let handle = task.handle();
            let (done, ended) = mpsc::channel();
            let pauses = thread::spawn(move || {
                while ended.recv_timeout(Duration::from_micros(300)).is_err() {
                    handle.pause_wait();
                    handle.resume();
                }
            });
            let rows = drain(&task);
            done.send(()).unwrap();
            pauses.join().unwrap();
            assert_eq!(rows.unwrap(), integers(0..3000), "{manners:?}, {setup:?}");
        }
    }
}

#[test]
fn a_paused_task_can_be_cancelled_dropped_and_out_of_time() {
    let tables = endless();
    let executor = Executor::new(2).unwrap();
    let task = Task::start(hog(&tables, SETUP), &executor).unwrap();
    task.handle().pause_wait();
    task.cancel();
    assert_eq!(drain(&task).unwrap_err().kind(), ErrorKind::Cancelled);
    // Nothing is left to pause.
    task.handle().pause_wait();
    let task = Task::start(hog(&tables, SETUP), &executor).unwrap();
    task.handle().pause();
    drop(task);
    let config = in_time(hog(&tables, SETUP), Duration::from_millis(200));
    let task = Task::start(config, &executor).unwrap();
    task.handle().pause_wait();
    assert_eq!(drain(&task).unwrap_err().kind(), ErrorKind::TimedOut);
    let handle = task.handle();
    drop(task);
    handle.pause_wait();
    handle.resume();
    handle.cancel();
}

/// A node without rows, whose operator stays on its thread until another thread reaches the barrier
/// for the second time.
#[derive(Debug)]
struct Gate(Arc<Barrier>);

impl CustomNode for Gate {
    fn name(&self) -> &str {
        "Gate"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        Ok(inputs[0].clone())
    }
}

impl Operator for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        self.0.wait();
        self.0.wait();
        Ok(Step::Finished)
    }
}

/// What takes all threads for a long time.
fn gate(tables: &TestTables, barrier: &Arc<Barrier>) -> TaskConfig {
    let mut registry = volley_operators::registry();
    let lower = registry.add("Gate", |node, mut inputs, cx| {
        let barrier = Arc::clone(&node.downcast::<Gate>()?.0);
        let mut input = inputs.remove(0);
        cx.add(&mut input, "gate", move |_| Ok(Box::new(Gate(Arc::clone(&barrier)))));
        Ok(input)
    });
    lower.unwrap();
    let setup = Setup { threads: 1, drivers: 1, ..SETUP };
    let plan = tables.scan("t").custom(Gate(Arc::clone(barrier))).build().unwrap();
    TaskConfig { lowerings: Arc::new(registry), ..config(plan, tables, setup) }
}

#[test]
fn a_cancelled_task_does_not_wait_for_a_thread() {
    let (tables, executor) = (endless(), Executor::new(1).unwrap());
    let barrier = Arc::new(Barrier::new(2));
    let long = Task::start(gate(&tables, &barrier), &executor).unwrap();
    barrier.wait();
    let (ended, end) = mpsc::channel();
    let task = Task::start(hog(&tables, SETUP), &executor).unwrap();
    let late =
        Task::start(in_time(hog(&tables, SETUP), Duration::from_millis(20)), &executor).unwrap();
    let waiting = thread::spawn(move || {
        task.cancel();
        ended.send(drain(&task).unwrap_err().kind()).unwrap();
        drop(task);
        ended.send(drain(&late).unwrap_err().kind()).unwrap();
    });
    let kinds =
        [end.recv_timeout(Duration::from_secs(20)), end.recv_timeout(Duration::from_secs(20))];
    barrier.wait();
    waiting.join().unwrap();
    assert_eq!(kinds, [Ok(ErrorKind::Cancelled), Ok(ErrorKind::TimedOut)]);
    assert_eq!(drain(&long).unwrap(), integers(0..0));
    executor.wait_released();
}

/// Without the memory of the paused task, the other could not finish.
#[test]
fn a_paused_task_gives_memory_back() -> Result<()> {
    let root = Pool::root("process", Some(48 << 20));
    let tables = TestTables::one(&A, integers(0..400_000), InputEncoding::Flat);
    let setup = Setup { batch_rows: 1024, ..SETUP };
    let executor = Executor::new(2)?;
    let start = |plan: PlanBuilder, tables: &TestTables| {
        let pool = root.child("query");
        let config = TaskConfig { pool, ..config(plan.build()?, tables, setup) };
        Task::start(config, &executor)
    };
    let hoard = endless();
    let hoarder = start(hoard.scan("t").order_by(&["a"]), &hoard)?;
    let spilled = || hoarder.statistics().total("spilled bytes");
    while root.stats().bytes < 20 << 20 {
        hoarder.handle().resume();
        thread::sleep(Duration::from_micros(100));
        hoarder.handle().pause_wait();
    }
    let before = spilled();
    let sort = start(tables.scan("t").order_by(&["a"]), &tables)?;
    assert_eq!(drain(&sort)?.len(), 400_000);
    assert!(spilled() > before);
    Ok(())
}

#[test]
fn a_task_ends_at_its_deadline_whatever_it_does() {
    let stuck = TestTables::one(&A, integers(0..1000), InputEncoding::Stuck);
    let endless = endless();
    let executor = Executor::new(1).unwrap();
    let full = || config(endless.scan("t").build().unwrap(), &endless, SETUP);
    let waiting = || config(stuck.scan("t").order_by(&["a"]).build().unwrap(), &stuck, SETUP);
    for config in [hog(&endless, SETUP), full(), waiting()] {
        let pool = config.pool.clone();
        let config = in_time(config, Duration::from_millis(10));
        let task = Task::start(config, &executor).unwrap();
        // No rows are read meanwhile.
        while pool.stats().bytes > 0 || !task.is_stopped() {
            thread::yield_now();
        }
        let error = drain(&task).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("(statement_timeout: 10ms)"), "{error}");
    }
    let small = TestTables::one(&A, integers(0..9), InputEncoding::Flat);
    let config = config(small.scan("t").build().unwrap(), &small, SETUP);
    let task = Task::start(in_time(config, Duration::from_secs(1000)), &executor).unwrap();
    assert_eq!(drain(&task).unwrap().len(), 9);
}

#[test]
fn a_task_whose_time_is_over_or_that_was_cancelled_does_not_start() {
    let tables = endless();
    let executor = Executor::new(1).unwrap();
    let late = in_time(hog(&tables, SETUP), Duration::ZERO);
    let error = Task::start(late, &executor).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let config = hog(&tables, SETUP);
    config.query.cancellation.cancel();
    let error = Task::start(config, &executor).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// Rows that two endless tasks scan while the first scans a million, as the second's share.
fn share_of_second(first: (usize, Priority), second: (usize, Priority)) -> f64 {
    let tables = endless();
    let executor = Executor::new(1).unwrap();
    let start = |(drivers, priority): (usize, Priority)| {
        let setup = Setup { threads: 1, drivers, batch_rows: 1000, spill_always: false };
        Task::start(TaskConfig { priority, ..hog(&tables, setup) }, &executor).unwrap()
    };
    let (first, second) = (start(first), start(second));
    while rows_scanned(&first) + rows_scanned(&second) < 2_000_000 {
        thread::sleep(Duration::from_millis(1));
    }
    let (first, second) = (rows_scanned(&first) as f64, rows_scanned(&second) as f64);
    second / (first + second)
}

#[test]
fn tasks_share_by_priority_and_not_by_drivers() {
    use Priority::{High, Low, Normal};
    let begin = Instant::now();
    let equal = share_of_second((64, Normal), (2, Normal));
    assert!((0.3..0.7).contains(&equal), "{equal} after {:?}", begin.elapsed());
    let more = share_of_second((64, Low), (2, High));
    assert!(more > 0.8, "{more}");
}

#[test]
fn priorities_have_names() {
    for priority in Priority::ALL {
        assert_eq!(priority.to_string().to_uppercase().parse::<Priority>().unwrap(), priority);
    }
    assert!("urgent".parse::<Priority>().is_err());
}
