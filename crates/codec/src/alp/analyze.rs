//! The powers of ten of a vector.

use volley_kernels::{alp::Float, alp::Scale, pack::Lane};

/// Values of a vector that are tried with every scale.
const SAMPLE: usize = 32;

/// Scales of a column, of which the best one is taken for each vector.
const CANDIDATES: usize = 5;

/// Vectors that are looked at to find those.
const VECTORS: usize = 8;

/// Whether a float comes back to the last bit.
pub(super) fn is_exact<T: Float>(value: T, scale: Scale) -> bool {
    T::decode(value.encode(scale), scale).bits() == value.bits()
}

/// The scales that are best for some vectors of the column.
pub(super) fn candidates<T: Float>(values: &[T], vector_rows: usize) -> Vec<Scale> {
    let step = values.len().div_ceil(vector_rows).div_ceil(VECTORS).max(1);
    let mut found: Vec<(Scale, usize)> = Vec::new();
    for vector in values.chunks(vector_rows).step_by(step) {
        let exponents = 0..=T::EXPONENT_MAX as u8;
        let scales = exponents
            .flat_map(|exponent| (0..=exponent).map(move |factor| Scale { exponent, factor }));
        let Some(best) = best_of(vector, scales) else { continue };
        match found.iter_mut().find(|it| it.0 == best) {
            Some(known) => known.1 += 1,
            None => found.push((best, 1)),
        }
    }
    found.sort_by_key(|it| std::cmp::Reverse(it.1));
    found.into_iter().take(CANDIDATES).map(|it| it.0).collect()
}

/// The scale with the smallest estimate for a vector; of equal ones the first.
pub(super) fn best_of<T: Float>(
    vector: &[T],
    scales: impl IntoIterator<Item = Scale>,
) -> Option<Scale> {
    let step = (vector.len() / SAMPLE).max(1);
    let sample: Vec<T> = vector.iter().step_by(step).copied().collect();
    scales.into_iter().min_by_key(|scale| bits(&sample, *scale))
}

/// About the bits of the sample: of the codes, and of exceptions.
fn bits<T: Float>(sample: &[T], scale: Scale) -> usize {
    let (mut exact, mut least, mut greatest) = (0, i64::MAX, i64::MIN);
    let unused = 64 - T::Bits::BITS as u32;
    for value in sample.iter().filter(|it| is_exact(**it, scale)) {
        let integer = (value.encode(scale).wide() << unused) as i64 >> unused;
        (least, greatest) = (least.min(integer), greatest.max(integer));
        exact += 1;
    }
    let width = match exact {
        0 => 0,
        _ => 64 - greatest.wrapping_sub(least).leading_zeros() as usize,
    };
    let exceptions = sample.len() - exact;
    sample.len() * width + exceptions * (T::Bits::BITS + 16)
}
