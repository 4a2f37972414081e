//! What two arrays of ids have in common, and the scores of common ids.
//!
//! An id may occur more than once in an array. A score belongs to the id at the same position.

use crate::doc;
use std::{cmp::Ordering, collections::BTreeMap};
use volley_error::{Error, Result};
use volley_function::{Registry, simple::ArrayView};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let two = |name: &str| format!("{name}(ids, matching_ids) -> real");
    registry.simple(
        "has_id_overlap",
        doc(&two("has_id_overlap"), "1 if the arrays have a common id, 0 if not."),
        |ids: ArrayView<i64>, matching: ArrayView<i64>| {
            overlap_count(ids, matching).map(|it| if it > 0.0 { 1.0_f32 } else { 0.0 })
        },
    );
    registry.simple(
        "id_overlap_count",
        doc(&two("id_overlap_count"), "How many ids are common, each as often as both have it."),
        |ids: ArrayView<i64>, matching: ArrayView<i64>| overlap_count(ids, matching),
    );
    registry.simple(
        "get_max_count",
        doc(
            &two("get_max_count"),
            "How often common ids occur, each in the array with more of it.",
        ),
        |ids: ArrayView<i64>, matching: ArrayView<i64>| common(ids, matching, f32::max),
    );
    registry.simple(
        "get_jaccard_similarity",
        doc(&two("get_jaccard_similarity"), "The common ids as a share of those of both arrays."),
        |ids: ArrayView<i64>, matching: ArrayView<i64>| {
            let count = overlap_count(ids, matching)?;
            Some(count / ((ids.len() + matching.len()) as f32 - count))
        },
    );
    register_scores(registry);
}

fn register_scores(registry: &mut Registry) {
    let four = |name: &str| format!("{name}(ids, scores, matching_ids, matching_scores) -> real");
    registry.simple(
        "get_cosine_similarity",
        doc(&four("get_cosine_similarity"), "The cosine of the angle of both vectors of scores."),
        |ids: ArrayView<i64>,
         scores: ArrayView<f32>,
         matching: ArrayView<i64>,
         matching_scores: ArrayView<f32>| {
            let Some(left) = score_sums(ids, scores)? else { return Ok(None) };
            let Some(right) = score_sums(matching, matching_scores)? else { return Ok(None) };
            let product: f32 =
                left.iter().filter_map(|(id, it)| right.get(id).map(|other| it * other)).sum();
            Ok(Some(product / norm(&left)? / norm(&right)?))
        },
    );
    registry.simple(
        "get_score_sum",
        doc(&four("get_score_sum"), "The sum of the matching scores of common ids."),
        |ids: ArrayView<i64>,
         scores: ArrayView<f32>,
         matching: ArrayView<i64>,
         matching_scores: ArrayView<f32>| {
            let Some(left) = score_sums(ids, scores)? else { return Ok(None) };
            let Some(right) = score_sums(matching, matching_scores)? else { return Ok(None) };
            Ok(Some(left.keys().filter_map(|id| right.get(id)).sum::<f32>()))
        },
    );
    let three = |name: &str| format!("{name}(ids, matching_ids, matching_scores) -> real");
    registry.simple(
        "get_score_min",
        doc(&three("get_score_min"), "The least matching score of common ids; 0 without any."),
        |ids: ArrayView<i64>, matching: ArrayView<i64>, scores: ArrayView<f32>| {
            extreme_score(ids, matching, scores, f32::min)
        },
    );
    registry.simple(
        "get_score_max",
        doc(&three("get_score_max"), "The greatest matching score of common ids; 0 without any."),
        |ids: ArrayView<i64>, matching: ArrayView<i64>, scores: ArrayView<f32>| {
            extreme_score(ids, matching, scores, f32::max)
        },
    );
}

/// How many ids are common, each as often as both have it; `None` for a null among them.
fn overlap_count(left: ArrayView<i64>, right: ArrayView<i64>) -> Option<f32> {
    common(left, right, f32::min)
}

/// The sum over common ids of what `choose` makes of how often each array has the id.
fn common(
    left: ArrayView<i64>,
    right: ArrayView<i64>,
    choose: impl Fn(f32, f32) -> f32,
) -> Option<f32> {
    let sorted = |ids: ArrayView<i64>| -> Option<Vec<i64>> {
        let mut ids = ids.iter().collect::<Option<Vec<_>>>()?;
        ids.sort_unstable();
        Some(ids)
    };
    let (left, right) = (sorted(left)?, sorted(right)?);
    let mut left = left.chunk_by(|a, b| a == b).peekable();
    let mut right = right.chunk_by(|a, b| a == b).peekable();
    let mut sum = 0.0;
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.first().cmp(&b.first()) {
            Ordering::Less => drop(left.next()),
            Ordering::Greater => drop(right.next()),
            Ordering::Equal => {
                sum += choose(a.len() as f32, b.len() as f32);
                left.next();
                right.next();
            }
        }
    }
    Some(sum)
}

/// The sum of the scores of each id; `None` for a null among them.
fn score_sums(ids: ArrayView<i64>, scores: ArrayView<f32>) -> Result<Option<BTreeMap<i64, f32>>> {
    check_lengths(ids, scores)?;
    let mut sums = BTreeMap::new();
    for pair in ids.iter().zip(scores.iter()) {
        let (Some(id), Some(score)) = pair else { return Ok(None) };
        *sums.entry(id).or_insert(0.0) += score;
    }
    Ok(Some(sums))
}

fn norm(scores: &BTreeMap<i64, f32>) -> Result<f32> {
    let squares: f32 = scores.values().map(|it| it * it).sum();
    if squares == 0.0 {
        return Err(Error::invalid_value("scores of get_cosine_similarity must not all be 0"));
    }
    Ok(squares.sqrt())
}

fn extreme_score(
    ids: ArrayView<i64>,
    matching: ArrayView<i64>,
    scores: ArrayView<f32>,
    choose: impl Fn(f32, f32) -> f32,
) -> Result<Option<f32>> {
    check_lengths(matching, scores)?;
    let Some(mut ids) = ids.iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
    ids.sort_unstable();
    let mut found: Option<f32> = None;
    for pair in matching.iter().zip(scores.iter()) {
        let (Some(id), Some(score)) = pair else { return Ok(None) };
        if ids.binary_search(&id).is_ok() {
            found = Some(found.map_or(score, |it| choose(it, score)));
        }
    }
    Ok(Some(found.unwrap_or(0.0)))
}

fn check_lengths(ids: ArrayView<i64>, scores: ArrayView<f32>) -> Result<()> {
    if ids.len() == scores.len() {
        return Ok(());
    }
    let message = format!("{} ids with {} scores", ids.len(), scores.len());
    Err(Error::invalid_value(message))
}
