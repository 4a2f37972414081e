//! The allocations behind vectors, which slices, dictionaries and copies share.

use crate::{Buffer, Encoding, Nested, Values, Vector};
use std::{collections::HashSet, sync::Arc};

impl Vector {
    /// Calls `f` with the address and the bytes of every allocation that this vector keeps alive;
    /// some may repeat. Nothing of a lazy vector that is not loaded.
    pub fn for_each_allocation(&self, f: &mut impl FnMut(usize, usize)) {
        if let Some(nulls) = self.null_buffer() {
            allocation(nulls.buffer(), f);
        }
        match self.encoding() {
            Encoding::Flat(values) => values_allocations(values, f),
            Encoding::Constant(base) => base.for_each_allocation(f),
            Encoding::Dictionary { codes, base } => {
                allocation(codes.inner(), f);
                base.for_each_allocation(f);
            }
            Encoding::RunLength { ends, base } => {
                allocation(ends.inner(), f);
                base.for_each_allocation(f);
            }
            Encoding::Bias { deltas, .. } => allocation(deltas.buffer(), f),
            Encoding::Lazy(lazy) => {
                if let Some(loaded) = lazy.get() {
                    loaded.for_each_allocation(f);
                }
            }
        }
    }

    /// Bytes that this vector keeps alive and none of `others` does.
    pub fn retained_bytes_beyond(&self, others: &[Vector]) -> usize {
        let mut known = HashSet::new();
        others.iter().for_each(|it| {
            it.for_each_allocation(&mut |address, _| {
                known.insert(address);
            });
        });
        let mut beyond = 0;
        self.for_each_allocation(&mut |address, bytes| {
            if known.insert(address) {
                beyond += bytes;
            }
        });
        beyond
    }
}

fn values_allocations(values: &Values, f: &mut impl FnMut(usize, usize)) {
    match values {
        Values::Null(_) => {}
        Values::Boolean(bits) => allocation(bits.inner(), f),
        Values::View(strings) => {
            allocation(strings.views.inner(), f);
            string_buffers(&strings.buffers, f);
        }
        Values::Array(nested) | Values::Map(nested) => nested_allocations(nested, f),
        Values::FixedArray(arrays) => arrays.elements.for_each_allocation(f),
        Values::Row { children, .. } => children.iter().for_each(|it| it.for_each_allocation(f)),
        Values::Object(objects) => f(objects.address(), objects.retained_bytes()),
        _ => values.fixed_buffer().into_iter().for_each(|it| allocation(it, f)),
    }
}

fn nested_allocations(nested: &Nested, f: &mut impl FnMut(usize, usize)) {
    allocation(nested.offsets.inner(), f);
    allocation(nested.sizes.inner(), f);
    nested.elements.for_each_allocation(f);
}

fn string_buffers(buffers: &Arc<[Buffer]>, f: &mut impl FnMut(usize, usize)) {
    buffers.iter().for_each(|it| allocation(it, f));
}

fn allocation(buffer: &Buffer, f: &mut impl FnMut(usize, usize)) {
    if buffer.capacity() > 0 {
        f(buffer.data_ptr().as_ptr() as usize, buffer.capacity());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScalarBuffer;
    use volley_types::Type;

    #[test]
    fn what_others_hold_does_not_count() {
        let numbers = |len: usize| Vector::native::<i64>(Type::BigInt, vec![1; len], None);
        let (one, other) = (numbers(100), numbers(50));
        assert_eq!(one.retained_bytes_beyond(&[]), 800);
        assert_eq!(one.slice(10, 5).retained_bytes_beyond(&[other.clone(), one.clone()]), 0);
        let codes = ScalarBuffer::from(vec![0_u32; 20]);
        let wrapped = one.wrap(&codes, &mut Vec::new());
        assert_eq!(wrapped.retained_bytes_beyond(&[one, other]), 80);
        assert_eq!(wrapped.retained_bytes_beyond(&[]), 880);
    }
}
