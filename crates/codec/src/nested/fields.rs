//! Rows, and arrays of a fixed size.

use super::ELEMENTS_MAX;
use crate::{
    column::{Body, ColumnReader, Context, Read, Source, write_column},
    input::{Input, corruption},
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{FixedArrays, Values};

/// Appends a column per field.
pub(crate) fn encode_fields(source: &Source, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let Values::Row { children, .. } = source.values()? else {
        return Err(Error::internal("rows of another layout"));
    };
    children.iter().try_for_each(|it| write_column(it, context, out))
}

pub(crate) fn open_fields(
    input: &mut Input,
    data_type: &Type,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let Type::Row(fields) = data_type else { return Err(corruption("codec of another type")) };
    let columns = fields.iter().map(|it| ColumnReader::read_from(input, &it.data_type, depth));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if columns.iter().any(|it| it.rows() != rows) {
        return Err(corruption("rows of a field"));
    }
    Ok(Box::new(Fields { columns }))
}

struct Fields {
    columns: Vec<ColumnReader>,
}

impl Body for Fields {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let len = pick.map_or(rows.len(), <[u32]>::len);
        let children = self.columns.iter_mut().map(|it| it.read_rows(rows.clone(), pick));
        Ok(Read::Values(Values::Row { children: children.collect::<Result<_>>()?, len }))
    }
}

/// Appends a column of all elements.
pub(crate) fn encode_fixed_lists(
    source: &Source,
    context: Context,
    out: &mut Vec<u8>,
) -> Result<()> {
    let Values::FixedArray(arrays) = source.values()? else {
        return Err(Error::internal("arrays of another layout"));
    };
    if arrays.elements.len() > ELEMENTS_MAX {
        let error = Error::unsupported("storing 2^28 elements of arrays in a segment");
        return Err(error.hint("store fewer rows at once"));
    }
    write_column(&arrays.elements, context, out)
}

pub(crate) fn open_fixed_lists(
    input: &mut Input,
    data_type: &Type,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let Type::FixedArray(array) = data_type else {
        return Err(corruption("codec of another type"));
    };
    let size = array.1 as usize;
    let elements = ColumnReader::read_from(input, &array.0, depth)?;
    if rows.checked_mul(size) != Some(elements.rows()) {
        return Err(corruption("elements of arrays"));
    }
    Ok(Box::new(FixedLists { size, elements }))
}

struct FixedLists {
    size: usize,
    elements: ColumnReader,
}

impl Body for FixedLists {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let size = self.size;
        let range = rows.start * size..rows.end * size;
        let len = pick.map_or(rows.len(), <[u32]>::len);
        let positions = pick.map(|pick| -> Vec<u32> {
            let of_row = |row: &u32| *row as usize * size..(*row as usize + 1) * size;
            pick.iter().flat_map(of_row).map(|it| it as u32).collect()
        });
        let elements = self.elements.read_rows(range, positions.as_deref())?;
        Ok(Read::Values(Values::FixedArray(FixedArrays {
            size,
            len,
            elements: Arc::new(elements),
        })))
    }
}
