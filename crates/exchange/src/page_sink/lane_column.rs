//! One column of all lanes.

use super::{layout::Layout, strings::LaneStrings};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_kernels::scatter::{pack_bytes, scatter, scatter_bits, scatter_indexed};
use volley_types::{PhysicalType, Type, match_width};
use volley_vector::{
    BooleanBuffer, Buffer, Decoded, Encoding, Indices, NullBuffer, ScalarBuffer, Values, Vector,
};

/// The minimum number of rows per value for which a dictionary is kept.
const ROWS_PER_VALUE: usize = 4;

/// The values of a column, in the order of places.
pub(super) enum LaneColumn {
    /// Every row is the row of this base.
    Constant(Vector),
    /// Codes of one base, and the nulls of the codes.
    Dictionary {
        codes: ScalarBuffer<u32>,
        base: Arc<Vector>,
        nulls: Option<Buffer>,
    },
    Fixed {
        data_type: Type,
        values: Values,
        nulls: Option<Buffer>,
    },
    Bits {
        data_type: Type,
        bits: Buffer,
        nulls: Option<Buffer>,
    },
    Strings {
        data_type: Type,
        strings: LaneStrings,
        nulls: Option<Buffer>,
    },
    /// Of other layouts: a flat vector.
    Flat(Vector),
}

impl LaneColumn {
    /// The column whose rows are those of `columns`, one after the other, placed by `layout`.
    pub(super) fn new(data_type: &Type, columns: &[&Vector], layout: &Layout) -> Result<Self> {
        if let Some(base) = common_constant(columns) {
            return Ok(LaneColumn::Constant(base));
        }
        if let Some(base) = common_dictionary(columns, layout.rows()) {
            return Ok(dictionary(columns, base, layout));
        }
        let data_type = data_type.clone();
        match data_type.physical() {
            PhysicalType::Null => Ok(LaneColumn::Constant(Vector::nulls(data_type, 1))),
            PhysicalType::Boolean => {
                let decoded = decode(columns)?;
                let (bits, nulls) = (booleans(&decoded, layout)?, nulls(&decoded, layout));
                Ok(LaneColumn::Bits { data_type, bits, nulls })
            }
            PhysicalType::View => {
                let decoded = decode(columns)?;
                let strings = LaneStrings::new(&decoded, layout)?;
                Ok(LaneColumn::Strings { data_type, strings, nulls: nulls(&decoded, layout) })
            }
            physical if physical.is_by_reference() => others(&data_type, columns, layout),
            physical => {
                let decoded = decode(columns)?;
                let values = fixed(physical, &decoded, layout)?;
                Ok(LaneColumn::Fixed { data_type, values, nulls: nulls(&decoded, layout) })
            }
        }
    }

    /// The rows of `lane` from place `first` on.
    pub(super) fn slice(&self, layout: &Layout, lane: usize, first: usize, rows: usize) -> Vector {
        let offset = layout.bits(lane).start + first - layout.range(lane).0;
        let bits = |all: &Buffer| BooleanBuffer::new(all.clone(), offset, rows);
        let nulls = |all: &Option<Buffer>| all.as_ref().map(|it| NullBuffer::new(bits(it)));
        match self {
            LaneColumn::Constant(base) => Vector::repeat(base.clone(), rows),
            LaneColumn::Dictionary { codes, base, nulls: all } => {
                let codes = codes.slice(first, rows);
                Vector::checked_dictionary(codes, Arc::clone(base), nulls(all))
            }
            LaneColumn::Fixed { data_type, values, nulls: all } => {
                Vector::flat(data_type.clone(), values.slice(first, rows), nulls(all))
            }
            LaneColumn::Bits { data_type, bits: values, nulls: all } => {
                Vector::flat(data_type.clone(), Values::Boolean(bits(values)), nulls(all))
            }
            LaneColumn::Strings { data_type, strings, nulls: all } => {
                Vector::strings(data_type.clone(), strings.slice(lane, first, rows), nulls(all))
            }
            LaneColumn::Flat(vector) => vector.slice(first, rows),
        }
    }
}

fn decode<'a>(columns: &[&'a Vector]) -> Result<Vec<Decoded<'a>>> {
    columns.iter().map(|it| Decoded::new(it)).collect()
}

/// The base of constants that are all the same.
fn common_constant(columns: &[&Vector]) -> Option<Vector> {
    let mut common: Option<&Arc<Vector>> = None;
    for column in columns {
        let Encoding::Constant(base) = column.encoding() else { return None };
        if !Arc::ptr_eq(common.get_or_insert(base), base) {
            return None;
        }
    }
    common.map(|it| it.as_ref().clone())
}

/// The base that all columns have codes of, if it is small compared with the rows.
fn common_dictionary(columns: &[&Vector], rows: usize) -> Option<Arc<Vector>> {
    let mut common: Option<&Arc<Vector>> = None;
    for column in columns {
        let Encoding::Dictionary { base, .. } = column.encoding() else { return None };
        if !Arc::ptr_eq(common.get_or_insert(base), base) {
            return None;
        }
    }
    common.filter(|it| it.len() * ROWS_PER_VALUE <= rows).cloned()
}

fn dictionary(columns: &[&Vector], base: Arc<Vector>, layout: &Layout) -> LaneColumn {
    let mut placed = vec![0u32; layout.rows()];
    let mut start = 0;
    let has_nulls = columns.iter().any(|it| it.null_buffer().is_some());
    let mut valid = if has_nulls { vec![1u8; layout.rows()] } else { Vec::new() };
    for column in columns {
        let places = &layout.places[start..start + column.len()];
        if let Encoding::Dictionary { codes, .. } = column.encoding() {
            scatter(codes, places, &mut placed);
        }
        if let Some(nulls) = column.null_buffer() {
            scatter_bits(nulls.inner().values(), nulls.offset(), places, &mut valid);
        }
        start += column.len();
    }
    let nulls = has_nulls.then(|| packed(&valid, layout));
    LaneColumn::Dictionary { codes: placed.into(), base, nulls }
}

/// Calls `f` with each column and the places of its rows.
pub(super) fn for_each<'a>(
    columns: &'a [Decoded<'a>],
    layout: &'a Layout,
    mut f: impl FnMut(&'a Decoded<'a>, &'a [u32], usize) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    for column in columns {
        f(column, &layout.places[start..start + column.len()], start)?;
        start += column.len();
    }
    Ok(())
}

fn fixed(physical: PhysicalType, columns: &[Decoded<'_>], layout: &Layout) -> Result<Values> {
    match_width!(physical, T => {
        let mut placed = vec![T::default(); layout.rows()];
        for_each(columns, layout, |column, places, _| {
            if let Values::Null(_) = column.values() {
                return Ok(());
            }
            let values = column.values().width::<T>().ok_or_else(other_layout)?;
            match column.indices() {
                Indices::Identity => scatter(values, places, &mut placed),
                Indices::Codes(codes) => scatter_indexed(values, codes, places, &mut placed),
                Indices::Constant(index) => {
                    let value = values.get(*index as usize).copied().unwrap_or_default();
                    places.iter().for_each(|it| placed[*it as usize] = value);
                }
            }
            Ok(())
        })?;
        let bytes = Buffer::from_vec(placed);
        Values::from_fixed_bytes(physical, bytes).ok_or_else(other_layout)
    }, else Err(other_layout()))
}

fn booleans(columns: &[Decoded<'_>], layout: &Layout) -> Result<Buffer> {
    let mut placed = vec![0u8; layout.rows()];
    for_each(columns, layout, |column, places, _| {
        match (column.values(), column.indices()) {
            (Values::Null(_), _) => {}
            (Values::Boolean(bits), Indices::Identity) => {
                scatter_bits(bits.values(), bits.offset(), places, &mut placed);
            }
            (Values::Boolean(bits), _) => {
                for (row, place) in places.iter().enumerate() {
                    placed[*place as usize] = bits.value(column.index(row)).into();
                }
            }
            _ => return Err(other_layout()),
        }
        Ok(())
    })?;
    Ok(packed(&placed, layout))
}

/// The validity bits of all lanes; `None` if no row is null.
fn nulls(columns: &[Decoded<'_>], layout: &Layout) -> Option<Buffer> {
    if !columns.iter().any(Decoded::has_nulls) {
        return None;
    }
    let mut valid = vec![1u8; layout.rows()];
    let mut start = 0;
    for column in columns {
        let places = &layout.places[start..start + column.len()];
        if let Some(nulls) = column.nulls() {
            scatter_bits(nulls.inner().values(), nulls.offset(), places, &mut valid);
        }
        start += column.len();
    }
    Some(packed(&valid, layout))
}

/// A byte per row as a bit per row, in which lanes begin at whole bytes.
fn packed(bytes: &[u8], layout: &Layout) -> Buffer {
    let mut bits = vec![0u8; layout.all_bits() / 8];
    for lane in 0..layout.lane_count() {
        let (start, end) = layout.range(lane);
        let range = layout.bits(lane);
        pack_bytes(&bytes[start..end], &mut bits[range.start / 8..range.end / 8]);
    }
    Buffer::from_vec(bits)
}

/// Layouts with values elsewhere: joined, then gathered in the order of places.
fn others(data_type: &Type, columns: &[&Vector], layout: &Layout) -> Result<LaneColumn> {
    let columns: Vec<Vector> = columns.iter().map(|it| (*it).clone()).collect();
    let joined = Vector::concat(data_type, &columns)?;
    let mut rows = vec![0u32; layout.rows()];
    for (row, place) in (0..).zip(&layout.places) {
        rows[*place as usize] = row;
    }
    Ok(LaneColumn::Flat(joined.gather(&rows)?.flatten()?))
}

#[cold]
pub(super) fn other_layout() -> Error {
    Error::internal("values of another layout than their column's type")
}
