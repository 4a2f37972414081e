//! Statements that are cancelled, dropped or timed out at random moments end and leak nothing.
//! Statements that finish first return the right answer.
//!
//! It runs for as long as `VOLLEY_CANCEL_SECONDS` says, over the tables in `VOLLEY_CANCEL_DATA`,
//! and prints how long statements took to stop. Times are not checked: they depend on the machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod latency;
mod statements;

use latency::Latencies;
use statements::{STATEMENTS, numbers};
use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    env, fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use volley::{Error, ErrorKind, Result, Session};

/// How a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    InMemory,
    /// With less memory than many statements need.
    Short,
    /// Everything is written to disk at every step.
    SpillAlways,
}

/// How a statement is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Cancel,
    Drop,
    TimeOut,
}

/// What to run, and for how long.
struct Plan {
    data: PathBuf,
    /// At least one round is run.
    seconds: u64,
    /// The longest run that is let come to its end.
    longest: Duration,
    /// Statements whose names contain it.
    part: String,
}

/// A pseudo-random sequence (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}

/// One session and where it writes.
struct Bench {
    session: Session,
    mode: Mode,
    out: tempfile::TempDir,
    spill: tempfile::TempDir,
    /// What the tables hold.
    bytes: usize,
}

impl Bench {
    fn new(plan: &Plan, text: &Path, mode: Mode, batch_rows: &str) -> Bench {
        let (out, spill) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let session = Session::new().unwrap();
        let set = |name: &str, value: &str| session.set(name, value).unwrap();
        set("threads", "2");
        set("batch_rows", batch_rows);
        set("spill_directory", spill.path().to_str().unwrap());
        set("debug_spill_always", if mode == Mode::SpillAlways { "on" } else { "off" });
        if mode == Mode::Short {
            let bytes = fs::metadata(plan.data.join("lineitem.parquet")).unwrap().len();
            set("memory_limit", &(bytes + (24 << 20)).to_string());
        }
        let path = |it: PathBuf| it.to_str().unwrap().to_owned();
        for table in ["lineitem", "orders", "region"] {
            let file = plan.data.join(format!("{table}.parquet"));
            session.register_files(table, &path(file)).unwrap();
        }
        session.register_files("lines", &path(text.join("lines.csv"))).unwrap();
        session.register_files("objects", &path(text.join("objects.json"))).unwrap();
        session.sql("CREATE TABLE filled AS SELECT 1 :: BIGINT AS k, 'x' AS c").unwrap();
        session.wait_released();
        let bytes = session.pool().stats().bytes;
        Bench { session, mode, out, spill, bytes }
    }

    fn text(&self, sql: &str) -> String {
        let out = self.out.path().join("out");
        sql.replace("{out}", out.to_str().unwrap()).replace("{numbers}", &numbers())
    }

    /// Runs a statement to its end; a digest of its rows.
    fn drain(&self, sql: &str, stopped: &AtomicBool) -> Result<u64> {
        let mut rows = self.session.sql(sql)?;
        let (mut digest, mut count) = (0_u64, 0);
        while let Some(batch) = rows.next()? {
            if stopped.load(Ordering::Relaxed) {
                // A client that drops a result needs no answer either.
                return Err(Error::cancelled());
            }
            count += batch.rows();
            // All rows of small results, some of large ones are looked at.
            for row in (0..batch.rows()).filter(|_| count < 1000) {
                let mut hasher = DefaultHasher::new();
                let values = batch.columns().iter().map(|it| it.value(row).unwrap());
                format!("{:?}", values.collect::<Vec<_>>()).hash(&mut hasher);
                digest = digest.wrapping_add(hasher.finish());
            }
        }
        Ok(if count < 1000 { digest } else { count as u64 })
    }

    /// Runs `sql` and stops it after `delay`; the answer, how long it ran, and how long it took to
    /// stop.
    fn run(&self, sql: &str, stop: Stop, delay: Duration) -> (Result<u64>, Duration, Duration) {
        let timeout = format!("{}ms", delay.as_millis().max(1));
        if stop == Stop::TimeOut {
            self.session.set("statement_timeout", &timeout).unwrap();
        }
        let (dropped, start) = (AtomicBool::new(false), Instant::now());
        let (answer, asked, end) = thread::scope(|scope| {
            let query = scope.spawn(|| (self.drain(sql, &dropped), Instant::now()));
            while start.elapsed() < delay && !query.is_finished() {
                thread::sleep(Duration::from_micros(100));
            }
            let asked = Instant::now();
            dropped.store(stop == Stop::Drop, Ordering::Relaxed);
            // What has no rows yet cannot be dropped; what has not begun, not be cancelled.
            while stop != Stop::TimeOut && !query.is_finished() {
                if stop == Stop::Cancel || asked.elapsed() > Duration::from_millis(20) {
                    self.session.cancel();
                }
                thread::sleep(Duration::from_micros(500));
            }
            let (answer, end) = query.join().unwrap();
            (answer, asked, end)
        });
        self.session.set("statement_timeout", "0").unwrap();
        (answer, end - start, end.saturating_duration_since(asked))
    }

    /// Checks that nothing is left of a statement.
    #[track_caller]
    fn check_clean(&self, name: &str) {
        self.session.sql("DROP TABLE IF EXISTS made").unwrap();
        self.session
            .sql("CREATE OR REPLACE TABLE filled AS SELECT 1 :: BIGINT AS k, 'x' AS c")
            .unwrap();
        for file in fs::read_dir(self.out.path()).unwrap() {
            let path = file.unwrap().path();
            assert!(!path.to_string_lossy().contains("unfinished"), "{name}: {path:?}");
            fs::remove_file(path).unwrap();
        }
        self.session.wait_released();
        // A thread may hold the last reference to a task a moment longer than its drivers.
        let (held, start) = (|| self.session.pool().stats().bytes, Instant::now());
        while held() != self.bytes && start.elapsed() < Duration::from_secs(1) {
            thread::yield_now();
        }
        assert_eq!(held(), self.bytes, "{name}: bytes held");
        let files = open_spill_files(self.spill.path());
        assert_eq!(files, Vec::<PathBuf>::new(), "{name}: spill files are left");
        assert_eq!(self.session.spill_space().stats().bytes, 0, "{name}: spilled bytes");
    }

    /// Ends the session; nothing is left of it.
    fn end(self) {
        let spilled = self.session.spill_space().stats().bytes_written;
        assert!(self.mode != Mode::SpillAlways || spilled > 0, "nothing was spilled");
        drop(self.session);
        assert_eq!(fs::read_dir(self.spill.path()).unwrap().count(), 0, "spill folders are left");
        assert_eq!(threads_left(), Vec::<String>::new(), "threads are left");
    }
}

/// Spill files below `folder` that this process has open and that have bytes: empty ones are kept
/// for later. They are unlinked; the lock of the session's folder has no bytes, either.
fn open_spill_files(folder: &Path) -> Vec<PathBuf> {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let paths = open.filter_map(|it| Some(it.ok()?.path()));
    let filled = paths.filter(|it| fs::metadata(it).is_ok_and(|it| it.len() > 0));
    filled.filter_map(|it| fs::read_link(it).ok()).filter(|it| it.starts_with(folder)).collect()
}

/// Threads of this process that run queries.
fn threads_left() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = tasks.filter_map(|it| fs::read_to_string(it.ok()?.path().join("comm")).ok());
    names.filter(|it| it.starts_with("driver-") || it.starts_with("timer")).collect()
}

/// Runs every statement once in full, if it is quick enough, and stops it twice at random moments.
fn round(
    bench: &Bench,
    plan: &Plan,
    random: &mut Random,
    answers: &mut HashMap<&'static str, u64>,
    latencies: &mut Latencies,
) {
    for (name, sql) in STATEMENTS.iter().filter(|it| it.0.contains(&plan.part)) {
        let sql = bench.text(sql);
        let mut took = plan.longest;
        for run in 0..3 {
            let (stop, delay) = match run {
                0 => (Stop::Cancel, plan.longest),
                _ => {
                    let stops = [Stop::Cancel, Stop::Cancel, Stop::Drop, Stop::TimeOut];
                    let micros = random.below(took.as_micros() as u64);
                    (stops[random.below(4) as usize], Duration::from_micros(micros))
                }
            };
            let (answer, ran, latency) = bench.run(&sql, stop, delay);
            if run == 0 {
                took = ran;
            }
            match answer {
                Ok(answer) => {
                    let expected = *answers.entry(name).or_insert(answer);
                    assert_eq!(answer, expected, "{name}, {:?}: another answer", bench.mode);
                }
                Err(error) => {
                    let allowed = match error.kind() {
                        ErrorKind::Cancelled => true,
                        ErrorKind::TimedOut => stop == Stop::TimeOut,
                        ErrorKind::OutOfMemory => bench.mode == Mode::Short,
                        _ => false,
                    };
                    assert!(allowed, "{name}, {:?}, {stop:?} after {delay:?}: {error}", bench.mode);
                    if stop != Stop::Drop && error.kind() != ErrorKind::OutOfMemory {
                        latencies.add(name, &format!("{:?}", bench.mode), latency, delay);
                    }
                }
            }
            bench.check_clean(name);
        }
    }
    // The session goes on.
    let rows = bench.session.sql("SELECT count(*) FROM region").unwrap();
    assert_eq!(rows.collect_values().unwrap()[0][0].as_i128(), Some(5));
}

#[test]
fn whatever_is_stopped_ends_and_leaves_nothing_behind() {
    let tables = tempfile::tempdir().unwrap();
    let variable = |name: &str| env::var(name).ok();
    let seconds = variable("VOLLEY_CANCEL_SECONDS").and_then(|it| it.parse().ok()).unwrap_or(0);
    let data = variable("VOLLEY_CANCEL_DATA").map(PathBuf::from);
    if data.is_none() {
        volley_tpch::generate(0.01, tables.path(), &|_| Ok(())).unwrap();
    }
    let longest = Duration::from_millis(if seconds > 0 { 2000 } else { 60 });
    let plan = Plan {
        data: data.unwrap_or_else(|| tables.path().to_owned()),
        seconds,
        longest,
        part: variable("VOLLEY_CANCEL_PART").unwrap_or_default(),
    };
    let text = tempfile::tempdir().unwrap();
    write_text(&plan, text.path());
    let (mut random, mut answers) = (Random(0x9e37_79b9_7f4a_7c15), HashMap::new());
    let (mut latencies, begin) = (Latencies::default(), Instant::now());
    let batch_rows = ["8192", "64"];
    for number in 0.. {
        for mode in [Mode::InMemory, Mode::Short, Mode::SpillAlways] {
            let bench = Bench::new(&plan, text.path(), mode, batch_rows[number % 2]);
            round(&bench, &plan, &mut random, &mut answers, &mut latencies);
            bench.end();
        }
        if begin.elapsed().as_secs() >= plan.seconds {
            break;
        }
    }
    assert!(latencies.count() > 0, "nothing was stopped");
    println!("{latencies}");
}

/// The tables as CSV and JSON.
fn write_text(plan: &Plan, text: &Path) {
    let session = Session::new().unwrap();
    for (table, file) in [("lineitem", "lines.csv"), ("orders", "objects.json")] {
        let (from, to) = (plan.data.join(format!("{table}.parquet")), text.join(file));
        let (from, to) = (from.display(), to.display());
        session.sql(&format!("COPY (SELECT * FROM '{from}') TO '{to}'")).unwrap();
    }
}
