//! Algorithms on texts that other packages need, too.

pub use crate::string::levenshtein;
