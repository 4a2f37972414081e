//! What a transaction changed, on top of what others committed meanwhile.

use super::{State, Version};
use std::sync::Arc;
use volley_connector::{
    CatalogSnapshot, SchemaSnapshot, SequenceId, TableEntry, TableId, keys_of_either, set_or_remove,
};
use volley_error::Result;

/// `committed` with what differs between `base` and `own`.
///
/// # Errors
///
/// Invalid query: others changed the same since `base`.
pub(super) fn merge(base: &State, own: &State, committed: &State) -> Result<State> {
    let catalog = CatalogSnapshot::merge(&base.catalog, &own.catalog, &committed.catalog)?;
    let mut next = committed.clone();
    let name = |id: TableId| {
        let found = [own, base].into_iter().find_map(|it| it.catalog.table(id));
        let shown = |it: (&Arc<SchemaSnapshot>, &Arc<TableEntry>)| {
            CatalogSnapshot::shown_name(&it.0.name, &it.1.name)
        };
        found.map_or_else(|| "table".to_owned(), shown)
    };
    for id in keys_of_either(&base.tables, &own.tables) {
        let (old, new) = (base.tables.get(id), own.tables.get(id));
        if number(old) == number(new) {
            continue;
        }
        if number(committed.tables.get(id)) != number(old) {
            return Err(CatalogSnapshot::conflict(&name(*id)));
        }
        set_or_remove(&mut next.tables, id, new);
    }
    let ids: Vec<SequenceId> = keys_of_either(&base.numbers, &own.numbers).copied().collect();
    for id in ids {
        // A sequence never changes; its catalog entry found conflicts.
        if base.numbers.contains_key(&id) != own.numbers.contains_key(&id) {
            set_or_remove(&mut next.numbers, &id, own.numbers.get(&id));
        }
    }
    next.catalog = Arc::new(catalog);
    next.check_merged(base, own, committed)?;
    Ok(next)
}

fn number(version: Option<&Version>) -> Option<u64> {
    version.map(|it| it.number)
}
