//! How near quantiles and numbers of elements are to exact ones, and malformed bytes.

use super::{Kll, SetDigest, TDigest, t_digest::DEFAULT_COMPRESSION};
use volley_functions::value_aggregate::mix;

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
    assert_eq!(sketch.rank(5, true), Some(0.01));
    assert_eq!(sketch.rank(5, false), Some(0.005));
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
        range.for_each(|it| digest.add(mix(it), 1));
        digest
    };
    for count in [0, 1, 2047] {
        assert_eq!(set_of(0..count).cardinality(), count as f64);
    }
    for count in [5_000u64, 100_000] {
        let (left, right) = (set_of(0..count), set_of(count / 2..count * 3 / 2));
        let near = |found: f64, wanted: f64| (found - wanted).abs() < wanted * 0.1;
        assert!(near(left.cardinality(), count as f64), "{}", left.cardinality());
        let both = left.intersection_cardinality(&right);
        assert!(near(both, count as f64 / 2.0), "{both}");
        let bytes = left.to_bytes();
        let back = SetDigest::from_bytes(&bytes).unwrap();
        assert_eq!(back.to_bytes(), bytes);
        assert!(SetDigest::from_bytes(&bytes[..bytes.len() - 1]).is_none());
    }
    for wrong in [&[][..], &[0], &[1, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        assert!(SetDigest::from_bytes(wrong).is_none(), "{wrong:?}");
    }
}
