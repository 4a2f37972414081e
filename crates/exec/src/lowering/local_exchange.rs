//! LocalExchange.

use crate::{Lowering, PipelineBuilder, local_exchange::Partitioning};
use volley_error::Result;
use volley_plan::{ExchangeKind, LocalExchangeNode};

pub(super) fn lower(
    node: &LocalExchangeNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    Ok(match &node.kind {
        ExchangeKind::Gather => cx.gather(input),
        ExchangeKind::RoundRobin => {
            let drivers = cx.task().drivers;
            if drivers == 1 && input.drivers() == 1 {
                return Ok(input);
            }
            cx.exchange(vec![input], drivers, &Partitioning::Any)
        }
        ExchangeKind::Hash(keys) => {
            if keys.is_empty() || cx.task().drivers == 1 {
                return Ok(cx.gather(input));
            }
            let drivers = cx.task().drivers;
            cx.exchange(vec![input], drivers, &Partitioning::Hash(keys.clone()))
        }
    })
}
