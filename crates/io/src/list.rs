//! Which files a path, a glob or a folder names.

use std::{fs, path::Path};
use volley_error::{Error, Result};

/// The files that `path` names, in order of their names: itself when it is a file; what matches
/// when it is a glob; when it is a folder, the files in it and below whose names `accept` takes.
/// Names that begin with a dot or an underscore are left out of folders.
///
/// # Errors
///
/// I/O: nothing is there.
pub fn list_files(path: &str, accept: &dyn Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut files = Vec::new();
    if Path::new(path).is_dir() {
        list_folder(Path::new(path), accept, &mut files)?;
    } else if is_glob(path) && !Path::new(path).exists() {
        list_glob(path, accept, &mut files)?;
    } else {
        fs::metadata(path).map_err(|it| Error::io(path, it))?;
        return Ok(vec![path.to_owned()]);
    }
    if files.is_empty() {
        return Err(Error::io(path, std::io::ErrorKind::NotFound.into())
            .hint("no file there is Parquet, CSV or JSON lines by its name's ending"));
    }
    files.sort_unstable();
    Ok(files)
}

fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

fn list_glob(pattern: &str, accept: &dyn Fn(&str) -> bool, files: &mut Vec<String>) -> Result<()> {
    let paths = glob::glob(pattern)
        .map_err(|it| Error::invalid_query(format!("not a glob: {pattern}")).caused_by(it))?;
    for path in paths {
        let path =
            path.map_err(|it| Error::io(it.path().display(), std::io::ErrorKind::Other.into()))?;
        if path.is_dir() {
            list_folder(&path, accept, files)?;
        } else {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Goes through a tree of folders without recursion.
fn list_folder(
    folder: &Path,
    accept: &dyn Fn(&str) -> bool,
    files: &mut Vec<String>,
) -> Result<()> {
    let mut rest = vec![folder.to_path_buf()];
    while let Some(folder) = rest.pop() {
        let entries = fs::read_dir(&folder).map_err(|it| Error::io(folder.display(), it))?;
        for entry in entries {
            let entry = entry.map_err(|it| Error::io(folder.display(), it))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(['.', '_']) {
                continue;
            }
            let kind = entry.file_type().map_err(|it| Error::io(folder.display(), it))?;
            if kind.is_dir() {
                rest.push(entry.path());
            } else if accept(&name) {
                files.push(entry.path().to_string_lossy().into_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_globs_and_files_are_listed_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        for name in ["b.csv", "a.csv", "sub/c.csv", "_hidden.csv", "note.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let csv = |name: &str| name.ends_with(".csv");
        let names = |path: &str| {
            let files = list_files(path, &csv).unwrap();
            files.iter().map(|it| it[root.len() + 1..].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(root), ["a.csv", "b.csv", "sub/c.csv"]);
        assert_eq!(names(&format!("{root}/*.csv")), ["_hidden.csv", "a.csv", "b.csv"]);
        assert_eq!(names(&format!("{root}/a.csv")), ["a.csv"]);
        assert!(list_files(&format!("{root}/x*.csv"), &csv).is_err());
        assert!(list_files(&format!("{root}/none.csv"), &csv).is_err());
    }
}
