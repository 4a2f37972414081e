//! Encoding of nodes.

use super::codec::{Codec, PlanReader, PlanWriter};
use crate::nodes::*;
use crate::{PlanNode, PlanNodeId};
use volley_error::Result;
use volley_types::{Schema, Value};
use volley_vector::save::corruption;

/// The number of the variant, the node's identity, and the node.
impl Codec for PlanNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        match self {
            PlanNode::TableScan(node) => to.node(0, node.node_id, node),
            PlanNode::Values(node) => to.node(1, node.node_id, node),
            PlanNode::Filter(node) => to.node(2, node.node_id, node),
            PlanNode::Project(node) => to.node(3, node.node_id, node),
            PlanNode::Aggregation(node) => to.node(4, node.node_id, node),
            PlanNode::GroupId(node) => to.node(5, node.node_id, node),
            PlanNode::Window(node) => to.node(6, node.node_id, node),
            PlanNode::HashJoin(node) => to.node(7, node.node_id, node),
            PlanNode::NestedLoopJoin(node) => to.node(8, node.node_id, node),
            PlanNode::AsofJoin(node) => to.node(9, node.node_id, node),
            PlanNode::MergeJoin(node) => to.node(10, node.node_id, node),
            PlanNode::OrderBy(node) => to.node(11, node.node_id, node),
            PlanNode::TopN(node) => to.node(12, node.node_id, node),
            PlanNode::Limit(node) => to.node(13, node.node_id, node),
            PlanNode::GroupLimit(node) => to.node(14, node.node_id, node),
            PlanNode::Repeat(node) => to.node(15, node.node_id, node),
            PlanNode::Unnest(node) => to.node(16, node.node_id, node),
            PlanNode::Sample(node) => to.node(17, node.node_id, node),
            PlanNode::Union(node) => to.node(18, node.node_id, node),
            PlanNode::UniqueId(node) => to.node(19, node.node_id, node),
            PlanNode::EnforceSingleRow(node) => to.node(20, node.node_id, node),
            PlanNode::LocalExchange(node) => to.node(21, node.node_id, node),
            PlanNode::Spool(node) => to.node(22, node.node_id, node),
            PlanNode::RecursiveUnion(node) => to.node(23, node.node_id, node),
            PlanNode::WorkingTable(node) => to.node(24, node.node_id, node),
            PlanNode::TableWrite(node) => to.node(25, node.node_id, node),
            PlanNode::Custom(node) => to.node(26, node.node_id, node),
            PlanNode::TaskInput(node) => to.node(27, node.node_id, node),
            PlanNode::Exchange(node) => to.node(28, node.node_id, node),
            PlanNode::PageSource(node) => to.node(29, node.node_id, node),
            PlanNode::Sub(node) => to.node(30, node.node_id, node),
        }
    }

    fn read(from: &mut PlanReader<'_>) -> Result<PlanNode> {
        let kind = from.bytes.byte()?;
        let id = if from.has_ids { from.get()? } else { PlanNodeId::UNASSIGNED };
        let mut node = match kind {
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
            22 => PlanNode::Spool(from.get()?),
            23 => PlanNode::RecursiveUnion(from.get()?),
            24 => PlanNode::WorkingTable(from.get()?),
            25 => PlanNode::TableWrite(from.get()?),
            26 => PlanNode::Custom(from.get()?),
            27 => PlanNode::TaskInput(from.get()?),
            28 => PlanNode::Exchange(from.get()?),
            29 => PlanNode::PageSource(from.get()?),
            30 => PlanNode::Sub(from.get()?),
            _ => return Err(corruption("unknown plan node")),
        };
        *node.id_mut() = id;
        Ok(node)
    }
}

impl Codec for TableScanNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.table)?;
        to.put(&self.columns)?;
        to.put(&self.filters)?;
        to.put(&self.dynamic_filters)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TableScanNode> {
        Ok(TableScanNode {
            node_id: PlanNodeId::UNASSIGNED,
            table: from.get()?,
            columns: from.get()?,
            filters: from.get()?,
            dynamic_filters: from.get_with_ids()?,
            schema: from.get()?,
        })
    }
}

impl Codec for FilterNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.predicate)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<FilterNode> {
        Ok(FilterNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            predicate: from.get()?,
        })
    }
}

impl Codec for ProjectNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.exprs)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<ProjectNode> {
        Ok(ProjectNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            exprs: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for RepeatNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<RepeatNode> {
        Ok(RepeatNode { node_id: PlanNodeId::UNASSIGNED, input: from.get()?, schema: from.get()? })
    }
}

impl Codec for UnnestNode {
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
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            replicated: from.get()?,
            generators: from.get()?,
            ordinality: from.get()?,
            outer: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for SampleNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.method)?;
        to.put(&self.seed)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SampleNode> {
        Ok(SampleNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            method: from.get()?,
            seed: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for UnionNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.inputs)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<UnionNode> {
        Ok(UnionNode { node_id: PlanNodeId::UNASSIGNED, inputs: from.get()?, schema: from.get()? })
    }
}

impl Codec for UniqueIdNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<UniqueIdNode> {
        Ok(UniqueIdNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for EnforceSingleRowNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.place)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<EnforceSingleRowNode> {
        Ok(EnforceSingleRowNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            place: from.get()?,
        })
    }
}

impl Codec for LocalExchangeNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.kind)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<LocalExchangeNode> {
        Ok(LocalExchangeNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            kind: from.get()?,
        })
    }
}

impl Codec for SpoolNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.input)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<SpoolNode> {
        Ok(SpoolNode { node_id: PlanNodeId::UNASSIGNED, id: from.get()?, input: from.get()? })
    }
}

impl Codec for RecursiveUnionNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.anchor)?;
        to.put(&self.step)?;
        to.put(&self.kept)?;
        to.put(&self.distinct)?;
        to.put(&self.keys)?;
        to.put(&self.reads_all)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<RecursiveUnionNode> {
        Ok(RecursiveUnionNode {
            node_id: PlanNodeId::UNASSIGNED,
            id: from.get()?,
            anchor: from.get()?,
            step: from.get()?,
            kept: from.get()?,
            distinct: from.get()?,
            keys: from.get()?,
            reads_all: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for WorkingTableNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.id)?;
        to.put(&self.name)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<WorkingTableNode> {
        Ok(WorkingTableNode {
            node_id: PlanNodeId::UNASSIGNED,
            id: from.get()?,
            name: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for TableWriteNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.target)?;
        to.put(&self.column_names)?;
        to.put(&self.checks)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TableWriteNode> {
        Ok(TableWriteNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            target: from.get()?,
            column_names: from.get()?,
            checks: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for TaskInputNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TaskInputNode> {
        Ok(TaskInputNode { node_id: PlanNodeId::UNASSIGNED, schema: from.get()? })
    }
}

/// Rows one after the other. A row takes a byte at least, also one without columns: what is read
/// takes no more memory than the bytes account for.
impl Codec for ValuesNode {
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
        Ok(ValuesNode { node_id: PlanNodeId::UNASSIGNED, rows, schema })
    }
}

/// The name, the inputs and the node's own bytes. The columns follow from these.
impl Codec for CustomPlanNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        let bytes = self.node.to_bytes()?;
        to.bytes.text(self.node.name());
        to.put(&self.inputs)?;
        to.bytes.number(bytes.len());
        to.bytes.raw(&bytes);
        Ok(())
    }

    fn read(from: &mut PlanReader<'_>) -> Result<CustomPlanNode> {
        let name = from.bytes.text()?.to_owned();
        let inputs = from.get()?;
        let len = from.bytes.number()?;
        let bytes = from.bytes.raw(len)?;
        let node = from.custom_nodes.read(&name, bytes, from.registry)?;
        CustomPlanNode::new(node, inputs)
    }
}
