//! Set of integer keys for semi and anti joins, which need no build rows.
//!
//! ```text
//! page     the bits of 65,536 neighboring integers, made when the first of them comes
//! finish   one bitmap from the first page to the last
//! ```
//!
//! Keys that are too far apart are stored in rows like all others.

use hashbrown::{HashMap, hash_map::Entry};
use volley_error::Result;
use volley_expression::filter::KeyFilter;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::{Type, match_integer};
use volley_vector::{Decoded, Vector};

/// A page has this many bits.
const PAGE_SHIFT: u32 = 16;
const PAGE_WORDS: usize = 1 << (PAGE_SHIFT - 6);
const PAGE_BYTES: usize = PAGE_WORDS * 8;

/// Beside a number of bytes that are free, pages may take this much per key that came: less than a
/// row.
const BYTES_PER_KEY: usize = 8;

/// The bitmap may take this many times as much as the pages, or the free bytes.
const SPREAD_MAX: u128 = 2;

type Page = [u64; PAGE_WORDS];

/// A set of integers.
#[derive(Debug)]
pub(super) struct KeySet {
    /// Pages may take this much in any case.
    free_bytes: usize,
    pages: Vec<Box<Page>>,
    /// Where the page of a key, shifted right, stands.
    places: HashMap<i64, usize, foldhash::fast::FixedState>,
    /// Keys that came.
    keys: usize,
    charge: Reservation,
}

impl KeySet {
    /// An empty set, charged to `pool`, whose pages may take `free_bytes` in any case.
    pub(super) fn new(free_bytes: usize, pool: &Pool) -> KeySet {
        let (pages, places) = (Vec::new(), HashMap::default());
        KeySet { free_bytes, pages, places, keys: 0, charge: pool.reservation() }
    }

    /// Adds the values of `column`, nulls apart; false when they are too far apart: then only some
    /// were added.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn insert(&mut self, column: &Decoded) -> Result<bool> {
        self.keys += column.len();
        let nulls = column.nulls();
        let rows =
            (0..column.len()).filter(|row| nulls.as_ref().is_none_or(|it| it.is_valid(*row)));
        match_integer!(column.values().physical(), T => {
            let values = column.values().native::<T>().unwrap_or_default();
            self.insert_values(rows.map(|row| values[column.index(row)] as i64))
        }, else Ok(true))
    }

    fn insert_values(&mut self, values: impl Iterator<Item = i64>) -> Result<bool> {
        // Neighbors often share their page.
        let (mut number, mut place) = (0, usize::MAX);
        for value in values {
            if value >> PAGE_SHIFT != number || place == usize::MAX {
                number = value >> PAGE_SHIFT;
                let Some(found) = self.place_of(number)? else { return Ok(false) };
                place = found;
            }
            let (word, bit) = ((value >> 6) as usize % PAGE_WORDS, value as u64 % 64);
            self.pages[place][word] |= 1 << bit;
        }
        Ok(true)
    }

    /// Where page `number` stands, which is made if need be; `None` when that would be too many.
    fn place_of(&mut self, number: i64) -> Result<Option<usize>> {
        let place = self.pages.len();
        let bytes = (place + 1) * PAGE_BYTES;
        match self.places.entry(number) {
            Entry::Occupied(entry) => Ok(Some(*entry.get())),
            Entry::Vacant(_) if bytes > self.free_bytes + self.keys * BYTES_PER_KEY => Ok(None),
            Entry::Vacant(entry) => {
                self.charge.grow(PAGE_BYTES)?;
                self.pages.push(Box::new([0; PAGE_WORDS]));
                entry.insert(place);
                Ok(Some(place))
            }
        }
    }

    /// Adds the keys of another set.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub(super) fn absorb(&mut self, other: KeySet) -> Result<()> {
        self.keys += other.keys;
        let mut pages: Vec<_> = other.pages.into_iter().map(Some).collect();
        for (number, from) in other.places {
            check_cancelled()?;
            let Some(page) = pages[from].take() else { continue };
            match self.places.entry(number) {
                Entry::Occupied(entry) => {
                    let words = self.pages[*entry.get()].iter_mut();
                    words.zip(page.iter()).for_each(|(word, other)| *word |= other);
                }
                Entry::Vacant(entry) => {
                    self.charge.grow(PAGE_BYTES)?;
                    entry.insert(self.pages.len());
                    self.pages.push(page);
                }
            }
        }
        Ok(())
    }

    /// The number of different keys.
    pub(super) fn len(&self) -> usize {
        self.pages.iter().flat_map(|it| it.iter()).map(|it| it.count_ones() as usize).sum()
    }

    /// All keys as an exact filter, with memory from `charge`; `None` when the pages are too far
    /// apart.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub(super) fn filter(&self, charge: &mut Reservation) -> Result<Option<KeyFilter>> {
        let number = |it: Option<&i64>| it.copied().unwrap_or_default();
        let first = number(self.places.keys().min());
        let pages = (i128::from(number(self.places.keys().max())) - i128::from(first)) as u128 + 1;
        let bytes = pages * PAGE_BYTES as u128;
        if bytes > (self.pages.len() * PAGE_BYTES) as u128 * SPREAD_MAX + self.free_bytes as u128 {
            return Ok(None);
        }
        charge.grow(bytes as usize)?;
        let mut words = vec![0; pages as usize * PAGE_WORDS];
        for (number, place) in &self.places {
            check_cancelled()?;
            let start = (number - first) as usize * PAGE_WORDS;
            words[start..start + PAGE_WORDS].copy_from_slice(&*self.pages[*place]);
        }
        Ok(Some(KeyFilter::bitmap(first << PAGE_SHIFT, words)))
    }

    /// Calls `take` with columns of `data_type` that hold all keys, a page's at a time.
    ///
    /// # Errors
    ///
    /// Those of `take`; cancelled.
    pub(super) fn for_each_page(
        &self,
        data_type: &Type,
        mut take: impl FnMut(Vector) -> Result<()>,
    ) -> Result<()> {
        for (number, place) in &self.places {
            check_cancelled()?;
            let mut keys = Vec::new();
            for (word, bits) in self.pages[*place].iter().enumerate() {
                let mut bits = *bits;
                while bits != 0 {
                    let below = (word * 64) as i64 + i64::from(bits.trailing_zeros());
                    keys.push(number << PAGE_SHIFT | below);
                    bits &= bits - 1;
                }
            }
            match_integer!(data_type.physical(), T => {
                let keys: Vec<T> = keys.iter().map(|it| *it as T).collect();
                take(Vector::native::<T>(data_type.clone(), keys, None))?;
            }, else {});
        }
        Ok(())
    }
}
