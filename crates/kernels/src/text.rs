//! Bytes of text.

use crate::cpu::{self, Kernel};

/// Whether all bytes are ASCII.
pub fn is_ascii(bytes: &[u8]) -> bool {
    cpu::dispatch(IsAscii(bytes))
}

struct IsAscii<'a>(&'a [u8]);

impl Kernel for IsAscii<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (chunks, rest) = self.0.as_chunks::<512>();
        let any = |bytes: &[u8]| bytes.iter().fold(0, |any, it| any | it);
        chunks.iter().all(|it| any(it) < 0x80) && any(rest) < 0x80
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_of_another_character_is_found_everywhere() {
        for len in [0, 1, 31, 511, 512, 513, 1600] {
            let mut bytes = vec![0x7F; len];
            assert!(is_ascii(&bytes), "{len}");
            for at in 0..len {
                bytes[at] = 0x80;
                assert!(!is_ascii(&bytes), "{at} of {len}");
                bytes[at] = b'a';
            }
        }
    }
}
