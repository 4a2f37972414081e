//! Reads a split.

use crate::{
    check::check_message,
    corruption,
    file::{caught, refused},
};
use arrow_buffer::Buffer;
use arrow_ipc::{Block, reader::FileDecoder};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::Arc,
    task::{Context, Poll, Waker},
    vec,
};
use volley_connector::{FormatReader, FormatRequest, SourceStep};
use volley_error::{Error, Result};
use volley_io::{BufferPool, Pending, RandomAccessFile};
use volley_memory::Reservation;
use volley_vector::{Batch, arrow::batch_from_arrow};

/// Reads neighboring record batches.
pub(crate) struct ArrowReader {
    file: Arc<dyn RandomAccessFile>,
    /// Those that come next.
    blocks: vec::IntoIter<(Block, Range<u64>)>,
    decoder: Arc<FileDecoder>,
    /// For each column that was asked for, its place among those of the decoder.
    places: Vec<usize>,
    batch_rows: usize,
    bytes: SplitBytes,
    start: u64,
    len: u64,
    /// The rest of a record batch.
    current: Option<Batch>,
    /// Of the bytes of the split, and of decompressed ones.
    read: Reservation,
    decompressed: Reservation,
    bytes_read: u64,
}

enum SplitBytes {
    Unread,
    Reading(Pending<Bytes>),
    Here(Bytes),
}

impl ArrowReader {
    pub fn new(
        file: Arc<dyn RandomAccessFile>,
        blocks: Vec<(Block, Range<u64>)>,
        decoder: Arc<FileDecoder>,
        places: Vec<usize>,
        request: &FormatRequest,
    ) -> ArrowReader {
        let start = blocks.first().map_or(0, |it| it.1.start);
        let end = blocks.last().map_or(0, |it| it.1.end);
        ArrowReader {
            file,
            blocks: blocks.into_iter(),
            decoder,
            places,
            batch_rows: request.batch_rows.max(1),
            bytes: SplitBytes::Unread,
            start,
            len: end - start,
            current: None,
            read: request.pool.reservation(),
            decompressed: request.pool.reservation(),
            bytes_read: 0,
        }
    }

    /// The bytes of the split; `None` while they are on their way.
    fn poll_bytes(&mut self, waker: &Waker) -> Result<Option<Bytes>> {
        if matches!(self.bytes, SplitBytes::Unread) {
            self.read.resize(self.len as usize)?;
            let range = self.start..self.start + self.len;
            self.bytes = if self.file.is_at_hand(std::slice::from_ref(&range)) {
                self.bytes_read += self.len;
                SplitBytes::Here(self.file.read(range)?)
            } else {
                let file = Arc::clone(&self.file);
                SplitBytes::Reading(file.start_read(range, &BufferPool::default()))
            };
        }
        let bytes = match &mut self.bytes {
            SplitBytes::Here(bytes) => return Ok(Some(bytes.clone())),
            SplitBytes::Unread => return Ok(None),
            SplitBytes::Reading(reading) => {
                match reading.as_mut().poll(&mut Context::from_waker(waker)) {
                    Poll::Pending => return Ok(None),
                    Poll::Ready(bytes) => bytes?,
                }
            }
        };
        self.bytes_read += self.len;
        self.bytes = SplitBytes::Here(bytes.clone());
        Ok(Some(bytes))
    }

    /// The rows of a record batch.
    fn decode(&mut self, block: &Block, bytes: Bytes) -> Result<Batch> {
        self.decompressed.resize(check_message(block, &bytes)? as usize)?;
        let bytes = Buffer::from(bytes);
        let decoded = caught(|| {
            let decoded = self.decoder.read_record_batch(block, &bytes).map_err(refused)?;
            let decoded = decoded.ok_or_else(|| corruption("no record batch in a block"))?;
            batch_from_arrow(&decoded)
        })?;
        Ok(decoded.project(&self.places))
    }
}

impl FormatReader for ArrowReader {
    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        if let Some(batch) = self.current.take() {
            let (rows, most) = (batch.rows(), self.batch_rows);
            if rows > most {
                self.current = Some(batch.slice(most, rows - most));
            }
            return Ok(SourceStep::Batch(batch.slice(0, rows.min(most))));
        }
        let Some((block, range)) = self.blocks.as_slice().first().cloned() else {
            self.bytes = SplitBytes::Unread;
            return Ok(SourceStep::NeedSplit);
        };
        let Some(bytes) = self.poll_bytes(waker)? else { return Ok(SourceStep::Blocked) };
        self.blocks.next();
        let from = (range.start - self.start) as usize;
        let to = (range.end - self.start) as usize;
        let at = |it: Error| it.at("file", self.file.path());
        let ends_early = || corruption("a message that ends early");
        if to > bytes.len() {
            return Err(at(ends_early()));
        }
        let path = Arc::clone(&self.file);
        let batch = self.decode(&block, bytes.slice(from..to));
        let batch = batch.map_err(|it| it.at("file", path.path()))?;
        self.current = (batch.rows() > 0).then_some(batch);
        Ok(SourceStep::Progress)
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}
