//! Digits of a few bits each, in groups of whole bytes (RFC 4648).

/// An alphabet and how its digits are grouped.
pub(super) struct Radix {
    /// 32 or 64 digits.
    pub(super) alphabet: &'static [u8],
    /// Bits of a digit.
    bits: u32,
    /// Digits of the shortest run that is whole bytes.
    pub(super) group: usize,
    /// What may follow the digits.
    pub(super) padding: Padding,
}

/// How many `=` there may be.
pub(super) enum Padding {
    /// As many as fill the last group up, or none.
    Exact,
    /// Fewer, too.
    Any,
}

/// Base 32.
pub(super) const BASE32: Radix = Radix {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    bits: 5,
    group: 8,
    padding: Padding::Any,
};

/// Base 64.
pub(super) const BASE64: Radix = Radix {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    bits: 6,
    group: 4,
    padding: Padding::Exact,
};

/// Base 64 with digits that mean nothing in URLs.
pub(super) const BASE64_URL: Radix = Radix {
    alphabet: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ..BASE64
};

impl Radix {
    /// Gives `push` the digits of the bytes and the padding.
    pub(super) fn write(&self, bytes: &[u8], mut push: impl FnMut(u8)) {
        let mask = self.alphabet.len() as u32 - 1;
        let (mut held, mut held_bits, mut digits) = (0u32, 0, 0);
        for byte in bytes {
            held = held << 8 | u32::from(*byte);
            held_bits += 8;
            while held_bits >= self.bits {
                held_bits -= self.bits;
                push(self.alphabet[(held >> held_bits & mask) as usize]);
                digits += 1;
            }
        }
        if held_bits > 0 {
            push(self.alphabet[(held << (self.bits - held_bits) & mask) as usize]);
            digits += 1;
        }
        (digits..digits_of_whole_groups(digits, self.group)).for_each(|_| push(b'='));
    }

    /// Whether this number of digits encodes whole bytes: the last digit must have bits of the last
    /// byte.
    pub(super) fn can_end(&self, digits: usize) -> bool {
        let bits = digits % self.group * self.bits as usize;
        bits % 8 < self.bits as usize
    }

    /// Gives `push` the bytes; bits after the last one do not matter. `None`: no digit.
    pub(super) fn read(&self, digits: &[u8], mut push: impl FnMut(u8)) -> Option<()> {
        let (mut held, mut held_bits) = (0u32, 0);
        for digit in digits {
            held = held << self.bits | self.value(*digit)?;
            held_bits += self.bits;
            if held_bits >= 8 {
                held_bits -= 8;
                push((held >> held_bits) as u8);
            }
        }
        Some(())
    }

    fn value(&self, digit: u8) -> Option<u32> {
        self.alphabet.iter().position(|it| *it == digit).map(|it| it as u32)
    }
}

fn digits_of_whole_groups(digits: usize, group: usize) -> usize {
    digits.div_ceil(group) * group
}
