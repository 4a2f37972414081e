//! The input of a text reader: its own file, or chunks of a file that several readers share.

use crate::{chunks::FileChunks, input::FileStream};
use bytes::Bytes;
use std::{collections::VecDeque, sync::Arc};
use volley_error::Result;

/// Bytes for a reader.
pub(crate) enum Feed {
    Stream(Box<FileStream>),
    Chunks {
        chunks: Arc<FileChunks>,
        /// Of the chunk that is read.
        pieces: VecDeque<Bytes>,
        /// What belongs to it behind these.
        rest: Option<Box<FileStream>>,
        /// Its number.
        number: u32,
        /// Bytes consumed so far.
        position: u64,
    },
}

impl Feed {
    /// Takes what other readers of `chunks` do not.
    pub fn chunks(chunks: &Arc<FileChunks>) -> Feed {
        let (chunks, pieces) = (Arc::clone(chunks), VecDeque::new());
        Feed::Chunks { chunks, pieces, rest: None, number: 0, position: 0 }
    }

    /// Makes sure that something is there, unless it is the end; the number of the line that it
    /// begins with, when it does not go on where the bytes before ended.
    pub fn advance(&mut self) -> Result<Option<u64>> {
        match self {
            Feed::Chunks { pieces, rest: Some(rest), .. } if pieces.is_empty() => {
                rest.fill().map(|_| None)
            }
            Feed::Chunks { chunks, pieces, rest, number, .. } if pieces.is_empty() => {
                let Some(chunk) = chunks.next()? else { return Ok(None) };
                *number = chunk.number;
                (*pieces, *rest) = (chunk.pieces, chunk.rest);
                Ok(Some(chunk.line))
            }
            Feed::Chunks { .. } => Ok(None),
            Feed::Stream(stream) => stream.fill().map(|_| None),
        }
    }

    /// The number of the chunk that was there last.
    pub fn chunk(&self) -> u32 {
        match self {
            Feed::Stream(_) => 0,
            Feed::Chunks { number, .. } => *number,
        }
    }

    /// Whether a chunk is read to its end.
    pub fn ends_chunk(&self) -> bool {
        matches!(self, Feed::Chunks { pieces, rest: None, .. } if pieces.is_empty())
    }

    /// What is there; empty at the end.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Feed::Stream(stream) => stream.bytes(),
            Feed::Chunks { pieces, rest, .. } => match (pieces.front(), rest) {
                (Some(piece), _) => piece,
                (None, Some(rest)) => rest.bytes(),
                (None, None) => &[],
            },
        }
    }

    /// How many bytes of the input are held.
    pub fn held_bytes(&self) -> usize {
        match self {
            Feed::Stream(stream) => stream.bytes().len(),
            Feed::Chunks { pieces, rest, .. } => {
                let rest = rest.as_ref().map_or(0, |it| it.bytes().len());
                pieces.iter().map(Bytes::len).sum::<usize>() + rest
            }
        }
    }

    /// Passes over `count` of the bytes that are there.
    pub fn consume(&mut self, count: usize) {
        match self {
            Feed::Stream(stream) => stream.consume(count),
            Feed::Chunks { pieces, rest, position, .. } => {
                let Some(piece) = pieces.front_mut() else {
                    *position += count as u64;
                    rest.iter_mut().for_each(|it| it.consume(count));
                    return;
                };
                *position += piece.split_to(count.min(piece.len())).len() as u64;
                if piece.is_empty() {
                    pieces.pop_front();
                }
            }
        }
    }

    /// How much of the file is read, from 0 to 1.
    pub fn file_share(&self) -> f64 {
        match self {
            Feed::Stream(stream) => stream.share(),
            Feed::Chunks { chunks, .. } => chunks.share(),
        }
    }

    /// Bytes consumed so far, decompressed.
    pub fn position(&self) -> u64 {
        match self {
            Feed::Stream(stream) => stream.position(),
            Feed::Chunks { position, .. } => *position,
        }
    }
}
