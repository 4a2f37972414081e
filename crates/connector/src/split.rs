//! Splits: what a scan reads at a time, as bytes, and how scans list them.

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, task::Waker};
use volley_error::Result;
use volley_function::Registry;
use volley_vector::save::{Reader, Writer, corruption};

/// A unit of scanning: a row group, a file, a batch of a table.
///
/// The connector makes the bytes and reads them, in the same process or in another one. Nothing
/// else interprets them.
#[derive(Clone, PartialEq, Eq)]
pub struct Split {
    /// What to read, in the connector's own form ([`SplitWriter`]).
    pub bytes: Arc<[u8]>,
    /// Names of hosts where reading it is cheapest, the best first; empty if all are alike.
    pub hosts: Arc<[String]>,
    /// About how many bytes are read; 0 if unknown.
    pub size_bytes: u64,
    /// The most drivers of one task that can read it together; at least 1. The queue hands such a
    /// split to as many drivers, and their sources share it.
    pub readers_max: u32,
    /// For people: `lineitem.parquet, row group 3`.
    pub label: String,
}

/// Lists the splits of a scan, as they are asked for.
pub trait SplitSource: Send {
    /// The next splits, at most `max`. When it answers [`SplitStep::Blocked`], `waker` is woken
    /// once there is progress.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    fn next(&mut self, max: usize, waker: &Waker) -> Result<SplitStep>;
}

/// What listing came to.
#[derive(Debug)]
pub enum SplitStep {
    /// Splits, in the order in which they should start; at least one.
    Splits(Vec<Split>),
    /// Waiting for I/O.
    Blocked,
    /// There are no more.
    End,
}

/// Splits that are known already.
#[derive(Debug)]
pub struct ListedSplits(std::vec::IntoIter<Split>);

/// Writes the bytes of a split: a magic number, the version of the format, the connector's number,
/// the fields, a checksum.
pub struct SplitWriter(Writer);

/// Reads the bytes of a split, which may come from anywhere.
pub struct SplitReader<'a>(Reader<'a>);

impl Split {
    /// A split that one driver reads, anywhere.
    pub fn new(bytes: Vec<u8>, label: impl Into<String>) -> Split {
        Split {
            bytes: bytes.into(),
            hosts: Arc::default(),
            size_bytes: 0,
            readers_max: 1,
            label: label.into(),
        }
    }
}

impl fmt::Debug for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Split({})", self.label)
    }
}

impl ListedSplits {
    /// These splits, in this order.
    pub fn boxed(splits: Vec<Split>) -> Box<dyn SplitSource> {
        Box::new(ListedSplits(splits.into_iter()))
    }
}

impl SplitSource for ListedSplits {
    fn next(&mut self, max: usize, _waker: &Waker) -> Result<SplitStep> {
        let splits: Vec<Split> = self.0.by_ref().take(max.max(1)).collect();
        Ok(if splits.is_empty() { SplitStep::End } else { SplitStep::Splits(splits) })
    }
}

impl SplitWriter {
    /// For the connector with this number. Numbers below 16 are those of other saved things.
    pub fn new(connector: u8) -> SplitWriter {
        SplitWriter(Writer::new(connector))
    }

    /// Appends a number.
    pub fn number(mut self, number: u64) -> SplitWriter {
        self.0.raw(&number.to_le_bytes());
        self
    }

    /// Appends a text.
    pub fn text(mut self, text: &str) -> SplitWriter {
        self.0.text(text);
        self
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0.finish()
    }
}

impl<'a> SplitReader<'a> {
    /// Checks that the bytes are whole, of this version and of this connector.
    ///
    /// # Errors
    ///
    /// Corruption.
    pub fn new(split: &'a Split, connector: u8, registry: &'a Registry) -> Result<SplitReader<'a>> {
        let reader = Reader::new(&split.bytes, connector, registry.types());
        Ok(SplitReader(reader.map_err(|it| it.at("in", "the bytes of a split"))?))
    }

    /// The next number.
    ///
    /// # Errors
    ///
    /// Corruption, at the end of the bytes.
    pub fn number(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.0.fixed()?))
    }

    /// The next number, as a position.
    ///
    /// # Errors
    ///
    /// Corruption, also of a number too large for this machine.
    pub fn position(&mut self) -> Result<usize> {
        let number = self.number()?;
        usize::try_from(number).map_err(|_| corruption(format!("position {number} in a split")))
    }

    /// The next text.
    ///
    /// # Errors
    ///
    /// Corruption.
    pub fn text(&mut self) -> Result<&'a str> {
        self.0.text()
    }

    /// Checks that all was read.
    ///
    /// # Errors
    ///
    /// Corruption.
    pub fn finish(self) -> Result<()> {
        self.0.finish()
    }
}
