//! Which files a location, a glob or a folder names.
//!
//! Where folders exist, a glob is expanded one part after the other. Elsewhere folders are parts of
//! the names of files, and all names that begin as the glob does are listed at once.

use crate::{
    EntryKind, EntryStream, FileEntry, FileSystem, ListScope, pending::wait_polling, wait,
};
use glob::Pattern;
use volley_error::{Error, Result};
use volley_memory::check_cancelled;

/// The files that `location` names, in order of their names: itself when it is a file; what matches
/// when it is a glob; when it is a folder, the files in it and below whose names `accept` takes.
/// Names that begin with a dot or an underscore are left out of folders.
pub(crate) fn list_files(
    file_system: &dyn FileSystem,
    location: &str,
    accept: &dyn Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let can_list = file_system.capabilities().can_list;
    let mut files = Vec::new();
    if can_list && is_glob(location) && !file_system.capabilities().has_folders {
        list_names(file_system, location, accept, &mut files)?;
        if !files.is_empty() {
            files.sort_unstable();
            return Ok(files);
        }
    }
    match wait(file_system.entry(location))?.map(|it| it.kind) {
        Some(EntryKind::File | EntryKind::Link) => return Ok(vec![location.to_owned()]),
        Some(EntryKind::Folder) => list_folder(file_system, location, accept, &mut files)?,
        None if can_list && is_glob(location) => {
            list_glob(file_system, location, accept, &mut files)?;
        }
        None => return Err(Error::io(location, std::io::ErrorKind::NotFound.into())),
    }
    if files.is_empty() {
        return Err(Error::io(location, std::io::ErrorKind::NotFound.into())
            .hint("no file there is Parquet, CSV or JSON lines by its name's ending"));
    }
    files.sort_unstable();
    Ok(files)
}

/// All files below a folder, hidden ones too.
pub(crate) fn list_tree(file_system: &dyn FileSystem, folder: &str) -> Result<Vec<String>> {
    match wait(file_system.entry(folder))?.map(|it| it.kind) {
        None => return Ok(Vec::new()),
        Some(EntryKind::Folder) => {}
        Some(EntryKind::File | EntryKind::Link) => {
            return Err(Error::io(folder, std::io::ErrorKind::NotADirectory.into()));
        }
    }
    let mut files = Vec::new();
    let mut entries = file_system.list(folder, ListScope::Tree);
    while let Some(entry) = next(&mut *entries)? {
        files.push(entry.location);
    }
    Ok(files)
}

/// Whether folders leave a name out of their visible tree.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

pub(crate) fn is_glob(location: &str) -> bool {
    location.contains(['*', '?', '['])
}

fn list_folder(
    file_system: &dyn FileSystem,
    folder: &str,
    accept: &dyn Fn(&str) -> bool,
    files: &mut Vec<String>,
) -> Result<()> {
    let mut entries = file_system.list(folder, ListScope::VisibleTree);
    while let Some(entry) = next(&mut *entries)? {
        if accept(entry.name()) {
            files.push(entry.location);
        }
    }
    Ok(())
}

/// The next entry; waits for it.
fn next(entries: &mut dyn EntryStream) -> Result<Option<FileEntry>> {
    check_cancelled()?;
    wait_polling(|cx| entries.poll_next(cx))
}

/// Lists all names that begin as a pattern does, and takes those that it matches. A folder that it
/// matches stands for the files in it.
fn list_names(
    file_system: &dyn FileSystem,
    pattern: &str,
    accept: &dyn Fn(&str) -> bool,
    files: &mut Vec<String>,
) -> Result<()> {
    let (root, parts) = split_pattern(pattern)?;
    let names = parts.iter().map_while(|it| match it {
        Part::Name(name) => Some(name.as_str()),
        _ => None,
    });
    let folder = names.fold(root.clone(), |folder, name| joined(&folder, name));
    let mut entries = file_system.list(&folder, ListScope::Tree);
    while let Some(entry) = next(&mut *entries)? {
        let Some(below) = entry.location.strip_prefix(&root) else { continue };
        let names: Vec<&str> = below.split('/').collect();
        let is_taken = |below: &[&str]| match below {
            [] => true,
            _ => accept(entry.name()) && !below.iter().any(|it| is_hidden(it)),
        };
        if matches(&parts, &names, &is_taken) {
            files.push(entry.location);
        }
    }
    Ok(())
}

/// Whether parts match the first names, and `is_taken` says yes to those that are left: to none
/// when it is the file that matches.
fn matches(parts: &[Part], names: &[&str], is_taken: &dyn Fn(&[&str]) -> bool) -> bool {
    let Some((part, parts)) = parts.split_first() else { return is_taken(names) };
    let fits = match part {
        // At the end it names the visible files; elsewhere any number of folders.
        Part::Tree if parts.is_empty() => return !names.is_empty() && is_taken(names),
        Part::Tree => {
            let folders = 0..names.len();
            return folders
                .into_iter()
                .any(|it| names.get(it..).is_some_and(|names| matches(parts, names, is_taken)));
        }
        Part::Name(name) => names.first() == Some(&name.as_str()),
        Part::Pattern(pattern) => names.first().is_some_and(|it| pattern.matches(it)),
    };
    fits && names.get(1..).is_some_and(|names| matches(parts, names, is_taken))
}

/// Goes down the folders of a pattern, one part of it after the other.
fn list_glob(
    file_system: &dyn FileSystem,
    pattern: &str,
    accept: &dyn Fn(&str) -> bool,
    files: &mut Vec<String>,
) -> Result<()> {
    let (root, parts) = split_pattern(pattern)?;
    let mut folders = vec![root];
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let mut found = Vec::new();
        for folder in &folders {
            match part {
                Part::Name(name) => found.push(joined(folder, name)),
                Part::Pattern(pattern) => {
                    let mut entries = children(file_system, folder)?;
                    let fits = |it: &FileEntry| is_last || it.kind != EntryKind::File;
                    entries.retain(|it| fits(it) && pattern.matches(it.name()));
                    found.extend(entries.into_iter().map(|it| it.location));
                }
                // At the end, each folder's files are listed with those below it.
                Part::Tree if is_last => found.push(folder.clone()),
                Part::Tree => tree(file_system, folder, &mut found)?,
            }
        }
        folders = found;
    }
    // A name may follow a pattern, or stand for a folder.
    for location in folders {
        match wait(file_system.entry(&location))?.map(|it| it.kind) {
            Some(EntryKind::File | EntryKind::Link) => files.push(location),
            Some(EntryKind::Folder) => list_folder(file_system, &location, accept, files)?,
            None => {}
        }
    }
    files.sort_unstable();
    files.dedup();
    Ok(())
}

/// What a part of a pattern matches.
enum Part {
    /// This name.
    Name(String),
    /// Names.
    Pattern(Pattern),
    /// `**`: the folder and all below it.
    Tree,
}

/// The folder above the first part, and the parts of a pattern.
fn split_pattern(text: &str) -> Result<(String, Vec<Part>)> {
    let wrong = |it| Error::invalid_query(format!("not a glob: {text}")).caused_by(it);
    let (root, rest) = match text.split_once("://") {
        Some((scheme, rest)) => {
            // The authority, such as a bucket, is no pattern; that of `file://` is empty.
            let (authority, rest) = rest.split_once('/').unwrap_or((rest, ""));
            (format!("{scheme}://{authority}/"), rest)
        }
        None if text.starts_with('/') => ("/".to_owned(), text),
        None => (String::new(), text),
    };
    let mut parts = Vec::new();
    for part in rest.split('/').filter(|it| !matches!(*it, "" | ".")) {
        parts.push(match part {
            "**" => Part::Tree,
            _ if is_glob(part) => Part::Pattern(Pattern::new(part).map_err(wrong)?),
            _ => Part::Name(part.to_owned()),
        });
    }
    Ok((root, parts))
}

fn joined(folder: &str, name: &str) -> String {
    let slash = if folder.is_empty() || folder.ends_with('/') { "" } else { "/" };
    format!("{folder}{slash}{name}")
}

/// The entries of a folder, if it is one.
fn children(file_system: &dyn FileSystem, folder: &str) -> Result<Vec<FileEntry>> {
    // The root of a relative pattern always exists.
    if !folder.is_empty() && file_system.capabilities().has_folders {
        match wait(file_system.entry(folder))?.map(|it| it.kind) {
            Some(EntryKind::Folder) => {}
            _ => return Ok(Vec::new()),
        }
    }
    let mut entries = file_system.list(folder, ListScope::Children);
    let mut children = Vec::new();
    while let Some(entry) = next(&mut *entries)? {
        children.push(entry);
    }
    Ok(children)
}

/// The folder and those below it, without those behind links.
fn tree(file_system: &dyn FileSystem, folder: &str, found: &mut Vec<String>) -> Result<()> {
    let mut rest = vec![folder.to_owned()];
    while let Some(folder) = rest.pop() {
        let entries = children(file_system, &folder)?.into_iter();
        let folders = entries.filter(|it| it.kind == EntryKind::Folder);
        rest.extend(folders.map(|it| it.location));
        found.push(folder);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalFileSystem;
    use std::{fs, path::Path};

    fn is_csv(name: &str) -> bool {
        name.ends_with(".csv")
    }

    /// The files below a folder that a pattern in it names.
    fn names(root: &Path, pattern: &str) -> Result<Vec<String>> {
        let root = root.to_str().unwrap();
        let files = list_files(&LocalFileSystem::default(), &format!("{root}/{pattern}"), &is_csv)?;
        Ok(files.iter().map(|it| it[root.len() + 1..].to_owned()).collect())
    }

    #[test]
    fn folders_globs_and_files_are_listed_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("sub/x.csv")).unwrap();
        fs::create_dir(root.join("_tmp")).unwrap();
        let files = ["b.csv", "a.csv", "sub/c.csv", "_hidden.csv", "note.txt", "_tmp/d.csv"];
        for name in files.into_iter().chain(["sub/x.csv/e.csv"]) {
            fs::write(root.join(name), "").unwrap();
        }
        let check = |pattern: &str, expected: &[&str]| {
            assert_eq!(names(root, pattern).unwrap(), expected, "{pattern}");
        };
        let all = ["a.csv", "b.csv", "sub/c.csv", "sub/x.csv/e.csv"];
        check("**", &all);
        let with_slash = format!("{}/", root.display());
        let found = list_files(&LocalFileSystem::default(), &with_slash, &is_csv).unwrap();
        assert_eq!(found.len(), 4);
        assert!(!found[0].contains("//"));
        check("*.csv", &["_hidden.csv", "a.csv", "b.csv"]);
        check("./[ab].c?v", &["a.csv", "b.csv"]);
        check("a.csv", &["a.csv"]);
        check("s*/c.csv", &["sub/c.csv"]);
        // A folder that matches stands for the files in it.
        check("sub/*.csv", &["sub/c.csv", "sub/x.csv/e.csv"]);
        check("**/c.csv", &["sub/c.csv"]);
        check("**/*d.csv", &["_tmp/d.csv"]);
        for pattern in ["x*.csv", "none.csv", "a.csv/*.csv", "none/*.csv", "note*/*"] {
            assert!(names(root, pattern).is_err(), "{pattern}");
        }
        assert!(names(root, "[").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_by_name_and_not_in_trees() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/a.csv"), "").unwrap();
        std::os::unix::fs::symlink(root, root.join("sub/cycle")).unwrap();
        std::os::unix::fs::symlink(root.join("sub"), root.join("link")).unwrap();
        assert_eq!(names(root, "**/a.csv").unwrap(), ["sub/a.csv"]);
        assert_eq!(names(root, "l*/a.csv").unwrap(), ["link/a.csv"]);
        assert_eq!(names(root, "link").unwrap(), ["link/a.csv"]);
    }
}
