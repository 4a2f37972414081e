//! NestedLoopJoin and AsofJoin: any number of drivers on both sides.

use super::{
    Condition, ProbeConfig, Shared,
    build::NestedLoopBuild,
    lookup::{AsofSpec, LookupSpec},
    probe::NestedLoopProbe,
};
use crate::{join_output::JoinOutput, registration::wrong_node};
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Inputs, Lowering, PipelineBuilder};
use volley_expression::Expr;
use volley_plan::PlanNode;
use volley_state::Barrier;

/// What differs between the joins.
struct Parts<'a> {
    config: ProbeConfig,
    names: [&'static str; 2],
    condition: Option<&'a Expr>,
    lookup: Option<LookupSpec>,
    /// What is left to be tested of pairs that were looked up.
    residual: Option<&'a Expr>,
}

/// Adds the build side's sink and the probe side's operator.
pub(crate) fn lower(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::NestedLoopJoin(node) = node else { return Err(wrong_node()) };
    let (probe, build) = (inputs.take()?, inputs.take()?);
    let has_ranges = !node.ranges.is_empty();
    let parts = Parts {
        config: ProbeConfig {
            output: JoinOutput {
                kind: node.kind,
                columns: node.output.clone(),
                probe_types: node.probe.schema().types().cloned().collect(),
                build_types: node.build.schema().types().cloned().collect(),
            },
            asof: None,
            batch_rows: cx.task().batch_rows,
            drivers: probe.drivers(),
        },
        names: match has_ranges {
            true => ["range join build", "range join probe"],
            false => ["nested loop join build", "nested loop join probe"],
        },
        condition: node.condition.as_ref(),
        lookup: has_ranges.then(|| LookupSpec::Ranges(node.ranges.clone())),
        residual: node.residual.as_ref(),
    };
    lower_parts(parts, probe, build, cx)
}

/// As [`lower`], for the nearest rows.
pub(crate) fn lower_asof(
    node: &PlanNode,
    inputs: &mut Inputs,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let PlanNode::AsofJoin(node) = node else { return Err(wrong_node()) };
    let (probe, build) = (inputs.take()?, inputs.take()?);
    let keys = node.probe_keys.iter().zip(&node.build_keys).zip(&node.nulls_equal);
    let keys = keys.map(|((probe, build), nulls_equal)| (*probe, *build, *nulls_equal));
    let asof = AsofSpec { keys: keys.collect(), range: node.range };
    let parts = Parts {
        config: ProbeConfig {
            output: JoinOutput {
                kind: node.kind,
                columns: node.output.clone(),
                probe_types: node.probe.schema().types().cloned().collect(),
                build_types: node.build.schema().types().cloned().collect(),
            },
            asof: Some(asof.clone()),
            batch_rows: cx.task().batch_rows,
            drivers: probe.drivers(),
        },
        names: ["asof join build", "asof join probe"],
        condition: None,
        lookup: Some(LookupSpec::Asof(asof)),
        residual: None,
    };
    lower_parts(parts, probe, build, cx)
}

fn lower_parts(
    parts: Parts<'_>,
    mut probe: PipelineBuilder,
    mut build: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let Parts { config, names: [build_name, probe_name], condition, lookup, residual } = parts;
    let pool = cx.pool(build_name);
    let shared = Shared::new(&pool);
    let (_, mut tickets) = Barrier::new(build.drivers());
    let target = Arc::clone(&shared);
    let types = config.output.build_types.clone();
    cx.add_in_pool(&mut build, build_name, pool, move |cx| {
        let (types, lookup) = (types.clone(), lookup.clone());
        Ok(Box::new(NestedLoopBuild::new(&target, types, lookup, tickets.pop(), cx)))
    });
    cx.seal(build);
    let (condition, residual) = (condition.cloned(), residual.cloned());
    cx.add(&mut probe, probe_name, move |cx| {
        let width = config.output.probe_types.len();
        let compile =
            |it: &Option<Expr>| it.as_ref().map(|it| Condition::compile(it, width, cx)).transpose();
        let probe = NestedLoopProbe::new(&shared, config.clone(), compile(&condition)?, cx);
        Ok(Box::new(probe.with_residual(compile(&residual)?)))
    });
    Ok(probe)
}
