//! How near quantiles and numbers of elements are to exact ones, and malformed bytes.

use super::{
    Kll, SetDigest, TDigest,
    aggregate::Sketch,
    approx_set::hash_of,
    hyper_log_log::{DEFAULT_BITS, HyperLogLog},
    key_hyper_log_log::KeyHyperLogLog,
    kll_bytes,
    quantile_digest::{DigestNumber, QuantileDigest},
    t_digest::DEFAULT_COMPRESSION,
};
use volley_functions::value_aggregate::mix;
use volley_types::Value;

/// A number from 0 to 1.
fn uniform(seed: u64) -> f64 {
    (mix(seed) >> 11) as f64 / (1u64 << 53) as f64
}

/// Values of several distributions, the same in every run.
fn distributions(count: u64) -> Vec<(&'static str, Vec<f64>)> {
    let each = |f: &dyn Fn(u64) -> f64| (0..count).map(f).collect::<Vec<f64>>();
    vec![
        ("uniform", each(&uniform)),
        ("ascending", each(&|it| it as f64)),
        ("descending", each(&|it| (count - it) as f64)),
        ("exponential", each(&|it| -(1.0 - uniform(it)).ln())),
        ("few values", each(&|it| (mix(it) % 5) as f64)),
        ("constant", each(&|_| 7.0)),
        ("heavy tail", each(&|it| 1.0 / (1.0 - uniform(it)).powi(3))),
    ]
}

/// How far the rank of `found` is from `fraction`: 0 while it is one of its ranks.
fn rank_error(sorted: &[f64], found: f64, fraction: f64) -> f64 {
    let count = sorted.len() as f64;
    let below = sorted.partition_point(|it| *it < found) as f64 / count;
    let up_to = sorted.partition_point(|it| *it <= found) as f64 / count;
    (below - fraction).max(fraction - up_to).max(0.0)
}

#[test]
fn quantiles_of_kll_have_near_ranks() {
    for (name, values) in distributions(100_000) {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for parts in [1, 7] {
            let mut sketches: Vec<Kll<f64>> = (0..parts).map(|_| Kll::new(200)).collect();
            for (at, value) in values.iter().enumerate() {
                assert!(sketches[at % parts].add(*value, 1));
            }
            let mut sketch = sketches.remove(0);
            assert!(sketches.iter().all(|it| sketch.merge(it)));
            assert_eq!(sketch.count(), 100_000);
            let fractions = [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0];
            let found = sketch.quantiles(&fractions).unwrap();
            for (fraction, found) in fractions.iter().zip(found) {
                let error = rank_error(&sorted, found, *fraction);
                assert!(error <= 0.0165, "{name} in {parts} at {fraction}: {error}");
            }
            assert!(sketch.heap_bytes() < 16_000, "{name}: {}", sketch.heap_bytes());
        }
    }
}

#[test]
fn small_sets_are_exact_and_small() {
    let mut sketch = Kll::new(200);
    assert!(sketch.add(5i64, 1));
    assert!(sketch.heap_bytes() < 100, "{}", sketch.heap_bytes());
    (0..199).for_each(|it| assert!(sketch.add(it * 10, 1)));
    assert_eq!(sketch.quantiles(&[0.0, 0.005, 0.01, 0.5, 1.0]).unwrap(), [0, 0, 5, 980, 1980]);
    assert_eq!(sketch.rank(&5, true), Some(0.01));
    assert_eq!(sketch.rank(&5, false), Some(0.005));
}

#[test]
fn a_weight_is_as_many_items() {
    let mut sketch = Kll::new(200);
    assert!(sketch.add(1i64, 7) && sketch.add(2, 1) && sketch.add(3, 0));
    assert_eq!(sketch.count(), 8);
    assert_eq!(sketch.quantiles(&[0.5, 0.87, 0.9]).unwrap(), [1, 1, 2]);
    assert!(!sketch.add(1, u64::MAX));
}

#[test]
fn bytes_of_kll_come_back_and_malformed_ones_are_refused() {
    let mut sketch = Kll::new(50);
    (0..10_000).for_each(|it| assert!(sketch.add(f64::from(it), 1)));
    let bytes = sketch.to_bytes();
    let back = Kll::<f64>::from_bytes(&bytes).unwrap();
    assert_eq!(back.quantiles(&[0.3, 0.8]), sketch.quantiles(&[0.3, 0.8]));
    assert!(Kll::<i64>::from_bytes(&bytes).is_none());
    for len in 0..bytes.len() {
        assert!(Kll::<f64>::from_bytes(&bytes[..len]).is_none(), "{len} bytes");
    }
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x80;
        // A changed item is another sketch; everything else is refused. Neither fails in use.
        if let Some(mut sketch) = Kll::<f64>::from_bytes(&wrong) {
            assert!(sketch.quantiles(&[0.1, 0.9]).is_some());
            assert!(sketch.merge(&back));
        }
    }
    assert!(Kll::<i64>::from_bytes(&Kll::<i64>::new(200).to_bytes()).is_some());
}

#[test]
fn quantiles_of_t_digests_have_near_ranks_at_the_ends_above_all() {
    for (name, values) in distributions(100_000) {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for parts in [1, 7] {
            let new = || TDigest::new(DEFAULT_COMPRESSION);
            let mut digests: Vec<TDigest> = (0..parts).map(|_| new()).collect();
            for (at, value) in values.iter().enumerate() {
                digests[at % parts].add(*value, 1.0);
            }
            let mut digest = digests.remove(0);
            digests.iter().for_each(|it| digest.merge(&it.compressed()));
            digest.compress();
            assert_eq!(digest.total(), 100_000.0);
            assert!(digest.centroids().len() <= 200, "{name}: {}", digest.centroids().len());
            for (fraction, allowed) in [
                (0.0, 0.0),
                (0.001, 0.001),
                (0.01, 0.003),
                (0.1, 0.01),
                (0.5, 0.015),
                (0.9, 0.01),
                (0.99, 0.003),
                (0.999, 0.001),
                (1.0, 0.0),
            ] {
                let found = digest.quantile(fraction).unwrap();
                let error = rank_error(&sorted, found, fraction);
                // Between values that are few and far apart a digest finds what is none of them.
                let near = error <= allowed || name == "few values";
                assert!(near, "{name} in {parts} at {fraction}: {error}");
            }
        }
    }
}

#[test]
fn bytes_of_t_digests_come_back_and_malformed_ones_are_refused() {
    let mut digest = TDigest::new(DEFAULT_COMPRESSION);
    (0..1000).for_each(|it| digest.add(f64::from(it), 1.0));
    let bytes = digest.to_bytes();
    let back = TDigest::from_bytes(&bytes).unwrap();
    assert_eq!(back.to_bytes(), bytes);
    assert_eq!(back.quantile(0.3), digest.compressed().quantile(0.3));
    for len in 0..bytes.len() {
        assert!(TDigest::from_bytes(&bytes[..len]).is_none(), "{len} bytes");
    }
    for at in 0..bytes.len() {
        for bit in [0x01, 0x40, 0x80] {
            let mut wrong = bytes.clone();
            wrong[at] ^= bit;
            // Another digest or none; neither fails in use.
            if let Some(mut digest) = TDigest::from_bytes(&wrong) {
                digest.merge(&back);
                digest.compress();
                assert!(digest.quantile(0.5).is_some() && digest.rank(500.0).is_some());
                assert!(digest.winsorized_mean(0.1, 0.9).is_some());
            }
        }
    }
    let empty = TDigest::from_bytes(&TDigest::new(50.0).to_bytes()).unwrap();
    assert_eq!((empty.quantile(0.5), empty.rank(1.0)), (None, None));
}

#[test]
fn digests_of_sets_count_nearly_and_refuse_malformed_bytes() {
    let set_of = |range: std::ops::Range<u64>| {
        let mut digest = SetDigest::default();
        range.for_each(|it| digest.add(mix(it)));
        digest
    };
    for count in [0, 1, 8191] {
        assert_eq!(set_of(0..count).cardinality(), count as i64);
    }
    assert_eq!(set_of(0..4).intersection_cardinality(&set_of(2..9)), Some(2));
    for count in [9_000u64, 100_000] {
        let (left, right) = (set_of(0..count), set_of(count / 2..count * 3 / 2));
        let near = |found: i64, wanted: u64| found.abs_diff(wanted as i64) < wanted / 10;
        assert!(near(left.cardinality(), count), "{}", left.cardinality());
        let both = left.intersection_cardinality(&right).unwrap();
        assert!(near(both, count / 2), "{both}");
        let bytes = left.to_bytes();
        let back = SetDigest::from_bytes(&bytes).unwrap();
        assert_eq!(back.to_bytes(), bytes);
        assert!(SetDigest::from_bytes(&bytes[..bytes.len() - 1]).is_none());
    }
    for wrong in [&[][..], &[0], &[1, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        assert!(SetDigest::from_bytes(wrong).is_none(), "{wrong:?}");
    }
}

/// Sketches that a Java worker of Presto 0.287 made of nation and orders at scale 0.01.
fn stored(name: &str) -> Vec<u8> {
    let all = include_str!("../../../../tests/presto/sketches-0.287.json");
    let line = all.lines().find(|it| it.starts_with(&format!("\"{name}\": ")));
    let hex = line.and_then(|it| it.split('"').nth(3)).expect("a sketch of this name");
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn hash_of_number(number: i64) -> u64 {
    hash_of(&Value::BigInt(number)).expect("a hash")
}

#[test]
fn stored_sketches_of_sets_come_back_and_are_made_alike() {
    let names = ["HyperLogLog", "HyperLogLog of varchar", "HyperLogLog of double"];
    for name in names.into_iter().chain(["HyperLogLog dense", "HyperLogLog of 1500"]) {
        let bytes = stored(name);
        let sketch = HyperLogLog::from_bytes(&bytes).expect(name);
        assert_eq!(sketch.to_bytes(), bytes, "{name}");
        assert_eq!(sketch.bits(), DEFAULT_BITS);
    }
    let mut made = HyperLogLog::new(DEFAULT_BITS);
    (0..25).for_each(|it| made.add(hash_of_number(it)));
    assert_eq!(made.to_bytes(), stored("HyperLogLog"));
    assert_eq!(made.estimate(), 25);
    let mut made = SetDigest::default();
    (0..25).for_each(|it| made.add(hash_of_number(it)));
    assert_eq!(made.to_bytes(), stored("SetDigest"));
    let of_texts = stored("SetDigest of varchar");
    assert_eq!(SetDigest::from_bytes(&of_texts).expect("a digest").to_bytes(), of_texts);
}

#[test]
fn dense_sketches_estimate_as_their_error_says() {
    // o_custkey has 1,000 values at this scale, and o_orderkey 15,000.
    for (name, count) in [("HyperLogLog of 1500", 1_000), ("HyperLogLog dense", 15_000)] {
        let estimate = HyperLogLog::from_bytes(&stored(name)).expect(name).estimate();
        assert!(estimate.abs_diff(count) < count as u64 * 5 / 100, "{name}: {estimate}");
    }
    // What a Java worker of 0.287 finds.
    let dense = HyperLogLog::from_bytes(&stored("HyperLogLog dense")).expect("a sketch");
    assert_eq!(dense.estimate(), 14_936);
}

#[test]
fn stored_sketches_of_identities_come_back() {
    let bytes = stored("KHyperLogLog");
    let sketch = KeyHyperLogLog::read(&bytes).expect("a sketch");
    assert_eq!(sketch.write(), bytes);
}

#[test]
fn estimates_of_all_sizes_are_near() {
    for bits in [4, 8, 12, 16] {
        let mut sketch = HyperLogLog::new(bits);
        let mut count = 0;
        for goal in [10, 100, 1_000, 10_000, 100_000, 400_000] {
            (count..goal).for_each(|it| sketch.add(hash_of_number(it)));
            count = goal;
            let error = sketch.estimate().abs_diff(goal) as f64 / goal as f64;
            let allowed = 4.0 * 1.04 / f64::from(1u32 << bits).sqrt();
            assert!(error <= allowed, "2^{bits} buckets, {goal}: {}", sketch.estimate());
        }
    }
}

#[test]
fn stored_quantile_digests_come_back_and_are_made_alike() {
    for name in ["qdigest(bigint)", "qdigest(double)", "qdigest(real)"] {
        let bytes = stored(name);
        let digest = QuantileDigest::read(&bytes).expect(name);
        assert_eq!(digest.write(), bytes, "{name}");
        assert_eq!(digest.total(), 25.0);
    }
    let number = |kind: DigestNumber, it: i32| match kind {
        DigestNumber::BigInt => Value::BigInt(it.into()),
        DigestNumber::Real => Value::Real(it as f32),
        DigestNumber::Double => Value::Double(it.into()),
    };
    for (name, kind) in [
        ("qdigest(bigint)", DigestNumber::BigInt),
        ("qdigest(double)", DigestNumber::Double),
        ("qdigest(real)", DigestNumber::Real),
    ] {
        let mut made = QuantileDigest::new(0.01);
        (0..25).for_each(|it| made.add(kind.encode(&number(kind, it)).expect("a number"), 1.0));
        assert_eq!(made.write(), stored(name), "{name}");
        let found: Vec<Value> =
            made.quantiles(&[0.0, 0.5, 1.0]).into_iter().map(|it| kind.decode(it)).collect();
        assert_eq!(found, [0, 12, 24].map(|it| number(kind, it)), "{name}");
    }
}

#[test]
fn numbers_of_digests_keep_their_order() {
    let numbers = [f64::NEG_INFINITY, -1e300, -2.5, -0.0, 0.0, 1e-300, 3.75, f64::INFINITY];
    let codes: Vec<i64> =
        numbers.iter().filter_map(|it| DigestNumber::Double.encode(&Value::Double(*it))).collect();
    assert!(codes.is_sorted_by(|left, right| left < right), "{codes:?}");
    for (number, code) in numbers.iter().zip(codes) {
        assert_eq!(DigestNumber::Double.decode(code), Value::Double(*number));
        let real = Value::Real(*number as f32);
        let code = DigestNumber::Real.encode(&real).expect("a number");
        assert_eq!(DigestNumber::Real.decode(code), real);
    }
    let nan = DigestNumber::Double.encode(&Value::Double(-f64::NAN));
    assert_eq!(nan, DigestNumber::Double.encode(&Value::Double(f64::NAN)));
    assert_eq!(DigestNumber::BigInt.encode(&Value::Null), None);
}

#[test]
fn quantiles_of_quantile_digests_have_near_ranks() {
    for (name, values) in distributions(100_000) {
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        for parts in [1, 7] {
            let mut digests = vec![QuantileDigest::new(0.01); parts];
            for (at, value) in values.iter().enumerate() {
                let number = DigestNumber::Double.encode(&Value::Double(*value));
                digests[at % parts].add(number.expect("a number"), 1.0);
            }
            let mut digest = digests.remove(0);
            for other in &digests {
                digest.merge(&QuantileDigest::read(&other.write()).expect("its own bytes"));
            }
            assert_eq!(digest.total(), 100_000.0);
            assert!(digest.bytes() < 4 << 20, "{name}: {}", digest.bytes());
            let fractions = [0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0];
            for (fraction, found) in fractions.iter().zip(digest.quantiles(&fractions)) {
                let Value::Double(found) = DigestNumber::Double.decode(found) else { panic!() };
                let error = rank_error(&sorted, found, *fraction);
                assert!(error <= 0.0101, "{name} in {parts} at {fraction}: {error}");
            }
            let code = DigestNumber::Double.encode(&Value::Double(sorted[50_000])).unwrap_or(0);
            let below = sorted.partition_point(|it| *it < sorted[50_000]) as f64 / 100_000.0;
            let rank = digest.rank(code).expect("a rank");
            assert!((rank - below).abs() <= 0.0101, "{name} in {parts}: {rank} {below}");
        }
    }
}

#[test]
fn malformed_quantile_digests_are_refused() {
    let mut digest = QuantileDigest::new(0.1);
    (0..3_000).for_each(|it| digest.add(it * 7 % 1_000, 1.0));
    let bytes = digest.write();
    for len in 0..bytes.len() {
        assert!(QuantileDigest::read(&bytes[..len]).is_none(), "{len} bytes");
    }
    for at in 0..bytes.len() {
        for bit in [0x01, 0x04, 0x40, 0x80] {
            let mut wrong = bytes.clone();
            wrong[at] ^= bit;
            // Another digest or none; neither fails in use.
            if let Some(mut other) = QuantileDigest::read(&wrong) {
                other.merge(&digest);
                other.add(5, 2.0);
                other.scale(0.5);
                assert_eq!(other.quantiles(&[0.0, 0.5, 1.0]).len(), 3);
                let _ = other.rank(500);
                assert!(QuantileDigest::read(&other.write()).is_some());
            }
        }
    }
    let empty = QuantileDigest::new(0.01);
    assert_eq!(QuantileDigest::read(&empty.write()).map(|it| it.total()), Some(0.0));
    assert_eq!(empty.rank(5), None);
}

#[test]
fn sketches_become_dense_where_those_of_java_do() {
    for bits in [4, 11, 12, 16] {
        let mut sketch = HyperLogLog::new(bits);
        let is_sparse = |it: &HyperLogLog| it.to_bytes()[0] == 2;
        let mut count = 0;
        while is_sparse(&sketch) {
            sketch.add(hash_of_number(count));
            count += 1;
            let bytes = sketch.to_bytes();
            let back = HyperLogLog::from_bytes(&bytes).expect("its own bytes");
            assert_eq!(back.to_bytes(), bytes);
        }
        // 4 bytes each, in steps of 10, against half a byte per bucket.
        let most = (1 << bits >> 1) / 4 + 14;
        assert!(count <= most, "2^{bits} buckets: {count}");
        let mut merged = HyperLogLog::new(bits);
        let mut other = HyperLogLog::new(bits);
        (0..count).for_each(|it| {
            let part = if it % 2 == 0 { &mut merged } else { &mut other };
            part.add(hash_of_number(it));
        });
        assert!(merged.merge(&other));
        assert_eq!(merged.estimate(), sketch.estimate());
        assert!(!merged.merge(&HyperLogLog::new(if bits == 4 { 5 } else { 4 })));
    }
    assert_eq!(HyperLogLog::bits_of_error(0.01625), Some(DEFAULT_BITS));
    assert_eq!(HyperLogLog::bits_of_error(0.5), None);
}

#[test]
fn malformed_sketches_are_refused() {
    for name in ["HyperLogLog", "HyperLogLog dense"] {
        let bytes = stored(name);
        for len in 0..bytes.len() {
            assert!(HyperLogLog::from_bytes(&bytes[..len]).is_none(), "{name}: {len} bytes");
        }
        for at in 0..bytes.len().min(200) {
            for bit in [0x01, 0x40, 0x80] {
                let mut wrong = bytes.clone();
                wrong[at] ^= bit;
                // Another sketch or none; neither fails in use.
                if let Some(sketch) = HyperLogLog::from_bytes(&wrong) {
                    let _ = sketch.estimate();
                    assert!(HyperLogLog::from_bytes(&sketch.to_bytes()).is_some());
                }
            }
        }
    }
}

#[test]
fn stored_digests_of_numbers_have_near_quantiles() {
    let digest = TDigest::from_bytes(&stored("tdigest(double)")).expect("a digest");
    assert_eq!(digest.to_bytes(), stored("tdigest(double)"));
    assert_eq!(
        (digest.total(), digest.quantile(0.0), digest.quantile(1.0)),
        (25.0, Some(0.0), Some(24.0))
    );
    let weighted = TDigest::from_bytes(&stored("tdigest(double) with weights")).expect("a digest");
    assert_eq!(weighted.total(), 75.0);
    let many = TDigest::from_bytes(&stored("tdigest(double) of 15000")).expect("a digest");
    assert_eq!(many.total(), 15_000.0);
    assert!(many.quantile(0.5).is_some_and(|it| (100_000.0..200_000.0).contains(&it)));
}

#[test]
fn stored_kll_sketches_come_back_and_are_made_alike() {
    let stored_bigint = stored("kllsketch(bigint)");
    let mut made = Kll::<i64>::new(200);
    (0..25).for_each(|it| assert!(made.add(it, 1)));
    assert_eq!(kll_bytes::write(&made), stored_bigint);
    let back = kll_bytes::read::<i64>(&stored_bigint).expect("a sketch");
    assert_eq!((back.count(), back.bounds(), back.quantile(0.5, true)), (25, (0, 24), Some(12)));
    let doubles = stored("kllsketch(double)");
    let back = kll_bytes::read::<f64>(&doubles).expect("a sketch");
    assert_eq!((back.bounds(), kll_bytes::write(&back)), ((0.0, 24.0), doubles));
    let many = stored("kllsketch(bigint) of 15000");
    let mut back = kll_bytes::read::<i64>(&many).expect("a sketch");
    assert_eq!((back.count(), back.bounds(), kll_bytes::write(&back)), (15_000, (1, 1_499), many));
    let median = back.quantile(0.5, true).expect("an item");
    assert!((700..800).contains(&median), "{median}");
    // It goes on as one of ours.
    (0..100_000).for_each(|it| assert!(back.add(it % 1_500, 1)));
    let again = kll_bytes::read::<i64>(&kll_bytes::write(&back)).expect("its own bytes");
    assert_eq!((again.count(), again.quantile(0.3, true)), (115_000, back.quantile(0.3, true)));
}

#[test]
fn stored_kll_sketches_of_texts_and_truth_values_come_back() {
    let texts = stored("kllsketch(varchar)");
    let sketch = kll_bytes::read::<String>(&texts).expect("a sketch");
    assert_eq!((sketch.count(), kll_bytes::write(&sketch)), (25, texts.clone()));
    let bounds = ("ALGERIA".to_owned(), "VIETNAM".to_owned());
    assert_eq!(sketch.bounds(), bounds);
    assert_eq!(sketch.rank(&bounds.1, false), Some(0.96));
    let truths = stored("kllsketch(boolean)");
    let mut sketch = kll_bytes::read::<bool>(&truths).expect("a sketch");
    assert_eq!((sketch.bounds(), kll_bytes::write(&sketch)), ((false, true), truths.clone()));
    assert_eq!(sketch.rank(&false, true), Some(0.16));
    (0..1_000).for_each(|it| assert!(sketch.add(it % 4 == 0, 1)));
    let back = kll_bytes::read::<bool>(&kll_bytes::write(&sketch)).expect("its own bytes");
    assert_eq!(back.rank(&true, false), sketch.rank(&true, false));
    for (bytes, name) in [(texts, "varchar"), (truths, "boolean")] {
        for len in 0..bytes.len() {
            let is_text = kll_bytes::read::<String>(&bytes[..len]).is_some();
            let is_truth = kll_bytes::read::<bool>(&bytes[..len]).is_some();
            assert!(!is_text || name != "varchar", "{len} bytes");
            assert!(!is_truth || name != "boolean", "{len} bytes");
        }
    }
    let mut long = Kll::<String>::new(50);
    (0..5_000).for_each(|it| assert!(long.add(format!("text {it:05}"), 1)));
    assert!(long.heap_bytes() > 50 * 10, "{}", long.heap_bytes());
    let back = kll_bytes::read::<String>(&kll_bytes::write(&long)).expect("its own bytes");
    assert_eq!(back.quantile(0.5, true), long.quantile(0.5, true));
}

#[test]
fn all_sizes_of_kll_sketches_come_back_and_malformed_bytes_are_refused() {
    for k in [8, 50, 200, 1000] {
        let mut sketch = Kll::<i64>::new(k);
        for count in 0..3_000 {
            if count < 20 || count % 97 == 0 {
                let back = kll_bytes::read::<i64>(&kll_bytes::write(&sketch)).expect("a sketch");
                assert_eq!(back.count(), sketch.count());
                for fraction in [0.0, 0.3, 0.5, 1.0] {
                    let quantile = |it: &Kll<i64>| it.quantile(fraction, true);
                    assert_eq!(quantile(&back), quantile(&sketch), "{k} {count}");
                }
            }
            assert!(sketch.add(count * 7 % 1_000, 1));
        }
        let mut heavy = Kll::<i64>::new(k);
        assert!(heavy.add(1, 1 << 40) && heavy.merge(&sketch));
        assert_eq!(
            kll_bytes::read::<i64>(&kll_bytes::write(&heavy)).map(|it| it.count()),
            Some(heavy.count())
        );
    }
    let bytes = stored("kllsketch(bigint) of 15000");
    for len in 0..bytes.len() {
        assert!(kll_bytes::read::<i64>(&bytes[..len]).is_none(), "{len} bytes");
    }
    for at in 0..64 {
        for bit in [0x01, 0x40, 0x80] {
            let mut wrong = bytes.clone();
            wrong[at] ^= bit;
            if let Some(mut sketch) = kll_bytes::read::<i64>(&wrong) {
                assert!(sketch.quantile(0.5, true).is_some() && sketch.add(3, 1));
            }
        }
    }
}
