use super::*;

fn random_values<T: Lane>(random: &mut fastrand::Rng, width: usize) -> Vec<T> {
    (0..VECTOR).map(|_| T::narrow(random.u64(..)) & T::mask(width)).collect()
}

/// Bit by bit, by the drawing.
fn naive<T: Lane>(words: &[u8], width: usize, index: usize) -> u64 {
    let (row, lane) = (index / T::LANES, index % T::LANES);
    (0..width).fold(0, |value, bit| {
        let (word, at) = ((row * width + bit) / T::BITS, (row * width + bit) % T::BITS);
        let byte = word * ROW_BYTES + lane * T::BITS / 8 + at / 8;
        value | u64::from(words[byte] >> (at % 8) & 1) << bit
    })
}

fn check_all_widths<T: Lane>() {
    let mut random = fastrand::Rng::with_seed(3);
    for width in 0..=T::BITS {
        let codes = random_values::<T>(&mut random, width);
        let base = T::narrow(random.u64(..));
        let values: Vec<T> = codes.iter().map(|it| it.plus(base)).collect();
        let mut words = vec![7];
        pack(&values, base, width, &mut words);
        let words = &words[1..];
        assert_eq!(words.len(), packed_bytes(width));
        let mut out = Vec::with_capacity(VECTOR + 1);
        out.push(T::MAX);
        unpack(words, width, base, &mut out);
        assert_eq!(out[0], T::MAX);
        assert_eq!(out[1..], values, "width {width}");
        for (index, code) in codes.iter().enumerate() {
            assert_eq!(naive::<T>(words, width, index), code.wide());
            assert_eq!(unpack_one::<T>(words, width, index), *code);
        }
        check_every_cpu(words, width, base, &values);
    }
}

/// The loop as compiled for each set of instructions.
fn check_every_cpu<T: Lane>(words: &[u8], width: usize, base: T, expected: &[T]) {
    let made = |run: &dyn Fn(&mut [MaybeUninit<T>])| {
        let mut out = Vec::with_capacity(VECTOR);
        run(&mut out.spare_capacity_mut()[..VECTOR]);
        // SAFETY: the kernel fills all of them.
        unsafe { out.set_len(VECTOR) };
        out
    };
    let map = |it: T| it.plus(base);
    let integers = std::marker::PhantomData::<T>;
    for variant in cpu::variants() {
        let out = made(&|room| variant.run(Unpack { words, width, map, room, integers }));
        assert_eq!(out, expected, "{variant:?}");
    }
}

#[test]
fn every_width_of_every_integer_packs_and_unpacks() {
    check_all_widths::<u8>();
    check_all_widths::<u16>();
    check_all_widths::<u32>();
    check_all_widths::<u64>();
}

fn check_short<T: Lane>() {
    let mut random = fastrand::Rng::with_seed(4);
    for width in 0..=T::BITS {
        for len in [0, 1, 2, 7, 8, 9, 63, 1000] {
            let base = T::narrow(random.u64(..));
            let codes = random_values::<T>(&mut random, width);
            let values: Vec<T> = codes[..len].iter().map(|it| it.plus(base)).collect();
            let mut bytes = Vec::new();
            pack_short(&values, base, width, &mut bytes);
            assert_eq!(bytes.len(), short_bytes(len, width));
            for (index, value) in values.iter().enumerate() {
                assert_eq!(unpack_short_one::<T>(&bytes, width, index).plus(base), *value);
            }
        }
    }
}

#[test]
fn few_integers_pack_one_after_the_other() {
    check_short::<u8>();
    check_short::<u16>();
    check_short::<u32>();
    check_short::<u64>();
}

#[test]
fn bits_beyond_the_width_are_not_packed() {
    let values: Vec<u32> = (0..1024u32).map(|it| it.wrapping_mul(5_000_011)).collect();
    let mut words = Vec::new();
    pack(&values, 0, 7, &mut words);
    let mut out = Vec::with_capacity(VECTOR);
    unpack(&words, 7, 0, &mut out);
    assert!(out.iter().zip(&values).all(|(out, value)| *out == value & 127));
}
