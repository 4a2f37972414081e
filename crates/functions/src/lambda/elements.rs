//! The elements of arrays and the entries of maps, next to each other.

use crate::nested::entry_field;
use volley_error::{Error, Result};
use volley_function::{Applied, CHUNK_ELEMENTS, EvalContext, Lambda};
use volley_types::Type;
use volley_vector::{Decoded, Nested, Rows, ScalarBuffer, Values, Vector};

/// An ARRAY or MAP column: where the elements of its rows stand.
pub(super) struct Collections<'a> {
    decoded: Decoded<'a>,
}

/// Some elements of some rows.
#[derive(Default)]
pub(super) struct Chunk {
    /// The position of each one among the elements of the column.
    pub(super) positions: Vec<u32>,
    /// Its place in its row, from 0.
    pub(super) places: Vec<u32>,
    /// The row that each one belongs to.
    pub(super) owners: Vec<u32>,
}

impl<'a> Collections<'a> {
    pub(super) fn new(vector: &'a Vector) -> Result<Collections<'a>> {
        Ok(Collections { decoded: Decoded::new(vector)? })
    }

    fn nested(&self) -> Result<&Nested> {
        match self.decoded.values() {
            Values::Array(nested) | Values::Map(nested) => Ok(nested),
            _ => Err(Error::internal("function got a vector of an unexpected layout")),
        }
    }

    /// All elements that rows may have: one vector of an array's, two of a map's.
    pub(super) fn columns(&self) -> Result<Vec<Vector>> {
        let nested = self.nested()?;
        match self.decoded.data_type() {
            Type::Map(_) => Ok(vec![entry_field(nested, 0)?, entry_field(nested, 1)?]),
            _ => Ok(vec![nested.elements.loaded()?]),
        }
    }

    /// Of a map: the keys (0) or values (1) of the active rows, one row after the other.
    pub(super) fn taken(&self, rows: &Rows, field: usize) -> Result<Vector> {
        let mut positions = Vec::new();
        rows.try_for_each(|row| -> Result<()> {
            positions.extend(self.range(row)?.map(|it| it as u32));
            Ok(())
        })?;
        Ok(self.columns()?[field].select(&positions))
    }

    /// The position of the elements of a row among all.
    pub(super) fn range(&self, row: usize) -> Result<std::ops::Range<usize>> {
        Ok(self.nested()?.range(self.decoded.index(row)))
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.decoded.is_null(row)
    }

    /// The number of elements of each row; 0 of rows that are not active.
    pub(super) fn sizes(&self, rows: &Rows) -> Result<Vec<i32>> {
        let mut sizes = vec![0; rows.len()];
        rows.try_for_each(|row| -> Result<()> {
            sizes[row] = self.range(row)?.len() as i32;
            Ok(())
        })?;
        Ok(sizes)
    }

    /// Calls `f` with all elements of the active rows, in order, some at a time.
    pub(super) fn for_each_chunk(
        &self,
        rows: &Rows,
        mut f: impl FnMut(Chunk) -> Result<()>,
    ) -> Result<()> {
        let nested = self.nested()?;
        let mut chunk = Chunk::default();
        rows.try_for_each(|row| -> Result<()> {
            for (place, position) in nested.range(self.decoded.index(row)).enumerate() {
                chunk.push(position, place, row);
                if chunk.positions.len() >= CHUNK_ELEMENTS {
                    f(std::mem::take(&mut chunk))?;
                }
            }
            Ok(())
        })?;
        if chunk.positions.is_empty() { Ok(()) } else { f(chunk) }
    }
}

impl Chunk {
    fn push(&mut self, position: usize, place: usize, row: usize) {
        self.positions.push(position as u32);
        self.places.push(place as u32);
        self.owners.push(row as u32);
    }

    /// The elements of the chunk among `all`, without copying them.
    pub(super) fn take_from(&self, all: &Vector) -> Vector {
        all.select(&self.positions)
    }

    /// What a lambda gets for the elements: theirs of each of `columns`, and their places if it
    /// wants them.
    pub(super) fn parameters(&self, columns: &[Vector], with_index: bool) -> Vec<Vector> {
        let mut parameters: Vec<Vector> = columns.iter().map(|it| self.take_from(it)).collect();
        parameters.extend(with_index.then(|| self.indices()));
        parameters
    }

    /// The places of the elements in their rows, from 1, as BIGINT.
    fn indices(&self) -> Vector {
        let indices: Vec<i64> = self.places.iter().map(|it| i64::from(*it) + 1).collect();
        Vector::native::<i64>(Type::BigInt, indices, None)
    }

    /// The values of the lambda for the elements.
    pub(super) fn apply(
        self,
        lambda: &mut dyn Lambda,
        parameters: &[Vector],
        ctx: &mut EvalContext,
    ) -> Result<(Vector, ScalarBuffer<u32>)> {
        let owners: ScalarBuffer<u32> = self.owners.into();
        let rows = Rows::all(owners.len());
        let applied = Applied { rows: &rows, parameters, owners: &owners };
        Ok((lambda.evaluate(&applied, ctx)?, owners))
    }
}
