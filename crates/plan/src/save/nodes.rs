//! Encoding of nodes.

use super::form::{Form, PlanReader, PlanWriter};
use crate::PlanNode;
use crate::nodes::*;
use volley_error::{Error, Result};
use volley_types::{Schema, Value};
use volley_vector::save::corruption;

/// The number of the variant, and the node.
impl Form for PlanNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            PlanNode::TableScan(node) => to.tagged(0, node),
            PlanNode::Values(node) => to.tagged(1, node),
            PlanNode::Filter(node) => to.tagged(2, node),
            PlanNode::Project(node) => to.tagged(3, node),
            PlanNode::Aggregation(node) => to.tagged(4, node),
            PlanNode::GroupId(node) => to.tagged(5, node),
            PlanNode::Window(node) => to.tagged(6, node),
            PlanNode::HashJoin(node) => to.tagged(7, node),
            PlanNode::NestedLoopJoin(node) => to.tagged(8, node),
            PlanNode::AsofJoin(node) => to.tagged(9, node),
            PlanNode::MergeJoin(node) => to.tagged(10, node),
            PlanNode::OrderBy(node) => to.tagged(11, node),
            PlanNode::TopN(node) => to.tagged(12, node),
            PlanNode::Limit(node) => to.tagged(13, node),
            PlanNode::GroupLimit(node) => to.tagged(14, node),
            PlanNode::Repeat(node) => to.tagged(15, node),
            PlanNode::Unnest(node) => to.tagged(16, node),
            PlanNode::Sample(node) => to.tagged(17, node),
            PlanNode::Union(node) => to.tagged(18, node),
            PlanNode::UniqueId(node) => to.tagged(19, node),
            PlanNode::EnforceSingleRow(node) => to.tagged(20, node),
            PlanNode::LocalExchange(node) => to.tagged(21, node),
            PlanNode::Shared(node) => to.tagged(22, node),
            PlanNode::RecursiveUnion(node) => to.tagged(23, node),
            PlanNode::WorkingTable(node) => to.tagged(24, node),
            PlanNode::TableWrite(node) => to.tagged(25, node),
            PlanNode::Custom(node) => to.tagged(26, node),
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<PlanNode> {
        Ok(match from.bytes.byte()? {
            0 => PlanNode::TableScan(from.get()?),
            1 => PlanNode::Values(from.get()?),
            2 => PlanNode::Filter(from.get()?),
            3 => PlanNode::Project(from.get()?),
            4 => PlanNode::Aggregation(from.get()?),
            5 => PlanNode::GroupId(from.get()?),
            6 => PlanNode::Window(from.get()?),
            7 => PlanNode::HashJoin(from.get()?),
            8 => PlanNode::NestedLoopJoin(from.get()?),
            9 => PlanNode::AsofJoin(from.get()?),
            10 => PlanNode::MergeJoin(from.get()?),
            11 => PlanNode::OrderBy(from.get()?),
            12 => PlanNode::TopN(from.get()?),
            13 => PlanNode::Limit(from.get()?),
            14 => PlanNode::GroupLimit(from.get()?),
            15 => PlanNode::Repeat(from.get()?),
            16 => PlanNode::Unnest(from.get()?),
            17 => PlanNode::Sample(from.get()?),
            18 => PlanNode::Union(from.get()?),
            19 => PlanNode::UniqueId(from.get()?),
            20 => PlanNode::EnforceSingleRow(from.get()?),
            21 => PlanNode::LocalExchange(from.get()?),
            22 => PlanNode::Shared(from.get()?),
            23 => PlanNode::RecursiveUnion(from.get()?),
            24 => PlanNode::WorkingTable(from.get()?),
            25 => PlanNode::TableWrite(from.get()?),
            26 => PlanNode::Custom(from.get()?),
            _ => return Err(corruption("unknown plan node")),
        })
    }
}

impl Form for TableScanNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.table)?;
        to.put(&self.columns)?;
        to.put(&self.filters)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TableScanNode> {
        Ok(TableScanNode {
            table: from.get()?,
            columns: from.get()?,
            filters: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Form for FilterNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.predicate)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<FilterNode> {
        Ok(FilterNode { input: from.get()?, predicate: from.get()? })
    }
}

impl Form for ProjectNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.exprs)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<ProjectNode> {
        Ok(ProjectNode { input: from.get()?, exprs: from.get()?, schema: from.get()? })
    }
}

impl Form for RepeatNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<RepeatNode> {
        Ok(RepeatNode { input: from.get()?, schema: from.get()? })
    }
}

impl Form for UnnestNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.replicated)?;
        to.put(&self.generators)?;
        to.put(&self.ordinality)?;
        to.put(&self.outer)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<UnnestNode> {
        Ok(UnnestNode {
            input: from.get()?,
            replicated: from.get()?,
            generators: from.get()?,
            ordinality: from.get()?,
            outer: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Form for SampleNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.method)?;
        to.put(&self.seed)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SampleNode> {
        Ok(SampleNode {
            input: from.get()?,
            method: from.get()?,
            seed: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Form for UnionNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.inputs)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<UnionNode> {
        Ok(UnionNode { inputs: from.get()?, schema: from.get()? })
    }
}

impl Form for UniqueIdNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<UniqueIdNode> {
        Ok(UniqueIdNode { input: from.get()?, schema: from.get()? })
    }
}

impl Form for EnforceSingleRowNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.place)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<EnforceSingleRowNode> {
        Ok(EnforceSingleRowNode { input: from.get()?, place: from.get()? })
    }
}

impl Form for LocalExchangeNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.kind)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<LocalExchangeNode> {
        Ok(LocalExchangeNode { input: from.get()?, kind: from.get()? })
    }
}

impl Form for SharedNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.input)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SharedNode> {
        Ok(SharedNode { id: from.get()?, input: from.get()? })
    }
}

impl Form for RecursiveUnionNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.anchor)?;
        to.put(&self.step)?;
        to.put(&self.kept)?;
        to.put(&self.distinct)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<RecursiveUnionNode> {
        Ok(RecursiveUnionNode {
            id: from.get()?,
            anchor: from.get()?,
            step: from.get()?,
            kept: from.get()?,
            distinct: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Form for WorkingTableNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.name)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<WorkingTableNode> {
        Ok(WorkingTableNode { id: from.get()?, name: from.get()?, schema: from.get()? })
    }
}

impl Form for TableWriteNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.path)?;
        to.put(&self.format)?;
        to.put(&self.options)?;
        to.put(&self.column_names)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TableWriteNode> {
        Ok(TableWriteNode {
            input: from.get()?,
            path: from.get()?,
            format: from.get()?,
            options: from.get()?,
            column_names: from.get()?,
            schema: from.get()?,
        })
    }
}

/// Rows one after the other. A row takes a byte at least, also one without columns: what is read
/// takes no more memory than the bytes account for.
impl Form for ValuesNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.schema)?;
        to.bytes.number(self.rows.len());
        for row in &self.rows {
            to.bytes.byte(0);
            let mut values = self.schema.types().zip(row);
            values.try_for_each(|(data_type, it)| to.bytes.value(data_type, it))?;
        }
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<ValuesNode> {
        let schema: Schema = from.get()?;
        let mut rows = Vec::new();
        for _ in 0..from.bytes.count()? {
            if from.bytes.byte()? != 0 {
                return Err(corruption("no row"));
            }
            let values = schema.types().map(|it| from.bytes.value(it));
            rows.push(values.collect::<Result<Vec<Value>>>()?);
        }
        Ok(ValuesNode { rows, schema })
    }
}

/// What other crates define has no form here.
impl Form for CustomPlanNode {
    fn write(&self, _to: &mut PlanWriter) -> Result<()> {
        Err(unsupported(self.node.name()))
    }

    fn read(_from: &mut PlanReader<'_>) -> Result<CustomPlanNode> {
        Err(unsupported("of another crate"))
    }
}

fn unsupported(name: &str) -> Error {
    Error::unsupported(format!("the plan node {name} cannot be saved"))
}
