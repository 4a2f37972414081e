//! What a transaction changed, on top of what others committed meanwhile.

use super::{State, Version};
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{CatalogSnapshot, SchemaSnapshot, SequenceId, TableId};
use volley_error::{Error, Result};

/// `committed` with what differs between `base` and `own`.
///
/// # Errors
///
/// Invalid query: others changed the same since `base`.
pub(super) fn merge(base: &State, own: &State, committed: &State) -> Result<State> {
    let catalog = merge_catalogs(&base.catalog, &own.catalog, &committed.catalog)?;
    let mut next = committed.clone();
    let name = |id: TableId| {
        let found = [own, base].into_iter().find_map(|it| it.catalog.table(id));
        found.map_or_else(|| "table".to_owned(), |it| it.1.name.clone())
    };
    for id in keys(&base.tables, &own.tables) {
        let (old, new) = (base.tables.get(id), own.tables.get(id));
        if number(old) == number(new) {
            continue;
        }
        if number(committed.tables.get(id)) != number(old) {
            return Err(conflict(&name(*id)));
        }
        replace(&mut next.tables, id, new);
    }
    let ids: Vec<SequenceId> = keys(&base.numbers, &own.numbers).copied().collect();
    for id in ids {
        // A sequence never changes; its catalog entry found conflicts.
        if base.numbers.contains_key(&id) != own.numbers.contains_key(&id) {
            replace(&mut next.numbers, &id, own.numbers.get(&id));
        }
    }
    next.catalog = Arc::new(catalog);
    Ok(next)
}

fn number(version: Option<&Version>) -> Option<u64> {
    version.map(|it| it.number)
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

fn merge_catalogs(
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
                false => return Err(conflict(&old.name)),
            },
            (Some(old), Some(new), Some(there)) => Some(merge_schemas(old, new, there)?),
            (Some(_), Some(new), None) => return Err(conflict(&new.name)),
            (None, None, there) => there.cloned(),
        };
        replace(&mut next.schemas, key, merged.as_ref());
    }
    Ok(next)
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
            return Err(conflict(key));
        }
        replace(&mut next, key, new);
    }
    Ok(next)
}

fn conflict(name: &str) -> Error {
    let message = format!("transaction conflicts with a change by another session: {name}");
    let error = Error::invalid_query(message);
    error.hint("none of its changes were made; run the transaction again")
}
