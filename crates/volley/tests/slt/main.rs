//! Runs the SQL corpus `tests/slt` under settings that must not change any answer.
//!
//! `SLT=join/outer` runs the files whose path contains that text.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod made_up;
mod native;

use native::{Native, Upkeep};
use sqllogictest::{DBOutput, DefaultColumnType, Record, Runner, TestErrorKind};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};
use volley::{Error, ErrorKind, Outcome, ParsedStatement, Session, Type, Value};

/// The whole corpus.
const CORPUS: &str = "tests/slt";

/// Records about types that only this test knows.
const MADE_UP_TYPES: &str = "tests/slt_types";

/// The memory of the first attempt of a statement beyond the used memory, in runs with tight
/// memory.
const TIGHT_BYTES_MIN: usize = 64 << 10;

/// No statement of the corpus needs as much.
const TIGHT_BYTES_MAX: usize = 1 << 30;

/// Files that get all memory at once: statements that count how often they are tried, and look-ups
/// that leave the index of a key, which later statements use.
const TRIED_ONCE: [&str; 2] = ["tests/slt/ddl/sequence.slt", "tests/slt/ddl/large_keys.slt"];

/// Rows in the order of their source, which several tasks do not keep.
const IN_SOURCE_ORDER: &str = "tests/slt/order/insertion_order.slt";

/// How often a statement ran out of memory and was tried with more.
static RETRIES: AtomicUsize = AtomicUsize::new(0);

/// How many parts the corpus has where only a part is run.
const PARTS: u64 = 6;

type Answer = DBOutput<DefaultColumnType>;

struct Database {
    session: Session,
    memory: Memory,
    native: Option<Native>,
}

/// What files are run with.
#[derive(Clone, Copy)]
struct Configuration<'a> {
    settings: &'a [(&'a str, &'a str)],
    memory: Memory,
    /// The default database is one on disk, and this is done to it.
    native: Option<Upkeep>,
}

impl<'a> Configuration<'a> {
    fn new(settings: &'a [(&'a str, &'a str)]) -> Configuration<'a> {
        Configuration { settings, memory: Memory::Unlimited, native: None }
    }
}

/// How much memory statements get.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Unlimited,
    /// As little as lets each finish, to within a factor of two.
    Tight,
}

impl Database {
    fn answer(&self, statement: &ParsedStatement) -> Result<Answer, Error> {
        Ok(match self.session.run(statement)? {
            Outcome::Done(rows) => DBOutput::StatementComplete(rows.unwrap_or(0)),
            Outcome::Rows(rows) => {
                let types: Vec<Type> = rows.schema().types().cloned().collect();
                let rows = rows.collect_values()?;
                let text = |row: &Vec<Value>| {
                    row.iter().zip(&types).map(|(value, it)| cell(value, it)).collect()
                };
                DBOutput::Rows {
                    types: types.iter().map(letter).collect(),
                    rows: rows.iter().map(text).collect(),
                }
            }
        })
    }

    fn run_all(&self, sql: &str) -> Result<Answer, Error> {
        let mut output = DBOutput::StatementComplete(0);
        for statement in &volley::parse(sql)? {
            output = match self.memory {
                Memory::Unlimited => self.answer(statement)?,
                Memory::Tight => self.tight_answer(statement)?,
            };
        }
        Ok(output)
    }

    fn tight_answer(&self, statement: &ParsedStatement) -> Result<Answer, Error> {
        let pool = self.session.pool();
        let mut more = TIGHT_BYTES_MIN;
        loop {
            self.session.wait_released();
            let held = pool.stats().bytes;
            pool.set_limit(Some(held + more));
            let answer = self.answer(statement);
            let is_short = answer.as_ref().is_err_and(|it| it.kind() == ErrorKind::OutOfMemory);
            if !is_short || more >= TIGHT_BYTES_MAX {
                return answer;
            }
            self.session.wait_released();
            assert_eq!(pool.stats().bytes, held, "something is left of a statement that failed");
            more *= 2;
            RETRIES.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl sqllogictest::DB for Database {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<Answer, Error> {
        let Some(native) = &self.native else { return self.run_all(sql) };
        let mut answer = self.run_all(&native::renamed(sql));
        if let Ok(DBOutput::Rows { rows, .. }) = &mut answer {
            for cell in rows.iter_mut().flatten() {
                *cell = native::expected_cell(std::mem::take(cell));
            }
        }
        native.after_statement(&self.session)?;
        answer.map_err(|it| native::expected_error(&it))
    }
}

fn cell(value: &Value, data_type: &Type) -> String {
    match value.display(data_type).to_string() {
        text if text.is_empty() => "(empty)".into(),
        text => text,
    }
}

fn letter(data_type: &Type) -> DefaultColumnType {
    match data_type {
        it if it.is_integer() || it.unsigned().is_some() => DefaultColumnType::Integer,
        it if it.is_float() || it.is_decimal() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

/// Runs every file of the corpus; all failures are listed, not only the first.
fn check(settings: &[(&str, &str)]) {
    check_folder(CORPUS, Configuration::new(settings));
}

/// As [`check`], of a folder of the corpus.
fn check_folder(folder: &str, configuration: Configuration<'_>) {
    check_files(&files_of(folder), configuration);
}

/// As [`check`], of these files.
fn check_files(files: &[PathBuf], configuration: Configuration<'_>) {
    let (mut records, mut failures) = (0, Vec::new());
    let is_run = |it: &&PathBuf| configuration.memory != Memory::Tight || !is_tried_once(it);
    for file in files.iter().filter(is_run) {
        records += run_file(file, configuration, &mut failures);
    }
    eprintln!("{records} records in {} files with {:?}", files.len(), configuration.settings);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn is_tried_once(file: &Path) -> bool {
    TRIED_ONCE.iter().any(|it| file == Path::new(it))
}

/// One of [`PARTS`] parts of the corpus.
fn part_of_corpus(seed: u64) -> Vec<PathBuf> {
    let mut files = files_of(CORPUS);
    let mut number = 0..;
    files.retain(|_| number.next().is_some_and(|it: u64| (it + seed).is_multiple_of(PARTS)));
    files
}

/// The files of a folder, as `SLT` chooses them. Their paths are those from the current folder.
fn files_of(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    std::env::set_current_dir(&root).unwrap();
    let chosen = std::env::var("SLT").unwrap_or_default();
    let mut files = Vec::new();
    collect_files(Path::new(folder), &mut files);
    files.retain(|it| it.to_string_lossy().contains(&chosen));
    files.sort();
    assert!(!files.is_empty() || folder != CORPUS, "no file matches");
    files
}

/// The number of records.
fn run_file(file: &Path, configuration: Configuration<'_>, failures: &mut Vec<String>) -> usize {
    let Configuration { settings, memory, native } = configuration;
    let session = Session::builder().extend(made_up::register).build().unwrap();
    settings.iter().for_each(|(name, value)| session.set(name, value).unwrap());
    let native = native.map(|it| Native::open(&session, it));
    let mut database = Some(Database { session, memory, native });
    let mut runner = Runner::new(|| {
        let database = database.take();
        async move { database.ok_or_else(|| Error::internal("a second connection")) }
    });
    let parsed: Vec<Record<DefaultColumnType>> = sqllogictest::parse_file(file).unwrap();
    let mut records = 0;
    for record in parsed {
        records += usize::from(matches!(record, Record::Statement { .. } | Record::Query { .. }));
        if let Err(error) = runner.run(record)
            && !matches!(error.kind(), TestErrorKind::ParseError(_))
        {
            failures.push(error.to_string());
        }
    }
    records
}

fn collect_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|it| it == "slt") {
            files.push(path);
        }
    }
}

#[test]
fn the_corpus_holds_with_two_threads_and_batches_of_1024_rows() {
    check(&[("threads", "2"), ("batch_rows", "1024")]);
}

#[test]
fn the_corpus_holds_with_one_thread_and_batches_of_one_row() {
    check(&[("threads", "1"), ("batch_rows", "1"), ("dynamic_filters", "off")]);
}

#[test]
fn the_corpus_holds_with_four_threads_and_batches_of_three_rows() {
    check(&[("threads", "4"), ("batch_rows", "3")]);
}

#[test]
fn the_corpus_holds_with_all_that_can_be_spilled_on_disk() {
    check(&[("threads", "2"), ("batch_rows", "1024"), ("debug_spill_always", "on")]);
    check(&[("threads", "3"), ("batch_rows", "3"), ("debug_spill_always", "on")]);
    // Not beside the others: each batch is a file. Merge joins of small batches on disk have tests
    // of their own, and would take minutes here.
    let merges = ("debug_merge_joins", "on");
    check(&[("threads", "3"), ("batch_rows", "1024"), ("debug_spill_always", "on"), merges]);
}

#[test]
fn the_corpus_holds_with_plans_that_were_bytes() {
    check(&[("threads", "2"), ("batch_rows", "1024"), ("debug_save_plans", "on")]);
}

/// With 3 tasks, and exchanges whose pages are bytes of at most 3 rows. A part of the corpus, which
/// `VOLLEY_SLT_SEED` chooses; `VOLLEY_SLT_SEED=all` runs all files.
#[test]
fn the_corpus_holds_with_three_tasks() {
    let settings = [
        ("threads", "2"),
        ("batch_rows", "3"),
        ("tasks", "3"),
        ("exchange_pages", "bytes"),
        ("exchange_page_size", "64B"),
    ];
    let seed = std::env::var("VOLLEY_SLT_SEED").unwrap_or_else(|_| "1".to_owned());
    let is_part = seed != "all" && std::env::var("SLT").is_err();
    let mut files = if is_part { part_of_corpus(seed.parse().unwrap()) } else { files_of(CORPUS) };
    files.retain(|it| it != Path::new(IN_SOURCE_ORDER));
    check_files(&files, Configuration::new(&settings));
}

#[test]
fn the_corpus_holds_with_merge_joins() {
    let merges = ("debug_merge_joins", "on");
    check(&[("threads", "2"), ("batch_rows", "1024"), merges]);
    check(&[("threads", "1"), ("batch_rows", "1"), ("dynamic_filters", "off"), merges]);
}

#[test]
fn the_corpus_holds_with_the_least_memory_that_lets_statements_finish() {
    let settings = [("threads", "2"), ("batch_rows", "1024")];
    let memory = Memory::Tight;
    check_folder(CORPUS, Configuration { memory, ..Configuration::new(&settings) });
    let retries = RETRIES.load(Ordering::Relaxed);
    eprintln!("{retries} statements ran out of memory first");
    assert!(retries > 100 || std::env::var("SLT").is_ok(), "memory was not short");
}

#[test]
fn types_of_a_users_own_are_compared_by_their_keys() {
    for (threads, batch_rows) in [("2", "1024"), ("1", "1"), ("4", "3")] {
        let settings = [("threads", threads), ("batch_rows", batch_rows)];
        check_folder(MADE_UP_TYPES, Configuration::new(&settings));
    }
    for rule in volley_optimizer::rules() {
        check_folder(MADE_UP_TYPES, Configuration::new(&[("disabled_rules", rule.name)]));
    }
}

#[test]
fn where_planners_go_wrong_answers_hold_without_any_of_the_rules() {
    let rules: Vec<&str> = volley_optimizer::rules().iter().map(|it| it.name).collect();
    for rule in &rules {
        check_folder("tests/slt/planner", Configuration::new(&[("disabled_rules", rule)]));
    }
    let all = rules.join(",");
    check_folder("tests/slt/planner", Configuration::new(&[("disabled_rules", &all)]));
}
