//! What a path is: a data file or a database.

use crate::{
    database,
    error_text::Failure,
    session::{has_data_ending, is_data, register_folder},
};
use std::{io, path::Path};
use volley::{Error, Session, connector::WriteAccess};

/// A file that every database has.
const DATABASE_FILE: &str = "CURRENT";

/// What a path may be.
const HINT: &str = "name a Parquet, ORC, CSV or JSON file, or the folder of a database";

/// Opens a path: a data file, or the files of a pattern, become a table of that name; so does each
/// data file of a folder, or a folder with partitions. Anything else is a database, which is made
/// if there is none and becomes the default.
///
/// # Errors
///
/// A path that is neither, a folder with a file that cannot be read, I/O, corruption.
pub fn open(session: &Session, path: &Path, access: WriteAccess) -> Result<(), Failure> {
    let text = database::text(path)?;
    if path.is_file() && is_data(path) || is_pattern(text) {
        let registered = session.register_files(&table_name(path), text);
        return registered.map_err(|e| Failure::of_error(&e));
    }
    if path.is_dir() && !path.join(DATABASE_FILE).exists() {
        if has_partitions(path) {
            let registered = session.register_files(&table_name(path), text);
            return registered.map_err(|e| Failure::of_error(&e));
        }
        if is_data(path) {
            return register_folder(session, path);
        }
    }
    if !path.exists() && has_data_ending(path) {
        let error = Error::io(text, io::ErrorKind::NotFound.into());
        return Err(Failure::of_error(&error.hint(HINT)));
    }
    if path.is_file() {
        let error = Error::invalid_value(format!("not a file of rows: {text}"));
        return Err(Failure::of_error(&error.hint(HINT)));
    }
    database::open(session, path, access)
}

/// Whether a folder has folders such as `year=2026`.
fn has_partitions(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders = entries.map(|it| it.path()).filter(|it| it.is_dir());
    folders.any(|it| it.file_name().is_some_and(|it| it.to_string_lossy().contains('=')))
}

/// The name of a path without its ending.
fn table_name(path: &Path) -> String {
    let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
    let name: String = stem.chars().filter(|it| !['*', '?', '[', ']'].contains(it)).collect();
    if name.is_empty() { "data".to_owned() } else { name }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[']) && !Path::new(text).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_tables_of_their_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["sales.csv", "more.csv"] {
            std::fs::write(at(name), "a,b\n1,x\n").unwrap();
        }
        let session = Session::new().unwrap();
        let open = |path: &Path| open(&session, path, WriteAccess::ReadWrite).unwrap();
        open(&at("sales.csv"));
        assert_eq!(session.sql("FROM sales").unwrap().collect_values().unwrap().len(), 1);
        open(&at("*.csv"));
        assert_eq!(session.sql("FROM data").unwrap().collect_values().unwrap().len(), 2);
    }

    #[test]
    fn folders_of_data_are_tables_and_others_databases() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "a\n1\n").unwrap();
        };
        for path in ["two/one.csv", "two/other.csv", "parts/y=1/x.csv", "parts/y=2/x.csv"] {
            write(path);
        }
        let session = Session::new().unwrap();
        for folder in ["two", "parts", "new"] {
            open(&session, &dir.path().join(folder), WriteAccess::ReadWrite).unwrap();
        }
        let rows = |sql: &str| session.sql(sql).unwrap().collect_values().unwrap().len();
        assert_eq!(rows("FROM memory.main.one UNION ALL FROM memory.main.other"), 2);
        assert_eq!(rows("SELECT y FROM memory.main.parts"), 2);
        assert!(dir.path().join("new").join(DATABASE_FILE).exists());
        // A database stays one, whatever else is in its folder.
        session.sql("CREATE TABLE t AS SELECT 1 AS a").unwrap();
        session.close().unwrap();
        drop(session);
        write("new/extra.csv");
        let session = Session::new().unwrap();
        open(&session, &dir.path().join("new"), WriteAccess::ReadWrite).unwrap();
        assert_eq!(session.sql("FROM t").unwrap().collect_values().unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_file_of_data_says_what_would_be() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("notes.txt");
        std::fs::write(&text, "no data").unwrap();
        let session = Session::new().unwrap();
        for path in [text, dir.path().join("none.csv")] {
            let failure = open(&session, &path, WriteAccess::ReadWrite).unwrap_err();
            assert!(failure.text().starts_with("error: "), "{}", failure.text());
            assert!(failure.text().contains("hint: "), "{}", failure.text());
        }
        assert!(!dir.path().join("none.csv").exists());
    }
}
