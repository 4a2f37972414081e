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
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector, hash_columns};

/// An odd number: the multiplier of hashes of partitions, another one than those of exchanges.
const PARTITION_MIX: u64 = 0x9e37_79b9_7f4a_7c15;

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
        Ok(Box::new(Collecting::new(Histogram { function: function.clone(), counts })))
    });
    Ok(input)
}

/// Calls `f` with the partition of each row.
fn for_each_partition(
    function: &PartitionFunction,
    batch: &Batch,
    mut f: impl FnMut(usize),
) -> Result<()> {
    let PartitionFunction::Radix { keys, skipped_bits, bits } = function;
    let keys: Vec<Vector> = keys.iter().map(|it| batch.column(*it).clone()).collect();
    let mut hashes = vec![0; batch.rows()];
    hash_columns(&keys, &mut hashes)?;
    let dropped = u64::BITS - u32::from(*bits);
    for hash in hashes {
        let mixed = hash.wrapping_mul(PARTITION_MIX).wrapping_shl(u32::from(*skipped_bits));
        f(mixed.checked_shr(dropped).unwrap_or(0) as usize);
    }
    Ok(())
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
        let all = self.rows.take()?;
        let mut partitions = Vec::with_capacity(all.rows());
        for_each_partition(&self.function, &all, |it| partitions.push(it as u32))?;
        let mut ends = vec![0_usize; self.function.partitions()];
        partitions.iter().for_each(|it| ends[*it as usize] += 1);
        let mut start = 0;
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let mut order = vec![0_u32; partitions.len()];
        for (row, partition) in partitions.iter().enumerate() {
            let place = &mut ends[*partition as usize];
            order[*place] = row as u32;
            *place += 1;
        }
        let sorted = all.gather(&order)?;
        let (mut numbers, mut ranges, mut start) = (Vec::new(), Vec::new(), 0);
        for (number, end) in ends.into_iter().enumerate() {
            if end > start {
                numbers.push(number as i64);
                ranges.push(start..end);
            }
            start = end;
        }
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
}

impl Collect for Histogram {
    const NAME: &'static str = "histogram";

    fn accept(&mut self, input: Batch) -> Result<()> {
        let counts = &mut self.counts;
        for_each_partition(&self.function, &input.loaded()?, |it| counts[it] += 1)
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
