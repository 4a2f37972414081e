//! The physical types: how the elements of a flat vector are laid out.

use crate::Interval;
use arrow_buffer::ArrowNativeType;

/// The layout of a flat vector's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// No storage: every value is null.
    Null,
    /// One bit per value.
    Boolean,
    /// 1 byte.
    I8,
    /// 2 bytes.
    I16,
    /// 4 bytes.
    I32,
    /// 8 bytes.
    I64,
    /// 16 bytes.
    I128,
    /// 4 bytes.
    F32,
    /// 8 bytes.
    F64,
    /// 16 bytes: months (i32), days (i32), nanoseconds (i64).
    Interval,
    /// 16-byte string views into data buffers (Arrow's `Utf8View` layout).
    View,
    /// Offsets and sizes into an element vector.
    Array,
    /// As many elements of an element vector for each row, one row after the other.
    FixedArray,
    /// Offsets and sizes into a key and a value vector.
    Map,
    /// One vector per field.
    Row,
    /// References to objects.
    Opaque,
}

impl PhysicalType {
    /// Whether values are stored outside of the column: arrays, maps, rows and objects. Rows of a
    /// hash table or a sort hold their positions in vectors next to the rows.
    pub fn is_by_reference(self) -> bool {
        matches!(
            self,
            PhysicalType::Array
                | PhysicalType::FixedArray
                | PhysicalType::Map
                | PhysicalType::Row
                | PhysicalType::Opaque
        )
    }
}

/// The Rust type of a fixed-width element: integers, floats, intervals and string views (`u128`).
pub trait Native: ArrowNativeType {
    /// The layout that stores this type.
    const PHYSICAL: PhysicalType;
}

macro_rules! natives {
    ($($native:ty => $physical:ident),* $(,)?) => {
        $(impl Native for $native {
            const PHYSICAL: PhysicalType = PhysicalType::$physical;
        })*
    };
}

natives! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, i128 => I128, f32 => F32, f64 => F64,
    Interval => Interval, u128 => View,
}
