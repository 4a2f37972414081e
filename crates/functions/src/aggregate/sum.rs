//! `sum`: exact for integers (HUGEINT) and decimals (DECIMAL(38, s)); DOUBLE for floats.

use super::{
    bound,
    float_sum::Floats,
    typed::{TypedAggregate, arg, native_column, native_of},
};
use crate::documentation::doc;
use std::{marker::PhantomData, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{DECIMAL_PRECISION_MAX, Native, PhysicalType, Type, text::push_type_name};
use volley_vector::{Decoded, Indices, Rows, Vector};

/// Registers `sum`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "sum(number) -> hugeint, decimal(38, s) or double",
        "The sum of the values that are not null; null if there is none. Exact for integers and \
         decimals.",
        "aggregate",
        &[("sum(x) FROM (VALUES (1), (2), (NULL)) v(x)", "3")],
    );
    registry.add_aggregate("sum", doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    let result = match arg {
        Type::Real | Type::Double => {
            return Some(bound(vec![Type::Double], Type::Double, Type::Double, Floats::Sum));
        }
        Type::Decimal { scale, .. } => {
            Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale: *scale }
        }
        Type::Boolean | Type::Unknown => {
            let form = Sum::<i32>::new(Type::HugeInt);
            return Some(bound(vec![Type::Integer], Type::HugeInt, Type::HugeInt, form));
        }
        integer if integer.is_integer() => Type::HugeInt,
        _ => return None,
    };
    let (args, to) = (vec![arg.clone()], result.clone());
    Some(match arg.physical() {
        PhysicalType::I8 => bound(args, to, result.clone(), Sum::<i8>::new(result)),
        PhysicalType::I16 => bound(args, to, result.clone(), Sum::<i16>::new(result)),
        PhysicalType::I32 => bound(args, to, result.clone(), Sum::<i32>::new(result)),
        PhysicalType::I64 => bound(args, to, result.clone(), Sum::<i64>::new(result)),
        _ => bound(args, to, result.clone(), Sum::<i128>::new(result)),
    })
}

/// An exact sum and the number of values in it. Two 64-bit halves, so that rows stay aligned to 8
/// bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct ExactSum {
    low: u64,
    high: i64,
    /// Values added; the top bit says that the sum left 128 bits.
    count: u64,
}

/// 10^0 to 10^38: what sums of decimals stay below.
const POWERS_OF_TEN: [u128; DECIMAL_PRECISION_MAX as usize + 1] = {
    let mut powers = [1; DECIMAL_PRECISION_MAX as usize + 1];
    let mut precision = 1;
    while precision < powers.len() {
        powers[precision] = powers[precision - 1] * 10;
        precision += 1;
    }
    powers
};

/// The sum left 128 bits.
const OVERFLOWED: u64 = 1 << 63;

impl ExactSum {
    #[inline(always)]
    pub(super) fn add<T: Summand>(&mut self, value: T) {
        let (sum, overflow) = T::add_to(self.total(), value);
        self.set(sum, overflow);
        self.count += 1;
    }

    #[inline(always)]
    pub(super) fn add_sum(&mut self, sum: i128, count: u64) {
        let (sum, overflow) = self.total().overflowing_add(sum);
        self.set(sum, overflow);
        self.count += count;
    }

    fn add_product<T: Summand>(&mut self, value: T, count: usize) {
        let (product, overflow) = value.wide().overflowing_mul(count as i128);
        self.count |= if overflow { OVERFLOWED } else { 0 };
        self.add_sum(product, count as u64);
    }

    #[inline(always)]
    fn set(&mut self, sum: i128, overflow: bool) {
        self.low = sum as u64;
        self.high = (sum >> 64) as i64;
        self.count |= u64::from(overflow) << 63;
    }

    #[inline(always)]
    fn total(&self) -> i128 {
        i128::from(self.high) << 64 | i128::from(self.low)
    }

    pub(super) fn count(&self) -> u64 {
        self.count & !OVERFLOWED
    }

    /// The sum, if it fits `data_type`; `None` of an empty group.
    pub(super) fn checked(&self, data_type: &Type) -> Result<Option<i128>> {
        let total = self.total();
        let fits = match data_type {
            Type::Decimal { precision, .. } => POWERS_OF_TEN
                .get(usize::from(*precision))
                .is_none_or(|it| total.unsigned_abs() < *it),
            _ => true,
        };
        if self.count >= OVERFLOWED || !fits {
            let mut message = "overflow in sum: the result does not fit ".to_owned();
            push_type_name(&mut message, data_type);
            return Err(Error::invalid_value(message).hint("cast the argument to DOUBLE"));
        }
        Ok((self.count > 0).then_some(total))
    }
}

/// An integer that can be summed up.
pub(super) trait Summand: Native {
    /// The value in 128 bits.
    fn wide(self) -> i128;

    /// The sum and whether it overflowed.
    #[inline(always)]
    fn add_to(sum: i128, value: Self) -> (i128, bool) {
        // 2^63 values of 64 bits do not reach 2^127.
        (sum.wrapping_add(value.wide()), false)
    }

    /// The sum of a slice; 64-bit partial sums that the compiler turns into vector instructions.
    fn sum_of(values: &[Self]) -> (i128, bool);
}

macro_rules! narrow_summands {
    ($($native:ty),*) => {
        $(impl Summand for $native {
            #[inline(always)]
            fn wide(self) -> i128 {
                self.into()
            }

            fn sum_of(values: &[$native]) -> (i128, bool) {
                // 2^31 values of 32 bits fit 63 bits; batches are shorter.
                let chunks = values.chunks(1 << 30);
                let sum = chunks.map(|it| it.iter().map(|it| i64::from(*it)).sum::<i64>());
                (sum.map(i128::from).sum(), false)
            }
        })*
    };
}

narrow_summands!(i8, i16, i32);

impl Summand for i64 {
    #[inline(always)]
    fn wide(self) -> i128 {
        self.into()
    }

    fn sum_of(values: &[i64]) -> (i128, bool) {
        let mut total = 0i128;
        // The halves of up to 2^31 values sum up within 64 bits.
        for chunk in values.chunks(1 << 30) {
            let (mut low, mut high) = (0u64, 0i64);
            for &value in chunk {
                low += u64::from(value as u32);
                high += value >> 32;
            }
            total += (i128::from(high) << 32) + i128::from(low);
        }
        (total, false)
    }
}

impl Summand for i128 {
    #[inline(always)]
    fn wide(self) -> i128 {
        self
    }

    #[inline(always)]
    fn add_to(sum: i128, value: i128) -> (i128, bool) {
        sum.overflowing_add(value)
    }

    fn sum_of(values: &[i128]) -> (i128, bool) {
        values.iter().fold((0, false), |(sum, overflowed), value| {
            let (sum, overflow) = sum.overflowing_add(*value);
            (sum, overflowed | overflow)
        })
    }
}

/// Adds a slice to a sum.
pub(super) fn add_slice<T: Summand>(state: &mut ExactSum, values: &[T]) {
    let (sum, overflow) = T::sum_of(values);
    state.count |= if overflow { OVERFLOWED } else { 0 };
    state.add_sum(sum, values.len() as u64);
}

/// Adds a value several times.
pub(super) fn add_times<T: Summand>(state: &mut ExactSum, value: T, rows: &Rows) {
    state.add_product(value, rows.count());
}

/// The values of a column in 128 bits, zero where it is null; nulls are another column's matter.
pub(super) fn widened<T: Summand>(column: &Decoded) -> Result<Vec<i128>> {
    let values = native_of::<T>(column)?;
    if values.is_empty() {
        return Ok(vec![0; column.len()]);
    }
    Ok(match column.indices() {
        Indices::Identity => values.iter().map(|it| it.wide()).collect(),
        Indices::Constant(index) => vec![values[*index as usize].wide(); column.len()],
        Indices::Codes(codes) => codes.iter().map(|it| values[*it as usize].wide()).collect(),
    })
}

/// The sum of integers or unscaled decimals.
struct Sum<T> {
    result: Type,
    input: PhantomData<fn() -> T>,
}

impl<T> Sum<T> {
    fn new(result: Type) -> Sum<T> {
        Sum { result, input: PhantomData }
    }
}

impl<T: Summand> TypedAggregate for Sum<T> {
    type State = ExactSum;
    type Input<'a> = &'a [T];
    type Partial<'a> = &'a [i128];

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

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<&'a [i128]> {
        native_of(arg(partial, 0)?)
    }

    #[inline(always)]
    fn merge(&self, state: &mut ExactSum, partial: &&[i128], index: usize) -> Result<()> {
        state.add_sum(partial[index], 1);
        Ok(())
    }

    fn lift(&self, args: &[Vector], _rows: usize) -> Result<Option<Vector>> {
        let [arg] = args else { return Ok(None) };
        let column = Decoded::new(arg)?;
        let values = widened::<T>(&column)?;
        Ok(Some(Vector::native::<i128>(self.result.clone(), values, column.nulls())))
    }

    fn partial(&self, states: &mut TypedSlots<'_, ExactSum>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, ExactSum>) -> Result<Vector> {
        let mut failed = None;
        let vector = native_column(self.result.clone(), states, |state| {
            state.checked(&self.result).unwrap_or_else(|error| {
                failed = Some(error);
                None
            })
        });
        failed.map_or(Ok(vector), Err)
    }
}
