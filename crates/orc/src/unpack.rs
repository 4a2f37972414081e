//! Unpacks integers of a number of bits each, the highest bit first.

/// Widths that the encodings name by a code of 5 bits, from code 24 on; before, they are code + 1.
const WIDE: [u32; 8] = [26, 28, 30, 32, 40, 48, 56, 64];

/// The width of a code of 5 bits.
pub(crate) fn width_of_code(code: u8) -> u32 {
    let code = u32::from(code & 31);
    let wide = code.checked_sub(24).and_then(|it| WIDE.get(it as usize));
    wide.copied().unwrap_or(code + 1)
}

/// The least width that has a code and holds `bits` bits.
pub(crate) fn storable_width(bits: u32) -> u32 {
    match bits {
        0..=24 => bits.max(1),
        _ => WIDE.into_iter().find(|it| *it >= bits).unwrap_or(64),
    }
}

/// Bytes that `count` integers of `width` bits take.
pub(crate) fn packed_bytes(count: usize, width: u32) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Unpacks as many integers as `out` has. `bytes` are as many as [`packed_bytes`] says.
pub(crate) fn unpack(bytes: &[u8], width: u32, out: &mut [u64]) {
    match width {
        1 => unpack_width::<1>(bytes, out),
        2 => unpack_width::<2>(bytes, out),
        3 => unpack_width::<3>(bytes, out),
        4 => unpack_width::<4>(bytes, out),
        5 => unpack_width::<5>(bytes, out),
        6 => unpack_width::<6>(bytes, out),
        7 => unpack_width::<7>(bytes, out),
        8 => unpack_width::<8>(bytes, out),
        9 => unpack_width::<9>(bytes, out),
        10 => unpack_width::<10>(bytes, out),
        11 => unpack_width::<11>(bytes, out),
        12 => unpack_width::<12>(bytes, out),
        13 => unpack_width::<13>(bytes, out),
        14 => unpack_width::<14>(bytes, out),
        15 => unpack_width::<15>(bytes, out),
        16 => unpack_width::<16>(bytes, out),
        17 => unpack_width::<17>(bytes, out),
        18 => unpack_width::<18>(bytes, out),
        19 => unpack_width::<19>(bytes, out),
        20 => unpack_width::<20>(bytes, out),
        21 => unpack_width::<21>(bytes, out),
        22 => unpack_width::<22>(bytes, out),
        23 => unpack_width::<23>(bytes, out),
        24 => unpack_width::<24>(bytes, out),
        26 => unpack_width::<26>(bytes, out),
        28 => unpack_width::<28>(bytes, out),
        30 => unpack_width::<30>(bytes, out),
        32 => unpack_width::<32>(bytes, out),
        40 => unpack_width::<40>(bytes, out),
        48 => unpack_width::<48>(bytes, out),
        56 => unpack_width::<56>(bytes, out),
        64 => unpack_width::<64>(bytes, out),
        _ => unpack_plainly(bytes, width as usize, out),
    }
}

/// Eight integers take as many bytes as each has bits: their places are known when compiled.
fn unpack_width<const WIDTH: usize>(bytes: &[u8], out: &mut [u64]) {
    let (chunks, rest) = bytes.as_chunks::<WIDTH>();
    let (groups, last) = out.as_chunks_mut::<8>();
    for (chunk, group) in chunks.iter().zip(groups.iter_mut()) {
        for (place, value) in group.iter_mut().enumerate() {
            *value = bits_at::<WIDTH>(chunk, place * WIDTH);
        }
    }
    let rest = match chunks.get(groups.len()) {
        Some(_) => bytes.get(groups.len() * WIDTH..).unwrap_or_default(),
        None => rest,
    };
    unpack_plainly(rest, WIDTH, last);
}

/// The integer of `WIDTH` bits from bit `start` of `chunk` on.
#[inline(always)]
fn bits_at<const WIDTH: usize>(chunk: &[u8; WIDTH], start: usize) -> u64 {
    let (first, end) = (start / 8, start + WIDTH);
    let last = (end - 1) / 8;
    let mut value: u128 = 0;
    let mut place = first;
    while place <= last {
        value = value << 8 | u128::from(chunk[place]);
        place += 1;
    }
    let value = value >> ((last + 1) * 8 - end);
    let mask = if WIDTH == 64 { u64::MAX } else { (1 << WIDTH) - 1 };
    value as u64 & mask
}

/// The plain twin, of any width up to 64; bits that are not there are zero.
fn unpack_plainly(bytes: &[u8], width: usize, out: &mut [u64]) {
    let bit = |place: usize| bytes.get(place / 8).is_some_and(|it| it >> (7 - place % 8) & 1 == 1);
    for (place, value) in out.iter_mut().enumerate() {
        let bits = place * width..(place + 1) * width;
        *value = bits.fold(0, |value, it| value << 1 | u64::from(bit(it)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_vector::random::Generator;

    #[test]
    fn every_width_is_unpacked_as_bit_by_bit() {
        let mut random = Generator::new(3);
        for width in 1..=64 {
            for count in [0, 1, 7, 8, 9, 63, 64, 65, 512] {
                let bytes: Vec<u8> =
                    (0..packed_bytes(count, width)).map(|_| random.below(256) as u8).collect();
                let (mut fast, mut plain) = (vec![0; count], vec![0; count]);
                unpack(&bytes, width, &mut fast);
                unpack_plainly(&bytes, width as usize, &mut plain);
                assert_eq!(fast, plain, "{width} {count}");
            }
        }
    }

    #[test]
    fn codes_have_the_widths_of_the_specification() {
        let widths: Vec<u32> = (0..32).map(width_of_code).collect();
        let mut expected: Vec<u32> = (1..=24).collect();
        expected.extend(WIDE);
        assert_eq!(widths, expected);
        let storable = [0, 1, 24, 25, 27, 33, 41, 57, 64].map(storable_width);
        assert_eq!(storable, [1, 1, 24, 26, 28, 40, 48, 64, 64]);
    }
}
