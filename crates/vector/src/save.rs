//! Vectors and batches in a file, for reproducing a failure: encodings, shared codes and shared
//! bases included.
//!
//! ```text
//! bytes 0..8    "VOLLEYSV"
//!       8..12   version, 2
//!       12      what is inside: 1 a vector, 2 a batch, others as their crates say
//!       13..    the content
//! last 8 bytes  checksum of all bytes before
//! ```
//!
//! Numbers are little-endian. The format may change with every version of the engine: files are for
//! debugging, not for storage. Reading any file gives a valid vector or an error, and takes memory
//! in proportion to the file.
//!
//! ```
//! use volley_types::{Type, TypeRegistry, Value};
//! use volley_vector::{Vector, save};
//!
//! let vector = Vector::constant(Type::BigInt, &Value::BigInt(7), 3);
//! let bytes = save::vector_to_bytes(&vector).unwrap();
//! let again = save::vector_from_bytes(&bytes, &TypeRegistry::default()).unwrap();
//! assert_eq!(again.to_string(), vector.to_string());
//! ```

mod read;
mod scalar;
mod types;
mod values;
mod write;
#[cfg(test)]
mod tests;

pub use read::Reader;
pub use write::Writer;

use crate::{Batch, Vector};
use std::path::Path;
use volley_error::{Error, Result};
use volley_types::TypeRegistry;

const MAGIC: &[u8; 8] = b"VOLLEYSV";

const VERSION: u32 = 2;

/// Bytes before the content: magic, version, what is inside.
const HEADER_BYTES: usize = 13;

const CHECKSUM_BYTES: usize = 8;

/// Levels of types, vectors and expressions in each other; a bound on the stack.
pub const DEPTH_MAX: usize = 100;

/// A file with one vector.
const VECTOR: u8 = 1;

/// A file with a batch.
const BATCH: u8 = 2;

/// The vector as the bytes of a file. A lazy one is loaded, and saved as one.
///
/// # Errors
///
/// What a lazy vector's loader reports; objects, which have no form outside of the process; more
/// than [`DEPTH_MAX`] levels.
pub fn vector_to_bytes(vector: &Vector) -> Result<Vec<u8>> {
    let mut writer = Writer::new(VECTOR);
    writer.vector(vector)?;
    Ok(writer.finish())
}

/// The vector of [`vector_to_bytes`]. `types` knows the custom types.
///
/// # Errors
///
/// Corruption, when the bytes are not those of a vector; invalid query, for unknown types.
pub fn vector_from_bytes(bytes: &[u8], types: &TypeRegistry) -> Result<Vector> {
    let mut reader = Reader::new(bytes, VECTOR, types)?;
    let vector = reader.vector()?;
    reader.finish()?;
    Ok(vector)
}

/// The batch as the bytes of a file; as [`vector_to_bytes`].
///
/// # Errors
///
/// As [`vector_to_bytes`].
pub fn batch_to_bytes(batch: &Batch) -> Result<Vec<u8>> {
    let mut writer = Writer::new(BATCH);
    writer.batch(batch)?;
    Ok(writer.finish())
}

/// The batch of [`batch_to_bytes`].
///
/// # Errors
///
/// As [`vector_from_bytes`].
pub fn batch_from_bytes(bytes: &[u8], types: &TypeRegistry) -> Result<Batch> {
    let mut reader = Reader::new(bytes, BATCH, types)?;
    let batch = reader.batch()?;
    reader.finish()?;
    Ok(batch)
}

/// Writes the bytes of [`vector_to_bytes`] or another of this form to a file.
///
/// # Errors
///
/// What the file system reports.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|it| Error::io(path.display(), it))
}

/// The bytes of a file.
///
/// # Errors
///
/// What the file system reports.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|it| Error::io(path.display(), it))
}

/// The error of bytes that are not what they should be.
pub fn corruption(what: impl std::fmt::Display) -> Error {
    Error::corruption(format!("no valid saved vector: {what}"))
}

/// FNV-1a with words of 8 bytes, folded at the end so that each bit matters.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ bytes.len() as u64;
    for word in bytes.chunks(8) {
        let mut full = [0; 8];
        full[..word.len()].copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(full)).wrapping_mul(0x0100_0000_01b3);
        hash ^= hash >> 29;
    }
    hash
}
