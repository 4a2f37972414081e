//! Lambdas over long arrays: their memory is limited, and they can be cancelled midway.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};
use volley::{
    ErrorKind, Session, Settings, TaskHandle, Value,
    function::{FunctionDoc, simple},
};

/// Elements after which the test cancels.
const ELEMENTS_BEFORE_CANCEL: u64 = 30_000;

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

/// Cancels its query in the midst of an array of two million elements.
fn check_cancel(call: &str) {
    let seen = Arc::new(AtomicU64::new(0));
    let handle: Arc<OnceLock<TaskHandle>> = Arc::default();
    let (count, cancel) = (Arc::clone(&seen), Arc::clone(&handle));
    let seen_by = simple::scalar(move |x: i32| {
        if count.fetch_add(1, Ordering::Relaxed) == ELEMENTS_BEFORE_CANCEL {
            loop {
                match cancel.get() {
                    Some(it) => break it.cancel(),
                    None => std::thread::yield_now(),
                }
            }
        }
        x
    });
    let session = Session::builder()
        .settings(Settings { threads: 1, ..Settings::default() })
        .extend(|it| {
            it.simple("seen", FunctionDoc::default(), seen_by.nondeterministic());
        })
        .build()
        .unwrap();
    let call = call.replace("{array}", &long_array(21));
    let sql =
        format!("SELECT cardinality(array_agg({call})) FROM (VALUES (1), (2)) t(n) WHERE n = 1");
    let result = session.sql(&sql).unwrap();
    assert!(handle.set(result.handle()).is_ok());
    let error = result.collect_values().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{call}: {error}");
    session.wait_released();
    let seen = seen.load(Ordering::Relaxed);
    assert!(seen > ELEMENTS_BEFORE_CANCEL && seen < 200_000, "{call}: {seen}");
    assert_eq!(session.pool().stats().bytes, 0);
}

#[test]
fn a_lambda_over_a_long_array_is_cancelled_midway() {
    check_cancel("transform({array}, x -> seen(x))");
    check_cancel("filter({array}, x -> seen(x) > 0)");
    check_cancel("any_match({array}, x -> seen(x) > 1)");
    check_cancel("zip_with({array}, [1], (x, y) -> seen(x) + y)");
    check_cancel("reduce({array}, (s, x) -> seen(x), 0)");
}

#[test]
fn long_arrays_are_sorted_by_comparisons_of_many_pairs() {
    let session = Session::new().unwrap();
    let order = "CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END";
    let numbers = "(SELECT array_agg(r * 7919 % 10007) FROM 'tests/data/numbers.parquet')";
    let path = "../../tests/data/numbers.parquet";
    let sql = format!(
        "SELECT array_sort(n, (a, b) -> {order}) = list_reverse(array_sort(n)), cardinality(n) > 0 \
         FROM (SELECT {numbers} AS n) t"
    );
    let rows = run(&session, &sql.replace("tests/data/numbers.parquet", path)).unwrap();
    assert_eq!(rows, [[Value::Boolean(true), Value::Boolean(true)]]);
}
