//! Splits a JSON file into chunks of whole objects, for several concurrent readers.
//!
//! A chunk ends at the end of a line between `}` and `{`. Within an object or an array a comma
//! stands between these, and JSON has no ends of lines in strings, so that the place is between
//! two objects of the file without a look at the bytes before. A file without such lines is read
//! by one reader.

use crate::{
    chunks::{Chunk, ChunkSource},
    input::FileStream,
    json::{JsonReadOptions, begin},
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

/// Bytes without an end of a line between objects, after which the rest of the file is not cut.
const UNCUT_BYTES_MAX: usize = 8 << 20;

/// The objects of a file that no reader has taken.
pub(crate) struct JsonChunks {
    state: Mutex<State>,
    /// How much of the file was taken, from 0 to 1, as the bits of an `f64`.
    share: AtomicU64,
}

/// What is read, and how.
pub(crate) struct JsonOrigin {
    pub file: Arc<dyn RandomAccessFile>,
    pub options: Arc<JsonReadOptions>,
    pub pool: Pool,
}

enum State {
    /// Not opened yet.
    Closed(JsonOrigin),
    Open(Box<Objects>),
    /// All objects are taken, or the file cannot be read.
    Done,
}

struct Objects {
    stream: Box<FileStream>,
    /// What was read behind the last object that was taken.
    rest: Bytes,
    /// How many chunks were taken.
    taken: u32,
    reservation: Reservation,
}

impl JsonChunks {
    pub fn new(origin: JsonOrigin) -> JsonChunks {
        JsonChunks { state: Mutex::new(State::Closed(origin)), share: AtomicU64::new(0) }
    }
}

impl ChunkSource for JsonChunks {
    fn next(&self) -> Result<Option<Chunk>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = match mem::replace(&mut *state, State::Done) {
            State::Closed(origin) => Box::new(Objects::open(&origin)?),
            State::Open(objects) => objects,
            State::Done => return Ok(None),
        };
        let (chunk, next) = objects.next()?;
        let share = match &next {
            State::Open(objects) => objects.stream.share(),
            _ => 1.0,
        };
        self.share.store(share.to_bits(), Ordering::Relaxed);
        *state = next;
        Ok(chunk)
    }

    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

impl Objects {
    fn open(origin: &JsonOrigin) -> Result<Objects> {
        let JsonOrigin { file, options, pool } = origin;
        let stream = Box::new(begin(file, options, pool)?);
        Ok(Objects { stream, rest: Bytes::new(), taken: 0, reservation: pool.reservation() })
    }

    fn next(mut self: Box<Self>) -> Result<(Option<Chunk>, State)> {
        let mut pieces = VecDeque::new();
        let mut bytes = 0;
        let number = self.taken;
        self.taken = number.saturating_add(1);
        let chunk = |pieces, rest| Chunk { line: 0, number, pieces, rest };
        loop {
            let mut piece = mem::take(&mut self.rest);
            if piece.is_empty() {
                piece = self.stream.take()?;
            }
            if piece.is_empty() {
                let last = (!pieces.is_empty()).then(|| chunk(pieces, None));
                return Ok((last, State::Done));
            }
            bytes += piece.len();
            self.reservation.resize(bytes)?;
            if let Some(end) = last_border(&piece) {
                self.rest = piece.split_off(end);
                pieces.push_back(piece);
                self.reservation.resize(self.rest.len())?;
                return Ok((Some(chunk(pieces, None)), State::Open(self)));
            }
            pieces.push_back(piece);
            if bytes >= UNCUT_BYTES_MAX {
                let rest = Some(self.stream);
                return Ok((Some(chunk(pieces, rest)), State::Done));
            }
        }
    }
}

/// Behind the last end of a line between two objects.
fn last_border(bytes: &[u8]) -> Option<usize> {
    let is_written = |it: &u8| !matches!(it, b' ' | b'\t' | b'\n' | b'\r');
    let mut searched = bytes;
    loop {
        let line_end = memchr::memrchr(b'\n', searched)?;
        let (before, after) = (searched.get(..line_end)?, bytes.get(line_end + 1..)?);
        // All ends of lines in a row of white space are between the same bytes.
        let last = before.iter().rposition(is_written)?;
        if before.get(last) == Some(&b'}') && after.iter().find(|it| is_written(it)) == Some(&b'{')
        {
            return Some(line_end + 1);
        }
        searched = before.get(..last)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::open_file;

    #[test]
    fn borders_are_between_objects_at_ends_of_lines() {
        let border = |text: &str| last_border(text.as_bytes());
        assert_eq!(border("{\"a\":1}\n{\"a\":2}\n{\"a\""), Some(16));
        assert_eq!(border("{}\r\n  \n {"), Some(7));
        assert_eq!(border("{}\n{},\n{"), Some(3));
        assert_eq!(border("{}\n"), None);
        assert_eq!(border("{} {}"), None);
        assert_eq!(border("[{},\n{},\n{}]"), None);
        assert_eq!(border("\n\n\n"), None);
        assert_eq!(border(""), None);
        // Linear in the white space.
        assert_eq!(border(&"\n".repeat(1 << 20)), None);
    }

    /// The chunks of a file with this text: their bytes, and whether a rest follows.
    fn chunks(text: &str) -> Vec<(String, bool)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.json");
        std::fs::write(&path, text).unwrap();
        let pool = Pool::root("test", None);
        let chunks = JsonChunks::new(JsonOrigin {
            file: open_file(&path),
            options: Arc::default(),
            pool: pool.clone(),
        });
        let mut found = Vec::new();
        while let Some(mut chunk) = chunks.next().unwrap() {
            assert_eq!(chunk.number as usize, found.len());
            let mut bytes: Vec<u8> = chunk.pieces.iter().flat_map(|it| it.to_vec()).collect();
            while let Some(rest) = &mut chunk.rest
                && let piece = rest.take().unwrap()
                && !piece.is_empty()
            {
                bytes.extend_from_slice(&piece);
            }
            found.push((String::from_utf8(bytes).unwrap(), chunk.rest.is_some()));
        }
        drop(chunks);
        assert_eq!(pool.stats().bytes, 0);
        found
    }

    #[test]
    fn chunks_hold_all_bytes_in_order() {
        let objects: String = (0..200_000).map(|it| format!("{{\"n\": {it}}}\n")).collect();
        let found = chunks(&objects);
        assert!(found.len() >= 3, "{}", found.len());
        assert!(found.iter().all(|it| it.0.starts_with('{') && it.0.ends_with("}\n") && !it.1));
        assert_eq!(found.iter().map(|it| it.0.as_str()).collect::<String>(), objects);
        assert!(chunks("").is_empty());
        assert_eq!(chunks("{}"), [("{}".to_owned(), false)]);
    }

    #[test]
    fn a_file_that_cannot_be_cut_has_one_reader() {
        let text = "{\"a\": 1} ".repeat(UNCUT_BYTES_MAX / 4);
        let found = chunks(&text);
        assert_eq!(found.len(), 1);
        assert!(found[0].1 && found[0].0 == text);
    }
}
