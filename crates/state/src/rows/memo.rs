//! The strings of a batch that the heap holds already.

use volley_error::Result;
use volley_memory::Reservation;

/// As many entries as that; a power of two.
const ENTRIES: usize = 1024;

/// The places of strings that rows of one batch share: dictionaries, and rows that a join repeats.
/// A table of one entry per slot, in which later strings replace earlier ones.
#[derive(Debug, Default)]
pub(super) struct StringMemo {
    /// Empty until the first batch whose rows share strings.
    entries: Vec<Entry>,
    /// The number of the present batch; entries of others do not count.
    batch: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    batch: u32,
    /// In the base of the batch's column.
    position: u32,
    view: u128,
}

impl StringMemo {
    /// Forgets all strings. The first call charges the table.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn begin(&mut self, reservation: &mut Reservation) -> Result<()> {
        if self.entries.is_empty() {
            reservation.grow(ENTRIES * size_of::<Entry>())?;
            self.entries = vec![Entry::default(); ENTRIES];
        }
        self.batch = self.batch.wrapping_add(1);
        if self.batch == 0 {
            self.entries.fill(Entry::default());
            self.batch = 1;
        }
        Ok(())
    }

    /// The view of the string at `position`, if it is known; else what `store` makes.
    #[inline]
    pub(super) fn get_or(
        &mut self,
        position: u32,
        store: impl FnOnce() -> Result<u128>,
    ) -> Result<u128> {
        let entry = &mut self.entries[position as usize % ENTRIES];
        if (entry.batch, entry.position) != (self.batch, position) {
            *entry = Entry { batch: self.batch, position, view: store()? };
        }
        Ok(entry.view)
    }
}
