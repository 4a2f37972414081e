//! Matching texts against patterns: LIKE, GLOB and regular expressions.
//!
//! A constant pattern is compiled once, when the expression is. Patterns that come from a column
//! are compiled as they appear and kept for the batch, a bounded number of them and of their bytes.

mod glob;
mod like;
mod matcher;
mod regexp;
mod regexp_list;
mod regexp_groups;
mod expression;
#[cfg(test)]
mod tests;

pub use like::matches_like;

use regex::Regex;
use std::{cell::RefCell, collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_function::Registry;

/// Registers the functions on patterns.
pub(crate) fn register(registry: &mut Registry) {
    like::register(registry);
    regexp::register(registry);
    regexp_list::register(registry);
    regexp_groups::register(registry);
}

/// The most compiled patterns kept at once, and the most bytes of them. Matching may take about as
/// many bytes again.
const PATTERNS_MAX: usize = 256;
const PATTERNS_BYTES_MAX: usize = 8 << 20;

/// The sizes that an expression is compiled to if they suffice, in bytes; beyond the last one it is
/// refused. The first one makes as much of 256 patterns as is kept.
const EXPRESSION_BYTES: [usize; 4] = [32 << 10, 256 << 10, 2 << 20, 10 << 20];

/// A compiled pattern.
pub struct Compiled<T> {
    /// It.
    pub pattern: T,
    /// The maximum number of bytes that it takes.
    pub bytes: usize,
}

/// Compiles an expression by `build`, which gets the bytes that it may take.
///
/// # Errors
///
/// Those of `build`.
pub fn compile_within(
    build: impl Fn(usize) -> Result<Regex, regex::Error>,
) -> Result<Compiled<Regex>, regex::Error> {
    let [smaller @ .., largest] = EXPRESSION_BYTES;
    for bytes in smaller {
        match build(bytes) {
            Err(regex::Error::CompiledTooBig(_)) => {}
            built => return built.map(|pattern| Compiled { pattern, bytes }),
        }
    }
    build(largest).map(|pattern| Compiled { pattern, bytes: largest })
}

/// Patterns compiled during one batch, by their text.
pub struct PatternCache<T> {
    kept: RefCell<Kept<T>>,
}

struct Kept<T> {
    patterns: HashMap<String, Arc<T>>,
    bytes: usize,
    /// The last pattern of each value of [`slot_of`].
    recent: [Option<(String, Arc<T>)>; RECENT_SLOTS],
    /// How many patterns were found in `recent`.
    #[cfg(test)]
    recent_hits: usize,
}

/// Patterns that are found without a hash of all their bytes.
const RECENT_SLOTS: usize = 64;

/// A number below [`RECENT_SLOTS`], from the length and the ends of a text.
fn slot_of(text: &str) -> usize {
    let bytes = text.as_bytes();
    let end = |it: Option<&[u8; 4]>| it.map_or(0, |it| u32::from_le_bytes(*it));
    let ends = match bytes.len() {
        0..4 => bytes.iter().fold(0, |all, it| all << 8 | u32::from(*it)),
        _ => end(bytes.first_chunk()) ^ end(bytes.last_chunk()).rotate_left(13),
    };
    let mixed = (ends ^ bytes.len() as u32).wrapping_mul(0x9E37_79B1);
    (mixed >> 26) as usize % RECENT_SLOTS
}

impl<T> Default for PatternCache<T> {
    fn default() -> PatternCache<T> {
        let recent = [const { None }; RECENT_SLOTS];
        PatternCache {
            kept: RefCell::new(Kept {
                patterns: HashMap::new(),
                bytes: 0,
                recent,
                #[cfg(test)]
                recent_hits: 0,
            }),
        }
    }
}

impl<T> PatternCache<T> {
    /// What `pattern` is compiled to, by `compile` where it is not kept.
    ///
    /// # Errors
    ///
    /// Those of `compile`.
    pub fn get(
        &self,
        pattern: &str,
        compile: impl FnOnce() -> Result<Compiled<T>>,
    ) -> Result<Arc<T>> {
        let mut kept = self.kept.borrow_mut();
        let slot = slot_of(pattern);
        if let Some((text, found)) = &kept.recent[slot]
            && text == pattern
        {
            let found = Arc::clone(found);
            #[cfg(test)]
            {
                kept.recent_hits += 1;
            }
            return Ok(found);
        }
        let found = kept.get_by_hash(pattern, compile)?;
        kept.recent[slot] = Some((pattern.to_owned(), Arc::clone(&found)));
        Ok(found)
    }

    /// How many patterns were found without a hash of all their bytes.
    #[cfg(test)]
    fn recent_hits(&self) -> usize {
        self.kept.borrow().recent_hits
    }
}

impl<T> Kept<T> {
    fn get_by_hash(
        &mut self,
        pattern: &str,
        compile: impl FnOnce() -> Result<Compiled<T>>,
    ) -> Result<Arc<T>> {
        if let Some(found) = self.patterns.get(pattern) {
            return Ok(Arc::clone(found));
        }
        let new = compile()?;
        let bytes = new.bytes.saturating_add(pattern.len());
        // The newest one is always kept.
        if self.patterns.len() >= PATTERNS_MAX
            || self.bytes.saturating_add(bytes) > PATTERNS_BYTES_MAX
        {
            self.patterns.clear();
            self.recent.fill(None);
            self.bytes = 0;
        }
        self.bytes += bytes;
        let new = Arc::new(new.pattern);
        self.patterns.insert(pattern.to_owned(), Arc::clone(&new));
        Ok(new)
    }
}
