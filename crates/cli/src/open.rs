//! What a path is: a data file, a folder of data files, or a database.

use crate::{
    error_text::Failure,
    session::{has_data_ending, is_data, register_data},
};
use std::{io, path::Path};
use volley::{Error, Session};

/// What a path may be.
const HINT: &str = "name a Parquet, ORC, CSV or JSON file, a folder of such files, or a database";

/// Opens a path: a data file becomes a table of its name, and so does every file in a folder of
/// data files; anything else is attached as a database, which then is the current one. Answers
/// what is wrong with files of a folder that cannot be tables: the others can still be asked.
///
/// # Errors
///
/// A path that is neither, I/O, corruption.
pub fn open(session: &Session, path: &Path) -> Result<Vec<Failure>, Failure> {
    let Some(text) = path.to_str() else {
        let error = Error::invalid_value(format!("a path that is not text: {}", path.display()));
        return Err(Failure::of_error(&error));
    };
    if path.is_file() && is_data(path) || is_pattern(text) {
        let table = table_name(path);
        session.register_files(&table, text).map_err(|e| Failure::of_error(&e))?;
        return Ok(Vec::new());
    }
    if !path.exists() && has_data_ending(path) {
        let error = Error::io(text, io::ErrorKind::NotFound.into());
        return Err(Failure::of_error(&error.hint(HINT)));
    }
    if path.is_dir() && has_data(path) {
        return register_data(session, path);
    }
    attach(session, path, text)?;
    Ok(Vec::new())
}

/// Attaches a database and makes it the current one.
fn attach(session: &Session, path: &Path, text: &str) -> Result<(), Failure> {
    let name = table_name(path).replace('"', "\"\"");
    let sql = format!("ATTACH '{}' AS \"{name}\"; USE \"{name}\"", text.replace('\'', "''"));
    let ran = session.sql(&sql).map(drop);
    ran.map_err(|e| {
        let error = if e.hint_text().is_none() { e.hint(HINT) } else { e };
        Failure::of_error(&error.at("path", text))
    })
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

/// Whether a folder has a data file, or a folder of data files.
fn has_data(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|it| it.path()).any(|it| is_data(&it))
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
        assert!(open(&session, &at("sales.csv")).unwrap().is_empty());
        assert_eq!(session.sql("FROM sales").unwrap().collect_values().unwrap().len(), 1);
        assert!(open(&session, &at("*.csv")).unwrap().is_empty());
        assert_eq!(session.sql("FROM data").unwrap().collect_values().unwrap().len(), 2);
        assert!(open(&session, dir.path()).unwrap().is_empty());
        assert_eq!(session.sql("FROM more").unwrap().collect_values().unwrap().len(), 1);
    }

    #[test]
    fn what_is_no_file_of_data_says_what_would_be() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("notes.txt");
        std::fs::write(&text, "no data").unwrap();
        let session = Session::new().unwrap();
        for path in [text, dir.path().join("none.csv")] {
            let failure = open(&session, &path).unwrap_err();
            assert!(failure.text().starts_with("error: "), "{}", failure.text());
            assert!(failure.text().contains("hint: "), "{}", failure.text());
        }
        assert!(!dir.path().join("none.csv").exists());
    }
}
