//! `array_agg`: all values, nulls included, as an array.

use super::{bound_collecting, form::unexpected_layout};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_function::{BoundAggregate, CollectingFunction, Expanded, Registry};
use volley_types::Type;
use volley_vector::{Decoded, Nested, NullBuffer, Rows, Values, Vector};

/// Registers `array_agg` and `list`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "array_agg(x) -> array",
        "The values of all rows, nulls included; null when there is no row.",
        "aggregate",
        &[("array_agg(x ORDER BY x) FROM (VALUES (2), (1)) v(x)", "[1, 2]")],
    );
    registry.add_aggregate("array_agg", doc.clone(), Arc::new(bind));
    registry.add_aggregate("list", doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    let array = Type::array(arg.clone());
    let function = ArrayAgg { array: array.clone() };
    Some(bound_collecting(vec![arg.clone()], array.clone(), array, function))
}

struct ArrayAgg {
    array: Type,
}

impl CollectingFunction for ArrayAgg {
    /// The rows as they are, cut into arrays.
    fn results(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        let [elements] = args else { return Err(unexpected_layout()) };
        if ends.last().is_some_and(|it| i32::try_from(*it).is_err()) {
            return Err(Error::new(ErrorKind::OutOfMemory, "array_agg of more than 2^31 values"));
        }
        let starts = std::iter::once(0).chain(ends.iter().map(|it| *it as i32));
        let offsets: Vec<i32> = starts.take(ends.len()).collect();
        let sizes: Vec<i32> = ends.iter().zip(&offsets).map(|(end, it)| *end as i32 - it).collect();
        let nulls = NullBuffer::from_iter(sizes.iter().map(|it| *it > 0));
        let elements = Arc::new(elements.clone());
        let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
        Ok(Vector::flat(self.array.clone(), Values::Array(nested), Some(nulls)))
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        self.results(args, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        let arrays = Decoded::new(intermediate)?;
        let nested = match arrays.values() {
            Values::Array(nested) => nested,
            Values::Null(_) => return Ok(Expanded { args: vec![], sources: vec![] }),
            _ => return Err(unexpected_layout()),
        };
        let (mut positions, mut sources) = (Vec::new(), Vec::new());
        rows.for_each(|row| {
            if !arrays.is_null(row) {
                positions.extend(nested.range(arrays.index(row)).map(|it| it as u32));
                sources.resize(positions.len(), row as u32);
            }
        });
        Ok(Expanded { args: vec![nested.elements.gather(&positions)?], sources })
    }
}
