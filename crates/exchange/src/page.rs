//! Pages: rows in transit, as a batch or as bytes.

use crate::LaneBatch;
use std::{fmt, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Batch, Buffer};
use volley_wire::{PageFormat, PageWriter};

/// Rows in transit.
#[derive(Clone, Debug)]
pub struct Page {
    /// The rows.
    pub content: PageContent,
    /// The number of rows.
    pub rows: usize,
    /// About the bytes of the rows when they are decoded: what budgets count.
    pub bytes: usize,
}

/// How the rows of a page are held.
#[derive(Clone, Debug)]
pub enum PageContent {
    /// As they are, within a process.
    Batch(Batch),
    /// In the format of the edge.
    Bytes(Buffer),
}

/// The format and the types of an edge: what both ends must agree on.
#[derive(Clone)]
pub struct PageCodec {
    /// The format of pages as bytes.
    pub format: Arc<dyn PageFormat>,
    /// The types of the columns.
    pub types: Arc<[Type]>,
}

/// Makes pages of batches by lane. One per driver.
pub struct PageEncoder(Option<Box<dyn PageWriter>>);

impl Page {
    /// The rows.
    ///
    /// # Errors
    ///
    /// Corruption: bytes that are no page of the codec.
    pub fn decode(&self, codec: &PageCodec) -> Result<Batch> {
        match &self.content {
            PageContent::Batch(batch) => Ok(batch.clone()),
            PageContent::Bytes(bytes) => {
                let batch = codec.format.decode(bytes, &codec.types)?;
                if batch.rows() != self.rows {
                    return Err(Error::corruption(format!(
                        "page of {} rows where {} were announced",
                        batch.rows(),
                        self.rows
                    )));
                }
                Ok(batch)
            }
        }
    }

    /// The bytes that the page takes on a link; those of the decoded rows if it is a batch.
    pub fn sent_bytes(&self) -> usize {
        match &self.content {
            PageContent::Batch(_) => self.bytes,
            PageContent::Bytes(bytes) => bytes.len(),
        }
    }
}

impl PageEncoder {
    /// Pages that are batches, for lanes within a process.
    pub fn batches() -> PageEncoder {
        PageEncoder(None)
    }

    /// Pages that are bytes of `codec`.
    ///
    /// # Errors
    ///
    /// Unsupported: types that the format does not have.
    pub fn bytes(codec: &PageCodec) -> Result<PageEncoder> {
        Ok(PageEncoder(Some(codec.format.writer(&codec.types)?)))
    }

    /// The page of rows of a lane. A page that is a batch has memory of its own, so that it keeps
    /// no rows of other lanes alive.
    ///
    /// # Errors
    ///
    /// As [`PageWriter::write`]; strings or elements beyond the layout's 32 bits.
    pub fn encode(&mut self, rows: &LaneBatch) -> Result<Page> {
        let content = match &mut self.0 {
            None => PageContent::Batch(detached(&rows.batch)?),
            Some(writer) => {
                // The header, and what is padded and described per column.
                let room = rows.bytes + 64 * (1 + rows.batch.columns().len());
                let mut bytes = Vec::with_capacity(room);
                writer.write(&rows.batch, &mut bytes)?;
                PageContent::Bytes(Buffer::from_vec(bytes))
            }
        };
        Ok(Page { content, rows: rows.batch.rows(), bytes: rows.bytes })
    }
}

/// The rows in memory of their own; dictionaries and constants keep their bases.
fn detached(batch: &Batch) -> Result<Batch> {
    let rows: Vec<u32> = (0..batch.rows() as u32).collect();
    let columns = batch.columns().iter().map(|it| match it.flat_values() {
        Some(_) => it.gather(&rows),
        None => Ok(it.clone()),
    });
    Ok(Batch::new(columns.collect::<Result<_>>()?, batch.rows()))
}

impl fmt::Debug for PageCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.format.name(), self.types)
    }
}
