use crate::kit::{config, run};
use std::time::Duration;
use volley_error::{ErrorKind, Result};
use volley_exec::{BlockedOn, Executor, Stage, Task};
use volley_exec_testkit::{A, InputEncoding, SETUPS, Setup, TestTables, drain, drop_whole, plan};
use volley_memory::spill::Fault;
use volley_plan::{JoinKind, PlanBuilder};
use volley_testkit::{Random, integers, sorted};

const SETUP: Setup = Setup { threads: 2, drivers: 4, batch_rows: 16, spill_always: false };

fn start(plan: PlanBuilder, tables: &TestTables, setup: Setup) -> (Task, Executor) {
    let executor = Executor::new(setup.threads).unwrap();
    let task = Task::start(config(plan.build().unwrap(), tables, setup), &executor).unwrap();
    (task, executor)
}

#[test]
fn a_scan_gives_all_rows_in_every_encoding_and_setup() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&A, integers(0..100), manners);
        for setup in SETUPS {
            let rows = run(tables.scan("t"), &tables, setup).unwrap();
            assert_eq!(sorted(rows), sorted(integers(0..100)), "{manners:?}, {setup:?}");
        }
    }
}

#[test]
fn an_empty_table_gives_no_rows() {
    let tables = TestTables::one(&A, Vec::new(), InputEncoding::Flat);
    for setup in SETUPS {
        assert!(run(tables.scan("t"), &tables, setup).unwrap().is_empty());
    }
}

#[test]
fn an_error_of_a_source_ends_the_task_and_repeats() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Failing);
    for setup in SETUPS {
        let (task, _executor) = start(tables.scan("t").order_by(&["a"]), &tables, setup);
        for _ in 0..2 {
            let error = drain(&task).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
        }
    }
}

#[test]
fn a_panic_is_an_internal_error_that_names_the_operator() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Panicking);
    let error = run(tables.scan("t"), &tables, SETUP).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(error.to_string(), "panic: a bad assumption (operator: table scan)");
    assert!(error.hint_text().unwrap().ends_with("with the plan\nTableScan t [a]"), "{error:?}");
}

#[test]
fn the_executor_survives_a_panic() {
    let executor = Executor::new(1).unwrap();
    let bad = TestTables::one(&A, integers(0..1000), InputEncoding::Panicking);
    let good = TestTables::one(&A, integers(0..9), InputEncoding::Flat);
    for (tables, fails) in [(&bad, true), (&good, false)] {
        let plan = tables.scan("t").build().unwrap();
        let task = Task::start(config(plan, tables, SETUP), &executor).unwrap();
        assert_eq!(drain(&task).is_err(), fails);
    }
}

/// Checks that `stop`, and then a drop, end a task of an endless plan in every setup and leave
/// nothing.
#[track_caller]
fn check_stop(plan: &PlanBuilder, tables: &TestTables, stop: impl Fn(&Task)) {
    for setup in SETUPS {
        let (task, executor) = start(plan.clone(), tables, setup);
        std::thread::sleep(Duration::from_millis(5));
        stop(&task);
        drop_whole(task, executor);
    }
}

#[test]
fn a_cancelled_task_ends_soon_wherever_it_is() {
    let check = |plan: PlanBuilder, tables: &TestTables| {
        check_stop(&plan, tables, |task| {
            task.cancel();
            assert_eq!(drain(task).unwrap_err().kind(), ErrorKind::Cancelled);
        });
    };
    let endless = TestTables::one(&A, integers(0..1000), InputEncoding::Endless);
    check(endless.scan("t"), &endless);
    check(endless.scan("t").top_n(&["a"], 0, 10), &endless);
    check(endless.scan("t").partition(&["a"]).unique_id("id"), &endless);
    let stuck = TestTables::one(&A, integers(0..1000), InputEncoding::Stuck);
    check(stuck.scan("t").order_by(&["a"]), &stuck);
    let pairs = TestTables::one(&A, integers(0..2000), InputEncoding::Flat);
    let cross = |it: PlanBuilder| it.nested_loop_join(JoinKind::Inner, pairs.scan("t"));
    check(cross(cross(pairs.scan("t"))).top_n(&["#0"], 0, 1), &pairs);
}

#[test]
fn dropping_a_task_stops_it() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Endless);
    check_stop(&tables.scan("t"), &tables, |_| ());
    check_stop(&tables.scan("t"), &tables, |task| assert!(task.next().unwrap().is_some()));
}

#[test]
fn a_slow_reader_holds_producers_back() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Endless);
    let (task, _executor) = start(tables.scan("t"), &tables, SETUP);
    std::thread::sleep(Duration::from_millis(50));
    let statistics = task.statistics();
    let out: u64 = statistics.nodes[0].operators[0].total().batches_out;
    assert!(out <= 64 + 2 * SETUP.drivers as u64, "{out} batches were made");
    let waited = statistics.nodes[0].operators[1].drivers.len();
    assert_eq!(waited, SETUP.drivers);
}

#[test]
fn a_task_ends_when_its_result_cannot_be_read() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Endless);
    let plan = tables.scan("t").build().unwrap();
    let config = config(plan, &tables, Setup { spill_always: true, ..SETUP });
    let space = config.spill.clone();
    let task = Task::start(config, &Executor::new(SETUP.threads).unwrap()).unwrap();
    while space.operations() == 0 {
        std::thread::yield_now();
    }
    // What is written wrong is found when it is read.
    let error = loop {
        space.inject(space.operations(), Fault::FlippedBit);
        if let Err(error) = task.next() {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(task.next().unwrap_err().kind(), ErrorKind::Corruption);
    drop(task);
    assert_eq!(space.stats().bytes, 0);
}

#[test]
fn a_wait_with_a_timeout_ends() {
    let tables = TestTables::one(&A, integers(0..10), InputEncoding::Stuck);
    let (task, _executor) = start(tables.scan("t"), &tables, SETUP);
    assert!(task.next_timeout(Duration::from_millis(10)).is_none());
}

#[test]
fn tasks_share_the_threads_fairly() {
    let executor = Executor::new(1).unwrap();
    let endless = TestTables::one(&A, integers(0..1000), InputEncoding::Endless);
    let small = TestTables::one(&A, integers(0..1000), InputEncoding::Flat);
    let hog = endless.scan("t").top_n(&["a"], 0, 1).build().unwrap();
    let hog = Task::start(config(hog, &endless, SETUP), &executor).unwrap();
    let plan = small.scan("t").order_by(&["a"]).build().unwrap();
    let task = Task::start(config(plan, &small, SETUP), &executor).unwrap();
    assert_eq!(drain(&task).unwrap(), integers(0..1000));
    drop(hog);
}

#[test]
fn statistics_count_rows_and_waiting_per_driver() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Blocking);
    let plan = tables.scan("t").order_by(&["a"]);
    let node = plan.clone().build().unwrap();
    let (task, _executor) = start(plan, &tables, SETUP);
    drain(&task).unwrap();
    let statistics = task.statistics();
    let scan = &statistics.nodes[1].operators[0];
    assert_eq!((scan.name, scan.drivers.len()), ("table scan", 4));
    let total = scan.total();
    assert_eq!(total.rows_out, 1000);
    assert!(total.blocked.iter().any(|it| it.0 == BlockedOn::Io));
    assert_eq!(statistics.splits(), (5, 5));
    let order_by = statistics.nodes[0].operators.iter().find(|it| it.name == "order by").unwrap();
    assert_eq!((order_by.total().rows_in, order_by.total().rows_out), (1000, 1000));
    assert!(order_by.peak_bytes > 0);
    assert_eq!(statistics.nodes.len(), node.walk().len());
    // All drivers are done, and each has a time line.
    let progress = task.progress();
    assert_eq!((progress.done, progress.rows), (1.0, 1000));
    assert!(progress.pipelines.iter().all(|it| it.stage == Stage::Done));
    let timeline = task.timeline();
    assert!(timeline.drivers.len() >= 5, "{}", timeline.drivers.len());
    for line in &timeline.drivers {
        assert!(!line.segments.is_empty(), "{line:?}");
        assert!(line.segments.iter().all(|it| it.end <= timeline.elapsed), "{line:?}");
        assert!(line.segments.is_sorted_by_key(|it| it.start), "{line:?}");
    }
}

#[test]
fn the_memory_limit_is_an_error_that_names_the_consumer() {
    let tables = TestTables::one(&A, integers(0..200_000), InputEncoding::Flat);
    let plan = tables.scan("t").order_by(&["a"]).build().unwrap();
    let config = config(plan, &tables, Setup { batch_rows: 1024, ..SETUP });
    config.pool.set_limit(Some(1 << 20));
    let executor = Executor::new(2).unwrap();
    let task = Task::start(config, &executor).unwrap();
    let error = drain(&task).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.to_string().contains("order by"), "{error}");
}

#[test]
fn wide_and_deep_plans_run() {
    let one = |it: i64| plan().values(&A, integers([it]));
    let union = one(0).union((1..2000).map(one).collect());
    let rows = run(union, &TestTables::default(), SETUP).unwrap();
    assert_eq!(sorted(rows), sorted(integers(0..2000)));
    let mut deep = one(7);
    for _ in 0..5000 {
        deep = deep.limit(0, 1);
    }
    assert_eq!(run(deep, &TestTables::default(), SETUP).unwrap(), integers([7]));
}

/// Random plans over sources that block: a lost wakeup would be a query that never ends.
#[test]
fn scheduling_loses_no_wakeup() -> Result<()> {
    let mut random = Random(42);
    let tables = TestTables::one(&A, integers(0..40), InputEncoding::Blocking);
    for _ in 0..40 {
        let mut plan = tables.scan("t").shared(1);
        let again = plan.clone();
        plan = plan.union(vec![again]);
        for _ in 0..random.below(5) {
            plan = match random.below(4) {
                0 => plan.partition(&["a"]),
                1 => plan.round_robin(),
                2 => plan.gather(),
                _ => plan.unique_id("id"),
            };
        }
        let setup = Setup {
            threads: 1 + random.below(3),
            drivers: 1 + random.below(5),
            batch_rows: 1 + random.below(9),
            spill_always: false,
        };
        let count = run(plan.top_n(&["a"], 0, 1000), &tables, setup)?.len();
        assert_eq!(count, 80, "{setup:?}");
    }
    Ok(())
}
