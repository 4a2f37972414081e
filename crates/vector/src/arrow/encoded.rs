//! Vectors as Arrow arrays that keep dictionaries and runs.

use super::{ArrowLayout, to_arrow};
use crate::{Decoded, Encoding, Indices, Vector};
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RunArray, UInt32Array, types::*};
use arrow_buffer::{ArrowNativeType, ScalarBuffer};
use arrow_schema::ArrowError;
use std::sync::Arc;
use volley_error::{Error, Result};

/// The vector as an Arrow array in the encoding that it has: a dictionary as `Dictionary(UInt32)`,
/// runs and constants as `RunEndEncoded(Int32)`, others as [`to_arrow`] makes them. Codes and run
/// ends are shared; codes of nested dictionaries are composed.
///
/// # Errors
///
/// As [`to_arrow`].
pub fn to_arrow_encoded(vector: &Vector, layout: ArrowLayout) -> Result<ArrayRef> {
    match vector.encoding() {
        Encoding::Lazy(_) => to_arrow_encoded(&vector.loaded()?, layout),
        Encoding::Flat(_) | Encoding::Bias { .. } => to_arrow(vector, layout),
        _ if vector.is_empty() => to_arrow(vector, layout),
        Encoding::Constant(base) => {
            let len = i32::try_from(vector.len()).map_err(|_| too_long())?;
            runs(vec![len].into(), base, layout)
        }
        Encoding::RunLength { ends, base } => {
            if i32::try_from(vector.len()).is_err() {
                return Err(too_long());
            }
            match has_empty_run(ends) {
                false => runs(reinterpreted(ends), base, layout),
                true => without_empty_runs(ends, base, layout),
            }
        }
        Encoding::Dictionary { codes, .. } => dictionary(vector, codes, layout),
    }
}

fn runs(ends: ScalarBuffer<i32>, base: &Vector, layout: ArrowLayout) -> Result<ArrayRef> {
    let ends = Int32Array::new(ends, None);
    let values = to_arrow(base, layout)?;
    Ok(Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).map_err(internal)?))
}

/// Arrow has no empty runs.
fn has_empty_run(ends: &[u32]) -> bool {
    ends.first() == Some(&0) || ends.windows(2).any(|it| it[0] == it[1])
}

fn without_empty_runs(ends: &[u32], base: &Vector, layout: ArrowLayout) -> Result<ArrayRef> {
    let start = |run: usize| run.checked_sub(1).map_or(0, |before| ends[before]);
    let kept: Vec<u32> =
        (0..ends.len()).filter(|run| start(*run) < ends[*run]).map(|it| it as u32).collect();
    let ends: Vec<i32> = kept.iter().map(|it| ends[*it as usize] as i32).collect();
    runs(ends.into(), &base.gather(&kept)?, layout)
}

fn dictionary(vector: &Vector, codes: &ScalarBuffer<u32>, layout: ArrowLayout) -> Result<ArrayRef> {
    let decoded = Decoded::new(vector)?;
    let keys: ScalarBuffer<u32> = match decoded.indices() {
        Indices::Codes(found) if found.as_ptr() == codes.as_ptr() => codes.clone(),
        _ => decoded.to_codes().into(),
    };
    let keys = UInt32Array::new(keys, decoded.nulls());
    let values = to_arrow(decoded.base(), layout)?;
    let array = DictionaryArray::<UInt32Type>::try_new(keys, values);
    Ok(Arc::new(array.map_err(internal)?))
}

/// The same buffer as signed numbers.
fn reinterpreted(ends: &ScalarBuffer<u32>) -> ScalarBuffer<i32> {
    debug_assert_eq!(u32::get_byte_width(), i32::get_byte_width());
    ScalarBuffer::new(ends.inner().clone(), 0, ends.len())
}

fn too_long() -> Error {
    Error::invalid_value("more than 2^31 rows in one batch")
}

fn internal(error: ArrowError) -> Error {
    Error::internal(format!("vector is no valid Arrow array: {error}"))
}
