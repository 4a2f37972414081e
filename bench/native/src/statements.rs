//! Prepared statements of one row by key.

use std::{path::Path, thread, time::Instant};
use volley::{Error, Result, Session, Value, connector::WriteAccess};

/// How much to do.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Rows of the table; their keys are even.
    pub(crate) rows: i64,
    /// Statements of all connections.
    pub(crate) changes: i64,
    pub(crate) connections: i64,
    /// Threads that run queries.
    pub(crate) threads: u32,
}

/// A prime that spreads numbers over keys.
const SPREAD: i128 = 2_654_435_761;

const UPSERT: &str = "INSERT INTO t VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v";

/// Runs upserts, each with a key of its own. Half of the keys are in the table.
pub(crate) fn upserts(folder: &Path, sizes: Sizes) -> Result<()> {
    let session = load(folder, sizes)?;
    let each = sizes.changes / sizes.connections.max(1);
    let name = session.sql("SELECT current_database()")?.collect_values()?;
    let name = name.first().and_then(|it| it.first()).and_then(Value::as_str).unwrap_or_default();
    let connections = (0..sizes.connections).map(|_| {
        let connection = session.another();
        connection.sql(&format!("USE \"{name}\""))?.collect()?;
        Ok(connection)
    });
    let connections = connections.collect::<Result<Vec<Session>>>()?;
    let start = Instant::now();
    let direct = thread::scope(|scope| {
        let threads = connections.iter().zip(0..).map(|(connection, number)| {
            scope.spawn(move || {
                let statement = connection.prepare(UPSERT)?;
                for change in number * each..(number + 1) * each {
                    let key = upsert_key(change, sizes.rows);
                    statement.run(&[key.into(), format!("new text of {key}").into()])?;
                }
                Ok(connection.direct_statements())
            })
        });
        let threads: Vec<_> = threads.collect();
        let join = |it: thread::ScopedJoinHandle<'_, Result<u64>>| {
            it.join().unwrap_or_else(|_| Err(Error::internal("a connection panicked")))
        };
        threads.into_iter().map(join).sum::<Result<u64>>()
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let done = each * sizes.connections;
    check(&session, sizes, done)?;
    println!("{:.0} upserts per second", done as f64 / seconds);
    println!("{{\"seconds\": {seconds}, \"upserts\": {done}, \"direct\": {direct}}}");
    session.close()
}

/// The key of an upsert: no two are equal while there are fewer than twice as many as rows.
fn upsert_key(number: i64, rows: i64) -> i64 {
    (i128::from(number) * SPREAD % i128::from(rows.max(1) * 2)) as i64
}

/// Every upsert is there, and every row.
fn check(session: &Session, sizes: Sizes, done: i64) -> Result<()> {
    let new = (0..done).filter(|it| upsert_key(*it, sizes.rows) % 2 == 1).count() as i64;
    let sql = "SELECT count(*), count(*) FILTER (WHERE v LIKE 'new text of %') FROM t";
    let found = session.sql(sql)?.collect_values()?;
    let expected = [Value::BigInt(sizes.rows + new), Value::BigInt(done)];
    match found.first().is_some_and(|it| **it == expected) {
        true => Ok(()),
        false => Err(Error::internal(format!("rows {found:?}, expected {expected:?}"))),
    }
}

/// Reads rows by key, one after the other.
pub(crate) fn lookups(folder: &Path, sizes: Sizes) -> Result<()> {
    let session = load(folder, sizes)?;
    let statement = session.prepare("SELECT v FROM t WHERE k = ?")?;
    let mut random = fastrand::Rng::with_seed(1);
    // A large segment gets its index when it is asked for again.
    let segment_rows = 1 << 19;
    for key in (0..sizes.rows).step_by(segment_rows).flat_map(|it| [it, it, it]) {
        look_up(&statement, key)?;
    }
    let before = session.direct_statements();
    let mut micros = Vec::new();
    for _ in 0..sizes.changes {
        let key = random.i64(0..sizes.rows);
        let start = Instant::now();
        look_up(&statement, key)?;
        micros.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let direct = session.direct_statements() - before;
    micros.sort_by(f64::total_cmp);
    let at = |part: f64| micros.get((micros.len() as f64 * part) as usize).copied().unwrap_or(0.0);
    println!(
        "{{\"median_micros\": {}, \"p99_micros\": {}, \"max_micros\": {}, \"direct\": {direct}}}",
        at(0.5),
        at(0.99),
        micros.last().copied().unwrap_or(0.0)
    );
    session.close()
}

fn look_up(statement: &volley::Prepared<'_>, number: i64) -> Result<()> {
    let found = statement.query(&[(number * 2).into()])?.collect_values()?;
    let expected = Value::text(format!("text of {number}"));
    match found.as_slice() {
        [row] if row.first() == Some(&expected) => Ok(()),
        _ => Err(Error::internal(format!("another row of the key {}", number * 2))),
    }
}

/// A new database with the table `t` of even keys.
fn load(folder: &Path, sizes: Sizes) -> Result<Session> {
    let session = Session::new()?;
    session.set("threads", &sizes.threads.to_string())?;
    let path = folder.to_str().ok_or_else(|| Error::invalid_value("a folder that is not UTF-8"))?;
    session.open_database(path, WriteAccess::ReadWrite)?;
    let start = Instant::now();
    session.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR)")?.collect()?;
    let insert =
        format!("INSERT INTO t SELECT i * 2, 'text of ' || i FROM range({}) r(i)", sizes.rows);
    session.sql(&insert)?.collect()?;
    session.sql("CHECKPOINT")?.collect()?;
    println!("loaded {} rows in {:.2} s", sizes.rows, start.elapsed().as_secs_f64());
    Ok(session)
}
