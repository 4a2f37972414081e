//! The join of two relations of 16-byte tuples over MPI windows, composed of sub-operators:
//! `mpirun -n 2 radix_join TUPLES_PER_SIDE [REPETITIONS] [BITS]`.
//!
//! ```text
//! histogram   WindowHistogram of each side; exclusive scan and sum over ranks; windows
//! network     WindowWriter: each tuple into the window of its rank
//! local       Partition radix(key, BITS) of each side's window
//! join        NestedMap(Zip(partitions), Probe(RowScan, Build(RowScan)))
//! ```
//!
//! The tuples and the lines of JSON are those of `bench/mpi/radix_join.c`, which does the same by
//! hand; `bench/mpi/run.py` compares them. The sum of all payloads is checked.

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use volley_connector::{SinkFactory, Table, TableProvider, TableWriter};
use volley_error::{Error, Result};
use volley_exchange::{Partitioning, WindowHistogram, WindowPort};
use volley_exec::{
    BatchSink, Executor, Operator, OperatorContext, Priority, RowOrder, SinkOperator, Task,
    TaskConfig, TaskOutput, TaskPorts,
};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{
    JoinKind, PlanBuilder, PlanNode, TableHandle, WriteTarget, sub::collection_type,
};
use volley_platform_mpi::{Messenger, MpiMessenger};
use volley_state::{StateSizes, queue::Room};
use volley_types::{Field, Schema, Type};
use volley_vector::{Batch, Decoded, Vector};

/// Rows of a batch within a task.
const BATCH_ROWS: usize = 8192;

/// Rows of a batch of the generated relations.
const INPUT_ROWS: usize = 1 << 16;

const PHASES: [&str; 4] = ["histogram", "network", "local", "join"];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            // Not MPI_Finalize: the launcher ends the other ranks.
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let number = |position: usize, default: Option<u64>| match std::env::args().nth(position) {
        Some(text) => text.parse().map_err(|_| usage()),
        None => default.ok_or_else(usage),
    };
    let (total, repetitions, bits) = (number(1, None)?, number(2, Some(3))?, number(3, Some(10))?);
    let bits = u8::try_from(bits).map_err(|_| usage())?;
    let messenger = MpiMessenger::join()?;
    let mut port = messenger.windows();
    let executor = Executor::new(1)?;
    for repetition in 0..repetitions {
        let mut join = Join::new(&mut port, &executor, total, bits)?;
        let pairs = join.run()?;
        join.report(repetition, pairs)?;
    }
    Box::new(messenger).finish()
}

fn usage() -> Error {
    Error::invalid_value("usage: radix_join TUPLES_PER_SIDE [REPETITIONS] [BITS]")
}

/// One run.
struct Join<'a> {
    port: &'a mut dyn WindowPort,
    executor: &'a Executor,
    total: u64,
    bits: u8,
    steps: [u64; 2],
    /// Seconds by phase, of the slowest rank, and of all ranks' processors.
    seconds: Vec<(f64, f64)>,
    begin: (Instant, u64),
}

impl<'a> Join<'a> {
    fn new(
        port: &'a mut dyn WindowPort,
        executor: &'a Executor,
        total: u64,
        bits: u8,
    ) -> Result<Join<'a>> {
        let steps = [step_near(0x9e37_79b9_7f4a, total), step_near(0xc2b2_ae3d_27d4, total)];
        let begin = (Instant::now(), 0);
        Ok(Join { port, executor, total, bits, steps, seconds: Vec::new(), begin })
    }

    /// The number of pairs of this rank, and the sum of their payloads.
    fn run(&mut self) -> Result<[u64; 2]> {
        let sides = self.steps.map(|step| self.generate(step));
        let types = [Type::BigInt, Type::BigInt];
        self.port.scan(&[0])?;
        self.begin = (Instant::now(), processor_nanos());
        let mut writers = Vec::new();
        for side in &sides {
            let by_key = Partitioning::Hash(vec![0]);
            let mut counted = WindowHistogram::new(by_key, &types, self.port.ranks())?;
            side.iter().try_for_each(|it| counted.add(it))?;
            writers.push(counted.open(self.port)?);
        }
        self.end_phase()?;
        for (writer, side) in writers.iter_mut().zip(&sides) {
            side.iter().try_for_each(|it| writer.write(it))?;
        }
        let windows = writers.into_iter().map(|it| it.finish()).collect::<Result<Vec<_>>>()?;
        self.end_phase()?;
        let mut partitions = Vec::new();
        for window in &windows {
            partitions.push(self.partition(window)?);
        }
        self.end_phase()?;
        let pairs = self.join(partitions)?;
        self.end_phase()?;
        Ok(pairs)
    }

    /// This rank's tuples of a side: keys of a permutation of 0 .. total - 1.
    fn generate(&self, step: u64) -> Vec<Batch> {
        let (rank, ranks) = (self.port.rank() as u64, self.port.ranks() as u64);
        let (begin, end) = (self.total * rank / ranks, self.total * (rank + 1) / ranks);
        let key = |it: u64| (u128::from(it) * u128::from(step) % u128::from(self.total)) as i64;
        let batch = |first: u64| {
            let last = end.min(first + INPUT_ROWS as u64);
            let keys: Vec<i64> = (first..last).map(key).collect();
            let payloads: Vec<i64> = keys.iter().map(|it| it + step as i64).collect();
            let rows = keys.len();
            let column = |it| Vector::native::<i64>(Type::BigInt, it, None);
            Batch::new(vec![column(keys), column(payloads)], rows)
        };
        (begin..end).step_by(INPUT_ROWS).map(batch).collect()
    }

    fn partition(&self, window: &Batch) -> Result<Vec<Batch>> {
        let plan = self.rows().radix_partition(&["key"], 0..self.bits);
        let plan = plan.build()?;
        let task = self.start(&plan, TaskPorts::default())?;
        feed(&task, &plan, "key", std::slice::from_ref(window))?;
        let mut tuples = Vec::new();
        while let Some(batch) = task.next()? {
            tuples.push(batch);
        }
        Ok(tuples)
    }

    fn join(&self, partitions: Vec<Vec<Batch>>) -> Result<[u64; 2]> {
        let side = |name: &str| {
            let fields = [
                Field::new(format!("{name}_pid"), Type::BigInt),
                Field::new(name, collection_type(&schema())),
            ];
            PlanBuilder::new(&Arc::default()).task_input(fields.into_iter().collect())
        };
        let plan = side("probe").zip(side("build")).nested_map(1, |tuple| {
            let table = tuple.clone().row_scan("build").build_table(&["key"]);
            tuple.row_scan("probe").probe_columns(JoinKind::Inner, &["key"], table, &["#1", "#3"])
        });
        let pairs = Arc::new(Pairs::default());
        let output: Arc<dyn TaskOutput> = Arc::new(PairOutput(Arc::clone(&pairs)));
        let plan = plan.build()?;
        let task = self.start(&plan, TaskPorts { output: Some(output), ..TaskPorts::default() })?;
        for (name, tuples) in ["probe_pid", "build_pid"].into_iter().zip(partitions) {
            feed(&task, &plan, name, &tuples)?;
        }
        task.wait()?;
        Ok([pairs.count.load(Ordering::Relaxed), pairs.sum.load(Ordering::Relaxed)])
    }

    fn rows(&self) -> PlanBuilder {
        PlanBuilder::new(&Arc::default()).task_input(schema())
    }

    fn start(&self, plan: &Arc<PlanNode>, ports: TaskPorts) -> Result<Task> {
        let config = TaskConfig {
            plan: Arc::clone(plan),
            tables: Arc::new(Nothing),
            sinks: Arc::new(Nothing),
            registry: Arc::new(Registry::new()),
            lowerings: Arc::new(volley_operators::registry()),
            query: Arc::new(QueryConstants::default()),
            pool: Pool::root("join", None),
            spill: SpillSpace::new(std::env::temp_dir(), None),
            drivers: 1,
            batch_rows: BATCH_ROWS,
            dynamic_filters: false,
            row_order: RowOrder::Any,
            spill_always: false,
            sizes: StateSizes::NORMAL,
            ports,
            priority: Priority::Normal,
        };
        Task::start(config, self.executor)
    }

    /// Notes the time of a phase that has ended in this rank; waits for the others.
    fn end_phase(&mut self) -> Result<()> {
        let (begin, nanos) = self.begin;
        let own = [begin.elapsed().as_nanos() as u64, processor_nanos() - nanos];
        let mut all = vec![0; 2 * self.port.ranks()];
        all[2 * self.port.rank()..][..2].copy_from_slice(&own);
        let all = self.port.scan(&all)?.total;
        let slowest = all.iter().step_by(2).max().copied().unwrap_or(0);
        let processor: u64 = all.iter().skip(1).step_by(2).sum();
        self.seconds.push((slowest as f64 / 1e9, processor as f64 / 1e9));
        self.begin = (Instant::now(), processor_nanos());
        Ok(())
    }

    fn report(&mut self, repetition: u64, pairs: [u64; 2]) -> Result<()> {
        let all = self.port.scan(&pairs)?.total;
        let total = u128::from(self.total);
        let steps = u128::from(self.steps[0]) + u128::from(self.steps[1]);
        let expected = total * (total - 1) + total * steps;
        if all != [self.total, expected as u64] {
            return Err(Error::internal(format!("wrong result: {all:?}")));
        }
        if self.port.rank() > 0 {
            return Ok(());
        }
        let (ranks, tuples) = (self.port.ranks(), self.total);
        let mut line = format!(
            "{{\"program\": \"volley\", \"ranks\": {ranks}, \"tuples\": {tuples}, \
             \"repetition\": {repetition}, \"bits\": {}",
            self.bits
        );
        for (name, (wall, processor)) in PHASES.iter().zip(&self.seconds) {
            line.push_str(&format!(", \"{name}\": {wall:.6}, \"{name}_cpu\": {processor:.6}"));
        }
        let (wall, processor) =
            self.seconds.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        println!("{line}, \"seconds\": {wall:.6}, \"cpu\": {processor:.6}}}");
        Ok(())
    }
}

/// Gives batches to the input of a task whose first column is `first`.
fn feed(task: &Task, plan: &PlanNode, first: &str, batches: &[Batch]) -> Result<()> {
    let input = plan.walk().into_iter().find_map(|it| match it.node {
        PlanNode::TaskInput(node) if node.schema.fields[0].name == first => Some(node.node_id),
        _ => None,
    });
    let input = task.input(input.ok_or_else(|| Error::internal("a lost input"))?)?;
    batches.iter().try_for_each(|it| input.push(it.clone()))?;
    input.finish();
    Ok(())
}

fn schema() -> Schema {
    [Field::new("key", Type::BigInt), Field::new("payload", Type::BigInt)].into_iter().collect()
}

/// Processor time of all threads of this process.
fn processor_nanos() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanos = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    threads.filter_map(|it| nanos(it.path())).sum()
}

/// A step near `wanted` that visits every number below `total`.
fn step_near(wanted: u64, total: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut step = wanted % total | 1;
    while divisor(step, total) != 1 {
        step += 2;
    }
    step
}

/// Counts pairs and adds their payloads.
#[derive(Default)]
struct Pairs {
    count: AtomicU64,
    sum: AtomicU64,
}

struct PairOutput(Arc<Pairs>);

struct PairSink(Arc<Pairs>);

impl TaskOutput for PairOutput {
    fn name(&self) -> &'static str {
        "pairs"
    }

    fn open(&self, _types: &[Type], _drivers: usize, _pool: &Pool) -> Result<()> {
        Ok(())
    }

    fn sink(&self, _cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        Ok(Box::new(SinkOperator::new(PairSink(Arc::clone(&self.0)))))
    }

    fn close(&self, _outcome: Result<()>) {}
}

impl BatchSink for PairSink {
    fn name(&self) -> &'static str {
        "pairs"
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        let mut sum = 0u64;
        for column in batch.columns() {
            let decoded = Decoded::new(column)?;
            let values = decoded.native::<i64>();
            let added = match decoded.indices() {
                volley_vector::Indices::Identity => {
                    values.iter().fold(0u64, |sum, it| sum.wrapping_add(*it as u64))
                }
                _ => (0..decoded.len())
                    .fold(0u64, |sum, row| sum.wrapping_add(values[decoded.index(row)] as u64)),
            };
            sum = sum.wrapping_add(added);
        }
        self.0.count.fetch_add(batch.rows() as u64, Ordering::Relaxed);
        self.0.sum.fetch_add(sum, Ordering::Relaxed);
        Ok(Room::Free)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
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
