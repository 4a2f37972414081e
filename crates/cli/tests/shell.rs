//! The `volley` command as its users see it: output, errors, exit status.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Stdio},
};

/// Standard output, standard error, exit status.
type Ran = (String, String, i32);

fn volley() -> Command {
    Command::new(env!("CARGO_BIN_EXE_volley"))
}

fn run(args: &[&str]) -> Ran {
    ended(volley().args(args).stdin(Stdio::null()))
}

fn run_in(dir: &Path, args: &[&str]) -> Ran {
    ended(volley().current_dir(dir).args(args).stdin(Stdio::null()))
}

fn ended(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

#[test]
fn several_statements_print_their_rows_and_the_first_error_stops() {
    let sql = "SELECT 1 AS a; CREATE TABLE t AS SELECT 2 AS b; FROM t; SELECT c FROM t; SELECT 3";
    let (out, err, status) = run(&["--format", "csv", "-c", sql]);
    assert_eq!(out, "a\n1\nb\n2\n");
    assert_eq!(
        err,
        format!(
            "error: no such column: c\n --> line 1, column 64\n  |\n1 | {sql}\n  | {}^\n\
             hint: did you mean b?\n",
            " ".repeat(63)
        )
    );
    assert_eq!(status, 1);
}

#[test]
fn failures_may_be_passed_over() {
    let sql = "SELECT 1 AS a; SELECT c; CREATE TABLE t (b INTEGER); INSERT INTO t VALUES (1); \
               DELETE FROM nope; FROM t";
    let (out, err, status) = run(&["--keep-going", "--format", "csv", "-c", sql]);
    assert_eq!(out, "a\n1\nb\n1\n");
    assert_eq!(err.matches("error: ").count(), 2, "{err}");
    assert_eq!(status, 1);
    let sql =
        "SELECT 1 AS a;\nSELECT ';'\n, FROM;\n  SELECT 1 +; SELECT 'x'::INTEGER; SELECT 2 AS b";
    let (out, err, status) = run(&["--keep-going", "--format", "csv", "-c", sql]);
    assert_eq!(out, "a\n1\nb\n2\n");
    let places: Vec<&str> = err.lines().filter(|it| it.contains("-->")).map(str::trim).collect();
    assert_eq!(places, ["--> line 3, column 7", "--> line 4, column 13", "--> line 4, column 22"]);
    assert_eq!(status, 1);
    let (_, err, status) = run(&["--keep-going", "-c", "SELECT 1 AS a"]);
    assert!(err.is_empty() && status == 0);
}

#[test]
fn what_show_create_shows_makes_the_table_or_view_again() {
    let table = "CREATE TABLE t (\n    k INTEGER NOT NULL,\n    \"Name\" VARCHAR DEFAULT 'x',\n    \
                 \"select\" DECIMAL(8,2) NOT NULL,\n    g INTEGER GENERATED ALWAYS AS (k * 2),\n    \
                 c VARCHAR COLLATE NOCASE,\n    s ROW(a INTEGER, \"b c\" ARRAY(DATE)),\n    \
                 PRIMARY KEY (k),\n    UNIQUE (\"Name\", c),\n    CHECK (k > 0),\n    \
                 CONSTRAINT low CHECK (\"select\" < 100)\n)";
    let view = "CREATE VIEW v (a, \"B\") AS\nSELECT k, 'it''s' FROM t";
    for (statement, kind) in [(table, "TABLE t"), (view, "VIEW v")] {
        let sql = format!("{table}; {view}; SHOW CREATE {kind}");
        let (out, err, _) = run(&["--format", "json", "-c", &sql]);
        let escaped = statement.replace('"', "\\\"").replace('\n', "\\n");
        assert!(out.contains(&escaped), "{out}\n{escaped}\n{err}");
    }
}

#[test]
fn files_and_standard_input_run_too() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("q.sql"), "-- nothing\nSELECT 1 AS a;\n").unwrap();
    let args = ["--format", "ndjson", "-f", "q.sql"];
    let (out, err, status) = run_in(dir.path(), &args);
    assert!(out == "{\"a\":1}\n" && err.is_empty() && status == 0, "{out}{err}");
    // Statement by statement: those before one that is not understood have run.
    let text =
        "SELECT 1 AS a; SELECT\n';' AS b; /* ;\n */\nSELECT $$\n;$$ AS c; SELEC 2;\nSELECT 3;";
    fs::write(dir.path().join("q.sql"), text).unwrap();
    let (out, err, status) = run_in(dir.path(), &args);
    assert_eq!((out.as_str(), status), ("{\"a\":1}\n{\"b\":\";\"}\n", 1), "{err}");
    assert!(err.contains("--> line 5, column "), "{err}");
    let (out, err, status) = run_in(dir.path(), &["-f", "none.sql"]);
    assert_eq!((out.as_str(), status), ("", 1));
    assert_eq!(err, "error: no such file or directory: none.sql\n");
    fs::write(dir.path().join("q.sql"), b"SELECT 1 AS a;\n\xff;\n").unwrap();
    let (out, err, status) = run_in(dir.path(), &args);
    assert_eq!((out.as_str(), status), ("{\"a\":1}\n", 1), "{err}");
    assert!(err.contains("q.sql") && err.contains("UTF-8"), "{err}");
    // With --keep-going the statements in other lines run.
    let text = b"SELECT 1 AS a;\nSELECT '\xff'\n, ';';\nSELECT 2 AS b;\n\xfe";
    fs::write(dir.path().join("q.sql"), text).unwrap();
    let keeps_going = ["--keep-going", "--format", "ndjson", "-f", "q.sql"];
    let (out, err, status) = run_in(dir.path(), &keeps_going);
    assert_eq!((out.as_str(), status), ("{\"a\":1}\n{\"b\":2}\n", 1), "{err}");
    assert!(err.contains("not UTF-8 in line 2") && err.contains("not UTF-8 in line 5"), "{err}");
    // A byte order mark is not part of the text.
    fs::write(dir.path().join("q.sql"), "\u{feff}SELECT '\u{feff}' = chr(65279) AS a").unwrap();
    let (out, err, status) = run_in(dir.path(), &args);
    assert!(out == "{\"a\":true}\n" && err.is_empty() && status == 0, "{out}{err}");
    let mut child = volley()
        .args(["--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all("\u{feff}SELECT 1 AS a; SELECT 2 AS b".as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "[{\"a\":1}]\n[{\"b\":2}]\n");
}

#[test]
fn statements_of_standard_input_run_as_they_come() {
    let mut child = volley()
        .args(["--format", "ndjson"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for (text, expected) in [
        ("SELECT 1 AS a;\n", "{\"a\":1}\n"),
        ("-- two;\nSELECT\n';' AS b;\n", "{\"b\":\";\"}\n"),
        ("SELECT 2 AS c; SELECT\n3 AS d;\n", "{\"c\":2}\n{\"d\":3}\n"),
    ] {
        input.write_all(text.as_bytes()).unwrap();
        let mut printed = String::new();
        while printed.len() < expected.len() && output.read_line(&mut printed).unwrap() > 0 {}
        assert_eq!(printed, expected);
    }
    input.write_all(b"SELECT 4 AS e\n; SELECT f").unwrap();
    drop(input);
    let mut printed = String::new();
    output.read_to_string(&mut printed).unwrap();
    assert_eq!(printed, "{\"e\":4}\n");
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(error.contains("--> line 8, column 10"), "{error}");
    assert_eq!(ended.status.code(), Some(1));
}

#[test]
fn wrong_usage_has_status_2() {
    let cases: [(&[&str], &str); 8] = [
        (
            &["--format", "xml", "-c", "SELECT 1"],
            "table, box, line, csv, json, ndjson, markdown, html, insert, agent",
        ),
        (&["--threads", "0", "-c", "SELECT 1"], "threads must be a number from 1"),
        (&["--memory-limit", "5XB", "-c", "SELECT 1"], "such as 512MB"),
        (&["--set", "thread=1", "-c", "SELECT 1"], "did you mean threads?"),
        (&["--set", "threads", "-c", "SELECT 1"], "write --set name=value"),
        (&["tpch", "--scale", "-1"], "scale must be above 0"),
        (&["tpch", "--scale", "nan"], "scale must be above 0"),
        (&["tpch", "generate", "--scale", "1e30", "--out", "x"], "scale must be above 0"),
    ];
    for (args, message) in cases {
        let (out, err, status) = run(args);
        assert!(err.contains(message), "{args:?}: {err}");
        assert_eq!((out.as_str(), status), ("", 2), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for args in [
        &["-c", "SELECT 1"][..],
        &["--format", "csv", "-c", "SELECT 1"],
        &["--format", "json", "-c", "SELECT 1"],
        &["--format", "ndjson", "-c", "SELECT 1"],
        &["--format", "markdown", "-c", "SELECT 1"],
        &["--help"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = volley().args(args).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("error: cannot write to standard output: "), "{args:?}: {err}");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let many = "SELECT a.n FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) a(n), \
                (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) b(n), \
                (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) c(n), \
                (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) d(n), \
                (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)) e(n)";
    for format in ["table", "csv", "json"] {
        let mut child = volley()
            .args(["--format", format, "-c", many, "-c", many])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{format}");
        assert_eq!(output.status.code(), Some(0), "{format}");
    }
}

#[test]
fn a_folder_of_data_becomes_tables_and_one_bad_file_does_not_hide_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    fs::create_dir(dir.path().join("many")).unwrap();
    write("one.csv", "a,b\n1,x\n");
    write("many/1.json", "{\"a\":1}\n");
    write("many/2.json", "{\"a\":2.5,\"b\":\"x\"}\n");
    write("bad.parquet", "no parquet");
    write("one.json", "{\"a\":1}\n");
    write("readme.txt", "not data");
    let folder = dir.path().to_str().unwrap();
    let sql = "SHOW TABLES; FROM one; SELECT * FROM many ORDER BY a";
    let (out, err, status) = run(&["--format", "csv", "--data", folder, "-c", sql]);
    assert_eq!(out, "name,kind\nmany,table\none,table\na,b\n1,x\na,b\n1.0,\n2.5,x\n");
    assert!(err.starts_with("warning: ") && err.contains("bad.parquet"), "{err}");
    assert!(err.contains("warning: a second table called one: "), "{err}");
    assert_eq!(status, 0);
    let (_, err, status) = run(&["--data", "/no/such/folder", "-c", "SELECT 1"]);
    assert_eq!((err.as_str(), status), ("error: no such file or directory: /no/such/folder\n", 1));
}

#[test]
fn copy_writes_whole_files_with_its_options_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let copy = |sql: &str| run_in(dir.path(), &["-c", sql]);
    let (out, err, status) = copy(
        "COPY (SELECT 1 AS a, NULL AS n, '' AS e, 'x;y' AS q) \
                                   TO 'o.csv' (HEADER false, DELIMITER ';')",
    );
    assert_eq!((out.as_str(), err.as_str(), status), ("", "", 0));
    assert_eq!(fs::read_to_string(dir.path().join("o.csv")).unwrap(), "1;;\"\";\"x;y\"\n");
    for compression in ["none", "snappy", "zstd", "gzip", "lz4"] {
        let sql = format!(
            "COPY (SELECT 1.50 AS d, DATE '2020-01-02' AS t, ARRAY[1, NULL] AS l) \
             TO 't.parquet' (COMPRESSION {compression}); FROM 't.parquet'"
        );
        let (out, err, _) = run_in(dir.path(), &["--format", "ndjson", "-c", &sql]);
        assert_eq!(out, "{\"d\":1.50,\"t\":\"2020-01-02\",\"l\":[1,null]}\n", "{compression}{err}");
    }
    // Onto the file that the query reads.
    let sql = "COPY (SELECT d + 1 AS d FROM 't.parquet') TO 't.parquet'; FROM 't.parquet'";
    assert_eq!(run_in(dir.path(), &["--format", "csv", "-c", sql]).0, "d\n2.50\n");
    // A failure leaves what was there, and nothing else.
    let (_, err, status) =
        copy("COPY (SELECT CAST('x' || d AS INTEGER) AS d FROM 't.parquet') TO 't.parquet'");
    assert!(status == 1 && !err.is_empty());
    assert_eq!(run_in(dir.path(), &["--format", "csv", "-c", "FROM 't.parquet'"]).0, "d\n2.50\n");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    let (_, err, status) = copy("COPY (SELECT 1) TO 'no/x.parquet'");
    assert_eq!(
        (err.as_str(), status),
        ("error: no such file or directory: no/x.parquet\nhint: make the folder no first\n", 1)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn copy_to_standard_output_goes_through_and_replaces_nothing() {
    let (out, err, status) = run(&["-c", "COPY (SELECT 1 AS a) TO '/proc/self/fd/1' (FORMAT csv)"]);
    assert_eq!((out.as_str(), err.as_str(), status), ("a\n1\n", "", 0));
}

#[test]
fn tpch_makes_its_data_and_writes_its_figures() {
    let dir = tempfile::tempdir().unwrap();
    let (out, err, status) = run_in(dir.path(), &["tpch", "--scale", "0.001"]);
    assert_eq!((status, out.lines().count()), (0, 22 + 5), "{out}{err}");
    let data = "data/tpch-sf0.001";
    let args = ["tpch", "run", "--data", data, "--query", "6", "--query", "1"];
    let more = ["--runs", "2", "--threads", "1", "--json", "f.json"];
    let (_, err, status) = run_in(dir.path(), &[&args[..], &more].concat());
    assert_eq!(status, 0, "{err}");
    let figures = fs::read_to_string(dir.path().join("f.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    let first = &figures["queries"][0];
    assert_eq!((first["query"].as_u64(), first["rows"].as_u64()), (Some(6), Some(1)));
    assert!(first["best_seconds"].as_f64() <= first["median_seconds"].as_f64());
    assert_eq!(first["checksum"].as_str().unwrap().len(), 16);
    let args = ["tpch", "generate", "--scale", "0.002", "--out", data];
    let (_, err, status) = run_in(dir.path(), &args);
    assert!(status == 1 && err.contains("another scale than 0.002"), "{err}");
    let (_, err, status) = run_in(dir.path(), &["tpch", "run", "--data", "nothing"]);
    assert!(status == 1 && err.contains("make it with volley tpch generate"), "{err}");
}

/// Of a process that may have less memory than its queries.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_the_system_refuses_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let (_, err, status) = run(&["tpch", "generate", "--scale", "0.1", "--out", data]);
    assert_eq!(status, 0, "{err}");
    let sql = "SELECT count(*) FROM (SELECT l_orderkey, l_linenumber, n_nationkey, \
        max(l_comment) FROM lineitem, nation GROUP BY 1, 2, 3) t";
    let program = env!("CARGO_BIN_EXE_volley");
    let script =
        format!("ulimit -v 900000; exec {program} --threads 2 --data {data} -c \"$SQL\" \"$@\"");
    let run = |limit: &[&str]| {
        let mut shell = Command::new("sh");
        ended(shell.args(["-c", &script, "sh"]).args(limit).env("SQL", sql).stdin(Stdio::null()))
    };
    // Nothing spills: memory ends before the limit.
    let (_, err, status) = run(&["--memory-limit", "100GB"]);
    assert_eq!(status, 1, "{err}");
    assert!(err.contains("no more memory"), "{err}");
    // The default limit is within what the process may have.
    let (out, err, status) = run(&["--format", "csv"]);
    assert_eq!(status, 0, "{err}");
    assert!(out.ends_with("15014300\n"), "{out}");
}
