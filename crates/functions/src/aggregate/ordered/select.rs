//! Selects the keys at positions in the order of many values, without sorting or copying the
//! values.
//!
//! ```text
//! sample   the keys of some values, sorted, tell between which keys the places are, most likely
//! count    of all values: those before these keys, those that are equal, those behind; the few
//!          between them are collected
//! select   among these; where the places are outside, again with keys that are further apart
//! ```

use super::CHECKED_VALUES;
use std::cmp::Ordering;
use volley_error::Result;
use volley_memory::check_cancelled;

/// How many values the sample has.
const SAMPLE: usize = if cfg!(test) { 16 } else { 1 << 14 };

/// How far from its place in the sample a key may be, at first: four times the deviation that is to
/// be expected at most.
const MARGIN: usize = if cfg!(test) { 2 } else { 2 << 7 };

/// The keys at two ranks, counted from 0, of at least one value in `pieces`.
///
/// # Errors
///
/// Those of `key`; cancelled.
pub(super) fn keys_at<T: Copy, K: Copy + Ord>(
    pieces: &[&[T]],
    ranks: [usize; 2],
    key: &impl Fn(T) -> Result<K>,
) -> Result<[K; 2]> {
    let count: usize = pieces.iter().map(|it| it.len()).sum();
    let sample = sample(pieces, count, key)?;
    let mut margin = MARGIN;
    loop {
        let found = Narrowed::new(pieces, window(&sample, ranks, count, margin), key)?;
        if let Some(keys) = found.keys_at(ranks) {
            return Ok(keys);
        }
        margin = margin.saturating_mul(4);
    }
}

/// The keys of one value out of each stretch of `pieces`, in order.
fn sample<T: Copy, K: Copy + Ord>(
    pieces: &[&[T]],
    count: usize,
    key: &impl Fn(T) -> Result<K>,
) -> Result<Vec<K>> {
    let size = SAMPLE.min(count);
    let mut keys = Vec::with_capacity(size);
    let (mut pieces, mut start) = (pieces.iter(), 0);
    let mut piece: &[T] = &[];
    let mut random = 1u64;
    for index in 0..size {
        let stretch = index * count / size..(index + 1) * count / size;
        // Marsaglia's xorshift: values at equal distances may be alike.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let position = stretch.start + random as usize % stretch.len().max(1);
        while position >= start + piece.len() {
            start += piece.len();
            let Some(next) = pieces.next() else { break };
            piece = next;
        }
        if let Some(value) = piece.get(position - start) {
            keys.push(key(*value)?);
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

/// The keys of a sorted sample around two ranks; `None`: no bound.
fn window<K: Copy>(
    sample: &[K],
    ranks: [usize; 2],
    count: usize,
    margin: usize,
) -> (Option<K>, Option<K>) {
    let place = |rank: usize| (rank as u128 * sample.len() as u128 / count as u128) as usize;
    let (low, high) = (ranks[0].min(ranks[1]), ranks[0].max(ranks[1]));
    let first = place(low).checked_sub(margin);
    let last = place(high).saturating_add(margin);
    (first.and_then(|it| sample.get(it)).copied(), sample.get(last).copied())
}

/// What there is between two keys, and how much outside.
struct Narrowed<K> {
    window: (Option<K>, Option<K>),
    before: usize,
    /// Equal to the lower and the upper key.
    equal: (usize, usize),
    between: Vec<K>,
}

impl<K: Copy + Ord> Narrowed<K> {
    fn new<T: Copy>(
        pieces: &[&[T]],
        window: (Option<K>, Option<K>),
        key: &impl Fn(T) -> Result<K>,
    ) -> Result<Narrowed<K>> {
        let mut narrowed = Narrowed { window, before: 0, equal: (0, 0), between: Vec::new() };
        for part in pieces.iter().flat_map(|it| it.chunks(CHECKED_VALUES)) {
            check_cancelled()?;
            part.iter().try_for_each(|it| key(*it).map(|it| narrowed.add(it)))?;
        }
        Ok(narrowed)
    }

    #[inline(always)]
    fn add(&mut self, key: K) {
        let from_low = self.window.0.map_or(Ordering::Greater, |it| key.cmp(&it));
        let from_high = self.window.1.map_or(Ordering::Less, |it| key.cmp(&it));
        match (from_low, from_high) {
            (Ordering::Less, _) => self.before += 1,
            (Ordering::Equal, _) => self.equal.0 += 1,
            (Ordering::Greater, Ordering::Less) => self.between.push(key),
            (Ordering::Greater, Ordering::Equal) => self.equal.1 += 1,
            (Ordering::Greater, Ordering::Greater) => {}
        }
    }

    /// The keys at two ranks; `None` where one is outside.
    fn keys_at(mut self, ranks: [usize; 2]) -> Option<[K; 2]> {
        Some([self.key_at(ranks[0])?, self.key_at(ranks[1])?])
    }

    fn key_at(&mut self, rank: usize) -> Option<K> {
        let rank = rank.checked_sub(self.before)?;
        let Some(rank) = rank.checked_sub(self.equal.0) else { return self.window.0 };
        match rank.checked_sub(self.between.len()) {
            None => Some(*self.between.select_nth_unstable(rank).1),
            Some(rank) if rank < self.equal.1 => self.window.1,
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether all ranks of `values`, in pieces, are found.
    fn all_found(values: &[i32]) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        for pieces in [1, 3, 50] {
            let pieces: Vec<&[i32]> = values.chunks(values.len().div_ceil(pieces)).collect();
            for rank in 0..values.len() {
                let next = (rank + 1).min(values.len() - 1);
                let keys = keys_at(&pieces, [rank, next], &Ok).unwrap();
                assert_eq!(keys, [sorted[rank], sorted[next]], "{rank} of {values:?}");
                assert_eq!(keys_at(&pieces, [next, rank], &Ok).unwrap(), [keys[1], keys[0]]);
            }
        }
    }

    #[test]
    fn keys_are_those_that_sorting_gives() {
        let mut random = fastrand::Rng::with_seed(1);
        all_found(&[7]);
        all_found(&[2, 1]);
        for distinct in [1, 2, 5, 1000] {
            let values: Vec<i32> = (0..300).map(|_| random.i32(0..distinct)).collect();
            all_found(&values);
        }
        all_found(&(0..300).collect::<Vec<_>>());
        all_found(&(0..300).rev().collect::<Vec<_>>());
        // Samples that tell nothing: most values are alike, or those of each stretch.
        all_found(&(0..300).map(|it| if it % 19 == 0 { it } else { 0 }).collect::<Vec<_>>());
        all_found(&(0..300).map(|it| (it % 18) * 1000 + it / 18).collect::<Vec<_>>());
    }

    #[test]
    fn few_values_are_collected() {
        let values: Vec<i32> = (0..10_000).map(|it| it * 7919 % 10_007).collect();
        let sample = sample(&[&values], values.len(), &Ok).unwrap();
        let window = window(&sample, [5000, 5001], values.len(), MARGIN);
        let narrowed = Narrowed::new(&[&values], window, &Ok).unwrap();
        assert!(narrowed.between.len() < 5000, "{}", narrowed.between.len());
    }

    #[test]
    fn a_key_that_cannot_be_made_is_an_error() {
        let fails = |it: i32| if it == 77 { Err(volley_error::Error::cancelled()) } else { Ok(it) };
        let values: Vec<i32> = (0..100).collect();
        assert!(keys_at(&[&values], [3, 4], &fails).is_err());
    }
}
