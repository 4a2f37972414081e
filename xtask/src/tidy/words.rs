//! Phrases that comments, documentation and messages must not contain.
//!
//! A file is searched as one text without comment markers, so that a phrase is found across lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Rejected phrases and their inflections, and what to write instead.
const PHRASES: &[(&[&str], &str)] = &[
    (&["whoever", "whomever", "somebody", "nobody"], "name the actor"),
    (&["so many"], "write the number, or \"this number of\""),
    (&["put out", "puts out", "putting out"], "say emit or return"),
    (&["hand on", "hands on", "handed on", "handing on"], "say pass on or emit"),
    (&["hand in", "hands in", "handed in", "handing in"], "say pass or publish"),
    (
        &["give back", "gives back", "giving back", "given back", "gave back"],
        "say release, free or reclaim",
    ),
    (&["goes on behind", "go on behind", "going on behind"], "say continue after"),
];

/// Places that are not cleaned yet: beginnings of paths. This list may only shrink: an entry
/// without findings is a finding.
const NOT_CLEAN: &[&str] =
    &["crates/connector/", "crates/connector-memory/", "crates/vector/", "crates/volley/"];

/// Where phrases are searched for.
const FOLDERS: &[&str] = &["bench", "crates", "docs", "examples", "fuzz", "tests"];

/// Rejected phrases below `root`, and entries of [`NOT_CLEAN`] that are not needed.
pub fn check(root: &Path) -> Vec<String> {
    let mut used = vec![false; NOT_CLEAN.len()];
    let mut findings = Vec::new();
    for path in files(root) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let Some(relative) = path.strip_prefix(root).ok().and_then(|it| it.to_str()) else {
            continue;
        };
        let relative = relative.replace('\\', "/");
        let found = phrases(&relative, &text);
        match NOT_CLEAN.iter().position(|it| relative.starts_with(it)) {
            Some(entry) => used[entry] |= !found.is_empty(),
            None => findings.extend(found),
        }
    }
    for (entry, used) in NOT_CLEAN.iter().zip(used) {
        if !used && root.join(entry).exists() {
            findings.push(format!(
                "xtask/src/tidy/words.rs: {entry} is clean; remove it from NOT_CLEAN"
            ));
        }
    }
    findings
}

/// The files that are searched: sources, documentation, scripts and the SQL corpus.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = super::markdown_files(root);
    for folder in FOLDERS {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    files.dedup();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|it| ["rs", "slt", "py"].iter().any(|e| it == *e)) {
            files.push(path);
        }
    }
}

/// The rejected phrases in `text`, one line each.
fn phrases(path: &str, text: &str) -> Vec<String> {
    let (joined, lines) = joined(path, text);
    let mut findings = Vec::new();
    for (inflections, instead) in PHRASES {
        for phrase in *inflections {
            for (at, _) in joined.match_indices(phrase) {
                if is_word(&joined, at, phrase.len()) {
                    let line = lines.partition_point(|it| *it <= at);
                    findings.push(format!("{path}:{line}: \"{phrase}\": {instead}"));
                }
            }
        }
    }
    findings
}

/// The text in lower case with one space between words and without comment markers, and where each
/// line begins in it. Of the SQL corpus, comments alone.
fn joined(path: &str, text: &str) -> (String, Vec<usize>) {
    let mut joined = String::with_capacity(text.len());
    let mut starts = Vec::new();
    let comments_only = path.ends_with(".slt");
    for line in text.lines() {
        starts.push(joined.len());
        let line = line.trim_start();
        if comments_only && !line.starts_with('#') {
            joined.push_str(". ");
            continue;
        }
        let words = line.trim_start_matches(['/', '!', '#']).split_whitespace();
        for word in words {
            joined.push_str(&word.to_lowercase());
            joined.push(' ');
        }
    }
    (joined, starts)
}

fn is_word(text: &str, at: usize, len: usize) -> bool {
    let letter = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
    !letter(text[..at].chars().next_back()) && !letter(text[at + len..].chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_is_found_across_lines() {
        let text = "//! Doc.\n/// Batches that it puts\n/// out at once.\n";
        let found = phrases("crates/a/src/lib.rs", text);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/src/lib.rs:2:"), "{}", found[0]);
    }

    #[test]
    fn parts_of_words_and_names_are_not_phrases() {
        assert!(phrases("crates/a/src/lib.rs", "fn input outside is_nobody_here").is_empty());
        assert_eq!(phrases("README.md", "Nobody reads it.").len(), 1);
    }

    #[test]
    fn only_comments_of_the_corpus_are_searched() {
        let text = "# Nobody.\nquery I\nSELECT 'nobody'\n";
        assert_eq!(phrases("tests/slt/a.slt", text).len(), 1);
    }
}
