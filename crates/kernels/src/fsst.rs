//! Decodes strings of symbols (FSST: Boncz, Neumann and Leis, PVLDB 13(11), 2020).
//!
//! ```text
//! code 0..=254   a symbol of 1 to 8 bytes
//! code 255       the next byte as it is
//! ```

/// The code before a byte that no symbol stands for.
pub const ESCAPE: u8 = 255;

/// The longest symbol, in bytes.
pub const SYMBOL_BYTES_MAX: usize = 8;

/// Codes that are decoded together where the room is enough and none is an escape.
const BLOCK: usize = 8;

/// The symbols of all codes.
#[derive(Clone, Debug)]
pub struct SymbolTable {
    /// The bytes, the first one lowest; zeros beyond the length.
    symbols: [u64; 256],
    /// Bytes of each: at most [`SYMBOL_BYTES_MAX`], 0 of codes that have no symbol.
    lengths: [u8; 256],
}

impl SymbolTable {
    /// A table of at most 255 symbols.
    ///
    /// # Panics
    ///
    /// If there are more symbols, or one has no bytes or too many.
    pub fn new<'a>(symbols: impl IntoIterator<Item = &'a [u8]>) -> SymbolTable {
        let mut table = SymbolTable { symbols: [0; 256], lengths: [0; 256] };
        for (code, symbol) in symbols.into_iter().enumerate() {
            assert!(code < usize::from(ESCAPE), "symbols of a table");
            assert!((1..=SYMBOL_BYTES_MAX).contains(&symbol.len()), "bytes of a symbol");
            let mut bytes = [0; SYMBOL_BYTES_MAX];
            bytes[..symbol.len()].copy_from_slice(symbol);
            table.symbols[code] = u64::from_le_bytes(bytes);
            table.lengths[code] = symbol.len() as u8;
        }
        table
    }

    /// Decodes `codes` into the first bytes of `out`; answers how many bytes that made, or `None`
    /// when `out` is too short, the last code is an escape, or a code has no symbol.
    ///
    /// Bytes of `out` beyond those may be overwritten.
    pub fn decode(&self, codes: &[u8], out: &mut [u8]) -> Option<usize> {
        self.run(codes, out, &mut NoEnds)
    }

    /// As [`SymbolTable::decode`]; `ends[i]` becomes the number of bytes that the codes up to
    /// `codes[i]` made. The codes of many texts are decoded at once so, whatever their lengths.
    ///
    /// # Panics
    ///
    /// If there is not one end per code.
    pub fn decode_with_ends(
        &self,
        codes: &[u8],
        out: &mut [u8],
        ends: &mut [u32],
    ) -> Option<usize> {
        assert_eq!(codes.len(), ends.len(), "one end per code");
        self.run(codes, out, ends)
    }

    #[inline(always)]
    fn run<E: Ends + ?Sized>(&self, codes: &[u8], out: &mut [u8], ends: &mut E) -> Option<usize> {
        let (mut read, mut written) = (0, 0);
        loop {
            // Every code of a block makes at most 8 bytes and writes 8.
            while let Some(block) = codes[read..].first_chunk::<BLOCK>()
                && out.len() - written >= BLOCK * SYMBOL_BYTES_MAX
                && !has_escape(*block)
            {
                // SAFETY: the room was checked in the line above.
                let bytes = unsafe { self.decode_block(*block, out, written, read, ends) }?;
                written += bytes;
                read += BLOCK;
            }
            let Some(code) = codes.get(read) else { return Some(written) };
            let (symbol, bytes) = match *code {
                ESCAPE => {
                    ends.set(read, written);
                    read += 1;
                    (u64::from(*codes.get(read)?), 1)
                }
                code => {
                    let code = usize::from(code);
                    (self.symbols[code], usize::from(self.lengths[code]))
                }
            };
            if bytes == 0 {
                return None;
            }
            let symbol = symbol.to_le_bytes();
            match out[written..].first_chunk_mut::<SYMBOL_BYTES_MAX>() {
                Some(room) => *room = symbol,
                None => out.get_mut(written..written + bytes)?.copy_from_slice(&symbol[..bytes]),
            }
            written += bytes;
            ends.set(read, written);
            read += 1;
        }
    }

    /// Decodes a block of codes at `written`; `None` when one has no symbol.
    ///
    /// # Safety
    ///
    /// `out` has at least 64 bytes from `written` on.
    #[inline(always)]
    unsafe fn decode_block<E: Ends + ?Sized>(
        &self,
        codes: [u8; BLOCK],
        out: &mut [u8],
        written: usize,
        read: usize,
        ends: &mut E,
    ) -> Option<usize> {
        let (mut at, mut has_all) = (0, true);
        let mut block_ends = [0; BLOCK];
        for (code, end) in codes.into_iter().zip(&mut block_ends) {
            let (symbol, length) =
                (self.symbols[usize::from(code)], self.lengths[usize::from(code)]);
            let place = out.as_mut_ptr().wrapping_add(written + at).cast::<u64>();
            // SAFETY: each code before this one moved on by at most 8 bytes, and so 8 bytes are
            // within the 64 that the caller has checked.
            unsafe { place.write_unaligned(symbol.to_le()) };
            at += usize::from(length);
            *end = (written + at) as u32;
            has_all &= length != 0;
        }
        ends.set_block(read, block_ends);
        has_all.then_some(at)
    }
}

/// Takes the number of bytes after each code.
trait Ends {
    fn set(&mut self, code: usize, end: usize);

    fn set_block(&mut self, code: usize, ends: [u32; BLOCK]);
}

struct NoEnds;

impl Ends for NoEnds {
    #[inline(always)]
    fn set(&mut self, _code: usize, _end: usize) {}

    #[inline(always)]
    fn set_block(&mut self, _code: usize, _ends: [u32; BLOCK]) {}
}

impl Ends for [u32] {
    #[inline(always)]
    fn set(&mut self, code: usize, end: usize) {
        self[code] = end as u32;
    }

    #[inline(always)]
    fn set_block(&mut self, code: usize, ends: [u32; BLOCK]) {
        self[code..code + BLOCK].copy_from_slice(&ends);
    }
}

/// Whether one of the codes is 255: the byte is zero when its bits are inverted.
#[inline(always)]
fn has_escape(codes: [u8; BLOCK]) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let inverted = !u64::from_le_bytes(codes);
    inverted.wrapping_sub(LOW) & !inverted & HIGH != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: [&[u8]; 5] = [b"a", b"bc", b"longest ", b"de", b"xyz"];

    fn naive(codes: &[u8]) -> Option<Vec<u8>> {
        let (mut out, mut codes) = (Vec::new(), codes.iter());
        while let Some(code) = codes.next() {
            match *code {
                ESCAPE => out.push(*codes.next()?),
                code => out.extend_from_slice(SYMBOLS.get(usize::from(code))?),
            }
        }
        Some(out)
    }

    #[test]
    fn codes_decode_one_by_one_and_in_blocks() {
        let table = SymbolTable::new(SYMBOLS);
        let mut random = fastrand::Rng::with_seed(5);
        for round in 0..20_000 {
            let len = random.usize(..40);
            let has_escapes = round % 2 == 0;
            let has_unknown = round % 5 == 0;
            let code = |random: &mut fastrand::Rng| match random.usize(..20) {
                0 if has_escapes => ESCAPE,
                1 if has_unknown => 5 + random.u8(..200),
                _ => random.u8(..5),
            };
            let codes: Vec<u8> = (0..len).map(|_| code(&mut random)).collect();
            let expected = naive(&codes);
            let bytes = expected.as_ref().map_or(0, Vec::len);
            for extra in [0, 1, 8, 64, 500] {
                let mut out = vec![1; bytes + extra];
                let made = table.decode(&codes, &mut out);
                let mut ends = vec![0; codes.len()];
                assert_eq!(table.decode_with_ends(&codes, &mut out, &mut ends), made);
                if let Some(expected) = &expected {
                    assert_eq!(made, Some(bytes));
                    assert_eq!(out[..bytes], expected[..]);
                    for (code, end) in ends.iter().enumerate() {
                        // A code that is an escape made nothing yet.
                        let made = naive(&codes[..=code]).or_else(|| naive(&codes[..code]));
                        assert_eq!(made.map(|it| it.len()), Some(*end as usize));
                    }
                } else {
                    assert_eq!(made, None);
                }
            }
            if bytes > 0 {
                assert_eq!(table.decode(&codes, &mut vec![0; bytes - 1]), None);
            }
        }
    }
}
