//! Copies of vectors with other values in some rows.

use crate::{Values, Vector};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};
use volley_error::Result;
use volley_types::{PhysicalType, Type, match_width};

/// New values of some rows of a vector.
#[derive(Clone, Debug)]
pub struct Patch {
    /// The rows that change, each once in all patches of a vector.
    pub rows: Vec<u32>,
    /// The position in `values` of the new value of each row.
    pub positions: Vec<u32>,
    /// Values of the vector's type, or of type `Unknown`: then the rows become null.
    pub values: Vector,
}

impl Patch {
    /// A patch of no rows yet.
    pub fn new(values: Vector) -> Patch {
        Patch { rows: Vec::new(), positions: Vec::new(), values }
    }
}

impl Vector {
    /// A flat copy with the new values of `patches`. Values of a fixed width are written into a
    /// copied buffer.
    ///
    /// # Errors
    ///
    /// As [`Vector::gather`].
    ///
    /// # Panics
    ///
    /// If a row or a position is beyond the end.
    pub fn patched(&self, patches: &[Patch]) -> Result<Vector> {
        let old = self.flatten()?;
        let mut new = Vec::with_capacity(patches.len());
        for patch in patches {
            new.push(match patch.values.data_type() {
                Type::Unknown => {
                    Vector::nulls(old.data_type().clone(), patch.values.len()).flatten()?
                }
                _ => patch.values.flatten()?,
            });
        }
        match patched_in_copy(&old, patches, &new) {
            Some(patched) => Ok(patched),
            None => patched_by_gather(&old, patches, &new),
        }
    }
}

/// Writes values of a fixed width into a copy of the buffer; `None` for other layouts. `new`: the
/// flat values of each patch.
fn patched_in_copy(old: &Vector, patches: &[Patch], new: &[Vector]) -> Option<Vector> {
    let values = old.flat_values()?;
    let physical = values.physical();
    let is_same = |it: &Vector| it.flat_values().is_some_and(|it| it.physical() == physical);
    if physical == PhysicalType::View || !new.iter().all(is_same) {
        return None;
    }
    let copy = match_width!(physical, T => {
        let mut copy: Vec<T> = values.width::<T>()?.to_vec();
        for (patch, new) in patches.iter().zip(new) {
            let new = new.flat_values()?.width::<T>()?;
            for (row, position) in patch.rows.iter().zip(&patch.positions) {
                copy[*row as usize] = new[*position as usize];
            }
        }
        Buffer::from_vec(copy)
    }, else return None);
    let values = Values::from_fixed_bytes(physical, copy)?;
    Some(Vector::flat(old.data_type().clone(), values, patched_nulls(old, patches, new)))
}

fn patched_nulls(old: &Vector, patches: &[Patch], new: &[Vector]) -> Option<NullBuffer> {
    if old.null_buffer().is_none() && new.iter().all(|it| it.null_buffer().is_none()) {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(old.len());
    match old.null_buffer() {
        Some(nulls) => valid.append_buffer(nulls.inner()),
        None => valid.append_n(old.len(), true),
    }
    for (patch, new) in patches.iter().zip(new) {
        for (row, position) in patch.rows.iter().zip(&patch.positions) {
            let is_valid = new.null_buffer().is_none_or(|it| it.is_valid(*position as usize));
            valid.set_bit(*row as usize, is_valid);
        }
    }
    Some(NullBuffer::new(valid.finish()))
}

/// Reads old and new values by index.
fn patched_by_gather(old: &Vector, patches: &[Patch], new: &[Vector]) -> Result<Vector> {
    let mut codes: Vec<u32> = (0..old.len() as u32).collect();
    let mut end = old.len() as u32;
    let mut parts = vec![old.clone()];
    for (patch, new) in patches.iter().zip(new) {
        for (row, code) in patch.rows.iter().zip(end..) {
            codes[*row as usize] = code;
        }
        end += patch.rows.len() as u32;
        parts.push(new.gather(&patch.positions)?);
    }
    Vector::concat(old.data_type(), &parts)?.gather(&codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Value;

    /// Patches of rows from `start` on, each `step`-th, in descending order of their values.
    fn patch(len: u32, start: u32, step: usize, values: Vector) -> Patch {
        let rows: Vec<u32> = (start..len).step_by(step).collect();
        let positions = (0..rows.len() as u32).rev().collect();
        Patch { rows, positions, values }
    }

    /// As text, for NaN and -0.0.
    fn shown(vector: &Vector) -> String {
        format!("{:?}", vector.to_values().unwrap())
    }

    /// Checks against single values; returns whether the values were written into a copy.
    fn check(data_type: &Type, old: &[Value], new: &[Value]) -> bool {
        let len = old.len() as u32;
        let vector = |values: &[Value]| Vector::from_values(data_type.clone(), values);
        let nulls = Vector::nulls(Type::Unknown, old.len());
        let patches = [patch(len, 0, 3, vector(new)), patch(len, 1, 3, nulls)];
        let mut expected = old.to_vec();
        for (row, position) in patches[0].rows.iter().zip(&patches[0].positions) {
            expected[*row as usize] = new[*position as usize].clone();
        }
        for row in &patches[1].rows {
            expected[*row as usize] = Value::Null;
        }
        let expected = format!("{expected:?}");
        let old = vector(old);
        assert_eq!(shown(&old.patched(&patches).unwrap()), expected);
        let flat = |it: &Vector| match it.data_type() {
            Type::Unknown => Vector::nulls(data_type.clone(), it.len()).flatten().unwrap(),
            _ => it.flatten().unwrap(),
        };
        let new: Vec<Vector> = patches.iter().map(|it| flat(&it.values)).collect();
        let old = old.flatten().unwrap();
        assert_eq!(shown(&patched_by_gather(&old, &patches, &new).unwrap()), expected);
        let copied = patched_in_copy(&old, &patches, &new);
        if let Some(copied) = &copied {
            assert_eq!(shown(copied), expected);
        }
        copied.is_some()
    }

    #[test]
    fn patched_values_equal_those_read_by_index() {
        for len in [0, 1, 3, 70] {
            let numbers = |from: i64| -> Vec<Value> {
                let value = |it: i64| if it % 7 == 3 { Value::Null } else { Value::BigInt(it) };
                (from..from + len).map(value).collect()
            };
            assert!(check(&Type::BigInt, &numbers(0), &numbers(1000)));
            let valid: Vec<Value> = (0..len).map(Value::BigInt).collect();
            assert!(check(&Type::BigInt, &valid, &valid));
            let doubles: Vec<Value> = [f64::NAN, -0.0, 0.5]
                .iter()
                .cycle()
                .take(len as usize)
                .map(|it| Value::Double(*it))
                .collect();
            assert!(
                check(&Type::Double, &vec![Value::Double(1.0); len as usize], &doubles) || len == 0
            );
            let texts: Vec<Value> =
                (0..len).map(|it| Value::text(format!("a text that is long: {it}"))).collect();
            assert!(!check(&Type::Varchar, &texts, &texts));
            let flags: Vec<Value> = (0..len).map(|it| Value::Boolean(it % 2 == 0)).collect();
            assert!(!check(&Type::Boolean, &flags, &flags));
        }
    }
}
