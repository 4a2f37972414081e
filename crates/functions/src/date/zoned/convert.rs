//! Conversions between instants and local times of the session.

use super::{is_instant, map_micros, to_instants, to_local};
use volley_error::Result;
use volley_function::{
    BoundScalar, EvalContext, ScalarTraits,
    simple::{self, Date, Timestamp, map1},
};
use volley_types::{Type, civil};
use volley_vector::{Rows, Vector};

/// A conversion between instants and dates, times and timestamps.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    type Convert = fn(&Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector>;
    let (convert, traits): (Convert, ScalarTraits) = match (from, to) {
        (Type::Timestamp, _) if is_instant(to) => {
            (|_, args, to, ctx| to_instants(&args[0], to, ctx), ScalarTraits::INFALLIBLE)
        }
        (Type::Date, _) if is_instant(to) => (of_date, ScalarTraits::DEFAULT),
        (_, Type::Timestamp) if is_instant(from) => {
            (|_, args, _, ctx| to_local(&args[0], ctx), ScalarTraits::INFALLIBLE)
        }
        (_, Type::Date) if is_instant(from) => {
            let day = |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
                let local = [to_local(&args[0], ctx)?];
                map1::<Timestamp, Date, i32>(rows, &local, to, ctx, civil::date_of)
            };
            (day, ScalarTraits::INFALLIBLE)
        }
        (_, Type::Time) if is_instant(from) => {
            let time = |_: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
                let local = to_local(&args[0], ctx)?;
                map_micros(&local, to, &mut |it| civil::split_timestamp(it).1)
            };
            (time, ScalarTraits::INFALLIBLE)
        }
        _ => return None,
    };
    let cast =
        BoundScalar::new(vec![from.clone()], to.clone(), traits, simple::vectorized(convert));
    Some(BoundScalar { name: "cast".to_owned(), ..cast })
}

fn of_date(rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext) -> Result<Vector> {
    let local = map1::<Date, Timestamp, Result<i64>>(rows, args, &Type::Timestamp, ctx, |it| {
        civil::timestamp_of(it, 0).ok_or_else(crate::date::timestamp_out_of_range)
    })?;
    to_instants(&local, to, ctx)
}
