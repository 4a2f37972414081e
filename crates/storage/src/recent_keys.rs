//! Keys that commits wrote since the oldest open transaction began: two transactions that write
//! the same key cannot see each other's row.

use crate::{TableChange, changes::KeyOf, key_index::SortedRuns};
use std::collections::{BTreeMap, HashMap, VecDeque};
use volley_pdt::Stamp;

/// Commits with fewer hashes of a key have them in a map; those of others are searched one commit
/// after the other.
const MAP_HASHES_MAX: usize = 1024;

/// The keys that a transaction wrote.
pub(crate) fn written(change: &TableChange) -> impl Iterator<Item = (KeyOf, &SortedRuns<u64>)> {
    change.keys.iter().map(|(columns, hashes)| ((change.table.id, columns.clone()), hashes))
}

/// Keys with their hashes, as [`RecentKeys`] takes them.
pub(crate) fn of_map(
    keys: &BTreeMap<KeyOf, SortedRuns<u64>>,
) -> impl Iterator<Item = (KeyOf, &SortedRuns<u64>)> {
    keys.iter().map(|(key, hashes)| (key.clone(), hashes))
}

/// Hashes of keys by commit.
#[derive(Debug, Default)]
pub(crate) struct RecentKeys(BTreeMap<KeyOf, OfKey>);

#[derive(Debug, Default)]
struct OfKey {
    /// In the order of commits.
    commits: VecDeque<(Stamp, SortedRuns<u64>)>,
    /// The last commit that wrote a hash, of commits with few hashes.
    last: HashMap<u64, Stamp>,
}

impl RecentKeys {
    /// Whether a commit after `base` wrote one of these keys.
    pub(crate) fn has_later<'k>(
        &self,
        keys: impl IntoIterator<Item = (KeyOf, &'k SortedRuns<u64>)>,
        base: Stamp,
    ) -> bool {
        keys.into_iter().any(|(key, hashes)| {
            self.0.get(&key).is_some_and(|of_key| of_key.has_later(hashes, base))
        })
    }

    /// Notes keys that commit `stamp` wrote.
    pub(crate) fn add<'k>(
        &mut self,
        keys: impl IntoIterator<Item = (KeyOf, &'k SortedRuns<u64>)>,
        stamp: Stamp,
    ) {
        for (key, hashes) in keys.into_iter().filter(|it| !it.1.is_empty()) {
            let of_key = self.0.entry(key).or_default();
            if hashes.len() < MAP_HASHES_MAX {
                of_key.last.extend(hashes.iter().map(|it| (*it, stamp)));
            }
            of_key.commits.push_back((stamp, hashes.clone()));
        }
    }

    /// Forgets commits that every transaction has seen which began with `oldest` or later; all of
    /// them if there is none.
    pub(crate) fn forget(&mut self, oldest: Option<Stamp>) {
        let is_seen = |stamp: Stamp| oldest.is_none_or(|it| stamp <= it);
        self.0.retain(|_, of_key| {
            while let Some((stamp, hashes)) = of_key.commits.pop_front_if(|it| is_seen(it.0)) {
                if hashes.len() < MAP_HASHES_MAX {
                    for hash in hashes.iter() {
                        if of_key.last.get(hash) == Some(&stamp) {
                            of_key.last.remove(hash);
                        }
                    }
                }
            }
            !of_key.commits.is_empty()
        });
    }
}

impl OfKey {
    fn has_later(&self, hashes: &SortedRuns<u64>, base: Stamp) -> bool {
        let is_late = |it: &u64| self.last.get(it) > Some(&base);
        let large = self.commits.iter().rev().take_while(|it| it.0 > base);
        let large: Vec<_> = large.filter(|it| it.1.len() >= MAP_HASHES_MAX).collect();
        hashes.iter().any(|hash| is_late(hash) || large.iter().any(|it| it.1.contains(hash)))
    }
}
