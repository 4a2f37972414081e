//! Fields of points in time: `date_part`, and a function for each field.

use super::{
    field::{
        epoch_of, epoch_of_interval, field_of, field_of_interval, field_of_time, julian_of, split,
    },
    infinite::null_of_infinite,
    unit::Unit,
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Argument, BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits, block_unary,
    simple::{self, BigInt, Date, Double, Interval, Time, Timestamp, Varchar},
};
use volley_types::{
    Type, Value,
    civil::{MICROS_PER_DAY, is_infinite_date},
    custom::TimestampUnit,
};
use volley_vector::{Rows, Vector};

/// Registers `date_part` (EXTRACT), `year` to `microsecond`, `epoch` and `julian`.
pub(super) fn register(registry: &mut Registry) {
    let date_part = doc(
        "date_part(field, date, timestamp, time or interval) -> bigint",
        "A field: year, month, day, hour, minute, second, quarter, week, dow, doy, century, ...",
        "date",
        &[
            ("date_part('month', date '2020-02-29')", "2"),
            ("extract(dow FROM date '2020-02-29')", "6"),
        ],
    );
    for name in ["date_part", "datepart"] {
        registry.add_scalar(name, date_part.clone(), null_of_infinite(Arc::new(bind_date_part)));
    }
    for (name, unit, example) in FIELDS {
        let signature = format!("{name}(date or timestamp) -> bigint");
        let call = format!("{name}(timestamp '2024-12-30 06:07:08.5')");
        let description = format!("The field {} of a point in time.", unit.name());
        let doc = doc(&signature, &description, "date", &[(call.as_str(), example)]);
        let bind = move |args: &[Type]| match args {
            [one] => bind_field(unit, one),
            _ => None,
        };
        registry.add_scalar(name, doc, null_of_infinite(Arc::new(bind)));
    }
    register_seconds(registry);
}

/// The functions of one field, and their results for 2024-12-30 06:07:08.5.
const FIELDS: [(&str, Unit, &str); 24] = [
    ("era", Unit::Era, "1"),
    ("millennium", Unit::Millennium, "3"),
    ("century", Unit::Century, "21"),
    ("decade", Unit::Decade, "202"),
    ("year", Unit::Year, "2024"),
    ("isoyear", Unit::IsoYear, "2025"),
    ("quarter", Unit::Quarter, "4"),
    ("month", Unit::Month, "12"),
    ("yearweek", Unit::YearWeek, "202501"),
    ("week", Unit::Week, "1"),
    ("weekofyear", Unit::Week, "1"),
    ("day", Unit::Day, "30"),
    ("dayofmonth", Unit::Day, "30"),
    ("dayofweek", Unit::DayOfWeek, "1"),
    ("weekday", Unit::DayOfWeek, "1"),
    ("dow", Unit::DayOfWeek, "1"),
    ("isodow", Unit::IsoDayOfWeek, "1"),
    ("dayofyear", Unit::DayOfYear, "365"),
    ("doy", Unit::DayOfYear, "365"),
    ("hour", Unit::Hour, "6"),
    ("minute", Unit::Minute, "7"),
    ("second", Unit::Second, "8"),
    ("millisecond", Unit::Millisecond, "8500"),
    ("microsecond", Unit::Microsecond, "8500000"),
];

/// What fields are taken from.
#[derive(Clone, Copy)]
enum Source {
    Date,
    Timestamp,
    Time,
    Interval,
}

impl Source {
    fn of(data_type: &Type) -> Option<Source> {
        Some(match data_type {
            Type::Date => Source::Date,
            Type::Timestamp | Type::Unknown => Source::Timestamp,
            Type::Time => Source::Time,
            Type::Interval => Source::Interval,
            _ => return None,
        })
    }

    fn data_type(self) -> Type {
        match self {
            Source::Date => Type::Date,
            Source::Timestamp => Type::Timestamp,
            Source::Time => Type::Time,
            Source::Interval => Type::Interval,
        }
    }
}

/// A function of TIMESTAMP for TIMESTAMP_NS, whose fields are those of the complete microseconds.
struct OfNanoseconds {
    inner: Arc<dyn ScalarFunction>,
    /// The position of the argument.
    at: usize,
}

impl ScalarFunction for OfNanoseconds {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let mut args = args.to_vec();
        let whole = |it: i64| it.div_euclid(1_000);
        let nanos = std::slice::from_ref(&args[self.at]);
        let micros = simple::map1::<simple::Physical<i64>, Timestamp, _>(
            rows,
            nanos,
            &Type::Timestamp,
            ctx,
            whole,
        )?;
        args[self.at] = micros;
        self.inner.evaluate(rows, &args, to, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let inner = self.inner.specialize(args)?;
        Ok(inner.map(|inner| Arc::new(OfNanoseconds { inner, at: self.at }) as _))
    }
}

/// What `bind` gives for TIMESTAMP in the last place, where the last argument is a TIMESTAMP_NS.
fn of_nanoseconds(
    args: &[Type],
    bind: impl Fn(&[Type]) -> Option<BoundScalar>,
) -> Option<BoundScalar> {
    let (last, others) = args.split_last()?;
    if TimestampUnit::of(last) != Some(TimestampUnit::Nanosecond) {
        return None;
    }
    let inner = bind(&[others, &[Type::Timestamp]].concat())?;
    let function = Arc::new(OfNanoseconds { inner: inner.function, at: others.len() });
    let mut args = inner.args;
    *args.last_mut()? = last.clone();
    Some(BoundScalar { args, function, ..inner })
}

fn bind_field(unit: Unit, arg: &Type) -> Option<BoundScalar> {
    if let Some(bound) = of_nanoseconds(std::slice::from_ref(arg), |it| bind_field(unit, &it[0])) {
        return Some(bound);
    }
    let source = Source::of(arg)?;
    let always = matches!(source, Source::Date | Source::Timestamp);
    Some(BoundScalar {
        name: String::new(),
        args: vec![source.data_type()],
        result: Type::BigInt,
        traits: if always { ScalarTraits::INFALLIBLE } else { ScalarTraits::DEFAULT },
        function: field_function(unit, source),
    })
}

/// The field of the first argument; the fields of dates asked for most get loops of their own.
fn field_function(unit: Unit, source: Source) -> Arc<dyn ScalarFunction> {
    match (source, unit) {
        (Source::Date, Unit::Year) => of_date(|days| field_of(Unit::Year, days, 0)),
        (Source::Date, Unit::Month) => of_date(|days| field_of(Unit::Month, days, 0)),
        (Source::Date, Unit::Day) => of_date(|days| field_of(Unit::Day, days, 0)),
        (Source::Date, _) => of_date(move |days| field_of(unit, days, 0)),
        (Source::Timestamp, _) => simple::function1::<Timestamp, BigInt, _>(move |micros: i64| {
            let (days, of_day) = split(micros);
            field_of(unit, days, of_day)
        }),
        (Source::Time, _) => {
            simple::function1::<Time, BigInt, _>(move |it| field_of_time(unit, it))
        }
        (Source::Interval, _) => {
            simple::function1::<Interval, BigInt, _>(move |it| field_of_interval(unit, it))
        }
    }
}

fn of_date(f: impl Fn(i32) -> i64 + Copy + Send + Sync + 'static) -> Arc<dyn ScalarFunction> {
    let function = simple::function1::<Date, BigInt, _>(f);
    simple::with_block(function, block_unary(move |days| (f(days), is_infinite_date(days))))
}

fn bind_date_part(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown, point] = args else { return None };
    if let Some(bound) = of_nanoseconds(args, bind_date_part) {
        return Some(bound);
    }
    let source = Source::of(point)?;
    Some(BoundScalar {
        name: String::new(),
        args: vec![Type::Varchar, source.data_type()],
        result: Type::BigInt,
        traits: ScalarTraits::DEFAULT,
        function: Arc::new(DatePart { source }),
    })
}

struct DatePart {
    source: Source,
}

impl ScalarFunction for DatePart {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        type Field = Varchar;
        match self.source {
            Source::Date => {
                simple::map2::<Field, Date, BigInt, _>(rows, args, to, ctx, |name, it| {
                    Ok::<i64, Error>(field_of(integer_unit(name)?, it, 0))
                })
            }
            Source::Timestamp => {
                simple::map2::<Field, Timestamp, BigInt, _>(rows, args, to, ctx, |name, it| {
                    let (days, of_day) = split(it);
                    Ok::<i64, Error>(field_of(integer_unit(name)?, days, of_day))
                })
            }
            Source::Time => {
                simple::map2::<Field, Time, BigInt, _>(rows, args, to, ctx, |name, it| {
                    field_of_time(integer_unit(name)?, it)
                })
            }
            Source::Interval => {
                simple::map2::<Field, Interval, BigInt, _>(rows, args, to, ctx, |name, it| {
                    field_of_interval(integer_unit(name)?, it)
                })
            }
        }
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let name = args.first().and_then(|it| it.constant.as_ref()).and_then(Value::as_str);
        let Some(name) = name else { return Ok(None) };
        let field = field_function(integer_unit(name)?, self.source);
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            field.evaluate(rows, &args[1..], to, ctx)
        })))
    }
}

pub(super) fn integer_unit(name: &str) -> Result<Unit> {
    match Unit::parse(name)? {
        unit @ (Unit::Epoch | Unit::Julian) => {
            let message = format!("date part {} is no integer", unit.name());
            Err(Error::invalid_value(message).hint(format!("use the function {}", unit.name())))
        }
        unit => Ok(unit),
    }
}

fn register_seconds(registry: &mut Registry) {
    let epoch = doc(
        "epoch(date, timestamp, time or interval) -> double",
        "Seconds since 1970-01-01, or the seconds of a time or interval.",
        "date",
        &[("epoch(timestamp '1970-01-02 00:00:00.5')", "86400.5")],
    );
    let of_date = simple::unary::<Date, Double, _>(|days: i32| f64::from(days) * 86_400.0);
    registry.add_scalar("epoch", epoch.clone(), null_of_infinite(of_date));
    let of_timestamp = null_of_infinite(simple::unary::<Timestamp, Double, _>(epoch_of));
    registry.add_scalar("epoch", epoch.clone(), Arc::clone(&of_timestamp));
    let of_nanos = move |args: &[Type]| of_nanoseconds(args, &*of_timestamp);
    registry.add_scalar("epoch", epoch.clone(), Arc::new(of_nanos));
    registry.add_scalar("epoch", epoch.clone(), simple::unary::<Time, Double, _>(epoch_of));
    registry.add_scalar("epoch", epoch, simple::unary::<Interval, Double, _>(epoch_of_interval));
    let julian = doc(
        "julian(date or timestamp) -> double",
        "The Julian day.",
        "date",
        &[("julian(timestamp '2024-12-30 12:00:00')", "2460675.5")],
    );
    let of_date = simple::unary::<Date, Double, _>(|days| julian_of(days, 0));
    registry.add_scalar("julian", julian.clone(), null_of_infinite(of_date));
    let of_timestamp = simple::unary::<Timestamp, Double, _>(|micros| {
        let (days, of_day) = split(micros);
        julian_of(days, of_day)
    });
    registry.add_scalar("julian", julian, null_of_infinite(of_timestamp));
    register_nanoseconds(registry);
    register_of_milliseconds(registry);
    for (name, divisor) in [("epoch_us", 1), ("epoch_ms", 1_000)] {
        let signature = format!("{name}(timestamp) -> bigint");
        let call = format!("{name}(timestamp '1970-01-01 00:00:01')");
        let result = (1_000_000 / divisor).to_string();
        let example = [(call.as_str(), result.as_str())];
        let doc = doc(
            &signature,
            "Units of time since 1970-01-01, rounded to the nearest one.",
            "date",
            &example,
        );
        let bind = simple::unary::<Timestamp, BigInt, _>(move |it: i64| {
            it.saturating_add(it.signum() * (divisor / 2)) / divisor
        });
        let bind = null_of_infinite(bind);
        registry.add_scalar(name, doc.clone(), Arc::clone(&bind));
        let of_nanos = move |args: &[Type]| of_nanoseconds(args, &*bind);
        registry.add_scalar(name, doc.clone(), Arc::new(of_nanos));
        let bind = simple::unary::<Date, BigInt, _>(move |it: i32| {
            let units = i64::from(it).checked_mul(MICROS_PER_DAY / divisor);
            units.ok_or_else(|| Error::invalid_value("date out of range of the result"))
        });
        registry.add_scalar(name, doc, null_of_infinite(bind));
    }
}

/// `epoch_ms` of a number is the way back.
fn register_of_milliseconds(registry: &mut Registry) {
    let doc = doc(
        "epoch_ms(bigint) -> timestamp",
        "The timestamp that many milliseconds after 1970-01-01.",
        "date",
        &[("epoch_ms(1500)", "1970-01-01 00:00:01.5")],
    );
    let bind = simple::unary::<BigInt, Timestamp, _>(|it: i64| {
        it.checked_mul(1_000).ok_or_else(super::timestamp_out_of_range)
    });
    registry.add_scalar("epoch_ms", doc, bind);
}

fn register_nanoseconds(registry: &mut Registry) {
    let doc = doc(
        "epoch_ns(timestamp) -> bigint",
        "Nanoseconds since 1970-01-01.",
        "date",
        &[("epoch_ns(timestamp '1970-01-01 00:00:01')", "1000000000")],
    );
    let bind = simple::unary::<Timestamp, BigInt, _>(|it: i64| {
        let out_of_range = || Error::invalid_value("timestamp out of range of the result");
        it.checked_mul(1_000).ok_or_else(out_of_range)
    });
    registry.add_scalar("epoch_ns", doc, null_of_infinite(bind));
}
