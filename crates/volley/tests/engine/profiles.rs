//! Profiles and progress of statements.

use std::sync::Arc;
use volley::{QueryProfile, Session};

/// A session that keeps profiles, and has a table of 1000 rows.
fn session() -> Session {
    let session = Session::new().unwrap();
    session.sql("CREATE TABLE t AS SELECT i AS n, i % 7 AS k FROM range(1000) r(i)").unwrap();
    session.keep_last_profile();
    session
}

fn profile_of(session: &Session, sql: &str) -> Arc<QueryProfile> {
    let _ = session.sql(sql).and_then(|rows| rows.collect());
    session.last_profile().unwrap()
}

/// Kind, estimated rows and actual rows of every node.
fn rows(profile: &QueryProfile) -> Vec<(&str, Option<f64>, Option<u64>)> {
    let node = |it| {
        let it: &volley::ProfileNode = it;
        (it.kind.as_str(), it.estimated_rows, it.rows())
    };
    profile.nodes.iter().map(node).collect()
}

#[test]
fn estimates_and_rows_are_those_of_their_nodes() {
    let session = session();
    let profile = profile_of(&session, "SELECT n FROM t LIMIT 10");
    let rows_of = |profile: &QueryProfile, kind: &str| {
        let found = rows(profile).into_iter().find(|it| it.0 == kind);
        found.map(|it| (it.1, it.2)).unwrap()
    };
    assert_eq!(rows_of(&profile, "Limit"), (Some(10.0), Some(10)));
    assert_eq!(rows_of(&profile, "TableScan").0, Some(1000.0));
    // Statements that write have more nodes on top.
    let profile = profile_of(&session, "CREATE TABLE copy AS SELECT n FROM t");
    assert_eq!(profile.nodes[0].kind, "TableWrite");
    assert_eq!(rows_of(&profile, "TableWrite").0, None);
    assert_eq!(rows_of(&profile, "TableScan"), (Some(1000.0), Some(1000)));
    assert!(profile.statement.starts_with("CREATE TABLE copy"));
}

#[test]
fn a_failure_is_part_of_the_profile() {
    let session = session();
    let profile = profile_of(&session, "SELECT CAST(n || 'x' AS INTEGER) FROM t");
    let run = profile.run.as_ref().unwrap();
    assert!(run.error.is_some(), "{:?}", profile.verdict());
    assert!(profile.verdict()[0].starts_with("The query failed: "));
}

#[test]
fn every_driver_has_a_time_line_within_the_time_of_the_query() {
    let session = session();
    session.set("threads", "3").unwrap();
    let profile = profile_of(&session, "SELECT k, sum(n) FROM t GROUP BY k ORDER BY k");
    let run = profile.run.as_ref().unwrap();
    for line in &run.drivers {
        let mut end = std::time::Duration::ZERO;
        for segment in &line.segments {
            assert!(end <= segment.start && segment.start <= segment.end, "{line:?}");
            end = segment.end;
        }
        assert!(end <= run.elapsed, "{line:?}");
    }
    let operators = profile.nodes.iter().flat_map(|it| &it.operators);
    let pipelines = operators.map(|it| it.pipeline + 1).max();
    assert_eq!(run.drivers.iter().map(|it| it.pipeline + 1).max(), pipelines);
}

#[test]
fn nothing_is_kept_unless_it_was_asked_for() {
    let session = Session::new().unwrap();
    session.sql("SELECT 1").unwrap().collect().unwrap();
    assert!(session.last_profile().is_none());
    assert!(session.progress().is_none());
    // Another session has its own.
    session.keep_last_profile();
    let other = session.another();
    other.sql("SELECT 1").unwrap().collect().unwrap();
    assert!(session.last_profile().is_none() && other.last_profile().is_none());
}

#[test]
fn progress_never_goes_back_and_ends_at_one() {
    let session = session();
    let mut rows = session.sql("SELECT a.n FROM t a, t b WHERE a.n + b.n > 5").unwrap();
    let (mut before, mut batches) = (0.0, 0);
    while rows.next().unwrap().is_some() {
        batches += 1;
        if let Some(progress) = session.progress() {
            assert!(progress.done >= before && progress.done <= 1.0, "{progress:?}");
            before = progress.done;
        }
    }
    assert!(batches > 1);
    assert!(session.progress().is_none());
}
