//! Keys of nested types as bytes.
//!
//! Two values are equal exactly when their bytes are:
//!
//! ```text
//! null          0
//! fixed width   1, key bits (little-endian)
//! string        1, length (u32), bytes
//! array, map    1, number of elements (u32), each element
//! row           1, each field
//! ```

use crate::rows::Key;
use volley_error::{Error, Result};
use volley_types::{Type, match_native};
use volley_vector::{Decoded, StringBuilder, Values, Vector};

/// The type under which a key of `data_type` is hashed and compared.
pub(crate) fn key_type(data_type: &Type) -> Type {
    if data_type.is_nested() { Type::Varbinary } else { data_type.clone() }
}

/// A key column as it is hashed and compared: itself, or the encoding of a nested type.
///
/// # Errors
///
/// What a lazy vector's loader reports; a value of more than 4 GiB.
pub(crate) fn encode_key(key: &Vector) -> Result<Vector> {
    if !key.data_type().is_nested() {
        return key.loaded();
    }
    let decoded = Decoded::new(key)?;
    let mut strings = StringBuilder::with_capacity(key.len());
    let mut bytes = Vec::new();
    for row in 0..key.len() {
        bytes.clear();
        if !decoded.is_null(row) {
            encode_value(decoded.base(), decoded.index(row), &mut bytes)?;
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::unsupported("nested keys of more than 4 GiB"));
        }
        strings.push(&bytes);
    }
    Ok(Vector::strings(Type::Varbinary, strings.finish(), decoded.nulls()))
}

fn encode_value(vector: &Vector, row: usize, bytes: &mut Vec<u8>) -> Result<()> {
    let decoded = Decoded::new(vector)?;
    if decoded.is_null(row) {
        bytes.push(0);
        return Ok(());
    }
    bytes.push(1);
    let index = decoded.index(row);
    match decoded.values() {
        Values::Null(_) => {}
        Values::Boolean(bits) => bytes.push(u8::from(bits.value(index))),
        Values::View(strings) => {
            let text = strings.bytes(index);
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text);
        }
        Values::Array(nested) | Values::Map(nested) => {
            let range = nested.range(index);
            bytes.extend_from_slice(&(range.len() as u32).to_le_bytes());
            for element in range {
                encode_value(&nested.elements, element, bytes)?;
            }
        }
        Values::Row { children, .. } => {
            for child in children.iter() {
                encode_value(child, index, bytes)?;
            }
        }
        values => match_native!(values.physical(), T => {
            let value = values.native::<T>().map_or(T::default(), |it| it[index]);
            bytes.extend_from_slice(&Key::key_bits(value).to_le_bytes());
        }, else {}),
    }
    Ok(())
}
