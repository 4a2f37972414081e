//! Collects the rows of a column, then writes them at once.

use crate::{
    integers::{integer_width, write_integers},
    picks::{Picks, validity},
};
use arrow_buffer::BooleanBufferBuilder;
use volley_error::{Error, Result};
use volley_types::{PhysicalType, Type, match_native};
use volley_vector::{
    BooleanBuffer, Decoded, INLINE_BYTES, NullBuffer, StringValues, StringView, Values, Vector,
};

/// Rows of a column, as a body is written. Copies what it takes.
pub(crate) struct ColumnBuffer {
    rows: usize,
    /// Made with the first rows that may be null.
    valid: Option<BooleanBufferBuilder>,
    values: Buffered,
}

enum Buffered {
    Nothing,
    Bits(BooleanBufferBuilder),
    Fixed { width: usize, are_integers: bool, bytes: Vec<u8> },
    Strings { lengths: Vec<u32>, short: Vec<u8>, long: Vec<u8> },
    Lists { sizes: Vec<u32>, elements: Box<ColumnBuffer> },
    FixedLists { size: usize, elements: Box<ColumnBuffer> },
    Fields(Vec<ColumnBuffer>),
}

impl ColumnBuffer {
    /// A buffer of rows of `data_type`.
    ///
    /// # Errors
    ///
    /// Unsupported: objects, which have no form outside of the process.
    pub(crate) fn new(data_type: &Type) -> Result<ColumnBuffer> {
        let boxed = |it: &Type| ColumnBuffer::new(it).map(Box::new);
        let values = match data_type.storage() {
            Type::Array(element) => {
                Buffered::Lists { sizes: Vec::new(), elements: boxed(element)? }
            }
            map @ Type::Map(_) => {
                Buffered::Lists { sizes: Vec::new(), elements: boxed(&map.entry_type())? }
            }
            Type::FixedArray(array) => {
                Buffered::FixedLists { size: array.1 as usize, elements: boxed(&array.0)? }
            }
            Type::Row(fields) => {
                let fields = fields.iter().map(|it| ColumnBuffer::new(&it.data_type));
                Buffered::Fields(fields.collect::<Result<_>>()?)
            }
            Type::Opaque(opaque) => {
                let message = format!("values of {} as bytes", opaque.name());
                return Err(Error::unsupported(message).hint(
                    "objects live in memory only: raise memory_limit if there is too little",
                ));
            }
            scalar => match scalar.physical() {
                PhysicalType::Null => Buffered::Nothing,
                PhysicalType::Boolean => Buffered::Bits(BooleanBufferBuilder::new(0)),
                PhysicalType::View => {
                    let (lengths, short, long) = (Vec::new(), Vec::new(), Vec::new());
                    Buffered::Strings { lengths, short, long }
                }
                fixed => {
                    let width = match_native!(fixed, T => size_of::<T>(), else 0);
                    Buffered::Fixed {
                        width,
                        are_integers: integer_width(fixed).is_some(),
                        bytes: Vec::new(),
                    }
                }
            },
        };
        Ok(ColumnBuffer { rows: 0, valid: None, values })
    }

    /// About the bytes of the rows so far.
    pub(crate) fn bytes(&self) -> usize {
        let values = match &self.values {
            Buffered::Nothing => 0,
            Buffered::Bits(bits) => bits.len() / 8,
            Buffered::Fixed { bytes, .. } => bytes.len(),
            Buffered::Strings { lengths, short, long } => {
                size_of_val(&**lengths) + short.len() + long.len()
            }
            Buffered::Lists { sizes, elements } => size_of_val(&**sizes) + elements.bytes(),
            Buffered::FixedLists { elements, .. } => elements.bytes(),
            Buffered::Fields(fields) => fields.iter().map(ColumnBuffer::bytes).sum(),
        };
        values + self.valid.as_ref().map_or(0, |it| it.len() / 8)
    }

    /// Appends rows of a vector of the buffer's type.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; more elements of arrays than one vector holds.
    pub(crate) fn append(&mut self, vector: &Vector, picks: &Picks<'_>) -> Result<()> {
        let decoded = Decoded::new(vector)?;
        let nulls = decoded.nulls();
        if let Values::Null(_) = decoded.values() {
            self.append_nothing(picks.len());
        } else {
            let positions = picks.positions(&decoded);
            let is_valid = validity(nulls.as_ref(), picks);
            self.append_values(decoded.values(), &positions, nulls.is_some(), is_valid)?;
        }
        self.append_validity(nulls.as_ref(), picks);
        self.rows += picks.len();
        Ok(())
    }

    fn append_values(
        &mut self,
        values: &Values,
        positions: &Picks<'_>,
        has_nulls: bool,
        is_valid: impl Fn(usize) -> bool,
    ) -> Result<()> {
        match (&mut self.values, values) {
            (Buffered::Nothing, _) => {}
            (Buffered::Bits(bits), Values::Boolean(all)) => append_bits(all, positions, bits),
            (Buffered::Fixed { width, bytes, .. }, _) => {
                let all = values.fixed_bytes().ok_or_else(other_layout)?;
                append_fixed(all, *width, positions, bytes);
            }
            (Buffered::Strings { lengths, short, long }, Values::View(strings)) => {
                if has_nulls {
                    append_strings(strings, positions, is_valid, (lengths, short, long));
                } else {
                    append_strings(strings, positions, |_| true, (lengths, short, long));
                }
            }
            (Buffered::Lists { sizes, elements }, Values::Array(nested) | Values::Map(nested)) => {
                let picked = positions.elements(nested, &is_valid)?;
                let mut row = 0;
                positions.for_each(|position| {
                    sizes.push(if is_valid(row) { nested.sizes[position] as u32 } else { 0 });
                    row += 1;
                });
                elements.append(&nested.elements, &picked)?;
            }
            (Buffered::FixedLists { elements, .. }, Values::FixedArray(arrays)) => {
                elements.append(&arrays.elements, &positions.fixed_elements(arrays)?)?;
            }
            (Buffered::Fields(fields), Values::Row { children, .. }) => {
                for (field, child) in fields.iter_mut().zip(children.iter()) {
                    field.append(child, positions)?;
                }
            }
            _ => return Err(other_layout()),
        }
        Ok(())
    }

    /// Appends arbitrary values, for null rows.
    fn append_nothing(&mut self, rows: usize) {
        match &mut self.values {
            Buffered::Nothing => {}
            Buffered::Bits(bits) => bits.append_n(rows, false),
            Buffered::Fixed { width, bytes, .. } => bytes.resize(bytes.len() + rows * *width, 0),
            Buffered::Strings { lengths: sizes, .. } | Buffered::Lists { sizes, .. } => {
                sizes.resize(sizes.len() + rows, 0);
            }
            Buffered::FixedLists { size, elements } => elements.append_defaults(rows * *size),
            Buffered::Fields(fields) => fields.iter_mut().for_each(|it| it.append_defaults(rows)),
        }
    }

    /// Appends arbitrary rows, for null rows.
    fn append_defaults(&mut self, rows: usize) {
        self.append_nothing(rows);
        self.append_validity(None, &Picks::Range(0..rows));
        self.rows += rows;
    }

    fn append_validity(&mut self, nulls: Option<&NullBuffer>, picks: &Picks<'_>) {
        if let Buffered::Nothing = self.values {
            return; // All rows are null.
        }
        let Some(nulls) = nulls else {
            if let Some(valid) = &mut self.valid {
                valid.append_n(picks.len(), true);
            }
            return;
        };
        let valid = self.valid.get_or_insert_with(|| {
            let mut valid = BooleanBufferBuilder::new(self.rows + picks.len());
            valid.append_n(self.rows, true);
            valid
        });
        append_bits(nulls.inner(), picks, valid);
    }

    /// Writes the body of the rows, and forgets them.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) {
        match self.valid.take() {
            None => out.push(0),
            Some(valid) => {
                out.push(1);
                out.extend_from_slice(valid.as_slice());
            }
        }
        match &mut self.values {
            Buffered::Nothing => {}
            Buffered::Bits(bits) => {
                out.extend_from_slice(bits.as_slice());
                bits.truncate(0);
            }
            Buffered::Fixed { width, are_integers: true, bytes } => {
                write_integers(*width, bytes, out);
            }
            Buffered::Fixed { bytes, .. } => move_bytes(bytes, out),
            Buffered::Strings { lengths, short, long } => {
                write_numbers(lengths, out);
                lengths.clear();
                move_bytes(short, out);
                move_bytes(long, out);
            }
            Buffered::Lists { sizes, elements } => {
                write_numbers(sizes, out);
                sizes.clear();
                elements.write(out);
            }
            Buffered::FixedLists { elements, .. } => elements.write(out),
            Buffered::Fields(fields) => fields.iter_mut().for_each(|it| it.write(out)),
        }
        self.rows = 0;
    }
}

/// Writes numbers as narrow as the largest allows.
pub(crate) fn write_numbers(numbers: &[u32], out: &mut Vec<u8>) {
    match volley_kernels::order::max_u32(numbers) {
        0..=0xff => write_words(numbers, |it| [it as u8], out),
        0x100..=0xffff => write_words(numbers, |it| (it as u16).to_le_bytes(), out),
        _ => write_words(numbers, u32::to_le_bytes, out),
    }
}

fn write_words<const WIDTH: usize>(
    numbers: &[u32],
    word: impl Fn(u32) -> [u8; WIDTH],
    out: &mut Vec<u8>,
) {
    out.push(WIDTH as u8);
    let start = out.len();
    out.resize(start + numbers.len() * WIDTH, 0);
    let (words, _) = out[start..].as_chunks_mut::<WIDTH>();
    words.iter_mut().zip(numbers).for_each(|(out, number)| *out = word(*number));
}

/// Writes nulls by row.
pub(crate) fn write_nulls(nulls: Option<&NullBuffer>, out: &mut Vec<u8>) {
    let Some(nulls) = nulls else { return out.push(0) };
    out.push(1);
    let mut bits = BooleanBufferBuilder::new(nulls.len());
    bits.append_buffer(nulls.inner());
    out.extend_from_slice(bits.as_slice());
}

fn move_bytes(bytes: &mut Vec<u8>, out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    bytes.clear();
}

fn append_bits(all: &BooleanBuffer, positions: &Picks<'_>, bits: &mut BooleanBufferBuilder) {
    match positions {
        Picks::Range(range) => bits.append_buffer(&all.slice(range.start, range.len())),
        Picks::Rows(rows) => {
            let value = |it: usize| all.value(rows[it] as usize);
            bits.append_buffer(&BooleanBuffer::collect_bool(rows.len(), value));
        }
    }
}

fn append_fixed(all: &[u8], width: usize, positions: &Picks<'_>, bytes: &mut Vec<u8>) {
    match positions {
        Picks::Range(range) => {
            bytes.extend_from_slice(&all[range.start * width..range.end * width]);
        }
        Picks::Rows(rows) => match width {
            1 => append_words::<1>(all, rows, bytes),
            2 => append_words::<2>(all, rows, bytes),
            4 => append_words::<4>(all, rows, bytes),
            8 => append_words::<8>(all, rows, bytes),
            _ => append_words::<16>(all, rows, bytes),
        },
    }
}

fn append_words<const WIDTH: usize>(all: &[u8], rows: &[u32], bytes: &mut Vec<u8>) {
    let (words, _) = all.as_chunks::<WIDTH>();
    let start = bytes.len();
    bytes.resize(start + rows.len() * WIDTH, 0);
    let (out, _) = bytes[start..].as_chunks_mut::<WIDTH>();
    for (word, row) in out.iter_mut().zip(rows) {
        *word = words[*row as usize];
    }
}

/// Lengths, short strings and long ones.
type StringParts<'a> = (&'a mut Vec<u32>, &'a mut Vec<u8>, &'a mut Vec<u8>);

fn append_strings(
    strings: &StringValues,
    positions: &Picks<'_>,
    is_valid: impl Fn(usize) -> bool,
    (lengths, short, long): StringParts<'_>,
) {
    lengths.reserve(positions.len());
    let mut row = 0;
    positions.for_each(|position| {
        let view = if is_valid(row) { strings.views[position] } else { 0 };
        row += 1;
        let len = StringView::len_of(view);
        lengths.push(len as u32);
        if len > INLINE_BYTES {
            long.extend_from_slice(strings.bytes(position));
        } else {
            // A fixed number of bytes is copied faster than the right one.
            short.extend_from_slice(&view.to_le_bytes()[4..]);
            short.truncate(short.len() - (INLINE_BYTES - len));
        }
    });
}

#[cold]
fn other_layout() -> Error {
    Error::internal("values of another layout than their column's type")
}
