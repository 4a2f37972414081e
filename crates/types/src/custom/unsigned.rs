//! UTINYINT, USMALLINT, UINTEGER, UBIGINT and UHUGEINT: unsigned integers of 8 to 128 bits.
//!
//! ```text
//! number    0 ..= 2^bits - 1, in the unsigned Rust type
//! stored    the same bits with the sign bit flipped, in the signed type of the width:
//!           number 0 is stored as the least signed integer
//! ```
//!
//! Stored values are in the order of the numbers. So all loops that compare, hash, sort, group,
//! join, gather, encode and bound signed integers serve unsigned ones, too. Arithmetic, casts and
//! exchange with other formats flip the bit.

use super::{Custom, CustomType, Exchange};
use crate::{Native, Type, Value, text};
use std::sync::LazyLock;

/// An unsigned integer type, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnsignedInteger {
    /// UTINYINT: 8 bits.
    UTinyInt,
    /// USMALLINT: 16 bits.
    USmallInt,
    /// UINTEGER: 32 bits.
    UInteger,
    /// UBIGINT: 64 bits.
    UBigInt,
    /// UHUGEINT: 128 bits.
    UHugeInt,
}

/// A signed integer as the storage of an unsigned one.
pub trait SignFlipped: Native + Into<i128> {
    /// The unsigned integer of the same width.
    type Number: Copy + Into<u128> + TryFrom<u128>;

    /// The number that is stored as `self`.
    fn number(self) -> Self::Number;

    /// What `number` is stored as.
    fn stored(number: Self::Number) -> Self;

    /// What the low bits of `number` are stored as.
    fn stored_low(number: u128) -> Self;
}

macro_rules! sign_flipped {
    ($($stored:ty as $number:ty),*) => {
        $(impl SignFlipped for $stored {
            type Number = $number;

            #[inline(always)]
            fn number(self) -> $number {
                (self ^ <$stored>::MIN) as $number
            }

            #[inline(always)]
            fn stored(number: $number) -> $stored {
                number as $stored ^ <$stored>::MIN
            }

            #[inline(always)]
            fn stored_low(number: u128) -> $stored {
                <$stored>::stored(number as $number)
            }
        })*
    };
}

sign_flipped!(i8 as u8, i16 as u16, i32 as u32, i64 as u64, i128 as u128);

impl UnsignedInteger {
    /// All unsigned integer types, from the narrowest to the widest.
    pub const ALL: [UnsignedInteger; 5] = [
        UnsignedInteger::UTinyInt,
        UnsignedInteger::USmallInt,
        UnsignedInteger::UInteger,
        UnsignedInteger::UBigInt,
        UnsignedInteger::UHugeInt,
    ];

    /// The type.
    pub fn data_type(self) -> Type {
        static TYPES: LazyLock<[Type; 5]> =
            LazyLock::new(|| UnsignedInteger::ALL.map(|it| Type::Custom(Custom::new(it))));
        TYPES[self as usize].clone()
    }

    /// The number of bits.
    pub fn bits(self) -> u32 {
        8 << self as u32
    }

    /// The greatest number.
    pub fn greatest(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }

    /// The number of decimal digits of the greatest number; 38 for UHUGEINT, as for HUGEINT.
    pub fn digits(self) -> u8 {
        match self {
            UnsignedInteger::UTinyInt => 3,
            UnsignedInteger::USmallInt => 5,
            UnsignedInteger::UInteger => 10,
            UnsignedInteger::UBigInt => 20,
            UnsignedInteger::UHugeInt => 38,
        }
    }

    /// The narrowest signed integer type that has all numbers; HUGEINT, which does not have all,
    /// for UHUGEINT.
    pub fn signed(self) -> Type {
        match self {
            UnsignedInteger::UTinyInt => Type::SmallInt,
            UnsignedInteger::USmallInt => Type::Integer,
            UnsignedInteger::UInteger => Type::BigInt,
            UnsignedInteger::UBigInt | UnsignedInteger::UHugeInt => Type::HugeInt,
        }
    }

    /// The number of a stored value; `None` for NULL.
    pub fn number(self, stored: &Value) -> Option<u128> {
        stored.as_i128().map(|it| self.number_of(it))
    }

    /// The number that a stored integer stands for.
    pub fn number_of(self, stored: i128) -> u128 {
        stored.wrapping_add(1 << (self.bits() - 1)) as u128
    }

    /// A number as it is stored; `None` if it is too great.
    pub fn store(self, number: u128) -> Option<Value> {
        if number > self.greatest() {
            return None;
        }
        Some(match self {
            UnsignedInteger::UTinyInt => Value::TinyInt(i8::stored_low(number)),
            UnsignedInteger::USmallInt => Value::SmallInt(i16::stored_low(number)),
            UnsignedInteger::UInteger => Value::Integer(i32::stored_low(number)),
            UnsignedInteger::UBigInt => Value::BigInt(i64::stored_low(number)),
            UnsignedInteger::UHugeInt => Value::HugeInt(i128::stored_low(number)),
        })
    }
}

impl CustomType for UnsignedInteger {
    fn name(&self) -> &str {
        match self {
            UnsignedInteger::UTinyInt => "UTINYINT",
            UnsignedInteger::USmallInt => "USMALLINT",
            UnsignedInteger::UInteger => "UINTEGER",
            UnsignedInteger::UBigInt => "UBIGINT",
            UnsignedInteger::UHugeInt => "UHUGEINT",
        }
    }

    fn storage(&self) -> &Type {
        match self {
            UnsignedInteger::UTinyInt => &Type::TinyInt,
            UnsignedInteger::USmallInt => &Type::SmallInt,
            UnsignedInteger::UInteger => &Type::Integer,
            UnsignedInteger::UBigInt => &Type::BigInt,
            UnsignedInteger::UHugeInt => &Type::HugeInt,
        }
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Some(number) = self.number(stored) {
            text::push_u128(out, number);
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        self.store(text::parse_unsigned(text)?)
    }

    fn exchange(&self) -> Exchange {
        Exchange::Unsigned
    }

    fn unsigned(&self) -> Option<UnsignedInteger> {
        Some(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_values_have_the_order_of_the_numbers() {
        for data_type in UnsignedInteger::ALL {
            let max = data_type.greatest();
            let numbers = [0, 1, max / 2 - 1, max / 2, max / 2 + 1, max - 1, max];
            let stored = numbers.map(|it| data_type.store(it).expect("in range"));
            for (number, value) in numbers.iter().zip(&stored) {
                assert_eq!(data_type.number(value), Some(*number));
            }
            let keys = stored.map(|it| it.as_i128());
            assert!(keys.is_sorted(), "{data_type:?}: {keys:?}");
            assert_eq!(max.checked_add(1).and_then(|it| data_type.store(it)), None);
            assert_eq!(data_type.number(&Value::Null), None);
        }
        assert_eq!(UnsignedInteger::UTinyInt.store(0), Some(Value::TinyInt(i8::MIN)));
    }

    #[test]
    fn texts_are_read_and_written() {
        for data_type in UnsignedInteger::ALL {
            let max = data_type.greatest();
            for (text, number) in [
                ("0".to_owned(), Some(0)),
                (" -0 ".to_owned(), Some(0)),
                ("1e2".to_owned(), Some(100)),
                ("1.5".to_owned(), Some(2)),
                ("-0.4".to_owned(), Some(0)),
                ("-0.5".to_owned(), None),
                ("-1".to_owned(), None),
                ("".to_owned(), None),
                (max.to_string(), Some(max)),
                (format!("{max:#x}"), Some(max)),
                (format!("{max}.4"), Some(max)),
                (format!("{max}.5"), None),
                (format!("{max}0"), None),
            ] {
                let value = data_type.parse(&text);
                assert_eq!(value, number.and_then(|it| data_type.store(it)), "{text}");
                if let (Some(value), Some(number)) = (value, number) {
                    let mut out = String::new();
                    data_type.push(&mut out, &value);
                    assert_eq!(out, number.to_string());
                }
            }
        }
    }
}
