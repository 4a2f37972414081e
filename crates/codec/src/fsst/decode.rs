//! Texts of codes.

use crate::{
    VECTOR_ROWS,
    column::{Body, Read},
    input::{Input, corruption},
    integers,
    strings::{Texts, offsets},
    vectors::{Decode, groups, is_dense, rows_of, split},
};
use arrow_buffer::Buffer;
use std::ops::Range;
use volley_error::Result;
use volley_kernels::fsst::{ESCAPE, SYMBOL_BYTES_MAX, SymbolTable};
use volley_types::Type;

pub(crate) fn open(input: &mut Input, data_type: &Type, rows: usize) -> Result<Box<dyn Body>> {
    let table = read_table(input)?;
    let vectors = rows.div_ceil(VECTOR_ROWS);
    let text_bytes = input.integers::<u32>(vectors)?;
    let code_bytes = input.integers::<u32>(vectors)?;
    let lengths = integers::open(input, rows)?;
    let mut heads = Vec::with_capacity(vectors);
    for (text_bytes, code_bytes) in text_bytes.into_iter().zip(code_bytes) {
        let codes = input.take(code_bytes as usize)?;
        if u64::from(text_bytes) > codes.len() as u64 * SYMBOL_BYTES_MAX as u64 {
            return Err(corruption("bytes of texts"));
        }
        heads.push(Head { text_bytes: text_bytes as usize, codes });
    }
    Ok(Box::new(Coded { data_type: data_type.clone(), rows, table, lengths, heads }))
}

fn read_table(input: &mut Input) -> Result<SymbolTable> {
    let count = usize::from(input.integer::<u8>()?);
    let lengths = input.take(count)?;
    let is_valid = |it: &u8| (1..=SYMBOL_BYTES_MAX).contains(&usize::from(*it));
    if count > usize::from(ESCAPE) || !lengths.iter().all(is_valid) {
        return Err(corruption("symbols of texts"));
    }
    let symbols = lengths.iter().map(|it| input.take(usize::from(*it)));
    let symbols = symbols.collect::<Result<Vec<_>>>()?;
    Ok(SymbolTable::new(symbols.iter().map(Buffer::as_slice)))
}

struct Coded {
    data_type: Type,
    rows: usize,
    table: SymbolTable,
    lengths: Box<dyn Decode<u32>>,
    heads: Vec<Head>,
}

/// A vector.
struct Head {
    text_bytes: usize,
    codes: Buffer,
}

impl Coded {
    /// The codes of each row of a vector.
    fn lengths(&self, index: usize) -> Result<Vec<u32>> {
        let mut lengths = Vec::new();
        self.lengths.vector(index, &mut lengths)?;
        let total: u64 = lengths.iter().map(|it| u64::from(*it)).sum();
        let codes = self.heads.get(index).map_or(0, |it| it.codes.len());
        if total != codes as u64 || lengths.len() != rows_of(index, self.rows) {
            return Err(corruption("lengths of codes"));
        }
        Ok(lengths)
    }

    /// Appends all texts of a vector.
    fn read_all(&self, index: usize, texts: &mut Texts) -> Result<()> {
        let mut lengths = self.lengths(index)?;
        let Some(head) = self.heads.get(index) else { return Ok(()) };
        // All codes at once: a loop per text would end at an unforeseen code of each.
        let mut bytes = vec![0; head.text_bytes];
        let mut ends = vec![0; head.codes.len()];
        let made = self.table.decode_with_ends(&head.codes, &mut bytes, &mut ends);
        if made.ok_or_else(bad_codes)? != bytes.len() {
            return Err(corruption("bytes of texts"));
        }
        let (mut read, mut written) = (0, 0);
        for length in &mut lengths {
            read += *length as usize;
            let end = read.checked_sub(1).and_then(|it| ends.get(it)).copied().unwrap_or(0);
            *length = end - written;
            written = end;
        }
        texts.push_all(Buffer::from_vec(bytes), &lengths)
    }

    /// Appends the texts of some rows of a vector.
    fn read_some(
        &self,
        index: usize,
        rows: impl ExactSizeIterator<Item = usize>,
        texts: &mut Texts,
    ) -> Result<()> {
        let lengths = self.lengths(index)?;
        let begins = offsets(&lengths);
        let Some(head) = self.heads.get(index) else { return Ok(()) };
        let (mut bytes, mut made) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows {
            let (Some(begin), Some(length)) = (begins.get(row), lengths.get(row)) else { continue };
            let codes = head.codes.get(*begin..begin + *length as usize).unwrap_or_default();
            let start = bytes.len();
            bytes.resize(start + codes.len() * SYMBOL_BYTES_MAX, 0);
            let written = self.table.decode(codes, &mut bytes[start..]).ok_or_else(bad_codes)?;
            bytes.truncate(start + written);
            made.push(written as u32);
        }
        texts.push_all(Buffer::from_vec(bytes), &made)
    }
}

fn bad_codes() -> volley_error::Error {
    corruption("codes of texts")
}

impl Body for Coded {
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
                    match within.len() == rows_of(index, self.rows) {
                        true => self.read_all(index, &mut texts)?,
                        false => self.read_some(index, within, &mut texts)?,
                    }
                }
                pick.iter().for_each(|it| texts.keep(it));
            }
        }
        Ok(texts.finish())
    }
}
