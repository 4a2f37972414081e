//! How well the progress of statements predicts their remaining time.
//!
//! ```text
//! cargo run --release -p volley --example progress -- data/tpch-sf1 [TRACE]
//! ```
//!
//! Runs the 22 queries of TPC-H and 10 statements that write. A thread asks for the progress of
//! each every 2 milliseconds. At 10, 25 and 50 % of its time, the estimated remaining time is
//! compared with the real one; a missing estimate is wrong. Prints each statement and the share of
//! estimates that are within 2 times of the truth; fails if an answer goes back. Writes all answers
//! to the file TRACE, one line of JSON per statement.

use std::{
    fmt::Write as _,
    fs::File,
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use volley::{Error, Outcome, PipelineProgress, Result, Session, TaskProgress};

/// When estimates are compared, as shares of the time of the statement.
const MOMENTS: [f64; 3] = [0.10, 0.25, 0.50];

/// An estimate further from the truth is wrong.
const FACTOR_MAX: f64 = 2.0;

/// Statements that end sooner need no progress: the shell shows it after half a second.
const LEAST: Duration = Duration::from_millis(100);

/// Between two questions.
const INTERVAL: Duration = Duration::from_millis(2);

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

/// An answer, and when it came.
type Sample = (Duration, TaskProgress);

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "data/tpch-sf1".to_owned());
    let trace = std::env::args().nth(2);
    let mut trace = trace.map(|it| File::create(&it).map_err(|e| Error::io(&it, e))).transpose()?;
    let out = std::env::temp_dir().join(format!("volley-progress-{}", std::process::id()));
    let out = out.to_string_lossy().into_owned();
    std::fs::create_dir_all(&out).map_err(|it| Error::io(&out, it))?;
    let session = Arc::new(Session::new()?);
    session.expect_rows();
    for table in TABLES {
        session.register_files(table, &format!("{folder}/{table}.parquet"))?;
    }
    let queries = volley_tpch::QUERIES.iter().zip(1..).map(|(sql, it)| (format!("Q{it}"), *sql));
    let writes = WRITES.iter().zip(1..).map(|(sql, it)| (format!("W{it}"), *sql));
    let (mut good, mut all) = (0, 0);
    for (name, sql) in queries.chain(writes) {
        let (time, samples) = run(&session, &sql.replace("{out}", &out))?;
        let factors = MOMENTS.map(|it| factor(time, &samples, it));
        let shown = factors.map(|it| it.map_or("    -".to_owned(), |it| format!("{it:5.2}")));
        println!("{name:>4} {:8.3} s  {}", time.as_secs_f64(), shown.join("  "));
        if time >= LEAST {
            all += factors.len();
            let is_good = |it: &f64| (1.0 / FACTOR_MAX..=FACTOR_MAX).contains(it);
            good += factors.iter().flatten().filter(|it| is_good(it)).count();
        }
        if let Some(file) = &mut trace {
            let written = file.write_all(line(&name, time, &samples).as_bytes());
            written.map_err(|it| Error::io("the trace", it))?;
        }
    }
    println!("{good} of {all} estimates are within {FACTOR_MAX} times of the truth");
    std::fs::remove_dir_all(&out).map_err(|it| Error::io(&out, it))
}

/// The last estimate before a moment of the time, divided by the real remaining time.
fn factor(time: Duration, samples: &[Sample], moment: f64) -> Option<f64> {
    let at = time.mul_f64(moment);
    let (asked, progress) = samples.iter().take_while(|it| it.0 <= at).last()?;
    let remaining = progress.remaining?.as_secs_f64();
    Some(remaining / time.saturating_sub(*asked).as_secs_f64())
}

/// Runs statements; their time and the answers.
fn run(session: &Arc<Session>, sql: &str) -> Result<(Duration, Vec<Sample>)> {
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

fn watch(session: &Session, ended: &AtomicBool, start: Instant) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut before = 0.0;
    while !ended.load(Ordering::Relaxed) {
        if let Some(progress) = session.progress() {
            // A statement may have several tasks; each begins anew.
            assert!(progress.done >= before || progress.done < 0.05, "progress went back");
            before = progress.done;
            samples.push((start.elapsed(), progress));
        }
        thread::sleep(INTERVAL);
    }
    samples
}

/// `{"name": .., "time": .., "samples": [[at, done, remaining, [pipeline, ..]], ..]}`
fn line(name: &str, time: Duration, samples: &[Sample]) -> String {
    let mut text = format!("{{\"name\":\"{name}\",\"time\":{},\"samples\":[", time.as_secs_f64());
    for (index, (at, progress)) in samples.iter().enumerate() {
        let remaining = progress.remaining.map_or(-1.0, |it| it.as_secs_f64());
        let pipelines: Vec<String> = progress.pipelines.iter().map(pipeline).collect();
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "{}[{},{},{},{remaining},[{}]]",
            if index == 0 { "" } else { "," },
            at.as_secs_f64(),
            progress.elapsed.as_secs_f64(),
            progress.done,
            pipelines.join(",")
        );
    }
    text + "]}\n"
}

/// `[stage, drivers, bytes done, bytes, [[name, node, rows in, rows out, busy, expected], ..]]`
fn pipeline(it: &PipelineProgress) -> String {
    let (done, all) = it.split_bytes.map_or((-1.0, -1.0), |it| (it.0 as f64, it.1 as f64));
    let operators = it.operators.iter().map(|it| {
        let expected = it.expected_rows.unwrap_or(-1.0);
        let (node, busy) = (it.node.number(), it.busy.as_secs_f64());
        format!("[\"{}\",{node},{},{},{busy},{expected}]", it.name, it.rows_in, it.rows_out)
    });
    let operators = operators.collect::<Vec<_>>().join(",");
    format!("[\"{:?}\",{},{done},{all},[{operators}]]", it.stage, it.drivers)
}
