//! Arrays and maps.

use super::ELEMENTS_MAX;
use crate::{
    VECTOR_ROWS,
    column::{Body, ColumnReader, Context, Read, Source, write_column},
    input::{Input, corruption, put_all},
    integers,
    vectors::{self, Decode},
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Nested, Values, Vector};

/// Appends the column.
pub(crate) fn encode_lists(source: &Source, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let (Values::Array(nested) | Values::Map(nested)) = source.values()? else {
        return Err(Error::internal("arrays of another layout"));
    };
    let range = |row: usize| if source.is_null(row) { 0..0 } else { nested.range(row) };
    let (mut sizes, mut firsts, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..source.rows() {
        if row % VECTOR_ROWS == 0 {
            firsts.push(positions.len() as u32);
        }
        sizes.push(range(row).len() as u32);
        positions.extend(range(row).map(|it| it as u32));
        if positions.len() > ELEMENTS_MAX {
            let error = Error::unsupported("storing 2^28 elements of arrays in a segment");
            return Err(error.hint("store fewer rows at once"));
        }
    }
    integers::encode(&sizes, out);
    put_all(out, &firsts);
    let count = nested.elements.len();
    let is_whole = positions.len() == count && positions.iter().zip(0..).all(|(a, b)| *a == b);
    let elements =
        if is_whole { nested.elements.flatten() } else { nested.elements.gather(&positions) };
    write_column(&elements?, context, out)
}

pub(crate) fn open_lists(
    input: &mut Input,
    data_type: &Type,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let (element, is_map) = match data_type {
        Type::Array(element) => (element.as_ref().clone(), false),
        Type::Map(_) => (data_type.entry_type(), true),
        _ => return Err(corruption("codec of another type")),
    };
    let sizes = integers::open::<u32>(input, rows)?;
    let firsts = input.integers::<u32>(rows.div_ceil(VECTOR_ROWS))?;
    let elements = ColumnReader::read_from(input, &element, depth)?;
    let (mut end, mut of_vector) = (0u64, Vec::new());
    for (index, first) in firsts.iter().enumerate() {
        if u64::from(*first) != end {
            return Err(corruption("first element of a vector"));
        }
        of_vector.clear();
        sizes.vector(index, &mut of_vector)?;
        end += of_vector.iter().map(|it| u64::from(*it)).sum::<u64>();
    }
    if end != elements.rows() as u64 {
        return Err(corruption("elements of arrays"));
    }
    Ok(Box::new(Lists { is_map, sizes, firsts, elements }))
}

struct Lists {
    is_map: bool,
    sizes: Box<dyn Decode<u32>>,
    firsts: Vec<u32>,
    elements: ColumnReader,
}

impl Body for Lists {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        // From the first row of the vector on, whose first element is known.
        let before = rows.start % VECTOR_ROWS;
        let sizes = vectors::read(self.sizes.as_ref(), rows.start - before..rows.end, None)?;
        let first = self.firsts.get(rows.start / VECTOR_ROWS).map_or(0, |it| *it as usize);
        let (skipped, sizes) = sizes.split_at(before.min(sizes.len()));
        let start = first + skipped.iter().map(|it| *it as usize).sum::<usize>();
        let mut end = 0;
        let offset = |size: &u32| {
            let offset = end;
            end += *size as i32;
            offset
        };
        let offsets: Vec<i32> = sizes.iter().map(offset).collect();
        let elements = self.elements.read_rows(start..start + end as usize, None)?;
        let sizes: Vec<i32> = sizes.iter().map(|it| *it as i32).collect();
        let nested = |offsets: Vec<i32>, sizes: Vec<i32>, elements: Vector| Nested {
            offsets: offsets.into(),
            sizes: sizes.into(),
            elements: Arc::new(elements),
        };
        let nested = match pick {
            None => nested(offsets, sizes, elements),
            Some(pick) => {
                let some = |of: &[i32]| pick.iter().map(|it| of[*it as usize]).collect();
                nested(some(&offsets), some(&sizes), elements)
            }
        };
        Ok(Read::Values(if self.is_map { Values::Map(nested) } else { Values::Array(nested) }))
    }
}
