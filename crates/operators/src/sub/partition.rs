//! Partition and Histogram: rows by bits of the hash of their keys.

use super::{
    collect::{Collect, Collecting},
    collection::{CollectedRows, collections},
    sub_node,
};
use crate::registration::wrong_node;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder, Step, StepContext};
use volley_plan::{
    PlanNode,
    sub::{PartitionFunction, SubOperator},
};
use volley_state::partition::{RadixFunction, RadixSort};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let node = sub_node(node)?;
    let SubOperator::Partition(partition) = &node.op else { return Err(wrong_node()) };
    let schema = node.inputs.first().ok_or_else(wrong_node)?.schema().clone();
    let function = partition.function.clone();
    let input = inputs.take()?;
    let mut input = cx.gather(input);
    cx.add(&mut input, "partition", move |cx| {
        let rows = CollectedRows::new(schema.types().cloned().collect(), &cx.pool);
        let (schema, function) = (schema.clone(), function.clone());
        Ok(Box::new(Collecting::new(Partition { schema, function, rows })))
    });
    Ok(input)
}

pub(crate) fn lower_histogram(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let SubOperator::Histogram(histogram) = &sub_node(node)?.op else { return Err(wrong_node()) };
    let function = histogram.function.clone();
    let input = inputs.take()?;
    let mut input = cx.gather(input);
    cx.add(&mut input, "histogram", move |_| {
        let counts = vec![0; function.partitions()];
        let (partitions, hashes, function) = (Vec::new(), Vec::new(), function.clone());
        Ok(Box::new(Collecting::new(Histogram { function, counts, partitions, hashes })))
    });
    Ok(input)
}

fn radix(function: &PartitionFunction) -> RadixFunction<'_> {
    let PartitionFunction::Radix { keys, skipped_bits, bits } = function;
    RadixFunction { keys, skipped_bits: *skipped_bits, bits: *bits }
}

/// Collects rows by partition.
struct Partition {
    schema: Schema,
    function: PartitionFunction,
    rows: CollectedRows,
}

impl Partition {
    /// One tuple per partition with rows: a counting sort of the rows.
    fn tuples(&mut self) -> Result<Option<Batch>> {
        let sort = RadixSort::new(&radix(&self.function), self.rows.batches()?)?;
        let types: Vec<Type> = self.schema.types().cloned().collect();
        let sorted = match sort.scattered(&types, self.rows.batches()?)? {
            Some(sorted) => {
                self.rows.replace(&sorted)?;
                sorted
            }
            None => sort.gathered(&self.rows.take()?)?,
        };
        let (numbers, ranges): (Vec<i64>, Vec<_>) =
            (0..).zip(sort.ranges()).filter(|it| !it.1.is_empty()).unzip();
        if numbers.is_empty() {
            return Ok(None);
        }
        let rows = numbers.len();
        let collections = collections(sorted, &self.schema, &ranges);
        let numbers = Vector::native::<i64>(Type::BigInt, numbers, None);
        Ok(Some(Batch::new(vec![numbers, collections], rows)))
    }
}

impl Collect for Partition {
    const NAME: &'static str = "partition";

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.rows.push(input)
    }

    fn output(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(self.tuples()?.map_or(Step::Finished, Step::Output))
    }
}

/// Counts rows by partition.
struct Histogram {
    function: PartitionFunction,
    counts: Vec<i64>,
    partitions: Vec<u32>,
    hashes: Vec<u64>,
}

impl Collect for Histogram {
    const NAME: &'static str = "histogram";

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.partitions.clear();
        let input = input.loaded()?;
        radix(&self.function).append(&input, &mut self.hashes, &mut self.partitions)?;
        self.partitions.iter().for_each(|it| self.counts[*it as usize] += 1);
        Ok(())
    }

    fn output(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let counted = self.counts.iter().enumerate().filter(|it| *it.1 > 0);
        let (numbers, counts): (Vec<i64>, Vec<i64>) =
            counted.map(|(number, count)| (number as i64, *count)).unzip();
        let rows = numbers.len();
        if rows == 0 {
            return Ok(Step::Finished);
        }
        let column = |it| Vector::native::<i64>(Type::BigInt, it, None);
        Ok(Step::Output(Batch::new(vec![column(numbers), column(counts)], rows)))
    }
}
