//! Checks of layering, of style beyond clippy and rustfmt, of words and links, and of gaps in the
//! SQL corpus.

use std::{
    fs,
    path::{Path, PathBuf},
};

mod layers;
mod links;
mod modules;
mod rows;
mod text;
mod words;

/// A Rust source file of the tree.
struct Source {
    /// Its path below the root.
    path: String,
    text: String,
}

/// Everything that is wrong in the tree below `root`, one line each.
pub fn check_tree(root: &Path) -> Vec<String> {
    let mut findings = layers::check(&layers::edges(root));
    let mut files = Vec::new();
    for dir in ["bench", "crates", "examples", "fuzz", "xtask"] {
        collect(&root.join(dir), &mut files);
    }
    files.sort();
    let sources: Vec<Source> = files.iter().filter_map(|it| read(root, it)).collect();
    for source in &sources {
        findings.extend(text::check(&source.path, &source.text));
    }
    findings.extend(modules::check(&sources));
    findings.extend(rows::check(root));
    findings.extend(words::check(root));
    findings.extend(links::check(root));
    if sources.is_empty() {
        findings.push(format!("no source files below {}", root.display()));
    }
    findings
}

fn read(root: &Path, path: &Path) -> Option<Source> {
    let relative = path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/");
    Some(Source { path: relative, text: fs::read_to_string(path).ok()? })
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|it| it != "target") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
}

/// The Markdown files of the tree, in the order of their paths.
fn markdown_files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != "data" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| it == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let findings = check_tree(Path::new(".."));
        assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    }
}
