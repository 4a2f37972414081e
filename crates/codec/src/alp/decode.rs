//! Floats of integers.

use crate::{
    VECTOR_ROWS,
    column::{Body, Fixed},
    input::{Input, corruption},
    pfor::Packed,
    vectors::Decode,
};
use arrow_buffer::ArrowNativeType;
use volley_error::Result;
use volley_kernels::alp::{Float, Scale};
use volley_types::PhysicalType;

pub(crate) fn open<T: Float + ArrowNativeType>(
    input: &mut Input,
    physical: PhysicalType,
    rows: usize,
) -> Result<Box<dyn Body>> {
    let scales = input.elements(rows.div_ceil(VECTOR_ROWS), 2)?;
    let scale = |it: &[u8; 2]| Scale { exponent: it[0], factor: it[1] };
    let scales: Vec<Scale> = scales.as_chunks().0.iter().map(scale).collect();
    let is_valid = |it: &Scale| {
        usize::from(it.exponent) <= T::EXPONENT_MAX && usize::from(it.factor) <= T::EXPONENT_MAX
    };
    if !scales.iter().all(is_valid) {
        return Err(corruption("power of ten of a vector"));
    }
    let column = Decimals::<T> { scales, integers: Packed::open(input, rows)? };
    Ok(Box::new(Fixed { column, physical, values: std::marker::PhantomData }))
}

struct Decimals<T: Float> {
    scales: Vec<Scale>,
    integers: Packed<T::Bits>,
}

impl<T: Float> Decode<T> for Decimals<T> {
    fn rows(&self) -> usize {
        self.integers.rows()
    }

    fn vector(&self, index: usize, out: &mut Vec<T>) -> Result<()> {
        let scale = self.scales.get(index).copied().unwrap_or_default();
        self.integers.vector_map(index, move |it| T::decode(it, scale), T::from_bits, out)
    }

    fn single(&self, index: usize, row: usize) -> Option<T> {
        let scale = self.scales.get(index).copied()?;
        self.integers.single_map(index, row, |it| T::decode(it, scale), T::from_bits)
    }
}
