//! How well the progress of statements predicts their remaining time.
//!
//! ```text
//! cargo run --release -p volley --example progress -- data/tpch-sf1
//! ```
//!
//! Runs the 22 queries of TPC-H and 10 statements that write. A thread asks for the progress of
//! each every millisecond. Of the first answers from 10, 25 and 50 % on, the estimated remaining
//! time is compared with the real one. Prints each statement and the share of estimates that are
//! within 2 times of the truth; fails if an answer goes back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use volley::{Error, Outcome, Result, Session};

/// Where estimates are sampled, as shares that are done.
const MOMENTS: [f64; 3] = [0.10, 0.25, 0.50];

/// An estimate further from the truth is wrong.
const FACTOR_MAX: f64 = 2.0;

/// Statements that end sooner need no progress: the shell shows it after half a second.
const LEAST: Duration = Duration::from_millis(100);

/// Between two questions.
const INTERVAL: Duration = Duration::from_millis(1);

const TABLES: [&str; 8] =
    ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];

/// The ten writes; `{out}` is a folder.
const WRITES: [&str; 10] = [
    "COPY lineitem TO '{out}/lineitem.parquet'",
    "COPY lineitem TO '{out}/lineitem.csv'",
    "COPY (SELECT * FROM lineitem ORDER BY l_shipdate) TO '{out}/sorted.parquet'",
    "COPY (SELECT l_orderkey, sum(l_quantity) FROM lineitem GROUP BY 1) TO '{out}/sums.parquet'",
    "COPY (SELECT * FROM orders JOIN customer ON o_custkey = c_custkey) TO '{out}/joined.csv'",
    "CREATE TABLE copied AS SELECT * FROM lineitem",
    "CREATE TABLE sorted AS SELECT * FROM orders ORDER BY o_totalprice",
    "CREATE TABLE counted AS SELECT l_partkey, count(*) AS n FROM lineitem GROUP BY 1",
    "INSERT INTO copied SELECT * FROM lineitem WHERE l_quantity > 25",
    "COPY copied TO '{out}/copied.parquet'",
];

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "data/tpch-sf1".to_owned());
    let out = std::env::temp_dir().join(format!("volley-progress-{}", std::process::id()));
    let out = out.to_string_lossy().into_owned();
    std::fs::create_dir_all(&out).map_err(|it| Error::io(&out, it))?;
    let session = Arc::new(Session::new()?);
    for table in TABLES {
        session.register_files(table, &format!("{folder}/{table}.parquet"))?;
    }
    let queries = volley_tpch::QUERIES.iter().zip(1..).map(|(sql, it)| (format!("Q{it}"), *sql));
    let writes = WRITES.iter().zip(1..).map(|(sql, it)| (format!("W{it}"), *sql));
    let (mut good, mut all) = (0, 0);
    for (name, sql) in queries.chain(writes) {
        let (time, samples) = run(&session, &sql.replace("{out}", &out))?;
        let is_long = time >= LEAST;
        let factors = samples.map(|it| it.map(|(at, remaining)| factor(time, at, remaining)));
        let shown = factors.map(|it| it.map_or("    -".to_owned(), |it| format!("{it:5.2}")));
        println!("{name:>4} {:8.3} s  {}", time.as_secs_f64(), shown.join("  "));
        for factor in factors.into_iter().flatten().filter(|_| is_long) {
            all += 1;
            good += usize::from((1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&factor));
        }
    }
    println!("{good} of {all} estimates are within {FACTOR_MAX} times of the truth");
    std::fs::remove_dir_all(&out).map_err(|it| Error::io(&out, it))
}

/// The estimated remaining time divided by the real one.
fn factor(time: Duration, at: Duration, remaining: Duration) -> f64 {
    remaining.as_secs_f64() / time.saturating_sub(at).as_secs_f64().max(1e-3)
}

/// When a moment was reached, and what was estimated then.
type Sample = Option<(Duration, Duration)>;

/// Runs statements; their time and the samples.
fn run(session: &Arc<Session>, sql: &str) -> Result<(Duration, [Sample; 3])> {
    let ended = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let watcher = {
        let (session, ended) = (Arc::clone(session), Arc::clone(&ended));
        thread::spawn(move || watch(&session, &ended, start))
    };
    let ran = session.parse(sql).and_then(|statements| {
        for statement in &statements {
            if let Outcome::Rows(mut rows) = session.run(statement)? {
                while rows.next()?.is_some() {}
            }
        }
        Ok(())
    });
    let time = start.elapsed();
    ended.store(true, Ordering::Relaxed);
    let samples = watcher.join().map_err(|_| Error::internal("progress went back"))?;
    ran.map(|()| (time, samples))
}

fn watch(session: &Session, ended: &AtomicBool, start: Instant) -> [Sample; 3] {
    let mut samples = [None; 3];
    let mut before = 0.0;
    while !ended.load(Ordering::Relaxed) {
        if let Some(progress) = session.progress() {
            // A statement may have several tasks; each begins anew.
            assert!(progress.done >= before || progress.done < 0.05, "progress went back");
            before = progress.done;
            let at = start.elapsed();
            for (sample, moment) in samples.iter_mut().zip(MOMENTS) {
                let is_next = sample.is_none() && progress.done >= moment;
                if let Some(remaining) = progress.remaining.filter(|_| is_next) {
                    *sample = Some((at, remaining));
                }
            }
        }
        thread::sleep(INTERVAL);
    }
    samples
}
