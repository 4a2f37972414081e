//! Tasks whose joins and shared subplans spill, with failures of the disk and cancels.

use crate::kit::{config, run};
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use volley_error::{ErrorKind, Result};
use volley_exec::{Executor, Task};
use volley_exec_testkit::{InputEncoding, SETUPS, Setup, TestTables, drain};
use volley_memory::{
    Pool,
    spill::{Fault, SpillSpace},
};
use volley_plan::{JoinKind, PlanBuilder, PlanNode};
use volley_testkit::{RowValues, sorted};
use volley_types::{Type, Value};

/// Rows of a number that is there twice, and a text.
fn tables(rows: i64, manners: InputEncoding) -> TestTables {
    let columns = [("a", Type::BigInt), ("b", Type::Varchar)];
    let row = |it: i64| {
        let text = Value::text(format!("Zeile {it} mit mehr Text, größer"));
        vec![Value::BigInt(it * 7 % (rows / 2).max(1)), text]
    };
    TestTables::one(&columns, (0..rows).map(row).collect(), manners)
}

/// Everything that this test is about.
fn plans(build: &TestTables, probe: &TestTables) -> Vec<PlanBuilder> {
    let hash = |kind, key| probe.scan("t").hash_join(kind, build.scan("t"), &[(key, key)]);
    let nested = |kind| {
        let join = probe.scan("t").nested_loop_join(kind, build.scan("t"));
        join.join_condition(|c| c.call("eq", [c.column("#0")?, c.column("#2")?]))
    };
    let shared = build.scan("t").shared(1);
    vec![
        hash(JoinKind::Full, "a"),
        hash(JoinKind::LeftMark, "b"),
        nested(JoinKind::Full),
        nested(JoinKind::LeftAnti),
        shared.clone().hash_join(JoinKind::Inner, shared, &[("a", "a")]),
    ]
}

/// A task whose operators spill before every step, or that has `limit` bytes.
fn start(plan: Arc<PlanNode>, tables: &TestTables, setup: Setup, limit: Option<usize>) -> Started {
    let mut config = config(plan, tables, setup);
    config.pool = Pool::root("query", limit);
    let (pool, space) = (config.pool.clone(), config.spill.clone());
    let executor = Executor::new(setup.threads).unwrap();
    Started { task: Task::start(config, &executor).unwrap(), pool, space, _executor: executor }
}

struct Started {
    task: Task,
    pool: Pool,
    space: SpillSpace,
    _executor: Executor,
}

impl Started {
    /// Drops the task, whose memory and files must go, if not at once.
    fn end(self) {
        drop(self.task);
        let begin = Instant::now();
        while (self.pool.stats().bytes, self.space.stats().bytes) != (0, 0) {
            assert!(begin.elapsed() < Duration::from_secs(20), "something is left");
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn every_operation_of_the_disk_that_fails_is_an_error_or_harmless() {
    let tables = tables(24, InputEncoding::Flat);
    // One thread, and no reads before it has finished: the operations are the same every time,
    // including those of spilled results.
    let setup = Setup { batch_rows: 16, ..SETUPS[7] };
    for plan in plans(&tables, &tables) {
        let expected = sorted(run(plan.clone(), &tables, SETUPS[0]).unwrap());
        let plan = plan.build().unwrap();
        let with_fault = |operation: u64, fault| -> (Result<RowValues>, u64) {
            let started = start(Arc::clone(&plan), &tables, setup, None);
            started.space.inject(operation, fault);
            started.task.wait_idle();
            let rows = drain(&started.task);
            let operations = started.space.operations();
            started.end();
            (rows, operations)
        };
        let storage_full = Fault::Error(std::io::ErrorKind::StorageFull);
        let operations = with_fault(u64::MAX, storage_full).1;
        for fault in [storage_full, Fault::Short, Fault::FlippedBit] {
            let mut errors = 0;
            for operation in 0..operations {
                match with_fault(operation, fault).0 {
                    Ok(rows) => assert!(sorted(rows) == expected, "{operation}, {fault:?}"),
                    Err(error) => {
                        let kind = error.kind();
                        errors += 1;
                        assert!([ErrorKind::Io, ErrorKind::Corruption].contains(&kind), "{error}");
                    }
                }
            }
            assert!(errors > 3, "{errors} errors of {operations} operations, {fault:?}");
        }
    }
}

#[test]
fn a_cancel_in_the_middle_of_spilling_leaves_nothing() {
    let whole = tables(100_000, InputEncoding::Flat);
    let endless = tables(5000, InputEncoding::Endless);
    let with_limit = |it: PlanBuilder, limit| (it, limit);
    let mut cases: Vec<(PlanBuilder, Option<usize>)> = Vec::new();
    cases.extend(plans(&endless, &endless).into_iter().map(|it| with_limit(it, Some(24 << 20))));
    cases.extend(plans(&endless, &endless).into_iter().map(|it| with_limit(it, None)));
    cases.extend(plans(&whole, &whole).into_iter().map(|it| with_limit(it, Some(20 << 20))));
    for (number, (plan, limit)) in cases.into_iter().enumerate() {
        let tables = if number < 10 { &endless } else { &whole };
        let setup = if limit.is_some() { SETUPS[5] } else { Setup { batch_rows: 64, ..SETUPS[8] } };
        let plan = plan.build().unwrap();
        for wait in [1, 20, 90] {
            let started = start(Arc::clone(&plan), tables, setup, limit);
            thread::sleep(Duration::from_millis(wait));
            let begin = Instant::now();
            started.task.cancel();
            match drain(&started.task) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
                // It was faster.
                Ok(_) => assert!(number >= 10, "an endless task ended"),
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{number}: {:?}", begin.elapsed());
            started.end();
        }
    }
}
