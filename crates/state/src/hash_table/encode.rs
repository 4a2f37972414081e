//! Keys of nested and opaque types as bytes.
//!
//! Two values are equal exactly when their bytes are:
//!
//! ```text
//! null          0
//! fixed width   1, key bits (little-endian)
//! string        1, length (u32), bytes
//! array, map    1, number of elements (u32), each element
//! row           1, each field
//! object        1, length (u32), the bytes that its type gives it
//! ```

use crate::rows::Key;
use std::ops::Range;
use volley_error::{Error, Result};
use volley_types::{Type, match_native};
use volley_vector::{Decoded, StringBuilder, Values, Vector};

/// The type under which a key of `data_type` is hashed and compared.
pub fn key_type(data_type: &Type) -> Type {
    if data_type.physical().is_by_reference() { Type::Varbinary } else { data_type.clone() }
}

/// A key column as it is hashed and compared: itself, or the encoding of a nested or opaque
/// type.
///
/// # Errors
///
/// What a lazy vector's loader reports; a value of more than 4 GiB.
pub fn encode_key(key: &Vector) -> Result<Vector> {
    if !key.data_type().physical().is_by_reference() {
        return key.loaded();
    }
    let encoder = Encoder::new(key)?;
    let mut strings = StringBuilder::with_capacity(key.len());
    let mut bytes = Vec::new();
    for row in 0..key.len() {
        bytes.clear();
        if !encoder.decoded.is_null(row) {
            encoder.push(row, &mut bytes);
        }
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::unsupported("nested keys of more than 4 GiB"));
        }
        strings.push(&bytes);
    }
    Ok(Vector::strings(Type::Varbinary, strings.finish(), encoder.decoded.nulls()))
}

/// Encodes rows of a vector, which is decoded once, with its parts.
struct Encoder {
    decoded: Decoded<'static>,
    /// Of the elements, or of each field.
    parts: Vec<Encoder>,
}

impl Encoder {
    fn new(vector: &Vector) -> Result<Encoder> {
        let decoded = Decoded::new(vector)?.into_owned();
        let parts: &[Vector] = match decoded.values() {
            Values::Array(nested) | Values::Map(nested) => std::slice::from_ref(&*nested.elements),
            Values::FixedArray(arrays) => std::slice::from_ref(&*arrays.elements),
            Values::Row { children, .. } => children,
            _ => &[],
        };
        let parts = parts.iter().map(Encoder::new).collect::<Result<_>>()?;
        Ok(Encoder { decoded, parts })
    }

    fn push(&self, row: usize, bytes: &mut Vec<u8>) {
        if self.decoded.is_null(row) {
            bytes.push(0);
            return;
        }
        bytes.push(1);
        let index = self.decoded.index(row);
        match self.decoded.values() {
            Values::Null(_) => {}
            Values::Boolean(bits) => bytes.push(u8::from(bits.value(index))),
            Values::View(strings) => push_bytes(bytes, strings.bytes(index)),
            Values::Array(nested) | Values::Map(nested) => {
                self.push_elements(nested.range(index), bytes);
            }
            Values::FixedArray(arrays) => self.push_elements(arrays.range(index), bytes),
            Values::Row { .. } => self.parts.iter().for_each(|it| it.push(index, bytes)),
            Values::Object(objects) => {
                let mut key = Vec::new();
                if let Some(object) = objects.get(index) {
                    object.push_key(&mut key);
                }
                push_bytes(bytes, &key);
            }
            values => match_native!(values.physical(), T => {
                let value = values.native::<T>().map_or(T::default(), |it| it[index]);
                bytes.extend_from_slice(&Key::key_bits(value).to_le_bytes());
            }, else {}),
        }
    }

    fn push_elements(&self, range: Range<usize>, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(range.len() as u32).to_le_bytes());
        for element in range {
            self.parts.iter().for_each(|it| it.push(element, bytes));
        }
    }
}

fn push_bytes(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
    bytes.extend_from_slice(part);
}
