//! `array_agg`: all values, nulls included, as an array.

use super::{bound_collecting, collected, typed::unexpected_layout};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundAggregate, CollectingFunction, Expanded, Registry};
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// Registers `array_agg` and `list`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "array_agg(x) -> array",
        "The values of all rows, nulls included; null without rows.",
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
        collected::cut(&self.array, elements.clone(), ends)
    }

    fn intermediate(&self, args: &[Vector], ends: &[u32]) -> Result<Vector> {
        self.results(args, ends)
    }

    fn expand(&self, intermediate: &Vector, rows: &Rows) -> Result<Expanded> {
        let Some(parts) = collected::take_apart(intermediate, rows)? else {
            return Ok(Expanded { args: vec![], sources: vec![] });
        };
        Ok(Expanded {
            args: vec![parts.elements.gather(&parts.positions)?],
            sources: parts.sources,
        })
    }
}
