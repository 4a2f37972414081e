//! Entries that are found by their keys, small where they are few.
//!
//! ```text
//! one entry   in the map itself
//! entries     in the order in which they came
//! index       of more than 8 entries: open addressing, positions of entries from 1, half full
//! ```
//!
//! What keys are equal, and what their hashes are, the caller says: it may look for keys in another
//! form than the one that is kept.

/// Entries that are found by looking at each one.
const SCANNED_MAX: usize = 8;

/// A map from `K`s to `V`s.
#[derive(Clone)]
pub(crate) struct CompactMap<K, V> {
    entries: Entries<K, V>,
    /// Bytes on the heap that the keys hold.
    key_bytes: usize,
}

#[derive(Clone)]
enum Entries<K, V> {
    None,
    One((K, V)),
    Many(Box<Many<K, V>>),
}

#[derive(Clone)]
struct Many<K, V> {
    entries: Vec<(K, V)>,
    index: Box<[u32]>,
}

impl<K, V> Default for CompactMap<K, V> {
    fn default() -> CompactMap<K, V> {
        CompactMap { entries: Entries::None, key_bytes: 0 }
    }
}

impl<K, V> CompactMap<K, V> {
    /// The entries in the order in which they came.
    pub(crate) fn entries(&self) -> &[(K, V)] {
        match &self.entries {
            Entries::None => &[],
            Entries::One(entry) => std::slice::from_ref(entry),
            Entries::Many(many) => &many.entries,
        }
    }

    /// The entries in the order in which they came, without the map.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        let (one, many) = match self.entries {
            Entries::None => (None, Vec::new()),
            Entries::One(entry) => (Some(entry), Vec::new()),
            Entries::Many(many) => (None, many.entries),
        };
        one.into_iter().chain(many)
    }

    /// The value at a position that [`CompactMap::find`] or [`CompactMap::push`] gave.
    pub(crate) fn value_mut(&mut self, position: usize) -> &mut V {
        let entries = match &mut self.entries {
            Entries::None => &mut [],
            Entries::One(entry) => std::slice::from_mut(entry),
            Entries::Many(many) => &mut many.entries,
        };
        &mut entries[position].1
    }

    /// Bytes on the heap, without those of the `V`s.
    pub(crate) fn bytes(&self) -> usize {
        let many = match &self.entries {
            Entries::Many(many) => many.bytes(),
            _ => 0,
        };
        many + self.key_bytes
    }

    /// The position of the key that `is_key`, whose hash is asked for only where it is needed.
    #[inline]
    pub(crate) fn find(
        &self,
        hash: impl FnOnce() -> u64,
        is_key: impl Fn(&K) -> bool,
    ) -> Option<usize> {
        match &self.entries {
            Entries::None => None,
            Entries::One(entry) => is_key(&entry.0).then_some(0),
            Entries::Many(many) => many.find(hash, is_key),
        }
    }

    /// Adds a key that is not there, which holds `bytes` on the heap, and gives its position;
    /// `hash`: of any key.
    pub(crate) fn push(
        &mut self,
        key: K,
        bytes: usize,
        value: V,
        hash: impl Fn(&K) -> u64,
    ) -> usize {
        self.key_bytes += bytes;
        let entry = (key, value);
        let (entries, position) = match std::mem::replace(&mut self.entries, Entries::None) {
            Entries::None => (Entries::One(entry), 0),
            Entries::One(first) => {
                let many = Many { entries: vec![first, entry], index: Box::default() };
                (Entries::Many(Box::new(many)), 1)
            }
            Entries::Many(mut many) => {
                let position = many.push(entry, hash);
                (Entries::Many(many), position)
            }
        };
        self.entries = entries;
        position
    }
}

impl<K, V> Many<K, V> {
    fn bytes(&self) -> usize {
        let entries = self.entries.capacity() * size_of::<(K, V)>();
        size_of::<Many<K, V>>() + entries + self.index.len() * size_of::<u32>()
    }

    #[inline]
    fn find(&self, hash: impl FnOnce() -> u64, is_key: impl Fn(&K) -> bool) -> Option<usize> {
        if self.index.is_empty() {
            return self.entries.iter().position(|it| is_key(&it.0));
        }
        let mask = self.index.len() - 1;
        let mut at = hash() as usize & mask;
        loop {
            let position = self.index[at].checked_sub(1)? as usize;
            if is_key(&self.entries[position].0) {
                return Some(position);
            }
            at = (at + 1) & mask;
        }
    }

    fn push(&mut self, entry: (K, V), hash: impl Fn(&K) -> u64) -> usize {
        let position = self.entries.len();
        self.entries.push(entry);
        if self.entries.len() * 2 <= self.index.len() {
            self.put_index(&hash, position);
        } else if self.entries.len() > SCANNED_MAX {
            let slots = (self.entries.len() * 4).next_power_of_two();
            self.index = vec![0; slots].into_boxed_slice();
            (0..=position).for_each(|it| self.put_index(&hash, it));
        }
        position
    }

    fn put_index(&mut self, hash: &impl Fn(&K) -> u64, position: usize) {
        let mask = self.index.len() - 1;
        let mut at = hash(&self.entries[position].0) as usize & mask;
        while self.index[at] != 0 {
            at = (at + 1) & mask;
        }
        self.index[at] = position as u32 + 1;
    }
}
