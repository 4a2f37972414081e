//! Integers as lanes: the bits of signed and unsigned ones, and which of them is less.

use volley_kernels::pack::Lane;

/// How the bits of a lane are read as an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Signed,
    Unsigned,
}

impl Order {
    /// An unsigned integer that is less for the lesser of two integers; the same function leads
    /// back.
    #[inline(always)]
    pub(crate) fn key<T: Lane>(self, value: T) -> T {
        match self {
            Order::Signed => value.plus(T::MAX.minus(T::MAX >> 1)),
            Order::Unsigned => value,
        }
    }

    /// The integer.
    #[inline]
    pub(crate) fn value<T: Lane>(self, value: T) -> i128 {
        let unused = 64 - T::BITS as u32;
        match self {
            Order::Signed => i128::from((value.wide() << unused) as i64 >> unused),
            Order::Unsigned => i128::from(value.wide()),
        }
    }

    /// The least and the greatest integer.
    pub(crate) fn bounds<T: Lane>(self) -> (i128, i128) {
        (self.value(self.key(T::default())), self.value(self.key(T::MAX)))
    }
}
