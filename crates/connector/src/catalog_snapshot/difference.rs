//! What differs between two catalogs, for logs.

use super::{CatalogSnapshot, SchemaSnapshot};
use crate::ObjectKind;
use std::{collections::BTreeMap, sync::Arc};

/// What makes one catalog of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogDifference {
    /// Objects that are new or other ones, in their schemas, and new schemas.
    pub put: CatalogSnapshot,
    /// Objects that are gone: the key of the schema, the kind (of tables and views: table), the key
    /// of the object.
    pub removed: Vec<(String, ObjectKind, String)>,
    /// Keys of schemas that are gone.
    pub removed_schemas: Vec<String>,
}

impl CatalogDifference {
    /// What makes `to` of `from`.
    pub fn between(from: &CatalogSnapshot, to: &CatalogSnapshot) -> CatalogDifference {
        let gone = from.schemas.keys().filter(|it| !to.schemas.contains_key(*it));
        let removed_schemas = gone.cloned().collect();
        let mut difference = CatalogDifference { removed_schemas, ..CatalogDifference::default() };
        let none = SchemaSnapshot::default();
        for (key, new) in &to.schemas {
            let old = from.schemas.get(key);
            if old.is_some_and(|it| Arc::ptr_eq(it, new) || it == new) {
                continue;
            }
            difference.add_schema(key, old.map_or(&none, |it| it), new);
        }
        difference
    }

    fn add_schema(&mut self, key: &str, old: &SchemaSnapshot, new: &SchemaSnapshot) {
        let mut of_kind = |kind, gone: Vec<String>| {
            self.removed.extend(gone.into_iter().map(|it| (key.to_owned(), kind, it)));
        };
        of_kind(ObjectKind::Table, gone(&old.relations, &new.relations));
        of_kind(ObjectKind::Sequence, gone(&old.sequences, &new.sequences));
        of_kind(ObjectKind::Type, gone(&old.types, &new.types));
        of_kind(ObjectKind::Macro, gone(&old.macros, &new.macros));
        let put = SchemaSnapshot {
            name: new.name.clone(),
            relations: changed(&old.relations, &new.relations),
            sequences: changed(&old.sequences, &new.sequences),
            types: changed(&old.types, &new.types),
            macros: changed(&old.macros, &new.macros),
        };
        self.put.schemas.insert(key.to_owned(), Arc::new(put));
    }

    /// Whether the catalogs are equal.
    pub fn is_empty(&self) -> bool {
        self.put.schemas.is_empty() && self.removed.is_empty() && self.removed_schemas.is_empty()
    }

    /// The catalog that `from` becomes.
    pub fn apply(&self, from: &CatalogSnapshot) -> CatalogSnapshot {
        let mut to = from.clone();
        for key in &self.removed_schemas {
            to.schemas.remove(key);
        }
        for (schema, kind, key) in &self.removed {
            let Some(schema) = to.schemas.get_mut(schema).map(Arc::make_mut) else { continue };
            match kind {
                ObjectKind::Table | ObjectKind::View => drop(schema.relations.remove(key)),
                ObjectKind::Sequence => drop(schema.sequences.remove(key)),
                ObjectKind::Type => drop(schema.types.remove(key)),
                ObjectKind::Macro => drop(schema.macros.remove(key)),
            }
        }
        for (key, put) in &self.put.schemas {
            let schema = Arc::make_mut(to.schemas.entry(key.clone()).or_default());
            schema.name.clone_from(&put.name);
            schema.relations.extend(put.relations.clone());
            schema.sequences.extend(put.sequences.clone());
            schema.types.extend(put.types.clone());
            schema.macros.extend(put.macros.clone());
        }
        to
    }
}

/// Keys that are not in `new`.
fn gone<V>(old: &BTreeMap<String, V>, new: &BTreeMap<String, V>) -> Vec<String> {
    old.keys().filter(|it| !new.contains_key(*it)).cloned().collect()
}

/// Values of `new` that are other ones in `old`, or are not there.
fn changed<V: Clone + PartialEq>(
    old: &BTreeMap<String, V>,
    new: &BTreeMap<String, V>,
) -> BTreeMap<String, V> {
    let changed = new.iter().filter(|(key, value)| old.get(*key) != Some(value));
    changed.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RelationEntry, TypeEntry, ViewEntry};
    use volley_types::Type;

    fn catalog(names: &[(&str, &str, &str)]) -> CatalogSnapshot {
        let mut catalog = CatalogSnapshot::default();
        for (schema, name, sql) in names {
            let schema = catalog.schemas.entry((*schema).to_owned()).or_default();
            let schema = Arc::make_mut(schema);
            let view = ViewEntry { sql: (*sql).to_owned(), ..ViewEntry::default() };
            schema.relations.insert((*name).to_owned(), RelationEntry::View(Arc::new(view)));
            let (name, data_type) = ((*name).to_owned(), Type::Date);
            let named = TypeEntry { name: name.clone(), data_type, named_types: Vec::new() };
            schema.types.insert(name, Arc::new(named));
        }
        catalog
    }

    #[test]
    fn a_difference_makes_one_catalog_of_the_other() {
        let catalogs = [
            catalog(&[]),
            catalog(&[("main", "a", "1")]),
            catalog(&[("main", "a", "2"), ("main", "b", "1")]),
            catalog(&[("main", "b", "1"), ("s", "a", "1")]),
            catalog(&[("s", "a", "1"), ("s", "b", "2")]),
        ];
        for from in &catalogs {
            for to in &catalogs {
                let difference = CatalogDifference::between(from, to);
                assert_eq!(difference.apply(from), *to);
                assert_eq!(difference.is_empty(), from == to);
            }
        }
    }
}
