//! MurmurHash3_x64_128, by Austin Appleby, the hash of DataSketches and of Presto's sketches.

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// Both halves of the hash with seed 0, the least significant byte of each first.
pub(crate) fn murmur3_x64_128(bytes: &[u8]) -> [u8; 16] {
    murmur3_x64_128_seeded(bytes, 0)
}

/// Both halves of the hash, the least significant byte of each first.
pub(crate) fn murmur3_x64_128_seeded(bytes: &[u8], seed: u64) -> [u8; 16] {
    let (mut h1, mut h2) = (seed, seed);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let [k1, k2] = halves(*block);
        h1 = (h1 ^ mix1(k1)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52DC_E729);
        h2 = (h2 ^ mix2(k2)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }
    let mut last = [0; 16];
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    // What is not there is zero and changes nothing.
    let [k1, k2] = halves(last);
    h2 ^= mix2(k2);
    h1 ^= mix1(k1);
    let len = bytes.len() as u64;
    (h1, h2) = (h1 ^ len, h2 ^ len);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish(h1), finish(h2));
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (u128::from(h2) << 64 | u128::from(h1)).to_le_bytes()
}

fn halves(block: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(block);
    [both as u64, (both >> 64) as u64]
}

fn mix1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut k: u64) -> u64 {
    k = (k ^ k >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    k = (k ^ k >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    k ^ k >> 33
}
