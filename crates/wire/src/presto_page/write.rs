//! Writes blocks.

use super::{
    RUN_LENGTH,
    kind::{BlockKind, from_bits, from_interval, has_zone, to_sign_magnitude},
    zone_key,
};
use volley_error::{Error, Result};
use volley_types::{Type, custom::bits_of};
use volley_vector::{Decoded, Indices, Nested, NullBuffer, Values, Vector};

/// Appends the block of a column to `out`: RLE for a constant, otherwise the block of its type.
///
/// # Errors
///
/// What a lazy column reports. Unsupported: a type that Presto does not have; 2 GiB in one block.
pub fn write_block(vector: &Vector, out: &mut Vec<u8>) -> Result<()> {
    if vector.is_constant() && vector.len() != 1 {
        write_name(RUN_LENGTH, out);
        write_count(vector.len(), out)?;
        let one = Vector::from_values(vector.data_type().clone(), &[constant(vector)?]);
        return write_block(&one, out);
    }
    let decoded = Decoded::new(vector)?;
    let kind = BlockKind::of(vector.data_type())?;
    write_name(kind.name(), out);
    match kind {
        BlockKind::Byte => write_bytes(&decoded, out),
        BlockKind::Short => write_fixed(&decoded, out, i16::to_le_bytes),
        BlockKind::Int if *vector.data_type() == Type::Real => {
            write_fixed(&decoded, out, f32::to_le_bytes)
        }
        BlockKind::Int => write_fixed(&decoded, out, i32::to_le_bytes),
        BlockKind::Long => match vector.data_type() {
            Type::Double => write_fixed(&decoded, out, f64::to_le_bytes),
            Type::Time | Type::Timestamp => write_milliseconds(&decoded, out),
            zoned if has_zone(zoned) => write_zoned(&decoded, out),
            _ => write_fixed(&decoded, out, i64::to_le_bytes),
        },
        BlockKind::Int128 => match vector.data_type() {
            Type::Interval => write_each(&decoded, out, from_interval),
            custom @ Type::Custom(_) => {
                write_each(&decoded, out, |it: i128| from_bits(custom, bits_of(it)))
            }
            _ => write_each(&decoded, out, to_sign_magnitude),
        },
        BlockKind::Variable => write_variable(&decoded, out),
        BlockKind::Array => write_array(&decoded, out),
        BlockKind::Map => write_map(&decoded, out),
        BlockKind::Row => write_row(&decoded, out),
    }
}

/// The value of a constant; null for one without rows.
fn constant(vector: &Vector) -> Result<volley_types::Value> {
    if vector.is_empty() { Ok(volley_types::Value::Null) } else { vector.value(0) }
}

fn write_name(name: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(name.len() as i32).to_le_bytes());
    out.extend_from_slice(name.as_bytes());
}

fn write_count(count: usize, out: &mut Vec<u8>) -> Result<()> {
    let count = i32::try_from(count).map_err(|_| too_large())?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}

/// The bits of null rows, the highest bit of a byte first.
fn write_nulls(decoded: &Decoded<'_>, out: &mut Vec<u8>) {
    let Some(nulls) = decoded.nulls() else { return out.push(0) };
    out.push(1);
    let start = out.len();
    for word in nulls.inner().bit_chunks().iter_padded() {
        out.extend((!word).to_le_bytes().map(u8::reverse_bits));
    }
    out.truncate(start + nulls.len().div_ceil(8));
    let unused = nulls.len().div_ceil(8) * 8 - nulls.len();
    if let Some(last) = out.last_mut() {
        *last &= u8::MAX << unused;
    }
}

/// The rows of a decoded column that are not null.
fn valid_rows(decoded: &Decoded<'_>) -> impl Iterator<Item = usize> {
    let nulls: Option<NullBuffer> = decoded.nulls();
    (0..decoded.len()).filter(move |row| nulls.as_ref().is_none_or(|it| it.is_valid(*row)))
}

fn write_bytes(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    if !matches!(decoded.values(), Values::Boolean(_)) {
        return write_fixed(decoded, out, i8::to_le_bytes);
    }
    write_count(decoded.len(), out)?;
    write_nulls(decoded, out);
    out.extend(valid_rows(decoded).map(|row| u8::from(decoded.boolean(row))));
    Ok(())
}

/// Numbers whose bytes are those of the column's buffer: copied at once where all rows are there in
/// order.
fn write_fixed<T: volley_types::Native, const N: usize>(
    decoded: &Decoded<'_>,
    out: &mut Vec<u8>,
    bytes: impl Fn(T) -> [u8; N],
) -> Result<()> {
    if cfg!(target_endian = "little")
        && decoded.is_flat_without_nulls()
        && let Some(values) = decoded.values().fixed_bytes()
    {
        write_count(decoded.len(), out)?;
        out.push(0);
        out.extend_from_slice(values);
        return Ok(());
    }
    write_each(decoded, out, bytes)
}

fn write_each<T: volley_types::Native, const N: usize>(
    decoded: &Decoded<'_>,
    out: &mut Vec<u8>,
    bytes: impl Fn(T) -> [u8; N],
) -> Result<()> {
    write_count(decoded.len(), out)?;
    write_nulls(decoded, out);
    let values = decoded.native::<T>();
    out.reserve(decoded.len() * N);
    for row in valid_rows(decoded) {
        out.extend_from_slice(&bytes(values[decoded.index(row)]));
    }
    Ok(())
}

/// Times: microseconds here, milliseconds in Presto.
fn write_milliseconds(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    write_each(decoded, out, |micros: i64| micros.div_euclid(1000).to_le_bytes())
}

/// Timestamps with a time zone, which has another number in Presto.
fn write_zoned(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    write_count(decoded.len(), out)?;
    write_nulls(decoded, out);
    let values = decoded.native::<i64>();
    for row in valid_rows(decoded) {
        let packed = zone_key::to_presto(values[decoded.index(row)])?;
        out.extend_from_slice(&packed.to_le_bytes());
    }
    Ok(())
}

fn write_variable(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    write_count(decoded.len(), out)?;
    let nulls = decoded.nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|it| it.is_null(row));
    let mut end = 0;
    for row in 0..decoded.len() {
        end += if is_null(row) { 0 } else { decoded.bytes(row).len() };
        write_count(end, out)?;
    }
    write_nulls(decoded, out);
    write_count(end, out)?;
    out.reserve(end);
    for row in valid_rows(decoded) {
        out.extend_from_slice(decoded.bytes(row));
    }
    Ok(())
}

fn write_array(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    match decoded.values() {
        Values::Array(nested) => {
            let lists = Lists::of(decoded, nested);
            write_block(&lists.select(&nested.elements), out)?;
            lists.write(decoded, out)
        }
        Values::FixedArray(arrays) => {
            let nested = arrays.to_nested()?;
            let lists = Lists::of(decoded, &nested);
            write_block(&lists.select(&nested.elements), out)?;
            lists.write(decoded, out)
        }
        _ => {
            let element = match decoded.data_type() {
                Type::Array(element) => (**element).clone(),
                Type::FixedArray(array) => array.0.clone(),
                _ => Type::Unknown,
            };
            write_block(&Vector::from_values(element, &[]), out)?;
            Lists::default().write_empty(decoded, out)
        }
    }
}

fn write_map(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    const NO_HASH_TABLE: i32 = -1;
    let (lists, entries) = match decoded.values() {
        Values::Map(nested) => {
            let lists = Lists::of(decoded, nested);
            let entries = lists.select(&nested.elements);
            (lists, entries)
        }
        _ => (Lists::default(), Vector::from_values(decoded.data_type().entry_type(), &[])),
    };
    let entries = Decoded::new(&entries)?;
    let fields = match (entries.values(), decoded.data_type()) {
        (Values::Row { children, .. }, _) => children.iter().map(|it| pick(it, &entries)).collect(),
        (_, Type::Map(map)) => {
            vec![Vector::from_values(map.0.clone(), &[]), Vector::from_values(map.1.clone(), &[])]
        }
        _ => Vec::new(),
    };
    for field in &fields {
        write_block(field, out)?;
    }
    out.extend_from_slice(&NO_HASH_TABLE.to_le_bytes());
    if lists.ends.is_empty() { lists.write_empty(decoded, out) } else { lists.write(decoded, out) }
}

/// The rows of a child that the rows of its parent are.
fn pick(child: &Vector, parent: &Decoded<'_>) -> Vector {
    match parent.indices() {
        Indices::Identity => child.clone(),
        _ => child.select(&parent.to_codes()),
    }
}

fn write_row(decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
    let rows: Vec<u32> = valid_rows(decoded).map(|row| decoded.index(row) as u32).collect();
    match (decoded.values(), decoded.data_type()) {
        (Values::Row { children, .. }, _) => {
            write_count(children.len(), out)?;
            for child in children.iter() {
                write_block(&child.select(&rows), out)?;
            }
        }
        (_, Type::Row(fields)) => {
            write_count(fields.len(), out)?;
            for field in fields.iter() {
                write_block(&Vector::from_values(field.data_type.clone(), &[]), out)?;
            }
        }
        _ => return Err(Error::internal("a row block of another type")),
    }
    let mut lists = Lists::default();
    let nulls = decoded.nulls();
    let mut end = 0;
    for row in 0..decoded.len() {
        end += u32::from(nulls.as_ref().is_none_or(|it| it.is_valid(row)));
        lists.ends.push(end);
    }
    lists.write(decoded, out)
}

/// The elements of the lists of a column, one list after the other.
#[derive(Default)]
struct Lists {
    /// Positions of elements.
    elements: Vec<u32>,
    /// The end of each list in `elements`.
    ends: Vec<u32>,
}

impl Lists {
    fn of(decoded: &Decoded<'_>, nested: &Nested) -> Lists {
        let mut lists = Lists::default();
        let nulls = decoded.nulls();
        for row in 0..decoded.len() {
            if nulls.as_ref().is_none_or(|it| it.is_valid(row)) {
                let range = nested.range(decoded.index(row));
                lists.elements.extend(range.start as u32..range.end as u32);
            }
            lists.ends.push(lists.elements.len() as u32);
        }
        lists
    }

    fn select(&self, elements: &Vector) -> Vector {
        elements.select(&self.elements)
    }

    /// Rows, offsets, nulls.
    fn write(&self, decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
        write_count(decoded.len(), out)?;
        write_count(0, out)?;
        for end in &self.ends {
            write_count(*end as usize, out)?;
        }
        write_nulls(decoded, out);
        Ok(())
    }

    /// As [`Lists::write`], where all rows are null.
    fn write_empty(mut self, decoded: &Decoded<'_>, out: &mut Vec<u8>) -> Result<()> {
        self.ends = vec![0; decoded.len()];
        self.write(decoded, out)
    }
}

#[cold]
fn too_large() -> Error {
    Error::unsupported("2 GiB or more in one block of a Presto page")
}
