//! Checks the size of one file and the code that it must not contain.

/// Most lines of a file, tests apart.
const FILE_LINES_MAX: usize = 700;

/// Most lines of a function.
const FUNCTION_LINES_MAX: usize = 70;

/// Most columns of a line.
const COLUMNS_MAX: usize = 100;

/// Where `unsafe` is allowed: beginnings of paths.
const UNSAFE_ALLOWED: &[&str] = &[
    "crates/cli/src/allocator",
    "crates/kernels/",
    "crates/memory/",
    "crates/platform-mpi/src/mpi",
    "crates/python/src/allocator",
    "crates/python/src/capsule",
    "crates/python/src/compiled",
    "crates/python/src/function",
    "crates/python/src/numbers",
    "crates/python/src/waiting",
    "crates/vector/",
    "crates/state/src/rows",
    "crates/state/src/hash_table",
];

/// Where `macro_rules!` is allowed: dispatch in `types`, and files whose macros implement a trait
/// for a list of types. This list may only shrink.
const MACROS_ALLOWED: &[&str] = &[
    "crates/types/src/",
    "crates/function/src/simple/args.rs",
    "crates/function/src/simple/generic.rs",
    "crates/function/src/simple/output.rs",
    "crates/function/src/simple/pattern.rs",
    "crates/function/src/simple/tuples.rs",
    "crates/functions/src/aggregate/sum.rs",
    "crates/functions/src/arithmetic/integer.rs",
    "crates/functions/src/cast/number.rs",
    "crates/functions/src/math/bits.rs",
    "crates/functions/src/math/round.rs",
    "crates/functions/src/math/sign.rs",
    "crates/functions/src/order.rs",
    "crates/kernels/src/order.rs",
    "crates/vector/src/scalar.rs",
];

/// Rejected code, the paths where it is allowed, and what to write instead.
const BANNED: &[(&str, &[&str], &str)] = &[
    ("unsafe {", UNSAFE_ALLOWED, "unsafe code has its crates"),
    ("unsafe fn", UNSAFE_ALLOWED, "unsafe code has its crates"),
    ("unsafe impl", UNSAFE_ALLOWED, "unsafe code has its crates"),
    ("macro_rules!", MACROS_ALLOWED, "use generics"),
    ("#[allow(", &[], "write #[expect(lint, reason = \"...\")]"),
    ("#[ignore", &[], "a test runs or goes"),
    ("FIXME", &[], "write TODO(#issue)"),
    ("TODO:", &[], "write TODO(#issue)"),
];

/// Where files may be reached by `std::fs`: table data goes through `io::FileSystem`. Beginnings of
/// paths, and why.
const STD_FS_ALLOWED: &[(&str, &str)] = &[
    ("crates/io/", "implements local files"),
    ("crates/io-testkit/", "makes folders for its checks"),
    ("crates/memory/", "spill files"),
    ("crates/cli/", "scripts, configuration, history"),
    ("crates/presto/", "Presto's files of configuration"),
    ("crates/storage/src/local_store", "locks, syncs of folders and files"),
    ("crates/tpch/", "generates files"),
    ("crates/vector/src/save", "vectors of failed tests, in a file"),
    ("crates/volley/src/memory.rs", "limits that the system sets"),
];

/// What is wrong in the file.
pub fn check(path: &str, text: &str) -> Vec<String> {
    if path.contains("/generated/") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    let lines: Vec<&str> = text.lines().collect();
    let code = lines.iter().position(|it| *it == "mod tests {").unwrap_or(lines.len());
    if !is_test && code > FILE_LINES_MAX {
        findings.push(format!("{path}: {code} lines, at most {FILE_LINES_MAX}"));
    }
    if !text.starts_with("//!") && !is_test {
        findings.push(format!("{path}: begins without a sentence that says what is inside"));
    }
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        if line.chars().count() > COLUMNS_MAX && !cannot_break(line) && !is_test {
            findings.push(format!("{path}:{number}: more than {COLUMNS_MAX} columns"));
        }
        if !path.starts_with("xtask/") && !is_test {
            findings.extend(banned(path, number, line));
        }
    }
    if !is_test {
        findings.extend(long_functions(path, &lines[..code]));
        findings.extend(direct_files(path, &lines[..code]));
    }
    findings
}

/// Uses of `std::fs` in a crate where table data goes through file systems.
fn direct_files(path: &str, lines: &[&str]) -> Vec<String> {
    let is_product = path.starts_with("crates/") && path.contains("/src/");
    if !is_product || STD_FS_ALLOWED.iter().any(|it| path.starts_with(it.0)) {
        return Vec::new();
    }
    let is_use = |line: &&(usize, &&str)| {
        let code = line.1.split("//").next().unwrap_or_default().replace("/fs/", "");
        let mut words = code.split(|it: char| !it.is_alphanumeric() && it != '_');
        words.any(|it| it == "fs")
    };
    let used = lines.iter().enumerate().collect::<Vec<_>>();
    let message = "table data goes through `io::FileSystem`, not `std::fs`";
    used.iter().filter(is_use).map(|it| format!("{path}:{}: {message}", it.0 + 1)).collect()
}

/// Whether the line cannot be broken: an address, a text literal, a bound that rustfmt keeps on one
/// line, a row of a table in a comment.
fn cannot_break(line: &str) -> bool {
    line.contains("http")
        || line.contains('"')
        || line.contains("impl Fn(")
        || line.trim_start().starts_with("//") && line.contains(" | ")
}

fn banned(path: &str, number: usize, line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let is_banned = |word: &str, allowed: &[&str]| {
        let place =
            if word.chars().all(|it| it.is_ascii_uppercase() || it == ':') { line } else { code };
        place.contains(word) && !allowed.iter().any(|it| path.starts_with(it))
    };
    BANNED
        .iter()
        .filter(|it| is_banned(it.0, it.1))
        .map(|it| format!("{path}:{number}: `{}`: {}", it.0, it.2))
        .collect()
}

/// Functions over the limit. Relies on rustfmt: a function ends at the first `}` with the
/// indentation of its `fn` line.
fn long_functions(path: &str, lines: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        if !is_function(trimmed) {
            continue;
        }
        let indent = line.len() - trimmed.len();
        let end = lines[start..].iter().position(|it| {
            it.len() - it.trim_start().len() == indent && (it.trim() == "}" || it.ends_with(';'))
        });
        let count = end.map_or(0, |it| it + 1);
        if count > FUNCTION_LINES_MAX {
            findings.push(format!(
                "{path}:{}: function of {count} lines, at most {FUNCTION_LINES_MAX}",
                start + 1
            ));
        }
    }
    findings
}

fn is_function(line: &str) -> bool {
    let mut words = line.split(' ');
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern"];
    words.find(|it| !qualifiers.contains(it)) == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_function_is_reported_and_a_short_one_is_not() {
        let body = "    x();\n".repeat(70);
        let long = format!("//! Doc.\n\nfn f() {{\n{body}}}\n");
        assert_eq!(check("crates/a/src/lib.rs", &long).len(), 1);
        assert!(check("crates/a/src/lib.rs", "//! Doc.\n\nfn f() {\n    x();\n}\n").is_empty());
    }

    #[test]
    fn unsafe_code_is_reported_outside_its_crates() {
        let text = "//! Doc.\n\nfn f() {\n    unsafe { x() }\n}\n";
        assert_eq!(check("crates/sql/src/lib.rs", text).len(), 1);
        assert!(check("crates/kernels/src/lib.rs", text).is_empty());
    }

    #[test]
    fn files_are_reached_through_file_systems() {
        let uses = ["use std::fs;", "use std::{fs::File, io};", "    fs,", "    std::fs::read(p)"];
        for line in uses {
            let text = format!("//! Doc.\n\n{line}\n");
            assert_eq!(check("crates/text/src/csv.rs", &text).len(), 1, "{line}");
            assert!(check("crates/io/src/local.rs", &text).is_empty());
            assert!(check("crates/text/tests/csv.rs", &text).is_empty());
            assert!(check("crates/text/src/a.rs", &format!("mod tests {{\n{line}")).len() < 2);
        }
        assert!(check("crates/text/src/a.rs", "//! Doc.\n\n// As fs does.\n").is_empty());
    }

    #[test]
    fn a_word_in_a_comment_is_no_code() {
        let text = "//! Doc.\n\n// About unsafe { blocks }.\nfn f() {}\n";
        assert!(check("crates/sql/src/lib.rs", text).is_empty());
    }
}
