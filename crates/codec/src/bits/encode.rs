//! The shortest form of each vector.

use super::{ALL, BITS, CLEAR, NONE, RUNS, SET};
use crate::{VECTOR_ROWS, input::put_all};
use arrow_buffer::BooleanBuffer;

/// Appends `bits`.
pub(crate) fn encode(bits: &BooleanBuffer, out: &mut Vec<u8>) {
    let (mut forms, mut lengths, mut vectors) = (Vec::new(), Vec::<u16>::new(), Vec::new());
    for start in (0..bits.len()).step_by(VECTOR_ROWS) {
        let vector = bits.slice(start, VECTOR_ROWS.min(bits.len() - start));
        let (form, numbers) = shortest(&vector);
        forms.push(form);
        lengths.push(numbers.len() as u16);
        put_all(&mut vectors, &numbers);
        if form == BITS {
            vectors.extend(vector.sliced().as_slice().iter().take(vector.len().div_ceil(8)));
        }
    }
    out.extend_from_slice(&forms);
    put_all(out, &lengths);
    out.extend_from_slice(&vectors);
}

/// The form with the fewest bytes, and its positions or ends.
fn shortest(vector: &BooleanBuffer) -> (u8, Vec<u16>) {
    let (len, set) = (vector.len(), vector.count_set_bits());
    if set == 0 {
        return (NONE, Vec::new());
    }
    if set == len {
        return (ALL, Vec::new());
    }
    let bits_max = len.div_ceil(8) / 2;
    let runs = runs(vector);
    let least = set.min(len - set).min(runs.len());
    let positions = |is_set: bool| -> Vec<u16> {
        (0..len).filter(|row| vector.value(*row) == is_set).map(|row| row as u16).collect()
    };
    match least {
        _ if least > bits_max => (BITS, Vec::new()),
        _ if least == runs.len() => (RUNS, runs),
        _ if least == set => (SET, positions(true)),
        _ => (CLEAR, positions(false)),
    }
}

/// Where runs end, the first of them clear.
fn runs(vector: &BooleanBuffer) -> Vec<u16> {
    let (mut ends, mut is_set) = (Vec::new(), false);
    for (row, bit) in vector.iter().enumerate() {
        if bit != is_set {
            ends.push(row as u16);
            is_set = bit;
        }
    }
    ends.push(vector.len() as u16);
    ends
}
