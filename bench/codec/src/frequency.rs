//! The frequency of the core, by a chain of instructions of known latency.

use std::{hint::black_box, time::Instant};

/// Links of the chain.
const LINKS: u32 = 100_000;

/// A multiplication takes 3 cycles and an addition 1, on every x86-64 of the last fifteen years.
const CYCLES_PER_LINK: u32 = 4;

/// Cycles per nanosecond, now.
pub fn gigahertz() -> f64 {
    let (factor, summand) = black_box((6_364_136_223_846_793_005u64, 1u64));
    let started = Instant::now();
    let mut value = factor;
    for _ in 0..LINKS {
        value = value.wrapping_mul(factor).wrapping_add(summand);
    }
    black_box(value);
    f64::from(LINKS * CYCLES_PER_LINK) / started.elapsed().as_nanos() as f64
}
