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
}

impl<T> Default for PatternCache<T> {
    fn default() -> PatternCache<T> {
        PatternCache { kept: RefCell::new(Kept { patterns: HashMap::new(), bytes: 0 }) }
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
        if let Some(found) = kept.patterns.get(pattern) {
            return Ok(Arc::clone(found));
        }
        let new = compile()?;
        let bytes = new.bytes.saturating_add(pattern.len());
        // The newest one is always kept.
        if kept.patterns.len() >= PATTERNS_MAX
            || kept.bytes.saturating_add(bytes) > PATTERNS_BYTES_MAX
        {
            kept.patterns.clear();
            kept.bytes = 0;
        }
        kept.bytes += bytes;
        let new = Arc::new(new.pattern);
        kept.patterns.insert(pattern.to_owned(), Arc::clone(&new));
        Ok(new)
    }
}
