//! Collects the values of pages into one vector: codes stay codes, strings become views.

use crate::{
    error::corrupt,
    fixed::{FixedSink, fixed_sink, spread},
    leaf::Leaf,
    page_values::{PageValues, advance, take_fixed},
    strings::StringPage,
    validity::Validity,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_kernels::{gather::gather, order::max_u32};
use volley_vector::{Encoding, StringValues, Values, Vector};

/// Collects values; starts a new piece where the encoding changes.
pub(crate) struct Accumulator<'a> {
    leaf: &'a Leaf,
    pieces: Vec<Vector>,
    kind: Kind,
    /// Rows in `pieces`.
    rows_before: usize,
    /// Numbers of larger dictionaries are looked up at once.
    dictionary_values_max: usize,
    scratch: Vec<u32>,
}

enum Kind {
    Empty,
    /// `is_dictionary`: keep the encoding; otherwise the base is a decoded page.
    Codes {
        codes: Vec<u32>,
        base: Arc<Vector>,
        is_dictionary: bool,
    },
    Fixed(Box<dyn FixedSink>),
    Strings {
        views: Vec<u128>,
        buffers: Vec<Buffer>,
    },
    /// Booleans: 0 or 1.
    Bits(Vec<u32>),
}

impl<'a> Accumulator<'a> {
    pub fn new(leaf: &'a Leaf) -> Accumulator<'a> {
        Accumulator {
            leaf,
            pieces: Vec::new(),
            kind: Kind::Empty,
            rows_before: 0,
            dictionary_values_max: usize::MAX,
            scratch: Vec::new(),
        }
    }

    /// An accumulator for batches of a column chunk of `rows` rows. Where a dictionary of numbers
    /// does not save much against `rows`, flat vectors are as cheap and simpler to work on.
    pub fn for_chunk(leaf: &'a Leaf, rows: usize) -> Accumulator<'a> {
        let mut accumulator = Accumulator::new(leaf);
        if leaf.fixed_bytes().is_some() {
            accumulator.dictionary_values_max = rows / 4;
        }
        accumulator
    }

    /// Appends the next `count` values of a page.
    pub fn append(&mut self, page: &mut PageValues, count: usize) -> Result<()> {
        self.prepare(page, count)?;
        match (&mut self.kind, page) {
            (Kind::Codes { codes, .. }, PageValues::Codes { codes: hybrid, .. })
            | (Kind::Bits(codes), PageValues::Bits(hybrid)) => hybrid.read(count, codes),
            (Kind::Codes { codes, .. }, PageValues::Decoded { values, at }) => {
                let end = advance(*at, count, values.len())?;
                codes.extend(*at as u32..end as u32);
                *at = end;
                Ok(())
            }
            (Kind::Fixed(sink), PageValues::Fixed { bytes, width }) => {
                sink.append(&take_fixed(bytes, *width, count)?)
            }
            (Kind::Strings { views, buffers }, PageValues::Strings(strings)) => {
                strings.read(count, buffers.len() as u32 - 1, views)
            }
            _ => Err(kind_mismatch()),
        }
    }

    /// Passes the next `count` values of a page and appends those at `positions`, ascending.
    pub fn append_at(
        &mut self,
        page: &mut PageValues,
        count: usize,
        positions: &[u32],
    ) -> Result<()> {
        self.prepare(page, positions.len())?;
        match (&mut self.kind, page) {
            (Kind::Codes { codes, .. }, PageValues::Codes { codes: hybrid, .. })
            | (Kind::Bits(codes), PageValues::Bits(hybrid)) => {
                self.scratch.clear();
                hybrid.read(count, &mut self.scratch)?;
                if positions.last().is_some_and(|it| *it as usize >= count) {
                    return Err(Error::internal("position beyond the rows"));
                }
                codes.reserve(positions.len());
                gather(&self.scratch, positions, codes);
                Ok(())
            }
            (Kind::Codes { codes, .. }, PageValues::Decoded { values, at }) => {
                let end = advance(*at, count, values.len())?;
                codes.extend(positions.iter().map(|it| *at as u32 + it));
                *at = end;
                Ok(())
            }
            (Kind::Fixed(sink), PageValues::Fixed { bytes, width }) => {
                sink.append_at(&take_fixed(bytes, *width, count)?, positions)
            }
            (Kind::Strings { views, buffers }, PageValues::Strings(strings)) => {
                strings.read_at(count, positions, buffers.len() as u32 - 1, views)
            }
            _ => Err(kind_mismatch()),
        }
    }

    /// Spreads the values that were appended since there were `start` rows over the valid rows
    /// from there on. A call follows each append once rows may be null.
    pub fn spread(&mut self, start: usize, validity: &Validity) {
        // A piece that began within these rows has none of its own before them.
        let start = start.max(self.rows_before);
        if self.rows_before > 0 {
            self.spread_piece(start, validity);
            return;
        }
        match &mut self.kind {
            Kind::Empty => {}
            Kind::Codes { codes, .. } | Kind::Bits(codes) => spread(codes, start, validity),
            Kind::Fixed(sink) => sink.spread(start, validity),
            Kind::Strings { views, .. } => spread(views, start, validity),
        }
    }

    /// Like [`Accumulator::spread`], where rows of the validity are not rows of the piece.
    fn spread_piece(&mut self, start: usize, validity: &Validity) {
        let mut own = Validity::default();
        (self.rows_before..validity.rows()).for_each(|row| own.push(validity.is_valid(row)));
        let start = start - self.rows_before;
        match &mut self.kind {
            Kind::Empty => {}
            Kind::Codes { codes, .. } | Kind::Bits(codes) => spread(codes, start, &own),
            Kind::Fixed(sink) => sink.spread(start, &own),
            Kind::Strings { views, .. } => spread(views, start, &own),
        }
    }

    /// The vector of all that was appended, with `nulls`.
    pub fn finish(mut self, nulls: Option<NullBuffer>) -> Result<Vector> {
        let data_type = self.leaf.data_type.clone();
        if self.pieces.is_empty() && !matches!(self.kind, Kind::Empty) {
            return finish_piece(self.leaf, self.kind, nulls);
        }
        self.close_piece()?;
        let all = Vector::concat(&data_type, &self.pieces)?;
        match all.encoding() {
            Encoding::Flat(values) if nulls.is_some() => {
                Ok(Vector::flat(data_type, values.clone(), nulls))
            }
            _ => Ok(all),
        }
    }

    /// Makes the kind that of the page, for `count` values.
    fn prepare(&mut self, page: &PageValues, count: usize) -> Result<()> {
        if let PageValues::Codes { base, .. } = page
            && base.is_empty()
            && count > 0
        {
            return Err(corrupt("dictionary code beyond the dictionary"));
        }
        let fits = match (&mut self.kind, page) {
            (Kind::Codes { base, .. }, PageValues::Codes { base: other, .. })
            | (Kind::Codes { base, .. }, PageValues::Decoded { values: other, .. }) => {
                Arc::ptr_eq(base, other)
            }
            (Kind::Fixed(_), PageValues::Fixed { .. }) | (Kind::Bits(_), PageValues::Bits(_)) => {
                true
            }
            (Kind::Strings { buffers, .. }, PageValues::Strings(strings)) => {
                add_buffer(buffers, strings);
                true
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        self.close_piece()?;
        self.kind = match page {
            PageValues::Codes { base, .. } => Kind::Codes {
                codes: Vec::new(),
                base: Arc::clone(base),
                is_dictionary: base.len() <= self.dictionary_values_max,
            },
            PageValues::Decoded { values, .. } => {
                Kind::Codes { codes: Vec::new(), base: Arc::clone(values), is_dictionary: false }
            }
            PageValues::Fixed { .. } => Kind::Fixed(fixed_sink(self.leaf)?),
            PageValues::Strings(strings) => {
                Kind::Strings { views: Vec::new(), buffers: vec![strings.buffer()] }
            }
            PageValues::Bits(_) => Kind::Bits(Vec::new()),
        };
        Ok(())
    }

    fn close_piece(&mut self) -> Result<()> {
        let kind = std::mem::replace(&mut self.kind, Kind::Empty);
        if !matches!(kind, Kind::Empty) {
            let piece = finish_piece(self.leaf, kind, None)?;
            self.rows_before += piece.len();
            self.pieces.push(piece);
        }
        Ok(())
    }
}

/// Adds the page's buffer, unless it is the last one already.
fn add_buffer(buffers: &mut Vec<Buffer>, strings: &StringPage) {
    let buffer = strings.buffer();
    if buffers.last().is_none_or(|it| it.as_ptr() != buffer.as_ptr() || it.len() != buffer.len()) {
        buffers.push(buffer);
    }
}

#[cold]
fn kind_mismatch() -> Error {
    Error::internal("values of another kind than prepared")
}

fn finish_piece(leaf: &Leaf, kind: Kind, nulls: Option<NullBuffer>) -> Result<Vector> {
    let data_type = leaf.data_type.clone();
    match kind {
        Kind::Empty => Err(Error::internal("piece without values")),
        Kind::Codes { codes, base, is_dictionary } => {
            finish_codes(leaf, codes, base, is_dictionary, nulls)
        }
        Kind::Fixed(mut sink) => Ok(Vector::flat(data_type, sink.finish(), nulls)),
        Kind::Strings { views, buffers } => {
            let values = StringValues::new(views.into(), buffers.into());
            Ok(Vector::strings(data_type, values, nulls))
        }
        Kind::Bits(bits) => {
            let bit = |row: usize| bits.get(row).is_some_and(|it| *it != 0);
            Ok(Vector::boolean(BooleanBuffer::collect_bool(bits.len(), bit), nulls))
        }
    }
}

fn finish_codes(
    leaf: &Leaf,
    codes: Vec<u32>,
    base: Arc<Vector>,
    is_dictionary: bool,
    nulls: Option<NullBuffer>,
) -> Result<Vector> {
    if base.is_empty() {
        // All rows are null.
        return Ok(Vector::nulls(leaf.data_type.clone(), codes.len()));
    }
    let max = max_u32(&codes);
    if max as usize >= base.len() {
        return Err(corrupt(format!(
            "dictionary code {max} beyond the dictionary of {} values",
            base.len()
        )));
    }
    if nulls.is_none() && is_one_run(&codes) {
        return Ok(Vector::repeat(base.slice(max as usize, 1), codes.len()));
    }
    if is_dictionary {
        return Ok(Vector::checked_dictionary(codes.into(), base, nulls));
    }
    let flat = base.gather(&codes)?;
    match (flat.encoding(), nulls) {
        (Encoding::Flat(values), Some(nulls)) => {
            Ok(Vector::flat(leaf.data_type.clone(), values.clone(), Some(nulls)))
        }
        _ => Ok(flat),
    }
}

/// Whether all codes are the same: a run that covers all rows, as in sorted files. Then filters,
/// keys and functions process one row of the batch.
fn is_one_run(codes: &[u32]) -> bool {
    match codes {
        [first, .., last] if first == last => codes.iter().all(|it| it == first),
        _ => false,
    }
}

/// An empty flat vector of the leaf's type.
pub(crate) fn empty_values(leaf: &Leaf) -> Vector {
    Vector::flat(leaf.data_type.clone(), empty(leaf), None)
}

fn empty(leaf: &Leaf) -> Values {
    match Vector::from_values(leaf.data_type.clone(), &[]).encoding() {
        Encoding::Flat(values) => values.clone(),
        _ => Values::Null(0),
    }
}
