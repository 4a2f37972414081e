//! Distances between texts.

use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{BigInt, Varchar, binary},
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

/// The fewest characters to insert, delete or replace to make one text the other.
///
/// Cost: the product of their lengths.
pub fn levenshtein(left: &str, right: &str) -> i64 {
    let right: Vec<char> = right.chars().collect();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        above[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = above[j + 1];
            above[j + 1] = replaced.min(above[j] + 1).min(diagonal + 1);
        }
    }
    above[right.len()] as i64
}

fn hamming(left: &str, right: &str) -> Result<i64, Error> {
    if left.chars().count() != right.chars().count() {
        let message = format!("texts of different lengths: '{left}', '{right}'");
        return Err(Error::invalid_value(message));
    }
    Ok(left.chars().zip(right.chars()).filter(|(a, b)| a != b).count() as i64)
}
