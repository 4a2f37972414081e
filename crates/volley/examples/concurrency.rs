//! Measures a short query next to a heavy one, compared with the short query alone.
//!
//! ```text
//! cargo run --release -p volley --example concurrency -- data/tpch-sf1
//! ```
//!
//! The short query groups a million rows in memory. The heavy ones run again and again, one at a
//! time, in another thread of the same session.

use std::{
    env,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use volley::{Result, Session};

const SHORT: &str = "SELECT count(*), max(s) FROM \
    (SELECT k % 10000 AS g, sum(q) AS s FROM million GROUP BY 1) t";

/// Name and text.
const HEAVY: [(&str, &str); 5] = [
    ("scan", "SELECT count(*) FROM lineitem WHERE l_comment LIKE '%a%e%i%o%u%'"),
    (
        "sort",
        "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY l_comment) AS r FROM lineitem) t",
    ),
    (
        "join",
        "SELECT count(*), max(p.l_comment) FROM lineitem p JOIN lineitem b \
            ON p.l_orderkey = b.l_orderkey AND p.l_linenumber = b.l_linenumber",
    ),
    ("groups", "SELECT count(*) FROM (SELECT l_comment, count(*) FROM lineitem GROUP BY 1) t"),
    ("cross", "SELECT count(*) FROM orders a JOIN orders b ON a.o_totalprice < b.o_custkey"),
];

const RUNS: usize = 30;

fn main() -> Result<()> {
    let data = env::args().nth(1).unwrap_or_else(|| "data/tpch-sf1".to_owned());
    let session = Session::new()?;
    session.set("threads", "2")?;
    for table in ["lineitem", "orders"] {
        session.register_files(table, &format!("{data}/{table}.parquet"))?;
    }
    session.sql(
        "CREATE TABLE million AS \
            SELECT l_orderkey AS k, l_quantity AS q FROM lineitem LIMIT 1000000",
    )?;
    short_runs(&session, "normal")?;
    let alone = short_runs(&session, "normal")?;
    println!("alone: median {:.1} ms, longest {:.1} ms", millis(alone.0), millis(alone.1));
    for (name, sql) in HEAVY {
        for priority in ["normal", "high"] {
            let beside = beside(&session, sql, priority)?;
            println!(
                "beside {name:6} at priority {priority:6}: median {:6.1} ms ({:.2} times), \
                 longest {:6.1} ms",
                millis(beside.0),
                beside.0.as_secs_f64() / alone.0.as_secs_f64(),
                millis(beside.1),
            );
        }
    }
    Ok(())
}

/// The short query at a priority while the heavy one runs.
fn beside(session: &Session, heavy: &str, priority: &str) -> Result<(Duration, Duration)> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let hog = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Cancelled at the end.
                let _ = run(session, heavy, "normal");
            }
        });
        thread::sleep(Duration::from_millis(200));
        let times = short_runs(session, priority);
        done.store(true, Ordering::Relaxed);
        session.cancel();
        let _ = hog.join();
        times
    })
}

/// Median and longest time of the short query.
fn short_runs(session: &Session, priority: &str) -> Result<(Duration, Duration)> {
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        run(session, SHORT, priority)?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok((times[RUNS / 2], times[RUNS - 1]))
}

fn run(session: &Session, sql: &str, priority: &str) -> Result<()> {
    // It is that of queries that start from now on.
    session.set("query_priority", priority)?;
    let rows = session.sql(sql);
    session.set("query_priority", "normal")?;
    rows?.collect().map(drop)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
