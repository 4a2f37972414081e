//! Integers inside of other codecs: lengths, codes, ends of runs.
//!
//! ```text
//! form      u8: 0 PFOR, 1 PFOR-DELTA
//! integers  as there
//! ```

use crate::{
    input::{Input, corruption},
    order::Order,
    pfor::{self, Packed},
    pfor_delta::{self, Deltas},
    vectors::Decode,
};
use volley_error::Result;
use volley_kernels::pack::Lane;

const PFOR: u8 = 0;
const PFOR_DELTA: u8 = 1;

/// Appends unsigned integers in the shorter of the two forms.
pub(crate) fn encode<T: Lane>(values: &[T], out: &mut Vec<u8>) {
    let (mut packed, mut deltas) = (vec![PFOR], vec![PFOR_DELTA]);
    pfor::encode(values, Order::Unsigned, &mut packed);
    pfor_delta::encode(values, &mut deltas);
    out.extend_from_slice(if deltas.len() < packed.len() { &deltas } else { &packed });
}

/// Reads `rows` integers.
pub(crate) fn open<T: Lane>(input: &mut Input, rows: usize) -> Result<Box<dyn Decode<T>>> {
    Ok(match input.integer::<u8>()? {
        PFOR => Box::new(Packed::open(input, rows)?),
        PFOR_DELTA => Box::new(Deltas::open(input, rows)?),
        _ => return Err(corruption("unknown form of integers")),
    })
}
