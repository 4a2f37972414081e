//! The collected rows of each group as an array: the intermediate results of aggregates that
//! collect rows.

use super::typed::{row_column, unexpected_layout};
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_function::Expanded;
use volley_types::Type;
use volley_vector::{Decoded, Nested, NullBuffer, Rows, Values, Vector};

/// Cuts the elements of all groups, one group after the other, into arrays; `ends` says where each
/// group ends. The array of an empty group is null.
pub(super) fn cut(array: &Type, elements: Vector, ends: &[u32]) -> Result<Vector> {
    offset(ends.last().map_or(0, |it| *it as usize))?;
    let starts = std::iter::once(0).chain(ends.iter().map(|it| *it as i32));
    let offsets: Vec<i32> = starts.take(ends.len()).collect();
    let sizes: Vec<i32> = ends.iter().zip(&offsets).map(|(end, it)| *end as i32 - it).collect();
    let nulls = NullBuffer::from_iter(sizes.iter().map(|it| *it > 0));
    let elements = Arc::new(elements);
    let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
    Ok(Vector::flat(array.clone(), Values::Array(nested), Some(nulls)))
}

/// What a [`CollectingFunction`](volley_function::CollectingFunction) keeps of several arguments:
/// arrays of rows of the type `row`, which has a field for each.
pub(super) fn cut_rows(row: &Type, args: &[Vector], ends: &[u32]) -> Result<Vector> {
    let len = ends.last().map_or(0, |it| *it as usize);
    cut(&Type::array(row.clone()), row_column(row, args.to_vec(), len), ends)
}

/// A position among the elements of all arrays.
pub(super) fn offset(position: usize) -> Result<i32> {
    i32::try_from(position).map_err(|_| {
        let message = "aggregate that collects more than 2^31 values";
        Error::new(ErrorKind::OutOfMemory, message)
    })
}

/// Elements of arrays that [`cut`] made.
pub(super) struct Parts {
    /// All elements.
    pub elements: Arc<Vector>,
    /// Those of the wanted arrays, one array after the other.
    pub positions: Vec<u32>,
    /// For each position the row of its array.
    pub sources: Vec<u32>,
}

/// Like [`CollectingFunction::expand`](volley_function::CollectingFunction::expand), of what
/// [`cut_rows`] made.
pub(super) fn expand_rows(intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
    let Some(parts) = take_apart(intermediate, rows)? else {
        return Ok(Expanded { args: vec![], sources: vec![] });
    };
    let elements = parts.elements.flatten()?;
    let Some(Values::Row { children, .. }) = elements.flat_values() else {
        return Err(unexpected_layout());
    };
    let args = children.iter().map(|it| it.gather(&parts.positions)).collect::<Result<_>>()?;
    Ok(Expanded { args, sources: parts.sources })
}

/// Takes the arrays of `rows` apart; `None` where all are null.
pub(super) fn take_apart(arrays: &Vector, rows: &Rows) -> Result<Option<Parts>> {
    let arrays = Decoded::new(arrays)?;
    let nested = match arrays.values() {
        Values::Array(nested) => nested,
        Values::Null(_) => return Ok(None),
        _ => return Err(unexpected_layout()),
    };
    let (mut positions, mut sources) = (Vec::new(), Vec::new());
    rows.for_each(|row| {
        if !arrays.is_null(row) {
            positions.extend(nested.range(arrays.index(row)).map(|it| it as u32));
            sources.resize(positions.len(), row as u32);
        }
    });
    Ok(Some(Parts { elements: Arc::clone(&nested.elements), positions, sources }))
}
