//! Columns with one value.

use crate::{Encoding, Vector, comparator};
use volley_error::Result;
use volley_types::Type;

impl Vector {
    /// The value, as a vector of one row, if all of `vectors` are constants of it.
    ///
    /// # Errors
    ///
    /// As [`comparator`].
    pub fn one_value<'v>(vectors: impl IntoIterator<Item = &'v Vector>) -> Result<Option<Vector>> {
        let mut value: Option<&Vector> = None;
        for vector in vectors {
            let Encoding::Constant(base) = vector.encoding() else { return Ok(None) };
            match value {
                Some(known) if !has_same_bytes(known, base)? => return Ok(None),
                Some(_) => {}
                None => value = Some(base),
            }
        }
        Ok(value.cloned())
    }
}

/// Whether two vectors of one row have the same bytes. Equal values of other types than these may
/// differ in theirs, such as zeros of both signs.
fn has_same_bytes(left: &Vector, right: &Vector) -> Result<bool> {
    let is_exact = matches!(
        left.data_type(),
        Type::TinyInt
            | Type::SmallInt
            | Type::Integer
            | Type::BigInt
            | Type::Date
            | Type::Timestamp
            | Type::Decimal { .. }
    );
    Ok(std::ptr::eq(left, right) || is_exact && comparator(left, right)?.is_equal(0, 0))
}
