//! What a transaction changed, on top of what others committed meanwhile.

use super::{CatalogSnapshot, SchemaSnapshot};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};

impl CatalogSnapshot {
    /// `committed` with what differs between `base`, which a transaction began with, and `own`,
    /// which it made of it.
    ///
    /// # Errors
    ///
    /// Invalid query: others changed the same object since `base`.
    pub fn merge(
        base: &CatalogSnapshot,
        own: &CatalogSnapshot,
        committed: &CatalogSnapshot,
    ) -> Result<CatalogSnapshot> {
        let mut next = committed.clone();
        let none = SchemaSnapshot::default();
        for key in keys(&base.schemas, &own.schemas) {
            let (old, new) = (base.schemas.get(key), own.schemas.get(key));
            if old == new {
                continue;
            }
            let merged = match (old, new, committed.schemas.get(key)) {
                (None, Some(new), None) => Some(Arc::clone(new)),
                // Two transactions made it.
                (None, Some(new), Some(there)) => Some(merge_schemas(&none, new, there)?),
                // Dropped, with what was in it.
                (Some(old), None, there) => match there.is_none_or(|it| it == old) {
                    true => None,
                    false => return Err(CatalogSnapshot::conflict(&old.name)),
                },
                (Some(old), Some(new), Some(there)) => Some(merge_schemas(old, new, there)?),
                (Some(_), Some(new), None) => return Err(CatalogSnapshot::conflict(&new.name)),
                (None, None, there) => there.cloned(),
            };
            replace(&mut next.schemas, key, merged.as_ref());
        }
        Ok(next)
    }

    /// The error of a transaction that changed what another one changed, too.
    pub fn conflict(name: &str) -> Error {
        let message = format!("transaction conflicts with a change by another session: {name}");
        let error = Error::invalid_query(message);
        error.hint("none of its changes were made; run the transaction again")
    }
}

/// The keys of either map.
fn keys<'m, K: Ord, V>(
    base: &'m BTreeMap<K, V>,
    own: &'m BTreeMap<K, V>,
) -> impl Iterator<Item = &'m K> {
    base.keys().chain(own.keys().filter(move |it| !base.contains_key(*it)))
}

fn replace<K: Ord + Clone, V: Clone>(map: &mut BTreeMap<K, V>, key: &K, value: Option<&V>) {
    match value {
        Some(value) => map.insert(key.clone(), value.clone()),
        None => map.remove(key),
    };
}

fn merge_schemas(
    base: &SchemaSnapshot,
    own: &SchemaSnapshot,
    committed: &SchemaSnapshot,
) -> Result<Arc<SchemaSnapshot>> {
    Ok(Arc::new(SchemaSnapshot {
        name: committed.name.clone(),
        relations: merge_maps(&base.relations, &own.relations, &committed.relations)?,
        sequences: merge_maps(&base.sequences, &own.sequences, &committed.sequences)?,
        types: merge_maps(&base.types, &own.types, &committed.types)?,
        macros: merge_maps(&base.macros, &own.macros, &committed.macros)?,
    }))
}

fn merge_maps<V: Clone + PartialEq>(
    base: &BTreeMap<String, V>,
    own: &BTreeMap<String, V>,
    committed: &BTreeMap<String, V>,
) -> Result<BTreeMap<String, V>> {
    let mut next = committed.clone();
    for key in keys(base, own) {
        let (old, new) = (base.get(key), own.get(key));
        if old == new {
            continue;
        }
        if committed.get(key) != old {
            return Err(CatalogSnapshot::conflict(key));
        }
        replace(&mut next, key, new);
    }
    Ok(next)
}
