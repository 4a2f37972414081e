//! Frames: what transports between processes send, as bytes.
//!
//! ```text
//! frame    u64  XXH3-64 of what follows
//!          u8   kind, below
//!     0 request      stream, u64 token, u64 most decoded bytes of pages
//!     1 reply        stream, u64 token of the request, u64 next token, u8 1: the end,
//!                    u32 waiting, then a u32 size for each; u32 pages, then for each:
//!                    u32 rows, u64 decoded bytes, u32 bytes, zeros up to a multiple of 16 from
//!                    the start of the frame, the bytes
//!     2 failure      stream, u64 token, the failure as bytes
//!     3 working      stream, u64 token: neither pages nor the end yet
//!     4 close        stream, u8 why: 0 done, 1 not needed, 2 failed
//!     5 closed       stream: the close has arrived
//!     6 message      u64 number, u32 task that sends it, u32 topic, the bytes
//!     7 received     u64 number of a message
//! stream   u32 task of the producer, u32 edge, u32 lane
//! ```
//!
//! Numbers are little-endian. Each frame is whole; links may lose, repeat, delay or damage frames.

use crate::{
    Closed, EdgeId, Failure, Lane, Message, Page, PageContent, ProducerId, StreamId, Supply, TaskId,
};
use twox_hash::XxHash3_64;
use volley_error::{Error, Result};
use volley_vector::Buffer;

/// The most bytes of a frame besides its pages' that are worth reserving at first.
const HEADER_BYTES: usize = 128;

/// Pages begin at multiples of this number of bytes, so that plain ones are decoded without a copy.
const PAGE_ALIGNMENT: usize = 16;

/// What tasks send each other.
#[derive(Clone, Debug)]
pub enum Frame {
    /// A consumer asks for pages.
    Request {
        /// The lane.
        stream: StreamId,
        /// The number of the first page; those before are acknowledged.
        token: u64,
        /// Decoded bytes of pages at most.
        bytes_max: u64,
    },
    /// A producer's answer.
    Reply {
        /// The lane.
        stream: StreamId,
        /// The token of the request.
        token: u64,
        /// The pages.
        supply: Supply,
    },
    /// The output has failed.
    Failure {
        /// The lane.
        stream: StreamId,
        /// The token of the request.
        token: u64,
        /// Why.
        failure: Failure,
    },
    /// The request has arrived, and will be answered.
    Working {
        /// The lane.
        stream: StreamId,
        /// The token of the request.
        token: u64,
    },
    /// A consumer ends a lane.
    Close {
        /// The lane.
        stream: StreamId,
        /// Why.
        why: Closed,
    },
    /// The close has arrived.
    ClosedLane {
        /// The lane.
        stream: StreamId,
    },
    /// A message between tasks.
    Message {
        /// Counts the messages of the sender.
        number: u64,
        /// The message.
        message: Message,
    },
    /// The message has arrived.
    Received {
        /// The number of the message.
        number: u64,
    },
}

impl Frame {
    /// The bytes of the frame.
    ///
    /// # Errors
    ///
    /// Internal: a page that is a batch; a page of 4 GiB.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let pages = match self {
            Frame::Reply { supply, .. } => supply.pages.iter().map(Page::sent_bytes).sum(),
            _ => 0,
        };
        let mut bytes = Vec::with_capacity(HEADER_BYTES + pages);
        bytes.extend_from_slice(&[0; 8]);
        self.write(&mut bytes)?;
        let (checksum, content) = bytes.split_at_mut(8);
        checksum.copy_from_slice(&XxHash3_64::oneshot(content).to_le_bytes());
        Ok(bytes)
    }

    /// The frame that [`Frame::to_bytes`] wrote. Pages share the memory of `bytes`.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Frame> {
        let bytes = Buffer::from_vec(bytes);
        let mut input = Input { all: &bytes, position: 0 };
        let frame = input.u64().filter(|checksum| {
            let content = bytes.get(8..).unwrap_or_default();
            XxHash3_64::oneshot(content) == *checksum
        });
        let frame = frame.and_then(|_| input.frame()).filter(|_| input.position == bytes.len());
        frame.ok_or_else(|| Error::corruption("damaged frame between tasks"))
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Frame::Request { stream, token, bytes_max } => {
                head(0, stream, out);
                out.extend_from_slice(&token.to_le_bytes());
                out.extend_from_slice(&bytes_max.to_le_bytes());
            }
            Frame::Reply { stream, token, supply } => {
                head(1, stream, out);
                out.extend_from_slice(&token.to_le_bytes());
                write_supply(supply, out)?;
            }
            Frame::Failure { stream, token, failure } => {
                head(2, stream, out);
                out.extend_from_slice(&token.to_le_bytes());
                out.extend_from_slice(&failure.to_bytes());
            }
            Frame::Working { stream, token } => {
                head(3, stream, out);
                out.extend_from_slice(&token.to_le_bytes());
            }
            Frame::Close { stream, why } => {
                head(4, stream, out);
                out.push(match why {
                    Closed::Done => 0,
                    Closed::NotNeeded => 1,
                    Closed::Failed => 2,
                });
            }
            Frame::ClosedLane { stream } => head(5, stream, out),
            Frame::Message { number, message } => {
                out.push(6);
                out.extend_from_slice(&number.to_le_bytes());
                out.extend_from_slice(&message.from.0.to_le_bytes());
                out.extend_from_slice(&message.topic.to_le_bytes());
                out.extend_from_slice(&message.bytes);
            }
            Frame::Received { number } => {
                out.push(7);
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        Ok(())
    }
}

fn head(kind: u8, stream: &StreamId, out: &mut Vec<u8>) {
    out.push(kind);
    for number in [stream.producer.task.0, stream.producer.edge.0, stream.lane.0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn write_supply(supply: &Supply, out: &mut Vec<u8>) -> Result<()> {
    let number = |it: usize| {
        let number = u32::try_from(it).map_err(|_| Error::internal("a reply of 4 GiB"))?;
        Ok::<_, Error>(number.to_le_bytes())
    };
    out.extend_from_slice(&supply.next_token.to_le_bytes());
    out.push(supply.is_end.into());
    out.extend_from_slice(&number(supply.waiting.len())?);
    supply.waiting.iter().for_each(|it| out.extend_from_slice(&it.to_le_bytes()));
    out.extend_from_slice(&number(supply.pages.len())?);
    for page in &supply.pages {
        let PageContent::Bytes(bytes) = &page.content else {
            let error = Error::internal("a page that is a batch on a link between processes");
            return Err(error.hint("encode pages of this edge as bytes"));
        };
        out.extend_from_slice(&number(page.rows)?);
        out.extend_from_slice(&(page.bytes as u64).to_le_bytes());
        out.extend_from_slice(&number(bytes.len())?);
        out.resize(out.len().next_multiple_of(PAGE_ALIGNMENT), 0);
        out.extend_from_slice(bytes);
    }
    Ok(())
}

/// What is left of a frame.
struct Input<'a> {
    all: &'a Buffer,
    position: usize,
}

impl Input<'_> {
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let end = self.position.checked_add(len)?;
        let taken = self.all.get(self.position..end)?;
        self.position = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[it]| it)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn rest(&mut self) -> Option<&[u8]> {
        self.take(self.all.len().checked_sub(self.position)?)
    }

    fn stream(&mut self) -> Option<StreamId> {
        let (task, edge) = (TaskId(self.u32()?), EdgeId(self.u32()?));
        Some(StreamId { producer: ProducerId { task, edge }, lane: Lane(self.u32()?) })
    }

    fn frame(&mut self) -> Option<Frame> {
        Some(match self.byte()? {
            0 => {
                let (stream, token, bytes_max) = (self.stream()?, self.u64()?, self.u64()?);
                Frame::Request { stream, token, bytes_max }
            }
            1 => {
                let (stream, token) = (self.stream()?, self.u64()?);
                Frame::Reply { stream, token, supply: self.supply()? }
            }
            2 => {
                let (stream, token) = (self.stream()?, self.u64()?);
                Frame::Failure { stream, token, failure: Failure::from_bytes(self.rest()?).ok()? }
            }
            3 => Frame::Working { stream: self.stream()?, token: self.u64()? },
            4 => {
                let stream = self.stream()?;
                let why = match self.byte()? {
                    0 => Closed::Done,
                    1 => Closed::NotNeeded,
                    2 => Closed::Failed,
                    _ => return None,
                };
                Frame::Close { stream, why }
            }
            5 => Frame::ClosedLane { stream: self.stream()? },
            6 => {
                let (number, from, topic) = (self.u64()?, TaskId(self.u32()?), self.u32()?);
                let bytes = self.rest()?.to_vec();
                Frame::Message { number, message: Message { from, topic, bytes } }
            }
            7 => Frame::Received { number: self.u64()? },
            _ => return None,
        })
    }

    fn supply(&mut self) -> Option<Supply> {
        let next_token = self.u64()?;
        let is_end = match self.byte()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let mut waiting = Vec::new();
        for _ in 0..self.u32()? {
            waiting.push(self.u32()?);
        }
        let mut pages = Vec::new();
        for _ in 0..self.u32()? {
            let (rows, bytes) = (self.u32()? as usize, usize::try_from(self.u64()?).ok()?);
            let len = self.u32()? as usize;
            let start = self.position.next_multiple_of(PAGE_ALIGNMENT);
            self.take(start - self.position)?;
            self.take(len)?;
            let content = PageContent::Bytes(self.all.slice_with_length(start, len));
            pages.push(Page { content, rows, bytes });
        }
        Some(Supply { pages, next_token, waiting, is_end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_error::ErrorKind;

    fn frames() -> Vec<Frame> {
        let stream =
            StreamId { producer: ProducerId { task: TaskId(1), edge: EdgeId(2) }, lane: Lane(3) };
        let page = |len: u8| Page {
            content: PageContent::Bytes(Buffer::from_vec((0..len).collect::<Vec<u8>>())),
            rows: 7,
            bytes: 900,
        };
        let supply = Supply {
            pages: vec![page(0), page(200), page(3)],
            next_token: 12,
            waiting: vec![4, u32::MAX],
            is_end: true,
        };
        let failure = Failure::new(Error::invalid_value("a").hint("b")).through(TaskId(1));
        let message = Message { from: TaskId(9), topic: 8, bytes: vec![1, 2, 3] };
        let mut frames = vec![
            Frame::Request { stream, token: 5, bytes_max: u64::MAX },
            Frame::Reply { stream, token: 9, supply },
            Frame::Reply { stream, token: 0, supply: Supply::default() },
            Frame::Failure { stream, token: 4, failure },
            Frame::Working { stream, token: 6 },
            Frame::ClosedLane { stream },
            Frame::Message { number: 77, message },
            Frame::Received { number: 78 },
        ];
        let all = [Closed::Done, Closed::NotNeeded, Closed::Failed];
        frames.extend(all.map(|why| Frame::Close { stream, why }));
        frames
    }

    #[test]
    fn frames_come_back() {
        for frame in frames() {
            let bytes = frame.to_bytes().unwrap();
            let found = Frame::from_bytes(bytes.clone()).unwrap();
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&frame));
            assert_eq!(found.to_bytes().unwrap(), bytes);
            let Frame::Reply { supply, .. } = found else { continue };
            for page in &supply.pages {
                let PageContent::Bytes(bytes) = &page.content else { panic!() };
                // Memory of the system's allocator is aligned, too.
                assert_eq!(bytes.as_ptr().align_offset(PAGE_ALIGNMENT), 0);
            }
        }
    }

    #[test]
    fn damaged_frames_are_refused() {
        for frame in frames() {
            let bytes = frame.to_bytes().unwrap();
            for end in 0..bytes.len() {
                assert!(Frame::from_bytes(bytes[..end].to_vec()).is_err());
            }
            for bit in 0..bytes.len() * 8 {
                let mut damaged = bytes.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let error = Frame::from_bytes(damaged).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corruption);
            }
        }
    }

    #[test]
    fn damage_under_a_right_checksum_is_an_error_or_a_frame() {
        let mut random = fastrand::Rng::with_seed(1);
        for frame in frames() {
            let bytes = frame.to_bytes().unwrap();
            for _ in 0..2000 {
                let mut damaged = bytes.clone();
                damaged[random.usize(8..bytes.len())] = random.u8(..);
                damaged.truncate(random.usize(9..=bytes.len()));
                let checksum = XxHash3_64::oneshot(&damaged[8..]);
                damaged[..8].copy_from_slice(&checksum.to_le_bytes());
                let _ = Frame::from_bytes(damaged);
            }
        }
    }
}
