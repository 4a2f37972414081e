//! A seed: clients, jobs and crashes on a simulated disk, compared with a model after each step.
//!
//! ```text
//! step    begin, insert, change, remove, create, drop, savepoint, commit, abort
//!         checkpoint, propagate, reopen, crash during any operation of the disk
//!         read by another process, which also keeps an older snapshot
//! check   committed rows, and those that each open transaction sees
//! crash   recovery (which may crash, too) ──> what was committed, or that and the commit whose
//!         outcome was open; nothing else
//! ```

use crate::{
    Chance, Faults, Fired, SimDisk, client,
    model::{Committed, Work},
};
use std::{fmt::Write, sync::Arc};
use volley_error::{Error, ErrorKind};
use volley_memory::Pool;
use volley_storage::{Changes, OpenTransaction, Storage, StorageOptions, Store};
use volley_types::TypeRegistry;

/// Steps of a seed.
const STEPS: usize = 120;

/// Transactions that are open at once.
const OPEN_MAX: usize = 3;

/// Names of tables.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Recoveries with faults, before one without.
const FAULTY_RECOVERIES: usize = 4;

/// Faults that damage files, or what is read of them.
const DAMAGING: Faults = Faults {
    short_write: Chance(500),
    full_disk: Chance(20),
    read_error: Chance(30),
    sync_error: Chance(20),
    name_sync_error: Chance(20),
    misdirected_read: Chance(60),
    misdirected_write: Chance(120),
    flipped_bit: Chance(120),
};

/// What a seed does to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Faults and crashes that a database survives without losing anything.
    Survivable,
    /// Also faults that damage bytes: whatever is read is right, or an error.
    Damaging,
}

/// Faults that a database survives without losing anything.
const SURVIVABLE: Faults = Faults {
    short_write: Chance(500),
    full_disk: Chance(60),
    read_error: Chance(0),
    sync_error: Chance(60),
    name_sync_error: Chance(60),
    misdirected_read: Chance(0),
    misdirected_write: Chance(0),
    flipped_bit: Chance(0),
};

/// How often what happened in seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Commits that succeeded.
    pub commits: u64,
    /// Commits that conflicted.
    pub conflicts: u64,
    /// Commits whose outcome was open.
    pub open_outcomes: u64,
    /// Of these, commits that were there after the recovery.
    pub kept_outcomes: u64,
    /// Crashes.
    pub crashes: u64,
    /// Checkpoints that succeeded.
    pub checkpoints: u64,
    /// Segments that were written again.
    pub propagations: u64,
    /// Of these, those that wrote some columns only, now or before.
    pub column_propagations: u64,
    /// Merges of segments.
    pub merges: u64,
    /// Databases that were opened again without a crash.
    pub reopened: u64,
    /// States that another process read.
    pub reads: u64,
    /// Seeds that ended because damage was found.
    pub damaged: u64,
    /// Faults of the disk.
    pub faults: Fired,
}

/// Runs a seed on the store that `wrap` makes of a simulated disk.
///
/// # Errors
///
/// What is wrong, with all steps and operations of the disk.
pub fn run(
    seed: u64,
    weather: Weather,
    wrap: &dyn Fn(SimDisk) -> Arc<dyn Store>,
    counts: &mut Counts,
) -> Result<(), String> {
    let disk = SimDisk::new(seed);
    let mut world = World {
        random: fastrand::Rng::with_seed(seed ^ 0x5eed),
        store: wrap(disk.clone()),
        weather,
        // Weathers go by the lowest two bits.
        block_cache: if seed >> 2 & 1 == 0 { BlockCache::Used } else { BlockCache::Unused },
        history: Vec::new(),
        disk,
        storage: None,
        reader: None,
        kept: None,
        committed: Committed::default(),
        open_outcome: None,
        clients: Vec::new(),
        next_key: 1,
        steps: String::new(),
        counts: Counts::default(),
    };
    let result = match world.run() {
        Ok(()) => Ok(()),
        Err(End::Damaged) => {
            world.counts.damaged += 1;
            Ok(())
        }
        Err(End::Wrong(what)) => Err(what),
    };
    world.counts.faults = world.disk.fired();
    counts.add(&world.counts);
    result.map_err(|it| {
        format!("seed {seed}: {it}\n\nsteps:\n{}\ndisk:\n{}", world.steps, world.disk.trace())
    })
}

/// Whether blocks stay in memory, where faults of the disk do not reach them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockCache {
    Used,
    Unused,
}

impl BlockCache {
    fn apply(self, storage: Arc<Storage>) -> Arc<Storage> {
        if self == BlockCache::Unused {
            storage.files().set_cache_bytes(0);
        }
        storage
    }
}

struct World {
    random: fastrand::Rng,
    store: Arc<dyn Store>,
    disk: SimDisk,
    weather: Weather,
    block_cache: BlockCache,
    /// All that was committed at any time, where damage may lose the last commits.
    history: Vec<Committed>,
    storage: Option<Arc<Storage>>,
    /// Of another process, which only reads.
    reader: Option<Arc<Storage>>,
    /// A snapshot of the reader, and what it must hold for as long as it is kept.
    kept: Option<(Changes, Committed)>,
    committed: Committed,
    /// What is committed if the last commit, whose outcome is open, was durable.
    open_outcome: Option<Committed>,
    clients: Vec<Client>,
    next_key: i64,
    steps: String,
    counts: Counts,
}

/// An open transaction.
struct Client {
    transaction: OpenTransaction,
    changes: Changes,
    work: Work,
    saved: Option<(Changes, Work)>,
}

/// What ends a seed.
enum End {
    /// Something is wrong.
    Wrong(String),
    /// The database found damage, as it must.
    Damaged,
}

impl From<String> for End {
    fn from(what: String) -> End {
        End::Wrong(what)
    }
}

type Step = Result<(), End>;

impl World {
    fn run(&mut self) -> Step {
        self.recover()?;
        for _ in 0..STEPS {
            if self.random.u8(..12) == 0 {
                let distance = self.random.u64(..12);
                self.disk.crash_at(self.disk.operations() + distance);
            }
            self.step()?;
            if self.disk.has_crashed() {
                self.crash()?;
            }
        }
        self.note("end");
        self.crash()
    }

    fn note(&mut self, step: &str) {
        let _ = writeln!(self.steps, "{}: {step}", self.disk.operations());
    }

    fn storage(&self) -> Result<Arc<Storage>, End> {
        self.storage.clone().ok_or_else(|| "the database is not open".to_owned().into())
    }

    fn step(&mut self) -> Step {
        match self.random.u8(..35) {
            0..4 => self.begin(),
            4..17 => self.work(),
            17..22 => self.commit(),
            22 => self.abort(),
            23 => self.savepoint(),
            24..26 => self.checkpoint(),
            26 => self.propagate(),
            27 => self.merge(),
            28 => self.reopen(),
            29..32 => self.read(),
            _ => self.check(),
        }
    }

    fn begin(&mut self) -> Step {
        if self.clients.len() < OPEN_MAX {
            self.note("begin");
            let transaction = self.storage()?.begin();
            let changes = Changes::new(Arc::clone(transaction.version()));
            let work = self.committed.begin();
            self.clients.push(Client { transaction, changes, work, saved: None });
        }
        Ok(())
    }

    /// One change by one of the transactions.
    fn work(&mut self) -> Step {
        if self.clients.is_empty() {
            return self.begin();
        }
        let index = self.random.usize(..self.clients.len());
        let storage = self.storage()?;
        let kind = self.random.u8(..12);
        let name = NAMES[self.random.usize(..NAMES.len())];
        let Some(client) = self.clients.get_mut(index) else { return Ok(()) };
        let (mut changes, mut work) = (client.changes.clone(), client.work.clone());
        let Some(rows) = work.tables.rows.get(name) else {
            let _ = writeln!(self.steps, "client {index}: create {name}");
            work.create(name);
            let result = client::create(&storage, &mut changes, name);
            return self.finish_work(index, changes, work, result);
        };
        let keys: Vec<i64> = rows.keys().copied().collect();
        let key = self.random.choice(&keys).copied();
        let text = format!("text {}", self.random.u16(..));
        let result = match (kind, key) {
            (0, _) if self.random.u8(..4) == 0 => {
                let _ = writeln!(self.steps, "client {index}: drop {name}");
                work.drop_table(name);
                client::drop_table(&mut changes, name)
            }
            (1..4, Some(key)) => {
                let _ = writeln!(self.steps, "client {index}: remove {key} from {name}");
                work.change(name, key, None);
                client::change(&mut changes, name, key, None)
            }
            (4..7, Some(key)) => {
                let _ = writeln!(self.steps, "client {index}: change {key} of {name}");
                work.change(name, key, Some(&text));
                client::change(&mut changes, name, key, Some(&text))
            }
            (7, _) => {
                let count = self.random.i64(1..40);
                let rows = self.new_rows(count, &text);
                let _ = writeln!(self.steps, "client {index}: segment of {count} in {name}");
                rows.iter().for_each(|it| work.insert(name, it.0, &it.1));
                client::insert_segment(&storage, &mut changes, name, &rows)
            }
            _ => {
                let count = self.random.i64(1..6);
                let rows = self.new_rows(count, &text);
                let _ = writeln!(self.steps, "client {index}: insert {count} into {name}");
                rows.iter().for_each(|it| work.insert(name, it.0, &it.1));
                client::insert(&mut changes, name, &rows)
            }
        };
        self.finish_work(index, changes, work, result)
    }

    fn new_rows(&mut self, count: i64, text: &str) -> Vec<(i64, String)> {
        let first = self.next_key;
        self.next_key += count;
        (first..self.next_key).map(|it| (it, format!("{text} of {it}"))).collect()
    }

    /// Keeps a change that succeeded.
    fn finish_work(
        &mut self,
        index: usize,
        changes: Changes,
        work: Work,
        result: volley_error::Result<()>,
    ) -> Step {
        match result {
            Ok(()) => {
                if let Some(client) = self.clients.get_mut(index) {
                    client.changes = changes;
                    client.work = work;
                }
                Ok(())
            }
            Err(error) => self.expect_fault("a change", &error),
        }
    }

    fn commit(&mut self) -> Step {
        if self.clients.is_empty() {
            return Ok(());
        }
        let client = self.clients.swap_remove(self.random.usize(..self.clients.len()));
        self.note("commit");
        let is_empty = client.changes.is_empty();
        let conflict = self.committed.conflict(&client.work);
        let next = self.committed.apply(&client.work);
        match client.transaction.commit(client.changes) {
            Ok(()) if is_empty => Ok(()),
            Ok(()) => match conflict {
                None => {
                    self.counts.commits += 1;
                    self.history.push(std::mem::replace(&mut self.committed, next));
                    Ok(())
                }
                Some(conflict) => Err(wrong(format!("a conflict was not found: {conflict}"))),
            },
            Err(error) if error.kind() == ErrorKind::InvalidQuery => match conflict {
                Some(_) => {
                    self.counts.conflicts += 1;
                    Ok(())
                }
                None => Err(wrong(format!("a conflict without a reason: {error}"))),
            },
            Err(error) if self.disk.has_crashed() || is_outcome_open(&error) => {
                let _ = writeln!(self.steps, "outcome open: {error}");
                if conflict.is_none() {
                    self.counts.open_outcomes += 1;
                    self.open_outcome = Some(next);
                }
                if self.disk.has_crashed() { Ok(()) } else { self.reopen() }
            }
            Err(error) => self.expect_fault("a commit", &error),
        }
    }

    fn abort(&mut self) -> Step {
        if !self.clients.is_empty() {
            self.note("abort");
            drop(self.clients.swap_remove(self.random.usize(..self.clients.len())));
        }
        Ok(())
    }

    fn savepoint(&mut self) -> Step {
        let Some(index) = self.clients.len().checked_sub(1) else { return Ok(()) };
        let is_back = self.random.bool();
        if let Some(client) = self.clients.get_mut(index) {
            match client.saved.take().filter(|_| is_back) {
                Some((changes, work)) => {
                    client.changes = changes;
                    client.work = work;
                }
                None => client.saved = Some((client.changes.clone(), client.work.clone())),
            }
        }
        self.note("savepoint");
        Ok(())
    }

    fn checkpoint(&mut self) -> Step {
        self.note("checkpoint");
        match self.storage()?.checkpoint() {
            Ok(()) => {
                self.counts.checkpoints += 1;
                self.check()
            }
            Err(error) => self.expect_fault("a checkpoint", &error),
        }
    }

    fn propagate(&mut self) -> Step {
        let storage = self.storage()?;
        let version = storage.snapshot();
        let segments = version.tables.values().flat_map(|table| {
            let changed = table.segments.iter().filter(|it| !it.is_clean());
            changed.map(|it| (table.id, it.segment.id()))
        });
        let segments: Vec<_> = segments.collect();
        let Some((table, segment)) = self.random.choice(&segments).copied() else { return Ok(()) };
        self.note("propagate");
        match storage.propagate(table, segment) {
            Ok(()) => {
                self.counts.propagations += 1;
                let version = storage.snapshot();
                let segments = version.tables.get(&table).map(|it| it.segments.as_slice());
                let mut segments = segments.unwrap_or_default().iter();
                if segments.any(|it| !it.segment.has_own_blocks()) {
                    self.counts.column_propagations += 1;
                }
                self.check()
            }
            Err(error) => self.expect_fault("a propagation", &error),
        }
    }

    /// Writes some segments of a table again as one.
    fn merge(&mut self) -> Step {
        let storage = self.storage()?;
        let version = storage.snapshot();
        let tables: Vec<_> = version.tables.values().collect();
        let Some(table) = self.random.choice(&tables) else { return Ok(()) };
        let segments: Vec<u32> = table.segments.iter().map(|it| it.segment.id()).collect();
        let first = self.random.usize(..segments.len());
        let last = self.random.usize(first..segments.len());
        let merged = segments.get(first..=last).unwrap_or_default();
        self.note(&format!("merge {merged:?}"));
        match storage.merge(table.id, merged) {
            Ok(()) => {
                self.counts.merges += 1;
                self.check()
            }
            Err(error) => self.expect_fault("a merge", &error),
        }
    }

    /// Ends the process, not the machine.
    fn reopen(&mut self) -> Step {
        self.note("reopen");
        self.counts.reopened += 1;
        self.clients.clear();
        if let Some(storage) = self.storage.take()
            && self.random.bool()
            && let Err(error) = storage.close()
        {
            self.expect_fault("closing", &error)?;
        }
        self.recover()
    }

    fn crash(&mut self) -> Step {
        self.note("crash");
        self.counts.crashes += 1;
        self.clients.clear();
        (self.storage, self.reader, self.kept) = (None, None, None);
        self.disk.restart();
        self.recover()
    }

    /// Opens the database and checks what it holds.
    fn recover(&mut self) -> Step {
        for attempt in 0.. {
            let is_faulty = attempt < FAULTY_RECOVERIES;
            self.disk.set_faults(match self.weather {
                _ if !is_faulty => Faults::default(),
                Weather::Survivable => SURVIVABLE,
                Weather::Damaging => DAMAGING,
            });
            if is_faulty && self.random.u8(..4) == 0 {
                let distance = self.random.u64(..20);
                self.disk.crash_at(self.disk.operations() + distance);
            }
            let options = self.options();
            self.note("open");
            match Storage::open(Arc::clone(&self.store), options) {
                // Files that are garbage may be left behind by a crash.
                Ok(storage) if !self.disk.has_crashed() => {
                    self.storage = Some(self.block_cache.apply(storage));
                    self.disk.crash_at(u64::MAX);
                    return self.check_recovered();
                }
                opened if self.disk.has_crashed() => {
                    let _ = writeln!(self.steps, "crash while it is opened: {opened:?}");
                    self.counts.crashes += 1;
                    (self.reader, self.kept) = (None, None);
                    self.disk.restart();
                }
                Err(error) if is_faulty => self.expect_fault("opening", &error)?,
                Err(error) => {
                    let is_damage = self.weather == Weather::Damaging && is_damage(&error);
                    let what = || wrong(format!("the database cannot be opened: {error}"));
                    return Err(if is_damage { End::Damaged } else { what() });
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    fn check_recovered(&mut self) -> Step {
        let changes = Changes::new(self.storage()?.snapshot());
        let found = loop {
            match client::read(&changes) {
                Ok(found) => break found,
                Err(error) => self.expect_fault("reading", &error)?,
            }
        };
        if let Some(next) = self.open_outcome.take()
            && next.tables.rows == found
            && self.committed.tables.rows != found
        {
            self.counts.kept_outcomes += 1;
            self.committed = next;
        }
        if self.committed.tables.rows == found {
            return Ok(());
        }
        // The last groups of the log look like a torn end when they are damaged.
        let before = self.history.iter().rev().find(|it| it.tables.rows == found);
        if self.weather == Weather::Damaging
            && let Some(before) = before
        {
            self.committed = before.clone();
            return Ok(());
        }
        let expected = &self.committed.tables.rows;
        let what = "wrong rows after a recovery";
        Err(wrong(format!("{what}\nexpected: {expected:?}\nfound:    {found:?}")))
    }

    /// Another process reads what is committed.
    fn read(&mut self) -> Step {
        self.note("read");
        let refreshed = match &self.reader {
            Some(reader) => reader.refresh(),
            None => {
                let options = self.options();
                let opened = Storage::open_read_only(Arc::clone(&self.store), options);
                opened.map(|it| self.reader = Some(self.block_cache.apply(it)))
            }
        };
        let reader = match (refreshed, &self.reader) {
            _ if self.disk.has_crashed() => return Ok(()),
            (Err(error), _) => return self.expect_damage("a reader", &error),
            (Ok(()), Some(reader)) => Arc::clone(reader),
            (Ok(()), None) => return Ok(()),
        };
        self.counts.reads += 1;
        let changes = Changes::new(reader.snapshot());
        let expected = self.committed.clone();
        self.check_reader(&changes, &expected)?;
        if let Some((kept, expected)) = self.kept.take() {
            self.check_reader(&kept, &expected)?;
            self.kept = Some((kept, expected)).filter(|_| self.random.u8(..4) > 0);
        }
        if self.kept.is_none() {
            self.kept = Some((changes, expected));
        }
        Ok(())
    }

    /// Compares what a snapshot of the reader holds with what was committed when it was taken.
    fn check_reader(&mut self, changes: &Changes, expected: &Committed) -> Step {
        let found = match client::read(changes) {
            Ok(found) => found,
            Err(_) if self.disk.has_crashed() => return Ok(()),
            Err(error) => return self.expect_damage("a reader's scan", &error),
        };
        // The last groups of the log look like a torn end when they are damaged.
        let is_damaging = self.weather == Weather::Damaging;
        let is_older = || self.history.iter().any(|it| it.tables.rows == found);
        if expected.tables.rows == found || is_damaging && is_older() {
            return Ok(());
        }
        let expected = &expected.tables.rows;
        Err(wrong(format!("a reader is wrong\nexpected: {expected:?}\nfound:    {found:?}")))
    }

    fn options(&mut self) -> StorageOptions {
        StorageOptions {
            pool: Pool::root("simulation", None),
            delta_bytes: usize::MAX,
            types: Arc::new(TypeRegistry::default()),
            salt: self.random.u64(..),
            bulk_rows: volley_storage::BULK_ROWS,
        }
    }

    /// Compares all that readers and transactions see.
    fn check(&mut self) -> Step {
        let committed = Changes::new(self.storage()?.snapshot());
        let views = self.clients.iter().map(|it| (&it.changes, &it.work.tables));
        let views = [(&committed, &self.committed.tables)].into_iter().chain(views);
        let mut failed = None;
        for (number, (changes, expected)) in views.enumerate() {
            match client::read(changes) {
                Ok(found) if found == expected.rows => {}
                Ok(found) => {
                    let expected = &expected.rows;
                    return Err(wrong(format!(
                        "view {number} is wrong\nexpected: {expected:?}\nfound:    {found:?}"
                    )));
                }
                Err(_) if self.disk.has_crashed() => return Ok(()),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        failed.map_or(Ok(()), |it| self.expect_fault("reading", &it))
    }

    /// An error of reading, which no fault that a database survives explains.
    fn expect_damage(&mut self, what: &str, error: &Error) -> Step {
        match self.weather {
            Weather::Survivable => Err(wrong(format!("{what} failed: {error}"))),
            Weather::Damaging => self.expect_fault(what, error),
        }
    }

    /// An error that a fault of the disk explains.
    fn expect_fault(&mut self, what: &str, error: &Error) -> Step {
        let _ = writeln!(self.steps, "{what} failed: {error}");
        if error.kind() != ErrorKind::Io {
            let is_found = self.weather == Weather::Damaging && is_damage(error);
            let what = || wrong(format!("{what} failed: {error}"));
            return Err(if is_found { End::Damaged } else { what() });
        }
        if is_outcome_open(error) && !self.disk.has_crashed() && self.storage.is_some() {
            return self.reopen();
        }
        Ok(())
    }
}

fn wrong(what: String) -> End {
    End::Wrong(what)
}

/// Whether an error says that bytes are damaged.
fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Unsupported)
}

/// Whether the database must be opened again.
fn is_outcome_open(error: &Error) -> bool {
    error.to_string().contains("cannot be changed any more")
}

impl Counts {
    /// Adds those of other seeds.
    pub fn add(&mut self, other: &Counts) {
        self.commits += other.commits;
        self.conflicts += other.conflicts;
        self.open_outcomes += other.open_outcomes;
        self.kept_outcomes += other.kept_outcomes;
        self.crashes += other.crashes;
        self.checkpoints += other.checkpoints;
        self.propagations += other.propagations;
        self.column_propagations += other.column_propagations;
        self.merges += other.merges;
        self.reopened += other.reopened;
        self.reads += other.reads;
        self.damaged += other.damaged;
        self.faults.add(other.faults);
    }
}
