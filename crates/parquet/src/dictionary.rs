//! The dictionary of a column chunk.

use crate::{accumulator::Accumulator, error::corrupt, leaf::Leaf, page_values::PageValues};
use bytes::Bytes;
use volley_error::Result;
use volley_vector::Vector;

/// The values of a dictionary page, in PLAIN encoding whatever the page says.
pub(crate) fn read_dictionary(leaf: &Leaf, bytes: Bytes, values: usize) -> Result<Vector> {
    // Every value takes at least this many bits.
    let least = leaf.fixed_bytes().map_or(4, |it| it);
    if values.saturating_mul(least) > bytes.len() {
        return Err(corrupt("dictionary shorter than its number of values"));
    }
    let mut plain = PageValues::plain(leaf, bytes)?;
    let mut accumulator = Accumulator::new(leaf);
    accumulator.append(&mut plain, values)?;
    accumulator.finish(None)
}
