//! Entries and codes.

use super::ENTRIES_MAX;
use crate::{
    column::{Context, Level, Source, write_column},
    distinct::Distinct,
    order::Order,
    pfor,
};
use volley_error::{Error, Result};

/// Appends the column.
pub(crate) fn encode(source: &Source, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let distinct = Distinct::of(source, ENTRIES_MAX)?;
    let distinct = distinct.ok_or_else(|| Error::internal("too many values of a dictionary"))?;
    let entries = source.vector().gather(&distinct.rows)?;
    write_column(&entries, context.at(Level::Inner), out)?;
    pfor::encode(&distinct.codes, Order::Unsigned, out);
    Ok(())
}
