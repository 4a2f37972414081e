//! Encodes a column of a stripe, nested ones included.
//!
//! A column is a vector and the rows of it that are stored for its parent, in row groups. Rows that
//! are null are in PRESENT, and leave nothing in the other streams.

use crate::{
    metadata::{encoding, stream},
    writer::{
        proto::MessageBuilder,
        runs::{write_bytes, write_unsigned},
        schema::Tree,
        statistics::Statistics,
        stream::{BlockFormat, StreamWriter},
        values::ValueEncoder,
    },
};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Nested, StringView, Values, Vector};

/// The columns of a stripe as they are stored, parents first.
#[derive(Default)]
pub(crate) struct StripeColumns {
    pub columns: Vec<EncodedColumn>,
}

/// A column of a stripe as it is stored.
pub(crate) struct EncodedColumn {
    /// By kind, in the order of positions.
    pub streams: Vec<(u64, Vec<u8>)>,
    pub encoding: u64,
    pub dictionary_size: u64,
    /// Of each row group: positions and statistics.
    pub groups: Vec<(Vec<u64>, Statistics)>,
}

/// The rows of a vector that are stored.
pub(crate) struct StoredRows {
    /// Flat.
    pub vector: Vector,
    /// Positions in the vector.
    pub rows: Vec<u32>,
    /// Where each row group ends in `rows`.
    pub ends: Vec<usize>,
}

impl EncodedColumn {
    /// The row index of the column, as it is stored but for compression.
    pub fn index(&self) -> Vec<u8> {
        let mut index = MessageBuilder::default();
        for (positions, statistics) in &self.groups {
            let entry = MessageBuilder::default().packed(1, positions);
            index = index.message(1, entry.message(2, statistics.message()));
        }
        index.finish()
    }

    /// The statistics of all row groups.
    pub fn statistics(&self) -> Statistics {
        let mut groups = self.groups.iter().map(|it| &it.1);
        let mut all = groups.next().cloned().unwrap_or_default();
        groups.for_each(|it| all.merge(it));
        all
    }
}

impl StripeColumns {
    /// Encodes a column and those below it.
    pub fn encode(&mut self, tree: &Tree, stored: StoredRows, format: BlockFormat) -> Result<()> {
        let split = SplitRows::new(&stored);
        let mut column = EncodedColumn {
            streams: Vec::new(),
            encoding: encoding::DIRECT_V2,
            dictionary_size: 0,
            groups: split.statistics(&tree.data_type),
        };
        split.write_present(&mut column, format)?;
        let values = stored.vector.flat_values().ok_or_else(|| Error::internal("not flat"))?;
        let children = match values {
            Values::Row { children, .. } => split.children_of_rows(children, &mut column),
            Values::Array(nested) | Values::Map(nested) => {
                let bounds = |row: usize| bounds_at(nested, row);
                let elements = elements_of(nested, values)?;
                split.children_of_lists(elements, bounds, &mut column, format)?
            }
            Values::FixedArray(arrays) => {
                let size = arrays.size;
                let bounds = |row: usize| (row * size, size);
                let elements = vec![arrays.elements.as_ref().clone()];
                split.children_of_lists(elements, bounds, &mut column, format)?
            }
            values => {
                let groups: Vec<&[u32]> = split.groups().collect();
                ValueEncoder { groups: &groups, format }.write(
                    &tree.data_type,
                    values,
                    &mut column,
                )?;
                Vec::new()
            }
        };
        debug_assert_eq!(self.columns.len(), tree.column, "columns are in the order of types");
        self.columns.push(column);
        for (child, mut stored) in tree.children.iter().zip(children) {
            stored.vector = flat(stored.vector)?;
            self.encode(child, stored, format)?;
        }
        Ok(())
    }
}

/// A vector as a flat one.
pub(crate) fn flat(vector: Vector) -> Result<Vector> {
    match vector.flat_values() {
        Some(_) => Ok(vector),
        None => Vector::concat(&vector.data_type().clone(), &[vector]),
    }
}

/// Where the elements of a row begin, and how many there are.
fn bounds_at(nested: &Nested, row: usize) -> (usize, usize) {
    let at = |values: &[i32]| values.get(row).map_or(0, |it| *it as usize);
    (at(&nested.offsets), at(&nested.sizes))
}

/// The element vectors: one of an array, keys and values of a map.
fn elements_of(nested: &Nested, values: &Values) -> Result<Vec<Vector>> {
    let elements = flat(nested.elements.as_ref().clone())?;
    Ok(match (values, elements.flat_values()) {
        (Values::Map(_), Some(Values::Row { children, .. })) => children.to_vec(),
        _ => vec![elements],
    })
}

/// About the bytes of a flat vector that has no part of another one.
pub(crate) fn flat_bytes(vector: &Vector) -> usize {
    let len = vector.len();
    let of_elements = |elements: &Vector, used: usize| {
        flat_bytes(elements).saturating_mul(used) / elements.len().max(1)
    };
    match vector.flat_values() {
        Some(Values::View(strings)) => {
            let text = |it: &u128| StringView::len_of(*it);
            len * size_of::<u128>() + strings.views.iter().map(text).sum::<usize>()
        }
        Some(Values::Row { children, .. }) => children.iter().map(flat_bytes).sum(),
        Some(Values::Array(nested) | Values::Map(nested)) => {
            let used = nested.sizes.iter().map(|it| *it as usize).sum();
            len * size_of::<u64>() + of_elements(&nested.elements, used)
        }
        Some(Values::FixedArray(arrays)) => of_elements(&arrays.elements, len * arrays.size),
        Some(Values::I128(_)) => len * size_of::<i128>(),
        _ => len * size_of::<i64>(),
    }
}

/// The rows that are not null, in row groups.
struct SplitRows {
    /// Of all rows: whether they are not null; empty if none is null.
    present: Vec<bool>,
    /// Where each row group ends among all rows.
    all_ends: Vec<usize>,
    /// Positions in the vector of the rows that are not null.
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl SplitRows {
    fn new(stored: &StoredRows) -> SplitRows {
        let nulls = stored.vector.null_buffer();
        let has_values = !matches!(stored.vector.flat_values(), Some(Values::Null(_)));
        let is_valid = |row: &u32| has_values && nulls.is_none_or(|it| it.is_valid(*row as usize));
        let has_nulls = !stored.rows.iter().all(is_valid);
        let (mut present, mut rows, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut start = 0;
        for end in &stored.ends {
            let group = stored.rows.get(start..*end).unwrap_or_default();
            match has_nulls {
                false => rows.extend_from_slice(group),
                true => {
                    rows.extend(group.iter().copied().filter(is_valid));
                    present.extend(group.iter().map(is_valid));
                }
            }
            ends.push(rows.len());
            start = *end;
        }
        SplitRows { present, all_ends: stored.ends.clone(), rows, ends }
    }

    /// Statistics of each row group, without values yet.
    fn statistics(&self, data_type: &Type) -> Vec<(Vec<u64>, Statistics)> {
        let (mut groups, mut start, mut all_start) = (Vec::new(), 0, 0);
        for (end, all_end) in self.ends.iter().zip(&self.all_ends) {
            let mut statistics = Statistics::of_type(data_type);
            statistics.has_null = end - start < all_end - all_start;
            groups.push((Vec::new(), statistics));
            (start, all_start) = (*end, *all_end);
        }
        groups
    }

    fn write_present(&self, column: &mut EncodedColumn, format: BlockFormat) -> Result<()> {
        if self.present.is_empty() {
            return Ok(());
        }
        let bytes = write_bits(&self.present, &self.all_ends, &mut column.groups, format)?;
        column.streams.push((stream::PRESENT, bytes));
        Ok(())
    }

    /// The rows of each row group.
    fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let rows = self.rows.get(start..*end).unwrap_or_default();
            start = *end;
            rows
        })
    }

    fn count_values(&self, column: &mut EncodedColumn) {
        for (rows, (_, statistics)) in self.groups().zip(&mut column.groups) {
            statistics.values = rows.len() as u64;
        }
    }

    /// The rows of the fields of rows.
    fn children_of_rows(&self, children: &[Vector], column: &mut EncodedColumn) -> Vec<StoredRows> {
        column.encoding = encoding::DIRECT;
        self.count_values(column);
        let child = |vector: &Vector| StoredRows {
            vector: vector.clone(),
            rows: self.rows.clone(),
            ends: self.ends.clone(),
        };
        children.iter().map(child).collect()
    }

    /// Writes the lengths of lists; the rows of their elements.
    fn children_of_lists(
        &self,
        elements: Vec<Vector>,
        bounds: impl Fn(usize) -> (usize, usize),
        column: &mut EncodedColumn,
        format: BlockFormat,
    ) -> Result<Vec<StoredRows>> {
        self.count_values(column);
        let mut lengths = StreamWriter::new(format);
        let (mut rows, mut ends, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        for (group, (positions, _)) in self.groups().zip(&mut column.groups) {
            lengths.push_position(positions);
            positions.push(0);
            buffer.clear();
            for row in group {
                let (start, len) = bounds(*row as usize);
                buffer.push(len as i64);
                rows.extend(start as u32..(start + len) as u32);
            }
            write_unsigned(&buffer, &mut lengths)?;
            ends.push(rows.len());
        }
        column.streams.push((stream::LENGTH, lengths.finish()?));
        let child = |vector: Vector| StoredRows { vector, rows: rows.clone(), ends: ends.clone() };
        Ok(elements.into_iter().map(child).collect())
    }
}

/// Bits in row groups that end at `ends`, the highest of a byte first; runs of bytes end in the
/// byte in which a row group does.
pub(crate) fn write_bits(
    bits: &[bool],
    ends: &[usize],
    groups: &mut [(Vec<u64>, Statistics)],
    format: BlockFormat,
) -> Result<Vec<u8>> {
    let byte = |bits: &[bool]| {
        let set = bits.iter().enumerate().filter(|(_, bit)| **bit);
        set.fold(0_u8, |byte, (place, _)| byte | 0x80 >> place)
    };
    let bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
    let mut out = StreamWriter::new(format);
    let (mut start, mut written) = (0, 0);
    for (end, (positions, _)) in ends.iter().zip(groups) {
        // What comes before the byte in which the row group begins.
        write_bytes(bytes.get(written..start / 8).unwrap_or_default(), &mut out)?;
        written = start / 8;
        out.push_position(positions);
        positions.extend([0, (start % 8) as u64]);
        start = *end;
    }
    write_bytes(bytes.get(written..).unwrap_or_default(), &mut out)?;
    out.finish()
}
