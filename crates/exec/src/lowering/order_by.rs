//! OrderBy: every driver sorts its rows, one merges them.

use crate::{
    Lowering, PipelineBuilder,
    local_merge::{MergeQueue, MergeReceiver, MergeSender},
    order_by::OrderBy,
};
use volley_error::Result;
use volley_plan::{OrderByNode, SortKey};
use volley_types::Type;

pub(super) fn lower(
    node: &OrderByNode,
    input: PipelineBuilder,
    cx: &mut Lowering,
) -> Result<PipelineBuilder> {
    let types: Vec<_> = node.input.schema().types().cloned().collect();
    Ok(sort(input, &types, &node.keys, cx))
}

/// The rows of `types` in the order of `keys`, in one stream.
pub(super) fn sort(
    mut input: PipelineBuilder,
    types: &[Type],
    keys: &[SortKey],
    cx: &mut Lowering,
) -> PipelineBuilder {
    let (own_types, own_keys) = (types.to_vec(), keys.to_vec());
    cx.add(&mut input, "order by", move |cx| {
        Ok(Box::new(OrderBy::new(own_types.clone(), own_keys.clone(), cx)))
    });
    if input.drivers() == 1 {
        return input;
    }
    let pool = cx.pool("local merge");
    let queues = MergeQueue::new(input.drivers(), &pool);
    let senders = queues.clone();
    cx.add_in_pool(&mut input, "local merge sender", pool.clone(), move |cx| {
        Ok(Box::new(MergeSender::new(senders[cx.driver].clone())))
    });
    cx.seal(input);
    let (types, keys) = (types.to_vec(), keys.to_vec());
    cx.source_in_pool("local merge receiver", 1, pool, move |cx| {
        Ok(Box::new(MergeReceiver::new(&types, &keys, &queues, cx)))
    })
}
