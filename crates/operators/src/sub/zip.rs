//! Zip: pairs the tuples of equal partitions.

use super::{
    collect::{Collect, Collecting},
    collection::CollectedRows,
    sub_node,
};
use crate::registration::wrong_node;
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_exec::{
    BatchSink, BlockedOn, Inputs, Lowering, PipelineBuilder, SinkOperator, Step, StepContext,
};
use volley_plan::PlanNode;
use volley_state::{OnceValue, queue::Room};
use volley_types::Type;
use volley_vector::{Batch, Decoded, NullBuffer, Values, Vector};

/// The tuples of the right input, once all are known.
type RightTuples = Arc<OnceValue<Batch>>;

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let [left_input, right_input] = &node.inputs[..] else { return Err(wrong_node()) };
    let types = |it: &Arc<PlanNode>| it.schema().types().cloned().collect::<Vec<Type>>();
    let (left_types, right_types) = (types(left_input), types(right_input));
    let (left, right) = (inputs.take()?, inputs.take()?);
    let (mut left, mut right) = (cx.gather(left), cx.gather(right));
    let tuples: RightTuples = Arc::default();
    let made = Arc::clone(&tuples);
    cx.add(&mut right, "zip build", move |cx| {
        let rows = CollectedRows::new(right_types.clone(), &cx.pool);
        Ok(Box::new(SinkOperator::new(ZipBuild { rows, made: Arc::clone(&made) })))
    });
    cx.seal(right);
    cx.add(&mut left, "zip", move |cx| {
        let rows = CollectedRows::new(left_types.clone(), &cx.pool);
        let right = Arc::clone(&tuples);
        Ok(Box::new(Collecting::new(Zip { rows, right })))
    });
    Ok(left)
}

/// Collects the tuples of the right input.
struct ZipBuild {
    rows: CollectedRows,
    made: RightTuples,
}

impl BatchSink for ZipBuild {
    fn name(&self) -> &'static str {
        "zip build"
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        self.rows.push(batch)?;
        Ok(Room::Free)
    }

    fn finish(&mut self) -> Result<()> {
        let all = self.rows.take()?;
        self.made.set(all).map_err(|_| Error::internal("tuples that are complete twice"))
    }
}

/// Collects the tuples of the left input, then pairs.
struct Zip {
    rows: CollectedRows,
    right: RightTuples,
}

impl Collect for Zip {
    const NAME: &'static str = "zip";

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.rows.push(input)
    }

    fn output(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let Some(right) = self.right.wait(cx.waker).cloned() else {
            return Ok(Step::Blocked(BlockedOn::Build));
        };
        let left = self.rows.take()?;
        Ok(pairs(&left, &right)?.map_or(Step::Finished, Step::Output))
    }
}

/// The number, then the other columns of both.
fn pairs(left: &Batch, right: &Batch) -> Result<Option<Batch>> {
    let mut rows: BTreeMap<i64, (Option<u32>, Option<u32>)> = BTreeMap::new();
    for (row, number) in numbers(left)?.into_iter().enumerate() {
        if rows.entry(number).or_default().0.replace(row as u32).is_some() {
            return Err(twice(number));
        }
    }
    for (row, number) in numbers(right)?.into_iter().enumerate() {
        if rows.entry(number).or_default().1.replace(row as u32).is_some() {
            return Err(twice(number));
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let count = rows.len();
    let (of_left, of_right): (Vec<_>, Vec<_>) = rows.values().copied().unzip();
    let numbers: Vec<i64> = rows.into_keys().collect();
    let mut columns = vec![Vector::native::<i64>(Type::BigInt, numbers, None)];
    columns.extend(left.columns().iter().skip(1).map(|it| picked(it, &of_left)));
    columns.extend(right.columns().iter().skip(1).map(|it| picked(it, &of_right)));
    Ok(Some(Batch::new(columns, count)))
}

/// The first column. Nulls are no partition.
fn numbers(tuples: &Batch) -> Result<Vec<i64>> {
    let decoded = Decoded::new(tuples.column(0))?;
    let number = |row: usize| match (decoded.is_null(row), decoded.values()) {
        (false, Values::I64(values)) => Ok(values[decoded.index(row)]),
        _ => Err(Error::invalid_query("a partition without a number")),
    };
    (0..decoded.len()).map(number).collect()
}

fn picked(column: &Vector, rows: &[Option<u32>]) -> Vector {
    if column.is_empty() {
        return Vector::nulls(column.data_type().clone(), rows.len());
    }
    let nulls = NullBuffer::from_iter(rows.iter().map(Option::is_some));
    let positions: Vec<u32> = rows.iter().map(|it| it.unwrap_or(0)).collect();
    Vector::dictionary(positions.into(), Arc::new(column.clone()), Some(nulls))
}

fn twice(number: i64) -> Error {
    let error = Error::invalid_query(format!("partition {number} comes twice"));
    error.hint("the inputs of Zip have one row per partition")
}
