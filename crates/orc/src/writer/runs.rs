//! Encodes bytes, bits and integers in runs: version 2 of integers; see [`crate::integer_rle`] and
//! [`crate::byte_rle`].
//!
//! Runs end where a row group does, so that positions in a run are 0.

use crate::{
    unpack::storable_width,
    writer::{
        proto::{push_varint, unzigzag},
        stream::StreamWriter,
    },
};
use volley_error::Result;

/// Values of a run at most.
const RUN_MAX: usize = 512;

/// Equal values from which on they are a run of their own.
const REPEAT_MIN: usize = 4;

/// Equal values that a short repeat holds at most.
const SHORT_REPEAT_MAX: usize = 10;

/// Patches of a run at most.
const PATCHES_MAX: usize = 31;

/// Appends bytes in runs.
pub(crate) fn write_bytes(bytes: &[u8], out: &mut StreamWriter) -> Result<()> {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|it| !it.is_empty()) {
        let repeated = equal_at_start(rest).min(130);
        if repeated >= 3 {
            out.write_byte((repeated - 3) as u8)?;
            out.write(rest.get(..1).unwrap_or_default())?;
            at += repeated;
            continue;
        }
        let starts_run = |place: &usize| {
            let window = rest.get(*place..*place + 3);
            window.is_some_and(|it| it.iter().all(|byte| Some(byte) == it.first()))
        };
        let most = rest.len().min(128);
        let len = (1..most).find(starts_run).unwrap_or(most);
        out.write_byte((256 - len) as u8)?;
        out.write(rest.get(..len).unwrap_or_default())?;
        at += len;
    }
    Ok(())
}

/// Appends unsigned integers in runs.
pub(crate) fn write_unsigned(values: &[i64], out: &mut StreamWriter) -> Result<()> {
    write_integers(values, out, |it| it as u64)
}

/// Appends signed integers in runs.
pub(crate) fn write_signed(values: &[i64], out: &mut StreamWriter) -> Result<()> {
    write_integers(values, out, unzigzag)
}

fn write_integers(
    values: &[i64],
    out: &mut StreamWriter,
    code: impl Fn(i64) -> u64 + Copy,
) -> Result<()> {
    let mut buffer = Vec::new();
    let mut at = 0;
    while let Some(rest) = values.get(at..).filter(|it| !it.is_empty()) {
        buffer.clear();
        let repeated = equal_at_start(rest).min(RUN_MAX);
        let len = if repeated >= REPEAT_MIN {
            let first = rest.first().copied().unwrap_or_default();
            push_repeat(first, repeated, code, &mut buffer);
            repeated
        } else {
            let most = rest.len().min(RUN_MAX);
            let starts_run = |place: &usize| {
                let window = rest.get(*place..*place + 2 * REPEAT_MIN);
                window.is_some_and(|it| equal_at_start(it) == it.len())
            };
            let len = (1..most).find(starts_run).unwrap_or(most);
            push_literals(rest.get(..len).unwrap_or_default(), code, &mut buffer);
            len
        };
        out.write(&buffer)?;
        at += len;
    }
    Ok(())
}

fn equal_at_start<T: PartialEq>(values: &[T]) -> usize {
    values.iter().take_while(|it| Some(*it) == values.first()).count()
}

/// Appends a run of equal values.
fn push_repeat(value: i64, count: usize, code: impl Fn(i64) -> u64, out: &mut Vec<u8>) {
    let coded = code(value);
    if count > SHORT_REPEAT_MAX {
        push_header(3, 0, count, out);
        push_varint(out, coded.into());
        out.push(0);
        return;
    }
    let bytes = bits_of(coded).div_ceil(8).max(1) as usize;
    out.push(((bytes - 1) << 3 | (count - 3)) as u8);
    push_big_endian(coded, bytes, out);
}

/// Appends different values in the smallest form.
fn push_literals(values: &[i64], code: impl Fn(i64) -> u64 + Copy, out: &mut Vec<u8>) {
    let widest = values.iter().map(|it| bits_of(code(*it))).max().unwrap_or(1);
    let width = storable_width(widest);
    if let Some(delta) = Deltas::of(values).filter(|it| it.width < width) {
        delta.push(values, code, out);
        return;
    }
    if let Some(patches) =
        Patches::of(values).filter(|it| it.bits(values.len()) < values.len() * width as usize)
    {
        patches.push(values, out);
        return;
    }
    push_header(1, width_code(width), values.len(), out);
    pack(values.iter().map(|it| code(*it)), width, out);
}

/// Values that only grow or only shrink.
struct Deltas {
    first: i64,
    /// Bits of a difference; 0: all are the same.
    width: u32,
}

impl Deltas {
    fn of(values: &[i64]) -> Option<Deltas> {
        let differences =
            || values.iter().zip(values.iter().skip(1)).map(|(a, b)| b.checked_sub(*a));
        let first = differences().next()??;
        let mut widest = 0;
        let mut is_fixed = true;
        for difference in differences() {
            let difference = difference?;
            if difference.signum() * first.signum() < 0 || (first == 0 && difference != 0) {
                return None;
            }
            is_fixed &= difference == first;
            widest = widest.max(bits_of(difference.unsigned_abs()));
        }
        // The first difference is stored apart. Widths of one bit mean none.
        let width = if is_fixed { 0 } else { storable_width(widest.max(2)) };
        (width < 64).then_some(Deltas { first, width })
    }

    fn push(&self, values: &[i64], code: impl Fn(i64) -> u64, out: &mut Vec<u8>) {
        let code_of_width = if self.width == 0 { 0 } else { width_code(self.width) };
        push_header(3, code_of_width, values.len(), out);
        push_varint(out, code(values.first().copied().unwrap_or_default()).into());
        push_varint(out, unzigzag(self.first).into());
        if self.width > 0 {
            let pairs = values.iter().zip(values.iter().skip(1)).skip(1);
            pack(pairs.map(|(a, b)| b.wrapping_sub(*a).unsigned_abs()), self.width, out);
        }
    }
}

/// Values that are near the least one, but for a few.
struct Patches {
    base: i64,
    width: u32,
    patch_width: u32,
    gap_width: u32,
    /// Gaps with patches.
    entries: Vec<(u64, u64)>,
}

impl Patches {
    fn of(values: &[i64]) -> Option<Patches> {
        let base = values.iter().copied().min()?;
        // A base has a bit for its sign in at most 8 bytes.
        bits_of(base.unsigned_abs()).checked_add(1).filter(|it| *it < 64)?;
        let above = values.iter().map(|it| it.checked_sub(base).map(|it| it as u64));
        let above: Vec<u64> = above.collect::<Option<_>>()?;
        let mut widths: Vec<u32> = above.iter().map(|it| bits_of(*it)).collect();
        widths.sort_unstable();
        let widest = *widths.last()?;
        let common = widths.get(widths.len().checked_sub(PATCHES_MAX / 2 + 1)?).copied()?;
        let common = (*widths.get(widths.len() * 95 / 100)?).max(common);
        let width = storable_width(common);
        if width >= widest {
            return None;
        }
        let patch_width = storable_width(widest - width);
        let mut patches = Patches { base, width, patch_width, gap_width: 8, entries: Vec::new() };
        let mut last = 0;
        for (place, value) in above.iter().enumerate() {
            let patch = value >> width;
            if patch == 0 {
                continue;
            }
            let mut gap = (place - last) as u64;
            while gap > 255 {
                patches.entries.push((255, 0));
                gap -= 255;
            }
            patches.entries.push((gap, patch));
            last = place;
        }
        let fits = patches.entries.len() <= PATCHES_MAX && patch_width + patches.gap_width <= 64;
        fits.then_some(patches)
    }

    fn entry_width(&self) -> u32 {
        storable_width(self.patch_width + self.gap_width)
    }

    fn base_bytes(&self) -> usize {
        (bits_of(self.base.unsigned_abs()) + 1).div_ceil(8) as usize
    }

    /// About the bits that it takes.
    fn bits(&self, values: usize) -> usize {
        let entries = self.entries.len() * self.entry_width() as usize;
        values * self.width as usize + entries + 8 * self.base_bytes() + 32
    }

    fn push(&self, values: &[i64], out: &mut Vec<u8>) {
        push_header(2, width_code(self.width), values.len(), out);
        let bytes = self.base_bytes();
        out.push(((bytes - 1) << 5) as u8 | width_code(self.patch_width));
        out.push((self.gap_width - 1) as u8 * 32 | self.entries.len() as u8);
        let sign = if self.base < 0 { 1 << (8 * bytes - 1) } else { 0 };
        push_big_endian(self.base.unsigned_abs() | sign, bytes, out);
        let mask = (1 << self.width) - 1;
        pack(values.iter().map(|it| it.wrapping_sub(self.base) as u64 & mask), self.width, out);
        let entries = self.entries.iter().map(|(gap, patch)| gap << self.patch_width | patch);
        pack(entries, self.entry_width(), out);
    }
}

/// The two first bytes of a run.
fn push_header(kind: u8, width_code: u8, count: usize, out: &mut Vec<u8>) {
    let count = count - 1;
    out.push(kind << 6 | width_code << 1 | (count >> 8) as u8);
    out.push(count as u8);
}

fn bits_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// The code of a storable width.
fn width_code(width: u32) -> u8 {
    match width {
        1..=24 => width as u8 - 1,
        26 => 24,
        28 => 25,
        30 => 26,
        32 => 27,
        40 => 28,
        48 => 29,
        56 => 30,
        _ => 31,
    }
}

fn push_big_endian(value: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(value.to_be_bytes().get(8 - bytes..).unwrap_or_default());
}

/// Packs values of `width` bits, the highest bit first; the last byte is filled with zeros.
fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut count): (u128, u32) = (0, 0);
    for value in values {
        bits = bits << width | u128::from(value);
        count += width;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        byte_rle::ByteRle,
        integer_rle::{IntegerRle, Sign, Version},
        tests::stream_of,
        writer::stream::BlockFormat,
    };
    use volley_vector::random::Generator;

    fn encoded(write: impl Fn(&mut StreamWriter) -> Result<()>) -> Vec<u8> {
        let mut out = StreamWriter::new(BlockFormat { codec: None, block_bytes: 1000 });
        write(&mut out).unwrap();
        out.finish().unwrap()
    }

    #[track_caller]
    fn check(values: &[i64], bytes_max: usize) {
        let bytes = encoded(|out| write_signed(values, out));
        let mut out = Vec::new();
        let mut rle = IntegerRle::new(stream_of(&bytes), Version::V2, Sign::Signed);
        rle.read(values.len(), &mut out).unwrap();
        assert_eq!(out, values);
        assert!(bytes.len() <= bytes_max, "{} bytes", bytes.len());
        let bytes = encoded(|out| write_unsigned(values, out));
        let mut rle = IntegerRle::new(stream_of(&bytes), Version::V2, Sign::Unsigned);
        rle.read(values.len(), &mut out).unwrap();
        assert_eq!(out, values);
    }

    #[test]
    fn each_form_takes_few_bytes() {
        check(&[], 0);
        check(&[7; 5], 2);
        check(&[7; 500], 4);
        check(&[7; 1000], 8);
        let up: Vec<i64> = (0..512).map(|it| it * 3 + 1000).collect();
        check(&up, 6);
        let uneven: Vec<i64> = (0..512).map(|it| 1_000_000_000 + it * 4 + it % 3).collect();
        check(&uneven, 512 / 8 * 3 + 10);
        let down: Vec<i64> = uneven.iter().rev().copied().collect();
        check(&down, 512 / 8 * 3 + 10);
        let outliers: Vec<i64> =
            (0..512).map(|it| if it % 100 == 50 { 1 << 40 } else { it * 7 % 13 }).collect();
        check(&outliers, 512 / 2 + 60);
        let below: Vec<i64> = outliers.iter().map(|it| it - 1_000_000).collect();
        check(&below, 512 / 2 + 60);
        check(&[i64::MIN, i64::MAX, 0, -1, 1, i64::MIN], 60);
        check(&[1, 2, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9, 4, 5], 20);
    }

    #[test]
    fn random_integers_come_back() {
        let mut random = Generator::new(5);
        for _ in 0..2000 {
            let len = random.below(1200);
            let bits = random.below(65) as u32;
            let rare = random.below(64) as u32;
            let form = random.below(4);
            let mut last: i64 = 0;
            let values = (0..len).map(|_| {
                let word = (random.below(1 << 31) as u64) << 33
                    ^ (random.below(1 << 31) as u64) << 11
                    ^ random.below(1 << 31) as u64;
                let cut = |bits: u32| word.checked_shr(64 - bits.min(64)).unwrap_or(0) as i64;
                last = match form {
                    0 => cut(bits),
                    1 if random.below(50) == 0 => cut(rare),
                    1 => cut(bits.min(6)),
                    2 if random.below(4) > 0 => last,
                    2 => cut(bits),
                    _ => last.wrapping_add(cut(bits.min(20))),
                };
                last
            });
            let values: Vec<i64> = values.collect();
            check(&values, usize::MAX);
        }
    }

    #[test]
    fn random_bytes_come_back() {
        let mut random = Generator::new(6);
        for _ in 0..500 {
            let few = 1 + random.below(4);
            let bytes: Vec<u8> = (0..random.below(600)).map(|_| random.below(few) as u8).collect();
            let stored = encoded(|out| write_bytes(&bytes, out));
            let mut out = Vec::new();
            ByteRle::new(stream_of(&stored)).append_to(bytes.len(), &mut out).unwrap();
            assert_eq!(out, bytes);
        }
        assert_eq!(encoded(|out| write_bytes(&[0; 130], out)), [127, 0]);
        assert_eq!(encoded(|out| write_bytes(&[0x44, 0x45], out)), [0xfe, 0x44, 0x45]);
    }
}
