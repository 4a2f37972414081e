//! Dictionary vectors, and tests of entries.

use super::ENTRIES_MAX;
use crate::{
    VECTOR_ROWS,
    column::{Body, ColumnReader, Read},
    input::{Input, corruption},
    marks::{self, Mark},
    order::Order,
    pfor::{self, Packed},
    vectors::{self, Decode},
};
use std::{
    ops::{Range, RangeInclusive},
    sync::Arc,
};
use volley_error::Result;
use volley_kernels::{bits, order::max_u32, select_packed::VECTOR_WORDS};
use volley_types::Type;
use volley_vector::{BooleanBuffer, ColumnTest, Vector};

/// The most ranges of codes that are tested as they are packed.
const RANGES_MAX: usize = 3;

pub(crate) fn open(
    input: &mut Input,
    data_type: &Type,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let entries = ColumnReader::read_from(input, data_type, depth)?;
    if !(1..=ENTRIES_MAX).contains(&entries.rows()) {
        return Err(corruption("entries of a dictionary"));
    }
    let codes = Packed::open(input, rows)?;
    Ok(Box::new(Dictionary { entries, codes, base: None, tested: None, scratch: Vec::new() }))
}

struct Dictionary {
    entries: ColumnReader,
    codes: Packed<u32>,
    /// The entries, once they were decoded.
    base: Option<Arc<Vector>>,
    /// The last test, and the codes of entries that pass.
    tested: Option<(ColumnTest, Passing)>,
    scratch: Vec<u32>,
}

/// Codes of entries that pass a test.
enum Passing {
    Ranges(Vec<RangeInclusive<i128>>),
    Entries(Vec<bool>),
}

impl Dictionary {
    fn base(&mut self) -> Result<Arc<Vector>> {
        if let Some(base) = &self.base {
            return Ok(Arc::clone(base));
        }
        let base = Arc::new(self.entries.read_rows(0..self.entries.rows(), None)?.flatten()?);
        self.base = Some(Arc::clone(&base));
        Ok(base)
    }

    /// Tests the entries, if another test was the last one.
    fn test(&mut self, test: &ColumnTest) -> Result<()> {
        if self.tested.as_ref().is_none_or(|it| it.0 != *test) {
            marks::hit(Mark::DictionaryTest);
            let passing = passing(&test.matches(&*self.base()?)?);
            self.tested = Some((test.clone(), passing));
        }
        Ok(())
    }
}

fn passing(entries: &BooleanBuffer) -> Passing {
    let ranges: Vec<_> = entries.set_slices().take(RANGES_MAX + 1).collect();
    if ranges.len() > RANGES_MAX {
        return Passing::Entries(entries.iter().collect());
    }
    let range = |(start, end): (usize, usize)| start as i128..=end as i128 - 1;
    Passing::Ranges(ranges.into_iter().map(range).collect())
}

impl Body for Dictionary {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let codes = vectors::read(&self.codes, rows, pick)?;
        if !codes.is_empty() && max_u32(&codes) as usize >= self.entries.rows() {
            return Err(corruption("code beyond the dictionary"));
        }
        Ok(Read::Dictionary(codes, self.base()?))
    }

    fn select(&mut self, index: usize, test: &ColumnTest) -> Result<Option<[u64; VECTOR_WORDS]>> {
        self.test(test)?;
        let Some((_, passing)) = &self.tested else { return Ok(None) };
        let entries = match passing {
            Passing::Ranges(ranges) => {
                let scratch = &mut self.scratch;
                return pfor::select(&self.codes, index, ranges, Order::Unsigned, scratch)
                    .map(Some);
            }
            Passing::Entries(entries) => entries,
        };
        self.scratch.clear();
        self.codes.vector(index, &mut self.scratch)?;
        let mut words = [0; VECTOR_WORDS];
        debug_assert!(self.scratch.len() <= VECTOR_ROWS);
        for (codes, word) in self.scratch.chunks(64).zip(&mut words) {
            let passes = |row: usize| entries.get(codes[row] as usize).copied().unwrap_or(false);
            *word = bits::word(codes.len(), passes);
        }
        Ok(Some(words))
    }
}
