//! Seconds since 1970-01-01 00:00:00 UTC.

use super::{
    doc, out_of_range,
    point::{OfTimestamp, OfZoned, Point, Zones, exact},
    zone::find_zone,
};
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{BigInt, Double, Physical, Timestamp, Varchar, map1, map2, map3, vectorized},
};
use volley_types::{Type, ZoneId, custom::ZonedTimestamp};

/// Registers `from_unixtime` and `to_unixtime`.
pub(super) fn register(registry: &mut Registry) {
    let name = "presto.from_unixtime";
    let described = doc(
        "from_unixtime(seconds[, zone]) -> timestamp [with time zone]",
        "The point in time that many seconds after 1970-01-01 00:00:00 UTC, to the millisecond: what \
         clocks show in the session's time zone, or with the time zone given by its name or by \
         hours and minutes.",
        &[
            ("to_unixtime(from_unixtime(1.5))", "1.5"),
            ("hour(from_unixtime(0, 'Asia/Kolkata'))", "5"),
            ("minute(from_unixtime(0, 5, 30))", "30"),
        ],
    );
    registry.add_scalar(name, described, local());
    registry.add_scalar(name, FunctionDoc::default(), in_named_zone());
    registry.add_scalar(name, FunctionDoc::default(), at_offset());
    let described = doc(
        "to_unixtime(timestamp) -> double",
        "The seconds since 1970-01-01 00:00:00 UTC.",
        &[("to_unixtime(timestamp '1970-01-02 00:00:00 UTC')", "86400.0")],
    );
    registry.add_scalar("presto.to_unixtime", described, seconds_of::<OfTimestamp>());
    let of_zoned = seconds_of::<OfZoned>();
    registry.add_scalar("presto.to_unixtime", FunctionDoc::default(), of_zoned);
}

/// Rounded to milliseconds, halves up; NaN is 1970.
fn instant_of(seconds: f64) -> Result<i64> {
    const MILLIS_MAX: f64 = (1i64 << 52) as f64;
    let millis = (seconds * 1e3 + 0.5).floor();
    if millis.is_nan() {
        return Ok(0);
    }
    if millis.abs() > MILLIS_MAX {
        return Err(out_of_range());
    }
    Ok(millis as i64 * 1_000)
}

fn local() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let local = |seconds: f64| zones.moment_at(instant_of(seconds)?, zones.session).local();
        map1::<Double, Timestamp, Result<i64>>(rows, args, to, ctx, local)
    });
    exact(vec![Type::Double], Type::Timestamp, ScalarTraits::DEFAULT, function)
}

fn in_named_zone() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zoned = |seconds: f64, zone: &str| -> Result<i64> {
            packed(instant_of(seconds)?, find_zone(zone)?)
        };
        map2::<Double, Varchar, Physical<i64>, _>(rows, args, to, ctx, zoned)
    });
    let types = vec![Type::Double, Type::Varchar];
    exact(types, ZonedTimestamp::data_type(), ScalarTraits::DEFAULT, function)
}

fn at_offset() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zoned = |seconds: f64, hours: i64, minutes: i64| -> Result<i64> {
            let offset = hours.checked_mul(60).and_then(|it| it.checked_add(minutes));
            let zone = offset.and_then(ZoneId::of_offset).ok_or_else(|| {
                Error::invalid_value(format!("no such offset of a time zone: {hours}:{minutes}"))
                    .hint("offsets are from -14:00 to +14:00")
            })?;
            packed(instant_of(seconds)?, zone)
        };
        map3::<Double, BigInt, BigInt, Physical<i64>, _>(rows, args, to, ctx, zoned)
    });
    let types = vec![Type::Double, Type::BigInt, Type::BigInt];
    exact(types, ZonedTimestamp::data_type(), ScalarTraits::DEFAULT, function)
}

/// The stored value of an instant with a zone.
pub(super) fn packed(instant: i64, zone: ZoneId) -> Result<i64> {
    ZonedTimestamp::pack(instant, zone).ok_or_else(out_of_range)
}

fn seconds_of<P: Point>() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let seconds = |it: P::Stored| -> Result<f64> {
            Ok(zones.instant(&P::moment(it, &zones))? as f64 / 1e6)
        };
        map1::<P::Marker, Double, _>(rows, args, to, ctx, seconds)
    });
    exact(vec![P::data_type()], Type::Double, ScalarTraits::DEFAULT, function)
}
