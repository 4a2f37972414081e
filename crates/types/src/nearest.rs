//! The most similar name, for hints in errors.

use std::cmp::Reverse;

/// The name with the fewest edits from `name`, ignoring case, if it is near enough to be meant. Of
/// equals, the one with the longest common beginning.
pub fn nearest_name<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_ascii_lowercase();
    let len = wanted.chars().count();
    let edits_max = (len / 3).max(1);
    names
        .into_iter()
        // Each character more or less is an edit; what is asked for may be very long.
        .filter(|it| it.chars().count().abs_diff(len) <= edits_max)
        .map(|it| (it.to_ascii_lowercase(), it))
        .map(|(lower, it)| ((edits(&wanted, &lower), Reverse(common(&wanted, &lower))), it))
        .filter(|((edits, _), _)| *edits <= edits_max)
        .min_by_key(|(order, _)| *order)
        .map(|(_, it)| it)
}

/// Characters that both begin with.
fn common(left: &str, right: &str) -> usize {
    left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count()
}

/// Levenshtein's distance in characters, a swap of neighbours counting one.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    let mut last = None;
    for (i, a) in left.chars().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in right.iter().enumerate() {
            let mut best = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if j > 0 && last == Some(b) && right[j - 1] == a {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
        last = Some(a);
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_find_the_name_and_strangers_do_not() {
        let names = ["lineitem", "orders", "part", "partsupp"];
        assert_eq!(nearest_name("lineitm", names), Some("lineitem"));
        assert_eq!(nearest_name("cout", ["cot", "count"]), Some("count"));
        assert_eq!(nearest_name("ORDRES", names), Some("orders"));
        assert_eq!(nearest_name("zebra", names), None);
        assert_eq!(nearest_name("größe", ["größen"]), Some("größen"));
    }
}
