//! Reading frames.

use super::{RATIO_MAX, SHIFT_MAX};
use crate::{
    CodecId, VECTOR_ROWS,
    column::{Body, Read},
    input::{Input, corruption},
    integers,
    strings::{Texts, offsets},
    vectors::{self, Decode},
};
use arrow_buffer::Buffer;
use std::ops::Range;
use volley_error::Result;
use volley_types::Type;

pub(crate) fn open_compressed(
    input: &mut Input,
    codec: CodecId,
    data_type: &Type,
    rows: usize,
) -> Result<Box<dyn Body>> {
    let shift = input.integer::<u8>()?;
    if shift > SHIFT_MAX {
        return Err(corruption("vectors of a frame"));
    }
    let frame_rows = VECTOR_ROWS << shift;
    let count = rows.div_ceil(frame_rows);
    let raw = input.integers::<u32>(count)?;
    let stored = input.integers::<u32>(count)?;
    let lengths = integers::open(input, rows)?;
    let mut frames = Vec::with_capacity(count);
    for (raw, stored) in raw.into_iter().zip(stored) {
        let (raw, stored) = (raw as usize, input.take(stored as usize)?);
        if raw > stored.len().saturating_mul(RATIO_MAX) || raw < stored.len() {
            return Err(corruption("bytes of a frame"));
        }
        frames.push(Frame { raw, stored });
    }
    let data_type = data_type.clone();
    Ok(Box::new(Frames { codec, data_type, rows, frame_rows, lengths, frames, last: None }))
}

/// Compressed texts.
struct Frame {
    raw: usize,
    stored: Buffer,
}

struct Frames {
    codec: CodecId,
    data_type: Type,
    rows: usize,
    frame_rows: usize,
    lengths: Box<dyn Decode<u32>>,
    frames: Vec<Frame>,
    /// The last frame that was read.
    last: Option<Texted>,
}

/// A frame, decompressed.
struct Texted {
    number: usize,
    text: Buffer,
    /// Where each text begins.
    begins: Vec<usize>,
    lengths: Vec<u32>,
}

impl Frames {
    fn frame(&mut self, number: usize) -> Result<&Texted> {
        if self.last.as_ref().is_none_or(|it| it.number != number) {
            self.last = Some(self.decompress(number)?);
        }
        self.last.as_ref().ok_or_else(|| corruption("frame beyond the end"))
    }

    fn decompress(&self, number: usize) -> Result<Texted> {
        let frame = self.frames.get(number).ok_or_else(|| corruption("frame beyond the end"))?;
        let first = number * self.frame_rows;
        let rows = first..self.rows.min(first + self.frame_rows);
        let lengths = vectors::read(self.lengths.as_ref(), rows, None)?;
        let total: u64 = lengths.iter().map(|it| u64::from(*it)).sum();
        if total != frame.raw as u64 {
            return Err(corruption("lengths of texts"));
        }
        let text = if frame.raw == frame.stored.len() {
            frame.stored.clone()
        } else {
            let mut text = vec![0; frame.raw];
            let made = match self.codec {
                CodecId::Lz4 => lz4_flex::block::decompress_into(&frame.stored, &mut text).ok(),
                _ => zstd::bulk::decompress_to_buffer(&frame.stored, &mut text[..]).ok(),
            };
            if made != Some(frame.raw) {
                return Err(corruption("compressed texts"));
            }
            Buffer::from_vec(text)
        };
        Ok(Texted { number, text, begins: offsets(&lengths), lengths })
    }

    /// Appends rows of a frame.
    fn push(
        &mut self,
        number: usize,
        rows: impl Iterator<Item = usize>,
        texts: &mut Texts,
    ) -> Result<()> {
        let first = number * self.frame_rows;
        let frame = self.frame(number)?;
        let text = |row: usize| {
            Some((*frame.begins.get(row - first)?, *frame.lengths.get(row - first)? as usize))
        };
        texts.push_some(&frame.text, rows.filter_map(text))
    }
}

impl Body for Frames {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let mut texts = Texts::new(&self.data_type, pick.map_or(rows.len(), <[u32]>::len));
        let frame_rows = self.frame_rows;
        let is_dense = pick.is_some_and(|it| vectors::is_dense(it, rows.len()));
        if let Some(pick) = pick.filter(|_| !is_dense) {
            let row = |it: &u32| rows.start + *it as usize;
            for group in pick.chunk_by(|a, b| row(a) / frame_rows == row(b) / frame_rows) {
                let number = group.first().map_or(0, |it| row(it) / frame_rows);
                self.push(number, group.iter().map(row), &mut texts)?;
            }
            return Ok(texts.finish());
        }
        let mut start = rows.start;
        while start < rows.end {
            let number = start / frame_rows;
            let end = rows.end.min((number + 1) * frame_rows);
            let frame = self.frame(number)?;
            if end - start == frame.lengths.len() {
                texts.push_all(frame.text.clone(), &frame.lengths)?;
            } else {
                self.push(number, start..end, &mut texts)?;
            }
            start = end;
        }
        pick.iter().for_each(|it| texts.keep(it));
        Ok(texts.finish())
    }
}
