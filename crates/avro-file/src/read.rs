//! Reads a split.

use crate::{
    container::{BLOCK_HEAD_BYTES, Header, find_marker, read_block_head},
    corruption,
    file::{caught, refused},
};
use arrow_avro::reader::Decoder;
use bytes::Bytes;
use std::{
    ops::Range,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use volley_connector::{FormatReader, FormatRequest, SourceStep};
use volley_error::{Error, Result};
use volley_io::{BufferPool, Pending, RandomAccessFile};
use volley_memory::Reservation;
use volley_vector::{Batch, arrow::batch_from_arrow};

/// Reads the blocks behind the markers that begin in a range of the file.
pub(crate) struct BlockReader {
    file: Arc<dyn RandomAccessFile>,
    header: Arc<Header>,
    markers: Range<u64>,
    decoder: Decoder,
    /// For each column that was asked for, its place among those of the decoder.
    places: Vec<usize>,
    /// Bytes of the file from `start` on.
    bytes: Bytes,
    start: u64,
    reading: Option<Pending<Bytes>>,
    /// Where the marker before the next block begins; `None` before it is looked for.
    marker: Option<u64>,
    /// Rows that are left of a block.
    block: Block,
    is_done: bool,
    read: Reservation,
    bytes_read: u64,
}

/// The rows of a block.
struct Block {
    bytes: Bytes,
    position: usize,
    rows_left: u64,
    charge: Reservation,
}

impl BlockReader {
    pub fn new(
        file: Arc<dyn RandomAccessFile>,
        header: Arc<Header>,
        markers: Range<u64>,
        decoder: Decoder,
        places: Vec<usize>,
        request: &FormatRequest,
    ) -> BlockReader {
        let charge = request.pool.reservation();
        BlockReader {
            file,
            header,
            start: markers.start,
            markers,
            decoder,
            places,
            bytes: Bytes::new(),
            reading: None,
            marker: None,
            block: Block { bytes: Bytes::new(), position: 0, rows_left: 0, charge },
            is_done: false,
            read: request.pool.reservation(),
            bytes_read: 0,
        }
    }

    /// Whether bytes of the file up to `end` are here; begins to read them otherwise, together with
    /// those that are here from `from` on.
    fn poll_bytes(&mut self, from: u64, end: u64, waker: &Waker) -> Result<bool> {
        let end = end.min(self.file.size_bytes());
        if self.reading.is_none() {
            if end <= self.start + self.bytes.len() as u64 {
                return Ok(true);
            }
            self.bytes = Bytes::new();
            self.start = from;
            self.read.resize((end - from) as usize)?;
            self.bytes_read += end - from;
            let range = from..end;
            if self.file.is_at_hand(std::slice::from_ref(&range)) {
                self.bytes = self.file.read(range)?;
                return Ok(true);
            }
            let file = Arc::clone(&self.file);
            self.reading = Some(file.start_read(range, &BufferPool::default()));
        }
        let Some(reading) = &mut self.reading else { return Ok(true) };
        match reading.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Pending => Ok(false),
            Poll::Ready(bytes) => {
                self.reading = None;
                self.bytes = bytes?;
                Ok(true)
            }
        }
    }

    /// Bytes of the file that are here.
    fn bytes_at(&self, from: u64) -> &[u8] {
        let from = from.checked_sub(self.start).and_then(|it| usize::try_from(it).ok());
        from.and_then(|it| self.bytes.get(it..)).unwrap_or_default()
    }

    /// Takes the next block; the step that this is, if it is not that of its rows.
    fn next_block(&mut self, waker: &Waker) -> Result<SourceStep> {
        let marker = match self.marker {
            Some(marker) => marker,
            None => {
                let (start, end) = (self.markers.start, self.markers.end + 15);
                if !self.poll_bytes(start, end, waker)? {
                    return Ok(SourceStep::Blocked);
                }
                let found = find_marker(self.bytes_at(start), &self.header.marker);
                let Some(found) = found else { return Ok(SourceStep::NeedSplit) };
                *self.marker.insert(start + found as u64)
            }
        };
        let head_start = marker + 16;
        let size = self.file.size_bytes();
        if !self.markers.contains(&marker) || head_start >= size {
            return Ok(SourceStep::NeedSplit);
        }
        if !self.poll_bytes(marker, head_start + BLOCK_HEAD_BYTES as u64, waker)? {
            return Ok(SourceStep::Blocked);
        }
        let ends_early = || corruption("a block that ends early");
        let head = read_block_head(self.bytes_at(head_start))?.ok_or_else(ends_early)?;
        let rows_start = head_start + head.head_bytes as u64;
        let end = rows_start.checked_add(head.bytes as u64).and_then(|it| it.checked_add(16));
        let end = end.filter(|it| *it <= size).ok_or_else(ends_early)?;
        if !self.poll_bytes(marker, end, waker)? {
            return Ok(SourceStep::Blocked);
        }
        let (rows, rest) =
            self.bytes_at(rows_start).split_at_checked(head.bytes).ok_or_else(ends_early)?;
        let rows = self.bytes.slice_ref(rows);
        if !rest.starts_with(&self.header.marker) {
            return Err(corruption("a block without its marker"));
        }
        let codec = self.header.codec;
        let bytes = codec.decompress(&rows, &mut self.block.charge)?;
        self.block.bytes = bytes;
        self.block.position = 0;
        self.block.rows_left = head.rows;
        self.marker = Some(end - 16);
        Ok(SourceStep::Progress)
    }

    /// Decodes rows until the block ends or a batch is full.
    fn decode(&mut self) -> Result<()> {
        let (decoder, block) = (&mut self.decoder, &mut self.block);
        caught(|| {
            while block.rows_left > 0 && !decoder.batch_is_full() {
                let rest = block.bytes.get(block.position..).unwrap_or_default();
                block.position += decoder.decode(rest).map_err(refused)?;
                block.rows_left -= 1;
            }
            match block.rows_left == 0 && block.position != block.bytes.len() {
                true => Err(corruption("a block with more bytes than its rows")),
                false => Ok(()),
            }
        })
    }

    /// The rows that were decoded.
    fn flush(&mut self) -> Result<Option<Batch>> {
        if self.decoder.batch_is_empty() {
            return Ok(None);
        }
        let decoder = &mut self.decoder;
        let batch = caught(|| match decoder.flush().map_err(refused)? {
            Some(batch) => batch_from_arrow(&batch).map(Some),
            None => Ok(None),
        })?;
        Ok(batch.map(|it| it.project(&self.places)))
    }

    fn advance(&mut self, waker: &Waker) -> Result<SourceStep> {
        if self.block.rows_left > 0 {
            self.decode()?;
        }
        if self.decoder.batch_is_full()
            && let Some(batch) = self.flush()?
        {
            return Ok(SourceStep::Batch(batch));
        }
        if self.block.rows_left > 0 {
            return Ok(SourceStep::Progress);
        }
        if self.is_done {
            return Ok(SourceStep::NeedSplit);
        }
        match self.next_block(waker)? {
            SourceStep::NeedSplit => {
                self.is_done = true;
                (self.bytes, self.block.bytes) = (Bytes::new(), Bytes::new());
                Ok(self.flush()?.map_or(SourceStep::NeedSplit, SourceStep::Batch))
            }
            other => Ok(other),
        }
    }
}

impl FormatReader for BlockReader {
    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        let step = self.advance(waker);
        step.map_err(|it: Error| it.at("file", self.file.path()))
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}
