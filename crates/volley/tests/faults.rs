//! The 22 TPC-H queries, and statements of operators that these do not need, while a read, a growth
//! of a pool, or an operation on spill files fails: an error or the right answer, and nothing is
//! left behind.
//!
//! A few places per query are tried; `VOLLEY_FAULTS=all cargo test -p volley --test faults` tries
//! them all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    env, fs, io,
    path::Path,
    sync::{Arc, OnceLock},
};
use tempfile::TempDir;
use volley::{ErrorKind, FileTable, Session, Value};
use volley_connector_hive::FileOptions;
use volley_io::{FileSystems, LocalFileSystem};
use volley_io_testkit::{FaultyFileSystem, FileFaults};
use volley_memory::spill::Fault;

/// Places that are tried per query and kind of fault.
const PLACES: u64 = 3;

/// What TPC-H has none of. Each returns few rows, the same ones each time.
const OTHERS: [&str; 11] = [
    // Sorts, whole and first rows, and rows that are skipped.
    "SELECT * FROM lineitem ORDER BY l_comment, l_orderkey, l_linenumber LIMIT 5 OFFSET 30000",
    "SELECT count(*), max(c) FROM (SELECT l_comment AS c FROM lineitem ORDER BY l_comment, \
        l_orderkey LIMIT 5000) t",
    // Windows: several partitions, one partition by pieces in one pass, and in two.
    "SELECT sum(n * l_tax), max(c) FROM (SELECT l_tax, row_number() OVER (PARTITION BY l_suppkey \
        ORDER BY l_orderkey, l_linenumber) AS n, max(l_comment) OVER (PARTITION BY l_partkey % 7) \
        AS c FROM lineitem) t",
    "SELECT sum(n * l_tax), sum(p), max(c) FROM (SELECT l_tax, row_number() OVER w AS n, \
        lag(l_partkey, 3) OVER w AS p, max(l_comment) OVER (ORDER BY l_orderkey, l_linenumber \
        ROWS 10 PRECEDING) AS c FROM lineitem WINDOW w AS (ORDER BY l_orderkey, l_linenumber)) t",
    "SELECT sum(n * l_tax), sum(q) FROM (SELECT l_tax, ntile(100) OVER (ORDER BY l_orderkey, \
        l_linenumber) AS n, sum(l_quantity) OVER (ORDER BY l_orderkey) AS q FROM lineitem) t",
    // Distinct and sorted arguments, texts as states.
    "SELECT count(*), sum(c), max(a), max(m) FROM (SELECT count(DISTINCT l_suppkey) AS c, \
        string_agg(l_shipmode, ',' ORDER BY l_partkey, l_linenumber) AS a, max(l_comment) AS m \
        FROM lineitem GROUP BY l_suppkey) t",
    "SELECT count(DISTINCT l_comment), count(DISTINCT l_partkey), sum(l_quantity) FROM lineitem",
    // Joins that keep both sides, and joins without equality.
    "SELECT count(*), count(a.l_tax), count(b.o_custkey), max(o_comment) FROM lineitem a \
        FULL JOIN orders b ON a.l_comment = b.o_comment AND a.l_orderkey < b.o_orderkey",
    "SELECT count(*), max(a.s_comment || b.n_comment) FROM supplier a LEFT JOIN nation b \
        ON a.s_nationkey > b.n_nationkey + 20 OR a.s_comment < b.n_comment",
    // Sets of rows, and a shared subplan.
    "SELECT count(*), max(c) FROM (SELECT l_shipmode AS c, l_linenumber FROM lineitem EXCEPT ALL \
        SELECT o_clerk, o_shippriority FROM orders) t",
    "WITH t AS MATERIALIZED (SELECT l_orderkey AS k, l_comment AS c FROM lineitem) \
        SELECT count(*), max(a.c) FROM t a JOIN t b ON a.k = b.k AND a.c < b.c",
];

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Read,
    Growth,
    /// The same, while everything is spilled.
    GrowthOfSpilled,
    Spill(Fault),
}

struct Tables {
    session: Session,
    files: FileFaults,
    spill_directory: TempDir,
}

impl Tables {
    fn new(data: &Path, kind: Kind) -> Tables {
        let (spill_directory, files) = (tempfile::tempdir().unwrap(), FileFaults::default());
        let local = FaultyFileSystem::new(Arc::new(LocalFileSystem::default()), &files);
        let session = Session::new().unwrap();
        let spills = matches!(kind, Kind::GrowthOfSpilled | Kind::Spill(_));
        let directory = spill_directory.path().to_str().unwrap();
        for (name, value) in [
            ("threads", "2"),
            ("spill_directory", directory),
            ("debug_spill_always", if spills { "true" } else { "false" }),
        ] {
            session.set(name, value).unwrap();
        }
        // Footers are charged to another pool than the session's.
        let file_systems = FileSystems::default().with_local(Arc::new(local));
        let options = FileOptions { files: file_systems, ..FileOptions::default() };
        for (table, _) in volley_tpch::TABLES {
            let path = data.join(format!("{table}.parquet"));
            let table_of_files = FileTable::open(path.to_str().unwrap(), &options).unwrap();
            session.register_table(table, Arc::new(table_of_files)).unwrap();
        }
        Tables { session, files, spill_directory }
    }

    /// How often there was what may fail.
    fn count(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Read => self.files.operations(),
            Kind::Growth | Kind::GrowthOfSpilled => self.session.pool().growths(),
            Kind::Spill(_) => self.session.spill_space().operations(),
        }
    }

    /// Makes the occurrence `place` of what may fail from now on, fail.
    fn inject(&self, kind: Kind, place: u64) {
        match kind {
            Kind::Read => self.files.inject(self.count(kind) + place, io::ErrorKind::Other),
            Kind::Growth | Kind::GrowthOfSpilled => self.session.pool().refuse_growth(place),
            Kind::Spill(fault) => {
                self.session.spill_space().inject(self.count(kind) + place, fault)
            }
        }
    }

    fn answer(&self, sql: &str) -> volley::Result<Vec<Vec<Value>>> {
        let rows = self.session.sql(sql).and_then(|it| it.collect_values());
        self.session.wait_released();
        assert_eq!(self.session.pool().stats().bytes, 0, "bytes stay charged: {sql}");
        let spilled = self.session.spill_space().stats();
        assert_eq!(spilled.bytes, 0, "bytes stay on disk: {sql}");
        for folder in fs::read_dir(self.spill_directory.path()).unwrap() {
            let files = fs::read_dir(folder.unwrap().path()).unwrap();
            assert!(files.count() <= 1, "files beside the lock: {sql}");
        }
        rows
    }
}

/// The folder of the tables, made once.
fn data() -> &'static Path {
    static DATA: OnceLock<TempDir> = OnceLock::new();
    let made = DATA.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        volley_tpch::generate(0.01, folder.path(), &|_| Ok(())).unwrap();
        folder
    });
    made.path()
}

fn check(kind: Kind) {
    let tables = Tables::new(data(), kind);
    let (mut tried, mut failed) = (0, 0);
    let queries = volley_tpch::QUERIES.iter().chain(&OTHERS);
    for (number, sql) in queries.enumerate() {
        tables.inject(kind, u64::MAX >> 1);
        let before = tables.count(kind);
        let expected = tables.answer(sql).unwrap();
        let places = tables.count(kind) - before;
        let step = match env::var("VOLLEY_FAULTS").as_deref() {
            Ok("all") => 1,
            _ => (places / PLACES).max(1),
        };
        // The first ones, too, for each query another.
        let first = number as u64 % step;
        for place in (first..places).step_by(step as usize) {
            tables.inject(kind, place);
            tried += 1;
            match tables.answer(sql) {
                Ok(rows) => assert_same(&rows, &expected, sql),
                Err(error) => {
                    failed += 1;
                    check_error(kind, error.kind(), &error.to_string());
                }
            }
        }
    }
    println!("{kind:?}: {failed} of {tried} failed");
    assert!(failed > 33 && tried < failed * 10, "{failed} of {tried} failed");
}

fn check_error(kind: Kind, found: ErrorKind, message: &str) {
    let allowed: &[ErrorKind] = match kind {
        Kind::Read => &[ErrorKind::Io],
        Kind::Growth | Kind::GrowthOfSpilled => &[ErrorKind::OutOfMemory],
        Kind::Spill(_) => &[ErrorKind::Io, ErrorKind::Corruption],
    };
    assert!(allowed.contains(&found), "{kind:?}: {found:?}: {message}");
}

/// Sums of doubles depend on the order of additions.
fn assert_same(rows: &[Vec<Value>], expected: &[Vec<Value>], sql: &str) {
    assert_eq!(rows.len(), expected.len(), "{sql}");
    for (a, b) in rows.iter().flatten().zip(expected.iter().flatten()) {
        let is_same = match (a, b) {
            (Value::Double(a), Value::Double(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            (a, b) => a == b,
        };
        assert!(is_same, "{a:?} instead of {b:?}: {sql}");
    }
}

#[test]
fn reads_fail() {
    check(Kind::Read);
}

#[test]
fn growths_of_pools_fail() {
    check(Kind::Growth);
}

#[test]
fn growths_of_pools_fail_while_everything_spills() {
    check(Kind::GrowthOfSpilled);
}

#[test]
fn spill_files_fail() {
    check(Kind::Spill(Fault::Error(io::ErrorKind::StorageFull)));
}

#[test]
fn spill_files_are_damaged() {
    check(Kind::Spill(Fault::FlippedBit));
}
