//! Rows with texts and arrays of kilobytes under a memory limit: the answers are those without one.

use volley::{Result, Session};

const STATEMENTS: [&str; 20] = [
    "SELECT sum(length(t)), max(t) FROM w",
    "SELECT count(*), sum(s), sum(length(t)) FROM (SELECT t, sum(id) AS s FROM w GROUP BY t)",
    "SELECT count(*), sum(length(m)) FROM (SELECT k, max(t) AS m FROM w GROUP BY k)",
    "SELECT count(*), sum(r), sum(length(t)) \
     FROM (SELECT t, row_number() OVER (PARTITION BY p ORDER BY id) AS r FROM w)",
    "SELECT count(*), sum(r), max(t) FROM (SELECT t, sum(id) OVER (PARTITION BY k) AS r FROM w)",
    "SELECT sum(length(t)), max(r * id) \
     FROM (SELECT id, t, row_number() OVER (ORDER BY t) AS r FROM w)",
    "SELECT count(*), sum(length(a.t)), max(b.t) FROM w a JOIN w b ON a.id = b.k",
    "SELECT count(DISTINCT t), count(*) FROM w",
    "SELECT count(*), sum(length(t)) FROM (SELECT t, k FROM w UNION SELECT t, p FROM w)",
    "SELECT sum(length(array_to_string(l, ''))), count(*) \
     FROM (SELECT p, array_agg(t) AS l FROM w GROUP BY p)",
    "SELECT count(*), sum(length(t)), max(id) FROM (SELECT * FROM w ORDER BY t DESC LIMIT 8000)",
    "SELECT count(*), sum(length(t)), max(t) FROM (SELECT DISTINCT ON (k) * FROM w ORDER BY k, id)",
    "SELECT count(*), count(b.t), max(a.t) FROM w a LEFT JOIN w b ON a.id = b.k + 3000",
    "SELECT count(*), count(b.t), max(a.t) FROM w a FULL JOIN w b ON a.t = b.t AND a.k = b.p",
    "SELECT count(*), max(t) FROM w WHERE t NOT IN (SELECT t FROM w WHERE id % 2 = 0)",
    "SELECT count(*), max(t), sum(length(t)) \
     FROM (SELECT t FROM w EXCEPT SELECT t FROM w WHERE id % 3 = 0)",
    "SELECT count(*), sum(length(a.t) + length(b.t)) \
     FROM (SELECT * FROM w WHERE p < 2) a JOIN w b ON a.id < b.id AND a.t <> b.t",
    "WITH s AS (SELECT upper(t) AS u, id FROM w) \
     SELECT count(*), max(u) FROM s WHERE id > (SELECT avg(id) FROM s WHERE length(u) > 3)",
    "SELECT p, max_by(t, id), string_agg(substr(t, 1, 2), '' ORDER BY id) \
     FROM w WHERE p < 5 GROUP BY p ORDER BY p",
    "SELECT count(*), sum(length(x)) FROM (SELECT unnest([t, reverse(t), t || t]) AS x FROM w)",
];

const ARRAY_STATEMENTS: [&str; 7] = [
    "SELECT sum(len(t)), max(t) FROM w",
    "SELECT count(*), sum(s), sum(len(t)) FROM (SELECT t, sum(id) AS s FROM w GROUP BY t)",
    "SELECT count(*), sum(len(m)) FROM (SELECT k, max(t) AS m FROM w GROUP BY k)",
    "SELECT count(*), sum(r), sum(list_sum(t)) \
     FROM (SELECT t, row_number() OVER (PARTITION BY p ORDER BY id) AS r FROM w)",
    "SELECT sum(list_sum(t)), max(r * id) \
     FROM (SELECT id, t, row_number() OVER (ORDER BY t[2] DESC) AS r FROM w)",
    "SELECT count(*), sum(list_sum(a.t)), max(b.t[7]) FROM w a JOIN w b ON a.id = b.k",
    "SELECT count(*), sum(len(t)) FROM (SELECT t, k FROM w UNION SELECT t, p FROM w)",
];

/// Runs statements over a table of `rows` rows, `x` is the number of one, with a wide column `t`.
fn check(wide: &str, rows: usize, limit: &str, statements: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.parquet");
    let path = path.to_str().unwrap();
    let make = format!(
        "COPY (SELECT x AS id, x % 10000 AS k, x % 1000 AS p, {wide} AS t FROM range({rows}) r(x)) \
         TO '{path}'"
    );
    Session::new().unwrap().sql(&make).unwrap().collect_values().unwrap();
    let run = |sql: &str, limit: &str, threads: &str| -> Result<String> {
        let session = Session::new().unwrap();
        session.set("threads", threads).unwrap();
        session.set("memory_limit", limit).unwrap();
        session.register_files("w", path).unwrap();
        let rows = session.sql(sql)?.collect_values()?;
        Ok(format!("{rows:?}"))
    };
    let mut failures = Vec::new();
    for sql in statements {
        let expected = run(sql, "8GiB", "2").unwrap();
        for threads in ["1", "2"] {
            match run(sql, limit, threads) {
                Ok(rows) => assert_eq!(rows, expected, "{sql}"),
                Err(error) => failures.push(format!("{threads} threads: {sql}: {error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn wide_texts_spill() {
    check("repeat(md5(CAST(x AS VARCHAR)), 300)", 12_000, "64MiB", &STATEMENTS);
}

#[test]
fn wide_arrays_spill() {
    check("range(x, x + 600)", 14_000, "64MiB", &ARRAY_STATEMENTS);
}
