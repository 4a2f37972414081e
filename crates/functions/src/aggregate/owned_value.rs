//! Owned copies of single column values, for aggregate states: fixed-width values as stored,
//! strings as a copy of their bytes, everything else as a scalar.

use super::{
    approx_distinct::{hash_bytes, mix},
    typed::{native_of, unexpected_layout},
};
use crate::order::{SqlOrder, compare_values};
use std::{cmp::Ordering, marker::PhantomData};
use volley_error::Result;
use volley_types::{Native, Type, Value};
use volley_vector::{Decoded, NullBuffer, StringBuilder, StringValues, Values, Vector};

/// A way to keep a value.
pub(super) trait OwnedValue: Send + Sync + 'static {
    /// What is kept.
    type Kept: Clone + Send + 'static;
    /// A value in a column.
    type Ref<'a>;
    /// A column, ready to be read.
    type Base<'a>;

    /// Opens a column.
    fn base<'a>(decoded: &'a Decoded<'_>) -> Result<Self::Base<'a>>;

    /// The value at `index`.
    fn get<'a>(base: &'a Self::Base<'_>, index: usize) -> Self::Ref<'a>;

    /// The value to keep.
    fn keep(value: Self::Ref<'_>) -> Self::Kept;

    /// A kept value.
    fn view(kept: &Self::Kept) -> Self::Ref<'_>;

    /// The order of ORDER BY: NaN is the greatest, `-0.0` equals `0.0`.
    fn compare(left: &Self::Ref<'_>, right: &Self::Ref<'_>) -> Ordering;

    /// A column of kept values.
    fn column(data_type: &Type, kept: Vec<Option<&Self::Kept>>) -> Vector;

    /// Bytes held next to the state itself.
    fn external_state_bytes(_kept: &Self::Kept) -> usize {
        0
    }
}

/// A way to keep a value that is looked for.
pub(super) trait OwnedKey: OwnedValue {
    /// A hash that equal values share.
    fn hash(value: &Self::Ref<'_>) -> u64;
}

/// Fixed-width values.
pub(super) struct OwnedNative<T>(PhantomData<fn() -> T>);

impl<T: Native + SqlOrder> OwnedValue for OwnedNative<T> {
    type Kept = T;
    type Ref<'a> = T;
    type Base<'a> = &'a [T];

    fn base<'a>(decoded: &'a Decoded<'_>) -> Result<&'a [T]> {
        native_of(decoded)
    }

    #[inline(always)]
    fn get(base: &Self::Base<'_>, index: usize) -> T {
        base[index]
    }

    #[inline(always)]
    fn keep(value: T) -> T {
        value
    }

    #[inline(always)]
    fn view(kept: &T) -> T {
        *kept
    }

    #[inline(always)]
    fn compare(left: &T, right: &T) -> Ordering {
        left.sql_cmp(right)
    }

    fn column(data_type: &Type, kept: Vec<Option<&T>>) -> Vector {
        let nulls = NullBuffer::from_iter(kept.iter().map(Option::is_some));
        let values: Vec<T> = kept.iter().map(|it| it.copied().unwrap_or_default()).collect();
        Vector::native::<T>(data_type.clone(), values, Some(nulls))
    }
}

impl<T: Native + SqlOrder> OwnedKey for OwnedNative<T> {
    #[inline(always)]
    fn hash(value: &T) -> u64 {
        mix(value.key_bits())
    }
}

/// Strings and bytes.
pub(super) struct OwnedBytes;

impl OwnedValue for OwnedBytes {
    type Kept = Box<[u8]>;
    type Ref<'a> = &'a [u8];
    type Base<'a> = &'a StringValues;

    fn base<'a>(decoded: &'a Decoded<'_>) -> Result<&'a StringValues> {
        match decoded.values() {
            Values::View(strings) => Ok(strings),
            _ => Err(unexpected_layout()),
        }
    }

    #[inline(always)]
    fn get<'a>(base: &'a Self::Base<'_>, index: usize) -> &'a [u8] {
        base.bytes(index)
    }

    fn keep(value: &[u8]) -> Box<[u8]> {
        value.into()
    }

    #[inline(always)]
    fn view(kept: &Box<[u8]>) -> &[u8] {
        kept
    }

    #[inline(always)]
    fn compare(left: &&[u8], right: &&[u8]) -> Ordering {
        left.cmp(right)
    }

    fn column(data_type: &Type, kept: Vec<Option<&Box<[u8]>>>) -> Vector {
        let nulls = NullBuffer::from_iter(kept.iter().map(Option::is_some));
        let mut builder = StringBuilder::with_capacity(kept.len());
        kept.iter().for_each(|it| builder.push(it.map_or(&[], |it| it)));
        Vector::strings(data_type.clone(), builder.finish(), Some(nulls))
    }

    fn external_state_bytes(kept: &Box<[u8]>) -> usize {
        kept.len()
    }
}

impl OwnedKey for OwnedBytes {
    fn hash(value: &&[u8]) -> u64 {
        hash_bytes(value)
    }
}

/// Values of any type, one scalar each: for booleans and nested types.
pub(super) struct OwnedScalar;

impl OwnedValue for OwnedScalar {
    type Kept = Value;
    type Ref<'a> = Value;
    type Base<'a> = Vector;

    fn base(decoded: &Decoded<'_>) -> Result<Vector> {
        Ok(decoded.base().clone())
    }

    fn get(base: &Vector, index: usize) -> Value {
        // A flat base has nothing to load, so there is nothing to fail.
        base.value(index).unwrap_or(Value::Null)
    }

    fn keep(value: Value) -> Value {
        value
    }

    fn view(kept: &Value) -> Value {
        kept.clone()
    }

    fn compare(left: &Value, right: &Value) -> Ordering {
        compare_values(left, right)
    }

    fn column(data_type: &Type, kept: Vec<Option<&Value>>) -> Vector {
        let values: Vec<Value> =
            kept.into_iter().map(|it| it.map_or(Value::Null, Value::clone)).collect();
        Vector::from_values(data_type.clone(), &values)
    }

    fn external_state_bytes(kept: &Value) -> usize {
        value_bytes(kept)
    }
}

/// Bytes that a scalar holds on the heap, roughly.
pub fn value_bytes(value: &Value) -> usize {
    let each = size_of::<Value>();
    match value {
        Value::Varchar(text) => text.len(),
        Value::Varbinary(bytes) => bytes.len(),
        Value::Array(values) | Value::Row(values) => {
            values.iter().map(|it| each + value_bytes(it)).sum()
        }
        Value::Map(entries) => {
            entries.iter().map(|it| 2 * each + value_bytes(&it.0) + value_bytes(&it.1)).sum()
        }
        Value::Object(object) => object.bytes(),
        _ => 0,
    }
}
