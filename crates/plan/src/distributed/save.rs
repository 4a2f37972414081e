//! Serializes distributed plans.
//!
//! The format is that of [`volley_vector::save`], kind 6: the number of fragments, then for each
//! the tasks (0 one, 1 all), its plan as bytes, and its outputs: the reader, then the routing.

use super::{DistributedPlan, Fragment, FragmentId, FragmentOutput, TaskCount};
use crate::{
    CustomNodes, PlanNode, Routing,
    save::codec::{Codec, PlanReader, PlanWriter},
    save::{read_routing, write_routing},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::Registry;
use volley_types::Schema;
use volley_vector::save::{Reader, Writer, corruption};

/// A file with a distributed plan.
const DISTRIBUTED_PLAN: u8 = 6;

impl DistributedPlan {
    /// The plan as bytes, for [`DistributedPlan::from_bytes`] of the same version of the engine.
    ///
    /// # Errors
    ///
    /// As [`PlanNode::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut to = PlanWriter::new(Writer::new(DISTRIBUTED_PLAN));
        to.bytes.number(self.fragments.len());
        for fragment in &self.fragments {
            to.bytes.byte(u8::from(fragment.tasks == TaskCount::All));
            let plan = fragment.plan.to_bytes()?;
            to.bytes.number(plan.len());
            to.bytes.raw(&plan);
            to.bytes.number(fragment.outputs.len());
            for output in &fragment.outputs {
                to.put(&output.to.0)?;
                write_routing(&output.routing, fragment.plan.schema(), &mut to)?;
            }
        }
        Ok(to.bytes.finish())
    }

    /// The plan of [`DistributedPlan::to_bytes`], which has passed [`DistributedPlan::check`].
    ///
    /// # Errors
    ///
    /// As [`PlanNode::from_bytes_with`]; what [`DistributedPlan::check`] refuses.
    pub fn from_bytes(
        bytes: &[u8],
        registry: &Registry,
        custom_nodes: &CustomNodes,
    ) -> Result<DistributedPlan> {
        let bytes = Reader::new(bytes, DISTRIBUTED_PLAN, registry.types())?;
        let mut from =
            PlanReader { bytes, registry, custom_nodes, nodes: Vec::new(), has_ids: true };
        let count = from.bytes.count()?;
        let fragments = (0..count).map(|_| read_fragment(&mut from)).collect::<Result<Vec<_>>>()?;
        from.bytes.finish()?;
        let plan = DistributedPlan { fragments };
        plan.check(registry)?;
        Ok(plan)
    }
}

fn read_fragment(from: &mut PlanReader<'_>) -> Result<Fragment> {
    let tasks = match bool::read(from)? {
        true => TaskCount::All,
        false => TaskCount::One,
    };
    let len = from.bytes.number()?;
    let plan = from.bytes.raw(len)?;
    let plan: Arc<PlanNode> = PlanNode::from_bytes_with(plan, from.registry, from.custom_nodes)?;
    let outputs = from.bytes.count()?;
    let outputs = (0..outputs).map(|_| read_output(plan.schema(), from));
    let outputs = outputs.collect::<Result<Vec<_>>>()?;
    Ok(Fragment { plan, tasks, outputs })
}

fn read_output(schema: &Schema, from: &mut PlanReader<'_>) -> Result<FragmentOutput> {
    let to = FragmentId(from.get()?);
    let routing: Routing = read_routing(schema, from)?;
    if to.0 == u32::MAX {
        return Err(corruption("an output without a reader"));
    }
    Ok(FragmentOutput { to, routing })
}
