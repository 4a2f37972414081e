//! The selected rows of a vector, while descending into its children.

use std::{borrow::Cow, ops::Range};
use volley_error::{Error, ErrorKind, Result};
use volley_vector::{Decoded, FixedArrays, Indices, Nested, NullBuffer};

/// Rows of a vector, in the order in which they are written.
#[derive(Clone, Debug)]
pub(crate) enum Picks<'a> {
    /// Rows next to each other.
    Range(Range<usize>),
    /// Any rows.
    Rows(Cow<'a, [u32]>),
}

impl<'a> Picks<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Picks::Range(range) => range.len(),
            Picks::Rows(rows) => rows.len(),
        }
    }

    /// Calls `f` with each row.
    #[inline]
    pub(crate) fn for_each(&self, mut f: impl FnMut(usize)) {
        match self {
            Picks::Range(range) => range.clone().for_each(f),
            Picks::Rows(rows) => rows.iter().for_each(|row| f(*row as usize)),
        }
    }

    /// The positions of these rows of `decoded` in its base.
    pub(crate) fn positions<'b>(&'b self, decoded: &'b Decoded<'_>) -> Picks<'b> {
        match (decoded.indices(), self) {
            (Indices::Identity, Picks::Range(range)) => Picks::Range(range.clone()),
            (Indices::Identity, Picks::Rows(rows)) => Picks::Rows(Cow::Borrowed(rows)),
            (Indices::Constant(index), _) => Picks::Rows(vec![*index; self.len()].into()),
            (Indices::Codes(codes), Picks::Range(range)) => {
                Picks::Rows(Cow::Borrowed(&codes[range.clone()]))
            }
            (Indices::Codes(codes), Picks::Rows(rows)) => {
                Picks::Rows(rows.iter().map(|row| codes[*row as usize]).collect())
            }
        }
    }

    /// The elements of arrays at these positions. `is_valid` answers for the picked row, counted
    /// from 0: null rows have no elements.
    ///
    /// # Errors
    ///
    /// More elements than one vector holds.
    pub(crate) fn elements(
        &self,
        nested: &Nested,
        is_valid: impl Fn(usize) -> bool,
    ) -> Result<Picks<'static>> {
        let (mut picked, mut count, mut next, mut is_range) = (0, 0usize, None, true);
        let mut start = 0;
        self.for_each(|position| {
            let range = nested.range(position);
            if is_valid(picked) && !range.is_empty() {
                is_range &= next.is_none_or(|it| it == range.start);
                if next.is_none() {
                    start = range.start;
                }
                next = Some(range.end);
                count = count.saturating_add(range.len());
            }
            picked += 1;
        });
        if i32::try_from(count).is_err() {
            return Err(too_many());
        }
        if is_range {
            return Ok(Picks::Range(start..start + count));
        }
        let (mut rows, mut picked) = (Vec::with_capacity(count), 0);
        self.for_each(|position| {
            if is_valid(picked) {
                rows.extend(nested.range(position).map(|it| it as u32));
            }
            picked += 1;
        });
        Ok(Picks::Rows(rows.into()))
    }

    /// The elements of arrays of a fixed size at these positions.
    ///
    /// # Errors
    ///
    /// More elements than one vector holds.
    pub(crate) fn fixed_elements(&self, arrays: &FixedArrays) -> Result<Picks<'static>> {
        let count = self.len().checked_mul(arrays.size).and_then(|it| i32::try_from(it).ok());
        let count = count.ok_or_else(too_many)?;
        Ok(match self {
            Picks::Range(range) => Picks::Range(range.start * arrays.size..range.end * arrays.size),
            Picks::Rows(rows) => {
                let mut elements = Vec::with_capacity(count as usize);
                for row in &**rows {
                    elements.extend(arrays.range(*row as usize).map(|it| it as u32));
                }
                Picks::Rows(elements.into())
            }
        })
    }
}

/// Whether the picked row, counted from 0, is valid in a bitmap by row.
pub(crate) fn validity<'b>(
    nulls: Option<&'b NullBuffer>,
    picks: &'b Picks<'_>,
) -> impl Fn(usize) -> bool + 'b {
    move |picked| {
        nulls.is_none_or(|it| match picks {
            Picks::Range(range) => it.is_valid(range.start + picked),
            Picks::Rows(rows) => it.is_valid(rows[picked] as usize),
        })
    }
}

fn too_many() -> Error {
    Error::new(ErrorKind::OutOfMemory, "too many array elements in one batch")
        .hint("use a smaller batch_rows")
}
