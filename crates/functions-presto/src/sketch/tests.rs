//! How near quantiles are to exact ones, and malformed bytes.

use super::Kll;
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
