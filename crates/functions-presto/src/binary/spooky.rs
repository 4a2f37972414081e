//! SpookyHash V2, by Bob Jenkins (public domain), with seeds 0.

const PLACEHOLDER: u64 = 0xDEAD_BEEF_DEAD_BEEF;
/// Shorter messages have a state of four words, longer ones of twelve.
const LONG_BYTES_MIN: usize = 192;
const BLOCK_BYTES: usize = 96;

/// Both words of the hash; the first one, and its lower half, are the shorter hashes.
pub(super) fn spooky_v2(message: &[u8]) -> [u64; 2] {
    if message.len() < LONG_BYTES_MIN { short(message) } else { long(message) }
}

/// Words of bytes, the least significant byte first.
fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        *word = u64::from_le_bytes(padded);
    }
    words
}

fn short(message: &[u8]) -> [u64; 2] {
    let mut state = [0, 0, PLACEHOLDER, PLACEHOLDER];
    let (blocks, rest) = message.as_chunks::<32>();
    for block in blocks {
        let [a, b, c, d] = words::<4>(block);
        add(&mut state, 2, [a, b]);
        short_mix(&mut state);
        add(&mut state, 0, [c, d]);
    }
    let mut rest = rest;
    if let Some((block, after)) = rest.split_at_checked(16) {
        add(&mut state, 2, words::<2>(block));
        short_mix(&mut state);
        rest = after;
    }
    let last = if rest.is_empty() { [PLACEHOLDER; 2] } else { words::<2>(rest) };
    add(&mut state, 2, [last[0], last[1].wrapping_add((message.len() as u64) << 56)]);
    short_end(&mut state);
    [state[0], state[1]]
}

fn add(state: &mut [u64; 4], at: usize, values: [u64; 2]) {
    state[at] = state[at].wrapping_add(values[0]);
    state[at + 1] = state[at + 1].wrapping_add(values[1]);
}

fn short_mix(h: &mut [u64; 4]) {
    for (step, bits) in [50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36].into_iter().enumerate() {
        let at = (step + 2) % 4;
        h[at] = h[at].rotate_left(bits).wrapping_add(h[(at + 1) % 4]);
        h[(at + 2) % 4] ^= h[at];
    }
}

fn short_end(h: &mut [u64; 4]) {
    for (step, bits) in [15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63].into_iter().enumerate() {
        let (at, before) = ((step + 3) % 4, (step + 2) % 4);
        h[at] ^= h[before];
        h[before] = h[before].rotate_left(bits);
        h[at] = h[at].wrapping_add(h[before]);
    }
}

fn long(message: &[u8]) -> [u64; 2] {
    let mut state = [0, 0, PLACEHOLDER, 0, 0, PLACEHOLDER, 0, 0, PLACEHOLDER, 0, 0, PLACEHOLDER];
    let (blocks, rest) = message.as_chunks::<BLOCK_BYTES>();
    blocks.iter().for_each(|it| mix(&mut state, words(it)));
    let mut last = [0; BLOCK_BYTES];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    last[BLOCK_BYTES - 1] = rest.len() as u8;
    let added: [u64; 12] = words(&last);
    state.iter_mut().zip(added).for_each(|(to, from)| *to = to.wrapping_add(from));
    (0..3).for_each(|_| end_part(&mut state));
    [state[0], state[1]]
}

fn mix(s: &mut [u64; 12], data: [u64; 12]) {
    const BITS: [u32; 12] = [11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46];
    for at in 0..12 {
        s[at] = s[at].wrapping_add(data[at]);
        s[(at + 2) % 12] ^= s[(at + 10) % 12];
        s[(at + 11) % 12] ^= s[at];
        s[at] = s[at].rotate_left(BITS[at]);
        s[(at + 11) % 12] = s[(at + 11) % 12].wrapping_add(s[(at + 1) % 12]);
    }
}

fn end_part(h: &mut [u64; 12]) {
    const BITS: [u32; 12] = [44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54];
    for at in 0..12 {
        let (next, last) = ((at + 1) % 12, (at + 11) % 12);
        h[last] = h[last].wrapping_add(h[next]);
        h[(at + 2) % 12] ^= h[last];
        h[next] = h[next].rotate_left(BITS[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::spooky_v2;

    /// Hashes that the reference implementation gives.
    #[test]
    fn hashes_are_those_of_the_reference() {
        let bytes: Vec<u8> = (0..1000).map(|it| (it % 251) as u8).collect();
        assert_eq!(spooky_v2(b"")[0], 0x2327_06FC_6BF5_0919);
        assert_eq!(spooky_v2(b"abc")[0], 0x8AAB_15F7_7537_C967);
        let text = b"hello world, this is more than sixteen";
        assert_eq!(spooky_v2(text)[0], 0xBC0A_3869_4B6E_568E);
        assert_eq!(spooky_v2(&bytes[..200])[0], 0xFE37_A876_7083_5F72);
        assert_eq!(spooky_v2(&bytes)[0], 0x933A_2FD9_41EF_D7FE);
    }
}
