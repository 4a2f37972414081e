//! Tests on packed data.

use super::reader::{Body, ColumnReader, Fixed, Read, Validity};
use crate::{
    marks::{self, Mark},
    order::Order,
    pfor::{self, Packed},
    vectors::split,
};
use arrow_buffer::ArrowNativeType;
use std::ops::Range;
use volley_error::{Error, Result};
use volley_kernels::{compare::Comparison, pack::Lane, select_packed::VECTOR_WORDS};
use volley_types::Value;
use volley_vector::{BooleanBuffer, Buffer, ColumnTest, Rows};

/// The most ranges that packed integers are compared with.
const RANGES_MAX: usize = 8;

impl ColumnReader {
    /// Which of the rows `among` (positions in `rows`) pass the test; `None` when the codec cannot
    /// tell without decoding, and the caller has to read the rows and test those.
    ///
    /// # Errors
    ///
    /// As [`ColumnReader::read`]; internal: `among` of another number of rows.
    pub fn select(
        &mut self,
        rows: Range<u32>,
        test: &ColumnTest,
        among: &Rows,
    ) -> Result<Option<Rows>> {
        let range = self.checked(&rows)?;
        if among.len() != range.len() {
            return Err(Error::internal("rows to test are not those of the range"));
        }
        let mut found = among.clone();
        if let ColumnTest::IsNull | ColumnTest::IsNotNull = test {
            return Ok(self.select_nulls(range, test, among));
        }
        if crate::choose::has_key(self.data_type()) {
            return Ok(None);
        }
        let Some(body) = &mut self.body else { return Ok(Some(Rows::none(among.len()))) };
        let mut words = Vec::with_capacity(range.len() / 64 + 2 * VECTOR_WORDS);
        for (index, _) in split(range.clone()) {
            match body.select(index, test)? {
                Some(bits) => words.extend(bits),
                None => return Ok(None),
            }
        }
        found.intersect(&rows_of_words(words, &range));
        if let Some(nulls) = self.validity.read(range, None) {
            found.subtract_nulls(&nulls);
        }
        Ok(Some(found))
    }

    /// By validity; `None` where nulls are among the values.
    fn select_nulls(&self, range: Range<usize>, test: &ColumnTest, among: &Rows) -> Option<Rows> {
        if matches!(self.validity, Validity::NoNulls) && self.has_inner_nulls() {
            return None;
        }
        marks::hit(Mark::NullTest);
        let mut valid = among.clone();
        if let Some(nulls) = self.validity.read(range, None) {
            valid.subtract_nulls(&nulls);
        }
        if *test == ColumnTest::IsNotNull {
            return Some(valid);
        }
        let mut null = among.clone();
        null.subtract(&valid);
        Some(null)
    }

    /// Whether null rows may be found in the codec's values.
    fn has_inner_nulls(&self) -> bool {
        self.codec() == crate::CodecId::Rle
    }
}

/// The rows of a range whose bits are set in words that begin with the range's first vector.
fn rows_of_words(words: Vec<u64>, range: &Range<usize>) -> Rows {
    if range.is_empty() {
        return Rows::none(0);
    }
    let first = range.start % crate::VECTOR_ROWS;
    Rows::from_bits(&BooleanBuffer::new(Buffer::from_vec(words), first, range.len()))
}

/// Integers of PFOR.
pub(super) struct PackedIntegers<T> {
    pub(super) fixed: Fixed<T, Packed<T>>,
    pub(super) scratch: Vec<T>,
}

impl<T: Lane + ArrowNativeType> Body for PackedIntegers<T> {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        self.fixed.read(rows, pick)
    }

    fn select(&mut self, index: usize, test: &ColumnTest) -> Result<Option<[u64; VECTOR_WORDS]>> {
        let Some(ranges) = integer_ranges(test, Order::Signed.bounds::<T>()) else {
            return Ok(None);
        };
        let column = &self.fixed.column;
        pfor::select(column, index, &ranges, Order::Signed, &mut self.scratch).map(Some)
    }
}

/// The ranges of integers that pass a test; `None` for tests of another kind, or with too many
/// ranges.
fn integer_ranges(
    test: &ColumnTest,
    (least, greatest): (i128, i128),
) -> Option<Vec<std::ops::RangeInclusive<i128>>> {
    Some(match test {
        ColumnTest::Compare { comparison, value } => {
            let value = integer(value)?;
            match comparison {
                Comparison::Equal => vec![value..=value],
                Comparison::NotEqual => {
                    vec![least..=value.saturating_sub(1), value.saturating_add(1)..=greatest]
                }
                Comparison::Less => vec![least..=value.saturating_sub(1)],
                Comparison::LessOrEqual => vec![least..=value],
                Comparison::Greater => vec![value.saturating_add(1)..=greatest],
                Comparison::GreaterOrEqual => vec![value..=greatest],
            }
        }
        ColumnTest::Between { low, high } => vec![integer(low)?..=integer(high)?],
        ColumnTest::In(values) if values.len() <= RANGES_MAX => {
            let point = |it: &Value| integer(it).map(|it| it..=it);
            values.iter().filter(|it| !it.is_null()).map(point).collect::<Option<_>>()?
        }
        _ => return None,
    })
}

fn integer(value: &Value) -> Option<i128> {
    value.as_i128()
}
