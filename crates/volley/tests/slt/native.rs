//! The corpus on a database on disk that is the default one.
//!
//! `NATIVE_SEED=7` chooses other modes for the files. `NATIVE_MODES=all` runs each file in all
//! modes, `NATIVE_MODES=reopen,propagate` in these.

use crate::{CORPUS, Configuration, MADE_UP_TYPES, files_of, run_file};
use std::path::Path;
use tempfile::TempDir;
use volley::{Error, Session, Value};

/// The name of the database.
const NAME: &str = "native";

/// The name of the database that the corpus expects to be the default one.
const EXPECTED_NAME: &str = "memory";

/// Files that do not run on a database on disk, and why.
const EXEMPT: [(&str, &str); 3] = [
    ("tests/slt/ddl/attach.slt", "lists the attached databases, and there is one more"),
    ("tests/slt/ddl/show.slt", "lists the attached databases, and there is one more"),
    ("tests/slt/select/rowid.slt", "row ids of native tables are other numbers"),
];

/// What is done after each statement outside of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Nothing.
    None,
    /// The database is detached and attached again.
    Reopen,
    /// A checkpoint.
    Checkpoint,
    /// Nothing, and no insert makes a segment: every change stays a change.
    Deltas,
    /// All changes are written into segments.
    Propagate,
    /// Nothing, and every insert makes a segment.
    Segments,
}

impl Upkeep {
    const ALL: [Upkeep; 6] = [
        Upkeep::None,
        Upkeep::Reopen,
        Upkeep::Checkpoint,
        Upkeep::Deltas,
        Upkeep::Propagate,
        Upkeep::Segments,
    ];

    fn name(self) -> &'static str {
        match self {
            Upkeep::None => "none",
            Upkeep::Reopen => "reopen",
            Upkeep::Checkpoint => "checkpoint",
            Upkeep::Deltas => "deltas",
            Upkeep::Propagate => "propagate",
            Upkeep::Segments => "segments",
        }
    }

    /// The inserts that make a segment.
    fn bulk_rows(self) -> u32 {
        match self {
            Upkeep::Deltas => u32::MAX,
            Upkeep::Segments => 1,
            _ => 64 << 10,
        }
    }
}

/// The database of a session.
pub struct Native {
    folder: TempDir,
    upkeep: Upkeep,
}

impl Native {
    /// Makes a database the default one of a session.
    pub fn open(session: &Session, upkeep: Upkeep) -> Native {
        let native = Native { folder: tempfile::tempdir().unwrap(), upkeep };
        native.attach(session).unwrap();
        session.sql(&format!("USE {NAME}")).unwrap();
        native
    }

    fn attach(&self, session: &Session) -> Result<(), Error> {
        let (path, bulk_rows) = (self.folder.path().display(), self.upkeep.bulk_rows());
        session.sql(&format!("ATTACH '{path}' AS {NAME} (BULK_ROWS {bulk_rows})")).map(drop)
    }

    /// What is done after a statement.
    pub fn after_statement(&self, session: &Session) -> Result<(), Error> {
        if session.is_in_transaction() {
            return Ok(());
        }
        match self.upkeep {
            Upkeep::None | Upkeep::Deltas | Upkeep::Segments => Ok(()),
            Upkeep::Checkpoint => session.sql(&format!("CHECKPOINT {NAME}")).map(drop),
            Upkeep::Propagate => {
                let path = search_path(session)?;
                session.sql(&format!("SET search_path = '{NAME}.main'; VACUUM"))?;
                session.sql(&format!("SET search_path = '{path}'")).map(drop)
            }
            Upkeep::Reopen => {
                let path = search_path(session)?;
                // A query that was cut off may still hold the database.
                session.wait_released();
                session.sql(&format!("SET search_path = 'memory.main'; DETACH {NAME}"))?;
                self.attach(session)?;
                session.sql(&format!("SET search_path = '{path}'")).map(drop)
            }
        }
    }
}

/// A statement of the corpus with the name of the database.
pub fn renamed(sql: &str) -> String {
    sql.replace(&format!("{EXPECTED_NAME}."), &format!("{NAME}."))
}

/// A cell of a result with the name that the corpus expects.
pub fn expected_cell(cell: String) -> String {
    if cell == NAME { EXPECTED_NAME.to_owned() } else { cell }
}

/// An error with names as the corpus expects them.
pub fn expected_error(error: &Error) -> Error {
    let message = error.to_string().replace(&format!("{NAME}.main."), "");
    Error::new(error.kind(), message.replace(&format!("{NAME}."), ""))
}

fn search_path(session: &Session) -> Result<String, Error> {
    let rows = session.sql("SHOW search_path")?.collect_values()?;
    let path = rows.first().and_then(|row| row.first()).and_then(Value::as_str);
    path.map(str::to_owned).ok_or_else(|| Error::internal("no search path"))
}

/// The modes in which the file with this number runs.
fn modes(number: usize) -> Vec<Upkeep> {
    let chosen = std::env::var("NATIVE_MODES").unwrap_or_default();
    if chosen == "all" {
        return Upkeep::ALL.to_vec();
    }
    let of_name = |name: &str| {
        let found = Upkeep::ALL.iter().find(|it| it.name() == name);
        assert!(found.is_some(), "no such mode: {name}");
        *found.unwrap()
    };
    if !chosen.is_empty() {
        return chosen.split(',').map(of_name).collect();
    }
    let seed = std::env::var("NATIVE_SEED").map_or(0, |it| it.parse::<usize>().unwrap());
    // Multiplied so that seeds differ in more than the order of the modes.
    let mixed =
        (number.wrapping_mul(0x9E37_79B9).wrapping_add(seed.wrapping_mul(0x85EB_CA6B))) >> 7;
    vec![Upkeep::ALL[mixed % Upkeep::ALL.len()]]
}

fn check_native(folder: &str) {
    let settings = [("threads", "2"), ("batch_rows", "1024")];
    let (mut records, mut failures) = (0, Vec::new());
    for (number, file) in files_of(folder).iter().enumerate() {
        if EXEMPT.iter().any(|it| Path::new(it.0) == file) {
            continue;
        }
        for upkeep in modes(number) {
            let native = Some(upkeep);
            let mut of_file = Vec::new();
            let configuration = Configuration { native, ..Configuration::new(&settings) };
            records += run_file(file, configuration, &mut of_file);
            failures.extend(of_file.iter().map(|it| format!("[{}] {it}", upkeep.name())));
        }
    }
    eprintln!("{records} records on native tables");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_corpus_holds_on_native_tables() {
    for (file, reason) in EXEMPT {
        // Other tests of the program change the current folder.
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        assert!(path.is_file() && !reason.is_empty(), "{file}: {reason}");
    }
    check_native(CORPUS);
    check_native(MADE_UP_TYPES);
}
