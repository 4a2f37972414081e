//! Arrays of the values of a series.

use super::nested_of;
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, EvalContext, Registry, ScalarFunction, ScalarTraits, simple};
use volley_types::{Interval, Native, Series, SeriesStep, Type};
use volley_vector::{Decoded, NullBuffer, Rows, Values, Vector};

/// The most values of one batch: 256 MiB.
const VALUES_MAX: u64 = 32 << 20;

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
        _ => return None,
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
        let (start, end, step) = match args.as_slice() {
            [end] => (None, end, None),
            [start, end] => (Some(start), end, None),
            [start, end, step] => (Some(start), end, Some(step)),
            _ => return Err(Error::internal("a series with another number of arguments")),
        };
        let number = |of: &Decoded<'_>, row: usize| of.native::<i64>().get(of.index(row)).copied();
        let mut values: Vec<i64> = Vec::new();
        let mut sizes = vec![0i32; rows.len()];
        let is_null = |row: usize| args.iter().any(|it| it.is_null(row));
        rows.try_for_each(|row| {
            if is_null(row) {
                return Ok(());
            }
            let step = match step.and_then(|it| it.native::<T>().get(it.index(row))) {
                Some(step) => step_of(*step),
                None => Ok(SeriesStep::By(1)),
            };
            let step = match step {
                Ok(step) => step,
                Err(error) => {
                    ctx.fail(row, || error);
                    return Ok(());
                }
            };
            let start = start.map_or(Some(0), |it| number(it, row)).unwrap_or(0);
            let end = number(end, row).unwrap_or(0);
            let series = Series { start, end, step, includes_end };
            let count = series.count();
            if count > VALUES_MAX {
                ctx.fail(row, too_many);
                return Ok(());
            }
            if count.saturating_add(values.len() as u64) > VALUES_MAX {
                return Err(too_many());
            }
            ctx.check_stopped()?;
            values.extend(std::iter::successors(series.first(), |it| series.after(*it)));
            sizes[row] = count as i32;
            Ok(())
        })?;
        let nulls = NullBuffer::from_iter((0..rows.len()).map(|row| !is_null(row)));
        let element = match to {
            Type::Array(element) => (**element).clone(),
            _ => return Err(Error::internal("a series that is no array")),
        };
        let elements = Vector::native::<i64>(element, values, None);
        Ok(Vector::flat(to.clone(), Values::Array(nested_of(sizes, elements)?), Some(nulls)))
    })
}

/// The error of a series, or of those of a batch together, that take too much memory.
fn too_many() -> Error {
    let message = format!("series of more than {VALUES_MAX} values");
    Error::invalid_value(message).hint("FROM range(...) makes rows of them")
}
