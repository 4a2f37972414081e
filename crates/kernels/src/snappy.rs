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
//! again; text becomes many short copies. The cost is that the position of a tag depends on the
//! previous tag. The loop therefore takes a literal and the following copy from one word of eight
//! bytes. When both together are no longer than that, and the copy comes from the same place in an
//! earlier number, they are one word to be written, too: what is `distance` bytes back, with the
//! literal in its lower bytes. (Loading after the literal would read bytes of two pending stores,
//! for which processors wait.) Otherwise whole strides are copied, and the next elements overwrite
//! the excess. All other cases (long literals, copies that overlap themselves, both ends of the
//! block) take one step of the plain loop, which checks everything.
//!
//! Two blocks at a time hide the latency of each other: numbers take 0.7 of the time.
//!
//! Source: `format_description.txt` of google/snappy.

use std::ops::Range;

/// The longest element of the loop.
const ELEMENT_BYTES_MAX: usize = 64;

/// The longest literal whose length is in its tag.
const LITERAL_BYTES_MAX: usize = 60;

/// The longest literal that leaves a tag and a distance in a word of 8 bytes: its own tag and it
/// are up to 5 bytes. A power of two.
const LITERAL_IN_WORD: usize = 4;

/// What the loop reads from a tag's place on: the tag, an element, a word.
const WINDOW_BYTES: usize = 1 + ELEMENT_BYTES_MAX + 8;

/// What the loop writes at once, at most: a literal and a copy.
const ROOM_BYTES: usize = 2 * ELEMENT_BYTES_MAX;

/// Bytes that are copied at once.
const STRIDE: usize = 16;

/// Bytes of a word.
const WORD_BYTES: usize = 8;

/// Decompresses `src` into `out`, which is as long as what the block holds; `None` if the block is
/// damaged, or of another length. What `out` holds then is unspecified.
pub fn decompress(src: &[u8], out: &mut [u8]) -> Option<()> {
    Block::new(src, out)?.finish()
}

/// Decompresses two blocks as [`decompress`] does; `None` if one of them is damaged.
pub fn decompress_two(srcs: [&[u8]; 2], outs: [&mut [u8]; 2]) -> Option<()> {
    let ([first, second], [first_out, second_out]) = (srcs, outs);
    let (mut first, mut second) = (Block::new(first, first_out)?, Block::new(second, second_out)?);
    while let (Some(mut a), Some(mut b)) = (first.cursor(), second.cursor()) {
        let (mut fits_a, mut fits_b) = (true, true);
        while fits_a && fits_b && a.has_room() && b.has_room() {
            // SAFETY: both have room.
            fits_a = unsafe { a.advance() };
            // SAFETY: as before.
            fits_b = unsafe { b.advance() };
        }
        let is_near_end = !a.has_room() || !b.has_room();
        (first.at, first.done, second.at, second.done) = (a.at, a.done, b.at, b.done);
        if is_near_end {
            break;
        }
        if !fits_a {
            first.step()?;
        }
        if !fits_b {
            second.step()?;
        }
    }
    first.finish()?;
    second.finish()
}

/// Where the bytes are that a block holds, if it is nothing but one literal: what does not
/// compress.
pub fn only_literal(src: &[u8]) -> Option<Range<usize>> {
    let (len, at) = read_len(src)?;
    let tag = *src.get(at)?;
    let upper = usize::from(tag >> 2);
    let (stored, size) = match tag & 3 {
        0 if upper < 60 => (upper, 0),
        0 => {
            let bytes = src.get(at + 1..at + 1 + (upper - 59))?;
            (bytes.iter().rev().fold(0, |it, byte| it << 8 | usize::from(*byte)), bytes.len())
        }
        _ => return None,
    };
    let start = at + 1 + size;
    let all = start..src.len();
    (all.len() as u64 == len && stored.checked_add(1) == Some(all.len())).then_some(all)
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

/// The loop's place in a block that is long enough for it.
struct Cursor {
    src: *const u8,
    out: *mut u8,
    at: usize,
    done: usize,
    /// The last places that have room.
    at_max: usize,
    done_max: usize,
}

impl Cursor {
    /// Whether from `at` on there are `WINDOW_BYTES`, and from `done` on `ROOM_BYTES`.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.at <= self.at_max && self.done <= self.done_max
    }

    /// Takes a literal and a copy, or a copy; false when something does not fit the loop.
    ///
    /// # Safety
    ///
    /// There is room.
    #[inline(always)]
    unsafe fn advance(&mut self) -> bool {
        let place = self.src.wrapping_add(self.at);
        // SAFETY: within the window.
        let word = unsafe { load(place) };
        let tag = (word & 0xff) as usize;
        if tag & !((LITERAL_IN_WORD - 1) << 2) == 0 {
            let literal = (tag >> 2) + 1;
            // 8 * literal + 8, in the fewest steps: everything that follows waits for it.
            let behind = word >> ((2 * tag + 16) & 63);
            let (len, distance) = copy_of(behind);
            let both = literal + len;
            if both <= WORD_BYTES && distance >= WORD_BYTES && distance <= self.done {
                let to = self.out.wrapping_add(self.done);
                // SAFETY: `distance` is at most `done`, and at least a word.
                let from = unsafe { load(to.wrapping_sub(distance)) };
                let mask = !0 >> (8 * (WORD_BYTES - literal));
                let number = from & !mask | word >> 8 & mask;
                // SAFETY: within the room.
                unsafe { to.cast::<u64>().write_unaligned(number.to_le()) };
                self.at += literal + 2 + (behind & 3) as usize;
                self.done += both;
                return true;
            }
        }
        // SAFETY: the caller's.
        unsafe { self.advance_by_strides(word) }
    }

    /// The same for elements of up to 64 bytes; `word`: what is at the place.
    ///
    /// # Safety
    ///
    /// There is room.
    #[inline(always)]
    unsafe fn advance_by_strides(&mut self, mut word: u64) -> bool {
        let tag = (word & 0xff) as usize;
        if tag & 3 == 0 {
            if tag >= LITERAL_BYTES_MAX << 2 {
                return false;
            }
            let bytes = self.src.wrapping_add(self.at + 1);
            let len = (tag >> 2) + 1;
            // SAFETY: a tag and a literal are within the window, and an element in the room.
            unsafe { copy(bytes, self.out.wrapping_add(self.done), len) };
            self.done += len;
            self.at += len + 1;
            word = if len <= LITERAL_IN_WORD {
                word >> ((2 * tag + 16) & 63)
            } else {
                // SAFETY: behind a tag and a literal the window has another word.
                unsafe { load(self.src.wrapping_add(self.at)) }
            };
        }
        let (len, distance) = copy_of(word);
        if distance < len || distance > self.done {
            return false;
        }
        let to = self.out.wrapping_add(self.done);
        // SAFETY: `distance` is at most `done`, behind which there is room for an element.
        unsafe { copy(to.wrapping_sub(distance), to, len) };
        self.at += 1 + (word & 3) as usize;
        self.done += len;
        true
    }
}

/// The length and the distance of the copy whose tag is the lowest byte; a distance of 0 if it is
/// none for the loop.
#[inline(always)]
fn copy_of(word: u64) -> (usize, usize) {
    let copied = COPIES[(word & 0xff) as usize];
    let distance = (copied >> 8 & 0xffff) + (word >> 8 & copied >> 32);
    ((copied & 0xff) as usize, distance as usize)
}

impl<'a> Block<'a> {
    /// A block that says to hold as much as `out`.
    fn new(src: &'a [u8], out: &'a mut [u8]) -> Option<Block<'a>> {
        let (len, at) = read_len(src)?;
        (len == out.len() as u64).then_some(Block { src, at, out, done: 0 })
    }

    /// Takes all elements.
    fn finish(&mut self) -> Option<()> {
        loop {
            self.run();
            if self.at >= self.src.len() {
                return (self.done == self.out.len()).then_some(());
            }
            self.step()?;
        }
    }

    /// Takes elements while they are of the usual kinds and far from both ends.
    fn run(&mut self) {
        let Some(mut cursor) = self.cursor() else { return };
        // SAFETY: it has room.
        while cursor.has_room() && unsafe { cursor.advance() } {}
        (self.at, self.done) = (cursor.at, cursor.done);
    }

    /// The loop's place, if the block is long enough.
    fn cursor(&mut self) -> Option<Cursor> {
        Some(Cursor {
            at_max: self.src.len().checked_sub(WINDOW_BYTES)?,
            done_max: self.out.len().checked_sub(ROOM_BYTES)?,
            src: self.src.as_ptr(),
            out: self.out.as_mut_ptr(),
            at: self.at,
            done: self.done,
        })
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
            let beside = |src: &[u8], out: &mut [u8]| {
                let mut other = vec![0; held.len()];
                decompress_two([&block, src], [&mut other, out]).filter(|()| other == held)
            };
            let all: [&dyn Fn(&[u8], &mut [u8]) -> Option<()>; 3] = [&decompress, &plain, &beside];
            for decompress in all {
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
    fn two_blocks_of_different_lengths_are_decompressed_side_by_side() {
        for seed in 0..300 {
            let (first, first_held) = block(seed, 1 + seed as usize % 100);
            let (mut second, second_held) = block(seed + 1000, 1 + seed as usize % 37);
            let mut outs = [vec![0; first_held.len()], vec![0; second_held.len()]];
            let [a, b] = &mut outs;
            assert_eq!(decompress_two([&first, &second], [&mut *a, &mut *b]), Some(()));
            assert_eq!([&*a, &*b], [&first_held, &second_held]);
            second.pop();
            assert_eq!(decompress_two([&first, &second], [a, b]), None);
            assert_eq!(decompress_two([&second, &first], [b, a]), None);
        }
    }

    #[test]
    fn blocks_of_one_literal_are_found() {
        assert_eq!(only_literal(&[2, 1 << 2, 7, 7]), Some(2..4));
        assert_eq!(only_literal(&[2, 60 << 2, 1, 7, 7]), Some(3..5));
        let long = [&[0xac, 2, 61 << 2, 0x2b, 1][..], &[7; 300]].concat();
        assert_eq!(only_literal(&long), Some(5..305));
        // Another length than the block's, more elements, a copy, a part, nothing.
        for block in [
            &[3, 1 << 2, 7, 7][..],
            &[2, 1 << 2, 7, 7, 0],
            &[4, 1 << 2, 7, 7, 1, 7, 7],
            &[4, 1, 1],
            &[2, 1 << 2, 7],
            &[2, 63 << 2, 255, 255, 255, 255, 7],
            &[0],
            &[],
        ] {
            assert_eq!(only_literal(block), None, "{block:?}");
        }
        let mut out = vec![0; 300];
        assert_eq!(decompress(&long, &mut out), Some(()));
        assert_eq!(out, long[5..]);
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
