//! The base and the width of a vector.

use crate::{VECTOR_ROWS, order::Order};
use volley_kernels::{
    pack::{Lane, packed_bytes, short_bytes},
    patch::POSITION_BYTES,
};

/// Values that are sorted to find a base above the least values.
const QUANTILE_SAMPLE: usize = 64;

/// Which of them is that base.
const QUANTILE: usize = 3;

/// How a vector is packed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<T> {
    pub(crate) base: T,
    pub(crate) width: usize,
    /// Bytes of codes and exceptions.
    bytes: usize,
}

impl<T: Lane> Plan<T> {
    /// The plan with the fewest bytes, of those whose base is the least value or one above a few
    /// values that are far below the others.
    pub(crate) fn best(values: &[T], order: Order) -> Plan<T> {
        let least = values.iter().map(|it| order.key(*it)).min().unwrap_or_default();
        let plan = Plan::with_base(values, order.key(least));
        if plan.width == 0 || values.len() < QUANTILE_SAMPLE {
            return plan;
        }
        let step = values.len() / QUANTILE_SAMPLE;
        let mut sample: Vec<T> = values.iter().step_by(step).map(|it| order.key(*it)).collect();
        sample.sort_unstable();
        let above = Plan::with_base(values, order.key(sample[QUANTILE]));
        if above.bytes < plan.bytes { above } else { plan }
    }

    /// All values as they are, in `width` bits each.
    pub(crate) fn whole(width: usize) -> Plan<T> {
        Plan { base: T::default(), width, bytes: 0 }
    }

    /// The width with the fewest bytes.
    fn with_base(values: &[T], base: T) -> Plan<T> {
        let mut lengths = [0usize; 65];
        values.iter().for_each(|it| lengths[it.minus(base).bit_length()] += 1);
        let mut longer = values.len();
        let plans = (0..=T::BITS).map(|width| {
            longer -= lengths[width];
            let exception_bytes = longer * (POSITION_BYTES + size_of::<T>());
            Plan { base, width, bytes: code_bytes(values.len(), width) + exception_bytes }
        });
        plans.min_by_key(|it| it.bytes).unwrap_or(Plan { base, width: T::BITS, bytes: 0 })
    }
}

/// Bytes of the codes of a vector of `len` values.
pub(super) fn code_bytes(len: usize, width: usize) -> usize {
    if len == VECTOR_ROWS { packed_bytes(width) } else { short_bytes(len, width) }
}
