//! The statistics of column chunks in footers.

use crate::{
    accumulator::Accumulator,
    leaf::{Conversion, Leaf},
    page_values::PageValues,
    strings::decode_plain_strings,
};
use bytes::Bytes;
use parquet::{basic::ColumnOrder, file::metadata::ColumnChunkMetaData};
use std::cmp::Ordering;
use volley_connector::{Bounds, compare_values};
use volley_types::Value;

/// What a writer noted of some values of a flat column: a chunk's or a page's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StoredBounds<'a> {
    /// As in PLAIN encoding, but strings without length.
    pub min: Option<&'a [u8]>,
    pub max: Option<&'a [u8]>,
    pub nulls: Option<u64>,
    pub distinct: Option<u64>,
    /// Whether the bounds are values themselves, not cut.
    pub is_exact: bool,
    /// Whether they are in the older fields, which hold a signed order.
    pub is_deprecated: bool,
    pub has_no_nan: bool,
}

/// The bounds of a flat column's chunk, whose values the writer ordered by `order`.
pub(crate) fn chunk_bounds(leaf: &Leaf, chunk: &ColumnChunkMetaData, order: ColumnOrder) -> Bounds {
    stored_of(chunk, |stored| bounds_of(leaf, stored, order))
}

/// Like [`chunk_bounds`], for heuristics: NaNs may be beyond them.
pub(crate) fn noted_chunk_bounds(
    leaf: &Leaf,
    chunk: &ColumnChunkMetaData,
    order: ColumnOrder,
) -> Bounds {
    stored_of(chunk, |stored| noted_bounds(leaf, stored, order))
}

/// Returns a chunk's statistics.
fn stored_of(chunk: &ColumnChunkMetaData, read: impl FnOnce(&StoredBounds) -> Bounds) -> Bounds {
    let stored = chunk.statistics().map(|it| StoredBounds {
        min: it.min_bytes_opt(),
        max: it.max_bytes_opt(),
        nulls: it.null_count_opt(),
        distinct: it.distinct_count_opt(),
        is_exact: it.min_is_exact() && it.max_is_exact(),
        is_deprecated: it.is_min_max_deprecated(),
        has_no_nan: it.nan_count_opt() == Some(0),
    });
    read(&stored.unwrap_or_default())
}

/// The bounds that a writer noted, as far as they are bounds for us.
pub(crate) fn bounds_of(leaf: &Leaf, stored: &StoredBounds, order: ColumnOrder) -> Bounds {
    let mut bounds = noted_bounds(leaf, stored, order);
    if leaf.data_type.is_float() && !stored.has_no_nan {
        // NaN is the greatest value for us and no value at all for the bounds.
        bounds.max = None;
    }
    bounds
}

/// The bounds that a writer noted, as far as they are bounds of all values but NaNs.
fn noted_bounds(leaf: &Leaf, stored: &StoredBounds, order: ColumnOrder) -> Bounds {
    let nulls = if leaf.def_max == 0 { Some(0) } else { stored.nulls };
    let mut bounds = Bounds { nulls, distinct: stored.distinct, ..Bounds::default() };
    if are_ordered_as_ours(leaf, stored, order) {
        bounds.min = stored.min.and_then(|it| stored_value(leaf, it));
        bounds.max = stored.max.and_then(|it| stored_value(leaf, it));
    }
    if let (Some(min), Some(max)) = (&bounds.min, &bounds.max)
        && compare_values(min, max) != Some(Ordering::Less)
        && compare_values(min, max) != Some(Ordering::Equal)
    {
        // The writer had another order, or none.
        (bounds.min, bounds.max) = (None, None);
    }
    drop_nan_bounds(&mut bounds);
    bounds
}

/// Whether the writer ordered values as we do (parquet-format, `Statistics` and `ColumnOrder`).
fn are_ordered_as_ours(leaf: &Leaf, stored: &StoredBounds, order: ColumnOrder) -> bool {
    // Whatever the order is called, there is one for these alone.
    let is_signed = matches!(
        leaf.conversion,
        Conversion::Int32 { unsigned: false, .. }
            | Conversion::Int64 { unsigned: false, .. }
            | Conversion::Float
            | Conversion::Double
    );
    match leaf.conversion {
        Conversion::Int96 | Conversion::FixedInterval => false,
        // What was cut off may have been the low digits.
        Conversion::BytesDecimal if !stored.is_exact => false,
        _ if is_signed => order != ColumnOrder::UNKNOWN,
        // The older fields hold a signed order of stored values, whatever the type; the newer ones
        // mean nothing where the footer does not say by what they are ordered.
        _ => {
            let is_known = !matches!(order, ColumnOrder::UNDEFINED | ColumnOrder::UNKNOWN);
            is_known && !stored.is_deprecated
        }
    }
}

/// Takes bounds that are NaN for none: some writers put it there, whatever the other values.
fn drop_nan_bounds(bounds: &mut Bounds) {
    let is_nan = |it: &Option<Value>| match it {
        Some(Value::Real(value)) => value.is_nan(),
        Some(Value::Double(value)) => value.is_nan(),
        _ => false,
    };
    if is_nan(&bounds.min) || is_nan(&bounds.max) {
        (bounds.min, bounds.max) = (None, None);
    }
}

/// A value from its bytes in statistics: as in PLAIN encoding, but strings without length.
pub(crate) fn stored_value(leaf: &Leaf, bytes: &[u8]) -> Option<Value> {
    if let Some(width) = leaf.fixed_bytes()
        && bytes.len() != width
    {
        return None;
    }
    match leaf.conversion {
        Conversion::Bytes { utf8: true } => {
            // A bound that was cut within a character is none.
            return std::str::from_utf8(bytes).ok().map(Value::text);
        }
        Conversion::Bytes { utf8: false } => return Some(Value::Varbinary(bytes.into())),
        Conversion::Boolean => return bytes.first().map(|it| Value::Boolean(*it & 1 == 1)),
        Conversion::BytesDecimal => {
            let len = u32::try_from(bytes.len()).ok()?.to_le_bytes();
            let plain = [&len, bytes].concat();
            return decode_plain_strings(leaf, plain.into()).ok()?.value(0).ok();
        }
        _ => {}
    }
    let mut page = PageValues::plain(leaf, Bytes::copy_from_slice(bytes)).ok()?;
    let mut accumulator = Accumulator::new(leaf);
    accumulator.append(&mut page, 1).ok()?;
    let value = accumulator.finish(None).ok()?.value(0).ok()?;
    (!value.is_null()).then_some(value)
}
