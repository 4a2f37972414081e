//! Commands, options for scripts and programs, and profiles, as users see them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Standard output, standard error, exit status.
type Ran = (String, String, i32);

fn volley(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_volley"));
    command.current_dir(dir).args(args).stdin(Stdio::null());
    command
}

fn run(dir: &Path, args: &[&str]) -> Ran {
    let output = volley(dir, args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

/// Runs lines of standard input.
fn run_lines(dir: &Path, args: &[&str], lines: &str) -> Ran {
    let mut command = volley(dir, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn modes_and_options_change_how_results_look() {
    let dir = folder();
    let lines = "CREATE TABLE t AS SELECT 1234567 AS n, NULL AS s;\n.mode csv\nFROM t;\n\
                 .mode line\n.null -\nFROM t;\n.mode insert t2\nFROM t;\n\
                 .mode box\n.types off\n.thousands on\nFROM t;\n.mode\n";
    let (out, err, status) = run_lines(dir.path(), &[], lines);
    let expected = "n,s\n1234567,\nn = 1234567\ns = -\nINSERT INTO t2 VALUES (1234567, NULL);\n\
                    ┌───────────┬───┐\n│         n │ s │\n├───────────┼───┤\n\
                    │ 1,234,567 │ - │\n└───────────┴───┘\n1 row\nmode: box\n";
    assert_eq!((out.as_str(), err.as_str(), status), (expected, "", 0));
}

#[test]
fn results_go_to_files_and_files_are_read_and_imported() {
    let dir = folder();
    let lines = ".mode csv\n.output out.csv\nSELECT 1 AS a;\n.output\nSELECT 2 AS b;\n\
                 .import out.csv t\n.import 'out.csv' t\nSELECT count(*) AS n FROM t;\n";
    let (out, err, status) = run_lines(dir.path(), &[], lines);
    assert_eq!((out.as_str(), err.as_str(), status), ("b\n2\nn\n2\n", "", 0));
    assert_eq!(fs::read_to_string(dir.path().join("out.csv")).unwrap(), "a\n1\n");
    fs::write(dir.path().join("q.sql"), ".mode ndjson\nSELECT 3\nAS c;\n.quit\nSELECT 4;\n")
        .unwrap();
    let (out, err, status) = run_lines(dir.path(), &[], ".read q.sql\nSELECT 5;\n");
    assert_eq!((out.as_str(), err.as_str(), status), ("{\"c\":3}\n", "", 0));
    let (_, err, status) = run_lines(dir.path(), &[], ".read none.sql\n");
    assert_eq!((err.as_str(), status), ("error: no such file or directory: none.sql\n", 1));
}

#[test]
fn tables_and_schemas_are_listed_by_pattern() {
    let dir = folder();
    let lines = "CREATE TABLE lines (a INTEGER NOT NULL, b VARCHAR);\nCREATE TABLE other (c DATE);\n\
                 CREATE VIEW shown AS SELECT a FROM lines;\n.tables li%\n.schema other\n";
    let (out, err, status) = run_lines(dir.path(), &[], lines);
    let expected = "┌───────┬───────┐\n│ name  ┆ kind  │\n╞═══════╪═══════╡\n\
                    │ lines ┆ table │\n└───────┴───────┘\nCREATE TABLE other (\n    c DATE\n);\n";
    assert_eq!((out.as_str(), err.as_str(), status), (expected, "", 0));
    let (out, _, _) = run_lines(dir.path(), &[], &lines.replace(".schema other", ".schema"));
    assert!(out.contains("CREATE VIEW shown") && out.contains("NOT NULL"), "{out}");
    let indexed = "CREATE TABLE lines (a INTEGER);\nCREATE UNIQUE INDEX by_a ON lines (a);\n\
                   CREATE TABLE other (a INTEGER);\n.schema lines\n";
    let (out, _, _) = run_lines(dir.path(), &[], indexed);
    let expected = "CREATE TABLE lines (\n    a INTEGER\n);\nCREATE UNIQUE INDEX by_a ON ";
    assert!(out.starts_with(expected) && out.ends_with(";\n") && !out.contains("other"), "{out}");
    let (_, err, status) = run_lines(dir.path(), &[], ".schema none\n");
    assert!(status == 1 && err.starts_with("error: no such table: none\nhint: "), "{err}");
}

#[test]
fn help_explains_every_command_and_wrong_ones_are_errors() {
    let dir = folder();
    let (out, _, status) = run(dir.path(), &["-c", ".help"]);
    assert_eq!(status, 0);
    for name in ["mode", "output", "maxrows", "width", "read", "schema", "tables", "open", "import"]
    {
        assert!(out.contains(&format!("  .{name} ")), "{name}: {out}");
    }
    let (out, _, _) = run(dir.path(), &["-c", ".help .mode"]);
    assert!(out.starts_with(".mode [MODE [TABLE]]\n  The form of results"), "{out}");
    for (command, message) in [
        (".modus", "no such command: .modus\nhint: did you mean .mode?"),
        (".mode xml", "no such mode: 'xml'\nhint: modes are table, box"),
        (".read", "wrong number of arguments of .read\nhint: usage: .read FILE"),
        (".timer maybe", ".timer is on or off, not 'maybe'"),
        (".width wide", ".width takes a number: 'wide'"),
        (".read 'open", "the quote ' is not closed"),
        (".edit", ".edit needs a prompt"),
        (".profile", "no query ran whose profile is known"),
    ] {
        let (_, err, status) = run(dir.path(), &["-c", command]);
        assert!(err.contains(message) && status == 1, "{command}: {err}");
    }
}

#[test]
fn parameters_have_values_of_the_command_line() {
    let dir = folder();
    let args = ["--format", "csv", "--var", "day=2020-01-02", "--var", "n=41"];
    let sql = "SELECT $n + 1 AS a, CAST($day AS DATE) AS d; .var; SELECT 1 AS b";
    let (out, err, status) =
        run(dir.path(), &[&args[..], &["-c", sql.split(';').next().unwrap()]].concat());
    assert_eq!((out.as_str(), err.as_str(), status), ("a,d\n42,2020-01-02\n", "", 0));
    let lines = ".mode csv\n.var name 'it''s'\nSELECT $name AS s;\n.var\nSELECT $other;\n";
    let (out, err, status) = run_lines(dir.path(), &[], lines);
    assert_eq!((out.as_str(), status), ("s\nit's\nname = it's\n", 1), "{err}");
    assert!(err.contains("$other"), "{err}");
    let (_, err, status) = run(dir.path(), &["--var", "x", "-c", "SELECT 1"]);
    assert!(status == 2 && err.contains("write --var name=value"), "{err}");
}

#[test]
fn statements_are_echoed_and_bail_stops() {
    let dir = folder();
    let args = ["--echo", "--format", "csv"];
    let lines = ".null x\nSELECT 1 AS a; SELECT 2\n AS b;\n";
    let (out, _, _) = run_lines(dir.path(), &args, lines);
    assert_eq!(out, ".null x\nSELECT 1 AS a;\na\n1\nSELECT 2\n AS b;\nb\n2\n");
    let lines =
        "SELECT 1 AS a;\n.bail off\nSELECT x;\nSELECT 2 AS b;\n.bail on\nSELECT y;\nSELECT 3;\n";
    let (out, err, status) = run_lines(dir.path(), &["--format", "csv"], lines);
    assert_eq!((out.as_str(), status), ("a\n1\nb\n2\n", 1));
    assert_eq!(err.matches("error: ").count(), 2, "{err}");
}

#[test]
fn safe_shells_reach_nothing() {
    let dir = folder();
    fs::write(dir.path().join("t.csv"), "a\n1\n").unwrap();
    let safe = |sql: &str| run(dir.path(), &["--safe", "--format", "csv", "-c", sql]);
    assert_eq!(safe("SELECT 1 AS a"), ("a\n1\n".to_owned(), String::new(), 0));
    for sql in [
        "FROM 't.csv'",
        "COPY (SELECT 1) TO 'x.csv'",
        ".read t.csv",
        ".output x.csv",
        ".open t.csv",
        ".import t.csv t",
        ".profile x.html",
        ".pager cat",
    ] {
        let (out, err, status) = safe(sql);
        assert!(out.is_empty() && status == 1, "{sql}: {out}{err}");
        assert!(err.contains("denied") || err.contains("not allowed"), "{sql}: {err}");
    }
    assert!(!dir.path().join("x.csv").exists());
    // What was opened before stays.
    let (out, err, _) = run(dir.path(), &["t.csv", "--format", "csv", "-c", "FROM t"]);
    assert_eq!((out.as_str(), err.as_str()), ("a\n1\n", ""));
}

#[test]
fn a_path_opens_files_and_subcommands_win() {
    let dir = folder();
    fs::create_dir(dir.path().join("tpch")).unwrap();
    fs::write(dir.path().join("tpch/data.csv"), "a\n1\n").unwrap();
    let sql = ["--format", "csv", "-c", "FROM data"];
    for path in ["tpch/data.csv", "tpch/*.csv"] {
        let (out, err, status) = run(dir.path(), &[&[path], &sql[..]].concat());
        let table_name = err.contains("no such table");
        assert!(!table_name && status == 0 && out == "a\n1\n", "{path}: {out}{err}");
    }
    let (out, _, status) = run(dir.path(), &["tpch", "--help"]);
    assert!(status == 0 && out.contains("generate"), "{out}");
    let (_, err, status) = run(dir.path(), &["none.parquet", "-c", "SELECT 1"]);
    assert!(status == 1 && err.contains("error: ") && err.contains("hint: "), "{err}");
}

#[test]
fn programs_get_typed_rows_and_errors_as_json() {
    let dir = folder();
    let sql = "SELECT i AS n, 'a' AS s FROM range(10) t(i) ORDER BY 1";
    let args = ["--agent", "--max-rows", "2", "-c", sql];
    let (out, err, status) = run(dir.path(), &args);
    assert!(out.starts_with("n:BIGINT\ts:VARCHAR\n0\ta\n1\ta\n# 2 rows shown"), "{out}{err}");
    assert_eq!((err.as_str(), status), ("", 0));
    let (out, err, status) =
        run(dir.path(), &["--agent", "-c", "SELECT 1;\nSELECT 'ä', nope FROM range(3)"]);
    assert!(out.ends_with("# 1 row\n") && status == 1, "{out}{err}");
    let error: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert_eq!(error["place"]["line"], 2, "{err}");
    assert_eq!(error["place"]["column"], 13, "{err}");
    assert!(error["error"].as_str().unwrap().contains("nope"), "{err}");
}

#[test]
fn plans_are_explained_in_every_format() {
    let dir = folder();
    let explain = |how: &str| {
        let sql = format!("{how} SELECT count(*) FROM range(100) t(i) WHERE i > 5");
        let (out, err, status) = run(dir.path(), &["--format", "table", "-c", &sql]);
        assert_eq!((err.as_str(), status), ("", 0), "{how}");
        out
    };
    for (format, expected) in [
        ("json", "\"kind\":\"Aggregation\""),
        ("html", "The query did not run"),
        ("dot", "digraph plan {"),
        ("graphviz", "digraph plan {"),
        ("svg", "<svg xmlns"),
        ("text", "Aggregation"),
    ] {
        let out = explain(&format!("EXPLAIN (FORMAT {format})"));
        assert!(out.contains(expected), "{format}: {out}");
    }
    let html = explain("EXPLAIN (ANALYZE, FORMAT html)");
    assert!(html.contains("of the time on threads") && html.contains("id=\"timeline\""), "{html}");
    let json: serde_json::Value =
        serde_json::from_str(explain("EXPLAIN ANALYZE (FORMAT json)").trim()).unwrap();
    assert!(json["nodes"][0]["rows"].is_number() && json["timeline"].is_array());
    assert!(json["nodes"][0]["estimated_rows"].is_number());
    let trace: serde_json::Value =
        serde_json::from_str(explain("EXPLAIN (ANALYZE, FORMAT trace)").trim()).unwrap();
    assert!(trace["traceEvents"].as_array().is_some_and(|it| !it.is_empty()));
    assert!(explain("EXPLAIN ANALYZE").contains("cpu "));
    assert!(!explain("EXPLAIN (ANALYZE false)").contains("cpu "));
    let (_, err, status) = run(dir.path(), &["-c", "EXPLAIN (FORMAT xml) SELECT 1"]);
    assert!(status == 1 && err.contains("not supported: FORMAT"), "{err}");
}

#[test]
fn every_query_leaves_a_page_in_profile_directory() {
    let dir = folder();
    fs::create_dir(dir.path().join("pages")).unwrap();
    let sql = "SET profile_directory = 'pages'; SELECT sum(i) FROM range(100) t(i); \
               CREATE TABLE t AS SELECT * FROM range(10) t(i); \
               COPY t TO 't.csv'; SELECT CAST(i || 'x' AS INTEGER) FROM t";
    let (_, err, status) = run(dir.path(), &["-c", sql]);
    assert_eq!(status, 1, "{err}");
    let mut pages: Vec<_> =
        fs::read_dir(dir.path().join("pages")).unwrap().map(|it| it.unwrap().path()).collect();
    pages.sort();
    let pages: Vec<String> = pages.iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    assert_eq!(pages.len(), 4);
    for (page, expected) in pages.iter().zip(["sum(i)", "CREATE TABLE t", "COPY t", "CAST(i"]) {
        assert!(page.contains(expected), "{expected}");
    }
    assert!(pages[1].contains("TableWrite") && pages[3].contains("The query failed: "));
    let sql = "SET profile_directory = 'none/such'; SELECT 1";
    let (_, err, status) = run(dir.path(), &["-c", sql]);
    assert!(status == 1 && err.contains("RESET profile_directory"), "{err}");
}
