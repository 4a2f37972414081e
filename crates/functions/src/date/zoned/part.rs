//! Fields of instants: `date_part`, and the session's distance from UTC.

use super::is_instant;
use crate::{
    date::{field::field_of, field::split, part::integer_unit, unit::Unit},
    documentation::doc,
};
use std::{cell::RefCell, sync::Arc};
use volley_error::Result;
use volley_function::{
    Argument, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, BigInt, Timestamp, Varchar},
};
use volley_types::{Clock, Type, Value, civil::MICROS_PER_SECOND};
use volley_vector::{Rows, Vector};

/// Registers the overload of `date_part`, and `timezone`, `timezone_hour`, `timezone_minute`.
pub(super) fn register(registry: &mut Registry) {
    for name in ["date_part", "datepart"] {
        registry.add_scalar(name, FunctionDoc::default(), Arc::new(bind_part));
    }
    let fields = [
        ("timezone", Unit::Zone, "Seconds that the session's zone is ahead of UTC."),
        ("timezone_hour", Unit::ZoneHour, "Hours that the session's zone is ahead of UTC."),
        (
            "timezone_minute",
            Unit::ZoneMinute,
            "Minutes, without the hours, that the session's zone is ahead of UTC.",
        ),
    ];
    for (name, unit, description) in fields {
        let signature = format!("{name}(timestamp with time zone) -> bigint");
        let call = format!("{name}(timestamptz '2020-07-01 10:00:00')");
        let doc = doc(&signature, description, "date", &[(call.as_str(), "0")]);
        let bind = move |args: &[Type]| match args {
            [of] if is_instant(of) => {
                let traits = ScalarTraits::INFALLIBLE;
                Some(BoundScalar::new(args.to_vec(), Type::BigInt, traits, Arc::new(Field(unit))))
            }
            _ => None,
        };
        registry.add_scalar(name, doc, Arc::new(bind));
    }
}

fn bind_part(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Varchar | Type::Unknown, of] = args else { return None };
    if !is_instant(of) {
        return None;
    }
    let types = vec![Type::Varchar, of.clone()];
    Some(BoundScalar::new(types, Type::BigInt, ScalarTraits::DEFAULT, Arc::new(DatePart)))
}

/// A field, named row by row.
struct DatePart;

impl ScalarFunction for DatePart {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let query = Arc::clone(&ctx.query);
        let clock = RefCell::new(query.time_zone.clock());
        let part = |name: &str, at: i64| -> Result<i64> {
            Ok(part_of(integer_unit(name)?, &mut clock.borrow_mut(), at))
        };
        simple::map2::<Varchar, Timestamp, BigInt, _>(rows, args, to, ctx, part)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let name = args.first().and_then(|it| it.constant.as_ref()).and_then(Value::as_str);
        let Some(name) = name else { return Ok(None) };
        let field = Field(integer_unit(name)?);
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            field.evaluate(rows, &args[1..], to, ctx)
        })))
    }
}

/// One field of the only argument.
struct Field(Unit);

impl ScalarFunction for Field {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let query = Arc::clone(&ctx.query);
        let clock = RefCell::new(query.time_zone.clock());
        let part = |at: i64| part_of(self.0, &mut clock.borrow_mut(), at);
        simple::map1::<Timestamp, BigInt, _>(rows, args, to, ctx, part)
    }
}

fn part_of(unit: Unit, clock: &mut Clock<'_>, at: i64) -> i64 {
    let offset = clock.offset_at(at);
    let seconds = offset / MICROS_PER_SECOND;
    match unit {
        Unit::Zone => seconds,
        Unit::ZoneHour => seconds / 3600,
        Unit::ZoneMinute => seconds / 60 % 60,
        unit => {
            let (days, of_day) = split(at.saturating_add(offset));
            field_of(unit, days, of_day)
        }
    }
}
