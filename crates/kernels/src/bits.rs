//! Words of 64 truth values.

/// The bit of each of at most 64 rows.
///
/// 64 answers make 64 bytes of 0 or 1, in vector registers; eight multiplications pack them into a
/// word: in `x * 0x0102_0408_1020_4080` the bytes of `x` meet, each as one bit, in the top byte.
#[inline(always)]
pub fn word(rows: usize, holds: impl Fn(usize) -> bool) -> u64 {
    let mut bytes = [0u8; 64];
    for (row, byte) in bytes[..rows].iter_mut().enumerate() {
        *byte = u8::from(holds(row));
    }
    let mut word = 0;
    for (index, chunk) in bytes.as_chunks::<8>().0.iter().enumerate() {
        let packed = u64::from_le_bytes(*chunk).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= packed << (index * 8);
    }
    word
}

/// Fills each word of `bits` with what `word` says of its 64 values (fewer for the last one).
///
/// # Panics
///
/// If `bits` does not have one word per 64 values.
#[inline(always)]
pub fn fill_words<T>(values: &[T], bits: &mut [u64], word: impl Fn(&[T]) -> u64) {
    assert_eq!(bits.len(), values.len().div_ceil(64), "one bit per value");
    let (chunks, rest) = values.as_chunks::<64>();
    for (chunk, bits) in chunks.iter().zip(bits.iter_mut()) {
        *bits = word(chunk);
    }
    if let (false, Some(bits)) = (rest.is_empty(), bits.last_mut()) {
        *bits = word(rest);
    }
}
