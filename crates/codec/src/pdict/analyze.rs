//! The size of codes.

/// Bytes of an exception: its position and its code.
const EXCEPTION_BYTES: f64 = 6.0;

/// About the bytes of codes. `counts`: rows of each value, the most frequent first.
pub(crate) fn code_bytes(counts: &[u32]) -> f64 {
    let rows: f64 = counts.iter().map(|it| f64::from(*it)).sum();
    let mut rare = rows;
    let mut begin = 0;
    let bytes = (0..=16).map(|width| {
        let end = counts.len().min(1 << width);
        rare -= counts[begin.min(end)..end].iter().map(|it| f64::from(*it)).sum::<f64>();
        begin = end;
        rows * f64::from(width) / 8.0 + rare.max(0.0) * EXCEPTION_BYTES
    });
    bytes.fold(f64::INFINITY, f64::min)
}
