//! Makes the operators of a pipeline.

use crate::{
    OperatorContext, OperatorMetrics, PipelineBuilder, TaskContext,
    chain::{Chain, Stage},
    statistics::OperatorRecord,
};
use std::sync::Arc;
use volley_error::Result;

/// One chain per driver of the pipeline.
pub(crate) fn make_chains(
    mut builder: PipelineBuilder,
    pipeline: usize,
    task: &Arc<TaskContext>,
    records: &mut Vec<OperatorRecord>,
) -> Result<Vec<Chain>> {
    let drivers = builder.drivers;
    let mut chains = Vec::with_capacity(drivers);
    for driver in 0..drivers {
        let mut stages = Vec::with_capacity(builder.operators.len());
        for (position, spec) in builder.operators.iter_mut().enumerate() {
            let metrics = Arc::new(OperatorMetrics::default());
            let context = OperatorContext {
                driver,
                drivers,
                pool: spec.pool.clone(),
                metrics: Arc::clone(&metrics),
                task: Arc::clone(task),
            };
            let operator = Some((spec.factory)(&context)?);
            stages.push(Stage { name: spec.name, operator, metrics: Arc::clone(&metrics) });
            records.push(OperatorRecord {
                node: spec.node,
                name: spec.name,
                pipeline,
                position,
                pool: spec.pool.clone(),
                metrics,
            });
        }
        chains.push(Chain::new(stages, task));
    }
    Ok(chains)
}
