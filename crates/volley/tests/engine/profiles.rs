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

#[test]
fn filters_tell_what_they_dropped_and_columns_their_encodings() {
    let session = session();
    let profile = profile_of(&session, "SELECT n FROM t WHERE n < 10");
    let operators = || profile.nodes.iter().flat_map(|it| &it.operators).map(|it| it.total());
    let filters: Vec<_> = operators().flat_map(|it| it.filters).collect();
    let expected = filters.iter().any(|it| it.rows_in == 1000 && it.rows_out == 10);
    assert!(expected && filters[0].text.contains("10"), "{filters:?}");
    assert!(operators().any(|it| !it.encodings.is_empty()));
    assert!(profile.text().contains(" kept 10 of 1000"), "{}", profile.text());
    // A filter over a join is no filter of a scan.
    let sql = "SELECT a.n FROM t a JOIN t b ON a.n = b.k WHERE a.n + b.n > 990";
    let profile = profile_of(&session, sql);
    assert!(profile.html().contains("class=\"filters\""), "{}", profile.text());
}

#[test]
fn remaining_time_is_estimated_with_and_without_expected_rows() {
    for expects in [false, true] {
        let session = Session::new().unwrap();
        session.sql("CREATE TABLE t AS SELECT i AS n FROM range(3000) r(i)").unwrap();
        if expects {
            session.expect_rows();
        }
        let mut rows = session.sql("SELECT a.n FROM t a, t b WHERE a.n + b.n > 5").unwrap();
        let mut estimates = 0;
        while rows.next().unwrap().is_some() {
            let Some(progress) = session.progress() else { continue };
            estimates += usize::from(progress.remaining.is_some());
            let operators = progress.pipelines.iter().flat_map(|it| &it.operators);
            assert_eq!(operators.filter(|it| it.expected_rows.is_some()).count() > 0, expects);
            for pipeline in &progress.pipelines {
                assert!((0.0..=1.0).contains(&pipeline.done), "{pipeline:?}");
                assert!(pipeline.split_bytes.is_none_or(|it| it.0 <= it.1), "{pipeline:?}");
            }
        }
        assert!(estimates > 0);
    }
}

#[test]
fn queries_of_several_tasks_are_watched_kept_and_written() {
    let session = session();
    let folder = tempfile::tempdir().unwrap();
    session.sql("SET tasks = 4").unwrap();
    session.sql(&format!("SET profile_directory = '{}'", folder.path().display())).unwrap();
    session.keep_last_profile();
    let sql = "SELECT a.k, count(*) FROM t a JOIN t b ON a.n = b.n GROUP BY a.k";
    let mut rows = session.sql(sql).unwrap();
    let mut before = 0.0;
    while rows.next().unwrap().is_some() {
        if let Some(progress) = session.progress() {
            assert!(progress.done >= before && progress.done <= 1.0, "{progress:?}");
            before = progress.done;
        }
    }
    drop(rows);
    assert!(session.progress().is_none());
    let profile = session.last_profile().unwrap();
    assert!(profile.fragments.len() > 1, "{:?}", profile.fragments);
    assert_eq!(profile.statement, sql);
    assert!(profile.settings.contains(&("tasks".to_owned(), "4".to_owned())));
    let pages = || std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path());
    let page = std::fs::read_to_string(pages().next().unwrap()).unwrap();
    assert!(page.contains("GROUP BY a.k") && pages().count() == 1);
    // A query that fails has a profile, too, also when its tasks have not all started.
    let failing = "SELECT k, sum(CAST(n || 'x' AS INTEGER)) FROM t GROUP BY k";
    let outcome = session.sql(failing).and_then(|it| it.collect());
    assert!(outcome.is_err());
    let profile = session.last_profile().unwrap();
    assert!(profile.fragments.len() > 1 && profile.run.as_ref().unwrap().error.is_some());
    assert_eq!(pages().count(), 2);
}
