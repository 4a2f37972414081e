//! A crate that extends Volley without changing it: a scalar function, an aggregate, a type and an
//! operator, each in its own file, used through SQL and through the plan builder.
//!
//! ```text
//! cargo run -p volley-example-extension
//! ```
//!
//! Start with `initials.rs`, the shortest one; then read `harmonic_mean.rs`, `version.rs` and
//! `running_total.rs`.

mod harmonic_mean;
mod initials;
mod running_total;
mod version;

use running_total::RunningTotal;
use volley::{Error, PlanBuilder, Result, Session, Type, Value};

fn main() -> Result<()> {
    let session = session()?;
    session.sql(
        "CREATE TABLE releases AS SELECT name, v::VERSION AS version, downloads FROM (VALUES
             ('grace hopper', '1.9.0', 100),
             ('ada lovelace', '1.10.0', 400),
             ('mary shelley', '1.2.10', 50)) r(name, v, downloads)",
    )?;

    // The function runs like any other: over dictionaries, constants, nulls; in WHERE and GROUP BY.
    check(&session, "SELECT initials(name) FROM releases ORDER BY 1", &["AL", "GH", "MS"])?;

    // The aggregate can be grouped, filtered, made distinct, and spread over threads.
    check(
        &session,
        "SELECT round(harmonic_mean(downloads), 3),
                harmonic_mean(downloads) FILTER (WHERE downloads < 200) IS NULL
         FROM releases",
        &["92.308 | false"],
    )?;

    // The type has an order of its own: as text, 1.10.0 would come before 1.9.0.
    check(
        &session,
        "SELECT version, major(version) FROM releases ORDER BY version DESC",
        &["1.10.0 | 1", "1.9.0 | 1", "1.2.10 | 1"],
    )?;

    // The operator is reached from SQL by a table function ...
    let totals = "SELECT name, total FROM running_total(releases, 'downloads') ORDER BY total";
    check(&session, totals, &["grace hopper | 100", "ada lovelace | 500", "mary shelley | 550"])?;
    for row in rows(&session, &format!("EXPLAIN {totals}"))? {
        println!("    {row}");
    }

    // ... and from the plan builder.
    let numbers = (1..=4).map(|it| vec![Value::Integer(it)]).collect();
    let plan = PlanBuilder::new(session.registry())
        .values(&[("n", Type::Integer)], numbers)
        .custom(RunningTotal::of("n"))
        .build()?;
    print!("{plan}");
    // Plans travel between processes: the node makes bytes of itself, and is read from them.
    let plan = session.plan_from_bytes(&plan.to_bytes()?)?;
    let sums = session.run_plan(plan, [])?.collect_values()?;
    let last = sums.last().and_then(|it| it.last()).cloned();
    expect("the last of the totals of 1 to 4", &last, &Some(Value::BigInt(10)))
}

/// A session that knows everything in this crate.
fn session() -> Result<Session> {
    Session::builder()
        .add_function("initials", initials::doc(), initials::bind())
        .add_aggregate("harmonic_mean", harmonic_mean::doc(), harmonic_mean::bind())
        .add_type(version::Version)
        .add_function("major", version::major_doc(), version::bind_major())
        .add_operator(running_total::NAME, running_total::lower)
        .add_node_reader(running_total::NAME, |bytes, _| running_total::read(bytes))
        .add_table_function("running_total", running_total::table_function)
        .build()
}

/// Runs a query, prints its rows and compares them.
fn check(session: &Session, sql: &str, expected: &[&str]) -> Result<()> {
    println!("{sql}");
    let found = rows(session, sql)?;
    for row in &found {
        println!("    {row}");
    }
    expect(sql, &found, &expected.iter().map(ToString::to_string).collect())
}

/// The rows as text, as CAST to VARCHAR writes the values.
fn rows(session: &Session, sql: &str) -> Result<Vec<String>> {
    let result = session.sql(sql)?;
    let types: Vec<Type> = result.schema().types().cloned().collect();
    let line = |row: Vec<Value>| {
        let cells = row.iter().zip(&types).map(|(value, it)| value.display(it).to_string());
        cells.collect::<Vec<_>>().join(" | ")
    };
    Ok(result.collect_values()?.into_iter().map(line).collect())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::internal(format!("{what}: {found:?}, not {expected:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_runs() {
        main().expect("every check of the example holds");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let session = session().expect("the parts of this crate fit together");
        let error = |sql: &str| match session.sql(sql).and_then(|it| it.collect_values()) {
            Err(error) => error.to_string(),
            Ok(rows) => format!("no error but {rows:?}"),
        };
        let found = error("SELECT harmonic_mean(x) FROM (VALUES (1), (-2)) v(x)");
        assert!(found.contains("harmonic mean of a number that is not positive: -2"), "{found}");
        let found = error("SELECT '1.x'::VERSION");
        assert!(found.contains("VERSION"), "{found}");
        session.sql("CREATE TABLE t AS SELECT 'a' AS word").expect("a table");
        let found = error("SELECT * FROM running_total(t, 'word')");
        assert!(found.contains("RunningTotal sums integers, not VARCHAR"), "{found}");
        let found = error("SELECT * FROM running_total(t, 'wort')");
        assert!(found.contains("no such column: wort"), "{found}");
        let found = error("SELECT * FROM running_total('t')");
        assert!(found.contains("takes 2 arguments, not 1"), "{found}");
    }
}
