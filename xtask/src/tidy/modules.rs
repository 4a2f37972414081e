//! Checks that a `mod` line reaches every file, and that modules have telling names.

use super::Source;
use std::collections::HashSet;

/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "base", "misc", "helpers", "helper"];

/// Files that no `mod` line reaches, and modules with empty names.
pub fn check(sources: &[Source]) -> Vec<String> {
    let paths: HashSet<&str> = sources.iter().map(|it| it.path.as_str()).collect();
    let mut findings = Vec::new();
    for source in sources {
        let path = &source.path;
        let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        let folder = path.rsplit_once('/').map_or("", |it| it.0);
        let name = if stem == "mod" { folder.rsplit('/').next().unwrap_or_default() } else { stem };
        if EMPTY_NAMES.contains(&name) {
            findings.push(format!("{path}: a module called `{name}` says nothing"));
        }
        if !is_root(path) && !declared(sources, &paths, path, name) {
            findings.push(format!("{path}: no `mod {name}` reaches this file"));
        }
    }
    findings
}

/// Whether the file is the root of a crate: a library, a program, a test, a bench, an example.
fn is_root(path: &str) -> bool {
    // The folder of example crates is not the folder of a crate's examples.
    let parts: Vec<&str> = path.trim_start_matches("examples/").split('/').collect();
    let Some(at) = parts.iter().position(|it| ["src", "tests", "benches", "examples"].contains(it))
    else {
        return true;
    };
    let below = &parts[at + 1..];
    if parts[at] == "src" {
        return matches!(below, ["lib.rs" | "main.rs"]) || below.first() == Some(&"bin");
    }
    below.len() == 1 || below.last() == Some(&"main.rs")
}

fn declared(sources: &[Source], paths: &HashSet<&str>, path: &str, name: &str) -> bool {
    parents(path).iter().filter(|it| paths.contains(it.as_str())).any(|parent| {
        let source = sources.iter().find(|it| it.path == *parent);
        source.is_some_and(|it| it.text.lines().any(|line| declares(line, name)))
    })
}

/// The files that may declare the module in `path`.
fn parents(path: &str) -> Vec<String> {
    let own_folder = path.rsplit_once('/').map_or("", |it| it.0);
    let folder = if path.ends_with("/mod.rs") {
        own_folder.rsplit_once('/').map_or("", |it| it.0)
    } else {
        own_folder
    };
    let beside = format!("{folder}.rs");
    let inside = ["mod.rs", "lib.rs", "main.rs"].map(|it| format!("{folder}/{it}"));
    [beside].into_iter().chain(inside).collect()
}

fn declares(line: &str, name: &str) -> bool {
    let line = line.trim();
    let line =
        line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub(super) ")).unwrap_or(line);
    let line = line.strip_prefix("pub ").unwrap_or(line);
    line.strip_prefix("mod ").is_some_and(|it| it.trim_end_matches(';') == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_file_that_nothing_declares_is_reported() {
        let sources = [
            source("crates/a/src/lib.rs", "mod b;\n"),
            source("crates/a/src/b.rs", "pub(crate) mod c;\n"),
            source("crates/a/src/b/c.rs", ""),
            source("crates/a/src/d.rs", ""),
            source("crates/a/tests/e.rs", ""),
        ];
        assert_eq!(check(&sources), ["crates/a/src/d.rs: no `mod d` reaches this file"]);
    }

    #[test]
    fn an_empty_name_is_reported() {
        let sources =
            [source("crates/a/src/lib.rs", "mod utils;\n"), source("crates/a/src/utils.rs", "")];
        assert_eq!(check(&sources).len(), 1);
    }
}
