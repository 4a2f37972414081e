//! Unnest nodes.

use super::expr::Computed;
use super::{Lowered, Lowering, not_this_node, schema_of};
use crate::expr::ColumnSet;
use volley_error::Result;
use volley_logical::{Column, Plan};
use volley_plan::{Generator, PlanNode, PlanNodeId, UnnestNode};

impl Lowering<'_> {
    pub(super) fn unnest(&mut self, plan: &Plan, required: &ColumnSet) -> Result<Lowered> {
        let Plan::Unnest { input, generators, ordinality, outer } = plan else {
            return Err(not_this_node());
        };
        let mut below = required.clone();
        plan.exprs().into_iter().for_each(|it| crate::expr::collect_used(it, &mut below));
        let mut computed = Computed::new(self.plan(input, &below)?);
        let mut made = Vec::with_capacity(generators.len());
        for generator in generators {
            let args = generator.args.iter().map(|it| computed.position(it));
            made.push(Generator { kind: generator.kind, args: args.collect::<Result<_>>()? });
        }
        let input = computed.finish();
        let kept = input.columns.iter().filter(|it| required.contains(&it.0.id));
        let (kept, replicated): (Vec<Column>, Vec<usize>) = kept.cloned().unzip();
        let ordinality = ordinality.as_ref().filter(|it| required.contains(&it.id));
        let own = generators.iter().flat_map(|it| &it.columns).chain(ordinality).cloned();
        let columns: Vec<Column> = kept.into_iter().chain(own).collect();
        let node = PlanNode::Unnest(UnnestNode {
            node_id: PlanNodeId::UNASSIGNED,
            input: input.node,
            replicated,
            generators: made,
            ordinality: ordinality.is_some(),
            outer: *outer,
            schema: schema_of(&columns),
        });
        Ok(Lowered::new(node, columns))
    }
}
