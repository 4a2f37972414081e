//! Encodes texts and bytes: by a dictionary where values repeat, otherwise one after the other.

use crate::{
    metadata::{encoding, stream},
    writer::{
        column::EncodedColumn,
        runs::write_unsigned,
        stream::{BlockFormat, StreamWriter},
    },
};
use std::collections::HashMap;
use volley_error::Result;
use volley_vector::StringValues;

/// A dictionary is left when it has more than one entry for this number of values.
const VALUES_PER_ENTRY: usize = 2;

/// Entries that a dictionary may have in any case, before it is left.
const ENTRIES_MIN: usize = 1000;

/// The values of the rows that are not null, in row groups.
pub(crate) struct TextEncoder<'a> {
    pub strings: &'a StringValues,
    /// Positions of the rows.
    pub groups: &'a [&'a [u32]],
    pub format: BlockFormat,
}

impl<'a> TextEncoder<'a> {
    /// Writes the streams of a column but PRESENT.
    pub fn write(&self, column: &mut EncodedColumn) -> Result<()> {
        for (rows, (_, statistics)) in self.groups.iter().zip(&mut column.groups) {
            rows.iter().for_each(|row| statistics.add_bytes(self.value(*row)));
        }
        match self.dictionary() {
            Some((entries, codes)) => self.write_dictionary(&entries, &codes, column),
            None => self.write_direct(column),
        }
    }

    fn value(&self, row: u32) -> &'a [u8] {
        self.strings.bytes(row as usize)
    }

    /// The entries, and the code of each value; `None` where values hardly repeat.
    fn dictionary(&self) -> Option<(Vec<&'a [u8]>, Vec<i64>)> {
        let (mut known, mut entries, mut codes) = (HashMap::new(), Vec::new(), Vec::new());
        for row in self.groups.iter().copied().flatten() {
            let value = self.value(*row);
            let code = *known.entry(value).or_insert_with(|| {
                entries.push(value);
                entries.len() as i64 - 1
            });
            codes.push(code);
            if entries.len() > ENTRIES_MIN.max(codes.len() / VALUES_PER_ENTRY) {
                return None;
            }
        }
        let is_worth_it = entries.len() * VALUES_PER_ENTRY <= codes.len() && !codes.is_empty();
        is_worth_it.then_some((entries, codes))
    }

    fn write_dictionary(
        &self,
        entries: &[&[u8]],
        codes: &[i64],
        column: &mut EncodedColumn,
    ) -> Result<()> {
        let mut data = StreamWriter::new(self.format);
        let mut start = 0;
        for (rows, (positions, _)) in self.groups.iter().zip(&mut column.groups) {
            data.push_position(positions);
            positions.push(0);
            let end = start + rows.len();
            write_unsigned(codes.get(start..end).unwrap_or_default(), &mut data)?;
            start = end;
        }
        let (mut bytes, mut lengths) =
            (StreamWriter::new(self.format), StreamWriter::new(self.format));
        for entry in entries {
            bytes.write(entry)?;
        }
        let sizes: Vec<i64> = entries.iter().map(|it| it.len() as i64).collect();
        write_unsigned(&sizes, &mut lengths)?;
        column.encoding = encoding::DICTIONARY_V2;
        column.dictionary_size = entries.len() as u64;
        column.streams.push((stream::DATA, data.finish()?));
        column.streams.push((stream::DICTIONARY_DATA, bytes.finish()?));
        column.streams.push((stream::LENGTH, lengths.finish()?));
        Ok(())
    }

    fn write_direct(&self, column: &mut EncodedColumn) -> Result<()> {
        let (mut bytes, mut lengths) =
            (StreamWriter::new(self.format), StreamWriter::new(self.format));
        for (rows, (positions, _)) in self.groups.iter().zip(&mut column.groups) {
            bytes.push_position(positions);
            lengths.push_position(positions);
            positions.push(0);
            let mut sizes = Vec::with_capacity(rows.len());
            for row in *rows {
                let value = self.value(*row);
                bytes.write(value)?;
                sizes.push(value.len() as i64);
            }
            write_unsigned(&sizes, &mut lengths)?;
        }
        column.streams.push((stream::DATA, bytes.finish()?));
        column.streams.push((stream::LENGTH, lengths.finish()?));
        Ok(())
    }
}
