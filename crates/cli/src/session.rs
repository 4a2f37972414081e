//! The session with the options of the command line.

use crate::{allocator::FreeFirst, args::SessionArgs, error_text::Failure};
use std::{
    collections::{BTreeMap, HashSet},
    fs,
    io::IsTerminal,
    path::Path,
    sync::Arc,
};
use volley::{Error, Session, Settings, Zone};

/// File endings that become tables.
const ENDINGS: [&str; 6] = ["parquet", "orc", "csv", "json", "ndjson", "jsonl"];

/// A session with the settings of the command line.
pub fn open(args: &SessionArgs) -> Result<Session, Failure> {
    let mut builder = Session::builder().settings(default_settings(args.processes_of_machine));
    if let Some(joined) = &args.joined {
        builder = builder.platform(Arc::clone(&joined.0));
    }
    let session = builder.build().map_err(|e| Failure::of_error(&e))?;
    session.pool().set_arbitration_policy(Arc::new(FreeFirst));
    if !args.no_progress && std::io::stderr().is_terminal() {
        session.expect_rows();
    }
    // For interactive use; a program sets its own options.
    session.set("timezone", Zone::of_machine().name()).map_err(|e| Failure::of_error(&e))?;
    let set = |name: &str, value: &str| session.set(name, value).map_err(|e| Failure::usage(&e));
    if let Some(threads) = &args.threads {
        set("threads", threads)?;
    }
    if let Some(limit) = &args.memory_limit {
        set("memory_limit", limit)?;
    }
    for setting in &args.set {
        let Some((name, value)) = setting.split_once('=') else {
            let error = Error::invalid_value(format!("not a setting: '{setting}'"));
            return Err(Failure::usage(&error.hint("write --set name=value")));
        };
        set(name.trim(), value)?;
    }
    Ok(session)
}

/// The default settings of one of several processes that share a machine: its part of the cores and
/// of the memory.
fn default_settings(processes: usize) -> Settings {
    let settings = Settings::default();
    let processes = processes.max(1);
    Settings {
        threads: (settings.threads / processes).max(1),
        memory_limit_bytes: settings.memory_limit_bytes.map(|it| it / processes),
        ..settings
    }
}

/// As [`register_data`]; warns of files that cannot be tables.
pub fn register_folder(session: &Session, dir: &Path) -> Result<(), Failure> {
    for problem in register_data(session, dir)? {
        eprint!("warning: {}", problem.text().trim_start_matches("error: "));
    }
    Ok(())
}

/// Makes every data file in `dir`, and every folder of data files, a table named by its stem.
/// Answers what is wrong with those that cannot be one: the others can still be asked.
pub fn register_data(session: &Session, dir: &Path) -> Result<Vec<Failure>, Failure> {
    if let Some(location) = dir.to_str().filter(|it| it.contains("://")) {
        return register_remote(session, location);
    }
    if dir.is_file() {
        let error = Error::invalid_value(format!("not a folder: {}", dir.display()));
        return Err(Failure::of_error(&error.hint("name the folder that the file is in")));
    }
    let failed = |e| Failure::of_error(&Error::io(dir.display(), e));
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for path in paths.iter().filter(|it| is_data(it)) {
        let (Some(stem), Some(text)) = (path.file_stem().and_then(|it| it.to_str()), path.to_str())
        else {
            continue;
        };
        if !names.insert(stem.to_lowercase()) {
            let error = Error::invalid_value(format!("a second table called {stem}: {text}"));
            problems.push(Failure::of_error(&error.hint("ask it by its quoted path")));
            continue;
        }
        if let Err(error) = session.register_files(stem, text) {
            problems.push(Failure::of_error(&error));
        }
    }
    Ok(problems)
}

/// As [`register_data`], of a folder of a remote store.
fn register_remote(session: &Session, folder: &str) -> Result<Vec<Failure>, Failure> {
    let folder = folder.trim_end_matches('/');
    let files = session.list_files(folder).map_err(|e| Failure::of_error(&e))?;
    let mut tables = BTreeMap::new();
    for file in files.iter().filter(|it| has_data_ending(Path::new(it))) {
        let below = file.strip_prefix(folder).and_then(|it| it.strip_prefix('/'));
        let child = below.and_then(|it| it.split('/').next()).unwrap_or_default();
        let stem = Path::new(child).file_stem().and_then(|it| it.to_str());
        if let Some(stem) = stem.filter(|it| !it.starts_with(['.', '_'])) {
            tables.insert(stem.to_owned(), format!("{folder}/{child}"));
        }
    }
    let registered = tables.iter().map(|(name, location)| session.register_files(name, location));
    Ok(registered.filter_map(Result::err).map(|it| Failure::of_error(&it)).collect())
}

/// Whether `path` is a data file by its name, or a folder with data files.
pub fn is_data(path: &Path) -> bool {
    if path.file_name().and_then(|it| it.to_str()).is_none_or(|it| it.starts_with('.')) {
        return false;
    }
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        return entries.map(|it| it.path()).any(|it| it.is_file() && has_data_ending(&it));
    }
    has_data_ending(path)
}

/// Whether a name ends as those of data files do.
pub fn has_data_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it))
}
