//! Matching texts against patterns: LIKE, GLOB and regular expressions.
//!
//! A constant pattern is compiled once, when the expression is. Patterns that come from a column
//! are compiled as they appear and kept for the batch, a bounded number of them.

mod glob;
mod like;
mod matcher;
mod regexp;
mod regexp_list;
mod regexp_groups;
mod expression;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::HashMap, rc::Rc};
use volley_error::Result;
use volley_function::Registry;

/// Registers the functions on patterns.
pub(crate) fn register(registry: &mut Registry) {
    like::register(registry);
    regexp::register(registry);
    regexp_list::register(registry);
    regexp_groups::register(registry);
}

/// The most compiled patterns kept at once.
const PATTERNS_MAX: usize = 256;

/// Patterns compiled during one batch, by their text.
struct Cache<T> {
    compiled: RefCell<HashMap<String, Rc<T>>>,
}

impl<T> Cache<T> {
    fn new() -> Cache<T> {
        Cache { compiled: RefCell::new(HashMap::new()) }
    }

    fn get(&self, pattern: &str, compile: impl FnOnce() -> Result<T>) -> Result<Rc<T>> {
        let mut compiled = self.compiled.borrow_mut();
        if let Some(found) = compiled.get(pattern) {
            return Ok(Rc::clone(found));
        }
        if compiled.len() >= PATTERNS_MAX {
            compiled.clear();
        }
        let new = Rc::new(compile()?);
        compiled.insert(pattern.to_owned(), Rc::clone(&new));
        Ok(new)
    }
}
