//! Union: every input sends to one exchange that any driver may read.

use crate::{Lowering, PipelineBuilder, local_exchange::Partitioning};
use volley_error::{Error, Result};

pub(super) fn lower(
    mut inputs: Vec<PipelineBuilder>,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    match inputs.len() {
        0 => Err(Error::internal("a union without inputs")),
        1 => inputs.pop().ok_or_else(|| Error::internal("a union without inputs")),
        _ => {
            let drivers = cx.task().drivers;
            Ok(cx.exchange(inputs, drivers, &Partitioning::Any))
        }
    }
}
