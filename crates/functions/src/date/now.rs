//! The moment at which the query started. It is the same for every row.

use crate::documentation::doc;
use volley_function::{
    Registry,
    simple::{Date, Time, Timestamp, nullary},
};
use volley_types::civil::split_timestamp;

/// Registers `now`, `current_date` and their aliases.
pub(super) fn register(registry: &mut Registry) {
    let now = doc(
        "now() -> timestamp",
        "The moment at which the query started, in UTC.",
        "date",
        &[("now() = now()", "true")],
    );
    for name in ["now", "current_timestamp", "localtimestamp", "transaction_timestamp"] {
        let bind = nullary::<Timestamp, _>(|query| query.now_micros);
        registry.add_scalar(name, now.clone(), bind);
    }
    let today = doc(
        "current_date -> date",
        "The day on which the query started, in UTC.",
        "date",
        &[("current_date = now()::date", "true")],
    );
    for name in ["current_date", "today"] {
        let bind = nullary::<Date, _>(|query| split_timestamp(query.now_micros).0);
        registry.add_scalar(name, today.clone(), bind);
    }
    let time = doc(
        "current_time -> time",
        "The time of day at which the query started, in UTC.",
        "date",
        &[("current_time = now()::time", "true")],
    );
    for name in ["current_time", "localtime"] {
        let bind = nullary::<Time, _>(|query| split_timestamp(query.now_micros).1);
        registry.add_scalar(name, time.clone(), bind);
    }
}
