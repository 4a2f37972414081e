//! Paths in Markdown files: each one that begins with a tracked top folder, and each relative link,
//! leads to a file or folder.

use std::{fs, path::Path};

/// Tracked folders at the top.
const TOP_FOLDERS: &[&str] =
    &[".ci/", "bench/", "crates/", "docs/", "examples/", "fuzz/", "tests/", "xtask/"];

/// Beginnings of paths that programs create and git ignores.
const GENERATED: &[&str] = &["bench/results", "bench/.venv", "fuzz/crashes"];

/// Characters of a path. Others end it.
const PATH_CHARACTERS: &str = "_-./<>*";

/// Paths that lead nowhere, one line each.
pub fn check(root: &Path) -> Vec<String> {
    let mut findings = Vec::new();
    for file in super::markdown_files(root) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let folder = file.parent().unwrap_or(root);
        for (index, line) in text.lines().enumerate() {
            let missing = top_paths(line).filter(|it| !root.join(it).exists());
            let broken = link_targets(line).filter(|it| !folder.join(it).exists());
            for path in missing.chain(broken) {
                findings.push(format!("{shown}:{}: there is no {path}", index + 1));
            }
        }
    }
    findings
}

/// The paths in a line that begin with a tracked top folder, up to the first placeholder.
fn top_paths(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|it: char| !it.is_alphanumeric() && !PATH_CHARACTERS.contains(it));
    words
        .filter(|it| TOP_FOLDERS.iter().any(|top| it.starts_with(top)))
        .filter(|it| !GENERATED.iter().any(|generated| it.starts_with(generated)))
        .map(|it| match it.find(['<', '*']) {
            Some(placeholder) => it[..placeholder].rsplit_once('/').map_or("", |it| it.0),
            None => it.trim_end_matches(['.', '/']),
        })
}

/// The targets of relative links in a line, without anchors.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|it| it.split_once(')')).map(|it| it.0);
    targets
        .filter(|it| it.chars().all(|it| it.is_alphanumeric() || "_-./#".contains(it)))
        .map(|it| it.split_once('#').map_or(it, |it| it.0))
        .filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_with_a_top_folder_and_end_before_placeholders() {
        let line =
            "`crates/sql/src/parse`, see docs/memory.md. `crates/exec/src/<operator>.rs`, data/x";
        let paths: Vec<&str> = top_paths(line).collect();
        assert_eq!(paths, ["crates/sql/src/parse", "docs/memory.md", "crates/exec/src"]);
    }

    #[test]
    fn targets_of_links_have_no_anchor_and_are_relative() {
        let line = "[a](docs/a.md#part), [b](https://x.org/docs/b.md), [c](#here)";
        assert_eq!(link_targets(line).collect::<Vec<&str>>(), ["docs/a.md"]);
    }
}
