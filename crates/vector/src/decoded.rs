//! Any encoding seen as a flat base plus indices.

use crate::{Encoding, Values, Vector};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::borrow::Cow;
use volley_error::Result;
use volley_types::{Native, Type};

/// A vector seen as a flat base and, for each row, a position in it. Copies nothing for flat,
/// constant and single dictionary encodings; nested dictionaries and runs get new indices, sums of
/// a bias are written out.
#[derive(Clone, Debug)]
pub struct Decoded<'a> {
    data_type: Type,
    len: usize,
    base: Cow<'a, Vector>,
    indices: Indices<'a>,
    /// Null rows by *row* (not by base position); `None`: use the base's bitmap.
    row_nulls: Option<NullBuffer>,
}

/// The position of a row's value in the flat base.
#[derive(Clone, Debug)]
pub enum Indices<'a> {
    /// Row `i` is base row `i`.
    Identity,
    /// Every row is this base row.
    Constant(u32),
    /// Row `i` is base row `codes[i]`.
    Codes(Cow<'a, [u32]>),
}

impl<'a> Decoded<'a> {
    /// Decodes `vector`, loading it if it is lazy.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    pub fn new(vector: &'a Vector) -> Result<Decoded<'a>> {
        if vector.is_lazy() {
            return Ok(Decoded::decode(&vector.loaded()?).into_owned());
        }
        Ok(Decoded::decode(vector))
    }

    /// Decodes a vector that is not lazy.
    fn decode(vector: &'a Vector) -> Decoded<'a> {
        let (data_type, len) = (vector.data_type().clone(), vector.len());
        match vector.encoding() {
            Encoding::Flat(_) | Encoding::Lazy(_) => Decoded {
                data_type,
                len,
                base: Cow::Borrowed(vector),
                indices: Indices::Identity,
                row_nulls: None,
            },
            Encoding::Bias { .. } => Decoded {
                data_type,
                len,
                base: Cow::Owned(vector.without_bias().unwrap_or_else(|| vector.clone())),
                indices: Indices::Identity,
                row_nulls: None,
            },
            Encoding::Constant(base) => {
                let inner = Decoded::decode(base);
                let indices = Indices::Constant(inner.index(0) as u32);
                let row_nulls = inner.is_null(0).then(|| NullBuffer::new_null(len));
                Decoded { data_type, len, base: inner.base, indices, row_nulls }
            }
            Encoding::Dictionary { codes, base } => {
                Decoded::compose(vector, Decoded::decode(base), Cow::Borrowed(codes))
            }
            Encoding::RunLength { ends, base } => {
                Decoded::compose(vector, Decoded::decode(base), Cow::Owned(codes_of_runs(ends)))
            }
        }
    }

    /// The view of `outer`, whose rows are rows `codes` of `inner`.
    fn compose(outer: &'a Vector, inner: Decoded<'a>, codes: Cow<'a, [u32]>) -> Decoded<'a> {
        let own = outer.null_buffer();
        let row_nulls = if inner.has_nulls() {
            let bits = BooleanBuffer::collect_bool(outer.len(), |row| {
                own.is_none_or(|it| it.is_valid(row)) && !inner.is_null(codes[row] as usize)
            });
            Some(NullBuffer::new(bits)).filter(|it| it.null_count() > 0)
        } else {
            own.cloned()
        };
        let indices = match &inner.indices {
            Indices::Identity => Indices::Codes(codes),
            Indices::Constant(index) => Indices::Constant(*index),
            Indices::Codes(below) => {
                Indices::Codes(codes.iter().map(|code| below[*code as usize]).collect())
            }
        };
        Decoded {
            data_type: outer.data_type().clone(),
            len: outer.len(),
            base: inner.base,
            indices,
            row_nulls,
        }
    }

    /// The logical type.
    pub fn data_type(&self) -> &Type {
        &self.data_type
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flat vector that indices point into.
    pub fn base(&self) -> &Vector {
        &self.base
    }

    /// The position of the rows' values in the base.
    pub fn indices(&self) -> &Indices<'a> {
        &self.indices
    }

    /// The base's elements.
    pub fn values(&self) -> &Values {
        match self.base.encoding() {
            Encoding::Flat(values) => values,
            _ => &Values::Null(0),
        }
    }

    /// The base's elements as a slice; empty when `T` is not their type (an all-null base).
    pub fn native<T: Native>(&self) -> &[T] {
        self.values().native::<T>().unwrap_or(&[])
    }

    /// The base position of `row`.
    #[inline]
    pub fn index(&self, row: usize) -> usize {
        match &self.indices {
            Indices::Identity => row,
            Indices::Constant(index) => *index as usize,
            Indices::Codes(codes) => codes[row] as usize,
        }
    }

    /// Whether `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self.null_bits() {
            Some(nulls) => nulls.is_null(row),
            None => matches!(self.values(), Values::Null(_)),
        }
    }

    /// Whether any row may be null.
    pub fn has_nulls(&self) -> bool {
        self.null_bits().is_some_and(|it| it.null_count() > 0)
            || matches!(self.values(), Values::Null(_))
    }

    /// The null bitmap by row; `None` when no row is null. (A vector of type NULL has no bitmap
    /// in identity form: see [`Decoded::nulls`].)
    #[inline]
    fn null_bits(&self) -> Option<&NullBuffer> {
        match (&self.row_nulls, &self.indices) {
            (Some(nulls), _) => Some(nulls),
            (None, Indices::Identity) => self.base.null_buffer(),
            (None, _) => None,
        }
    }

    /// The null bitmap by row (set bits are valid); `None` when no row is null.
    pub fn nulls(&self) -> Option<NullBuffer> {
        if matches!(self.values(), Values::Null(_)) {
            return Some(NullBuffer::new_null(self.len)).filter(|it| !it.is_empty());
        }
        self.null_bits().filter(|it| it.null_count() > 0).cloned()
    }

    /// Whether rows are base rows and no row is null: plain slices can be used.
    pub fn is_flat_without_nulls(&self) -> bool {
        matches!(self.indices, Indices::Identity) && !self.has_nulls()
    }

    /// Gives the view its own base, so that it outlives the vector.
    pub fn into_owned(self) -> Decoded<'static> {
        Decoded {
            data_type: self.data_type,
            len: self.len,
            base: Cow::Owned(self.base.into_owned()),
            indices: match self.indices {
                Indices::Identity => Indices::Identity,
                Indices::Constant(index) => Indices::Constant(index),
                Indices::Codes(codes) => Indices::Codes(Cow::Owned(codes.into_owned())),
            },
            row_nulls: self.row_nulls,
        }
    }

    /// The bytes of `row` of a string vector; empty for a vector of type NULL.
    #[inline]
    pub fn bytes(&self, row: usize) -> &[u8] {
        match self.values() {
            Values::View(values) => values.bytes(self.index(row)),
            _ => &[],
        }
    }

    /// The text of `row` of a VARCHAR vector; empty for a vector of type NULL.
    #[inline]
    pub fn text(&self, row: usize) -> &str {
        match self.values() {
            Values::View(values) => values.text(self.index(row)),
            _ => "",
        }
    }

    /// The value of `row` of a BOOLEAN vector; false for a vector of type NULL.
    #[inline]
    pub fn boolean(&self, row: usize) -> bool {
        match self.values() {
            Values::Boolean(values) => values.value(self.index(row)),
            _ => false,
        }
    }

    /// One index per row, as a buffer that can become a dictionary's codes.
    pub fn to_codes(&self) -> Vec<u32> {
        match &self.indices {
            Indices::Identity => (0..self.len as u32).collect(),
            Indices::Constant(index) => vec![*index; self.len],
            Indices::Codes(codes) => codes.to_vec(),
        }
    }
}

/// For each row, the number of its run.
fn codes_of_runs(ends: &[u32]) -> Vec<u32> {
    let mut codes = Vec::with_capacity(ends.last().map_or(0, |it| *it as usize));
    for (run, &end) in ends.iter().enumerate() {
        codes.resize(end as usize, run as u32);
    }
    codes
}
