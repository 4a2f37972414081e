//! Pairs of collections.

use super::field;
use volley_error::{Error, Result};
use volley_types::{Schema, Type};

/// Pairs the rows of two inputs with equal first columns, the numbers of partitions; each input has
/// a number once. Returns the number, then the other columns of both; those of an
/// input without a row are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zip;

impl Zip {
    pub(super) fn schema(self, inputs: &[&Schema]) -> Result<Schema> {
        let [left, right] = inputs else {
            return Err(Error::invalid_query(format!("{} inputs instead of two", inputs.len())));
        };
        for input in [left, right] {
            if field(input, 0)?.data_type != Type::BigInt {
                return Err(Error::invalid_query("the number of a partition is a BIGINT"));
            }
        }
        Ok(left.fields.iter().chain(right.fields.iter().skip(1)).cloned().collect())
    }
}
