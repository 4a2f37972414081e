//! TIME WITH TIME ZONE: its type, conversions, fields and arithmetic.
//!
//! A value is an instant of 1970-01-01, as in Presto with `legacy_timestamp`: a TIME is the instant
//! at which clocks of the session's zone show it on that day.

use super::{
    field::millis_of,
    out_of_range,
    point::{OfTimestamp, OfZoned, Point, Zones, exact},
    unit::Unit,
    zone::find_zone,
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BindScalar, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{
        BigInt, Interval, Physical, Time, Timestamp, Varchar, map1, map2, map3, nullary, vectorized,
    },
};
use volley_types::{
    Interval as IntervalValue, Type, ZoneId,
    civil::{
        MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, split_timestamp,
    },
    custom::{ZonedClock, ZonedTimestamp},
};
use volley_vector::{Rows, Vector};

/// Values as they are stored.
type Stored = Physical<i64>;

/// Registers the type, its conversions and functions.
pub(super) fn register(registry: &mut Registry) {
    registry.types_mut().add_plain(ZonedClock::default());
    registry.add_casts(Arc::new(bind_cast));
    let of_time: [(&str, fn(i64) -> i64); 4] = [
        ("hour", |it| it / MICROS_PER_HOUR),
        ("minute", |it| it / MICROS_PER_MINUTE % 60),
        ("second", |it| it / MICROS_PER_SECOND % 60),
        ("millisecond", |it| it % MICROS_PER_SECOND / 1_000),
    ];
    for (name, of) in of_time {
        add(registry, name, field(of));
    }
    add(registry, "date_add", added());
    add(registry, "date_diff", counted());
    add(registry, "date_trunc", truncated());
    add(registry, "plus", moved(1));
    add(registry, "minus", moved(-1));
    add(registry, "at_timezone", in_zone());
    register_current(registry);
}

fn add(registry: &mut Registry, name: &str, bind: BindScalar) {
    registry.add_scalar(&format!("presto.{name}"), FunctionDoc::default(), bind);
}

fn register_current(registry: &mut Registry) {
    let described = super::doc(
        "current_time() -> time with time zone",
        "The time of day at which the query started, in the session's time zone.",
        &[("current_time = current_time", "true")],
    );
    let instant = nullary::<BigInt, _>(|query| {
        let zone = ZoneId::of(&query.time_zone);
        let shown = zone.clock().local_of(query.now_micros);
        ZonedClock::pack(split_timestamp(shown).1, zone).unwrap_or_default()
    });
    let bind = move |given: &[Type]| {
        let result = ZonedClock::data_type();
        Some(BoundScalar { result, ..instant(given)? })
    };
    registry.add_scalar("presto.current_time", described, Arc::new(bind));
}

/// The time that clocks of the value's zone show, in microseconds, and the zone.
fn shown(stored: i64, zones: &Zones) -> (i64, ZoneId) {
    let moment = OfZoned::moment(stored, zones);
    (moment.of_day, moment.zone)
}

/// The value that clocks of a zone show at any time of day, also before or beyond midnight.
fn packed(of_day: i128, zone: ZoneId, zones: &Zones) -> Result<i64> {
    let of_day = of_day.rem_euclid(MICROS_PER_DAY.into()) as i64;
    ZonedTimestamp::pack(zones.instant_of(of_day, zone), zone).ok_or_else(out_of_range)
}

fn field(of: fn(i64) -> i64) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        map1::<Stored, BigInt, i64>(rows, args, to, ctx, |it| of(shown(it, &zones).0))
    });
    exact(vec![ZonedClock::data_type()], Type::BigInt, ScalarTraits::INFALLIBLE, function)
}

/// `date_add(unit, value, time)`: around the clock.
fn added() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let add = |unit: &str, value: i64, it: i64| -> Result<i64> {
            let step = i128::from(Unit::of_time(unit)?);
            let (of_day, zone) = shown(it, &zones);
            packed(i128::from(of_day) + step * i128::from(value), zone, &zones)
        };
        map3::<Varchar, BigInt, Stored, Stored, _>(rows, args, to, ctx, add)
    });
    let clock = ZonedClock::data_type();
    let types = vec![Type::Varchar, Type::BigInt, clock.clone()];
    exact(types, clock, ScalarTraits::DEFAULT, function)
}

/// `date_diff(unit, start, end)`: between the instants.
fn counted() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let count = |unit: &str, start: i64, end: i64| -> Result<i64> {
            let unit = Unit::of_time(unit)?;
            Ok((ZonedTimestamp::unpack(end).0 - ZonedTimestamp::unpack(start).0) / unit)
        };
        map3::<Varchar, Stored, Stored, BigInt, _>(rows, args, to, ctx, count)
    });
    let types = vec![Type::Varchar, ZonedClock::data_type(), ZonedClock::data_type()];
    exact(types, Type::BigInt, ScalarTraits::DEFAULT, function)
}

fn truncated() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let zones = Zones::new(ctx);
        let truncate = |unit: &str, it: i64| -> Result<i64> {
            let step = Unit::of_time(unit)?;
            let (of_day, zone) = shown(it, &zones);
            packed((of_day - of_day.rem_euclid(step)).into(), zone, &zones)
        };
        map2::<Varchar, Stored, Stored, _>(rows, args, to, ctx, truncate)
    });
    let clock = ZonedClock::data_type();
    exact(vec![Type::Varchar, clock.clone()], clock, ScalarTraits::DEFAULT, function)
}

/// A time and an interval, whose months change nothing.
fn moved(sign: i128) -> BindScalar {
    let function = move |is_swapped: bool| {
        vectorized(move |rows, args, to, ctx| {
            let zones = Zones::new(ctx);
            let add = |it: i64, by: IntervalValue| -> Result<i64> {
                let (of_day, zone) = shown(it, &zones);
                packed(i128::from(of_day) + sign * i128::from(millis_of(by)) * 1_000, zone, &zones)
            };
            match is_swapped {
                false => map2::<Stored, Interval, Stored, _>(rows, args, to, ctx, add),
                true => {
                    let add = |by: IntervalValue, it: i64| add(it, by);
                    map2::<Interval, Stored, Stored, _>(rows, args, to, ctx, add)
                }
            }
        })
    };
    let clock = ZonedClock::data_type();
    Arc::new(move |given: &[Type]| {
        let is_swapped = match given {
            [time, Type::Interval] if ZonedClock::is(time) => false,
            [Type::Interval, time] if ZonedClock::is(time) && sign > 0 => true,
            _ => return None,
        };
        let types = given.to_vec();
        let function = function(is_swapped);
        Some(BoundScalar::new(types, clock.clone(), ScalarTraits::DEFAULT, function))
    })
}

/// The same instant in another zone.
fn in_zone() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let moved = |stored: i64, zone: &str| -> Result<i64> {
            let instant = ZonedTimestamp::unpack(stored).0;
            ZonedTimestamp::pack(instant, find_zone(zone)?).ok_or_else(out_of_range)
        };
        map2::<Stored, Varchar, Stored, _>(rows, args, to, ctx, moved)
    });
    let clock = ZonedClock::data_type();
    let bind = exact(vec![clock.clone(), Type::Varchar], clock, ScalarTraits::DEFAULT, function);
    Arc::new(move |given: &[Type]| {
        let is_clock = given.first().is_some_and(ZonedClock::is);
        is_clock.then(|| bind(given)).flatten()
    })
}

/// A conversion from or to TIME WITH TIME ZONE.
fn bind_cast(from: &Type, to: &Type) -> Option<BoundScalar> {
    type Convert = fn(&Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector>;
    let convert: Convert = match (from, to) {
        (Type::Time, _) if ZonedClock::is(to) => clock_of_time,
        (Type::Timestamp, _) if ZonedClock::is(to) => clock_of_timestamp,
        _ if ZonedTimestamp::is(from) && ZonedClock::is(to) => clock_of_zoned,
        (_, Type::Time) if ZonedClock::is(from) => time_of_clock,
        (_, Type::Timestamp) if ZonedClock::is(from) => timestamp_of_clock,
        _ if ZonedClock::is(from) && ZonedTimestamp::is(to) => {
            |_, args, to, _| Ok(args[0].with_type(to.clone()))
        }
        _ => return None,
    };
    let traits = ScalarTraits::DEFAULT;
    let bound = BoundScalar::new(vec![from.clone()], to.clone(), traits, vectorized(convert));
    Some(BoundScalar { name: "cast".to_owned(), ..bound })
}

fn clock_of_time(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Time, Stored, Result<i64>>(rows, args, to, ctx, |it: i64| {
        packed(it.into(), zones.session, &zones)
    })
}

fn clock_of_timestamp(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Timestamp, Stored, Result<i64>>(rows, args, to, ctx, |it: i64| {
        packed(OfTimestamp::moment(it, &zones).of_day.into(), zones.session, &zones)
    })
}

fn clock_of_zoned(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Stored, Stored, Result<i64>>(rows, args, to, ctx, |it| {
        let (of_day, zone) = shown(it, &zones);
        packed(of_day.into(), zone, &zones)
    })
}

/// What clocks of the session's zone show at the instant.
fn time_of_clock(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Stored, Time, i64>(rows, args, to, ctx, |it| {
        zones.moment_at(ZonedTimestamp::unpack(it).0, zones.session).of_day
    })
}

fn timestamp_of_clock(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Stored, Timestamp, Result<i64>>(rows, args, to, ctx, |it| {
        zones.moment_at(ZonedTimestamp::unpack(it).0, zones.session).local()
    })
}
