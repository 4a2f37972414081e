//! Constant: one value for all rows that are not null.
//!
//! ```text
//! column of one row: the value
//! ```

use crate::{
    column::{Body, ColumnReader, Context, Level, Read, Source, write_column},
    input::{Input, corruption},
};
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_kernels::select_packed::VECTOR_WORDS;
use volley_types::Type;
use volley_vector::{ColumnTest, Vector};

/// Appends the value of the first row that is not null.
pub(crate) fn encode(source: &Source, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let first = source.nulls().and_then(|it| it.valid_indices().next()).unwrap_or(0);
    write_column(&source.vector().slice(first, 1), context.at(Level::Single), out)
}

pub(crate) fn open(input: &mut Input, data_type: &Type, depth: usize) -> Result<Box<dyn Body>> {
    let mut value = ColumnReader::read_from(input, data_type, depth)?;
    if value.rows() != 1 {
        return Err(corruption("rows of a constant"));
    }
    Ok(Box::new(Constant { value: Arc::new(value.read_rows(0..1, None)?.flatten()?) }))
}

struct Constant {
    value: Arc<Vector>,
}

impl Body for Constant {
    fn read(&mut self, _rows: Range<usize>, _pick: Option<&[u32]>) -> Result<Read> {
        Ok(Read::Constant(Arc::clone(&self.value)))
    }

    fn select(&mut self, _index: usize, test: &ColumnTest) -> Result<Option<[u64; VECTOR_WORDS]>> {
        let passes = test.matches(&self.value)?.value(0);
        Ok(Some([if passes { u64::MAX } else { 0 }; VECTOR_WORDS]))
    }
}
