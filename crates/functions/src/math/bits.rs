//! Bits of integers in two's complement.

use crate::documentation::doc;
use std::{
    ops::{BitAnd, BitOr, BitXor, Not},
    sync::Arc,
};
use volley_error::Error;
use volley_function::{
    BindScalar, BoundScalar, Registry, ScalarFunction, ScalarTraits,
    simple::{self, NativeColumn, Physical, Stored, TinyInt},
};
use volley_types::{Native, PhysicalType, Type, common_type, custom::SignFlipped, match_integer};

/// Registers the functions on bits.
pub(super) fn register(registry: &mut Registry) {
    let add = |registry: &mut Registry,
               names: [&str; 2],
               text: &str,
               example: (&str, &str),
               bind: BindScalar| {
        for name in names {
            let signature = format!("{name}(integer, integer) -> as the wider");
            registry.add_scalar(name, doc(&signature, text, "math", &[example]), bind.clone());
        }
    };
    let and: BindScalar = Arc::new(|args: &[Type]| bind(args, Operator::And));
    add(registry, ["bit_and_op", "bitwise_and"], "The bits set in both.", ("5 & 3", "1"), and);
    let or: BindScalar = Arc::new(|args: &[Type]| bind(args, Operator::Or));
    add(registry, ["bit_or_op", "bitwise_or"], "The bits set in one or both.", ("5 | 3", "7"), or);
    let xor: BindScalar = Arc::new(|args: &[Type]| bind(args, Operator::Xor));
    add(registry, ["xor", "bitwise_xor"], "The bits set in one only.", ("xor(5, 3)", "6"), xor);
    let left: BindScalar = Arc::new(|args: &[Type]| bind(args, Operator::Left));
    let text = "The bits moved left; an error when the number leaves its type or is negative.";
    add(registry, ["bit_shift_left", "shift_left"], text, ("1 << 4", "16"), left);
    let right: BindScalar = Arc::new(|args: &[Type]| bind(args, Operator::Right));
    let text = "The bits moved right; 0 when none is left.";
    add(registry, ["bit_shift_right", "shift_right"], text, ("32 >> 2", "8"), right);
    let not: BindScalar = Arc::new(bind_not);
    add(registry, ["bit_not_op", "bitwise_not"], "All bits turned.", ("~5", "-6"), not);
    let count = doc(
        "bit_count(integer) -> tinyint, smallint of hugeint",
        "The number of bits set.",
        "math",
        &[("bit_count(5)", "2")],
    );
    registry.add_scalar("bit_count", count, Arc::new(bind_count));
}

#[derive(Clone, Copy)]
enum Operator {
    And,
    Or,
    Xor,
    Left,
    Right,
}

/// An integer as bits.
trait Bits:
    Native
    + Into<i128>
    + TryFrom<i128>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Stored<NativeColumn<Self>>
{
    fn ones(self) -> u32;
}

macro_rules! bits {
    ($($native:ty),*) => {
        $(impl Bits for $native {
            fn ones(self) -> u32 {
                self.count_ones()
            }
        })*
    };
}

bits!(i8, i16, i32, i64, i128);

/// The type of all integers among the arguments; untyped nulls take it, too.
fn integer_type(args: &[Type]) -> Option<Type> {
    let common =
        args.iter().cloned().reduce(|a, b| common_type(&a, &b).unwrap_or(Type::Varchar))?;
    let common = if common == Type::Unknown { Type::BigInt } else { common };
    let is_whole = common.is_integer() || common.unsigned().is_some();
    (is_whole && !args.contains(&Type::Boolean)).then_some(common)
}

fn bind(args: &[Type], operator: Operator) -> Option<BoundScalar> {
    let common = integer_type(args).filter(|_| args.len() == 2)?;
    let traits = match operator {
        Operator::Left => ScalarTraits::DEFAULT,
        _ => ScalarTraits::INFALLIBLE,
    };
    let is_unsigned = common.unsigned().is_some();
    let function = match_integer!(common.physical(), T => {
        if is_unsigned { unsigned::<T>(operator) } else { function::<T>(operator) }
    }, else return None);
    let args = vec![common.clone(), common.clone()];
    Some(BoundScalar::new(args, common, traits, function))
}

fn function<T: Bits>(operator: Operator) -> Arc<dyn ScalarFunction> {
    fn with<T: Bits>(f: impl Fn(T, T) -> T + Send + Sync + 'static) -> Arc<dyn ScalarFunction> {
        simple::function2::<Physical<T>, Physical<T>, Physical<T>, _>(f)
    }
    match operator {
        Operator::And => with::<T>(|a, b| a & b),
        Operator::Or => with::<T>(|a, b| a | b),
        Operator::Xor => with::<T>(|a, b| a ^ b),
        Operator::Left => simple::function2::<Physical<T>, Physical<T>, Physical<T>, _>(left::<T>),
        Operator::Right => with::<T>(right::<T>),
    }
}

/// As [`function`], on unsigned integers.
fn unsigned<T: Bits + SignFlipped>(operator: Operator) -> Arc<dyn ScalarFunction> {
    fn with<T: Bits + SignFlipped>(
        f: impl Fn(u128, u128) -> u128 + Send + Sync + 'static,
    ) -> Arc<dyn ScalarFunction> {
        simple::function2::<Physical<T>, Physical<T>, Physical<T>, _>(move |a: T, b: T| {
            T::stored_low(f(a.number().into(), b.number().into()))
        })
    }
    match operator {
        Operator::And => with::<T>(|a, b| a & b),
        Operator::Or => with::<T>(|a, b| a | b),
        Operator::Xor => with::<T>(|a, b| a ^ b),
        Operator::Right => with::<T>(|a, b| {
            u32::try_from(b).ok().and_then(|it| a.checked_shr(it)).unwrap_or_default()
        }),
        Operator::Left => {
            simple::function2::<Physical<T>, Physical<T>, Physical<T>, _>(|a: T, b: T| {
                let (value, shift): (u128, u128) = (a.number().into(), b.number().into());
                let factor = u32::try_from(shift).ok().and_then(|it| 2u128.checked_pow(it));
                let shifted = factor.and_then(|it| value.checked_mul(it));
                let shifted = shifted.and_then(|it| T::Number::try_from(it).ok());
                shifted.map(T::stored).ok_or_else(|| {
                    Error::invalid_value(format!("overflow in left shift ({value} << {shift})"))
                })
            })
        }
    }
}

fn left<T: Bits>(value: T, shift: T) -> Result<T, Error> {
    let (value, shift): (i128, i128) = (value.into(), shift.into());
    let shifted = u32::try_from(shift)
        .ok()
        .filter(|_| value >= 0)
        .and_then(|it| 2i128.checked_pow(it))
        .and_then(|it| value.checked_mul(it))
        .and_then(|it| T::try_from(it).ok());
    shifted
        .ok_or_else(|| Error::invalid_value(format!("overflow in left shift ({value} << {shift})")))
}

fn right<T: Bits>(value: T, shift: T) -> T {
    let bits = size_of::<T>() as i128 * 8;
    let (value, shift): (i128, i128) = (value.into(), shift.into());
    let shifted = if (0..bits).contains(&shift) { value >> shift } else { 0 };
    T::try_from(shifted).unwrap_or_default()
}

fn bind_not(args: &[Type]) -> Option<BoundScalar> {
    let common = integer_type(args).filter(|_| args.len() == 1)?;
    let function = match_integer!(common.physical(), T => {
        simple::function1::<Physical<T>, Physical<T>, _>(|it: T| !it)
    }, else return None);
    let (args, traits) = (vec![common.clone()], ScalarTraits::INFALLIBLE);
    Some(BoundScalar::new(args, common, traits, function))
}

fn bind_count(args: &[Type]) -> Option<BoundScalar> {
    let common = integer_type(args).filter(|_| args.len() == 1)?;
    let is_unsigned = common.unsigned().is_some();
    // -1 as HUGEINT has 128 bits set, which are too many for TINYINT.
    let (function, result) = match common.physical() {
        PhysicalType::I128 => {
            let flipped = if is_unsigned { i128::MIN } else { 0 };
            let count = move |it: i128| (it ^ flipped).ones() as i16;
            (simple::function1::<Physical<i128>, Physical<i16>, _>(count), Type::SmallInt)
        }
        physical => match_integer!(physical, T => {
            // The flipped bit is the number's highest.
            let flipped = if is_unsigned { T::MIN } else { 0 };
            let count = move |it: T| (it ^ flipped).ones() as i8;
            (simple::function1::<Physical<T>, TinyInt, _>(count), Type::TinyInt)
        }, else return None),
    };
    Some(BoundScalar::new(vec![common], result, ScalarTraits::INFALLIBLE, function))
}
