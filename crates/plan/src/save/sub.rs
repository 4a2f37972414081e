//! Encoding of sub-operators. The columns follow from the inputs.

use super::codec::{Codec, PlanReader, PlanWriter};
use crate::sub::{
    Build, Histogram, Materialize, NestedMap, Parameter, Partition, PartitionFunction, Probe,
    RowScan, SubNode, SubOperator, Zip,
};
use volley_error::Result;
use volley_vector::save::corruption;

impl Codec for SubNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.inputs)?;
        to.put(&self.op)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SubNode> {
        let inputs = from.get()?;
        SubNode::new(from.get()?, inputs)
    }
}

impl Codec for SubOperator {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            SubOperator::Parameter(it) => {
                to.tagged(0, &it.map)?;
                to.put(&it.schema)
            }
            SubOperator::NestedMap(it) => to.tagged(1, &it.id),
            SubOperator::Zip(Zip) => to.tag(2),
            SubOperator::Histogram(it) => to.tagged(3, &it.function),
            SubOperator::Partition(it) => to.tagged(4, &it.function),
            SubOperator::Materialize(Materialize) => to.tag(5),
            SubOperator::RowScan(it) => to.tagged(6, &it.column),
            SubOperator::Build(it) => to.tagged(7, &it.keys),
            SubOperator::Probe(it) => to.tagged(8, &**it),
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SubOperator> {
        Ok(match from.bytes.byte()? {
            0 => SubOperator::Parameter(Parameter { map: from.get()?, schema: from.get()? }),
            1 => SubOperator::NestedMap(NestedMap { id: from.get()? }),
            2 => SubOperator::Zip(Zip),
            3 => SubOperator::Histogram(Histogram { function: from.get()? }),
            4 => SubOperator::Partition(Partition { function: from.get()? }),
            5 => SubOperator::Materialize(Materialize),
            6 => SubOperator::RowScan(RowScan { column: from.get()? }),
            7 => SubOperator::Build(Build { keys: from.get()? }),
            8 => SubOperator::Probe(Box::new(from.get()?)),
            _ => return Err(corruption("unknown sub-operator")),
        })
    }
}

impl Codec for Probe {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.kind)?;
        to.put(&self.keys)?;
        to.put(&self.nulls_equal)?;
        to.put(&self.filter)?;
        to.put(&self.null_aware)?;
        to.put(&self.output)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<Probe> {
        Ok(Probe {
            kind: from.get()?,
            keys: from.get()?,
            nulls_equal: from.get()?,
            filter: from.get()?,
            null_aware: from.get()?,
            output: from.get()?,
        })
    }
}

impl Codec for PartitionFunction {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        let PartitionFunction::Radix { keys, skipped_bits, bits } = self;
        to.put(keys)?;
        to.bytes.byte(*skipped_bits);
        to.bytes.byte(*bits);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<PartitionFunction> {
        let keys = from.get()?;
        let (skipped_bits, bits) = (from.bytes.byte()?, from.bytes.byte()?);
        Ok(PartitionFunction::Radix { keys, skipped_bits, bits })
    }
}
