//! Lambdas over long arrays: their memory is limited.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use volley::{ErrorKind, Session, Settings, Value};

fn limited() -> Session {
    let settings =
        Settings { threads: 1, memory_limit_bytes: Some(20 << 20), ..Settings::default() };
    Session::with_settings(settings).unwrap()
}

/// An array of `2^doublings` elements.
fn long_array(doublings: usize) -> String {
    let steps = vec!["0"; doublings].join(", ");
    format!("reduce([{steps}], (s, x) -> s || s, [n])")
}

fn run(session: &Session, sql: &str) -> volley::Result<Vec<Vec<Value>>> {
    session.sql(sql)?.collect_values()
}

#[test]
fn states_that_grow_without_bound_meet_the_memory_limit() {
    let session = limited();
    for source in ["(VALUES (1), (2)) t(n)", "(SELECT 1 AS n) t"] {
        let sql = format!("SELECT cardinality({}) FROM {source}", long_array(28));
        let error = run(&session, &sql).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        assert!(error.to_string().contains("memory limit exceeded"), "{error}");
        session.wait_released();
        assert_eq!(session.pool().stats().bytes, 0);
    }
    let array = long_array(21);
    let transform =
        format!("SELECT cardinality(transform({array}, x -> x + 1)) FROM (VALUES (1), (2)) t(n)");
    assert_eq!(run(&session, &transform).unwrap_err().kind(), ErrorKind::OutOfMemory);
}

#[test]
fn what_former_steps_made_is_given_back() {
    let session = limited();
    // A thousand states of half a megabyte.
    let (steps, state) = (long_array(10), long_array(17));
    let sql = format!(
        "SELECT cardinality(reduce({steps}, (s, x) -> list_reverse(s), {state})) \
         FROM (VALUES (1), (2)) t(n) WHERE n = 1"
    );
    assert_eq!(run(&session, &sql).unwrap(), [[Value::BigInt(1 << 17)]]);
}
