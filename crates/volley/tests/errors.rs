//! Runs the corpus of errors `tests/errors`: every case must fail with its exact message.
//!
//! The format is described in `tests/errors/README.md`. `UPDATE_EXPECT=1` writes the messages that
//! came into the files; read them before committing. A program of its own, since it changes the
//! current folder.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};
use volley::{Error, Session};

/// One case: lines of a word and the rest.
type Case = Vec<(String, String)>;

#[test]
fn every_bad_input_fails_with_its_message() {
    let root = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    std::env::set_current_dir(&root).unwrap();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut files: Vec<PathBuf> =
        fs::read_dir("tests/errors").unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "err"));
    files.sort();
    let (mut cases, mut failures) = (0, Vec::new());
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let mut updated = Vec::new();
        for block in text.split("\n\n") {
            let case = parse(block);
            let Some(name) = first(&case, "case") else {
                updated.push(block.trim_end().to_owned());
                continue;
            };
            cases += 1;
            let (failure, block) = check(&case, block);
            failures.extend(failure.map(|it| format!("{}: {name}: {it}", file.display())));
            updated.push(block);
        }
        if update {
            fs::write(file, updated.join("\n\n") + "\n").unwrap();
        }
    }
    eprintln!("{cases} cases in {} files", files.len());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

fn parse(block: &str) -> Case {
    let lines = block.lines().filter(|it| !it.starts_with('#') && !it.trim().is_empty());
    lines
        .map(|line| match line.split_once(' ') {
            Some((word, rest)) => (word.to_owned(), rest.to_owned()),
            None => (line.to_owned(), String::new()),
        })
        .collect()
}

fn first<'a>(case: &'a Case, word: &str) -> Option<&'a str> {
    case.iter().find(|it| it.0 == word).map(|it| it.1.as_str())
}

/// What is wrong, if anything, and the case with the lines as they came.
fn check(case: &Case, block: &str) -> (Option<String>, String) {
    let as_it_was = block.trim_end().to_owned();
    if first(case, "skip") == Some("root") && is_root() {
        return (None, as_it_was);
    }
    let lines: Vec<&str> = case.iter().filter(|it| it.0 == "sql").map(|it| it.1.as_str()).collect();
    let sql = lines.join("\n");
    let session = Session::new().unwrap();
    for (_, setup) in case.iter().filter(|it| it.0 == "setup") {
        if let Err(error) = session.sql(setup).and_then(|it| it.collect()) {
            return (Some(format!("setup: {error}")), as_it_was);
        }
    }
    let Err(error) = session.sql(&sql).and_then(|it| it.collect()) else {
        return (Some("does not fail".into()), as_it_was);
    };
    let came = came(&error, &sql);
    let updated = update(block, &came);
    let failure = mismatch(case, &error, &came);
    (
        failure,
        if first(case, "error").is_some_and(|it| it.contains("{*}")) { as_it_was } else { updated },
    )
}

/// The lines that the error gives: kind, at, error, hint.
fn came(error: &Error, sql: &str) -> Case {
    let mut lines = vec![("kind".to_owned(), format!("{:?}", error.kind()))];
    if let Some(span) = error.text_span() {
        let before = &sql[..span.start as usize];
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        let line = before.matches('\n').count() + 1;
        lines.push(("at".into(), format!("{line}:{}", before[line_start..].chars().count() + 1)));
    }
    lines.push(("error".into(), error.to_string().replace('\n', "\\n")));
    lines.extend(error.hint_text().map(|it| ("hint".to_owned(), it.replace('\n', "\\n"))));
    lines
}

fn mismatch(case: &Case, error: &Error, came: &Case) -> Option<String> {
    for word in ["kind", "at", "error", "hint"] {
        let (expected, actual) = (first(case, word), first(came, word));
        let exact = first(case, "error").is_some();
        // A case without a message yet is judged by its kind and by `contains`.
        if (exact || word == "kind") && !matches(expected, actual) {
            return Some(format!("{word}: expected {expected:?}, came {actual:?} ({error})"));
        }
    }
    let whole = format!("{error} {}", error.hint_text().unwrap_or_default()).to_lowercase();
    let missing =
        case.iter().find(|it| it.0 == "contains" && !whole.contains(&it.1.to_lowercase()));
    missing.map(|it| format!("expected to contain {:?}, came {whole:?}", it.1))
}

fn matches(expected: Option<&str>, actual: Option<&str>) -> bool {
    let (Some(expected), Some(actual)) = (expected, actual) else { return expected == actual };
    match expected.split_once("{*}") {
        Some((head, tail)) => {
            actual.strip_prefix(head).is_some_and(|rest| {
                // The last literal part must be at the end, the others in between, in order.
                let mut rest = rest;
                let mut parts = tail.split("{*}").peekable();
                while let Some(part) = parts.next() {
                    if parts.peek().is_none() {
                        return rest.ends_with(part);
                    }
                    let Some(at) = rest.find(part) else { return false };
                    rest = &rest[at + part.len()..];
                }
                true
            })
        }
        None => expected == actual,
    }
}

/// The block with its expectations replaced.
fn update(block: &str, came: &Case) -> String {
    let kept = block.trim_end().lines().filter(|line| {
        let word = line.split(' ').next().unwrap_or_default();
        !["kind", "at", "error", "hint", "contains"].contains(&word)
    });
    let came = came.iter().map(|(word, rest)| format!("{word} {rest}"));
    kept.map(str::to_owned).chain(came).collect::<Vec<_>>().join("\n")
}

fn is_root() -> bool {
    fs::read_to_string("/proc/self/status")
        .is_ok_and(|it| it.lines().any(|it| it.starts_with("Uid:\t0\t")))
}
