//! Decompresses blocks of Snappy's raw format.
//!
//! A block is the length of what it holds, as a varint, and then elements, each of which begins
//! with a tag byte whose two lower bits tell its kind:
//!
//! ```text
//! 0  literal: bytes follow; 1 + the tag's upper 6 bits of them, or, from 60 on, 1 + a number of
//!    (upper bits - 59) bytes that follows the tag
//! 1  copy of 4 + (bits 2 to 4) bytes from as far back as 11 bits say: bits 5 to 7, then a byte
//! 2  copy of 1 + (upper 6 bits) bytes, from as far back as 2 bytes say
//! 3  the same with 4 bytes
//! ```
//!
//! Dictionaries of numbers become a literal of one to three bytes and a copy of the rest, again and
//! again; text becomes many short copies. What takes time is that the place of a tag depends on the
//! tag before. So the loop loads eight bytes for a short literal and the copy behind it, takes the
//! copy's tag from the same word, and copies whole strides, of which the next elements overwrite
//! what was too much. Whatever does not fit (long literals, copies that overlap themselves, both
//! ends of the block) takes one step of the plain way, which checks everything.
//!
//! Source: `format_description.txt` of google/snappy.

/// The longest element of the loop.
const ELEMENT_BYTES_MAX: usize = 64;

/// The longest literal whose length is in its tag.
const LITERAL_BYTES_MAX: usize = 60;

/// The longest literal that leaves a tag and a distance in a word of 8 bytes: its own tag and it
/// are up to 5 bytes.
const LITERAL_IN_WORD: usize = 4;

/// What the loop reads from a tag's place on: the tag, an element, a word.
const WINDOW_BYTES: usize = 1 + ELEMENT_BYTES_MAX + 8;

/// What the loop writes at once, at most: a literal and a copy.
const ROOM_BYTES: usize = 2 * ELEMENT_BYTES_MAX;

/// Bytes that are copied at once.
const STRIDE: usize = 16;

/// Decompresses `src` into `out`, which is as long as what the block holds; `None` if the block is
/// damaged, or of another length. What `out` holds then is unspecified.
pub fn decompress(src: &[u8], out: &mut [u8]) -> Option<()> {
    let (len, at) = read_len(src)?;
    if len != out.len() as u64 {
        return None;
    }
    let mut block = Block { src, at, out, done: 0 };
    loop {
        block.run();
        if block.at >= block.src.len() {
            return (block.done == block.out.len()).then_some(());
        }
        block.step()?;
    }
}

/// The length at the beginning of a block, and how many bytes it takes.
fn read_len(src: &[u8]) -> Option<(u64, usize)> {
    let mut len = 0;
    for (place, byte) in src.iter().take(5).enumerate() {
        len |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            return (len <= u64::from(u32::MAX)).then_some((len, place + 1));
        }
    }
    None
}

/// A block on the way.
struct Block<'a> {
    src: &'a [u8],
    /// Where the next tag stands.
    at: usize,
    out: &'a mut [u8],
    /// What is decompressed.
    done: usize,
}

impl Block<'_> {
    /// Takes elements while they are of the usual kinds and far from both ends.
    fn run(&mut self) {
        if self.src.len() < WINDOW_BYTES || self.out.len() < ROOM_BYTES {
            return;
        }
        let (src, start) = (self.src.as_ptr(), self.out.as_mut_ptr());
        let at_max = self.src.len() - WINDOW_BYTES;
        let done_max = self.out.len() - ROOM_BYTES;
        let (mut at, mut done) = (self.at, self.done);
        while at <= at_max && done <= done_max {
            let place = src.wrapping_add(at);
            // SAFETY: from `at` on there are `WINDOW_BYTES`.
            let tag = usize::from(unsafe { *place });
            // SAFETY: as before.
            let mut word = unsafe { load(place) };
            if tag & 3 == 0 {
                if tag >= LITERAL_BYTES_MAX << 2 {
                    break;
                }
                let (bytes, len) = (place.wrapping_add(1), (tag >> 2) + 1);
                // SAFETY: a tag and a literal are within the window, and an element in the room.
                unsafe { copy(bytes, start.wrapping_add(done), len) };
                done += len;
                at += (tag >> 2) + 2;
                word = if tag < LITERAL_IN_WORD << 2 {
                    word >> ((2 * tag + 16) & 63)
                } else {
                    // SAFETY: behind a tag and a literal the window has another word.
                    unsafe { load(src.wrapping_add(at)) }
                };
            }
            let copied = COPIES[(word & 0xff) as usize];
            let len = (copied & 0xff) as usize;
            let distance = (copied >> 8 & 0xffff) + (word >> 8 & copied >> 32);
            let distance = distance as usize;
            if distance < len || distance > done {
                break;
            }
            let to = start.wrapping_add(done);
            // SAFETY: `distance` is at most `done`, behind which there is room for an element.
            unsafe { copy(to.wrapping_sub(distance), to, len) };
            at += 1 + (word & 3) as usize;
            done += len;
        }
        (self.at, self.done) = (at, done);
    }

    /// Takes one element of any kind.
    fn step(&mut self) -> Option<()> {
        let tag = *self.src.get(self.at)?;
        self.at += 1;
        let upper = usize::from(tag >> 2);
        match tag & 3 {
            0 if upper < 60 => self.literal(upper + 1),
            0 => {
                let len = self.number(upper - 59)?;
                self.literal(len.checked_add(1)?)
            }
            1 => {
                let distance = usize::from(tag >> 5) << 8 | self.number(1)?;
                self.copy_back(distance, 4 + (upper & 7))
            }
            2 => {
                let distance = self.number(2)?;
                self.copy_back(distance, upper + 1)
            }
            _ => {
                let distance = self.number(4)?;
                self.copy_back(distance, upper + 1)
            }
        }
    }

    /// A number of `bytes` bytes, at most 4.
    fn number(&mut self, bytes: usize) -> Option<usize> {
        let bytes = self.src.get(self.at..self.at + bytes)?;
        self.at += bytes.len();
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    fn literal(&mut self, len: usize) -> Option<()> {
        let bytes = self.src.get(self.at..self.at.checked_add(len)?)?;
        self.out.get_mut(self.done..self.done + len)?.copy_from_slice(bytes);
        self.at += len;
        self.done += len;
        Some(())
    }

    /// Repeats `len` bytes of the output, from `distance` bytes back on.
    fn copy_back(&mut self, distance: usize, len: usize) -> Option<()> {
        let from = self.done.checked_sub(distance).filter(|_| distance > 0)?;
        let end = self.done + len;
        if end > self.out.len() {
            return None;
        }
        // What is there is a multiple of the distance that doubles with every copy.
        while self.done < end {
            let len = (self.done - from).min(end - self.done);
            self.out.copy_within(from..from + len, self.done);
            self.done += len;
        }
        Some(())
    }
}

/// The 8 bytes at `from`, the first one lowest.
///
/// # Safety
///
/// They can be read.
#[inline(always)]
unsafe fn load(from: *const u8) -> u64 {
    // SAFETY: the caller's.
    u64::from_le(unsafe { from.cast::<u64>().read_unaligned() })
}

/// Copies at least `len` bytes, which are at most 64: a multiple of the stride. The places may
/// overlap; all bytes of a stride are read before one is written.
///
/// # Safety
///
/// 64 bytes can be read from `from` on, and written from `to` on.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    let mut done = 0;
    loop {
        let (from, to) = (from.wrapping_add(done), to.wrapping_add(done));
        // SAFETY: the caller's: `done` is a multiple of the stride below 64.
        let bytes = unsafe { from.cast::<[u8; STRIDE]>().read_unaligned() };
        // SAFETY: as before.
        unsafe { to.cast::<[u8; STRIDE]>().write_unaligned(bytes) };
        done += STRIDE;
        if done >= len {
            return;
        }
    }
}

/// What the tag of a copy says: the length (lowest byte), the part of the distance that the tag has
/// (the next two), and (upper half) a mask of the bytes behind the tag that are its rest. What the
/// loop leaves to the plain way gets a distance of 0, which no copy has.
const COPIES: [u64; 256] = copies();

const fn copies() -> [u64; 256] {
    let mut copies = [1; 256];
    let mut tag = 0;
    while tag < 256 {
        let upper = (tag >> 2) as u64;
        match tag & 3 {
            1 => copies[tag] = (4 + (upper & 7)) | ((tag as u64 >> 5) << 8) << 8 | 0xff << 32,
            2 => copies[tag] = (upper + 1) | 0xffff << 32,
            _ => {}
        }
        tag += 1;
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move |end| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
        }
    }

    /// A block of random elements, and what it holds.
    fn block(seed: u64, elements: usize) -> (Vec<u8>, Vec<u8>) {
        let mut next = random(seed);
        let (mut body, mut held) = (Vec::new(), Vec::new());
        for _ in 0..elements {
            match next(8) {
                kind @ (0..=2 | 7) => {
                    let len = if kind == 7 { 1 + next(300) } else { 1 + next(20) };
                    match len {
                        0..=60 => body.push((len as u8 - 1) << 2),
                        61..=256 => body.extend([60 << 2, (len - 1) as u8]),
                        _ => body.extend([61 << 2, (len - 1) as u8, ((len - 1) >> 8) as u8]),
                    }
                    let literal: Vec<u8> = (0..len).map(|_| next(256) as u8).collect();
                    body.extend(&literal);
                    held.extend(literal);
                }
                _ if held.is_empty() => {}
                kind => {
                    let near = if next(4) == 0 { 20 } else { held.len() };
                    let distance = 1 + next(near.min(held.len()).min(65535));
                    let len = if kind == 3 && distance < 2048 {
                        let len = 4 + next(8);
                        body.push(((distance >> 8) << 5 | (len - 4) << 2 | 1) as u8);
                        body.push(distance as u8);
                        len
                    } else {
                        let (len, bytes) = (1 + next(64), if kind == 4 { 4 } else { 2 });
                        body.push(((len - 1) << 2 | if bytes == 4 { 3 } else { 2 }) as u8);
                        body.extend(&(distance as u32).to_le_bytes()[..bytes]);
                        len
                    };
                    (0..len).for_each(|_| held.push(held[held.len() - distance]));
                }
            }
        }
        let mut block = Vec::new();
        let mut len = held.len();
        while len >= 128 {
            block.push(len as u8 | 128);
            len >>= 7;
        }
        block.push(len as u8);
        block.extend(body);
        (block, held)
    }

    /// Takes every element the plain way.
    fn plain(src: &[u8], out: &mut [u8]) -> Option<()> {
        let (len, at) = read_len(src)?;
        let mut block = Block { src, at, out, done: 0 };
        if len != block.out.len() as u64 {
            return None;
        }
        while block.at < src.len() {
            block.step()?;
        }
        (block.done == block.out.len()).then_some(())
    }

    #[test]
    fn blocks_of_any_elements_hold_what_was_put_in() {
        for seed in 0..300 {
            let (block, held) = block(seed, 1 + seed as usize % 100);
            for decompress in [decompress, plain] {
                let mut out = vec![7; held.len()];
                assert_eq!(decompress(&block, &mut out), Some(()), "seed {seed}");
                assert_eq!(out, held, "seed {seed}");
                assert_eq!(decompress(&block, &mut vec![0; held.len() + 1]), None);
            }
        }
    }

    #[test]
    fn damaged_blocks_are_found_to_be_so_or_hold_the_same_as_plainly_taken() {
        for seed in 0..3000 {
            let (mut block, held) = block(seed, 1 + seed as usize % 60);
            let mut next = random(seed + 1);
            for _ in 0..1 + next(3) {
                let place = next(block.len());
                match next(3) {
                    0 => block[place] = next(256) as u8,
                    1 => block[place] ^= 1 << next(8),
                    _ => block.truncate(place.max(1)),
                }
            }
            let (mut out, mut expected) = (vec![0; held.len()], vec![0; held.len()]);
            let found = decompress(&block, &mut out);
            assert_eq!(found, plain(&block, &mut expected), "seed {seed}");
            if found.is_some() {
                assert_eq!(out, expected, "seed {seed}");
            }
        }
    }

    #[test]
    fn the_loop_takes_what_is_short_and_does_not_overlap() {
        let mut block = vec![0xc0, 0x06];
        // 100 times: a literal of 4 bytes, and these once more; and what keeps off the end.
        (0..100u8).for_each(|it| block.extend([3 << 2, it, it, it, it, 1, 4]));
        block.extend([31 << 2; 33]);
        let mut out = vec![0; 832];
        let mut taken = Block { src: &block, at: 2, out: &mut out, done: 0 };
        // The first literal is too near to the beginning.
        while taken.done < ELEMENT_BYTES_MAX {
            taken.step().unwrap();
        }
        taken.run();
        assert!(taken.done > 700, "{}", taken.done);
        assert_eq!(decompress(&block, &mut out), Some(()));
    }

    #[test]
    fn lengths_are_at_most_32_bits() {
        assert_eq!(read_len(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Some((u64::from(u32::MAX), 5)));
        assert_eq!(read_len(&[0xff, 0xff, 0xff, 0xff, 0x1f]), None);
        assert_eq!(read_len(&[0xff; 10]), None);
        assert_eq!(read_len(&[0xff]), None);
        assert_eq!(decompress(&[], &mut []), None);
        assert_eq!(decompress(&[0], &mut []), Some(()));
    }
}
