//! Lines of code per sub-operator and per platform: `cargo run -p xtask -- lines`.
//!
//! Counted are lines with code outside of tests. A file that one sub-operator uses is counted with
//! it; files that several use are counted by themselves.

use std::{fs, path::Path};

/// Sub-operators, and the files of each: its fields and schema rule, then how it runs.
const SUB_OPERATORS: &[(&str, &[&str])] = &[
    ("Parameter", &["crates/plan/src/sub/parameter.rs", "crates/operators/src/sub/parameter.rs"]),
    ("NestedMap", &["crates/plan/src/sub/nested_map.rs", "crates/operators/src/sub/nested_map.rs"]),
    ("Zip", &["crates/plan/src/sub/zip.rs", "crates/operators/src/sub/zip.rs"]),
    (
        "Histogram, Partition",
        &["crates/plan/src/sub/partition.rs", "crates/operators/src/sub/partition.rs"],
    ),
    (
        "Materialize, RowScan",
        &["crates/plan/src/sub/row_scan.rs", "crates/operators/src/sub/row_scan.rs"],
    ),
    ("Build, Probe", &["crates/plan/src/sub/probe.rs", "crates/operators/src/sub/probe.rs"]),
    (
        "Filter, Map",
        &["crates/operators/src/filter_project.rs", "crates/operators/src/filter_project"],
    ),
    ("Limit", &["crates/operators/src/limit.rs", "crates/operators/src/limit"]),
    (
        "Exchange (sink, source)",
        &[
            "crates/operators/src/page_sink.rs",
            "crates/operators/src/page_sink",
            "crates/operators/src/page_source.rs",
            "crates/operators/src/page_source",
        ],
    ),
    (
        "shared by several",
        &[
            "crates/plan/src/sub.rs",
            "crates/plan/src/builder/sub.rs",
            "crates/plan/src/save/sub.rs",
            "crates/plan/src/check/sub.rs",
            "crates/plan/src/expand.rs",
            "crates/operators/src/sub.rs",
            "crates/operators/src/sub/collect.rs",
            "crates/operators/src/sub/collection.rs",
        ],
    ),
];

/// Platforms, and what each needs by itself.
const PLATFORMS: &[(&str, &[&str])] = &[
    ("threads of one process", &["crates/exchange/src/in_process.rs"]),
    ("mpi", &["crates/platform-mpi/src"]),
    (
        "links between processes (shared)",
        &[
            "crates/exchange/src/link.rs",
            "crates/exchange/src/link",
            "crates/exchange/src/frame.rs",
            "crates/exchange/src/routed.rs",
            "crates/schedule/src/processes.rs",
            "crates/schedule/src/partial_query.rs",
            "crates/schedule/src/spec.rs",
        ],
    ),
];

/// The table as text.
pub fn report(root: &Path) -> String {
    let mut text = String::new();
    for (title, rows) in [("sub-operator", SUB_OPERATORS), ("platform", PLATFORMS)] {
        text.push_str(&format!("{title:<34}lines\n"));
        for (name, files) in rows {
            let lines: usize = files.iter().map(|it| lines_of(&root.join(it))).sum();
            text.push_str(&format!("{name:<34}{lines:>5}\n"));
        }
        text.push('\n');
    }
    text
}

/// The lines of a file, or of all files of a folder but those of tests.
fn lines_of(path: &Path) -> usize {
    if path.is_file() {
        return code_lines(&fs::read_to_string(path).unwrap_or_default());
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|it| it.path());
    let is_code = |it: &std::path::PathBuf| {
        let name = it.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        // The relay is a test of the transport.
        it.is_dir() && name != "tests"
            || name.ends_with(".rs") && !["tests.rs", "relay.rs"].contains(&name)
    };
    entries.filter(is_code).map(|it| lines_of(&it)).sum()
}

/// Lines that are neither empty nor comments, before the tests of the file.
fn code_lines(text: &str) -> usize {
    let code = text.lines().map(str::trim).take_while(|it| !it.starts_with("#[cfg(test)]"));
    let is_code = |it: &&str| !it.is_empty() && !it.starts_with("//");
    let lines = code.filter(is_code).count();
    // A module of tests may be declared before the rest of the code.
    let rest = text.split_once("#[cfg(test)]\nmod tests;\n").map_or("", |it| it.1);
    let rest = rest.lines().map(str::trim).take_while(|it| !it.starts_with("#[cfg(test)]"));
    lines + rest.filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_empty_lines_and_tests_are_not_counted() {
        let text = "//! Doc.\n\nuse a;\n\n/// Doc.\nfn f() {\n    // Why.\n    g();\n}\n\n";
        assert_eq!(code_lines(text), 4);
        assert_eq!(
            code_lines(&format!("{text}#[cfg(test)]\nmod tests {{\n    fn t() {{}}\n}}\n")),
            4
        );
        assert_eq!(code_lines("use a;\n#[cfg(test)]\nmod tests;\n\nuse b;\nfn f() {}\n"), 3);
    }

    #[test]
    fn every_named_file_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (name, files) in SUB_OPERATORS.iter().chain(PLATFORMS) {
            for file in *files {
                assert!(root.join(file).exists(), "{file}");
            }
            let lines: usize = files.iter().map(|it| lines_of(&root.join(it))).sum();
            assert!(lines > 0, "{name}");
        }
    }
}
