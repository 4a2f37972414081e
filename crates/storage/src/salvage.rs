//! Reading what can be read of a damaged database.
//!
//! ```text
//! manifest   the current one, or else the newest that can be read
//! runs       changes whose block is damaged are lost: the segment is as it was written
//! log        up to the first group that cannot be read or applied
//! blocks     the rows of a damaged block have no value in its column, or are lost if they need one
//! ```

use crate::{
    ChunkFiles, Ids, Name, SegmentView, Storage, StorageOptions, Store, TableView, Version,
    chunk_file::Opening,
    commit::Core,
    log::{self, Log, LogStart},
    manifest::{self, Damage, ManifestReader},
    recovery::{Parts, Replay, assemble},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};
use volley_error::{Error, Result};
use volley_pdt::Budget;
use volley_vector::{Batch, Vector};

/// Rows that are read at once.
pub const SALVAGE_ROWS: u32 = 8192;

/// Rows that were read of a damaged table.
#[derive(Debug, Default)]
pub struct SalvagedRows {
    /// The rows.
    pub batches: Vec<Batch>,
    /// How many rows could not be read.
    pub lost_rows: u64,
    /// Why, and the columns without values.
    pub findings: Vec<Error>,
}

impl Storage {
    /// Opens a database to read it, as far as it can be read. Also returns what is lost.
    ///
    /// # Errors
    ///
    /// I/O, corruption: no manifest can be read. Out of memory.
    pub fn open_damaged(
        store: Arc<dyn Store>,
        options: StorageOptions,
    ) -> Result<(Arc<Storage>, Vec<Error>)> {
        let mut findings = Vec::new();
        let budget = Budget::new(&options.pool, options.delta_bytes);
        for number in candidates(&*store, &mut findings)? {
            match open_manifest(&store, number, &options, &budget, &mut findings) {
                Ok(parts) => {
                    let mut storage = assemble(parts, options);
                    storage.follower = Some(crate::follower::Follower::stopped());
                    return Ok((Arc::new(storage), findings));
                }
                Err(error) => findings.push(error.at("manifest", number)),
            }
        }
        let mut error = Error::corruption("no manifest of the database can be read");
        if let Some(first) = findings.into_iter().next() {
            error = error.caused_by(first);
        }
        Err(error.hint("restore the folder from a copy: nothing says what the files hold"))
    }
}

/// The manifests that there are, the best first.
fn candidates(store: &dyn Store, findings: &mut Vec<Error>) -> Result<Vec<u32>> {
    let current = manifest::current(store).unwrap_or_else(|error| {
        findings.push(error);
        None
    });
    let listed = store.list(&Name::new(manifest::FOLDER)?)?;
    let numbers = listed.iter().filter_map(|it| u32::from_str_radix(it.name.file(), 16).ok());
    let mut numbers: Vec<u32> = numbers.filter(|it| Some(*it) != current).collect();
    numbers.sort_unstable();
    numbers.reverse();
    Ok(current.into_iter().chain(numbers).collect())
}

fn open_manifest(
    store: &Arc<dyn Store>,
    number: u32,
    options: &StorageOptions,
    budget: &Arc<Budget>,
    findings: &mut Vec<Error>,
) -> Result<Parts> {
    let bytes = manifest::load(&**store, number)?;
    let salt = manifest::salt(&bytes, number)?;
    let ids = Arc::new(Ids::default());
    let files = ChunkFiles::with_opening(store, &ids, salt, (&options.pool, Opening::FirstRead));
    let types = &*options.types;
    let damage = Mutex::new(Vec::new());
    let reader = ManifestReader {
        files: &files,
        ids: &ids,
        types,
        budget,
        damage: Damage::LoseChanges(&damage),
    };
    let (header, mut version) = reader.read(&bytes, number)?;
    findings.extend(damage.into_inner().unwrap_or_else(PoisonError::into_inner));
    let start = LogStart { file: header.log_file, group: header.log_group, salt };
    let mut replay = Replay { files: &files, ids: &ids, types, budget };
    let read = log::read(&**store, start, |payload| {
        let mut next: Version = version.clone();
        replay.group(payload, &mut next)?;
        version = next;
        Ok(())
    });
    if let Err(error) = read {
        findings.push(error);
    }
    // Nothing is appended to this log: commits are refused.
    let core = Core::new(Log::new(store, &ids, salt, 0), Some(number));
    let (store, budget) = (Arc::clone(store), Arc::clone(budget));
    Ok(Parts { store, files, ids, budget, salt, core, version })
}

impl TableView {
    /// Reads base rows of one block of a segment with the rows that are inserted before them, and
    /// after the last one, as far as they can be read. `is_required` says of each column whether
    /// rows without a value in it are lost.
    ///
    /// # Errors
    ///
    /// Out of memory, cancelled.
    pub fn salvage(
        &self,
        segment: &SegmentView,
        sids: Range<u32>,
        is_required: &[bool],
    ) -> Result<SalvagedRows> {
        let plan = segment.plan()?;
        let changes = plan.range(sids.clone());
        let mut live = changes.live().map(|it| it.to_indices());
        let rows = live.as_ref().map_or(sids.len(), Vec::len);
        let columns: Vec<usize> = (0..self.types.len()).collect();
        let mut salvaged = SalvagedRows::default();
        let mut vectors = Vec::with_capacity(columns.len());
        for (column, data_type) in columns.iter().zip(self.types.iter()) {
            if rows == 0 {
                vectors.push(Vector::nulls(data_type.clone(), 0));
                continue;
            }
            match segment.read(*column, data_type, sids.clone(), live.as_deref()) {
                Ok(vector) => vectors.push(vector),
                Err(error) if error.kind().is_transient() => return Err(error),
                Err(error) => {
                    let error = error.at("first row", sids.start).at("rows", rows);
                    salvaged.findings.push(error);
                    let is_lost = is_required.get(*column).copied().unwrap_or(false);
                    salvaged.lost_rows =
                        salvaged.lost_rows.max(if is_lost { rows as u64 } else { 0 });
                    vectors.push(Vector::nulls(data_type.clone(), rows));
                }
            }
        }
        let mut base = Batch::new(vectors, rows);
        if salvaged.lost_rows > 0 {
            let none = self.types.iter().map(|it| Vector::nulls(it.clone(), 0)).collect();
            base = Batch::new(none, 0);
            live = Some(Vec::new());
        }
        let batches = changes.interleave(base, live.as_deref(), &columns, SALVAGE_ROWS as usize)?;
        salvaged.batches = batches;
        Ok(salvaged)
    }
}
