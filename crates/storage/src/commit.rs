//! Commits: validation, one group of the log, the next version.
//!
//! The first thread that waits leads: it takes all changes that wait, validates each against those
//! before, appends one group, syncs once, and wakes all. Others that come meanwhile are the next
//! group.

use crate::{
    Changes, ConflictScope, Storage, TableChange, Version,
    apply::TableChanges,
    canary::{self, Mistake},
    locks::{Condvar, Mutex, MutexGuard},
    log::{AppendError, Log},
    recent_keys::{self, RecentKeys},
    record::{CommitRecord, Record, TableRecord},
    storage::must_recover,
    version::TableVersion,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};
use volley_connector::{CatalogDifference, CatalogSnapshot, Reference, SequenceId, TableId};
use volley_error::{Error, Result};
use volley_pdt::{Pdt, Stamp, Translator, bytes::Output};

/// Bytes of the log between two looks at all segments for jobs that are due.
const LOOK_BYTES: u64 = 1 << 20;

/// Jobs are looked for when this many segments were added.
const LOOK_SEGMENTS: usize = 4;

/// What one thread at a time changes.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) log: Log,
    /// The number of the newest manifest.
    pub(crate) manifest: Option<u32>,
    /// Why nothing can be changed any more.
    pub(crate) failed: Option<String>,
    /// By the number of the old segment.
    pub(crate) replaced: BTreeMap<u32, Replaced>,
    keys: RecentKeys,
    /// Keys that foreign keys of committed rows need, and keys that commits removed.
    required: RecentKeys,
    removed: RecentKeys,
    /// Bytes of the log at which jobs that are due are looked for.
    look_at: u64,
    /// Segments that were added since jobs were looked for.
    added: usize,
}

/// A segment that was written again.
#[derive(Debug)]
pub(crate) struct Replaced {
    /// The new segment, and how names are translated; `None` if they cannot be.
    pub(crate) by: Option<(u32, Translator)>,
    /// The last commit before.
    pub(crate) stamp: Stamp,
}

/// A change that fits to the newest version, and what it makes of it.
struct Prepared {
    version: Version,
    record: CommitRecord,
}

impl Core {
    pub(crate) fn new(log: Log, manifest: Option<u32>) -> Core {
        Core {
            log,
            manifest,
            failed: None,
            replaced: BTreeMap::new(),
            keys: RecentKeys::default(),
            required: RecentKeys::default(),
            removed: RecentKeys::default(),
            look_at: 0,
            added: 0,
        }
    }

    /// An error if nothing can be changed any more.
    pub(crate) fn check(&self) -> Result<()> {
        self.failed.as_ref().map_or(Ok(()), |it| Err(must_recover(it)))
    }

    /// Whether the log has grown by `bytes`, or segments were added, since this was last true.
    pub(crate) fn is_time_to_look(&mut self, bytes: u64) -> bool {
        let now = self.log.bytes();
        self.look_at = self.look_at.min(now + bytes);
        let is_time = now >= self.look_at || self.added >= LOOK_SEGMENTS;
        if is_time {
            self.look_at = now + bytes;
            self.added = 0;
        }
        is_time
    }

    /// Appends records. After an error whose outcome is not known, nothing can be changed.
    pub(crate) fn append(&mut self, payload: &[u8]) -> Result<()> {
        self.check()?;
        self.log.append(payload).map_err(|failure| {
            let error = failure.error();
            match &failure {
                AppendError::Refused(error) => same(error),
                AppendError::Unknown(_) if canary::makes(Mistake::SyncErrorIgnored) => same(error),
                AppendError::Unknown(_) => {
                    let why = format!("the log could not be synced: {error}");
                    let failed = must_recover(&why);
                    self.failed = Some(why);
                    failed
                }
            }
        })
    }

    /// Forgets what no open transaction needs.
    fn forget(&mut self, oldest: Option<Stamp>) {
        self.replaced.retain(|_, it| oldest.is_some_and(|oldest| oldest <= it.stamp));
        self.keys.forget(oldest);
        self.required.forget(oldest);
        self.removed.forget(oldest);
    }

    /// The changes of a segment with the names that rows have now, and the segment's number.
    fn translate(
        &self,
        table: &TableVersion,
        mut segment: u32,
        mut own: Arc<Pdt>,
        base: Stamp,
        name: &str,
    ) -> Result<(u32, Arc<Pdt>)> {
        while table.segment(segment).is_none() {
            let replaced = self.replaced.get(&segment).and_then(|it| it.by.as_ref());
            let (by, translator) = replaced.ok_or_else(|| CatalogSnapshot::conflict(name))?;
            if canary::makes(Mistake::NoTranslation) {
                return Ok((*by, own));
            }
            own = match translator.transaction(&own, base)? {
                Ok(translated) => Arc::new(translated),
                Err(_) => return Err(CatalogSnapshot::conflict(name)),
            };
            segment = *by;
        }
        Ok((segment, own))
    }

    fn check_keys(&self, change: &TableChange, base: Stamp, name: &str) -> Result<()> {
        let is_late = self.keys.has_later(recent_keys::written(change), base)
            || self.removed.has_later(recent_keys::of_map(&change.references.required), base)
            || self.required.has_later(recent_keys::of_map(&change.references.removed), base);
        if is_late { Err(CatalogSnapshot::conflict(name)) } else { Ok(()) }
    }

    /// Notes the keys of a change that commit `stamp` made.
    fn add_keys(&mut self, change: &TableChange, stamp: Stamp) {
        self.keys.add(recent_keys::written(change), stamp);
        self.required.add(recent_keys::of_map(&change.references.required), stamp);
        self.removed.add(recent_keys::of_map(&change.references.removed), stamp);
    }
}

impl Storage {
    /// Commits each of `group` that fits to those before; one append and sync for all.
    fn commit_group(&self, core: &mut Core, group: &[Changes]) -> Vec<Result<()>> {
        let mut next: Option<Version> = None;
        let published = self.snapshot();
        let mut output = Output::default();
        let mut results: Vec<Result<()>> = Vec::with_capacity(group.len());
        for changes in group {
            let newest = next.as_ref().unwrap_or(&published);
            let prepared = core.check().and_then(|()| prepare(core, newest, changes));
            let start = output.bytes.len();
            let written = prepared.and_then(|it| {
                let record = Record::Commit(it.record);
                record.write(&it.version.catalog, &mut output).map(|()| it.version)
            });
            match written {
                Ok(version) => {
                    core.added += changes.tables.values().map(|it| it.added.len()).sum::<usize>();
                    changes.tables.values().for_each(|it| core.add_keys(it, version.stamp));
                    next = Some(version);
                    results.push(Ok(()));
                }
                Err(error) => {
                    output.bytes.truncate(start);
                    results.push(Err(error));
                }
            }
        }
        let Some(next) = next else { return results };
        if canary::makes(Mistake::PublishBeforeAppend) {
            self.publish(next.clone());
        }
        match core.append(&output.bytes) {
            Ok(()) => {
                self.publish(next);
                if core.is_time_to_look(LOOK_BYTES) {
                    self.look_for_jobs();
                }
            }
            Err(error) => {
                let failed = results.iter_mut().filter(|it| it.is_ok());
                failed.for_each(|it| *it = Err(same(&error)));
            }
        }
        core.forget(self.oldest_besides(group));
        results
    }

    /// Makes durable where a recovery goes on with a sequence.
    pub(crate) fn reserve_numbers(
        &self,
        sequence: SequenceId,
        numbers: &crate::Numbers,
        resume: Option<i64>,
    ) -> Result<()> {
        let mut core = self.core();
        let mut output = Output::default();
        let catalog = CatalogSnapshot::default();
        Record::Numbers(sequence, resume).write(&catalog, &mut output)?;
        core.append(&output.bytes)?;
        numbers.set_reserved(resume);
        Ok(())
    }
}

/// The same error for another transaction.
fn same(error: &Error) -> Error {
    let same = Error::new(error.kind(), error.to_string());
    match error.hint_text() {
        Some(hint) => same.hint(hint.to_owned()),
        None => same,
    }
}

/// What `changes` make of `newest`.
fn prepare(core: &Core, newest: &Version, changes: &Changes) -> Result<Prepared> {
    let stamp = Stamp(newest.stamp.0 + 1);
    let base = &changes.base;
    let mut version = Version { stamp, ..newest.clone() };
    let mut record = CommitRecord { stamp, ..CommitRecord::default() };
    if !Arc::ptr_eq(&base.catalog, &changes.catalog) {
        let merged = CatalogSnapshot::merge(&base.catalog, &changes.catalog, &newest.catalog)?;
        let difference = CatalogDifference::between(&newest.catalog, &merged);
        if !difference.is_empty() {
            version.set_catalog(Arc::new(merged));
            record.catalog = Some(difference);
        }
    }
    check_new_references(newest, changes)?;
    for (id, change) in &changes.tables {
        let (table, of_table) = prepare_table(core, newest, changes, *id, change, stamp)?;
        version.set_table(table);
        record.tables.push(of_table);
    }
    for (sequence, numbers) in &changes.numbers {
        if changes.numbers(*sequence).is_some() {
            record.sequences.push((*sequence, numbers.make_durable()));
            version.set_numbers(*sequence, Arc::clone(numbers));
        }
    }
    Ok(Prepared { version, record })
}

/// Refuses a foreign key that was made while another transaction changed or removed rows of the
/// referenced table: neither knows the keys of the other.
fn check_new_references(newest: &Version, changes: &Changes) -> Result<()> {
    let base = &changes.base;
    let is_in = |catalog: &CatalogSnapshot, it: &Reference<'_>| {
        let table = catalog.table(it.table.id);
        table.is_some_and(|table| table.1.definition.foreign_keys.contains(it.key))
    };
    let conflict = |it: &Reference<'_>| CatalogSnapshot::conflict(&it.table.name);
    if !Arc::ptr_eq(&base.catalog, &changes.catalog) {
        for it in changes.catalog.references().filter(|it| !is_in(&base.catalog, it)) {
            let changed = |of: &Version| {
                of.tables.get(&it.key.target(it.table.id)).map(|table| table.changed)
            };
            if changed(base).is_some() && changed(base) != changed(newest) {
                return Err(conflict(&it));
            }
        }
    }
    if !Arc::ptr_eq(&base.catalog, &newest.catalog) {
        for it in newest.catalog.references().filter(|it| !is_in(&base.catalog, it)) {
            let change = changes.tables.get(&it.key.target(it.table.id));
            if change.is_some_and(|it| it.has_old_rows) {
                return Err(conflict(&it));
            }
        }
    }
    Ok(())
}

fn prepare_table(
    core: &Core,
    newest: &Version,
    changes: &Changes,
    id: TableId,
    change: &TableChange,
    stamp: Stamp,
) -> Result<(TableVersion, TableRecord)> {
    let base = &changes.base;
    let name = changes.catalog.table(id).map_or("table", |it| it.1.name.as_str());
    let conflict = || CatalogSnapshot::conflict(name);
    let committed = match base.tables.get(&id) {
        None => None,
        Some(before) => {
            let committed = newest.tables.get(&id).ok_or_else(conflict)?;
            let entry = |it: &Version| it.catalog.table(id).map(|it| Arc::clone(it.1));
            let is_same_table = Arc::ptr_eq(&base.catalog, &newest.catalog)
                || entry(base) == entry(newest) && committed.shape == before.shape;
            let is_same =
                change.scope == ConflictScope::Rows || committed.changed == before.changed;
            if !is_same_table || !is_same {
                return Err(conflict());
            }
            Some(committed)
        }
    };
    core.check_keys(change, base.stamp, name)?;
    let table = match committed {
        Some(committed) if !change.replaces => committed,
        _ => &change.table,
    };
    let mut own = Vec::with_capacity(change.own.len());
    for (segment, changes) in change.own.iter().filter(|it| !it.1.is_empty()) {
        if change.added.iter().any(|it| it.segment.id() == *segment) || change.replaces {
            own.push((*segment, Arc::clone(changes)));
            continue;
        }
        let (segment, changes) =
            core.translate(table, *segment, Arc::clone(changes), base.stamp, name)?;
        let found = table.segment(segment).ok_or_else(conflict)?;
        let off = u64::from(canary::makes(Mistake::StampOffByOne));
        let seen = Stamp(base.stamp.0 + off);
        if found.layers.conflict(&changes, seen).is_some() {
            return Err(conflict());
        }
        own.push((segment, changes));
    }
    let replaced = change.replaces.then_some(&change.table.segments).into_iter().flatten();
    let added = replaced.chain(&change.added).map(|it| Arc::clone(&it.segment)).collect();
    let changed = own.iter().map(|(segment, own)| Ok((*segment, own.to_bytes()?)));
    let changed = changed.collect::<Result<_>>()?;
    let record = TableRecord { table: id, replaces: change.replaces, added, changed };
    let table = table.apply(&TableChanges { added: change.added.clone(), own }, stamp)?;
    Ok((table, record))
}

/// Changes that wait for their group.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: Vec<(u64, Changes)>,
    done: BTreeMap<u64, Result<()>>,
    next_ticket: u64,
    has_leader: bool,
}

impl Queue {
    /// Waits until the changes are committed or refused.
    pub(crate) fn commit(&self, storage: &Storage, changes: Changes) -> Result<()> {
        let mut state = self.state();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push((ticket, changes));
        loop {
            if let Some(result) = state.done.remove(&ticket) {
                return result;
            }
            if state.has_leader {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.has_leader = true;
            let (tickets, group): (Vec<u64>, Vec<Changes>) = state.waiting.drain(..).unzip();
            drop(state);
            let leader = Leader { queue: self, tickets };
            let results = storage.commit_group(&mut storage.core(), &group);
            leader.finish(results);
            state = self.state();
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that commits a group. When it ends in any way, each of the group has a result.
struct Leader<'q> {
    queue: &'q Queue,
    tickets: Vec<u64>,
}

impl Leader<'_> {
    fn finish(mut self, results: Vec<Result<()>>) {
        let tickets = std::mem::take(&mut self.tickets);
        self.queue.state().done.extend(tickets.into_iter().zip(results));
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.has_leader = false;
        let panicked = || Err(Error::internal("a commit panicked"));
        state.done.extend(self.tickets.drain(..).map(|it| (it, panicked())));
        self.queue.changed.notify_all();
    }
}
