//! When the query started.

use super::doc;
use std::sync::Arc;
use volley_function::{
    BoundScalar, Package, Registry,
    simple::{BigInt, Varchar, nullary},
};
use volley_types::{Type, ZoneId, custom::ZonedTimestamp};

/// Registers `now`, `current_timestamp`, `current_timezone`, and what is the same in the core.
pub(super) fn register(registry: &mut Registry) {
    for name in ["current_date", "localtime", "localtimestamp"] {
        registry.share(Package::Presto, name, name);
    }
    let now = doc(
        "now() -> timestamp with time zone",
        "The instant at which the query started, in the session's time zone. Also written \
         current_timestamp.",
        &[("now() = current_timestamp", "true")],
    );
    let instant = nullary::<BigInt, _>(|query| {
        // The clock of a machine is within the range.
        ZonedTimestamp::pack(query.now_micros, ZoneId::of(&query.time_zone)).unwrap_or_default()
    });
    for name in ["presto.now", "presto.current_timestamp"] {
        let instant = Arc::clone(&instant);
        let bind = move |given: &[Type]| {
            let result = ZonedTimestamp::data_type();
            Some(BoundScalar { result, ..instant(given)? })
        };
        registry.add_scalar(name, now.clone(), Arc::new(bind));
    }
    let zone = doc(
        "current_timezone() -> varchar",
        "The name of the session's time zone.",
        &[("current_timezone() = format_datetime(now(), 'ZZZ')", "true")],
    );
    let name = nullary::<Varchar, _>(|query| {
        let mut name = String::new();
        ZoneId::of(&query.time_zone).push_name(&mut name);
        name
    });
    registry.add_scalar("presto.current_timezone", zone, name);
}
