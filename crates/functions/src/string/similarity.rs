//! How alike texts are: `jaro_similarity`, `jaro_winkler_similarity`, `jaccard`,
//! `damerau_levenshtein`.

use super::string_doc;
use std::collections::{HashMap, HashSet};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{CancelCheck, Scratch},
};

/// The most pairs of code points that a function keeps distances of: 64 MiB.
const PAIRS_MAX: usize = 16 << 20;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let jaro_doc = string_doc(
        "jaro_similarity(varchar, varchar[, least]) -> double",
        "The Jaro similarity of two texts by characters, from 0 to 1; 0 when it is below `least`.",
        &[("jaro_similarity('duck', 'duckdb')", "0.8888888888888888")],
    );
    add_similarity(registry, "jaro_similarity", jaro_doc, jaro_whole, jaro_whole);
    let winkler_doc = string_doc(
        "jaro_winkler_similarity(varchar, varchar[, least]) -> double",
        "The Jaro-Winkler similarity of the characters of two texts, which is higher than that of \
         Jaro for texts that begin alike; 0 when it is less than `least`.",
        &[("jaro_winkler_similarity('duck', 'duckdb')", "0.9333333333333333")],
    );
    let name = "jaro_winkler_similarity";
    add_similarity(registry, name, winkler_doc, jaro_winkler_whole, jaro_winkler_whole);
    let jaccard_doc = string_doc(
        "jaccard(varchar, varchar) -> double",
        "The number of characters that both texts have, divided by that of those that one has.",
        &[("jaccard('duck', 'luck')", "0.6")],
    );
    registry.simple("jaccard", jaccard_doc, jaccard);
    let damerau = string_doc(
        "damerau_levenshtein(varchar, varchar) -> bigint",
        "The fewest characters to insert, delete, replace or swap with the next one to make one \
         text the other.",
        &[("damerau_levenshtein('ab', 'ba')", "1")],
    );
    registry.simple("damerau_levenshtein", damerau, damerau_levenshtein);
}

fn jaro_whole<T: Copy + PartialEq>(left: &[T], right: &[T]) -> f64 {
    jaro(left, right, Transpositions::Whole)
}

fn jaro_winkler_whole<T: Copy + PartialEq>(left: &[T], right: &[T]) -> f64 {
    jaro_winkler(left, right, Transpositions::Whole)
}

fn add_similarity(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    similarity: fn(&[u8], &[u8]) -> f64,
    of_characters: fn(&[char], &[char]) -> f64,
) {
    // Bytes of ASCII text are its characters.
    let similarity = move |left: &str, right: &str| {
        if left.is_ascii() && right.is_ascii() {
            return similarity(left.as_bytes(), right.as_bytes());
        }
        let bytes = (left.len() + right.len()).saturating_mul(size_of::<char>());
        let Some(_scratch) = Scratch::of(bytes) else { return 0.0 };
        let [left, right] = [left, right].map(|it| it.chars().collect::<Vec<char>>());
        of_characters(&left, &right)
    };
    registry.simple(name, doc, similarity);
    registry.simple(name, FunctionDoc::default(), move |left: &str, right: &str, least: f64| {
        let found = similarity(left, right);
        // No similarity reaches NaN, the greatest number.
        if found < least || least.is_nan() { 0.0 } else { found }
    });
}

/// What an odd number of matches in another order counts: two of them are a transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transpositions {
    /// The last one counts half.
    Halves,
    /// The last one does not count, as in Jaro's and Winkler's programs.
    Whole,
}

/// The Jaro similarity, from 0 to 1; 0 when nothing is alike.
///
/// Cost: the product of the lengths. Any number when the call that asks has no memory for a copy,
/// or the query is cancelled.
pub fn jaro<T: Copy + PartialEq>(left: &[T], right: &[T], transpositions: Transpositions) -> f64 {
    let (of_left, of_right) = matched(left, right);
    if of_left.is_empty() {
        return 0.0;
    }
    let matches = of_left.len() as f64;
    let moved = of_left.iter().zip(&of_right).filter(|(a, b)| a != b).count();
    let moved = match transpositions {
        Transpositions::Halves => moved as f64 / 2.0,
        Transpositions::Whole => (moved / 2) as f64,
    };
    (matches / left.len() as f64 + matches / right.len() as f64 + (matches - moved) / matches) / 3.0
}

/// The Jaro-Winkler similarity: where that of Jaro is above 0.7, more for each of the first four
/// that are alike.
pub fn jaro_winkler<T: Copy + PartialEq>(
    left: &[T],
    right: &[T],
    transpositions: Transpositions,
) -> f64 {
    let jaro = jaro(left, right, transpositions);
    let prefix = left.iter().zip(right).take(4).take_while(|(a, b)| a == b).count() as f64;
    if jaro > 0.7 { jaro + 0.1 * prefix * (1.0 - jaro) } else { jaro }
}

/// What both have at about the same place, in the order of each.
fn matched<T: Copy + PartialEq>(left: &[T], right: &[T]) -> (Vec<T>, Vec<T>) {
    let distance = (left.len().max(right.len()) / 2).saturating_sub(1);
    let bytes = (left.len() + right.len()).saturating_mul(size_of::<T>()) + right.len();
    let Some(_scratch) = Scratch::of(bytes) else { return (Vec::new(), Vec::new()) };
    let mut taken = vec![false; right.len()];
    let mut of_left = Vec::with_capacity(left.len().min(right.len()));
    let mut cancel = CancelCheck::default();
    for (at, value) in left.iter().enumerate() {
        if !cancel.go_on(distance) {
            return (Vec::new(), Vec::new());
        }
        let near = right.iter().enumerate().zip(&mut taken);
        let near = near.skip(at.saturating_sub(distance)).take_while(|it| it.0.0 <= at + distance);
        let mut free = near.filter(|((_, it), taken)| *it == value && !**taken);
        if let Some((_, taken)) = free.next() {
            *taken = true;
            of_left.push(*value);
        }
    }
    let of_right = right.iter().zip(&taken).filter(|it| *it.1).map(|it| *it.0).collect();
    (of_left, of_right)
}

fn jaccard(left: &str, right: &str) -> Result<f64> {
    if left.is_empty() || right.is_empty() {
        return Err(Error::invalid_value("jaccard takes texts that are not empty"));
    }
    let [left, right] = [left, right].map(|it| it.chars().collect::<HashSet<char>>());
    let shared = left.intersection(&right).count();
    Ok(shared as f64 / (left.len() + right.len() - shared) as f64)
}

/// Lowrance and Wagner, *An Extension of the String-to-String Correction Problem*, 1975.
fn damerau_levenshtein(left: &str, right: &str) -> Result<i64> {
    let [left, right] = [left, right].map(|it| it.chars().collect::<Vec<char>>());
    let width = right.len() + 2;
    if (left.len() + 2).saturating_mul(width) > PAIRS_MAX {
        let message = "texts are too long to compare by damerau_levenshtein";
        return Err(Error::invalid_value(message).hint("levenshtein takes longer ones"));
    }
    let far = (left.len() + right.len()) as u32;
    let Some(_scratch) = Scratch::of((left.len() + 2) * width * size_of::<u32>()) else {
        return Ok(0);
    };
    // After a row and a column that are out of reach, those of empty texts.
    let mut distances = vec![far; (left.len() + 2) * width];
    let at = |i: usize, j: usize| i * width + j;
    (0..=left.len()).for_each(|i| distances[at(i + 1, 1)] = i as u32);
    (0..=right.len()).for_each(|j| distances[at(1, j + 1)] = j as u32);
    let mut last_rows: HashMap<char, usize> = HashMap::new();
    for (i, a) in left.iter().enumerate() {
        let mut last_column = 0;
        for (j, b) in right.iter().enumerate() {
            let (row, column) = (last_rows.get(b).copied().unwrap_or(0), last_column);
            let swapped =
                distances[at(row, column)] + (i - row.min(i) + 1 + j - column.min(j)) as u32;
            let replaced = distances[at(i + 1, j + 1)] + u32::from(a != b);
            let inserted = distances[at(i + 2, j + 1)].min(distances[at(i + 1, j + 2)]) + 1;
            distances[at(i + 2, j + 2)] = replaced.min(inserted).min(swapped);
            if a == b {
                last_column = j + 1;
            }
        }
        last_rows.insert(*a, i + 1);
    }
    Ok(i64::from(distances[at(left.len() + 1, right.len() + 1)]))
}
