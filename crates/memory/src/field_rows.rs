//! Rows of memory with one field each, for values whose type only the owner knows.

use crate::Slots;
use std::any::TypeId;

/// Rows with a value each, in one piece of memory.
///
/// Values are not dropped with the rows: the owner, which knows their type, must drop them.
pub struct FieldRows {
    words: Vec<u128>,
    words_per_row: usize,
    type_id: TypeId,
    /// The rows that [`FieldRows::slots`] picked last.
    picked: Vec<*mut u8>,
}

impl FieldRows {
    /// `count` rows with room for a value of `bytes` bytes, whose alignment is 16 bytes at most.
    /// `init` writes a value into every slot.
    pub fn new(
        count: usize,
        bytes: usize,
        type_id: TypeId,
        init: impl FnOnce(&mut Slots<'_>),
    ) -> FieldRows {
        let words_per_row = bytes.div_ceil(size_of::<u128>()).max(1);
        let words = vec![0; words_per_row * count];
        let mut rows = FieldRows { words, words_per_row, type_id, picked: Vec::new() };
        init(&mut rows.slots(0..count));
        rows
    }

    /// The values of `rows`, which may repeat.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn slots(&mut self, rows: impl IntoIterator<Item = usize>) -> Slots<'_> {
        let count = self.words.len() / self.words_per_row;
        let base = self.words.as_mut_ptr();
        let words_per_row = self.words_per_row;
        self.picked.clear();
        self.picked.extend(rows.into_iter().map(|row| {
            assert!(row < count, "no such row");
            base.wrapping_add(row * words_per_row).cast::<u8>()
        }));
        // SAFETY: each row lies within `words`, is aligned to 16 bytes, has room for the type and,
        // once `init` is done, a value of it; `self` is borrowed for as long as the slots live.
        unsafe { Slots::new(&self.picked, 0, self.type_id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_values_of_any_size() {
        let mut rows = FieldRows::new(3, size_of::<[u64; 5]>(), TypeId::of::<[u64; 5]>(), |it| {
            let mut slots = it.typed::<[u64; 5]>();
            (0..slots.len()).for_each(|at| slots.write(at, [at as u64; 5]));
        });
        let mut slots = rows.slots([2, 0, 2]);
        let mut slots = slots.typed::<[u64; 5]>();
        slots.get(0)[4] += 10;
        slots.get(2)[4] += 100;
        assert_eq!(*slots.get(0), [2, 2, 2, 2, 112]);
        assert_eq!(*slots.get(1), [0; 5]);
    }

    #[test]
    #[should_panic(expected = "no such row")]
    fn rows_that_are_not_there_are_refused() {
        FieldRows::new(1, 8, TypeId::of::<u64>(), |_| ()).slots([1]);
    }
}
