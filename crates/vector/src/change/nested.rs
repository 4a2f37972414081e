//! Copies and resizes arrays, maps and rows by their children.

use super::{CopyRange, for_each_row, owned, resize_buffer, too_large};
use crate::{Decoded, FixedArrays, Nested, Values, Vector};
use std::sync::Arc;
use volley_error::{Error, Result};

pub(super) fn copy(target: Values, source: &Decoded, ranges: &[CopyRange]) -> Result<Values> {
    Ok(match (target, source.values()) {
        (Values::Array(target), Values::Array(from)) => {
            Values::Array(copy_lists(target, from, source, ranges)?)
        }
        (Values::Map(target), Values::Map(from)) => {
            Values::Map(copy_lists(target, from, source, ranges)?)
        }
        (Values::FixedArray(target), Values::FixedArray(from)) => {
            let size = target.size;
            let scaled = parts_of(source, ranges).into_iter().map(|it| CopyRange {
                from: it.from * size,
                to: it.to * size,
                rows: it.rows * size,
            });
            let scaled: Vec<CopyRange> = scaled.collect();
            let elements = Arc::unwrap_or_clone(target.elements);
            let elements = Arc::new(elements.copy_ranges(&from.elements, &scaled)?);
            Values::FixedArray(FixedArrays { size, len: target.len, elements })
        }
        (Values::Row { children, len }, Values::Row { children: from, .. }) => {
            let parts = parts_of(source, ranges);
            let children = into_children(children).into_iter().zip(from.iter());
            let children = children.map(|(child, from)| child.copy_ranges(from, &parts));
            Values::Row { children: children.collect::<Result<_>>()?, len }
        }
        _ => return Err(Error::internal("copy between vectors of different layouts")),
    })
}

pub(super) fn resize(values: Values, len: usize) -> Result<Values> {
    let resize_lists = |nested: Nested| Nested {
        offsets: resize_buffer(nested.offsets, len),
        sizes: resize_buffer(nested.sizes, len),
        elements: nested.elements,
    };
    Ok(match values {
        Values::Array(nested) => Values::Array(resize_lists(nested)),
        Values::Map(nested) => Values::Map(resize_lists(nested)),
        Values::FixedArray(arrays) => {
            let count = len.checked_mul(arrays.size).ok_or_else(too_large)?;
            let elements = Arc::unwrap_or_clone(arrays.elements).resize(count)?;
            Values::FixedArray(FixedArrays { size: arrays.size, len, elements: elements.into() })
        }
        Values::Row { children, .. } => {
            let children = into_children(children).into_iter().map(|it| it.resize(len));
            Values::Row { children: children.collect::<Result<_>>()?, len }
        }
        _ => return Err(Error::internal("resize of a vector of an unknown layout")),
    })
}

/// The ranges with rows of the source's base instead of rows of the source.
fn parts_of(source: &Decoded, ranges: &[CopyRange]) -> Vec<CopyRange> {
    let mut parts: Vec<CopyRange> = Vec::new();
    for_each_row(ranges, |to, row| {
        let from = source.index(row);
        match parts.last_mut() {
            Some(last) if last.to + last.rows == to && last.from + last.rows == from => {
                last.rows += 1;
            }
            _ => parts.push(CopyRange { from, to, rows: 1 }),
        }
    });
    parts
}

/// The elements of the copied rows come after those that are there.
fn copy_lists(
    target: Nested,
    from: &Nested,
    source: &Decoded,
    ranges: &[CopyRange],
) -> Result<Nested> {
    let (mut offsets, mut sizes) = (owned(target.offsets), owned(target.sizes));
    let before = target.elements.len();
    let mut taken: Vec<u32> = Vec::new();
    let mut ends_beyond = false;
    for_each_row(ranges, |to, row| {
        let range = match source.is_null(row) {
            true => 0..0,
            false => from.range(source.index(row)),
        };
        ends_beyond |= i32::try_from(before + taken.len() + range.len()).is_err();
        offsets[to] = (before + taken.len()) as i32;
        sizes[to] = range.len() as i32;
        taken.extend(range.map(|it| it as u32));
    });
    if ends_beyond {
        return Err(too_large());
    }
    let taken = from.elements.gather(&taken)?;
    let data_type = taken.data_type().clone();
    let elements = Vector::concat(&data_type, &[target.elements.as_ref().clone(), taken])?;
    Ok(Nested { offsets: offsets.into(), sizes: sizes.into(), elements: Arc::new(elements) })
}

/// The children, without a second reference if there is no other one.
fn into_children(mut children: Arc<[Vector]>) -> Vec<Vector> {
    match Arc::get_mut(&mut children) {
        Some(own) => {
            let placeholder = || Vector::nulls(volley_types::Type::Unknown, 0);
            own.iter_mut().map(|it| std::mem::replace(it, placeholder())).collect()
        }
        None => children.to_vec(),
    }
}
