//! The type of timestamps with a time zone of their own, its conversions, and `at_timezone`.

use super::{
    doc,
    point::{OfDate, OfTimestamp, OfZoned, Point, Zones, exact},
    unix::packed,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, FunctionDoc, Registry, ScalarTraits,
    simple::{Date, Physical, Time, Timestamp, Varchar, map1, map2, unary, vectorized},
};
use volley_types::{
    Type, ZoneId,
    civil::{MICROS_PER_SECOND, split_timestamp},
    custom::{TimestampTz, ZonedTimestamp},
};
use volley_vector::{Rows, Vector};

/// Registers the type, its conversions, `date` and `at_timezone`.
pub(super) fn register(registry: &mut Registry) {
    registry.types_mut().add_plain(ZonedTimestamp::default());
    registry.add_casts(Arc::new(bind_cast));
    register_date(registry);
    let described = doc(
        "at_timezone(timestamp with time zone, zone) -> timestamp with time zone",
        "The same instant in another time zone. Also written `timestamp AT TIME ZONE zone`.",
        &[("hour(at_timezone(timestamp '2020-07-01 12:00:00 UTC', 'America/Los_Angeles'))", "5")],
    );
    let function = vectorized(|rows, args, to, ctx| {
        let moved = |stored: i64, zone: &str| -> Result<i64> {
            packed(ZonedTimestamp::unpack(stored).0, find_zone(zone)?)
        };
        map2::<Physical<i64>, Varchar, Physical<i64>, _>(rows, args, to, ctx, moved)
    });
    let zoned = ZonedTimestamp::data_type();
    let types = vec![zoned.clone(), Type::Varchar];
    let bind = exact(types, zoned, ScalarTraits::DEFAULT, function);
    registry.add_scalar("presto.at_timezone", described, bind);
}

/// The dates of texts and of points in time.
fn register_date(registry: &mut Registry) {
    let name = "presto.date";
    let described = doc(
        "date(varchar or timestamp) -> date",
        "The date of a text or a timestamp, as CAST(x AS DATE) gives it.",
        &[("date('2020-02-29')", "2020-02-29")],
    );
    let of_text = unary::<Varchar, Date, _>(|text: &str| -> Result<i32, Error> {
        let invalid = || Error::invalid_value(format!("cannot cast '{text}' to DATE"));
        crate::cast::date_of_text(text).ok_or_else(invalid)
    });
    registry.add_scalar(name, described, of_text);
    let of_date = vectorized(|_, args, _, _| Ok(args[0].clone()));
    let of_date = exact(vec![Type::Date], Type::Date, ScalarTraits::INFALLIBLE, of_date);
    registry.add_scalar(name, FunctionDoc::default(), of_date);
    let of_timestamp = unary::<Timestamp, Date, i32>(|it: i64| split_timestamp(it).0);
    registry.add_scalar(name, FunctionDoc::default(), of_timestamp);
    let zoned = vec![ZonedTimestamp::data_type()];
    let of_zoned = exact(zoned, Type::Date, ScalarTraits::INFALLIBLE, vectorized(date_of));
    registry.add_scalar(name, FunctionDoc::default(), of_zoned);
}

/// The zone of this name.
pub(super) fn find_zone(name: &str) -> Result<ZoneId> {
    ZoneId::find(name).ok_or_else(|| {
        Error::invalid_value(format!("no such time zone: '{name}'"))
            .hint("zones have names such as Europe/Berlin, or offsets such as +02:00")
    })
}

/// A conversion between timestamps that have a zone and other points in time.
fn bind_cast(from: &Type, to: &Type) -> Option<BoundScalar> {
    type Convert = fn(&Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector>;
    let (convert, traits): (Convert, ScalarTraits) = match (from, to) {
        (Type::Date, _) if ZonedTimestamp::is(to) => (zoned_of::<OfDate>, ScalarTraits::DEFAULT),
        (Type::Timestamp, _) if ZonedTimestamp::is(to) => {
            (zoned_of::<OfTimestamp>, ScalarTraits::DEFAULT)
        }
        _ if TimestampTz::is(from) && ZonedTimestamp::is(to) => {
            (zoned_of_instant, ScalarTraits::DEFAULT)
        }
        _ if ZonedTimestamp::is(from) && TimestampTz::is(to) => {
            (instant_of_zoned, ScalarTraits::INFALLIBLE)
        }
        (_, Type::Timestamp) if ZonedTimestamp::is(from) => (session_local, ScalarTraits::DEFAULT),
        (_, Type::Date) if ZonedTimestamp::is(from) => (date_of, ScalarTraits::INFALLIBLE),
        (_, Type::Time) if ZonedTimestamp::is(from) => (time_of, ScalarTraits::DEFAULT),
        (Type::Time, _) if ZonedTimestamp::is(to) => (zoned_of_time, ScalarTraits::DEFAULT),
        _ => return None,
    };
    let bound = BoundScalar::new(vec![from.clone()], to.clone(), traits, vectorized(convert));
    Some(BoundScalar { name: "cast".to_owned(), ..bound })
}

fn zoned_of<P: Point>(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let zones = Zones::new(ctx);
    let zoned = |it: P::Stored| -> Result<i64> {
        packed(zones.instant(&P::moment(it, &zones))?, zones.session)
    };
    map1::<P::Marker, Physical<i64>, _>(rows, args, to, ctx, zoned)
}

fn zoned_of_instant(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let session = Zones::new(ctx).session;
    map1::<Physical<i64>, Physical<i64>, Result<i64>>(rows, args, to, ctx, |it| packed(it, session))
}

fn instant_of_zoned(
    rows: &Rows,
    args: &[Vector],
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    map1::<Physical<i64>, Physical<i64>, i64>(rows, args, to, ctx, |it| {
        ZonedTimestamp::unpack(it).0
    })
}

fn session_local(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Physical<i64>, Timestamp, Result<i64>>(rows, args, to, ctx, |it| {
        zones.moment_at(ZonedTimestamp::unpack(it).0, zones.session).local()
    })
}

fn date_of(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Physical<i64>, Date, i32>(rows, args, to, ctx, |it| OfZoned::moment(it, &zones).days)
}

/// The time of day in UTC, as clocks of the session's zone show it on 1970-01-01.
fn time_of(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Physical<i64>, Time, Result<i64>>(rows, args, to, ctx, |it| {
        let moment = OfZoned::moment(it, &zones);
        let in_utc = moment.of_day - zones.offset_seconds(&moment)? * MICROS_PER_SECOND;
        Ok(zones.moment_at(in_utc, zones.session).of_day)
    })
}

/// The time on 1970-01-01.
fn zoned_of_time(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let zones = Zones::new(ctx);
    map1::<Time, Physical<i64>, Result<i64>>(rows, args, to, ctx, |it: i64| {
        packed(zones.instant_of(it, zones.session), zones.session)
    })
}
