//! Writes the values of rows to their lanes: range reduction of hashes, counting sort, scatter.
//!
//! ```text
//! hashes        lane_of_hashes      hash -> 0..lanes by multiply and shift, no division, no branch
//! lanes         count_lanes         rows of each lane
//!               place_rows          where each row goes: the next place of its lane
//! values        scatter             reads in order, writes to one place per lane at a time
//! ```
//!
//! A scatter reads its input once and in order. It writes to as many cache lines at a time as there
//! are lanes, which the first cache holds for some hundred lanes.

use crate::{
    cpu::{self, Kernel},
    order::max_u32,
};

/// The lane of each hash, below `lanes`. `mix`, an odd number, chooses which bits of the hash
/// decide: rows that one number has split are split evenly by another one.
///
/// The range reduction is Lemire's
/// (<https://lemire.me/blog/2016/06/27/a-fast-alternative-to-the-modulo-reduction/>).
///
/// # Panics
///
/// If `out` has another length than `hashes`.
pub fn lane_of_hashes(hashes: &[u64], mix: u64, lanes: u32, out: &mut [u32]) {
    assert_eq!(hashes.len(), out.len(), "one lane per hash");
    cpu::dispatch(LaneOfHashes { hashes, mix, lanes: lanes.into(), out });
}

struct LaneOfHashes<'a> {
    hashes: &'a [u64],
    mix: u64,
    lanes: u64,
    out: &'a mut [u32],
}

impl Kernel for LaneOfHashes<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, hash) in self.out.iter_mut().zip(self.hashes) {
            *out = ((hash.wrapping_mul(self.mix) >> 32) * self.lanes >> 32) as u32;
        }
    }
}

/// Adds the number of rows of each lane to `counts`.
///
/// # Panics
///
/// If a lane is not below the number of counts.
pub fn count_lanes(lanes: &[u32], counts: &mut [u32]) {
    for lane in lanes {
        counts[*lane as usize] += 1;
    }
}

/// Writes the place of each row to `out`: the next place of its lane, which it counts in `next`.
///
/// # Panics
///
/// If a lane is not below the length of `next`, or `out` has another length than `lanes`.
pub fn place_rows(lanes: &[u32], next: &mut [u32], out: &mut [u32]) {
    assert_eq!(lanes.len(), out.len(), "one place per row");
    for (out, lane) in out.iter_mut().zip(lanes) {
        let next = &mut next[*lane as usize];
        *out = *next;
        *next += 1;
    }
}

/// Writes each value to its place in `out`.
///
/// # Panics
///
/// If there is not one place per value, or a place is not in `out`.
pub fn scatter<T: Copy>(values: &[T], places: &[u32], out: &mut [T]) {
    assert_eq!(values.len(), places.len(), "one place per value");
    check_places(places, out.len());
    for (value, place) in values.iter().zip(places) {
        // SAFETY: the greatest place was compared with the length.
        *unsafe { out.get_unchecked_mut(*place as usize) } = *value;
    }
}

/// Writes `values[index]` of each index to its place in `out`.
///
/// # Panics
///
/// If there is not one place per index, a place is not in `out`, or an index is of no value.
pub fn scatter_indexed<T: Copy>(values: &[T], indices: &[u32], places: &[u32], out: &mut [T]) {
    assert_eq!(indices.len(), places.len(), "one place per index");
    assert!(indices.is_empty() || (max_u32(indices) as usize) < values.len(), "index of no value");
    check_places(places, out.len());
    for (index, place) in indices.iter().zip(places) {
        // SAFETY: the greatest index was compared with the number of values.
        let value = *unsafe { values.get_unchecked(*index as usize) };
        // SAFETY: the greatest place was compared with the length.
        *unsafe { out.get_unchecked_mut(*place as usize) } = value;
    }
}

/// Writes one bit per row, from bit `first` of `bytes` on, as a byte of 0 or 1 to the row's place
/// in `out`. No branch depends on a bit.
///
/// # Panics
///
/// If a bit is not in `bytes`, or a place is not in `out`.
pub fn scatter_bits(bytes: &[u8], first: usize, places: &[u32], out: &mut [u8]) {
    assert!(first + places.len() <= bytes.len() * 8, "a bit per row");
    check_places(places, out.len());
    for (row, place) in places.iter().enumerate() {
        let bit = first + row;
        // SAFETY: the last bit was compared with the number of bits.
        let byte = *unsafe { bytes.get_unchecked(bit / 8) };
        // SAFETY: the greatest place was compared with the length.
        *unsafe { out.get_unchecked_mut(*place as usize) } = byte >> (bit % 8) & 1;
    }
}

/// Bytes that [`copy_string`] copies at a time.
const COPY_BYTES: usize = 64;

/// Bytes after a copied string that [`copy_string`] may overwrite.
pub const COPY_SLACK: usize = COPY_BYTES - 1;

/// Copies `len` bytes of `source` from `from` on to `target` at `at`. Copies 64 bytes at a time,
/// where both have them, so that no branch depends on the length of a shorter string: what follows
/// in `target`, up to [`COPY_SLACK`] bytes, may be overwritten.
///
/// # Panics
///
/// If the bytes are not in `source`, or do not fit in `target`.
#[inline(always)]
pub fn copy_string(source: &[u8], from: usize, len: usize, target: &mut [u8], at: usize) {
    let mut done = 0;
    while done < len {
        let read = source.get(from + done..).and_then(<[u8]>::first_chunk::<COPY_BYTES>);
        let write = target.get_mut(at + done..).and_then(<[u8]>::first_chunk_mut::<COPY_BYTES>);
        let (Some(read), Some(write)) = (read, write) else { break };
        *write = *read;
        done += COPY_BYTES;
    }
    if done < len {
        target[at + done..at + len].copy_from_slice(&source[from + done..from + len]);
    }
}

/// Packs bytes of 0 or 1 into bits, the lowest one first.
///
/// # Panics
///
/// If `out` has fewer bits than there are bytes.
pub fn pack_bytes(bytes: &[u8], out: &mut [u8]) {
    assert!(bytes.len() <= out.len() * 8, "one bit per byte");
    let (chunks, rest) = bytes.as_chunks::<8>();
    for (chunk, out) in chunks.iter().zip(out.iter_mut()) {
        // The bytes meet, each as one bit, in the top byte of the product.
        *out = (u64::from_le_bytes(*chunk).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
    if !rest.is_empty() {
        out[chunks.len()] =
            rest.iter().enumerate().fold(0, |byte, (bit, it)| byte | (it & 1) << bit);
    }
}

fn check_places(places: &[u32], len: usize) {
    assert!(places.is_empty() || (max_u32(places) as usize) < len, "place beyond the output");
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 8] = [0, 1, 7, 8, 63, 64, 65, 1000];

    fn lanes_of(rows: usize, lanes: u32) -> Vec<u32> {
        let mut random = fastrand::Rng::with_seed(rows as u64);
        (0..rows).map(|_| random.u32(..lanes)).collect()
    }

    /// The places of rows when each lane's rows follow those of the lane before.
    fn places(lanes: &[u32], count: u32) -> Vec<u32> {
        let mut counts = vec![0; count as usize];
        count_lanes(lanes, &mut counts);
        let mut next: Vec<u32> = counts
            .iter()
            .scan(0, |end, it| {
                *end += it;
                Some(*end - it)
            })
            .collect();
        let mut places = vec![0; lanes.len()];
        place_rows(lanes, &mut next, &mut places);
        places
    }

    #[test]
    fn lanes_are_those_of_the_division_free_formula_and_even() {
        for rows in SIZES {
            for lanes in [1, 3, 4, 64, 256] {
                let hashes: Vec<u64> = (0..rows as u64).map(crate::hash::hash_bits).collect();
                let mix = 0x9e37_79b9_7f4a_7c15;
                let mut out = vec![0; rows];
                lane_of_hashes(&hashes, mix, lanes, &mut out);
                for (hash, lane) in hashes.iter().zip(&out) {
                    let high = u128::from(hash.wrapping_mul(mix) >> 32);
                    assert_eq!(u128::from(*lane), high * u128::from(lanes) / (1 << 32));
                }
            }
        }
        let hashes: Vec<u64> = (0..64_000).map(crate::hash::hash_bits).collect();
        let (mut out, mut counts) = (vec![0; 64_000], [0; 64]);
        lane_of_hashes(&hashes, 0x9e37_79b9_7f4a_7c15, 64, &mut out);
        count_lanes(&out, &mut counts);
        assert!(counts.iter().all(|it| (800..1200).contains(it)), "{counts:?}");
    }

    #[test]
    fn scattered_rows_are_sorted_by_lane_and_keep_their_order() {
        for rows in SIZES {
            for count in [1, 4, 256] {
                let lanes = lanes_of(rows, count);
                let places = places(&lanes, count);
                let mut sorted: Vec<u32> = (0..rows as u32).collect();
                sorted.sort_by_key(|it| lanes[*it as usize]);
                let values: Vec<u64> = (0..rows as u64).map(|it| it * 3).collect();
                let mut out = vec![0; rows];
                scatter(&values, &places, &mut out);
                let expected: Vec<u64> = sorted.iter().map(|it| u64::from(*it) * 3).collect();
                assert_eq!(out, expected);
                let indices: Vec<u32> = (0..rows as u32).rev().collect();
                scatter_indexed(&values, &indices, &places, &mut out);
                let expected: Vec<u64> =
                    sorted.iter().map(|it| (rows as u64 - 1 - u64::from(*it)) * 3).collect();
                assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn bits_are_scattered_and_packed_from_any_position() {
        let bytes: Vec<u8> = (0..200u32).map(|it| (it * 37 % 251) as u8).collect();
        for rows in SIZES {
            for first in [0, 1, 7, 9] {
                let places = places(&lanes_of(rows, 5), 5);
                let mut out = vec![9; rows];
                scatter_bits(&bytes, first, &places, &mut out);
                for (row, place) in places.iter().enumerate() {
                    let bit = first + row;
                    assert_eq!(out[*place as usize], bytes[bit / 8] >> (bit % 8) & 1);
                }
                let mut packed = vec![0; rows.div_ceil(8)];
                pack_bytes(&out, &mut packed);
                for (row, bit) in out.iter().enumerate() {
                    assert_eq!(packed[row / 8] >> (row % 8) & 1, *bit);
                }
            }
        }
    }

    #[test]
    fn strings_are_copied_and_no_more_than_the_slack_is_overwritten() {
        let source: Vec<u8> = (0..200).collect();
        const ROOM: usize = 300;
        for len in [0, 1, 13, 16, 63, 64, 65, 100] {
            for from in [0, 3, 200 - len] {
                for at in [0, 5, ROOM - len] {
                    let mut target = vec![255; ROOM];
                    copy_string(&source, from, len, &mut target, at);
                    assert_eq!(target[at..at + len], source[from..from + len]);
                    assert!(target[..at].iter().all(|it| *it == 255));
                    let rest = target.get(at + len + COPY_SLACK..).unwrap_or(&[]);
                    assert!(rest.iter().all(|it| *it == 255));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "place beyond the output")]
    fn a_place_beyond_the_output_is_a_panic() {
        scatter(&[1u8, 2], &[0, 2], &mut [0, 0]);
    }

    #[test]
    #[should_panic(expected = "index of no value")]
    fn an_index_of_no_value_is_a_panic() {
        scatter_indexed(&[1u8, 2], &[2], &[0], &mut [0]);
    }
}
