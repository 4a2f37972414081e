//! Partition and Histogram: rows by their keys.
//!
//! ```text
//! radix          bits of the hash of the keys
//! hash, range    the lane that an exchange between as many tasks would choose
//! ```

use super::{
    collect::{Collect, Collecting},
    collection::{CollectedRows, collections},
    sub_node,
};
use crate::{page_sink::range_bounds, registration::wrong_node};
use std::sync::Arc;
use volley_error::Result;
use volley_exchange::{LaneFunction, Partitioning};
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
        let (schema, numbers) = (schema.clone(), PartitionNumbers::new(&function, &schema)?);
        Ok(Box::new(Collecting::new(Partition { schema, numbers, rows })))
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
    let schema = sub_node(node)?.inputs.first().ok_or_else(wrong_node)?.schema().clone();
    let input = inputs.take()?;
    let mut input = cx.gather(input);
    cx.add(&mut input, "histogram", move |_| {
        let numbers = PartitionNumbers::new(&function, &schema)?;
        let (counts, partitions) = (vec![0; function.partitions()], Vec::new());
        Ok(Box::new(Collecting::new(Histogram { numbers, counts, partitions })))
    });
    Ok(input)
}

/// Computes the partitions of rows.
enum PartitionNumbers {
    Radix { keys: Vec<usize>, skipped_bits: u8, bits: u8, hashes: Vec<u64> },
    Lanes(LaneFunction),
}

impl PartitionNumbers {
    fn new(function: &PartitionFunction, input: &Schema) -> Result<PartitionNumbers> {
        let lanes = |partitioning| {
            PartitionNumbers::Lanes(LaneFunction::new(partitioning, function.partitions()))
        };
        Ok(match function {
            PartitionFunction::Radix { keys, skipped_bits, bits } => PartitionNumbers::Radix {
                keys: keys.clone(),
                skipped_bits: *skipped_bits,
                bits: *bits,
                hashes: Vec::new(),
            },
            PartitionFunction::Hash { keys, .. } => lanes(Partitioning::Hash(keys.clone())),
            PartitionFunction::Range(range) => {
                let types: Vec<Type> = input.types().cloned().collect();
                lanes(Partitioning::Range(Arc::new(range_bounds(range, &types)?)))
            }
        })
    }

    /// Appends the partition of each row of a loaded batch.
    fn append(&mut self, batch: &Batch, out: &mut Vec<u32>) -> Result<()> {
        match self {
            PartitionNumbers::Radix { keys, skipped_bits, bits, hashes } => {
                let function = RadixFunction { keys, skipped_bits: *skipped_bits, bits: *bits };
                function.append(batch, hashes, out)
            }
            PartitionNumbers::Lanes(lanes) => lanes.append(batch, out),
        }
    }

    /// The order of rows by partition.
    fn sort(&mut self, batches: &[Batch]) -> Result<RadixSort> {
        match self {
            PartitionNumbers::Radix { keys, skipped_bits, bits, .. } => {
                let function = RadixFunction { keys, skipped_bits: *skipped_bits, bits: *bits };
                RadixSort::new(&function, batches)
            }
            PartitionNumbers::Lanes(lanes) => {
                let (count, mut partitions) = (lanes.lanes(), Vec::new());
                batches.iter().try_for_each(|it| lanes.append(it, &mut partitions))?;
                Ok(RadixSort::of_partitions(partitions, count))
            }
        }
    }
}

/// Collects rows by partition.
struct Partition {
    schema: Schema,
    numbers: PartitionNumbers,
    rows: CollectedRows,
}

impl Partition {
    /// One tuple per partition with rows: a counting sort of the rows.
    fn tuples(&mut self) -> Result<Option<Batch>> {
        let sort = self.numbers.sort(self.rows.batches()?)?;
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
    numbers: PartitionNumbers,
    counts: Vec<i64>,
    partitions: Vec<u32>,
}

impl Collect for Histogram {
    const NAME: &'static str = "histogram";

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.partitions.clear();
        let input = input.loaded()?;
        self.numbers.append(&input, &mut self.partitions)?;
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
