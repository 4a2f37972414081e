//! Writes vectors.

use super::{DEPTH_MAX, MAGIC, VERSION, checksum};
use crate::{Batch, Encoding, NullBuffer, ScalarBuffer, Vector};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};

/// Collects the bytes of a file.
pub struct Writer {
    bytes: Vec<u8>,
    depth: usize,
    /// Codes that were written, by address and length, with their numbers. They are kept, so that
    /// their addresses are not reused.
    codes: HashMap<(usize, usize), (usize, ScalarBuffer<u32>)>,
    /// Bases that were written, by address, with their numbers.
    bases: HashMap<usize, (usize, Arc<Vector>)>,
}

impl Writer {
    /// A writer of a file with a content that `kind` says.
    pub fn new(kind: u8) -> Writer {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.push(kind);
        Writer { bytes, depth: 0, codes: HashMap::new(), bases: HashMap::new() }
    }

    /// The bytes with their checksum.
    pub fn finish(mut self) -> Vec<u8> {
        let checksum = checksum(&self.bytes);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        self.bytes
    }

    /// Writes what `f` does, one level further down.
    ///
    /// # Errors
    ///
    /// Unsupported, when there are more than [`DEPTH_MAX`] levels; what `f` reports.
    pub fn nested(&mut self, f: impl FnOnce(&mut Writer) -> Result<()>) -> Result<()> {
        if self.depth == DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} levels cannot be saved");
            return Err(Error::unsupported(message));
        }
        self.depth += 1;
        let outcome = f(self);
        self.depth -= 1;
        outcome
    }

    /// One byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// A number of 8 bytes.
    pub fn number(&mut self, number: usize) {
        self.bytes.extend_from_slice(&(number as u64).to_le_bytes());
    }

    /// Bytes whose number the reader knows.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A text with its length.
    pub fn text(&mut self, text: &str) {
        self.number(text.len());
        self.raw(text.as_bytes());
    }

    /// A batch.
    ///
    /// # Errors
    ///
    /// As [`Writer::vector`].
    pub fn batch(&mut self, batch: &Batch) -> Result<()> {
        self.number(batch.rows());
        self.number(batch.columns().len());
        batch.columns().iter().try_for_each(|it| self.vector(it))
    }

    /// A vector: its type, its length, and its storage.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; objects; too many levels.
    pub fn vector(&mut self, vector: &Vector) -> Result<()> {
        self.nested(|it| {
            it.data_type(vector.data_type())?;
            it.number(vector.len());
            it.encoding(vector)
        })
    }

    fn encoding(&mut self, vector: &Vector) -> Result<()> {
        match vector.encoding() {
            Encoding::Flat(values) => {
                self.byte(0);
                self.nulls(vector.null_buffer());
                self.values(values)
            }
            Encoding::Constant(base) => {
                self.byte(1);
                self.base(base)
            }
            Encoding::Dictionary { codes, base } => {
                self.byte(2);
                self.nulls(vector.null_buffer());
                let key = (codes.as_ptr() as usize, codes.len());
                match self.codes.get(&key).map(|it| it.0) {
                    Some(number) => self.number(number + 1),
                    None => {
                        self.codes.insert(key, (self.codes.len(), codes.clone()));
                        self.number(0);
                        self.raw(codes.inner().as_slice());
                    }
                }
                self.base(base)
            }
            Encoding::RunLength { ends, base } => {
                self.byte(3);
                self.number(ends.len());
                self.raw(ends.inner().as_slice());
                self.base(base)
            }
            Encoding::Bias { base, deltas } => {
                self.byte(4);
                self.nulls(vector.null_buffer());
                self.raw(&base.to_le_bytes());
                self.byte(deltas.width() as u8);
                self.raw(deltas.buffer().as_slice());
                Ok(())
            }
            Encoding::Lazy(_) => {
                self.byte(5);
                self.vector(&vector.loaded()?)
            }
        }
    }

    /// A base, or the number of an earlier one.
    fn base(&mut self, base: &Arc<Vector>) -> Result<()> {
        let address = Arc::as_ptr(base) as usize;
        if let Some(number) = self.bases.get(&address).map(|it| it.0) {
            self.number(number + 1);
            return Ok(());
        }
        self.number(0);
        self.vector(base)?;
        // Bases below this one have got their numbers by now, in the order of reading.
        self.bases.insert(address, (self.bases.len(), Arc::clone(base)));
        Ok(())
    }

    fn nulls(&mut self, nulls: Option<&NullBuffer>) {
        self.byte(u8::from(nulls.is_some()));
        if let Some(nulls) = nulls {
            self.bits(nulls.inner());
        }
    }
}
