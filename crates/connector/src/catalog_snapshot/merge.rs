//! What a transaction changed, on top of what others committed meanwhile.

use super::{CatalogSnapshot, RelationEntry, SchemaSnapshot};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use volley_error::{Error, ErrorKind, Result};

/// What the message of a conflict begins with.
const CONFLICT: &str = "transaction conflicts with a change by another session: ";

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
        for key in keys_of_either(&base.schemas, &own.schemas) {
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
                    false => return Err(CatalogSnapshot::conflict(&newer_name(old, there))),
                },
                (Some(old), Some(new), Some(there)) => Some(merge_schemas(old, new, there)?),
                (Some(old), Some(new), None) => {
                    return Err(CatalogSnapshot::conflict(&newer_name(old, Some(new))));
                }
                (None, None, there) => there.cloned(),
            };
            set_or_remove(&mut next.schemas, key, merged.as_ref());
        }
        if base != own {
            next.check_merged()?;
        }
        Ok(next)
    }

    /// Refuses what two transactions made together: a foreign key to a table that is gone, and two
    /// indexes of one name.
    fn check_merged(&self) -> Result<()> {
        for schema in self.schemas.values() {
            let mut indexes = BTreeSet::new();
            for table in schema.relations.values().filter_map(RelationEntry::as_table) {
                let mut foreign = table.definition.foreign_keys.iter();
                if foreign.any(|it| self.table(it.target(table.id)).is_none()) {
                    let name = CatalogSnapshot::shown_name(&schema.name, &table.name);
                    return Err(CatalogSnapshot::conflict(&name));
                }
                for index in &table.definition.indexes {
                    if !indexes.insert(index.name.to_lowercase()) {
                        return Err(CatalogSnapshot::conflict(&index.name));
                    }
                }
            }
        }
        Ok(())
    }

    /// The error of a transaction that changed what another one changed, too.
    pub fn conflict(name: &str) -> Error {
        let error = Error::invalid_query(format!("{CONFLICT}{name}"));
        error.hint("none of its changes were made; run the transaction again")
    }

    /// Whether an error is one of [`CatalogSnapshot::conflict`]: the transaction may succeed when
    /// it runs again.
    pub fn is_conflict(error: &Error) -> bool {
        error.kind() == ErrorKind::InvalidQuery && error.message().starts_with(CONFLICT)
    }
}

/// The keys of either map, for merges of what databases hold by key.
pub fn keys_of_either<'m, K: Ord, V>(
    base: &'m BTreeMap<K, V>,
    own: &'m BTreeMap<K, V>,
) -> impl Iterator<Item = &'m K> {
    base.keys().chain(own.keys().filter(move |it| !base.contains_key(*it)))
}

/// Sets or removes the value of a key.
pub fn set_or_remove<K: Ord + Clone, V: Clone>(
    map: &mut BTreeMap<K, V>,
    key: &K,
    value: Option<&V>,
) {
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
    let name = &committed.name;
    Ok(Arc::new(SchemaSnapshot {
        name: name.clone(),
        relations: merge_maps(name, &base.relations, &own.relations, &committed.relations)?,
        sequences: merge_maps(name, &base.sequences, &own.sequences, &committed.sequences)?,
        types: merge_maps(name, &base.types, &own.types, &committed.types)?,
        macros: merge_maps(name, &base.macros, &own.macros, &committed.macros)?,
    }))
}

/// The name of a table or view that a schema has since `old`, or that of the schema.
fn newer_name(old: &SchemaSnapshot, new: Option<&Arc<SchemaSnapshot>>) -> String {
    let mut relations = new.into_iter().flat_map(|it| &it.relations);
    let found = relations.find(|(key, relation)| old.relations.get(*key) != Some(relation));
    let shown = |name| CatalogSnapshot::shown_name(&old.name, name);
    found.map_or_else(|| old.name.clone(), |(_, it)| shown(it.name()))
}

fn merge_maps<V: Clone + PartialEq>(
    schema: &str,
    base: &BTreeMap<String, V>,
    own: &BTreeMap<String, V>,
    committed: &BTreeMap<String, V>,
) -> Result<BTreeMap<String, V>> {
    let mut next = committed.clone();
    for key in keys_of_either(base, own) {
        let (old, new) = (base.get(key), own.get(key));
        if old == new {
            continue;
        }
        if committed.get(key) != old {
            let name = CatalogSnapshot::shown_name(schema, key);
            return Err(CatalogSnapshot::conflict(&name));
        }
        set_or_remove(&mut next, key, new);
    }
    Ok(next)
}
