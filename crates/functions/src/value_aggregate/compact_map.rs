//! A hash map that is small for few entries.
//!
//! ```text
//! one entry   in the map itself
//! entries     in the order in which they came
//! index       of more than 8 entries: open addressing, positions of entries from 1, half full;
//!             of very many in parts, by the hashes' high bits, so that none takes long to grow
//! ```
//!
//! The caller defines hashes and equality: it may look up keys in another form than the stored one.

/// Entries that are found by looking at each one.
const SCANNED_MAX: usize = 8;

/// From this number of entries on, the index is divided.
const PARTED_MIN: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// How many.
const PARTS: usize = if cfg!(test) { 4 } else { 256 };

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
    index: Index,
}

/// Slots with positions of entries from 1, or 0; as many as a power of two, or none.
type Slots = Box<[u32]>;

#[derive(Clone)]
enum Index {
    Whole(Slots),
    /// [`PARTS`] of them.
    Parts(Box<[Part]>),
}

#[derive(Clone)]
struct Part {
    slots: Slots,
    used: usize,
}

impl<K, V> Default for CompactMap<K, V> {
    fn default() -> CompactMap<K, V> {
        CompactMap { entries: Entries::None, key_bytes: 0 }
    }
}

impl<K, V> CompactMap<K, V> {
    /// The entries in the order of arrival.
    pub(crate) fn entries(&self) -> &[(K, V)] {
        match &self.entries {
            Entries::None => &[],
            Entries::One(entry) => std::slice::from_ref(entry),
            Entries::Many(many) => &many.entries,
        }
    }

    /// The entries in the order of arrival, without the map.
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
                let many =
                    Many { entries: vec![first, entry], index: Index::Whole(Slots::default()) };
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
        let (slots, parts) = match &self.index {
            Index::Whole(slots) => (slots.len(), 0),
            Index::Parts(parts) => {
                (parts.iter().map(|it| it.slots.len()).sum(), size_of_val(&**parts))
            }
        };
        size_of::<Many<K, V>>() + entries + slots * size_of::<u32>() + parts
    }

    #[inline]
    fn find(&self, hash: impl FnOnce() -> u64, is_key: impl Fn(&K) -> bool) -> Option<usize> {
        let (hash, slots) = match &self.index {
            Index::Whole(slots) if slots.is_empty() => {
                return self.entries.iter().position(|it| is_key(&it.0));
            }
            Index::Whole(slots) => (hash(), slots),
            Index::Parts(parts) => {
                let hash = hash();
                (hash, &parts[part_of(hash)].slots)
            }
        };
        let mask = slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let position = slots[at].checked_sub(1)? as usize;
            if is_key(&self.entries[position].0) {
                return Some(position);
            }
            at = (at + 1) & mask;
        }
    }

    fn push(&mut self, entry: (K, V), hash: impl Fn(&K) -> u64) -> usize {
        let position = self.entries.len();
        self.entries.push(entry);
        let (entries, count) = (&self.entries, position + 1);
        let hash_at = |position: usize| hash(&entries[position].0);
        match &mut self.index {
            Index::Parts(parts) => push_part(parts, position, hash_at),
            Index::Whole(slots) if count * 2 <= slots.len() => {
                put(slots, hash_at(position), position);
            }
            Index::Whole(_) if count <= SCANNED_MAX => {}
            Index::Whole(slots) if count < PARTED_MIN => {
                *slots = vec![0; (count * 4).next_power_of_two()].into();
                (0..count).for_each(|it| put(slots, hash_at(it), it));
            }
            Index::Whole(_) => {
                let slots = vec![0; (count * 4 / PARTS).next_power_of_two()].into();
                let mut parts = vec![Part { slots, used: 0 }; PARTS].into_boxed_slice();
                (0..count).for_each(|it| push_part(&mut parts, it, hash_at));
                self.index = Index::Parts(parts);
            }
        }
        position
    }
}

/// The part of an index that keys with `hash` are in.
#[inline]
fn part_of(hash: u64) -> usize {
    (hash >> (u64::BITS - PARTS.ilog2())) as usize
}

/// Adds an entry to its part; `hash_at`: of the entry at a position.
fn push_part(parts: &mut [Part], position: usize, hash_at: impl Fn(usize) -> u64) {
    let hash = hash_at(position);
    let part = &mut parts[part_of(hash)];
    part.used += 1;
    if part.used * 2 > part.slots.len() {
        let larger = vec![0; (part.used * 4).next_power_of_two()].into();
        for slot in std::mem::replace(&mut part.slots, larger) {
            if let Some(known) = slot.checked_sub(1) {
                put(&mut part.slots, hash_at(known as usize), known as usize);
            }
        }
    }
    put(&mut part.slots, hash, position);
}

/// Puts a position where keys with `hash` are looked for; there must be room.
fn put(slots: &mut [u32], hash: u64, position: usize) {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    slots[at] = position as u32 + 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether keys of `hash` are found where they were put, with maps of all sizes.
    #[track_caller]
    fn check(hash: impl Fn(u64) -> u64) {
        let mut map = CompactMap::default();
        for key in 0..2000u64 {
            let find =
                |map: &CompactMap<u64, u64>, key: u64| map.find(|| hash(key), |it| *it == key);
            assert_eq!(find(&map, key), None);
            let position = map.push(key, 3, key * 2, |it| hash(*it));
            assert_eq!((position, find(&map, key)), (key as usize, Some(key as usize)));
            *map.value_mut(position) += 1;
            if key % 97 == 0 {
                assert!((0..=key).all(|it| find(&map, it) == Some(it as usize)));
            }
        }
        let is_parted =
            matches!(&map.entries, Entries::Many(it) if matches!(it.index, Index::Parts(_)));
        assert!(is_parted && map.bytes() >= 2000 * (16 + 8 + 3));
        assert!(map.into_entries().eq((0..2000).map(|it| (it, it * 2 + 1))));
    }

    #[test]
    fn keys_are_found_whatever_their_hashes() {
        check(|key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        check(|key| key);
        check(|key| key << 62);
        check(|_| u64::MAX);
    }
}
