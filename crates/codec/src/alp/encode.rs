//! Floats as integers.

use super::analyze::{best_of, candidates, is_exact};
use crate::{
    VECTOR_ROWS,
    order::Order,
    pfor::{Plan, Writer},
};
use volley_kernels::alp::{Float, Scale};

/// Appends `values`.
pub(crate) fn encode<T: Float>(values: &[T], out: &mut Vec<u8>) {
    let scales = candidates(values, VECTOR_ROWS);
    let (mut writer, mut integers) = (Writer::default(), Vec::new());
    for vector in values.chunks(VECTOR_ROWS) {
        let scale = best_of(vector, scales.iter().copied()).unwrap_or_default();
        out.extend_from_slice(&[scale.exponent, scale.factor]);
        let exact: Vec<bool> = vector.iter().map(|it| is_exact(*it, scale)).collect();
        fill(vector, scale, &exact, &mut integers);
        let plan = Plan::best(&integers, Order::Signed);
        writer.push_forced(&integers, plan, |row| !exact[row], |row, _| Some(vector[row].bits()));
    }
    writer.finish(out);
}

/// The integers of a vector; where there is none, one of the others.
fn fill<T: Float>(vector: &[T], scale: Scale, exact: &[bool], integers: &mut Vec<T::Bits>) {
    integers.clear();
    let first = exact.iter().position(|it| *it).and_then(|it| vector.get(it));
    let other = first.map(|it| it.encode(scale)).unwrap_or_default();
    let integer = |(value, exact): (&T, &bool)| if *exact { value.encode(scale) } else { other };
    integers.extend(vector.iter().zip(exact).map(integer));
}
