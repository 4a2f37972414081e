//! Zstandard streams whose window is reserved.

use std::io::{self, BufRead, Read};
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer};

/// The largest window of a stream, as a power of two: 128 MiB.
const WINDOW_LOG_MAX: u32 = 27;

/// Decompresses the frames of a stream, one behind the other.
pub(crate) struct ZstdStream<R> {
    input: R,
    context: DCtx<'static>,
    /// Whether a frame has begun that has not ended.
    in_frame: bool,
    reservation: Reservation,
}

impl<R: BufRead> ZstdStream<R> {
    pub fn new(input: R, pool: &Pool) -> Result<ZstdStream<R>> {
        let mut context = DCtx::create();
        let limit = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX));
        limit.map_err(|it| Error::internal(zstd_safe::get_error_name(it)))?;
        Ok(ZstdStream { input, context, in_frame: false, reservation: pool.reservation() })
    }

    /// Decompresses what is there; how many bytes, and whether the input has ended.
    fn step(&mut self, out: &mut [u8]) -> io::Result<(usize, bool)> {
        let bytes = self.input.fill_buf()?;
        let is_end = bytes.is_empty();
        let (mut from, mut to) = (InBuffer::around(bytes), OutBuffer::around(out));
        let hint = self.context.decompress_stream(&mut to, &mut from);
        let (taken, made) = (from.pos(), to.pos());
        self.in_frame = match hint {
            Ok(hint) => hint != 0,
            Err(code) => return Err(io::Error::other(zstd_safe::get_error_name(code))),
        };
        self.input.consume(taken);
        Ok((made, is_end))
    }
}

impl<R: BufRead> Read for ZstdStream<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !out.is_empty() {
            let was_in_frame = self.in_frame;
            let (made, is_end) = self.step(out)?;
            // The window is made with the first bytes of a frame, and touched as the frame is read.
            self.reservation.resize(self.context.sizeof()).map_err(io::Error::other)?;
            if made > 0 {
                return Ok(made);
            }
            if is_end {
                self.in_frame = was_in_frame;
                break;
            }
        }
        match self.in_frame && !out.is_empty() {
            true => Err(io::ErrorKind::UnexpectedEof.into()),
            false => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use volley_error::ErrorKind;

    fn frame(text: &[u8], window_log: u32) -> Vec<u8> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(window_log).unwrap();
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8], pool: &Pool) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        // The library may stop in the middle of whatever it is given.
        let input = io::BufReader::with_capacity(7, bytes);
        ZstdStream::new(input, pool).unwrap().read_to_end(&mut read).map(|_| read)
    }

    #[test]
    fn frames_are_read_one_behind_the_other() {
        let pool = Pool::root("test", None);
        let text: Vec<u8> = (0..300_000_u32).flat_map(|it| (it / 3).to_le_bytes()).collect();
        let (head, tail) = text.split_at(100_000);
        let two = [frame(head, 17), frame(tail, 20)].concat();
        assert!(read(&two, &pool).unwrap() == text);
        assert!(read(&[], &pool).unwrap().is_empty());
        for cut in [1, 5, frame(head, 17).len() - 1, two.len() - 1] {
            let error = read(&two[..cut], &pool).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {cut}");
        }
        assert!(read(b"no frame at all", &pool).is_err());
        assert!(read(&[two.as_slice(), b"x"].concat(), &pool).is_err());
        assert_eq!(pool.stats().bytes, 0);
    }

    #[test]
    fn windows_are_charged() {
        let bytes = frame(&vec![b'x'; 40 << 20], 25);
        let pool = Pool::root("test", None);
        assert_eq!(read(&bytes, &pool).unwrap().len(), 40 << 20);
        assert!(pool.stats().peak_bytes >= 32 << 20);
        let error = read(&bytes, &Pool::root("small", Some(16 << 20))).unwrap_err();
        let error = error.downcast::<Error>().unwrap();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    }
}
