//! How alike texts are, and samples of keys.

use super::doc;
use twox_hash::XxHash64;
use volley_error::{Error, Result};
use volley_function::Registry;

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
    let (of_left, of_right) = matched(&left, &right);
    if of_left.is_empty() {
        return Ok(0.0);
    }
    let matches = of_left.len() as f64;
    let moved = of_left.iter().zip(&of_right).filter(|(a, b)| a != b).count() as f64 / 2.0;
    let jaro =
        (matches / left.len() as f64 + matches / right.len() as f64 + (matches - moved) / matches)
            / 3.0;
    let prefix = left.iter().zip(&right).take(4).take_while(|(a, b)| a == b).count() as f64;
    let similarity = if jaro > 0.7 { jaro + 0.1 * prefix * (1.0 - jaro) } else { jaro };
    Ok((similarity * 100.0).round() / 100.0)
}

/// The characters that both texts have at about the same place, in the order of each text.
fn matched(left: &[char], right: &[char]) -> (Vec<char>, Vec<char>) {
    // Of texts of one character, none is near enough.
    let distance = (left.len().max(right.len()) / 2).checked_sub(1);
    let mut taken = vec![false; right.len()];
    let mut of_left = Vec::new();
    for (at, character) in left.iter().enumerate() {
        let Some(distance) = distance else { break };
        let near = right.iter().enumerate().zip(&mut taken);
        let near = near.skip(at.saturating_sub(distance)).take_while(|it| it.0.0 <= at + distance);
        let mut free = near.filter(|((_, it), taken)| *it == character && !**taken);
        if let Some((_, taken)) = free.next() {
            *taken = true;
            of_left.push(*character);
        }
    }
    let of_right = right.iter().zip(&taken).filter(|it| *it.1).map(|it| *it.0).collect();
    (of_left, of_right)
}
