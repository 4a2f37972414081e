//! `avg`: the exact sum of integers, decimals or points in time, or the sum of floats, divided by
//! their number.

use super::{
    bound,
    float_sum::Floats,
    sum::{ExactSum, Summand, add_slice, add_times, widened},
    typed::{TypedAggregate, arg, field_of, native_column, native_of, row_column},
};
use crate::documentation::doc;
use std::{marker::PhantomData, sync::Arc};
use volley_error::Result;
use volley_function::{BoundAggregate, Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{Field, PhysicalType, Type, civil::MICROS_PER_DAY, custom::TimestampTz};
use volley_vector::{Decoded, Rows, Vector};

/// Registers `avg` and `mean`.
pub(super) fn register(registry: &mut Registry) {
    let numbers = doc(
        "avg(number) -> double",
        "The mean of the values that are not null; null if there is none.",
        "aggregate",
        &[("avg(x) FROM (VALUES (1), (2), (NULL)) v(x)", "1.5")],
    );
    let points = doc(
        "avg(date, timestamp or time) -> timestamp or time",
        "The moment in the middle, rounded to microseconds; a timestamp for dates.",
        "aggregate",
        &[(
            "avg(x) FROM (VALUES (date '2020-01-01'), (date '2020-01-02')) v(x)",
            "2020-01-01 12:00:00",
        )],
    );
    for name in ["avg", "mean"] {
        registry.add_aggregate(name, numbers.clone(), Arc::new(bind));
        registry.add_aggregate(name, points.clone(), Arc::new(bind_points));
    }
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    if matches!(arg, Type::Real | Type::Double | Type::Unknown) {
        let to = partial_type(Type::Double);
        return Some(bound(vec![Type::Double], to, Type::Double, Floats::Average));
    }
    let (_, scale) = arg.decimal_shape()?;
    let (args, to) = (vec![arg.clone()], partial_type(Type::HugeInt));
    Some(match arg.physical() {
        PhysicalType::I8 => bound(args, to, Type::Double, Average::<i8>::new(scale)),
        PhysicalType::I16 => bound(args, to, Type::Double, Average::<i16>::new(scale)),
        PhysicalType::I32 => bound(args, to, Type::Double, Average::<i32>::new(scale)),
        PhysicalType::I64 => bound(args, to, Type::Double, Average::<i64>::new(scale)),
        _ => bound(args, to, Type::Double, Average::<i128>::new(scale)),
    })
}

/// The mean of points in time.
fn bind_points(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    let to = match arg {
        Type::Date => Type::Timestamp,
        Type::Timestamp | Type::Time => arg.clone(),
        instant if TimestampTz::is(instant) => instant.clone(),
        _ => return None,
    };
    let (args, partial) = (vec![arg.clone()], partial_type(Type::HugeInt));
    Some(match arg {
        Type::Date => {
            bound(args, partial, to.clone(), Average::<i32>::of_points(to, MICROS_PER_DAY))
        }
        _ => bound(args, partial, to.clone(), Average::<i64>::of_points(to, 1)),
    })
}

pub(super) fn partial_type(sum: Type) -> Type {
    Type::row([Field::new("sum", sum), Field::new("count", Type::BigInt)])
}

/// `avg` of integers, unscaled decimals or points in time.
struct Average<T> {
    mean: Mean,
    input: PhantomData<fn() -> T>,
}

/// What a sum is made.
enum Mean {
    /// A DOUBLE; an unscaled decimal is divided by this.
    Double { scale_factor: i128 },
    /// The quotient by the number of input units per result unit, rounded to the nearest one; from
    /// the middle toward zero.
    Whole { to: Type, units: i128 },
}

impl<T> Average<T> {
    fn new(scale: u8) -> Average<T> {
        let mean = Mean::Double { scale_factor: 10i128.pow(scale.into()) };
        Average { mean, input: PhantomData }
    }

    fn of_points(to: Type, units: i64) -> Average<T> {
        Average { mean: Mean::Whole { to, units: units.into() }, input: PhantomData }
    }
}

impl<T: Summand> TypedAggregate for Average<T> {
    type State = ExactSum;
    type Input<'a> = &'a [T];
    type Partial<'a> = (&'a [i128], &'a [i64]);

    fn empty(&self) -> ExactSum {
        ExactSum::default()
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<&'a [T]> {
        native_of(arg(args, 0)?)
    }

    #[inline(always)]
    fn add(&self, state: &mut ExactSum, input: &&[T], _row: usize, index: usize) -> Result<()> {
        state.add(input[index]);
        Ok(())
    }

    fn add_all(&self, state: &mut ExactSum, input: &&[T], len: usize) -> Result<()> {
        add_slice(state, &input[..len]);
        Ok(())
    }

    fn add_repeated(
        &self,
        state: &mut ExactSum,
        input: &&[T],
        rows: &Rows,
        index: usize,
    ) -> Result<()> {
        if !rows.is_empty() {
            add_times(state, input[index], rows);
        }
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>> {
        Ok((field_of(partial, 0)?, field_of(partial, 1)?))
    }

    #[inline(always)]
    fn merge(&self, state: &mut ExactSum, partial: &Self::Partial<'_>, index: usize) -> Result<()> {
        state.add_sum(partial.0[index], partial.1[index] as u64);
        Ok(())
    }

    fn lift(&self, args: &[Vector], rows: usize) -> Result<Option<Vector>> {
        let [arg] = args else { return Ok(None) };
        let column = Decoded::new(arg)?;
        let mut sums = widened::<T>(&column)?;
        let mut counts = vec![1i64; rows];
        if let Some(nulls) = column.nulls() {
            for row in (0..rows).filter(|row| nulls.is_null(*row)) {
                (sums[row], counts[row]) = (0, 0);
            }
        }
        let sums = Vector::native::<i128>(Type::HugeInt, sums, None);
        let counts = Vector::native::<i64>(Type::BigInt, counts, None);
        Ok(Some(row_column(&partial_type(Type::HugeInt), vec![sums, counts], rows)))
    }

    fn partial(&self, states: &mut TypedSlots<'_, ExactSum>) -> Result<Vector> {
        let sums = exact_column(states)?;
        let counts = native_column(Type::BigInt, states, |state| Some(state.count() as i64));
        Ok(row_column(&partial_type(Type::HugeInt), vec![sums, counts], states.len()))
    }

    fn result(&self, states: &mut TypedSlots<'_, ExactSum>) -> Result<Vector> {
        let mut failed = None;
        let mut sum_of = |state: &ExactSum| {
            state.checked(&Type::HugeInt).unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        };
        let vector = match &self.mean {
            Mean::Double { scale_factor } => native_column(Type::Double, states, |state| {
                Some(quotient(sum_of(state)?, state.count(), *scale_factor))
            }),
            // A sum of days has 95 bits at most, and the mean is between the points.
            Mean::Whole { to, units } => native_column(to.clone(), states, |state| {
                let sum = sum_of(state)?.saturating_mul(*units);
                Some(nearest(sum, i128::from(state.count())) as i64)
            }),
        };
        failed.map_or(Ok(vector), Err)
    }
}

/// `sum / count` as the nearest integer; from the middle toward zero. `count` is at least 1.
fn nearest(sum: i128, count: i128) -> i128 {
    let (whole, rest) = (sum / count, sum % count);
    if rest.abs() * 2 > count { whole + sum.signum() } else { whole }
}

/// `sum / (count * scale_factor)`, rounded once where 53 bits hold both, and else with an error
/// barely above half a unit in the last place.
fn quotient(sum: i128, count: u64, scale_factor: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let Some(divisor) = i128::from(count).checked_mul(scale_factor) else {
        return sum as f64 / count as f64 / scale_factor as f64;
    };
    if sum.unsigned_abs() <= EXACT && divisor.unsigned_abs() <= EXACT {
        return sum as f64 / divisor as f64;
    }
    let (whole, rest) = (sum / divisor, sum % divisor);
    whole as f64 + rest as f64 / divisor as f64
}

/// The sums as HUGEINT, zero for empty groups.
fn exact_column(states: &mut TypedSlots<'_, ExactSum>) -> Result<Vector> {
    let mut failed = None;
    let vector =
        native_column(Type::HugeInt, states, |state| match state.checked(&Type::HugeInt) {
            Ok(sum) => Some(sum.unwrap_or(0)),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
    failed.map_or(Ok(vector), Err)
}
