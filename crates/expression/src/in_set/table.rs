//! Sets of keys, built for the kernels that search them.

use super::find_in;
use volley_kernels::membership::{BUCKET, Buckets, GROUP, Key, find_few, find_in_buckets};
use volley_types::Native;
use volley_vector::{Decoded, Rows};

/// At least one member.
pub(super) enum Table<K> {
    /// Compared one by one, in vector registers.
    Few(Vec<[K; GROUP]>),
    Buckets {
        slots: Vec<[K; BUCKET]>,
        filler: K,
    },
}

impl<K: Key + Ord> Table<K> {
    /// The set of `keys`; `None` when there are none.
    pub(super) fn new(keys: &[K]) -> Option<Table<K>> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let filler = *keys.first()?;
        if keys.len() <= K::FEW {
            let group = |it: &[K]| std::array::from_fn(|at| it.get(at).copied().unwrap_or(filler));
            return Some(Table::Few(keys.chunks(GROUP).map(group).collect()));
        }
        // Half full: few buckets overflow.
        let count = (keys.len() * 2 / BUCKET).next_power_of_two();
        let mut slots = vec![[filler; BUCKET]; count];
        for key in &keys[1..] {
            insert(&mut slots, filler, *key);
        }
        Some(Table::Buckets { slots, filler })
    }

    /// The bitmap of the rows whose key is a member.
    pub(super) fn find<T: Native>(
        &self,
        decoded: &Decoded,
        rows: &Rows,
        key: impl Fn(T) -> K + Copy,
    ) -> Vec<u64> {
        match self {
            Table::Few(groups) => find_in(
                decoded,
                rows,
                |values: &[T], words| find_few(values, key, groups, words),
                |value| groups.as_flattened().contains(&key(value)),
            ),
            Table::Buckets { slots, filler } => {
                let buckets = Buckets { slots, filler: *filler };
                find_in(
                    decoded,
                    rows,
                    |values: &[T], words| find_in_buckets(values, key, buckets, words),
                    |value| buckets.contains(key(value)),
                )
            }
        }
    }
}

/// Puts a key into its bucket or the next one with room; there are more slots than keys.
fn insert<K: Key>(slots: &mut [[K; BUCKET]], filler: K, key: K) {
    let mask = slots.len() - 1;
    let mut at = Buckets::<K>::first(slots.len(), key);
    loop {
        if let Some(slot) = slots[at].iter_mut().find(|it| **it == filler) {
            *slot = key;
            return;
        }
        at = (at + 1) & mask;
    }
}
