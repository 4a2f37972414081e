//! Reads blocks. Every length is checked against the remaining bytes before memory is allocated.

use super::{
    DICTIONARY, RUN_LENGTH,
    kind::{BlockKind, from_sign_magnitude, has_zone, to_bits, to_interval},
    zone_key,
};
use crate::decode::{Input, corruption};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{Field, Interval, Native, Type, custom::stored_bits};
use volley_vector::{
    Batch, BooleanBuffer, Buffer, INLINE_BYTES, Nested, NullBuffer, StringValues, StringView,
    Values, Vector,
};

/// How many DICTIONARY and RLE blocks may be around one block, and how deep types may nest.
const DEPTH_MAX: usize = 64;

/// The longest name of a block.
const NAME_BYTES_MAX: usize = 64;

/// The bytes of the identity of a dictionary.
const IDENTITY_BYTES: usize = 24;

/// Reads one block of values of `data_type`, such as a constant of a plan.
///
/// # Errors
///
/// Corruption: other bytes. Unsupported: a type that Presto does not have.
pub fn read_block(bytes: &[u8], data_type: &Type) -> Result<Vector> {
    let mut input = Input::new(bytes);
    let vector = block(&mut input, data_type, 0)?;
    if !input.rest().is_empty() {
        return Err(corruption("bytes after the block"));
    }
    Ok(vector)
}

/// The columns of a page.
pub(super) fn read_columns(bytes: &[u8], types: &[Type], rows: usize) -> Result<Batch> {
    let mut input = Input::new(bytes);
    let columns = input.i32()?;
    if usize::try_from(columns).ok() != Some(types.len()) {
        let message = format!("{columns} columns in a page instead of {}", types.len());
        return Err(corruption(&message));
    }
    let mut found = Vec::with_capacity(types.len());
    for data_type in types {
        let column = block(&mut input, data_type, 0)?;
        if column.len() != rows {
            return Err(corruption("a block of another number of rows than its page"));
        }
        found.push(column);
    }
    if !input.rest().is_empty() {
        return Err(corruption("bytes after the last block"));
    }
    Ok(Batch::new(found, rows))
}

fn block(input: &mut Input<'_>, data_type: &Type, depth: usize) -> Result<Vector> {
    if depth > DEPTH_MAX {
        return Err(corruption("blocks in more than 64 others"));
    }
    let name = name(input)?;
    match name {
        RUN_LENGTH => {
            let rows = count(input)?;
            let base = block(input, data_type, depth + 1)?;
            match base.len() {
                1 => Ok(Vector::repeat(base, rows)),
                _ => Err(corruption("an RLE block of several rows")),
            }
        }
        DICTIONARY => dictionary(input, data_type, depth),
        "INT128_ARRAY" if *data_type == Type::Interval => {
            intervals(input, |bytes| Ok(to_interval(bytes)))
        }
        "LONG_ARRAY" if *data_type == Type::Interval => intervals(input, of_milliseconds),
        "INT_ARRAY" if *data_type == Type::Interval => {
            let of_months = |bytes| Ok(Interval::new(i32::from_le_bytes(bytes), 0, 0));
            intervals(input, of_months)
        }
        _ => {
            let kind = BlockKind::of(data_type)?;
            if kind.name() != name {
                let message = format!("a block {name:?} for values of type {data_type}");
                return Err(corruption(&message));
            }
            flat(input, data_type, kind, depth)
        }
    }
}

fn name<'a>(input: &mut Input<'a>) -> Result<&'a str> {
    let len = count(input)?;
    if len > NAME_BYTES_MAX {
        return Err(corruption("the name of a block"));
    }
    std::str::from_utf8(input.raw(len)?).map_err(|_| corruption("the name of a block"))
}

fn count(input: &mut Input<'_>) -> Result<usize> {
    usize::try_from(input.i32()?).map_err(|_| corruption("a negative number of rows"))
}

fn dictionary(input: &mut Input<'_>, data_type: &Type, depth: usize) -> Result<Vector> {
    let rows = count(input)?;
    let base = block(input, data_type, depth + 1)?;
    let codes = input.elements(rows, size_of::<u32>())?.as_chunks::<4>().0;
    // A negative position is beyond any dictionary.
    let codes: Vec<u32> = codes.iter().map(|it| u32::from_le_bytes(*it)).collect();
    input.raw(IDENTITY_BYTES)?;
    if codes.iter().any(|it| *it as usize >= base.len()) {
        return Err(corruption("a position beyond the dictionary"));
    }
    Ok(Vector::checked_dictionary(codes.into(), Arc::new(base), None))
}

fn flat(input: &mut Input<'_>, data_type: &Type, kind: BlockKind, depth: usize) -> Result<Vector> {
    match kind {
        BlockKind::Byte => bytes(input, data_type),
        BlockKind::Short => fixed(input, data_type, i16::from_le_bytes),
        BlockKind::Int if *data_type == Type::Real => fixed(input, data_type, f32::from_le_bytes),
        BlockKind::Int => fixed(input, data_type, i32::from_le_bytes),
        BlockKind::Long => match data_type {
            Type::Double => fixed(input, data_type, f64::from_le_bytes),
            Type::Time | Type::Timestamp => milliseconds(input, data_type),
            _ if has_zone(data_type) => zoned(input, data_type),
            _ => fixed(input, data_type, i64::from_le_bytes),
        },
        BlockKind::Int128 => match data_type {
            Type::Custom(_) => fixed(input, data_type, |it| stored_bits(to_bits(data_type, it))),
            _ => fixed(input, data_type, from_sign_magnitude),
        },
        BlockKind::Variable => variable(input, data_type),
        BlockKind::Array => match data_type {
            Type::Array(element) => {
                let elements = block(input, element, depth + 1)?;
                let (nested, nulls) = lists(input, elements)?;
                Ok(Vector::flat(data_type.clone(), Values::Array(nested), nulls))
            }
            _ => Err(Error::unsupported("arrays of a fixed size in Presto's pages")),
        },
        BlockKind::Map => map(input, data_type, depth),
        BlockKind::Row => match data_type {
            Type::Row(fields) => row(input, data_type, fields, depth),
            _ => Err(Error::internal("a row block of another type")),
        },
    }
}

/// The bits of null rows; `None` if no row is null.
fn nulls(input: &mut Input<'_>, rows: usize) -> Result<Option<NullBuffer>> {
    match input.byte()? {
        0 => Ok(None),
        1 => {
            let bytes = input.raw(rows.div_ceil(8))?;
            let valid: Vec<u8> = bytes.iter().map(|it| !it.reverse_bits()).collect();
            let valid = NullBuffer::new(BooleanBuffer::new(Buffer::from(valid), 0, rows));
            Ok(Some(valid).filter(|it| it.null_count() > 0))
        }
        _ => Err(corruption("unknown form of nulls")),
    }
}

/// Numbers of `N` bytes; those of null rows are not stored.
fn numbers<T: Copy + Default, const N: usize>(
    input: &mut Input<'_>,
    number: impl Fn([u8; N]) -> T,
) -> Result<(Vec<T>, Option<NullBuffer>)> {
    let rows = count(input)?;
    let nulls = nulls(input, rows)?;
    let stored = rows - nulls.as_ref().map_or(0, |it| it.null_count());
    let stored = input.elements(stored, N)?.as_chunks::<N>().0;
    let Some(valid) = &nulls else {
        return Ok((stored.iter().map(|it| number(*it)).collect(), None));
    };
    let mut values = vec![T::default(); rows];
    for (row, stored) in valid.valid_indices().zip(stored) {
        values[row] = number(*stored);
    }
    Ok((values, nulls))
}

fn fixed<T: Native + Default, const N: usize>(
    input: &mut Input<'_>,
    data_type: &Type,
    number: impl Fn([u8; N]) -> T,
) -> Result<Vector> {
    let (values, nulls) = numbers(input, number)?;
    Ok(Vector::flat(data_type.clone(), Values::from_native::<T>(values.into()), nulls))
}

fn bytes(input: &mut Input<'_>, data_type: &Type) -> Result<Vector> {
    let (values, nulls) = numbers(input, |[byte]: [u8; 1]| byte as i8)?;
    match data_type {
        Type::TinyInt => {
            let values = Values::from_native::<i8>(values.into());
            Ok(Vector::flat(Type::TinyInt, values, nulls))
        }
        Type::Boolean => {
            let bits = BooleanBuffer::collect_bool(values.len(), |row| values[row] != 0);
            Ok(Vector::boolean(bits, nulls))
        }
        _ => match nulls.map_or(0, |it| it.null_count()) == values.len() {
            true => Ok(Vector::flat(data_type.clone(), Values::Null(values.len()), None)),
            false => Err(corruption("a value of a type that has none")),
        },
    }
}

/// Times: milliseconds in Presto, microseconds here.
fn milliseconds(input: &mut Input<'_>, data_type: &Type) -> Result<Vector> {
    let (mut values, nulls) = numbers(input, i64::from_le_bytes)?;
    for value in &mut values {
        *value = value.checked_mul(1000).ok_or_else(|| {
            Error::invalid_value(format!("{value} ms are beyond the range of {data_type}"))
        })?;
    }
    Ok(Vector::flat(data_type.clone(), Values::from_native::<i64>(values.into()), nulls))
}

/// Timestamps and times with a time zone, which has another number in Presto.
fn zoned(input: &mut Input<'_>, data_type: &Type) -> Result<Vector> {
    let (mut values, nulls) = numbers(input, i64::from_le_bytes)?;
    for (row, value) in values.iter_mut().enumerate() {
        if nulls.as_ref().is_none_or(|it| it.is_valid(row)) {
            *value = zone_key::from_presto(*value)?;
        }
    }
    Ok(Vector::flat(data_type.clone(), Values::from_native::<i64>(values.into()), nulls))
}

/// Intervals: milliseconds or months in Presto, by their type.
fn intervals<const N: usize>(
    input: &mut Input<'_>,
    interval: impl Fn([u8; N]) -> Result<Interval>,
) -> Result<Vector> {
    let (stored, nulls) = numbers(input, |it: [u8; N]| Stored(it))?;
    let values = stored.into_iter().map(|it| interval(it.0)).collect::<Result<Vec<_>>>()?;
    Ok(Vector::flat(Type::Interval, Values::from_native::<Interval>(values.into()), nulls))
}

/// The bytes of a number.
#[derive(Clone, Copy)]
struct Stored<const N: usize>([u8; N]);

impl<const N: usize> Default for Stored<N> {
    fn default() -> Stored<N> {
        Stored([0; N])
    }
}

fn of_milliseconds(bytes: [u8; 8]) -> Result<Interval> {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    const NANOSECONDS: i64 = 1_000_000;
    let milliseconds = i64::from_le_bytes(bytes);
    let days = i32::try_from(milliseconds / DAY).map_err(|_| {
        Error::invalid_value(format!("an interval of {milliseconds} ms is out of range"))
    })?;
    Ok(Interval::new(0, days, milliseconds % DAY * NANOSECONDS))
}

fn variable(input: &mut Input<'_>, data_type: &Type) -> Result<Vector> {
    let rows = count(input)?;
    let ends = input.elements(rows, size_of::<u32>())?.as_chunks::<4>().0;
    let nulls = nulls(input, rows)?;
    let len = count(input)?;
    let bytes = input.raw(len)?;
    let text = match data_type.storage() {
        Type::Varchar => Some(simdutf8::basic::from_utf8(bytes).map_err(|_| not_utf8())?),
        _ => None,
    };
    let (mut views, mut start, mut has_long) = (Vec::with_capacity(rows), 0, false);
    for end in ends {
        let end = u32::from_le_bytes(*end) as usize;
        let value = bytes.get(start..end).ok_or_else(|| corruption("ends of values"))?;
        if text.is_some_and(|it| !it.is_char_boundary(end)) {
            return Err(not_utf8());
        }
        has_long |= value.len() > INLINE_BYTES;
        views.push(match value.len() > INLINE_BYTES {
            true => StringView::new(value, 0, start as u32),
            false => StringView::inline(value),
        });
        start = end;
    }
    let buffers: Arc<[Buffer]> = if has_long { [Buffer::from(bytes)].into() } else { [].into() };
    let strings = StringValues::new(views.into(), buffers);
    Ok(Vector::strings(data_type.clone(), strings, nulls))
}

/// Rows, offsets and nulls of lists of `elements`.
fn lists(input: &mut Input<'_>, elements: Vector) -> Result<(Nested, Option<NullBuffer>)> {
    let (offsets, nulls) = offsets(input, elements.len())?;
    let sizes: Vec<i32> = offsets.windows(2).map(|it| it[1] - it[0]).collect();
    let offsets: Vec<i32> = offsets.into_iter().take(sizes.len()).collect();
    let elements = Arc::new(elements.into_loaded()?);
    Ok((Nested { offsets: offsets.into(), sizes: sizes.into(), elements }, nulls))
}

/// One more offset than rows: ascending and at most `len`.
fn offsets(input: &mut Input<'_>, len: usize) -> Result<(Vec<i32>, Option<NullBuffer>)> {
    let rows = count(input)?;
    let bytes = input.elements(rows.saturating_add(1), size_of::<i32>())?;
    let offsets: Vec<i32> =
        bytes.as_chunks::<4>().0.iter().map(|it| i32::from_le_bytes(*it)).collect();
    let nulls = nulls(input, rows)?;
    let begins = offsets.first().is_some_and(|it| *it >= 0);
    let ends = offsets.last().is_some_and(|it| usize::try_from(*it).is_ok_and(|it| it <= len));
    match begins && ends && offsets.is_sorted() {
        true => Ok((offsets, nulls)),
        false => Err(corruption("offsets beyond the elements")),
    }
}

fn map(input: &mut Input<'_>, data_type: &Type, depth: usize) -> Result<Vector> {
    let Type::Map(entry) = data_type else {
        return Err(Error::internal("a map block of another type"));
    };
    let keys = block(input, &entry.0, depth + 1)?;
    let values = block(input, &entry.1, depth + 1)?;
    if keys.len() != values.len() {
        return Err(corruption("keys and values of a map"));
    }
    if keys.null_buffer().is_some_and(|it| it.null_count() > 0) {
        return Err(corruption("a null key of a map"));
    }
    match input.i32()? {
        -1 => {}
        entries => {
            let entries = usize::try_from(entries).map_err(|_| corruption("a hash table"))?;
            input.elements(entries, size_of::<i32>())?;
        }
    }
    let len = keys.len();
    let entries = Values::Row { children: [keys, values].into(), len };
    let entries = Vector::flat(data_type.entry_type(), entries, None);
    let (nested, nulls) = lists(input, entries)?;
    Ok(Vector::flat(data_type.clone(), Values::Map(nested), nulls))
}

fn row(input: &mut Input<'_>, data_type: &Type, fields: &[Field], depth: usize) -> Result<Vector> {
    if count(input)? != fields.len() {
        return Err(corruption("a row block of another number of fields"));
    }
    let mut children = Vec::with_capacity(fields.len());
    for field in fields {
        children.push(block(input, &field.data_type, depth + 1)?);
    }
    let stored = children.first().map(Vector::len);
    if children.iter().any(|it| Some(it.len()) != stored) {
        return Err(corruption("fields of different lengths"));
    }
    let (offsets, nulls) = offsets(input, stored.unwrap_or(i32::MAX as usize))?;
    let rows = offsets.len() - 1;
    let is_identity = nulls.is_none() && offsets.iter().zip(0..).all(|(it, row)| *it == row);
    if !(is_identity && stored.is_none_or(|it| it == rows)) {
        let codes = positions(&offsets, nulls.as_ref(), stored.unwrap_or(rows))?;
        for (child, field) in children.iter_mut().zip(fields) {
            *child = match stored {
                Some(0) | None => Vector::nulls(field.data_type.clone(), rows),
                Some(_) => child.select(&codes),
            };
        }
    }
    let values = Values::Row { children: children.into(), len: rows };
    Ok(Vector::flat(data_type.clone(), values, nulls))
}

/// Where the fields of each row are; 0 for null rows.
fn positions(offsets: &[i32], nulls: Option<&NullBuffer>, stored: usize) -> Result<Vec<u32>> {
    let mut codes = Vec::with_capacity(offsets.len());
    for (row, offset) in offsets.iter().take(offsets.len() - 1).enumerate() {
        if nulls.is_some_and(|it| it.is_null(row)) {
            codes.push(0);
            continue;
        }
        match usize::try_from(*offset) {
            Ok(offset) if offset < stored => codes.push(offset as u32),
            _ => return Err(corruption("a row beyond its fields")),
        }
    }
    Ok(codes)
}

#[cold]
fn not_utf8() -> Error {
    corruption("text that is not UTF-8")
}
