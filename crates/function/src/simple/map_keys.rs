//! Checks keys of maps: no nulls, no duplicates.

use super::{memory::take_if_much, sorted::sorted_unstable};
use crate::EvalContext;
use std::ops::Range;
use volley_error::{Error, Result};
use volley_types::{CustomOrder, Type};
use volley_vector::{Comparator, Decoded, Nested, Rows, Values, Vector, comparator};

/// With no more keys than this, each is compared with each.
const COMPARED_MAX: usize = 16;

/// The keys of a column's maps, next to each other, to be checked.
pub struct MapKeys {
    order: Comparator,
    hashes: Vec<u64>,
}

impl MapKeys {
    /// The keys of all maps.
    ///
    /// # Errors
    ///
    /// Invalid query, when values of this type cannot be compared.
    pub fn new(keys: &Vector) -> Result<MapKeys> {
        if let Some(lacking) = keys.data_type().lacks_order(CustomOrder::Equality) {
            let message = format!("values of type {lacking} cannot be compared: keys of a map");
            return Err(Error::invalid_query(message));
        }
        if !take_if_much(keys.len().saturating_mul(size_of::<u64>())) {
            return Err(Error::internal("refused"));
        }
        let mut hashes = vec![0; keys.len()];
        keys.hash_into(&mut hashes)?;
        Ok(MapKeys { order: comparator(keys, keys)?, hashes })
    }

    /// Why these cannot be the keys of one map.
    pub fn fault(&self, range: Range<usize>) -> Option<&'static str> {
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
        // Keys with the same hash become adjacent.
        let by_hash = |a: &usize, b: &usize| self.hashes[*a].cmp(&self.hashes[*b]);
        let Some(order) = sorted_unstable(range.len(), range, by_hash) else { return false };
        order.chunk_by(|a, b| self.hashes[*a] == self.hashes[*b]).any(|alike| {
            alike.iter().enumerate().any(|(place, at)| {
                alike[..place].iter().any(|before| self.order.is_equal(*before, *at))
            })
        })
    }
}

/// Fails those of `rows` that hold a map, at any depth, whose keys cannot be those of a map.
///
/// # Errors
///
/// Invalid query, when keys cannot be compared.
pub fn reject_bad_keys(vector: &Vector, rows: &Rows, ctx: &mut EvalContext) -> Result<()> {
    let Some(check) = Check::new(vector)? else { return Ok(()) };
    rows.for_each(|row| {
        if let Some(fault) = check.fault(row) {
            ctx.fail(row, || Error::invalid_value(fault));
        }
    });
    Ok(())
}

/// A column with maps in it.
struct Check<'a> {
    decoded: Decoded<'a>,
    kind: Kind,
}

enum Kind {
    Map(Nested, MapKeys),
    /// Elements, or values of maps, that hold maps.
    Within(Nested, Box<Check<'static>>),
    Fields(Vec<Check<'static>>),
    Both(Box<Kind>, Box<Kind>),
}

impl<'a> Check<'a> {
    /// `None` when there is no map in the type.
    fn new(vector: &'a Vector) -> Result<Option<Check<'a>>> {
        if !has_map(vector.data_type()) {
            return Ok(None);
        }
        let decoded = Decoded::new(vector)?;
        let kind = match decoded.values() {
            Values::Map(nested) => Some(map_kind(nested)?),
            Values::Array(nested) => within(nested, &nested.elements)?,
            Values::Row { children, .. } => {
                let checks = children.iter().map(owned).collect::<Result<Vec<_>>>()?;
                Some(Kind::Fields(checks.into_iter().flatten().collect()))
            }
            _ => None,
        };
        Ok(kind.map(|kind| Check { decoded, kind }))
    }

    fn fault(&self, row: usize) -> Option<&'static str> {
        if self.decoded.is_null(row) {
            return None;
        }
        self.kind.fault(self.decoded.index(row))
    }
}

impl Kind {
    fn fault(&self, index: usize) -> Option<&'static str> {
        match self {
            Kind::Map(nested, keys) => keys.fault(nested.range(index)),
            Kind::Within(nested, check) => nested.range(index).find_map(|at| check.fault(at)),
            Kind::Fields(checks) => checks.iter().find_map(|it| it.fault(index)),
            Kind::Both(left, right) => left.fault(index).or_else(|| right.fault(index)),
        }
    }
}

fn map_kind(nested: &Nested) -> Result<Kind> {
    let entries = nested.elements.flatten()?;
    let Some(Values::Row { children, .. }) = entries.flat_values() else {
        return Err(Error::internal("entries of a map are no rows"));
    };
    let [keys, values] = children.as_ref() else {
        return Err(Error::internal("entries of a map have other fields than key and value"));
    };
    let map = Kind::Map(nested.clone(), MapKeys::new(keys)?);
    Ok(match within(nested, values)? {
        Some(values) => Kind::Both(Box::new(map), Box::new(values)),
        None => map,
    })
}

fn within(nested: &Nested, elements: &Vector) -> Result<Option<Kind>> {
    Ok(owned(elements)?.map(|check| Kind::Within(nested.clone(), Box::new(check))))
}

fn owned(vector: &Vector) -> Result<Option<Check<'static>>> {
    let check = Check::new(vector)?;
    Ok(check.map(|it| Check { decoded: it.decoded.into_owned(), kind: it.kind }))
}

fn has_map(data_type: &Type) -> bool {
    match data_type {
        Type::Map(_) => true,
        Type::Array(element) => has_map(element),
        Type::Row(fields) => fields.iter().any(|it| has_map(&it.data_type)),
        _ => false,
    }
}
