//! Encoding of aggregations, sorts and limits.

use super::codec::{Codec, PlanReader, PlanWriter};
use crate::{
    PlanNodeId,
    nodes::{
        AggregationNode, GroupIdNode, GroupLimitNode, LimitNode, OrderByNode, TopNNode, WindowNode,
    },
};
use volley_error::Result;

impl Codec for AggregationNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.step)?;
        to.put(&self.keys)?;
        to.put(&self.aggregates)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<AggregationNode> {
        Ok(AggregationNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            step: from.get()?,
            keys: from.get()?,
            aggregates: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for GroupIdNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.keys)?;
        to.put(&self.sets)?;
        to.put(&self.extra_rows)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<GroupIdNode> {
        Ok(GroupIdNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            keys: from.get()?,
            sets: from.get()?,
            extra_rows: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for WindowNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.partition_by)?;
        to.put(&self.order_by)?;
        to.put(&self.calls)?;
        to.put(&self.limit)?;
        to.put(&self.sorted)?;
        to.put(&self.keeps_order)?;
        to.put(&self.output)?;
        to.put(&self.schema)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<WindowNode> {
        Ok(WindowNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            partition_by: from.get()?,
            order_by: from.get()?,
            calls: from.get()?,
            limit: from.get()?,
            sorted: from.get()?,
            keeps_order: from.get()?,
            output: from.get()?,
            schema: from.get()?,
        })
    }
}

impl Codec for OrderByNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.keys)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<OrderByNode> {
        Ok(OrderByNode { node_id: PlanNodeId::UNASSIGNED, input: from.get()?, keys: from.get()? })
    }
}

impl Codec for TopNNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.keys)?;
        to.put(&self.offset)?;
        to.put(&self.limit)?;
        to.put(&self.dynamic_filter)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<TopNNode> {
        Ok(TopNNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            keys: from.get()?,
            offset: from.get()?,
            limit: from.get()?,
            dynamic_filter: from.get_with_ids()?,
        })
    }
}

impl Codec for LimitNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.offset)?;
        to.put(&self.limit)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<LimitNode> {
        Ok(LimitNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            offset: from.get()?,
            limit: from.get()?,
        })
    }
}

impl Codec for GroupLimitNode {
    fn write(&self, to: &mut PlanWriter) -> Result<()> {
        to.put(&self.input)?;
        to.put(&self.keys)?;
        to.put(&self.offset)?;
        to.put(&self.limit)
    }

    fn read(from: &mut PlanReader<'_>) -> Result<GroupLimitNode> {
        Ok(GroupLimitNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: from.get()?,
            keys: from.get()?,
            offset: from.get()?,
            limit: from.get()?,
        })
    }
}
