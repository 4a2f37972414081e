use crate::{DistributedConfig, DistributedQuery, FilterStatistics};
use std::{sync::Arc, time::Instant};
use volley_error::{ErrorKind, Result};
use volley_exec::{Executor, TaskConfig};
use volley_exec_testkit::{InputEncoding, Runner, SETUPS, Setup, TestTables};
use volley_memory::Pool;
use volley_operators::PageEncoding;
use volley_plan::{DistributedPlan, PlanBuilder, RangeRouting, Routing, SortKey, TaskCount};
use volley_testkit::{RowValues, rows_of};
use volley_types::{Type, Value};
use volley_wire::NativeFormat;

const COLUMNS: &[(&str, Type)] = &[("a", Type::BigInt), ("s", Type::Varchar), ("d", Type::Double)];

const SETUP: Setup = Setup { threads: 2, drivers: 2, batch_rows: 16, spill_always: false };

fn rows(count: i64) -> RowValues {
    let row = |it: i64| {
        let text = if it % 7 == 0 { Value::Null } else { Value::text(format!("é{}", it % 11)) };
        let number = match it % 5 {
            0 => Value::Double(f64::NAN),
            1 => Value::Double(-0.0),
            2 => Value::Null,
            _ => Value::Double(it as f64),
        };
        vec![Value::BigInt(it % 23), text, number]
    };
    (0..count).map(row).collect()
}

fn runner() -> Runner {
    Runner { lowerings: Arc::new(volley_operators::registry()) }
}

fn encodings() -> [PageEncoding; 3] {
    let bytes = |it: NativeFormat| PageEncoding::Bytes(Arc::new(it));
    [PageEncoding::Batches, bytes(NativeFormat::Plain), bytes(NativeFormat::Packed)]
}

fn config(
    plan: &PlanBuilder,
    tables: &TestTables,
    setup: Setup,
    encoding: PageEncoding,
) -> DistributedConfig {
    let plan = plan.clone().build().unwrap();
    let cut = DistributedPlan::cut(&plan).unwrap();
    let task = runner().config(plan, tables, setup);
    DistributedConfig { plan: Arc::new(cut), task, tasks: 3, encoding, page_bytes: 100 }
}

fn drain(query: &DistributedQuery) -> Result<RowValues> {
    let mut rows = Vec::new();
    while let Some(batch) = query.next()? {
        assert!(batch.rows() > 0);
        rows.extend(rows_of(&batch.loaded()?));
    }
    Ok(rows)
}

/// Runs the fragments; checks that nothing is left.
fn run(config: &DistributedConfig, threads: usize) -> Result<RowValues> {
    let executor = Executor::new(threads)?;
    let query = DistributedQuery::start(config, &executor)?;
    let rows = drain(&query);
    let handle = query.handle();
    drop(query);
    drop(executor);
    let begin = Instant::now();
    while !handle.is_dead() {
        assert!(begin.elapsed().as_secs() < 10, "something holds drivers of a task");
        std::thread::yield_now();
    }
    assert_eq!(config.task.pool.stats().bytes, 0, "memory is left");
    rows
}

fn sorted(mut rows: RowValues) -> Vec<String> {
    rows.sort_by_key(|it| format!("{it:?}"));
    rows.iter().map(|it| format!("{it:?}")).collect()
}

/// The rows of the plan in tasks are those of the plan in one task, in any order.
fn check(plan: &PlanBuilder, manners: InputEncoding) {
    for count in [0, 1, 1000] {
        let tables = TestTables::one(COLUMNS, rows(count), manners);
        let one_task = runner().run(plan.clone(), &tables, SETUP).unwrap();
        for encoding in encodings() {
            let config = config(plan, &tables, SETUP, encoding);
            assert_eq!(sorted(run(&config, 2).unwrap()), sorted(one_task.clone()));
        }
    }
}

fn scan() -> PlanBuilder {
    TestTables::one(COLUMNS, rows(9), InputEncoding::Flat).scan("t")
}

trait Exchanged {
    fn to_all(self, routing: Routing) -> PlanBuilder;
    fn to_one(self) -> PlanBuilder;
}

impl Exchanged for PlanBuilder {
    fn to_all(self, routing: Routing) -> PlanBuilder {
        self.exchange_tasks(TaskCount::All, |_| Ok(routing))
    }

    fn to_one(self) -> PlanBuilder {
        self.to_all(Routing::Gather)
    }
}

fn range() -> Routing {
    let key = |column| SortKey { column, descending: column == 0, nulls_first: true };
    let bounds =
        vec![vec![Value::BigInt(15), Value::Null], vec![Value::BigInt(4), Value::text("é3")]];
    Routing::Range(RangeRouting { keys: vec![key(0), key(1)], bounds })
}

#[test]
fn rows_arrive_once_whatever_the_routing_and_encoding() {
    for manners in InputEncoding::WHOLE {
        for routing in [Routing::Any, Routing::Forward, Routing::Hash(vec![1, 2]), range()] {
            check(&scan().to_all(routing).to_one(), manners);
        }
    }
}

#[test]
fn equal_keys_meet() {
    for keys in [vec![0], vec![1], vec![2], vec![1, 0]] {
        check(&scan().to_all(Routing::Hash(keys)).distinct().to_one(), InputEncoding::Dictionary);
    }
    check(&scan().to_all(range()).distinct().to_one(), InputEncoding::Flat);
}

#[test]
fn every_task_gets_the_rows_of_a_broadcast() {
    let copies = scan().to_all(Routing::Broadcast).to_one();
    let tables = TestTables::one(COLUMNS, rows(100), InputEncoding::Flat);
    for encoding in encodings() {
        let rows = run(&config(&copies, &tables, SETUP, encoding), 2).unwrap();
        assert_eq!(rows.len(), 300);
    }
    let build = scan().to_all(Routing::Broadcast);
    let kind = volley_plan::JoinKind::Inner;
    check(&scan().hash_join(kind, build, &[("#0", "#0")]).to_one(), InputEncoding::Constant);
}

#[test]
fn sorted_rows_are_merged() {
    let keys = vec![
        SortKey { column: 1, descending: true, nulls_first: false },
        SortKey { column: 0, descending: false, nulls_first: false },
        SortKey { column: 2, descending: false, nulls_first: false },
    ];
    let plan = scan().order_by(&["#1 desc", "#0", "#2"]).to_all(Routing::Merge(keys));
    let tables = TestTables::one(COLUMNS, rows(1000), InputEncoding::Flat);
    let expected = runner().run(plan.clone(), &tables, SETUP).unwrap();
    for setup in SETUPS {
        for encoding in encodings() {
            let config = config(&plan, &tables, setup, encoding);
            let rows = run(&config, setup.threads).unwrap();
            assert_eq!(format!("{rows:?}"), format!("{expected:?}"), "{setup:?}");
        }
    }
}

#[test]
fn a_shared_subplan_is_read_by_several_fragments() {
    let shared = scan().to_all(Routing::Hash(vec![0])).distinct().shared(1);
    let build = shared.clone().to_all(Routing::Hash(vec![1]));
    let probe = shared.to_all(Routing::Hash(vec![1]));
    let kind = volley_plan::JoinKind::Left;
    check(&probe.hash_join(kind, build, &[("#1", "#1")]).to_one(), InputEncoding::Flat);
}

#[test]
fn a_limit_ends_all_tasks() {
    let tables = TestTables::one(COLUMNS, rows(5000), InputEncoding::Flat);
    let plan = scan().to_all(Routing::Any).to_one().limit(0, 3);
    for encoding in encodings() {
        assert_eq!(run(&config(&plan, &tables, SETUP, encoding), 2).unwrap().len(), 3);
    }
}

#[test]
fn unique_ids_are_distinct_over_tasks() {
    let tables = TestTables::one(COLUMNS, rows(1000), InputEncoding::Flat);
    let plan = scan().to_all(Routing::Any).unique_id("id").to_one();
    let rows = run(&config(&plan, &tables, SETUP, PageEncoding::Batches), 2).unwrap();
    let mut ids: Vec<String> = rows.iter().map(|it| format!("{:?}", it[3])).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
}

#[test]
fn the_failure_of_any_task_is_the_cause() {
    let tables = TestTables::one(COLUMNS, rows(1000), InputEncoding::Flat);
    let second_row = scan().enforce_single_row();
    let plan = second_row.to_all(Routing::Hash(vec![0])).distinct().to_one();
    for encoding in encodings() {
        let error = run(&config(&plan, &tables, SETUP, encoding), 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
    }
}

#[test]
fn little_memory_overflows_or_fails() {
    let tables = TestTables::one(COLUMNS, rows(20_000), InputEncoding::Flat);
    let plan = scan().to_all(Routing::Hash(vec![0])).order_by(&["#2"]).to_one();
    let (mut answers, mut failures) = (0, 0);
    for limit in [1 << 14, 1 << 17, 1 << 20, 1 << 23] {
        for encoding in encodings() {
            let config = config(&plan, &tables, SETUP, encoding);
            let task = TaskConfig { pool: Pool::root("query", Some(limit)), ..config.task };
            let config = DistributedConfig { task, ..config };
            match run(&config, 2) {
                Ok(rows) => {
                    assert_eq!(rows.len(), 20_000);
                    answers += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
                    failures += 1;
                }
            }
        }
    }
    assert!(answers > 0 && failures > 0, "{answers} answers, {failures} failures");
}

#[test]
fn cancelled_queries_leave_nothing() {
    let tables = TestTables::one(COLUMNS, rows(5000), InputEncoding::Blocking);
    let plan = scan().to_all(Routing::Hash(vec![0])).order_by(&["#0"]).to_one();
    for steps in 0..20 {
        let config = config(&plan, &tables, SETUP, PageEncoding::Batches);
        let executor = Executor::new(2).unwrap();
        let query = DistributedQuery::start(&config, &executor).unwrap();
        for _ in 0..steps {
            query.next().unwrap();
        }
        query.handle().cancel();
        let error = loop {
            match query.next() {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        assert!(error.is_none_or(|it| it.kind() == ErrorKind::Cancelled));
        drop(query);
        executor.wait_released();
        drop(executor);
        assert_eq!(config.task.pool.stats().bytes, 0);
    }
}

#[test]
fn exchanges_are_counted() {
    let tables = TestTables::one(COLUMNS, rows(1000), InputEncoding::Flat);
    let plan = scan().to_all(Routing::Hash(vec![0])).to_one();
    let config = config(&plan, &tables, SETUP, encodings()[1].clone());
    let executor = Executor::new(2).unwrap();
    let query = DistributedQuery::start(&config, &executor).unwrap();
    assert_eq!(drain(&query).unwrap().len(), 1000);
    let statistics = query.statistics();
    assert_eq!(statistics.edges.len(), 3);
    for edge in &statistics.edges[..2] {
        assert_eq!(edge[0].total.rows, 1000);
        assert!(edge[0].total.sent_bytes > 0 && edge[0].total.pages > 3);
    }
    assert!(statistics.edges[0][0].skew() >= 1.0);
    let pages: u64 = statistics.edges.iter().flatten().map(|it| it.total.pages).sum();
    assert_eq!(statistics.total("pages sent"), pages);
}

#[test]
fn page_sinks_spill_pages_that_no_reader_waits_for() {
    let tables = TestTables::one(COLUMNS, rows(2000), InputEncoding::Flat);
    let plan = scan().to_all(Routing::Hash(vec![0])).to_one();
    let expected = sorted(runner().run(plan.clone(), &tables, SETUP).unwrap());
    let setup = Setup { spill_always: true, ..SETUP };
    let mut overflow = 0;
    for encoding in encodings() {
        let config = config(&plan, &tables, setup, encoding);
        // No reader runs between the steps of a sink.
        let executor = Executor::new(1).unwrap();
        let query = DistributedQuery::start(&config, &executor).unwrap();
        assert_eq!(sorted(drain(&query).unwrap()), expected);
        let edges = query.statistics().edges;
        overflow += edges.iter().flatten().map(|it| it.total.overflow_bytes).sum::<u64>();
    }
    assert!(overflow > 0, "nothing was spilled");
}

/// The rows of a join whose build side, with few keys, is in another fragment than the scan of its
/// probe side, and what became of the filter.
fn joined_over_tasks(
    count: i64,
    routing: Routing,
    dynamic_filters: bool,
) -> (usize, Vec<FilterStatistics>) {
    let tables = TestTables::one(COLUMNS, rows(count), InputEncoding::Flat);
    let build = scan().filter(|columns| {
        let key = columns.column("#0")?;
        columns.call("eq", [key, columns.integer(5)])
    });
    let kind = volley_plan::JoinKind::LeftSemi;
    let probe = scan().to_all(Routing::Hash(vec![0]));
    let plan = probe.hash_join(kind, build.to_all(routing), &[("#0", "#0")]).to_one();
    let mut config = config(&plan, &tables, SETUP, encodings()[1].clone());
    config.task.dynamic_filters = dynamic_filters;
    let executor = Executor::new(2).unwrap();
    let query = DistributedQuery::start(&config, &executor).unwrap();
    let found = drain(&query).unwrap().len();
    let filters = query.statistics().filters;
    drop(query);
    drop(executor);
    assert_eq!(config.task.pool.stats().bytes, 0, "memory is left");
    (found, filters)
}

#[test]
fn keys_of_a_join_reach_scans_of_other_fragments() {
    for routing in [Routing::Hash(vec![0]), Routing::Broadcast] {
        for count in [0, 1, 1000] {
            let (rows, filters) = joined_over_tasks(count, routing.clone(), true);
            let (expected, none) = joined_over_tasks(count, routing.clone(), false);
            assert_eq!(rows, expected);
            assert!(none.is_empty());
            let [filter] = filters[..] else { panic!("{filters:?}") };
            assert!(filter.bytes.is_some(), "{filter:?}");
            assert!(filter.applied_by < filter.made_by);
        }
    }
}
