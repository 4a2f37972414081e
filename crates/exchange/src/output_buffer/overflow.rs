//! Pages on disk, until they are read.
//!
//! Bytes are written unchanged; batches in the packed native format. Each overflow of a lane is a
//! file, which is gone with its last page.

use crate::{Page, PageContent};
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::{Error, Result};
use volley_memory::spill::{SpillFileReader, SpillSpace};
use volley_types::Type;
use volley_vector::Buffer;
use volley_wire::{NativeFormat, PageFormat};

/// Writes pages.
pub(super) struct Overflow {
    space: SpillSpace,
    types: Arc<[Type]>,
}

/// Pages of one file, which are read in the order in which they were written.
#[derive(Debug)]
pub(super) struct Run {
    unread: Mutex<Unread>,
    types: Arc<[Type]>,
}

#[derive(Debug)]
struct Unread {
    file: SpillFileReader,
    pages: std::vec::IntoIter<OnDisk>,
}

#[derive(Debug)]
struct OnDisk {
    is_batch: bool,
    rows: usize,
    bytes: usize,
}

impl Overflow {
    pub(super) fn new(space: SpillSpace, types: Arc<[Type]>) -> Overflow {
        Overflow { space, types }
    }

    /// Writes pages to a file.
    pub(super) fn write(&self, pages: &[Page]) -> Result<Arc<Run>> {
        let mut file = self.space.create_file()?;
        let mut on_disk = Vec::with_capacity(pages.len());
        let mut writer = None;
        for page in pages {
            let is_batch = match &page.content {
                PageContent::Bytes(bytes) => {
                    file.append(bytes)?;
                    false
                }
                PageContent::Batch(batch) => {
                    let writer = match &mut writer {
                        Some(writer) => writer,
                        None => writer.insert(NativeFormat::Packed.writer(&self.types)?),
                    };
                    let mut bytes = self.space.buffer();
                    writer.write(batch, &mut bytes)?;
                    file.append(&bytes)?;
                    true
                }
            };
            on_disk.push(OnDisk { is_batch, rows: page.rows, bytes: page.bytes });
        }
        let unread = Mutex::new(Unread { file: file.reader(), pages: on_disk.into_iter() });
        Ok(Arc::new(Run { unread, types: Arc::clone(&self.types) }))
    }
}

impl Run {
    /// The next page.
    ///
    /// # Errors
    ///
    /// I/O; corruption. Internal: all pages were read.
    pub(super) fn read(&self) -> Result<Page> {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut bytes, page) = (Vec::new(), unread.pages.next());
        let page = page.ok_or_else(|| Error::internal("no page is left on disk"))?;
        if !unread.file.next(&mut bytes)? {
            return Err(Error::corruption("an overflow file ends before its last page"));
        }
        let bytes = Buffer::from_vec(bytes);
        let content = match page.is_batch {
            true => PageContent::Batch(NativeFormat::Packed.decode(&bytes, &self.types)?),
            false => PageContent::Bytes(bytes),
        };
        Ok(Page { content, rows: page.rows, bytes: page.bytes })
    }
}
