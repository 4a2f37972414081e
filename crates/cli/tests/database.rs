//! Databases in folders as users of the command see them: several processes, damage, kills.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

/// Standard output, standard error, exit status.
type Ran = (String, String, i32);

fn volley() -> Command {
    Command::new(env!("CARGO_BIN_EXE_volley"))
}

fn run(args: &[&str]) -> Ran {
    let output = volley().args(args).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap_or(-1))
}

/// Runs statements on a database; all of them succeed.
fn sql(database: &str, statements: &str) -> String {
    let (out, err, status) = run(&[database, "--format", "csv", "-c", statements]);
    assert_eq!(status, 0, "{statements}: {err}");
    out
}

fn folder() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sales").to_str().unwrap().to_owned();
    (dir, path)
}

/// A process that reads statements from a pipe.
struct Shell {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start(args: &[&str]) -> Shell {
        let mut command = volley();
        command.args(args).args(["--format", "csv", "--keep-going"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Shell { process, input, output }
    }

    fn send(&mut self, statements: &str) {
        writeln!(self.input, "{statements}").unwrap();
        self.input.flush().unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The single value of a query.
    fn value(&mut self, query: &str) -> String {
        self.send(query);
        self.line();
        self.line()
    }

    /// Waits until all statements before have been run.
    fn wait(&mut self) {
        assert_eq!(self.value("SELECT 'reached' AS a;"), "reached");
    }

    /// Ends the process; what it said of errors.
    fn end(self) -> String {
        drop(self.input);
        let output = self.process.wait_with_output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn a_folder_is_the_default_database() {
    let (dir, path) = folder();
    sql(&path, "CREATE TABLE items AS SELECT range AS id FROM range(100)");
    assert_eq!(sql(&format!("{path}/"), "SELECT sum(id) AS s FROM sales.items"), "s\n4950\n");
    // The name of a subcommand is no folder, unless it is a path.
    let run_here = |args: &[&str]| {
        let output = volley().current_dir(dir.path()).args(args).stdin(Stdio::null()).output();
        output.unwrap()
    };
    assert!(run_here(&["./tpch", "-c", "CREATE TABLE t (a INTEGER)"]).status.success());
    assert!(dir.path().join("tpch/CURRENT").is_file());
    assert_eq!(run_here(&["tpch", "-c", "SELECT 1"]).status.code(), Some(2));
    let (_, err, status) = run(&[&path, "check", &path]);
    assert!(status == 2 && err.contains("before a subcommand"), "{err}");
    // A folder of files is not made a database: its files are tables.
    fs::create_dir(dir.path().join("files")).unwrap();
    fs::write(dir.path().join("files/a.csv"), "a\n1\n").unwrap();
    let files = dir.path().join("files");
    assert_eq!(sql(files.to_str().unwrap(), "SELECT sum(a) AS s FROM a"), "s\n1\n");
    assert_eq!(fs::read_dir(files).unwrap().count(), 1);
}

#[test]
fn a_reader_creates_nothing() {
    let (_dir, path) = folder();
    let (_, err, status) = run(&[&path, "--read-only", "-c", "SELECT 1"]);
    assert!(status == 1 && err.contains(&path), "{err}");
    assert!(!Path::new(&path).exists());
    sql(&path, "CREATE TABLE items (id INTEGER)");
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()).collect();
        names.sort();
        names
    };
    let before = names();
    let (_, err, status) = run(&[&path, "--read-only", "-c", "INSERT INTO items VALUES (1)"]);
    assert!(status == 1 && err.contains("read only"), "{err}");
    assert_eq!(names(), before);
    let attach = format!("ATTACH '{path}' AS s (READ_ONLY); SELECT count(*) AS n FROM s.items");
    let (out, err, status) = run(&["--format", "csv", "-c", &attach]);
    assert_eq!((out.as_str(), status), ("n\n0\n", 0), "{err}");
}

#[test]
fn readers_see_each_commit_of_a_writer_and_never_a_part_of_one() {
    let (_dir, path) = folder();
    let mut writer = Shell::start(&[&path]);
    writer.send("CREATE TABLE items (id INTEGER, batch INTEGER);");
    writer.wait();
    let mut readers =
        [Shell::start(&[&path, "--read-only"]), Shell::start(&[&path, "--read-only"])];
    let count = "SELECT count(*) || ' ' || count(DISTINCT batch) AS n FROM items;";
    for batch in 0..30 {
        let rows = 10 + batch;
        writer.send("BEGIN;");
        writer.send(&format!("INSERT INTO items SELECT range, {batch} FROM range({rows});"));
        writer.wait();
        // A transaction that is not committed is invisible, and blocks no reader.
        let before: i32 = (0..batch).map(|it| 10 + it).sum();
        for reader in &mut readers {
            assert_eq!(reader.value(count), format!("{before} {batch}"));
        }
        writer.send("COMMIT;");
        match batch % 4 {
            1 => writer.send("CHECKPOINT;"),
            2 => writer.send("VACUUM items;"),
            _ => {}
        }
        writer.wait();
        for reader in &mut readers {
            assert_eq!(reader.value(count), format!("{} {}", before + rows, batch + 1));
        }
    }
    // A reader's transaction sees one state, whatever the writer does meanwhile.
    let [reader, other] = &mut readers;
    reader.send("BEGIN;");
    let seen = reader.value(count);
    writer.send("DELETE FROM items WHERE batch % 2 = 0; VACUUM; CHECKPOINT; CHECKPOINT;");
    writer.send("DROP TABLE items; CREATE TABLE items AS SELECT 1 AS id, 1 AS batch; CHECKPOINT;");
    writer.wait();
    assert_eq!(reader.value(count), seen);
    assert_eq!(other.value(count), "1 1");
    reader.send("COMMIT;");
    assert_eq!(reader.value(count), "1 1");
    // The writer may end, and another one begin.
    assert_eq!(writer.end(), "");
    assert_eq!(reader.value(count), "1 1");
    sql(&path, "INSERT INTO items VALUES (2, 2)");
    assert_eq!(reader.value(count), "2 2");
    for reader in readers {
        assert_eq!(reader.end(), "");
    }
}

#[test]
fn results_are_flushed_before_the_next_statement_is_read() {
    let mut shell = Shell::start(&[]);
    for number in 0..20 {
        assert_eq!(shell.value(&format!("SELECT {number} AS a;")), number.to_string());
    }
    assert_eq!(shell.end(), "");
}

#[test]
fn a_second_writer_is_told_who_the_first_is_and_a_killed_one_leaves_no_lock() {
    let (_dir, path) = folder();
    let mut first = Shell::start(&[&path]);
    first.send("CREATE TABLE items AS SELECT 1 AS id;");
    first.wait();
    let (_, err, status) = run(&[&path, "-c", "SELECT 1"]);
    assert_eq!(status, 1);
    let process = format!("process {}", first.process.id());
    for part in ["open for writing already", &process, &path, "READ_ONLY"] {
        assert!(err.contains(part), "{part} in {err}");
    }
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    assert_eq!(sql(&path, "SELECT count(*) AS n FROM items"), "n\n1\n");
}

/// The files of a folder of a database.
fn files(path: &str, folder: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(Path::new(path).join(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

/// Changes one bit of a file.
fn damage(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 16;
    fs::write(file, bytes).unwrap();
}

#[test]
fn damage_is_found_named_and_salvaged() {
    let (dir, path) = folder();
    let rows = 200_000;
    sql(
        &path,
        &format!(
            "CREATE SCHEMA s; CREATE TYPE mood AS ENUM ('sad', 'glad');
             CREATE TABLE items (id INTEGER NOT NULL, note VARCHAR, m mood);
             INSERT INTO items SELECT range, 'note ' || range, 'sad' FROM range({rows});
             CREATE TABLE s.small AS SELECT 1 AS a; CREATE VIEW v AS FROM s.small;
             CREATE SEQUENCE q START 5"
        ),
    );
    let (out, err, status) = run(&["check", &path]);
    assert!(status == 0 && out.contains("nothing is wrong"), "{out}{err}");
    let whole = dir.path().join("whole");
    let (out, err, status) = run(&["salvage", &path, "--out", whole.to_str().unwrap()]);
    assert!(status == 0 && out.contains("items: 200000 rows saved, 0 lost"), "{out}{err}");
    let count = "SELECT count(*) AS n, count(note) AS t, sum(id) AS s FROM items";
    assert_eq!(sql(whole.to_str().unwrap(), count), sql(&path, count));
    assert_eq!(sql(whole.to_str().unwrap(), "FROM v"), "a\n1\n");
    assert_eq!(sql(whole.to_str().unwrap(), "SELECT nextval('q') AS n"), "n\n5\n");
    // One bit in the largest file of rows.
    let data = files(&path, "data");
    let largest = data.iter().max_by_key(|it| fs::metadata(it).unwrap().len()).unwrap();
    let bytes = fs::metadata(largest).unwrap().len() as usize;
    damage(largest, bytes / 2);
    let (out, err, status) = run(&["check", &path]);
    assert_eq!(status, 1, "{out}{err}");
    let name = largest.file_name().unwrap().to_str().unwrap();
    assert!(out.contains("damaged block") && out.contains(name), "{out}");
    assert!(err.contains("volley salvage"), "{err}");
    let saved = dir.path().join("saved");
    let (out, err, status) = run(&["salvage", &path, "--out", saved.to_str().unwrap()]);
    assert_eq!(status, 1, "{out}{err}");
    assert!(out.contains("damaged block"), "{out}");
    // Rows without a note, or fewer rows; the others are as they were.
    let found = sql(
        saved.to_str().unwrap(),
        "SELECT (count(*) = 200000 AND count(note) < 200000 OR count(*) < 200000) AND
             count(*) > 50000 AND count(*) FILTER (note <> 'note ' || id) = 0 AS ok FROM items",
    );
    assert_eq!(found, "ok\ntrue\n");
    let (_, err, status) = run(&["salvage", &path, "--out", saved.to_str().unwrap()]);
    assert!(status == 1 && err.contains("there is a database already"), "{err}");
}

#[test]
fn bad_files_are_named_with_what_to_do() {
    let (_dir, path) = folder();
    let attempt = |args: &[&str]| {
        let (_, err, status) = run(args);
        assert_eq!(status, 1, "{err}");
        err
    };
    sql(&path, "CREATE TABLE items AS SELECT range AS id FROM range(1000)");
    let current = Path::new(&path).join("CURRENT");
    let text = fs::read(&current).unwrap();
    let manifest = files(&path, "manifest").pop().unwrap();
    let bytes = fs::read(&manifest).unwrap();
    for (file, content, expected) in [
        (&current, &b"volley database 9\nmanifest 1\n"[..], "newer version"),
        (&current, &b"something else"[..], "not a database"),
        (&manifest, &bytes[..bytes.len() / 2], "damaged manifest"),
        (&manifest, &b""[..], "damaged manifest"),
    ] {
        let before = fs::read(file).unwrap();
        fs::write(file, content).unwrap();
        for args in
            [vec![&path[..], "-c", "SELECT 1"], vec![&path, "--read-only", "-c", "SELECT 1"]]
        {
            let err = attempt(&args);
            assert!(err.contains(expected) && err.contains(&path), "{expected}: {err}");
        }
        let (out, err, status) = run(&["check", &path]);
        assert!(status == 1 && format!("{out}{err}").contains(expected), "{out}{err}");
        fs::write(file, before).unwrap();
    }
    // A newer minor version, with a right checksum.
    let mut newer = bytes.clone();
    newer[5] = 7;
    let content = newer.len() - 8;
    let sum = twox_hash::XxHash3_64::oneshot(&newer[..content]);
    newer[content..].copy_from_slice(&sum.to_le_bytes());
    fs::write(&manifest, newer).unwrap();
    let err = attempt(&[&path, "-c", "SELECT 1"]);
    assert!(err.contains("format 1.7") && err.contains("newer version of volley"), "{err}");
    fs::write(&manifest, &bytes).unwrap();
    fs::write(&current, &text).unwrap();
    assert_eq!(sql(&path, "SELECT count(*) AS n FROM items"), "n\n1000\n");
    // A file that is cut, and files that are missing.
    let sum = [&path[..], "-c", "SELECT sum(id) FROM items"];
    for file in files(&path, "data") {
        let rows = fs::read(&file).unwrap();
        fs::write(&file, &rows[..rows.len() / 2]).unwrap();
        let err = attempt(&sum);
        assert!(err.contains("damaged block: the file ends before it"), "{err}");
        assert!(err.contains("data/") && err.contains("volley salvage"), "{err}");
        fs::remove_file(&file).unwrap();
        let err = attempt(&sum);
        assert!(err.contains("a file of the database is missing"), "{err}");
        assert!(err.contains("data/") && err.contains("volley salvage"), "{err}");
        fs::write(&file, rows).unwrap();
    }
    assert!(sql(&path, "SELECT count(*) AS n FROM items").contains("1000"));
    for file in [&manifest, &current] {
        let bytes = fs::read(file).unwrap();
        fs::remove_file(file).unwrap();
        let err = attempt(&sum);
        assert!(err.contains("missing") && err.contains("volley salvage"), "{err}");
        assert!(err.contains(file.file_name().unwrap().to_str().unwrap()), "{err}");
        fs::write(file, bytes).unwrap();
    }
    // Nothing was changed or removed.
    assert!(sql(&path, "SELECT count(*) AS n FROM items").contains("1000"));
    // A file in place of the folder.
    let file = Path::new(&path).join("LOCK");
    let err = attempt(&[file.to_str().unwrap(), "-c", "SELECT 1"]);
    assert!(err.contains("LOCK"), "{err}");
}

#[test]
fn a_database_is_exported_and_imported() {
    let (dir, path) = folder();
    sql(
        &path,
        "CREATE SCHEMA s; CREATE SEQUENCE q START 3; CREATE TYPE mood AS ENUM ('sad', 'glad');
         CREATE MACRO twice(x) AS x * 2;
         CREATE TABLE items (id INTEGER PRIMARY KEY DEFAULT nextval('q'), note VARCHAR NOT NULL,
             m mood, double_id INTEGER GENERATED ALWAYS AS (id * 2), CHECK (id > 0));
         INSERT INTO items (note, m) VALUES ('it''s, \"one\"', 'sad'), ('two', NULL);
         CREATE TABLE s.\"Odd Name\" AS SELECT [1, 2] AS l, {'a': 1} AS r, DATE '2024-02-29' AS d;
         CREATE VIEW z_view AS FROM items; CREATE VIEW a_view AS SELECT twice(id) AS t FROM z_view;
         COMMENT ON TABLE items IS 'all of them'",
    );
    for format in ["parquet", "csv"] {
        let out = dir.path().join(format!("out {format}"));
        let out = out.to_str().unwrap();
        sql(&path, &format!("EXPORT DATABASE '{out}' (FORMAT {format})"));
        let (_, err, status) = run(&[&path, "-c", &format!("EXPORT DATABASE '{out}'")]);
        assert!(status == 1 && err.contains("exported database already"), "{err}");
        let moved = dir.path().join(format!("moved {format}"));
        fs::rename(out, &moved).unwrap();
        let new = dir.path().join(format!("new_{format}"));
        let new = new.to_str().unwrap();
        sql(new, &format!("IMPORT DATABASE '{}'", moved.to_str().unwrap()));
        for query in [
            "FROM items ORDER BY id",
            "FROM a_view ORDER BY t",
            "SHOW CREATE TABLE items",
            "SELECT l, d FROM s.\"Odd Name\"",
            "SELECT table_comment AS c FROM information_schema.tables WHERE table_name = 'items'",
        ] {
            assert_eq!(sql(new, query), sql(&path, query), "{query}");
        }
        assert_eq!(sql(new, "SELECT nextval('q') AS n"), "n\n5\n");
        let (_, err, status) =
            run(&[new, "-c", "INSERT INTO items (id, note) VALUES (3, 'again')"]);
        assert!(status == 1 && err.contains("PRIMARY KEY"), "{err}");
        // An import that fails leaves nothing.
        let half = dir.path().join(format!("half_{format}"));
        fs::remove_file(moved.join(format!("items.{format}"))).unwrap();
        let import = format!("IMPORT DATABASE '{}'", moved.to_str().unwrap());
        let (_, err, status) = run(&[half.to_str().unwrap(), "-c", &import]);
        assert!(status == 1 && err.contains("items"), "{err}");
        assert_eq!(sql(half.to_str().unwrap(), "SHOW TABLES"), "name,kind\n");
    }
}

#[test]
fn foreign_keys_survive_export_and_import() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("exported");
    let out = out.to_str().unwrap();
    // Tables whose keys reference each other, rows that reference others of their table, and names
    // that are imported in another order than they were made.
    let make =
        "CREATE TABLE z_parent (id INTEGER PRIMARY KEY, a INTEGER, b VARCHAR, UNIQUE (a, b));
        CREATE TABLE a_child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES z_parent (id),
            up INTEGER REFERENCES a_child (id), a INTEGER, b VARCHAR,
            FOREIGN KEY (a, b) REFERENCES z_parent (a, b));
        ALTER TABLE z_parent ADD COLUMN favorite INTEGER;
        INSERT INTO z_parent VALUES (1, 1, 'x', NULL), (2, 2, 'y', NULL);
        INSERT INTO a_child VALUES (10, 1, 11, 1, 'x'), (11, NULL, NULL, 2, 'y');
        ALTER TABLE z_parent ADD FOREIGN KEY (favorite) REFERENCES a_child (id);
        UPDATE z_parent SET favorite = 11 WHERE id = 1;";
    let keys = "SELECT table_name, constraint_column_names, referenced_table,
        referenced_column_names FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY'
        ORDER BY ALL;";
    let rows = "FROM z_parent ORDER BY id; FROM a_child ORDER BY id;";
    let run_csv = |statements: &str| run(&["--format", "csv", "-c", statements]);
    let (expected, err, status) = run_csv(&format!("{make} {keys} {rows}"));
    assert_eq!(status, 0, "{err}");
    assert_eq!(expected.matches("z_parent").count() + expected.matches("a_child").count(), 8);
    for format in ["parquet", "csv"] {
        let (_, err, status) =
            run_csv(&format!("{make} EXPORT DATABASE '{out}_{format}' (FORMAT {format})"));
        assert_eq!(status, 0, "{err}");
        let import = format!("IMPORT DATABASE '{out}_{format}';");
        let (found, err, status) = run_csv(&format!("{import} {keys} {rows}"));
        assert_eq!((status, found.as_str()), (0, expected.as_str()), "{err}");
        for wrong in [
            "INSERT INTO a_child VALUES (12, 3, NULL, NULL, NULL)",
            "INSERT INTO a_child VALUES (12, NULL, NULL, 1, 'y')",
            "UPDATE z_parent SET favorite = 99",
            "DELETE FROM a_child WHERE id = 11",
            "DELETE FROM z_parent WHERE id = 2",
        ] {
            let (_, err, status) = run_csv(&format!("{import} {wrong}"));
            assert!(status == 1 && err.contains("foreign key"), "{wrong}: {err}");
        }
    }
}

#[test]
fn maintenance_succeeds_everywhere_and_shows_what_is_stored() {
    let (_dir, path) = folder();
    let statements = "CREATE TABLE items AS SELECT range AS id, 'n' AS t FROM range(300000);
        DELETE FROM items WHERE id % 3 = 0; CHECKPOINT; VACUUM; VACUUM ANALYZE items; ANALYZE;
        ANALYZE items; CHECKPOINT memory; VACUUM items; CHECKPOINT";
    run(&["-c", &statements.replace("memory", "temp")]);
    let (_, err, status) = run(&["-c", statements]);
    assert_eq!(status, 0, "{err}");
    sql(&path, statements);
    let found = sql(
        &path,
        "SELECT sum(rows) AS n, count(DISTINCT column_name) AS c, bool_and(bytes > 0) AS b,
             bool_and(zones > 0) AS z, min(codec) IS NOT NULL AS k, max(changed_rows) AS d
         FROM storage_info('items') WHERE block_id IS NOT NULL",
    );
    assert_eq!(found, "n,c,b,z,k,d\n400000,2,true,true,true,0\n");
    let found = sql(&path, "SELECT count(*) AS n FROM (FROM storage_info('sales.items'))");
    assert_ne!(found, "n\n0\n");
    let (out, err, status) = run(&[&path, "--format", "csv", "-c", "PRAGMA database_size"]);
    assert!(status == 0 && out.contains("sales,"), "{out}{err}");
    let (_, err, status) = run(&[&path, "-c", "FROM storage_info('nothing')"]);
    assert!(status == 1 && err.contains("no such table"), "{err}");
    let (_, err, status) = run(&[&path, "--read-only", "-c", "CHECKPOINT"]);
    assert!(status == 1 && err.contains("read only"), "{err}");
}

#[test]
fn tpch_is_loaded_and_run_on_a_database() {
    let (dir, path) = folder();
    let (_, err, status) = run(&["tpch", "load", "--scale", "0.01", "--database", &path]);
    assert_eq!(status, 0, "{err}");
    let files = dir.path().join("files");
    let files = files.to_str().unwrap();
    let (_, err, status) = run(&["tpch", "generate", "--scale", "0.01", "--out", files]);
    assert_eq!(status, 0, "{err}");
    let checksums = |place: &[&str]| {
        let json = dir.path().join("run.json");
        let mut args = vec!["tpch", "run"];
        args.extend(place);
        args.extend(["--json", json.to_str().unwrap()]);
        let (_, err, status) = run(&args);
        assert_eq!(status, 0, "{err}");
        let text = fs::read_to_string(json).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let queries = report["queries"].as_array().unwrap().clone();
        let of_query = |it: &serde_json::Value| (it["query"].clone(), it["checksum"].clone());
        queries.iter().map(of_query).collect::<Vec<_>>()
    };
    let of_files = checksums(&["--data", files]);
    assert_eq!(of_files.len(), 22);
    assert_eq!(checksums(&["--database", &path]), of_files);
    let (_, err, status) = run(&["tpch", "load", "--scale", "0.01", "--database", &path]);
    assert!(status == 1 && err.contains("lineitem"), "{err}");
    let (_, err, status) = run(&["tpch", "run", "--database", "nothing"]);
    assert!(status == 1 && err.contains("volley tpch load"), "{err}");
    let (_, _, status) = run(&["tpch", "run"]);
    assert_eq!(status, 2);
}
