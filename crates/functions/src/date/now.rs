//! The time when the query started. It is the same for every row.

use crate::documentation::doc;
use volley_function::{
    QueryConstants, Registry,
    simple::{Date, Time, Timestamp, nullary},
};
use volley_types::civil::split_timestamp;

/// Registers `localtimestamp`, `current_date`, `current_time` and their aliases.
pub(super) fn register(registry: &mut Registry) {
    let now = doc(
        "localtimestamp -> timestamp",
        "What the session's clocks showed when the query started.",
        "date",
        &[("localtimestamp = now()::timestamp", "true")],
    );
    for name in ["localtimestamp", "current_localtimestamp"] {
        registry.add_scalar(name, now.clone(), nullary::<Timestamp, _>(local_now));
    }
    let today = doc(
        "current_date -> date",
        "The day on which the query started, in the session's time zone.",
        "date",
        &[("current_date = now()::date", "true")],
    );
    for name in ["current_date", "today"] {
        let bind = nullary::<Date, _>(|query| split_timestamp(local_now(query)).0);
        registry.add_scalar(name, today.clone(), bind);
    }
    let time = doc(
        "current_time -> time",
        "The time of day at which the query started, in the session's time zone.",
        "date",
        &[("current_time = now()::time", "true")],
    );
    for name in ["current_time", "localtime"] {
        let bind = nullary::<Time, _>(|query| split_timestamp(local_now(query)).1);
        registry.add_scalar(name, time.clone(), bind);
    }
}

fn local_now(query: &QueryConstants) -> i64 {
    query.time_zone.clock().local_of(query.now_micros)
}
