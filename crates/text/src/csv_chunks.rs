//! Splits the lines of a CSV file into chunks, for several concurrent readers.

use crate::{
    chunks::{Chunk, ChunkSource},
    csv::begin,
    csv_decode::CsvShape,
    csv_line_ends::LineEnds,
    csv_options::CsvReadOptions,
    csv_split::Splitter,
    input::FileStream,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_error::Result;
use volley_io::RandomAccessFile;
use volley_memory::{Pool, Reservation};

/// The lines of a file that no reader has taken.
#[derive(Debug)]
pub(crate) struct CsvChunks {
    state: Mutex<State>,
    /// How much of the file was taken, as the bits of a number from 0 to 1.
    share: AtomicU64,
}

/// What is read, and how.
#[derive(Debug)]
pub(crate) struct Origin {
    pub file: Arc<dyn RandomAccessFile>,
    pub options: Arc<CsvReadOptions>,
    pub shape: CsvShape,
    pub pool: Pool,
}

#[derive(Debug)]
enum State {
    /// Not opened yet.
    Closed(Box<Origin>, Box<LineEnds>),
    Open(Box<Lines>),
    /// All lines are taken, or the file cannot be read.
    Done,
}

/// The lines behind the header.
#[derive(Debug)]
struct Lines {
    stream: FileStream,
    ends: LineEnds,
    /// What was read behind the last line that was taken.
    rest: Bytes,
    /// How many chunks were taken.
    taken: u32,
    reservation: Reservation,
}

impl CsvChunks {
    /// The lines of a file; `None`, when where they end cannot be told without splitting them.
    pub(crate) fn new(origin: Origin) -> Option<CsvChunks> {
        let ends = LineEnds::new(&origin.options.form, origin.shape.delimiter)?;
        let state = Mutex::new(State::Closed(Box::new(origin), Box::new(ends)));
        Some(CsvChunks { state, share: AtomicU64::new(0) })
    }
}

impl ChunkSource for CsvChunks {
    fn next(&self) -> Result<Option<Chunk>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = match mem::replace(&mut *state, State::Done) {
            State::Closed(origin, ends) => Box::new(Lines::open(&origin, *ends)?),
            State::Open(lines) => lines,
            State::Done => return Ok(None),
        };
        let chunk = lines.next()?;
        self.share.store(lines.stream.share().to_bits(), Ordering::Relaxed);
        if chunk.is_some() {
            *state = State::Open(lines);
        }
        Ok(chunk)
    }

    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

impl Lines {
    fn open(origin: &Origin, mut ends: LineEnds) -> Result<Lines> {
        let Origin { file, options, shape, pool } = origin;
        let mut stream = begin(file, options, pool)?;
        let mut splitter = Splitter::new(&options.form, shape.delimiter, options.skip_lines + 1);
        let mut reservation = pool.reservation();
        if shape.has_header {
            pass_header(&mut stream, &mut splitter, &mut reservation)?;
        }
        ends.begin(splitter.line());
        Ok(Lines { stream, ends, rest: Bytes::new(), taken: 0, reservation })
    }

    fn next(&mut self) -> Result<Option<Chunk>> {
        let line = self.ends.line();
        let (mut pieces, mut bytes) = (VecDeque::new(), 0);
        let mut rest = mem::take(&mut self.rest);
        loop {
            let mut piece =
                if rest.is_empty() { self.stream.take()? } else { mem::take(&mut rest) };
            if piece.is_empty() {
                break;
            }
            bytes += piece.len();
            // An irregular line is copied to find its end.
            self.reservation.resize(bytes.saturating_mul(2))?;
            let cut = self.ends.find(&pieces, &piece);
            if let Some(end) = cut {
                self.rest = piece.split_off(end);
            }
            pieces.push_back(piece);
            if cut.is_some() {
                break;
            }
        }
        self.reservation.resize(self.rest.len())?;
        let number = self.taken;
        self.taken = number.saturating_add(1);
        Ok((!pieces.is_empty()).then_some(Chunk { line, number, pieces, rest: None }))
    }
}

/// Passes over the first line in which something stands.
fn pass_header(
    stream: &mut FileStream,
    splitter: &mut Splitter,
    reservation: &mut Reservation,
) -> Result<()> {
    let mut passed = 0;
    loop {
        let bytes = stream.fill()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let (count, is_complete) = splitter.push(bytes);
        stream.consume(count);
        passed += count;
        reservation.resize(passed)?;
        if is_complete && !splitter.record().is_blank() {
            break;
        }
    }
    if splitter.is_after_return() && stream.fill()?.first() == Some(&b'\n') {
        stream.consume(1);
    }
    Ok(())
}
