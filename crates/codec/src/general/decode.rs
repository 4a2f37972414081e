//! Reading values as they are.

use crate::{
    VECTOR_ROWS,
    column::{Body, Read},
    input::{Input, corruption},
    integers,
    strings::{Texts, offsets},
    vectors::{Decode, groups, is_dense, rows_of, runs, split},
};
use arrow_buffer::{Buffer, MutableBuffer};
use std::ops::Range;
use volley_error::Result;
use volley_types::{PhysicalType, Type, match_native};
use volley_vector::Values;

pub(crate) fn open_fixed(
    input: &mut Input,
    physical: PhysicalType,
    rows: usize,
) -> Result<Box<dyn Body>> {
    let no_width = || corruption("codec of another type");
    let width = match_native!(physical, T => size_of::<T>(), else return Err(no_width()));
    Ok(Box::new(Elements { physical, width, bytes: input.elements(rows, width)? }))
}

/// Values of fixed width.
struct Elements {
    physical: PhysicalType,
    width: usize,
    bytes: Buffer,
}

impl Body for Elements {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let width = self.width;
        let bytes = self.bytes.slice_with_length(rows.start * width, rows.len() * width);
        // Elements are copied: they need not be aligned where they are.
        let mut copy = MutableBuffer::with_capacity(pick.map_or(rows.len(), <[u32]>::len) * width);
        match pick {
            None => copy.extend_from_slice(&bytes),
            Some(pick) => runs(pick).for_each(|rows| {
                let elements = bytes.get(rows.start * width..rows.end * width);
                copy.extend_from_slice(elements.unwrap_or_default());
            }),
        }
        let values = Values::from_fixed_bytes(self.physical, copy.into());
        values.map(Read::Values).ok_or_else(|| corruption("codec of another type"))
    }
}

pub(crate) fn open_raw(input: &mut Input, data_type: &Type, rows: usize) -> Result<Box<dyn Body>> {
    let bytes = input.integers::<u32>(rows.div_ceil(VECTOR_ROWS))?;
    let lengths = integers::open(input, rows)?;
    let vectors = bytes.into_iter().map(|it| input.take(it as usize));
    let vectors = vectors.collect::<Result<_>>()?;
    Ok(Box::new(RawTexts { data_type: data_type.clone(), rows, lengths, vectors }))
}

/// Texts, whose views point into the bytes of the column.
struct RawTexts {
    data_type: Type,
    rows: usize,
    lengths: Box<dyn Decode<u32>>,
    vectors: Vec<Buffer>,
}

impl RawTexts {
    fn vector(&self, index: usize) -> Result<(&Buffer, Vec<u32>)> {
        let mut lengths = Vec::new();
        self.lengths.vector(index, &mut lengths)?;
        let bytes = self.vectors.get(index);
        Ok((bytes.ok_or_else(|| corruption("vector beyond the end"))?, lengths))
    }

    fn read_some(
        &self,
        index: usize,
        rows: impl Iterator<Item = usize>,
        texts: &mut Texts,
    ) -> Result<()> {
        let (bytes, lengths) = self.vector(index)?;
        let begins = offsets(&lengths);
        let text = |row: usize| Some((*begins.get(row)?, *lengths.get(row)? as usize));
        texts.push_some(bytes, rows.filter_map(text))
    }
}

impl Body for RawTexts {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let mut texts = Texts::new(&self.data_type, pick.map_or(rows.len(), <[u32]>::len));
        let is_dense = pick.is_some_and(|it| is_dense(it, rows.len()));
        match pick.filter(|_| !is_dense) {
            Some(pick) => {
                for (index, rows) in groups(rows.start, pick) {
                    self.read_some(index, rows, &mut texts)?;
                }
            }
            None => {
                for (index, within) in split(rows) {
                    if within.len() < rows_of(index, self.rows) {
                        self.read_some(index, within, &mut texts)?;
                        continue;
                    }
                    let (bytes, lengths) = self.vector(index)?;
                    texts.push_all(bytes.clone(), &lengths)?;
                }
                pick.iter().for_each(|it| texts.keep(it));
            }
        }
        Ok(texts.finish())
    }
}
