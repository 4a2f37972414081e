//! Measures how long queries take to stop: cancels each many times at random moments.
//!
//! ```text
//! cargo run --release -p volley --example cancel_latency -- data/tpch-sf1 [repetitions [part]]
//! ```
//!
//! `part`: only the queries whose name contains it. Prints per query the longest and the median
//! time in milliseconds from the request to the moment when nothing of the query runs any more,
//! and how long it then takes at most until its memory is given back.

use std::{
    env, thread,
    time::{Duration, Instant},
};
use volley::{Result, Session};

/// Name and text; `{out}` stands for a file to write.
const QUERIES: [(&str, &str); 37] = [
    ("scan", "SELECT count(*) FROM lineitem WHERE l_comment = 'x' AND l_quantity > 100"),
    ("scan all", "SELECT * FROM lineitem"),
    ("like", "SELECT count(*) FROM lineitem WHERE l_comment LIKE '%a%e%i%o%u%x%y%z%'"),
    (
        "like long",
        "SELECT count(*) FROM orders o, region WHERE repeat(o_comment || r_comment, 40) \
        LIKE '%fox%jumps%over%the%lazy%dog%'",
    ),
    ("regexp", "SELECT count(*) FROM lineitem WHERE regexp_like(l_comment, '(a|b)*c.*d.*e$')"),
    ("string grow", "SELECT max(length(repeat(l_comment, 1000))) FROM lineitem"),
    ("aggregation", "SELECT l_orderkey, l_partkey, sum(l_quantity) FROM lineitem GROUP BY ALL"),
    ("aggregation text", "SELECT l_comment, count(*) FROM lineitem GROUP BY 1"),
    (
        "count distinct",
        "SELECT count(DISTINCT l_comment), count(DISTINCT l_orderkey) FROM lineitem",
    ),
    ("group distinct", "SELECT l_suppkey, count(DISTINCT l_orderkey) FROM lineitem GROUP BY 1"),
    ("string_agg", "SELECT string_agg(l_comment, ',') FROM lineitem"),
    ("string_agg many", "SELECT l_orderkey, string_agg(l_comment, ',') FROM lineitem GROUP BY 1"),
    ("max text many", "SELECT l_orderkey, l_partkey, max(l_comment) FROM lineitem GROUP BY ALL"),
    ("approx many", "SELECT l_orderkey, approx_distinct(l_comment) FROM lineitem GROUP BY 1"),
    ("array_agg", "SELECT l_suppkey, array_agg(l_comment) FROM lineitem GROUP BY 1"),
    ("array_agg one", "SELECT array_agg(l_orderkey) FROM lineitem"),
    (
        "array_agg many",
        "SELECT l_orderkey, l_partkey, array_agg(l_comment) FROM lineitem GROUP BY ALL",
    ),
    (
        "array_agg sorted",
        "SELECT l_suppkey, array_agg(l_comment ORDER BY l_orderkey DESC) FROM lineitem GROUP BY 1",
    ),
    ("distinct", "SELECT DISTINCT l_orderkey, l_linenumber, l_comment FROM lineitem"),
    ("sort", "SELECT * FROM lineitem ORDER BY l_extendedprice, l_comment"),
    ("sort text", "SELECT l_comment FROM lineitem ORDER BY l_comment DESC"),
    ("top n", "SELECT * FROM lineitem ORDER BY l_comment LIMIT 1000000"),
    (
        "hash join",
        "SELECT count(*), max(p.l_comment) FROM lineitem p JOIN lineitem b \
        ON p.l_orderkey = b.l_orderkey AND p.l_linenumber = b.l_linenumber",
    ),
    (
        "hash join many",
        "SELECT count(*) FROM lineitem a JOIN lineitem b \
        ON a.l_linenumber = b.l_linenumber",
    ),
    (
        "hash join one key",
        "SELECT count(*) FROM lineitem a JOIN lineitem b \
        ON a.l_linestatus = b.l_linestatus AND a.l_comment || b.l_comment = 'x'",
    ),
    (
        "full join",
        "SELECT count(*) FROM lineitem a FULL JOIN orders b ON a.l_comment = b.o_comment",
    ),
    ("nested loop", "SELECT count(*) FROM orders a JOIN orders b ON a.o_totalprice < b.o_custkey"),
    ("cross", "SELECT count(*), max(a.o_comment || b.o_comment) FROM orders a, orders b"),
    (
        "intersect",
        "SELECT l_comment, l_orderkey FROM lineitem INTERSECT ALL \
        SELECT o_comment, o_orderkey FROM orders",
    ),
    (
        "intersect wide",
        "SELECT * FROM lineitem INTERSECT SELECT * FROM lineitem WHERE l_tax > 0.01",
    ),
    ("except", "SELECT * FROM lineitem EXCEPT SELECT * FROM lineitem WHERE l_tax > 0.01"),
    (
        "union all",
        "SELECT l_comment FROM lineitem UNION ALL SELECT o_comment FROM orders \
        UNION ALL SELECT l_shipinstruct FROM lineitem UNION ALL SELECT o_clerk FROM orders",
    ),
    (
        "union",
        "SELECT l_comment FROM lineitem UNION SELECT o_comment FROM orders \
        UNION SELECT l_shipinstruct FROM lineitem UNION SELECT o_clerk FROM orders",
    ),
    ("create", "CREATE TABLE t AS SELECT * FROM lineitem"),
    ("copy parquet", "COPY (SELECT * FROM lineitem) TO '{out}.parquet'"),
    ("copy csv", "COPY (SELECT * FROM lineitem) TO '{out}.csv'"),
    ("copy sorted", "COPY (SELECT * FROM lineitem ORDER BY l_comment) TO '{out}.parquet'"),
];

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let data = arguments.next().unwrap_or_else(|| "data/tpch-sf1".to_owned());
    let repetitions = arguments.next().and_then(|it| it.parse().ok()).unwrap_or(20);
    let part = arguments.next().unwrap_or_default();
    let session = Session::new()?;
    session.set("threads", "2")?;
    for table in ["lineitem", "orders", "region", "part", "customer"] {
        session.register_files(table, &format!("{data}/{table}.parquet"))?;
    }
    for (name, sql) in QUERIES.iter().filter(|it| it.0.contains(&part)) {
        measure(&session, name, sql, repetitions)?;
    }
    Ok(())
}

fn measure(session: &Session, name: &str, sql: &str, repetitions: u32) -> Result<()> {
    let out = env::temp_dir().join("volley_cancel_latency");
    let sql = sql.replace("{out}", &out.to_string_lossy());
    let before = session.pool().stats().bytes;
    // A first run says how long the query takes, at most this long.
    let (took, _) = run(session, &sql, Duration::from_secs(10));
    let mut latencies: Vec<(Duration, Duration)> = Vec::new();
    for repetition in 0..repetitions {
        // Spread evenly over the run, so that each part of it is hit.
        let delay = took.mul_f64((f64::from(repetition) + 0.5) / f64::from(repetitions));
        latencies.extend(run(session, &sql, delay).1.map(|it| (it, delay)));
        let _ = session.sql("DROP TABLE IF EXISTS t");
        session.wait_released();
        let held = session.pool().stats().bytes;
        assert!(held == before, "{name}: {held} bytes are held after the query, {before} before");
    }
    latencies.sort_unstable();
    let (worst, at) = latencies.last().copied().unwrap_or_default();
    let median = latencies.get(latencies.len() / 2).copied().unwrap_or_default().0;
    println!(
        "{name:20} ran {:6.0} ms, cancelled {:3} times: median {:6.1} ms, longest {:6.1} ms at {:6.0} ms",
        took.as_secs_f64() * 1e3,
        latencies.len(),
        median.as_secs_f64() * 1e3,
        worst.as_secs_f64() * 1e3,
        at.as_secs_f64() * 1e3,
    );
    Ok(())
}

/// Runs `sql` and cancels it after `delay`; how long it ran, and how long it took to stop, if it
/// was cancelled.
fn run(session: &Session, sql: &str, delay: Duration) -> (Duration, Option<Duration>) {
    let start = Instant::now();
    thread::scope(|scope| {
        let query = scope.spawn(|| {
            let failed = drain(session, sql).err();
            (Instant::now(), failed)
        });
        while start.elapsed() < delay && !query.is_finished() {
            thread::sleep(Duration::from_micros(200));
        }
        let cancelled = Instant::now();
        session.cancel();
        let (end, error) = query.join().unwrap_or((cancelled, None));
        if let Some(error) = &error
            && error.kind() != volley::ErrorKind::Cancelled
        {
            println!("{error}");
        }
        (end - start, error.map(|_| end.saturating_duration_since(cancelled)))
    })
}

fn drain(session: &Session, sql: &str) -> Result<()> {
    let mut rows = session.sql(sql)?;
    while rows.next()?.is_some() {}
    Ok(())
}
