//! Writes exceptions over the values of a vector.

use crate::pack::{Lane, VECTOR};

/// Bytes of the position of an exception.
pub const POSITION_BYTES: usize = 2;

/// Writes `values[i]` at `positions[i]` of the vector: little-endian integers of two bytes, and of
/// the width of `T`.
///
/// # Panics
///
/// If `vector` does not have [`VECTOR`] values.
pub fn patch<T: Lane>(vector: &mut [T], positions: &[u8], values: &[u8]) {
    patch_map(vector, positions, values, |it: T| it);
}

/// As [`patch`], of what `map` makes of each value.
///
/// # Panics
///
/// As [`patch`].
#[inline]
pub fn patch_map<T: Lane, U: Copy>(
    vector: &mut [U],
    positions: &[u8],
    values: &[u8],
    map: impl Fn(T) -> U,
) {
    let vector: &mut [U; VECTOR] = vector.try_into().expect("values of a vector");
    let positions = positions.as_chunks::<POSITION_BYTES>().0;
    for (position, value) in positions.iter().zip(values.chunks_exact(size_of::<T>())) {
        // Positions are below the vector's length; the remainder saves the check.
        let position = usize::from(u16::from_le_bytes(*position)) % VECTOR;
        vector[position] = map(T::load(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_written_where_they_belong() {
        let mut vector = vec![7u64; VECTOR];
        let positions: Vec<u8> = [0u16, 5, 1023].iter().flat_map(|it| it.to_le_bytes()).collect();
        let values: Vec<u8> = [1u64, 2, u64::MAX].iter().flat_map(|it| it.to_le_bytes()).collect();
        patch(&mut vector, &positions, &values);
        for (index, value) in vector.iter().enumerate() {
            let expected = match index {
                0 => 1,
                5 => 2,
                1023 => u64::MAX,
                _ => 7,
            };
            assert_eq!(*value, expected);
        }
    }
}
