//! Values of nested types, next to the rows.

use crate::compact::own_elements;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Reservation;
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// The values of one column of nested type, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct SideColumn {
    /// One part, once frozen.
    parts: Vec<Part>,
    rows: usize,
    /// Bytes charged for all parts.
    charged: usize,
}

/// Values that came together.
#[derive(Debug)]
struct Part {
    /// The position of the first one.
    start: usize,
    values: Vector,
    /// Bytes charged for them.
    charged: usize,
}

impl SideColumn {
    /// Appends `rows` of a column; the result is the position of the first one.
    pub(super) fn push(
        &mut self,
        decoded: &Decoded,
        positions: &[u32],
        reservation: &mut Reservation,
    ) -> Result<u32> {
        let part = own_elements(decoded.base().gather(positions)?)?;
        // The elements are shared with the input, which is charged nowhere else once it is gone.
        let charged = part.retained_bytes();
        reservation.grow(charged)?;
        self.charged += charged;
        let first = self.rows;
        self.rows += part.len();
        if u32::try_from(self.rows).is_err() {
            return Err(too_many());
        }
        self.parts.push(Part { start: first, values: part, charged });
        Ok(first as u32)
    }

    /// Joins the parts into one vector, in which values are found at any positions.
    pub(super) fn freeze(&mut self, data_type: &Type) -> Result<()> {
        if self.parts.len() != 1 {
            let parts: Vec<Vector> = self.parts.iter().map(|it| it.values.clone()).collect();
            let values = Vector::concat(data_type, &parts)?;
            self.parts = vec![Part { start: 0, values, charged: self.charged }];
        }
        Ok(())
    }

    /// The values at `positions`; of a column that is not frozen, they should come as they stand.
    /// Positions without a value are those of nulls.
    pub(super) fn gather(&self, data_type: &Type, positions: &[u32]) -> Result<Vector> {
        let (mut pieces, mut rest) = (Vec::new(), positions);
        while let Some(first) = rest.first() {
            let part = self.part_of(*first as usize);
            let is_near = |it: &&u32| match part {
                Some(part) => part.has(**it as usize),
                None => self.part_of(**it as usize).is_none(),
            };
            let (near, far) = rest.split_at(rest.iter().take_while(is_near).count());
            pieces.push(match part {
                Some(part) if part.start == 0 => part.values.gather(near)?,
                Some(part) => {
                    let near: Vec<u32> = near.iter().map(|it| it - part.start as u32).collect();
                    part.values.gather(&near)?
                }
                None => Vector::nulls(data_type.clone(), near.len()).flatten()?,
            });
            rest = far;
        }
        if pieces.len() == 1 {
            return Ok(pieces.remove(0));
        }
        Vector::concat(data_type, &pieces)
    }

    fn part_of(&self, position: usize) -> Option<&Part> {
        let after = self.parts.partition_point(|it| it.start <= position);
        self.parts.get(after.checked_sub(1)?).filter(|it| it.has(position))
    }

    /// How many values there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// What is charged for all values.
    pub(super) fn bytes(&self) -> usize {
        self.charged
    }

    /// What is charged for parts that begin at position `start` or later.
    pub(super) fn bytes_from(&self, start: usize) -> usize {
        let later = self.parts.partition_point(|it| it.start < start);
        self.parts[later..].iter().map(|it| it.charged).sum()
    }

    /// Drops the parts that begin at position `rows` or later; what was charged for them.
    pub(super) fn truncate(&mut self, rows: usize) -> usize {
        let bytes = self.bytes_from(rows);
        self.parts.truncate(self.parts.partition_point(|it| it.start < rows));
        self.rows = self.rows.min(rows);
        self.charged -= bytes;
        bytes
    }

    /// Appends the values of `other`; their positions must be raised by the result.
    pub(super) fn absorb(&mut self, mut other: SideColumn) -> Result<u32> {
        let first = self.rows;
        self.rows += other.rows;
        if u32::try_from(self.rows).is_err() {
            return Err(too_many());
        }
        let raised = other.parts.drain(..).map(|it| Part { start: it.start + first, ..it });
        self.parts.extend(raised);
        self.charged += other.charged;
        Ok(first as u32)
    }
}

impl Part {
    fn has(&self, position: usize) -> bool {
        (self.start..self.start + self.values.len()).contains(&position)
    }
}

fn too_many() -> Error {
    Error::new(ErrorKind::OutOfMemory, "too many nested values in one hash table")
}
