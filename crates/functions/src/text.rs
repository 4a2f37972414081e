//! Algorithms on texts that other packages need, too.

pub use crate::string::{Transpositions, jaro_winkler, levenshtein, push_digits, push_percent};
