//! TIME WITH TIME ZONE from and to text, times and timestamps.

use super::{fallible, infallible, invalid_text, to_text};
use std::cell::RefCell;
use volley_error::Error;
use volley_function::{
    BoundScalar,
    simple::{self, Physical, Time, Timestamp, Varchar, function1},
};
use volley_types::{
    Type,
    civil::{MICROS_PER_SECOND, split_timestamp},
    custom::{TimeTz, TimestampTz, ZonedTime},
};

/// Values as they are stored.
type Stored = Physical<i64>;

/// A conversion from or to TIME WITH TIME ZONE.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    match (from, to) {
        (_, Type::Varchar) => {
            let push = |out: &mut String, stored: i64| ZonedTime::of(stored).push(out);
            infallible(from, to, to_text::native(push))
        }
        (_, Type::Time) => {
            infallible(from, to, function1::<Stored, Time, _>(|it: i64| ZonedTime::of(it).micros))
        }
        (Type::Varchar, _) => {
            let to_type = to.clone();
            let parse = move |text: &str| -> Result<i64, Error> {
                let time = ZonedTime::parse(text).and_then(ZonedTime::stored);
                time.ok_or_else(|| invalid_text(text, &to_type))
            };
            fallible(from, to, function1::<Varchar, Stored, _>(parse))
        }
        (Type::Time, _) => fallible(from, to, function1::<Time, Stored, _>(|it| zoned(it, 0))),
        (Type::Timestamp, _) => {
            let time = |it: i64| zoned(split_timestamp(it).1, 0);
            fallible(from, to, function1::<Timestamp, Stored, _>(time))
        }
        _ if TimestampTz::is(from) && TimeTz::is(to) => {
            let function = simple::vectorized(|rows, args, to, ctx| {
                let zone = ctx.query.time_zone.clone();
                let clock = RefCell::new(zone.clock());
                let time = |instant: i64| {
                    let offset = clock.borrow_mut().offset_at(instant);
                    let local = instant.saturating_add(offset);
                    zoned(split_timestamp(local).1, offset / MICROS_PER_SECOND)
                };
                simple::map1::<Stored, Stored, _>(rows, args, to, ctx, time)
            });
            fallible(from, to, function)
        }
        _ => None,
    }
}

fn zoned(micros: i64, offset: i64) -> Result<i64, Error> {
    let time = ZonedTime { micros, offset }.stored();
    time.ok_or_else(|| Error::invalid_value("time out of range"))
}
