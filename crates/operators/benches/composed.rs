//! Operators against the same work composed of sub-operators, over the same rows.
//!
//! ```text
//! cargo bench -p volley-operators --bench composed    all cases, seconds of processors
//! composed CASE FORM [BITS]                           one run, for instruction counts
//! ```
//!
//! Forms: `operator`, `composed` (by the case's expansion), and `rows`, which only makes the rows.
//! One driver runs each. The ratio is the composed form's processor time over the operator's: of
//! medians. `join_large` and `groups_many` are the figures of the goal: partitions are for tables
//! beyond the caches. The other cases show what they cost where they are not needed.

use std::{hint::black_box, path::PathBuf, sync::Arc};
use volley_connector::{SinkFactory, Table, TableProvider, TableWriter};
use volley_error::{Error, Result};
use volley_exec::{Executor, Priority, RowOrder, Task, TaskConfig, TaskPorts};
use volley_function::Registry;
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{JoinKind, PlanBuilder, PlanNode, TableHandle, WriteTarget, expand::Expander};
use volley_state::StateSizes;
use volley_types::{Field, Schema, Type};
use volley_vector::{Batch, Vector};

const BATCH_ROWS: usize = 8192;
const RUNS: usize = 5;

/// A plan over rows, and the expansion that composes it.
struct Case {
    name: &'static str,
    expansion: &'static str,
    bits: u8,
    /// Rows of each input, and how many keys they have.
    inputs: &'static [(usize, u64)],
    plan: fn(&[PlanBuilder]) -> PlanBuilder,
}

const CASES: [Case; 4] = [
    Case {
        name: "join_large",
        expansion: "radix_joins",
        bits: 8,
        inputs: &[(8_000_000, 4_000_000), (4_000_000, 4_000_000)],
        plan: join,
    },
    Case {
        name: "join_small",
        expansion: "radix_joins",
        bits: 4,
        inputs: &[(8_000_000, 100_000), (100_000, 100_000)],
        plan: join,
    },
    Case {
        name: "groups_many",
        expansion: "partitioned_groups",
        bits: 8,
        inputs: &[(8_000_000, 4_000_000)],
        plan: groups,
    },
    Case {
        name: "groups_few",
        expansion: "partitioned_groups",
        bits: 4,
        inputs: &[(8_000_000, 1000)],
        plan: groups,
    },
];

fn join(inputs: &[PlanBuilder]) -> PlanBuilder {
    let [probe, build] = inputs else { return inputs[0].clone() };
    let joined = probe.clone().hash_join(JoinKind::Inner, build.clone(), &[("k0", "k1")]);
    joined.reduce(&[("rows", "count", &[]), ("total", "sum", &["v0"])])
}

fn groups(inputs: &[PlanBuilder]) -> PlanBuilder {
    let grouped = inputs[0].clone().reduce_by_key(&["k0"], &[("total", "sum", &["v0"])]);
    grouped.reduce(&[("rows", "count", &[]), ("sum", "sum", &["total"])])
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).filter(|it| !it.starts_with('-'));
    let (only, form) = (args.next(), args.next());
    let executor = Executor::new(1)?;
    for case in CASES.iter().filter(|it| only.as_deref().is_none_or(|only| only == it.name)) {
        let rows: Vec<Vec<Batch>> =
            (0..).zip(case.inputs).map(|(seed, it)| batches(seed, *it)).collect();
        if let Some(form) = &form {
            if form != "rows" {
                run(case, form == "composed", &rows, &executor)?;
            }
            black_box(&rows);
            continue;
        }
        let mut seconds = [Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            let mut found = Vec::new();
            for (is_composed, seconds) in [false, true].into_iter().zip(&mut seconds) {
                let (time, row) = run(case, is_composed, &rows, &executor)?;
                seconds.push(time);
                found.push(row);
            }
            if found[0] != found[1] {
                return Err(Error::internal(format!("other rows: {found:?}")));
            }
        }
        let [operator, composed] = seconds.map(median);
        let (name, ratio) = (case.name, composed / operator);
        println!("{name:<12} operator {operator:.3} s, composed {composed:.3} s, ratio {ratio:.3}");
    }
    Ok(())
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Rows of a key below `keys` in an order without a pattern, and a number.
fn batches(seed: u64, (rows, keys): (usize, u64)) -> Vec<Batch> {
    let key = |row: u64| {
        let mixed = (row ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mixed ^ mixed >> 29) * u128::from(keys)) >> 64) as i64
    };
    // Each key of the build side once.
    let key = |row: u64| if rows as u64 == keys { row as i64 * 7 % keys as i64 } else { key(row) };
    let batch = |first: usize| {
        let last = rows.min(first + BATCH_ROWS);
        let keys: Vec<i64> = (first..last).map(|it| key(it as u64)).collect();
        let numbers: Vec<i64> = (first..last).map(|it| it as i64).collect();
        let column = |it| Vector::native::<i64>(Type::BigInt, it, None);
        Batch::new(vec![column(keys), column(numbers)], last - first)
    };
    (0..rows).step_by(BATCH_ROWS).map(batch).collect()
}

/// Processor seconds of one run, and its only row.
fn run(
    case: &Case,
    is_composed: bool,
    rows: &[Vec<Batch>],
    executor: &Executor,
) -> Result<(f64, String)> {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    let registry = Arc::new(registry);
    let input = |number: usize| {
        let columns = [format!("k{number}"), format!("v{number}")];
        let schema: Schema = columns.map(|it| Field::new(it, Type::BigInt)).into_iter().collect();
        PlanBuilder::new(&registry).task_input(schema)
    };
    let inputs: Vec<PlanBuilder> = (0..rows.len()).map(input).collect();
    let mut plan = (case.plan)(&inputs).build()?;
    if is_composed {
        plan = Expander::new(vec![case.expansion.to_owned()], case.bits).expand(&plan)?;
        if !plan.to_string().contains("NestedMap") {
            return Err(Error::internal("a plan without a map"));
        }
    }
    let config = TaskConfig {
        plan: Arc::clone(&plan),
        tables: Arc::new(Nothing),
        sinks: Arc::new(Nothing),
        registry,
        lowerings: Arc::new(volley_operators::registry()),
        query: Arc::default(),
        pool: Pool::root("bench", None),
        spill: SpillSpace::new(std::env::temp_dir(), None),
        drivers: 1,
        batch_rows: BATCH_ROWS,
        dynamic_filters: false,
        row_order: RowOrder::Any,
        spill_always: false,
        sizes: StateSizes::NORMAL,
        ports: TaskPorts::default(),
        priority: Priority::Normal,
    };
    let before = processor_seconds();
    let task = Task::start(config, executor)?;
    for visit in plan.walk() {
        let PlanNode::TaskInput(node) = visit.node else { continue };
        let number = usize::from(node.schema.fields[0].name == "k1");
        let input = task.input(node.node_id)?;
        rows[number].iter().try_for_each(|it| input.push(it.clone()))?;
        input.finish();
    }
    let mut found = String::new();
    while let Some(batch) = task.next()? {
        for column in batch.columns() {
            found.push_str(&format!("{:?}", column.to_values()?));
        }
    }
    Ok((processor_seconds() - before, found))
}

/// Processor time of all threads of this process.
fn processor_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    threads.filter_map(|it| nanos(it.path())).sum::<u64>() as f64 / 1e9
}

struct Nothing;

impl TableProvider for Nothing {
    fn table(&self, _: &TableHandle) -> Result<Arc<dyn Table>> {
        Err(Error::invalid_query("no tables"))
    }
}

impl SinkFactory for Nothing {
    fn writer(&self, _: &WriteTarget, _: &Schema) -> Result<Arc<dyn TableWriter>> {
        Err(Error::invalid_query("no sinks"))
    }
}
