//! Keys of maps: none is null, none stands twice.

use std::{collections::HashMap, ops::Range};
use volley_error::{Error, Result};
use volley_function::EvalContext;
use volley_types::CustomOrder;
use volley_vector::{Comparator, Rows, Vector, comparator};

use super::{entry_field, nested_values};

/// With no more keys than this, each is compared with each.
const COMPARED_MAX: usize = 16;

/// The keys of a column's maps, side by side, to be searched.
pub(crate) struct Keys {
    order: Comparator,
    hashes: Vec<u64>,
}

impl Keys {
    pub(crate) fn new(keys: &Vector) -> Result<Keys> {
        if let Some(lacking) = keys.data_type().lacks_order(CustomOrder::Equality) {
            let message = format!("values of type {lacking} cannot be compared: keys of a map");
            return Err(Error::invalid_query(message));
        }
        let mut hashes = vec![0; keys.len()];
        keys.hash_into(&mut hashes)?;
        Ok(Keys { order: comparator(keys, keys)?, hashes })
    }

    /// Why these cannot be the keys of one map.
    pub(crate) fn fault(&self, range: Range<usize>) -> Option<&'static str> {
        if range.clone().any(|at| self.order.left_is_null(at)) {
            return Some("a key of a map is null");
        }
        self.has_duplicate(range).then_some("a map has a key twice")
    }

    fn is_equal(&self, a: usize, b: usize) -> bool {
        self.hashes[a] == self.hashes[b] && self.order.is_equal(a, b)
    }

    fn has_duplicate(&self, range: Range<usize>) -> bool {
        if range.len() <= COMPARED_MAX {
            return range.clone().any(|at| (range.start..at).any(|it| self.is_equal(it, at)));
        }
        let mut seen: HashMap<u64, Vec<usize>> = HashMap::with_capacity(range.len());
        for at in range {
            let alike = seen.entry(self.hashes[at]).or_default();
            if alike.iter().any(|it| self.order.is_equal(*it, at)) {
                return true;
            }
            alike.push(at);
        }
        false
    }
}

/// Fails the active rows of a flat MAP vector whose keys cannot be those of a map.
pub(crate) fn reject_bad_keys(maps: &Vector, rows: &Rows, ctx: &mut EvalContext) -> Result<()> {
    let nested = nested_values(maps)?;
    let keys = Keys::new(&entry_field(nested, 0)?)?;
    rows.for_each(|row| {
        if let Some(fault) = keys.fault(nested.range(row)) {
            ctx.fail(row, || Error::invalid_value(fault));
        }
    });
    Ok(())
}
