//! The values of a group, in segments, so that growing copies nothing large.

use volley_types::Native;
use volley_vector::ScalarBuffer;

/// The largest piece that grows, in bytes; a longer one is left as it is.
const PIECE_BYTES: usize = if cfg!(test) { 64 } else { 256 << 10 };

/// From this number of bytes on, another group's values are shared instead of copied.
const SHARED_BYTES: usize = if cfg!(test) { 32 } else { 32 << 10 };

/// Values that are not null, in no order.
#[derive(Clone)]
pub(super) struct GroupValues<T: Native> {
    /// Pieces that do not grow any more.
    pieces: Option<Box<Pieces<T>>>,
    last: Vec<T>,
}

#[derive(Clone)]
struct Pieces<T: Native> {
    all: Vec<ScalarBuffer<T>>,
    /// Values in them.
    len: usize,
}

impl<T: Native> GroupValues<T> {
    const PIECE: usize = PIECE_BYTES / size_of::<T>();

    pub(super) fn new() -> GroupValues<T> {
        GroupValues { pieces: None, last: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.last.len() + self.pieces.as_ref().map_or(0, |it| it.len)
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) {
        if self.last.len() == Self::PIECE {
            self.end_piece();
        }
        self.last.push(value);
    }

    pub(super) fn extend(&mut self, mut values: &[T]) {
        while !values.is_empty() {
            if self.last.len() == Self::PIECE {
                self.end_piece();
            }
            let count = values.len().min(Self::PIECE - self.last.len());
            let (first, others) = values.split_at(count);
            self.last.extend_from_slice(first);
            values = others;
        }
    }

    /// Adds `len` values of `values` from `start` on; keeps them alive where they are many.
    pub(super) fn share(&mut self, values: &ScalarBuffer<T>, start: usize, len: usize) {
        match len * size_of::<T>() >= SHARED_BYTES {
            true => self.add_piece(values.slice(start, len)),
            false => self.extend(&values[start..start + len]),
        }
    }

    fn end_piece(&mut self) {
        let last = std::mem::replace(&mut self.last, Vec::with_capacity(Self::PIECE));
        self.add_piece(last.into());
    }

    fn add_piece(&mut self, piece: ScalarBuffer<T>) {
        let none = || Box::new(Pieces { all: Vec::new(), len: 0 });
        let pieces = self.pieces.get_or_insert_with(none);
        pieces.len += piece.len();
        pieces.all.push(piece);
    }

    /// All values, piece by piece.
    pub(super) fn slices(&self) -> Vec<&[T]> {
        let pieces = self.pieces.iter().flat_map(|it| &it.all).map(|it| &**it);
        pieces.chain([&*self.last]).filter(|it| !it.is_empty()).collect()
    }

    /// Moves all values to the end of `to`; gives memory back on the way.
    pub(super) fn move_to(&mut self, to: &mut Vec<T>) {
        for piece in self.pieces.take().into_iter().flat_map(|it| it.all) {
            to.extend_from_slice(&piece);
        }
        to.extend_from_slice(&std::mem::take(&mut self.last));
    }

    /// Takes the values where they are one piece that does not grow any more.
    pub(super) fn take_piece(&mut self) -> Option<ScalarBuffer<T>> {
        let is_one = self.last.is_empty() && self.pieces.as_ref()?.all.len() == 1;
        if is_one { self.pieces.take()?.all.pop() } else { None }
    }

    /// Bytes of memory outside the struct.
    pub(super) fn heap_bytes(&self) -> usize {
        let pieces = self.pieces.as_ref().map_or(0, |it| {
            size_of::<Pieces<T>>()
                + it.all.capacity() * size_of::<ScalarBuffer<T>>()
                + it.len * size_of::<T>()
        });
        pieces + self.last.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values_of(group: &GroupValues<i64>) -> Vec<i64> {
        group.slices().concat()
    }

    #[test]
    fn values_stay_as_they_were_added() {
        let (mut group, mut expected) = (GroupValues::<i64>::new(), Vec::new());
        assert_eq!((group.len(), group.heap_bytes()), (0, 0));
        let shared: ScalarBuffer<i64> = (0..100).collect();
        for round in 0..30 {
            (0..round).for_each(|it| group.push(it));
            expected.extend(0..round);
            group.extend(&shared[..round as usize]);
            expected.extend(0..round);
            group.share(&shared, 10, round as usize);
            expected.extend(10..10 + round);
            assert_eq!(group.len(), expected.len());
            let mut sorted = (values_of(&group), expected.clone());
            sorted.0.sort_unstable();
            sorted.1.sort_unstable();
            assert_eq!(sorted.0, sorted.1);
        }
        assert!(group.heap_bytes() >= expected.len() * 8);
        let mut moved = vec![7];
        let before = values_of(&group);
        group.move_to(&mut moved);
        assert_eq!(moved[1..], before);
        assert_eq!((group.len(), group.heap_bytes()), (0, 0));
    }

    #[test]
    fn many_values_of_others_are_shared() {
        let mut group = GroupValues::<i64>::new();
        let shared: ScalarBuffer<i64> = (0..100).collect();
        group.share(&shared, 2, 50);
        let piece = group.take_piece().unwrap();
        assert_eq!(piece.as_ptr(), shared[2..].as_ptr());
        assert_eq!((piece.len(), group.len()), (50, 0));
        assert!(group.take_piece().is_none());
        group.share(&shared, 2, 50);
        group.push(1);
        assert!(group.take_piece().is_none());
        assert_eq!(group.len(), 51);
    }
}
