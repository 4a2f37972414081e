//! The dictionary of a column chunk.

use crate::{
    accumulator::Accumulator, error::corrupt, fixed::shared_values, leaf::Leaf,
    page_values::PageValues,
};
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
    if let PageValues::Fixed { bytes, .. } = &plain
        && let Some(values) = shared_values(leaf, bytes, values)
    {
        return Ok(Vector::flat(leaf.data_type.clone(), values, None));
    }
    let mut accumulator = Accumulator::new(leaf);
    accumulator.append(&mut plain, values)?;
    accumulator.finish(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::{Conversion, Unit};
    use volley_types::{Type, Value};

    #[test]
    fn numbers_stay_in_their_page_where_they_are_aligned() {
        let conversion = Conversion::Int64 { unsigned: false, unit: Unit::Same };
        let leaf = Leaf { index: 0, data_type: Type::BigInt, conversion, def_max: 0, rep_max: 0 };
        let stored: Vec<u8> = (0..4i64).flat_map(|it| (it - 1).to_le_bytes()).collect();
        // Eight places of which one is aligned.
        let page = Bytes::from([[7; 8].as_slice(), &stored].concat());
        let mut shared = 0;
        for place in 0..8 {
            let mut page = page.to_vec();
            page.rotate_left(8 - place);
            let page = Bytes::from(page).slice(place..);
            let vector = read_dictionary(&leaf, page.clone(), 3).unwrap();
            assert_eq!(vector.to_values().unwrap(), [-1, 0, 1].map(Value::BigInt));
            let values = vector.flat_values().unwrap().native::<i64>().unwrap();
            shared += usize::from(values.as_ptr().cast() == page.as_ptr());
            assert!(read_dictionary(&leaf, page, 6).is_err());
        }
        assert_eq!(shared, 1);
    }
}
