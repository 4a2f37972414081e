//! Instants from numbers, from the clock and from local times of any zone.

use super::{is_instant, map_micros};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits,
    simple::{self, Double, Timestamp, Varchar},
};
use volley_types::{Type, Value, Zone, civil::MICROS_PER_SECOND, custom::TimestampTz};
use volley_vector::Vector;

/// Registers `timezone` (AT TIME ZONE), `to_timestamp`, `make_timestamptz` and the
/// current moment.
pub(super) fn register(registry: &mut Registry) {
    let zone = doc(
        "timezone(zone, timestamp) -> timestamp with time zone",
        "The instant at which clocks of the zone show a timestamp; of an instant, what they show. \
         Written `timestamp AT TIME ZONE zone`.",
        "date",
        &[("timezone('Europe/Berlin', timestamptz '2020-07-01 10:00:00Z')", "2020-07-01 12:00:00")],
    );
    registry.add_scalar("timezone", zone, Arc::new(bind_at_zone));
    let seconds = doc(
        "to_timestamp(seconds) -> timestamp with time zone",
        "The instant that many seconds after 1970-01-01 00:00:00 UTC.",
        "date",
        &[("epoch(to_timestamp(1.5))", "1.5")],
    );
    for name in ["to_timestamp", "from_unixtime"] {
        registry.add_scalar(name, seconds.clone(), Arc::new(bind_seconds));
    }
    let unix = doc(
        "to_unixtime(timestamp with time zone) -> double",
        "Seconds since 1970-01-01 00:00:00 UTC.",
        "date",
        &[("to_unixtime(timestamptz '1970-01-02 00:00:00Z')", "86400.0")],
    );
    registry.add_scalar("to_unixtime", unix, Arc::new(bind_unixtime));
    register_made(registry);
    register_now(registry);
}

fn bind_at_zone(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown, of] = args else { return None };
    let (source, result) = match of {
        Type::Timestamp | Type::Date | Type::Unknown => (Type::Timestamp, TimestampTz::data_type()),
        _ if is_instant(of) => (of.clone(), Type::Timestamp),
        _ => return None,
    };
    let to_local = is_instant(&source);
    let function = simple::vectorized(move |rows, args, to, ctx| {
        simple::map2::<Varchar, Timestamp, Timestamp, Result<i64>>(
            rows,
            args,
            to,
            ctx,
            |name, at| {
                let zone = zone_of(name)?;
                let mut clock = zone.clock();
                Ok(if to_local { clock.local_of(at) } else { clock.instant_of(at) })
            },
        )
    });
    let function = Arc::new(AtZone { function, to_local });
    Some(BoundScalar::new(vec![Type::Varchar, source], result, ScalarTraits::DEFAULT, function))
}

/// `timezone` of two arguments; a constant zone is looked up once.
struct AtZone {
    function: Arc<dyn ScalarFunction>,
    to_local: bool,
}

impl ScalarFunction for AtZone {
    fn evaluate(
        &self,
        rows: &volley_vector::Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.function.evaluate(rows, args, to, ctx)
    }

    fn specialize(
        &self,
        args: &[volley_function::Argument],
    ) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let name = args.first().and_then(|it| it.constant.as_ref()).and_then(Value::as_str);
        let Some(name) = name else { return Ok(None) };
        let (zone, to_local) = (zone_of(name)?, self.to_local);
        Ok(Some(simple::vectorized(move |_, args, to, _| {
            let mut clock = zone.clock();
            map_micros(&args[1], to, &mut |at| {
                if to_local { clock.local_of(at) } else { clock.instant_of(at) }
            })
        })))
    }
}

fn zone_of(name: &str) -> Result<Zone> {
    Zone::find(name).ok_or_else(|| {
        Error::invalid_value(format!("no such time zone: '{name}'"))
            .hint("zones are named as in the IANA database, such as Europe/Berlin or UTC")
    })
}

fn bind_seconds(args: &[Type]) -> Option<BoundScalar> {
    let [of] = args else { return None };
    if !(of.is_numeric() || *of == Type::Unknown) {
        return None;
    }
    let function = simple::function1::<Double, Timestamp, _>(|seconds: f64| -> Result<i64> {
        let micros = (seconds * MICROS_PER_SECOND as f64).round();
        // 2^63 microseconds are the range of a timestamp.
        if micros.abs() < 9.2e18 {
            Ok(micros as i64)
        } else {
            Err(crate::date::timestamp_out_of_range())
        }
    });
    let instant = TimestampTz::data_type();
    Some(BoundScalar::new(vec![Type::Double], instant, ScalarTraits::DEFAULT, function))
}

fn bind_unixtime(args: &[Type]) -> Option<BoundScalar> {
    let [of] = args else { return None };
    if !is_instant(of) && !matches!(of, Type::Timestamp | Type::Date) {
        return None;
    }
    let seconds = |it: i64| it as f64 / MICROS_PER_SECOND as f64;
    let function = simple::function1::<Timestamp, Double, _>(seconds);
    let instant = TimestampTz::data_type();
    Some(BoundScalar::new(vec![instant], Type::Double, ScalarTraits::INFALLIBLE, function))
}

/// `make_timestamptz` is `make_timestamp` in the session's zone, or in one that is named.
fn register_made(registry: &mut Registry) {
    let doc = doc(
        "make_timestamptz(year, month, day, hour, minute, second[, zone]) -> timestamp with time \
         zone",
        "The instant at which clocks show the time; with one argument, that many microseconds after \
         1970-01-01 00:00:00 UTC.",
        "date",
        &[("epoch(make_timestamptz(1970, 1, 1, 0, 0, 1, 'UTC'))", "1.0")],
    );
    let Some(entry) = registry.scalars().get("make_timestamp") else { return };
    let overloads: Vec<BindScalar> = entry.overloads.clone();
    let bind = move |args: &[Type]| -> Option<BoundScalar> {
        let (parts, zone) = args.split_at(args.len().min(6));
        let inner = overloads.iter().find_map(|it| it(parts))?;
        let (takes_local, instant) = (parts.len() == 6, TimestampTz::data_type());
        match zone {
            [] if takes_local => {
                let function = super::local::Localized { inner: inner.function, takes_local };
                Some(BoundScalar::new(inner.args, instant, inner.traits, Arc::new(function)))
            }
            [] => Some(BoundScalar::new(inner.args, instant, inner.traits, inner.function)),
            [Type::Varchar] => {
                let types = inner.args.iter().cloned().chain([Type::Varchar]).collect();
                Some(BoundScalar::new(types, instant, inner.traits, in_zone(inner.function)))
            }
            _ => None,
        }
    };
    registry.add_scalar("make_timestamptz", doc, Arc::new(bind));
}

fn in_zone(inner: Arc<dyn ScalarFunction>) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, to, ctx| {
        let Some((zone, parts)) = args.split_last() else {
            return Err(Error::internal("make_timestamptz without arguments"));
        };
        let local = inner.evaluate(rows, parts, &Type::Timestamp, ctx)?;
        let args = [zone.clone(), local];
        simple::map2::<Varchar, Timestamp, Timestamp, Result<i64>>(
            rows,
            &args,
            to,
            ctx,
            |name, at| Ok(zone_of(name)?.clock().instant_of(at)),
        )
    })
}

fn register_now(registry: &mut Registry) {
    let doc = doc(
        "now() -> timestamp with time zone",
        "The moment at which the query started.",
        "date",
        &[("now() = now()", "true")],
    );
    let bind: BindScalar = Arc::new(|args: &[Type]| {
        let function = simple::vectorized(|rows, _, to, ctx| {
            let now = Value::Timestamp(ctx.query.now_micros);
            Ok(Vector::constant(to.clone(), &now, rows.len()))
        });
        let instant = TimestampTz::data_type();
        args.is_empty()
            .then(|| BoundScalar::new(vec![], instant, ScalarTraits::INFALLIBLE, function))
    });
    for name in ["now", "current_timestamp", "transaction_timestamp", "get_current_timestamp"] {
        registry.add_scalar(name, doc.clone(), bind.clone());
    }
}
