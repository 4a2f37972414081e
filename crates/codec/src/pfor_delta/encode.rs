//! Distances.

use crate::{
    VECTOR_ROWS,
    input::put_all,
    order::Order,
    pfor::{Plan, Writer},
};
use volley_kernels::pack::Lane;

/// Appends `values`.
pub(crate) fn encode<T: Lane>(values: &[T], out: &mut Vec<u8>) {
    let (mut firsts, mut writer, mut deltas) = (Vec::new(), Writer::default(), Vec::new());
    for vector in values.chunks(VECTOR_ROWS) {
        deltas.clear();
        let delta = |pair: &[T; 2]| pair[1].minus(pair[0]);
        let mut pairs = vector.array_windows().map(delta).peekable();
        let first = pairs.peek().copied().unwrap_or_default();
        deltas.push(first);
        deltas.extend(pairs);
        firsts.push(vector[0].minus(first));
        writer.push(&deltas, Plan::best(&deltas, Order::Signed), |_, value| Some(value));
    }
    put_all(out, &firsts);
    writer.finish(out);
}
