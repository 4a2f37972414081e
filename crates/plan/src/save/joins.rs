//! Encoding of joins.

use super::codec::{Codec, PlanReader, PlanWriter};
use crate::{
    PlanNodeId,
    nodes::{AsofJoinNode, HashJoinNode, MergeJoinNode, NestedLoopJoinNode},
};
use volley_error::Result;

impl Codec for HashJoinNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.probe)?;
        to.put(&self.build)?;
        to.put(&self.kind)?;
        to.put(&self.probe_keys)?;
        to.put(&self.build_keys)?;
        to.put(&self.nulls_equal)?;
        to.put(&self.filter)?;
        to.put(&self.null_aware)?;
        to.put(&self.output)?;
        to.put(&self.schema)?;
        to.put(&self.dynamic_filters)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<HashJoinNode> {
        Ok(HashJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            probe: from.get()?,
            build: from.get()?,
            kind: from.get()?,
            probe_keys: from.get()?,
            build_keys: from.get()?,
            nulls_equal: from.get()?,
            filter: from.get()?,
            null_aware: from.get()?,
            output: from.get()?,
            schema: from.get()?,
            dynamic_filters: from.get_with_ids()?,
        })
    }
}

impl Codec for NestedLoopJoinNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.probe)?;
        to.put(&self.build)?;
        to.put(&self.kind)?;
        to.put(&self.condition)?;
        to.put(&self.ranges)?;
        to.put(&self.residual)?;
        to.put(&self.output)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<NestedLoopJoinNode> {
        Ok(NestedLoopJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            probe: from.get()?,
            build: from.get()?,
            kind: from.get()?,
            condition: from.get()?,
            ranges: from.get()?,
            residual: from.get()?,
            output: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for AsofJoinNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.probe)?;
        to.put(&self.build)?;
        to.put(&self.kind)?;
        to.put(&self.probe_keys)?;
        to.put(&self.build_keys)?;
        to.put(&self.nulls_equal)?;
        to.put(&self.range)?;
        to.put(&self.output)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<AsofJoinNode> {
        Ok(AsofJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            probe: from.get()?,
            build: from.get()?,
            kind: from.get()?,
            probe_keys: from.get()?,
            build_keys: from.get()?,
            nulls_equal: from.get()?,
            range: from.get()?,
            output: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for MergeJoinNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.probe)?;
        to.put(&self.build)?;
        to.put(&self.kind)?;
        to.put(&self.keys)?;
        to.put(&self.filter)?;
        to.put(&self.output)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<MergeJoinNode> {
        Ok(MergeJoinNode {
            node_id: PlanNodeId::UNASSIGNED,
            probe: from.get()?,
            build: from.get()?,
            kind: from.get()?,
            keys: from.get()?,
            filter: from.get()?,
            output: from.get()?,
            schema: from.get()?,
        })
    }
}
