//! A format of the pages that cross between tasks: the native one behind the number of its rows,
//! which is checked.

use std::sync::atomic::{AtomicU64, Ordering};
use volley::{
    Batch, Buffer, Error, Result, Type,
    wire::{NativeFormat, PageFormat, PageWriter},
};

/// Pages that were written so far.
static PAGES: AtomicU64 = AtomicU64::new(0);

/// How many pages were written so far.
pub fn pages() -> u64 {
    PAGES.load(Ordering::Relaxed)
}

/// The format, for `SessionBuilder::add_page_format`.
#[derive(Debug)]
pub struct CountedFormat;

impl PageFormat for CountedFormat {
    fn name(&self) -> &'static str {
        "counted"
    }

    fn writer(&self, types: &[Type]) -> Result<Box<dyn PageWriter>> {
        Ok(Box::new(CountedWriter(NativeFormat::Packed.writer(types)?)))
    }

    fn decode(&self, page: &Buffer, types: &[Type]) -> Result<Batch> {
        let wrong = || Error::corruption("a page without its number of rows");
        let (rows, _) = page.split_first_chunk().ok_or_else(wrong)?;
        let batch = NativeFormat::Packed.decode(&page.slice(rows.len()), types)?;
        match batch.rows() as u64 == u64::from_le_bytes(*rows) {
            true => Ok(batch),
            false => Err(Error::corruption("a page with another number of rows")),
        }
    }
}

struct CountedWriter(Box<dyn PageWriter>);

impl PageWriter for CountedWriter {
    fn write(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(&(batch.rows() as u64).to_le_bytes());
        self.0.write(batch, out).inspect_err(|_| out.truncate(start))?;
        PAGES.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
