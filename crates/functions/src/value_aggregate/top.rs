//! The values with the least or greatest keys.

use super::{Keys, value_bytes};
use std::cmp::Ordering;
use volley_error::{Error, Result};
use volley_types::Value;

/// Which keys are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The least ones.
    Least,
    /// The greatest ones.
    Greatest,
}

impl Choice {
    /// `order` of two keys, such that the wanted one comes first.
    pub fn wanted_first(self, order: Ordering) -> Ordering {
        match self {
            Choice::Least => order,
            Choice::Greatest => order.reverse(),
        }
    }
}

/// The `limit` wanted values of a group, sorted.
#[derive(Clone, Default)]
pub struct Top {
    /// The requested number; 0 before the first row.
    limit: usize,
    /// Keys and what is shown for them; null where that is the key.
    kept: Vec<(Value, Value)>,
    bytes: usize,
}

impl Top {
    /// The maximum number of values that may be wanted.
    pub const LIMIT_MAX: i64 = 10_000;

    /// Settles how many are wanted. The first row says so.
    ///
    /// # Errors
    ///
    /// A number that is not positive or above [`Top::LIMIT_MAX`].
    pub fn set_limit(&mut self, limit: i64) -> Result<()> {
        if !(1..=Top::LIMIT_MAX).contains(&limit) {
            let message = format!("the number of values must be from 1 to 10000: {limit}");
            return Err(Error::invalid_value(message));
        }
        if self.limit == 0 {
            self.limit = limit as usize;
        }
        Ok(())
    }

    /// The requested number; 0 before the first row.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The values, wanted ones first.
    pub fn kept(&self) -> &[(Value, Value)] {
        &self.kept
    }

    /// Adds a value; `compare`: `Less` when the first is wanted more. Of equal values those added
    /// first are kept; they stand behind those added later.
    pub fn add(
        &mut self,
        new: (Value, Value),
        compare: impl Fn(&(Value, Value), &(Value, Value)) -> Ordering,
    ) {
        if self.kept.len() >= self.limit {
            let is_behind = |last| compare(&new, last).is_ge();
            if self.kept.last().is_none_or(is_behind) {
                return;
            }
            if let Some(last) = self.kept.pop() {
                self.bytes -= Top::pair_bytes(&last);
            }
        }
        self.bytes += Top::pair_bytes(&new);
        let position = self.kept.partition_point(|it| compare(it, &new).is_lt());
        self.kept.insert(position, new);
    }

    /// Adds a value that is its own key.
    pub fn add_plain(&mut self, choice: Choice, keys: &Keys, value: Value) {
        self.add((value, Value::Null), |left, right| {
            choice.wanted_first(keys.compare(&left.0, &right.0))
        });
    }

    /// Bytes on the heap.
    pub fn bytes(&self) -> usize {
        self.kept.capacity() * size_of::<(Value, Value)>() + self.bytes
    }

    fn pair_bytes(pair: &(Value, Value)) -> usize {
        value_bytes(&pair.0) + value_bytes(&pair.1)
    }
}
