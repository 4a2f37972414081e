//! TIME WITH TIME ZONE moved by intervals, added to a date, and its fields.

use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, Date, Interval, Physical, Timestamp},
};
use volley_types::{
    Interval as IntervalValue, Type,
    civil::{self, MICROS_PER_DAY, MICROS_PER_SECOND},
    custom::{TimeTz, TimestampTz, ZonedTime},
};

/// Values as they are stored.
type Stored = Physical<i64>;

/// Intervals keep nanoseconds.
const NANOS_PER_MICRO: i64 = 1_000;

/// Registers the overloads of `plus` and `minus`.
pub(super) fn register(registry: &mut Registry) {
    let forward = simple::function2::<Stored, Interval, Stored, _>(|time, by| turned(time, by, 1));
    let back = simple::function2::<Stored, Interval, Stored, _>(|time, by| turned(time, by, -1));
    let reversed = simple::function2::<Interval, Stored, Stored, _>(|by, time| turned(time, by, 1));
    let on_day = simple::function2::<Date, Stored, Timestamp, _>(instant);
    let of_day = simple::function2::<Stored, Date, Timestamp, _>(|time, day| instant(day, time));
    let (time, instant) = (TimeTz::data_type(), TimestampTz::data_type());
    add(registry, "plus", [time.clone(), Type::Interval], time.clone(), forward);
    add(registry, "plus", [Type::Interval, time.clone()], time.clone(), reversed);
    add(registry, "minus", [time.clone(), Type::Interval], time.clone(), back);
    add(registry, "plus", [Type::Date, time.clone()], instant.clone(), on_day);
    add(registry, "plus", [time, Type::Date], instant, of_day);
}

/// Adds an overload for exactly these types.
fn add(
    registry: &mut Registry,
    name: &str,
    args: [Type; 2],
    result: Type,
    function: Arc<dyn ScalarFunction>,
) {
    let bind = move |given: &[Type]| {
        let is_taken = *given == args;
        let function = Arc::clone(&function);
        is_taken.then(|| {
            BoundScalar::new(args.to_vec(), result.clone(), ScalarTraits::DEFAULT, function)
        })
    };
    registry.add_scalar(name, FunctionDoc::default(), Arc::new(bind));
}

/// A time moved around the clock; months and days do not count.
fn turned(stored: i64, by: IntervalValue, sign: i64) -> Result<i64> {
    let time = ZonedTime::of(stored);
    let moved = time.micros + sign * (by.nanoseconds / NANOS_PER_MICRO % MICROS_PER_DAY);
    stored_time(ZonedTime { micros: moved.rem_euclid(MICROS_PER_DAY), ..time })
}

fn stored_time(time: ZonedTime) -> Result<i64> {
    time.stored().ok_or_else(|| Error::invalid_value("time out of range"))
}

/// The moment of a day at which clocks of the zone show the time.
fn instant(day: i32, stored: i64) -> Result<i64> {
    let time = ZonedTime::of(stored);
    let local = civil::timestamp_of(day, 0).and_then(|it| it.checked_add(time.micros));
    let instant = local.and_then(|it| it.checked_sub(time.offset * MICROS_PER_SECOND));
    instant.ok_or_else(super::timestamp_out_of_range)
}
