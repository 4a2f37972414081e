//! Distances between texts.

use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{BigInt, CancelCheck, Scratch, Varchar, binary},
};

/// Registers `levenshtein` and `hamming`.
pub(super) fn register(registry: &mut Registry) {
    let levenshtein_doc = doc(
        "levenshtein(varchar, varchar) -> bigint",
        "The fewest characters to insert, delete or replace to make one text the other.",
        "string",
        &[("levenshtein('kitten', 'sitting')", "3")],
    );
    for name in ["levenshtein", "editdist3"] {
        let bind = binary::<Varchar, Varchar, BigInt, _>(levenshtein);
        registry.add_scalar(name, levenshtein_doc.clone(), bind);
    }
    let hamming_doc = doc(
        "hamming(varchar, varchar) -> bigint",
        "The number of places where two texts of the same length differ.",
        "string",
        &[("hamming('abc', 'abd')", "1")],
    );
    for name in ["hamming", "mismatches"] {
        let bind = binary::<Varchar, Varchar, BigInt, _>(hamming);
        registry.add_scalar(name, hamming_doc.clone(), bind);
    }
}

/// The minimum number of characters to insert, delete or replace to make one text the other.
///
/// Cost: the product of their lengths; 8 bytes for each character of the shorter text. Any number
/// when the call that asks has no memory for that, or the query is cancelled.
pub fn levenshtein(left: &str, right: &str) -> i64 {
    let (left, right) = if left.len() < right.len() { (right, left) } else { (left, right) };
    let bytes = right.len().saturating_mul(size_of::<char>() + size_of::<u32>());
    let Some(_scratch) = Scratch::of(bytes) else { return 0 };
    let right: Vec<char> = right.chars().collect();
    // Texts have fewer than 2^32 characters.
    let mut above: Vec<u32> = (0..=right.len() as u32).collect();
    let mut cancel = CancelCheck::default();
    for (a, i) in left.chars().zip(0..) {
        if !cancel.go_on(right.len()) {
            return 0;
        }
        let mut diagonal: u32 = i;
        above[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let replaced = diagonal + u32::from(a != b);
            diagonal = above[j + 1];
            above[j + 1] = replaced.min(above[j] + 1).min(diagonal + 1);
        }
    }
    i64::from(above[right.len()])
}

fn hamming(left: &str, right: &str) -> Result<i64, Error> {
    if left.chars().count() != right.chars().count() {
        let message = format!("texts of different lengths: '{left}', '{right}'");
        return Err(Error::invalid_value(message));
    }
    Ok(left.chars().zip(right.chars()).filter(|(a, b)| a != b).count() as i64)
}
