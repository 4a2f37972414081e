//! Values of nested types, beside the rows.

use volley_error::{Error, ErrorKind, Result};
use volley_memory::Reservation;
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// The values of one column of nested type, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct SideColumn {
    /// One part, once frozen.
    parts: Vec<Vector>,
    rows: usize,
}

impl SideColumn {
    /// Appends `rows` of a column; the result is the position of the first one.
    pub(super) fn push(
        &mut self,
        decoded: &Decoded,
        positions: &[u32],
        reservation: &mut Reservation,
    ) -> Result<u32> {
        let part = decoded.base().gather(positions)?;
        // The elements are shared with the input, which is charged nowhere else once it is gone.
        reservation.grow(part.retained_bytes())?;
        let first = self.rows;
        self.rows += part.len();
        if u32::try_from(self.rows).is_err() {
            return Err(too_many());
        }
        self.parts.push(part);
        Ok(first as u32)
    }

    /// Joins the parts into one vector.
    pub(super) fn freeze(&mut self, data_type: &Type) -> Result<()> {
        if self.parts.len() != 1 {
            self.parts = vec![Vector::concat(data_type, &self.parts)?];
        }
        Ok(())
    }

    /// The values at `positions`; the column must be frozen.
    pub(super) fn gather(&self, positions: &[u32]) -> Result<Vector> {
        match self.parts.as_slice() {
            [part] if !part.is_empty() => part.gather(positions),
            [part] => Ok(Vector::nulls(part.data_type().clone(), positions.len()).flatten()?),
            _ => Err(Error::internal("side column that is not frozen")),
        }
    }

    /// Appends the values of `other`; their positions must be raised by the result.
    pub(super) fn absorb(&mut self, mut other: SideColumn) -> Result<u32> {
        let first = self.rows;
        self.rows += other.rows;
        if u32::try_from(self.rows).is_err() {
            return Err(too_many());
        }
        self.parts.append(&mut other.parts);
        Ok(first as u32)
    }
}

fn too_many() -> Error {
    Error::new(ErrorKind::OutOfMemory, "too many nested values in one hash table")
}
