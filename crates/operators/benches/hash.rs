//! Aggregations and joins against hand-written loops over the same data.
//!
//! Prints one line per case: the seconds of the engine on 1 and 2 threads and of the loop on one.

use std::{collections::HashMap, hint::black_box, sync::Arc, time::Instant};
use volley_connector::{SinkFactory, Table, TableProvider, TableWriter};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_exec::{Executor, Priority, Task, TaskConfig, TaskPorts};
use volley_function::Registry;
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{
    Aggregate, AggregateStep, AggregationNode, HashJoinNode, JoinKind, PlanNode, PlanNodeId,
    TableHandle, TableScanNode, WriteTarget,
};
use volley_state::StateSizes;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

const ROWS: usize = 6_000_000;
const BATCH_ROWS: usize = 4096;
const RUNS: usize = 5;

type Hasher = foldhash::fast::FixedState;

struct Tables(Vec<Arc<MemoryTable>>);

impl TableProvider for Tables {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        let table = self.0.iter().find(|it| it.handle().table == handle.table);
        table.map(|it| Arc::clone(it) as _).ok_or_else(|| Error::internal("no such table"))
    }
}

struct NoSinks;

impl SinkFactory for NoSinks {
    fn writer(&self, _: &WriteTarget, _: &Schema) -> Result<Arc<dyn TableWriter>> {
        Err(Error::internal("no sinks"))
    }
}

fn main() -> Result<()> {
    let only = std::env::args().nth(1).filter(|it| !it.starts_with('-'));
    let wanted = |name: &str| only.as_ref().is_none_or(|it| name.contains(it.as_str()));
    let cases: [(&str, fn() -> Result<()>); 6] = [
        ("few groups, dictionary keys", few_groups),
        ("1M groups, random keys", random_groups),
        ("1.5M groups, clustered keys", clustered_groups),
        ("100k groups, string keys", string_groups),
        ("join 6M with 1M dense keys", dense_join),
        ("join 6M with 1M sparse keys", sparse_join),
    ];
    for (name, case) in cases.into_iter().filter(|it| wanted(it.0)) {
        print!("{name:<30}");
        case()?;
    }
    Ok(())
}

/// A multiplicative generator: fast, and random enough for benches.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    }
}

fn longs(values: &[i64]) -> Vec<Vector> {
    let chunks = values.chunks(BATCH_ROWS);
    chunks.map(|it| Vector::native::<i64>(Type::BigInt, it.to_vec(), None)).collect()
}

fn strings(values: &[String]) -> Vec<Vector> {
    let text =
        |it: &[String]| it.iter().map(String::as_str).collect::<volley_vector::StringValues>();
    let chunks = values.chunks(BATCH_ROWS);
    chunks.map(|it| Vector::strings(Type::Varchar, text(it), None)).collect()
}

fn dictionary(base: &[&str], codes: &[u32]) -> Vec<Vector> {
    let values: Vec<Value> = base.iter().map(Value::text).collect();
    let base = Vector::from_values(Type::Varchar, &values);
    let base = Arc::new(base);
    let chunks = codes.chunks(BATCH_ROWS);
    chunks.map(|it| Vector::dictionary(it.to_vec().into(), Arc::clone(&base), None)).collect()
}

fn table(name: &str, columns: Vec<Vec<Vector>>) -> Result<Arc<MemoryTable>> {
    let fields = columns.iter().map(|it| Field::new("column", it[0].data_type().clone()));
    let schema = Schema::new(fields.collect());
    let batches = (0..columns[0].len()).map(|batch| {
        let columns: Vec<Vector> = columns.iter().map(|it| it[batch].clone()).collect();
        let rows = columns[0].len();
        Batch::new(columns, rows)
    });
    Ok(Arc::new(MemoryTable::new(name, schema, batches.collect(), &Pool::root("bench", None))?))
}

fn scan(table: &MemoryTable) -> Arc<PlanNode> {
    Arc::new(PlanNode::TableScan(TableScanNode {
        node_id: PlanNodeId::UNASSIGNED,
        dynamic_filters: Vec::new(),
        table: table.handle(),
        columns: (0..table.schema().len()).collect(),
        filters: vec![],
        schema: table.schema().clone(),
    }))
}

fn registry() -> Arc<Registry> {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    Arc::new(registry)
}

/// A partial and a final aggregation, with an exchange between.
fn aggregation(
    input: Arc<PlanNode>,
    keys: &[usize],
    functions: &[(&str, Option<usize>)],
) -> Result<Arc<PlanNode>> {
    let types: Vec<Type> = input.schema().types().cloned().collect();
    let registry = registry();
    let mut fields: Vec<Field> =
        keys.iter().map(|it| Field::new("key", types[*it].clone())).collect();
    let mut partial_fields = fields.clone();
    let (mut partial, mut last) = (Vec::new(), Vec::new());
    for (index, (function, arg)) in functions.iter().enumerate() {
        let arg_types: Vec<Type> = arg.iter().map(|it| types[*it].clone()).collect();
        let bound = registry.resolve_aggregate(function, &arg_types)?;
        fields.push(Field::new(*function, bound.result));
        partial_fields.push(Field::new(*function, bound.intermediate));
        let aggregate = Aggregate {
            function: (*function).to_owned(),
            args: arg.iter().copied().collect(),
            arg_types,
            distinct: false,
            merges: false,
            filter: None,
            order_by: vec![],
            place: volley_expression::SourceSpan::default(),
        };
        last.push(Aggregate { args: vec![keys.len() + index], ..aggregate.clone() });
        partial.push(aggregate);
    }
    let node = |input, step, keys, aggregates, fields| {
        let schema = Schema::new(fields);
        Arc::new(PlanNode::Aggregation(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input,
            step,
            keys,
            aggregates,
            schema,
        }))
    };
    let partial = node(input, AggregateStep::Partial, keys.to_vec(), partial, partial_fields);
    Ok(node(partial, AggregateStep::Final, (0..keys.len()).collect(), last, fields))
}

fn run(plan: &Arc<PlanNode>, tables: &Arc<Tables>, threads: usize) -> Result<(f64, usize)> {
    let executor = Executor::new(threads)?;
    let (mut best, mut rows) = (f64::MAX, 0);
    for _ in 0..RUNS {
        let start = Instant::now();
        let config = TaskConfig {
            plan: PlanNode::numbered(Arc::clone(plan)),
            tables: Arc::clone(tables) as _,
            sinks: Arc::new(NoSinks),
            registry: registry(),
            lowerings: Arc::new(volley_operators::registry()),
            query: Arc::default(),
            pool: Pool::root("bench", None),
            spill: SpillSpace::new(std::env::temp_dir(), None),
            drivers: threads,
            batch_rows: BATCH_ROWS,
            dynamic_filters: true,
            row_order: volley_exec::RowOrder::Any,
            spill_always: false,
            sizes: StateSizes::NORMAL,
            ports: TaskPorts::default(),
            priority: Priority::Normal,
        };
        let task = Task::start(config, &executor)?;
        rows = 0;
        while let Some(batch) = task.next()? {
            rows += batch.rows();
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok((best, rows))
}

/// Runs the plan on 1 and 2 threads and the loop, whose result is the expected number of rows.
fn compare(plan: &Arc<PlanNode>, tables: Tables, hand: impl Fn() -> usize) -> Result<()> {
    let tables = Arc::new(tables);
    let (one, rows) = run(plan, &tables, 1)?;
    let (two, _) = run(plan, &tables, 2)?;
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        assert_eq!(hand(), rows, "rows");
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("1 thread {one:.3} s   2 threads {two:.3} s   loop {best:.3} s");
    Ok(())
}

fn few_groups() -> Result<()> {
    let mut random = random(1);
    let flags: Vec<u32> = (0..ROWS).map(|_| (random() % 3) as u32).collect();
    let status: Vec<u32> = (0..ROWS).map(|_| (random() % 2) as u32).collect();
    let values: Vec<i64> = (0..ROWS).map(|_| (random() % 10_000) as i64).collect();
    let columns = vec![
        dictionary(&["A", "N", "R"], &flags),
        dictionary(&["F", "O"], &status),
        longs(&values),
    ];
    let input = table("t", columns)?;
    let functions = [
        ("sum", Some(2)),
        ("sum", Some(2)),
        ("avg", Some(2)),
        ("min", Some(2)),
        ("max", Some(2)),
        ("count", None),
    ];
    let plan = aggregation(scan(&input), &[0, 1], &functions)?;
    compare(&plan, Tables(vec![input]), || {
        let mut groups = [(0i128, 0i128, 0f64, i64::MAX, i64::MIN, 0i64); 6];
        for ((flag, status), value) in flags.iter().zip(&status).zip(&values) {
            let group = &mut groups[(flag * 2 + status) as usize];
            group.0 += i128::from(*value);
            group.1 += i128::from(*value);
            group.2 += *value as f64;
            group.3 = group.3.min(*value);
            group.4 = group.4.max(*value);
            group.5 += 1;
        }
        black_box(groups).len()
    })
}

fn sum_by_key(keys: Vec<i64>) -> Result<()> {
    let input = table("t", vec![longs(&keys), longs(&keys)])?;
    let plan = aggregation(scan(&input), &[0], &[("sum", Some(1)), ("count", None)])?;
    compare(&plan, Tables(vec![input]), || {
        let mut groups: HashMap<i64, (i128, i64), Hasher> = HashMap::default();
        for key in &keys {
            let group = groups.entry(*key).or_default();
            group.0 += i128::from(*key);
            group.1 += 1;
        }
        black_box(groups).len()
    })
}

fn random_groups() -> Result<()> {
    let mut random = random(2);
    sum_by_key((0..ROWS).map(|_| (random() % 1_000_000 * 1_000_003) as i64).collect())
}

fn clustered_groups() -> Result<()> {
    sum_by_key((0..ROWS).map(|row| (row / 4 * 4) as i64).collect())
}

fn string_groups() -> Result<()> {
    let mut random = random(3);
    let keys: Vec<String> =
        (0..ROWS / 3).map(|_| format!("Customer#{:09}", random() % 100_000)).collect();
    let input = table("t", vec![strings(&keys)])?;
    let plan = aggregation(scan(&input), &[0], &[("count", None)])?;
    compare(&plan, Tables(vec![input]), || {
        let mut groups: HashMap<&str, i64, Hasher> = HashMap::default();
        keys.iter().for_each(|it| *groups.entry(it).or_default() += 1);
        black_box(groups).len()
    })
}

fn join(stride: i64) -> Result<()> {
    let mut random = random(4);
    let build: Vec<i64> = (0..1_000_000).map(|it| it * stride).collect();
    let probe: Vec<i64> = (0..ROWS).map(|_| (random() % 1_250_000) as i64 * stride).collect();
    let (left, right) =
        (table("left", vec![longs(&probe)])?, table("right", vec![longs(&build), longs(&build)])?);
    let fields = ["key", "payload"].map(|it| Field::new(it, Type::BigInt));
    let joined = Arc::new(PlanNode::HashJoin(HashJoinNode {
        node_id: PlanNodeId::UNASSIGNED,
        dynamic_filters: Vec::new(),
        probe: scan(&left),
        build: scan(&right),
        kind: JoinKind::Inner,
        probe_keys: vec![0],
        build_keys: vec![0],
        nulls_equal: vec![false],
        filter: None,
        null_aware: false,
        output: vec![0, 2],
        schema: Schema::new(fields.to_vec()),
    }));
    let plan = aggregation(joined, &[], &[("sum", Some(1)), ("count", None)])?;
    compare(&plan, Tables(vec![left, right]), || {
        let rows: HashMap<i64, i64, Hasher> = build.iter().map(|it| (*it, *it)).collect();
        let sum: i128 = probe.iter().filter_map(|it| rows.get(it)).map(|it| i128::from(*it)).sum();
        black_box(sum);
        1
    })
}

fn dense_join() -> Result<()> {
    join(4)
}

fn sparse_join() -> Result<()> {
    join(1_000_003)
}
