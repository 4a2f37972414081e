//! Values of any type: type variables.
//!
//! [`Any<0>`] and [`Any<1>`] represent two types, each the same in the whole signature. A closure
//! sees such a value as a reference to a row of a column; it can hand it on, and with [`Equatable`]
//! compare and hash it, with [`Orderable`] order it. All comparisons are SQL's: NaN equals itself
//! and is the greatest number, nulls within nested values are equal and last, custom types compare
//! as they say.

use super::{
    args::{Arg, Below, ColumnRef},
    memory::take_if_much,
    pattern::{Pattern, SqlType},
};
use std::{
    cell::OnceCell,
    cmp::Ordering,
    hash::{Hash, Hasher},
};
use volley_error::Result;
use volley_types::CustomOrder;
use volley_vector::{Comparable, Vector};

/// Type variable `N`, with nothing asked of the type.
pub type Any<const N: usize> = Generic<N, 0>;
/// Type variable `N`, of a type whose values can be compared for equality.
pub type Equatable<const N: usize> = Generic<N, 1>;
/// Type variable `N`, of a type whose values have an order.
pub type Orderable<const N: usize> = Generic<N, 2>;

/// A value of type variable `N`.
pub type AnyValue<'a, const N: usize> = GenericValue<'a, N, 0>;
/// A value of type variable `N` that can be compared for equality.
pub type EquatableValue<'a, const N: usize> = GenericValue<'a, N, 1>;
/// A value of type variable `N` that has an order.
pub type OrderableValue<'a, const N: usize> = GenericValue<'a, N, 2>;

/// Type variable `N`; `ORDER`: 0 for nothing asked, 1 for equality, 2 for an order.
pub struct Generic<const N: usize, const ORDER: u8>;

/// A column that generic values refer to.
pub struct AnyColumn {
    /// Flat.
    pub(super) vector: Vector,
    /// Present where values are compared.
    comparable: Option<Comparable>,
    /// One per row, computed on first use.
    hashes: OnceCell<Vec<u64>>,
}

impl AnyColumn {
    fn hash(&self, index: usize) -> u64 {
        let hashes = self.hashes.get_or_init(|| {
            if !take_if_much(size_of::<u64>() * self.vector.len()) {
                return Vec::new();
            }
            let mut hashes = vec![0; self.vector.len()];
            // A flat vector loads nothing and so cannot fail; equal hashes are right, too.
            if self.vector.hash_into(&mut hashes).is_err() {
                hashes.fill(0);
            }
            hashes
        });
        // Where there are none the call fails; any that differ will do.
        hashes.get(index).copied().unwrap_or(index as u64)
    }
}

/// A reference to a value of type variable `N`.
pub struct GenericValue<'a, const N: usize, const ORDER: u8> {
    pub(super) column: &'a AnyColumn,
    pub(super) index: u32,
}

impl<const N: usize, const ORDER: u8> Clone for GenericValue<'_, N, ORDER> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<const N: usize, const ORDER: u8> Copy for GenericValue<'_, N, ORDER> {}

impl<const N: usize, const ORDER: u8> GenericValue<'_, N, ORDER> {
    /// Whether the value is null. Values that come as an `Option` never are.
    pub fn is_null(&self) -> bool {
        self.column.vector.null_buffer().is_some_and(|it| it.is_null(self.index as usize))
    }

    #[inline]
    fn order(&self, other: &GenericValue<'_, N, ORDER>) -> Ordering {
        match (&self.column.comparable, &other.column.comparable) {
            (Some(left), Some(right)) => {
                left.compare(self.index as usize, right, other.index as usize)
            }
            _ => Ordering::Equal,
        }
    }
}

/// Types whose values are compared.
macro_rules! compared {
    ($($order:literal),*) => {
        $(
            impl<const N: usize> PartialEq for GenericValue<'_, N, $order> {
                #[inline]
                fn eq(&self, other: &Self) -> bool {
                    self.order(other).is_eq()
                }
            }

            impl<const N: usize> Eq for GenericValue<'_, N, $order> {}

            impl<const N: usize> Hash for GenericValue<'_, N, $order> {
                fn hash<H: Hasher>(&self, state: &mut H) {
                    state.write_u64(self.column.hash(self.index as usize));
                }
            }
        )*
    };
}

compared!(1, 2);

impl<const N: usize> PartialOrd for GenericValue<'_, N, 2> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for GenericValue<'_, N, 2> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order(other)
    }
}

impl<const N: usize, const ORDER: u8> Arg for Generic<N, ORDER> {
    type Value<'a> = GenericValue<'a, N, ORDER>;
    type Base<'a> = &'a AnyColumn;
    const CHEAP: bool = false;

    fn prepare(flat: &Vector) -> Result<Below> {
        let comparable = (ORDER > 0).then(|| Comparable::new(flat)).transpose()?;
        let any = AnyColumn { vector: flat.clone(), comparable, hashes: OnceCell::new() };
        Ok(Below { any: Some(Box::new(any)), ..Below::default() })
    }

    fn base(column: ColumnRef<'_>) -> Option<&AnyColumn> {
        column.below.any.as_deref()
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        GenericValue { column: base, index: index as u32 }
    }
}

impl<const N: usize, const ORDER: u8> SqlType for Generic<N, ORDER> {
    fn pattern() -> Pattern {
        let order = match ORDER {
            0 => CustomOrder::None,
            1 => CustomOrder::Equality,
            _ => CustomOrder::Ordered,
        };
        Pattern::Variable(N, order)
    }
}
