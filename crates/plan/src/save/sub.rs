//! Encoding of sub-operators. The columns follow from the inputs.

use super::{
    codec::{Codec, PlanReader, PlanWriter},
    exchange::{read_routing, write_routing},
};
use crate::{
    PlanNode, Routing,
    sub::{
        Build, Histogram, Materialize, NestedMap, Parameter, Partition, PartitionFunction, Probe,
        RowScan, SubNode, SubOperator, Zip,
    },
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::Schema;
use volley_vector::save::corruption;

impl Codec for SubNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.inputs)?;
        write_operator(&self.op, first_schema(&self.inputs), to)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SubNode> {
        let inputs: Vec<Arc<PlanNode>> = from.get()?;
        let op = read_operator(first_schema(&inputs), from)?;
        SubNode::new(op, inputs)
    }
}

fn first_schema(inputs: &[Arc<PlanNode>]) -> Option<&Schema> {
    inputs.first().map(|it| it.schema())
}

/// Writes a sub-operator above an input with these columns.
fn write_operator(op: &SubOperator, input: Option<&Schema>, to: &mut PlanWriter) -> Result<()> {
    match op {
        SubOperator::Parameter(it) => {
            to.tagged(0, &it.map)?;
            to.put(&it.schema)
        }
        SubOperator::NestedMap(it) => to.tagged(1, &it.id),
        SubOperator::Zip(Zip) => to.tag(2),
        SubOperator::Histogram(it) => {
            to.tag(3)?;
            write_function(&it.function, input, to)
        }
        SubOperator::Partition(it) => {
            to.tag(4)?;
            write_function(&it.function, input, to)
        }
        SubOperator::Materialize(Materialize) => to.tag(5),
        SubOperator::RowScan(it) => to.tagged(6, &it.column),
        SubOperator::Build(it) => to.tagged(7, &it.keys),
        SubOperator::Probe(it) => to.tagged(8, &**it),
    }
}

/// Reads a sub-operator above an input with these columns.
fn read_operator(input: Option<&Schema>, from: &mut PlanReader<'_>) -> Result<SubOperator> {
    Ok(match from.bytes.byte()? {
        0 => SubOperator::Parameter(Parameter { map: from.get()?, schema: from.get()? }),
        1 => SubOperator::NestedMap(NestedMap { id: from.get()? }),
        2 => SubOperator::Zip(Zip),
        3 => SubOperator::Histogram(Histogram { function: read_function(input, from)? }),
        4 => SubOperator::Partition(Partition { function: read_function(input, from)? }),
        5 => SubOperator::Materialize(Materialize),
        6 => SubOperator::RowScan(RowScan { column: from.get()? }),
        7 => SubOperator::Build(Build { keys: from.get()? }),
        8 => SubOperator::Probe(Box::new(from.get()?)),
        _ => return Err(corruption("unknown sub-operator")),
    })
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

/// Writes a function of rows with these columns.
fn write_function(
    function: &PartitionFunction,
    input: Option<&Schema>,
    to: &mut PlanWriter,
) -> Result<()> {
    match function {
        PartitionFunction::Radix { keys, skipped_bits, bits } => {
            to.tagged(0, keys)?;
            to.bytes.byte(*skipped_bits);
            to.bytes.byte(*bits);
            Ok(())
        }
        PartitionFunction::Hash { keys, partitions } => {
            to.tagged(1, keys)?;
            to.put(partitions)
        }
        PartitionFunction::Range(range) => {
            to.tag(2)?;
            write_routing(&Routing::Range(range.clone()), input.ok_or_else(no_input)?, to)
        }
    }
}

/// Reads a function of rows with these columns.
fn read_function(input: Option<&Schema>, from: &mut PlanReader<'_>) -> Result<PartitionFunction> {
    Ok(match from.bytes.byte()? {
        0 => {
            let keys = from.get()?;
            let (skipped_bits, bits) = (from.bytes.byte()?, from.bytes.byte()?);
            PartitionFunction::Radix { keys, skipped_bits, bits }
        }
        1 => PartitionFunction::Hash { keys: from.get()?, partitions: from.get()? },
        2 => match read_routing(input.ok_or_else(no_input)?, from)? {
            Routing::Range(range) => PartitionFunction::Range(range),
            _ => return Err(corruption("partitions by another routing than ranges")),
        },
        _ => return Err(corruption("an unknown function of partitions")),
    })
}

fn no_input() -> Error {
    corruption("partitions without an input")
}
