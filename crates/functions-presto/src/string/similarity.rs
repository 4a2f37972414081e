//! How alike texts are, and samples of keys.

use super::doc;
use twox_hash::XxHash64;
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_functions::text::{Transpositions, jaro_winkler as jaro_winkler_of};

/// The most pairs of code points that a function compares.
const PAIRS_MAX: usize = 1_000_000;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let levenshtein_doc = doc(
        "levenshtein_distance(varchar, varchar) -> bigint",
        "The fewest code points to insert, delete or replace to make one text the other.",
        &[("levenshtein_distance('kitten', 'sitting')", "3")],
    );
    registry.simple("presto.levenshtein_distance", levenshtein_doc, |left: &str, right: &str| {
        let lengths = [left, right].map(super::code_points);
        check_pairs(lengths[0].max(lengths[1]), lengths[0].min(lengths[1]))?;
        Ok::<i64, Error>(volley_functions::text::levenshtein(left, right))
    });
    let jaro = doc(
        "jarowinkler_similarity(varchar, varchar) -> double",
        "The Jaro-Winkler similarity, from 0 to 1, to two digits.",
        &[("jarowinkler_similarity('hello', 'hallo')", "0.88")],
    );
    registry.simple("presto.jarowinkler_similarity", jaro, jaro_winkler);
    let sampling = doc(
        "key_sampling_percent(varchar) -> double",
        "A number from 0 to 1 that depends on the text alone, to take the same part of keys \
         everywhere.",
        &[("key_sampling_percent('abc') < 1", "true")],
    );
    registry.simple("presto.key_sampling_percent", sampling, |key: &str| {
        let hash = f64::from_bits(XxHash64::oneshot(0, key.as_bytes()));
        hash.abs() % 100.0 / 100.0
    });
}

fn check_pairs(left: usize, right: usize) -> Result<()> {
    let pairs = left.saturating_mul(right.saturating_sub(1));
    if pairs <= PAIRS_MAX {
        return Ok(());
    }
    let message = format!("texts of {left} and {right} characters are too long to compare");
    Err(Error::invalid_value(message))
}

fn jaro_winkler(left: &str, right: &str) -> Result<f64> {
    let [left, right] = [left, right].map(|it| it.chars().collect::<Vec<char>>());
    check_pairs(left.len(), right.len())?;
    if left == right {
        return Ok(1.0);
    }
    let similarity = jaro_winkler_of(&left, &right, Transpositions::Halves);
    Ok((similarity * 100.0).round() / 100.0)
}
