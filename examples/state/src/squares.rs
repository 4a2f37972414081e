//! A plan node, its operator and a task that runs it, without any operator of Volley.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use volley_connector::{SinkFactory, Table, TableProvider, TableWriter};
use volley_error::{Error, Result};
use volley_exec::{
    Executor, Lowering, LoweringRegistry, Operator, PipelineBuilder, Priority, Step, StepContext,
    Task, TaskConfig, TaskPorts,
};
use volley_function::{QueryConstants, Registry};
use volley_memory::{Pool, spill::SpillSpace};
use volley_plan::{CustomNode, CustomPlanNode, PlanNode, TableHandle, WriteTarget};
use volley_state::StateSizes;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// How many numbers a driver takes at once.
const BATCH_ROWS: i64 = 4;

/// The squares of `0..end`.
#[derive(Debug)]
struct Squares {
    end: i64,
}

impl CustomNode for Squares {
    fn name(&self) -> &str {
        "Squares"
    }

    fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        if !inputs.is_empty() {
            return Err(Error::invalid_query("Squares has no inputs"));
        }
        Ok(Schema::new(vec![Field::new("square", Type::BigInt)]))
    }

    fn details(&self) -> String {
        format!("end={}", self.end)
    }
}

/// A source. All drivers take numbers from one counter.
struct SquaresSource {
    next: Arc<AtomicI64>,
    end: i64,
}

impl SquaresSource {
    fn take(&self) -> Range<i64> {
        let start = self.next.fetch_add(BATCH_ROWS, Ordering::Relaxed).min(self.end);
        start..start.saturating_add(BATCH_ROWS).min(self.end)
    }
}

impl Operator for SquaresSource {
    fn name(&self) -> &'static str {
        "squares"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let numbers = self.take();
        if numbers.is_empty() {
            return Ok(Step::Finished);
        }
        let squares: Vec<i64> = numbers.map(|it| it.wrapping_mul(it)).collect();
        let rows = squares.len();
        let column = Vector::native::<i64>(Type::BigInt, squares, None);
        Ok(Step::Output(Batch::new(vec![column], rows)))
    }
}

/// Opens a pipeline with one source per driver.
fn lower(
    node: &CustomPlanNode,
    _inputs: Vec<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let squares: &Squares = node.downcast()?;
    let end = squares.end;
    let next = Arc::new(AtomicI64::new(0));
    let drivers = cx.task().drivers;
    Ok(cx.source("squares", drivers, move |_| {
        Ok(Box::new(SquaresSource { next: Arc::clone(&next), end }))
    }))
}

/// Neither tables nor files.
struct Nothing;

impl TableProvider for Nothing {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        Err(Error::invalid_query(format!("no such table: {}", handle.table)))
    }
}

impl SinkFactory for Nothing {
    fn writer(&self, _: &WriteTarget, _: &Schema) -> Result<Arc<dyn TableWriter>> {
        Err(Error::unsupported("writing"))
    }
}

/// Runs the node with two drivers; the squares of `0..end` in ascending order.
pub fn run(end: i64) -> Result<Vec<i64>> {
    let node = CustomPlanNode::new(Arc::new(Squares { end }), Vec::new())?;
    run_plan(PlanNode::numbered(Arc::new(PlanNode::Custom(node))))
}

fn run_plan(plan: Arc<PlanNode>) -> Result<Vec<i64>> {
    let mut lowerings = LoweringRegistry::default();
    lowerings.add("Squares", lower)?;
    let config = TaskConfig {
        plan,
        tables: Arc::new(Nothing),
        sinks: Arc::new(Nothing),
        registry: Arc::new(Registry::new()),
        lowerings: Arc::new(lowerings),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("squares", Some(1 << 20)),
        spill: SpillSpace::new(std::env::temp_dir(), None),
        drivers: 2,
        batch_rows: 1024,
        dynamic_filters: false,
        row_order: volley_exec::RowOrder::Any,
        spill_always: false,
        sizes: StateSizes::NORMAL,
        ports: TaskPorts::default(),
        priority: Priority::Normal,
    };
    let executor = Executor::new(2)?;
    let task = Task::start(config, &executor)?;
    let mut squares = Vec::new();
    while let Some(batch) = task.next()? {
        let values = batch.column(0).to_values()?;
        squares.extend(values.iter().filter_map(|it| match it {
            Value::BigInt(square) => Some(*square),
            _ => None,
        }));
    }
    squares.sort_unstable();
    Ok(squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_plan::PlanBuilder;

    #[test]
    fn the_operator_runs_without_operators_of_the_engine() {
        for end in [0, 1, 3, 1025] {
            assert_eq!(run(end).unwrap(), (0..end).map(|it| it * it).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_node_of_the_engine_has_no_operator_here() {
        let registry = Arc::new(Registry::new());
        let rows = vec![vec![Value::BigInt(1)]];
        let values = PlanBuilder::new(&registry).values(&[("n", Type::BigInt)], rows);
        let error = run_plan(values.build().unwrap()).unwrap_err().to_string();
        assert!(error.contains("no operator for the plan node Values"), "{error}");
    }
}
