//! Arrays of the values of a series.

mod instants;

use super::nested_of;
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits,
    simple::{self, CancelCheck},
};
use volley_types::{Interval, Native, Series, SeriesStep, Type, civil::is_infinite_timestamp};
use volley_vector::{Decoded, NullBuffer, Rows, Values, Vector};

/// The maximum number of values of one array, and of all arrays of one batch: 256 MiB.
const VALUES_MAX: usize = 32 << 20;

/// Registers the series.
pub(super) fn register(registry: &mut Registry) {
    let range = doc(
        "range([start,] end[, step]) -> array",
        "The numbers, or with an INTERVAL as step the timestamps, from `start` (or 0) on, `step` (or \
         1) apart, before `end`. In FROM it makes rows.",
        "nested",
        &[("range(3)", "[0, 1, 2]"), ("range(5, 0, -2)", "[5, 3, 1]")],
    );
    registry.add_scalar("range", range, Arc::new(|args: &[Type]| bind(args, false)));
    let series = doc(
        "generate_series([start,] end[, step]) -> array",
        "The numbers, or with an INTERVAL as step the timestamps, from `start` (or 0) on, `step` (or \
         1) apart, up to `end`. In FROM it makes rows.",
        "nested",
        &[("generate_series(1, 3)", "[1, 2, 3]")],
    );
    registry.add_scalar("generate_series", series, Arc::new(|args: &[Type]| bind(args, true)));
}

fn bind(args: &[Type], includes_end: bool) -> Option<BoundScalar> {
    let is_number = |it: &Type| *it == Type::Unknown || (it.is_integer() && *it != Type::HugeInt);
    let is_time = |it: &Type| matches!(it, Type::Unknown | Type::Date | Type::Timestamp);
    let (takes, result, function) = match args {
        [_] | [_, _] | [_, _, _] if args.iter().all(is_number) => {
            (vec![Type::BigInt; args.len()], Type::BigInt, arrays::<i64>(includes_end, by))
        }
        [start, end, Type::Interval] if is_time(start) && is_time(end) => {
            let takes = vec![Type::Timestamp, Type::Timestamp, Type::Interval];
            let step = SeriesStep::of_interval;
            (takes, Type::Timestamp, arrays::<Interval>(includes_end, step))
        }
        _ => return instants::bind(args, includes_end),
    };
    Some(BoundScalar::new(takes, Type::array(result), ScalarTraits::DEFAULT, function))
}

fn by(step: i64) -> Result<SeriesStep> {
    Ok(SeriesStep::By(step))
}

fn arrays<T: Native>(
    includes_end: bool,
    step_of: fn(T) -> Result<SeriesStep>,
) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let mut values: Vec<i64> = Vec::new();
        let mut cancel = CancelCheck::default();
        let mut sizes = vec![0i32; rows.len()];
        let is_null = |row: usize| args.iter().any(|it| it.is_null(row));
        rows.try_for_each(|row| {
            if is_null(row) {
                return Ok(());
            }
            let series = match series_of(&args, row, step_of, includes_end) {
                Ok(series) => series,
                Err(error) => {
                    ctx.fail(row, || error);
                    return Ok(());
                }
            };
            let count = series.count() as usize;
            if count + values.len() > VALUES_MAX {
                return Err(too_many());
            }
            ctx.charge(count * size_of::<i64>())?;
            cancel.check(count)?;
            values.reserve(count);
            values.extend(std::iter::successors(series.first(), |it| series.after(*it)));
            sizes[row] = count as i32;
            Ok(())
        })?;
        let nulls = NullBuffer::from_iter((0..rows.len()).map(|row| !is_null(row)));
        arrays_of(values, sizes, nulls, to)
    })
}

/// The arrays of type `to` that have `sizes` of the values, one for each row.
fn arrays_of(values: Vec<i64>, sizes: Vec<i32>, nulls: NullBuffer, to: &Type) -> Result<Vector> {
    let Type::Array(element) = to else {
        return Err(Error::internal("a series that is no array"));
    };
    let elements = Vector::native::<i64>((**element).clone(), values, None);
    Ok(Vector::flat(to.clone(), Values::Array(nested_of(sizes, elements)?), Some(nulls)))
}

/// The series of a row whose arguments are not null. It has no more values than an array may have.
fn series_of<T: Native>(
    args: &[Decoded<'_>],
    row: usize,
    step_of: fn(T) -> Result<SeriesStep>,
    includes_end: bool,
) -> Result<Series> {
    let (start, end, step) = match args {
        [end] => (None, end, None),
        [start, end] => (Some(start), end, None),
        [start, end, step] => (Some(start), end, Some(step)),
        _ => return Err(Error::internal("a series with another number of arguments")),
    };
    let number = |of: &Decoded<'_>| of.native::<i64>().get(of.index(row)).copied().unwrap_or(0);
    let step = match step.and_then(|it| it.native::<T>().get(it.index(row))) {
        Some(step) => step_of(*step)?,
        None => SeriesStep::By(1),
    };
    let is_timestamp = *end.data_type() == Type::Timestamp;
    let (start, end) = (start.map_or(0, number), number(end));
    if is_timestamp && (is_infinite_timestamp(start) || is_infinite_timestamp(end)) {
        return Err(Error::invalid_value("series with an infinite bound"));
    }
    let series = Series { start, end, step, includes_end };
    if series.count() > VALUES_MAX as u64 { Err(too_many()) } else { Ok(series) }
}

fn too_many() -> Error {
    Error::invalid_value(format!("series of more than {VALUES_MAX} values"))
        .hint("FROM range(...) makes rows of them")
}
