//! The session that the command line asks for.

use crate::{args::SessionArgs, error_text::Failure};
use std::{fs, path::Path};
use volley::{Error, Session};

/// File endings that become tables.
const ENDINGS: [&str; 6] = ["parquet", "csv", "tsv", "json", "ndjson", "jsonl"];

/// A session with the settings of the command line.
pub fn open(args: &SessionArgs) -> Result<Session, Failure> {
    let session = Session::new().map_err(|e| Failure::of_error(&e))?;
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

/// Makes every data file in `dir`, and every folder of data files, a table named by its stem.
pub fn register_data(session: &Session, dir: &Path) -> Result<(), Failure> {
    let failed = |e| Failure::of_error(&Error::io(dir.display(), e));
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    for path in paths.iter().filter(|it| is_data(it)) {
        let (Some(stem), Some(text)) = (path.file_stem().and_then(|it| it.to_str()), path.to_str())
        else {
            continue;
        };
        session.register_files(stem, text).map_err(|e| Failure::of_error(&e))?;
    }
    Ok(())
}

fn is_data(path: &Path) -> bool {
    if path.file_name().and_then(|it| it.to_str()).is_none_or(|it| it.starts_with('.')) {
        return false;
    }
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        return entries.map(|it| it.path()).any(|it| it.is_file() && has_data_ending(&it));
    }
    has_data_ending(path)
}

fn has_data_ending(path: &Path) -> bool {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it))
}
