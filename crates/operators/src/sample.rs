//! Keeps rows by chance, or gives them random numbers.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use std::hash::{BuildHasher, RandomState};
use volley_error::Result;
use volley_exec::Transform;
use volley_plan::SampleMethod;
use volley_types::Type;
use volley_vector::{Batch, ScalarBuffer, Vector};

/// The numbers of one driver.
pub(crate) struct Chance(u64);

impl Chance {
    /// With a seed, always the same ones for a driver.
    pub(crate) fn new(seed: Option<u64>, driver: usize) -> Chance {
        let start = seed.unwrap_or_else(|| RandomState::new().hash_one(driver));
        let mut chance = Chance(start ^ (driver as u64).rotate_left(32));
        chance.next();
        chance
    }

    /// The next number (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Whether something of this probability happens.
    fn happens(&mut self, probability: f64) -> bool {
        // 53 bits: all that a DOUBLE holds.
        let number = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        number < probability
    }
}

/// The operator.
pub(crate) struct Sample {
    method: SampleMethod,
    chance: Chance,
}

impl Sample {
    pub(crate) fn new(method: SampleMethod, chance: Chance) -> Sample {
        Sample { method, chance }
    }

    /// What is kept of a batch, if anything is.
    fn sampled(&mut self, batch: Batch) -> Option<Batch> {
        let rows = batch.rows();
        match self.method {
            SampleMethod::Batches(share) => self.chance.happens(share).then_some(batch),
            SampleMethod::Rows(share) => {
                let kept = (0..rows as u32).filter(|_| self.chance.happens(share));
                let kept: ScalarBuffer<u32> = kept.collect::<Vec<u32>>().into();
                match kept.len() {
                    0 => None,
                    len if len == rows => Some(batch),
                    _ => Some(batch.wrap(&kept)),
                }
            }
            SampleMethod::Number => {
                let numbers: Vec<i64> = (0..rows).map(|_| self.chance.next() as i64).collect();
                let mut columns = batch.into_columns();
                columns.push(Vector::native::<i64>(Type::BigInt, numbers, None));
                Some(Batch::new(columns, rows))
            }
        }
    }
}

impl Transform for Sample {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        Ok(self.sampled(batch))
    }
}
