//! Checks that the corpus tests each function of Presto's package with enough rows.
//!
//! A call counts once for each row that the record expects, and once in a record that fails.

use std::{collections::BTreeMap, fs, path::Path};

/// The least number of rows.
const ROWS_MIN: usize = 5;

/// Functions that are written as operators or otherwise without parentheses.
const OPERATORS: [(&str, &str); 24] = [
    ("array_constructor", "array["),
    ("between", " between "),
    ("current_date", "current_date"),
    ("current_time", "current_time"),
    ("current_timestamp", "current_timestamp"),
    ("distinct_from", "distinct from"),
    ("divide", " / "),
    ("eq", " = "),
    ("gt", " > "),
    ("gte", " >= "),
    ("is_null", " is null"),
    ("like", " like "),
    ("localtime", "localtime"),
    ("localtimestamp", "localtimestamp"),
    ("lt", " < "),
    ("lte", " <= "),
    ("minus", " - "),
    ("mod", " % "),
    ("multiply", " * "),
    ("negate", "-"),
    ("neq", " <> "),
    ("not", "not "),
    ("plus", " + "),
    ("subscript", "]"),
];

/// Functions with too few rows, one line each.
pub fn check(root: &Path) -> Vec<String> {
    let reference = root.join("crates/functions-presto/reference");
    let names = |file: &str, place: usize| -> Vec<String> {
        let text = fs::read_to_string(reference.join(file)).unwrap_or_default();
        let lines = text.lines().filter(|it| !it.starts_with('#'));
        lines.filter_map(|it| it.split(' ').nth(place)).map(str::to_owned).collect()
    };
    let absent = names("absent.txt", 0);
    let mut counts: BTreeMap<String, usize> =
        names("names.txt", 1).into_iter().map(|it| (it, 0)).collect();
    counts.retain(|name, _| !absent.contains(name));
    for entry in fs::read_dir(root.join("tests/slt/presto")).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        text.split("\n\n").for_each(|record| count(record, &mut counts));
    }
    let few = counts.into_iter().filter(|it| it.1 < ROWS_MIN);
    few.map(|(name, rows)| {
        format!("tests/slt/presto: {name} has {rows} rows of at least {ROWS_MIN}")
    })
    .collect()
}

/// Adds the rows of a record to all functions that it calls.
fn count(record: &str, counts: &mut BTreeMap<String, usize>) {
    let lines: Vec<&str> = record.lines().filter(|it| !it.starts_with('#')).collect();
    let end = lines.iter().position(|it| *it == "----");
    let statement = lines[..end.unwrap_or(lines.len())].join("\n").to_lowercase();
    let rows = end.map_or(1, |it| (lines.len() - it - 1).max(1));
    for (name, total) in counts.iter_mut() {
        *total += rows * calls(&statement, name);
    }
}

/// How often a statement in lower case calls the function.
fn calls(statement: &str, name: &str) -> usize {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let begins = |at: usize| !statement[..at].ends_with(is_word);
    let call = format!("{name}(");
    let written = statement.match_indices(&call).filter(|it| begins(it.0)).count();
    let operator = OPERATORS.iter().find(|it| it.0 == name);
    written + operator.map_or(0, |it| statement.matches(it.1).count())
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn calls_are_whole_names_and_operators() {
        assert_eq!(calls("select abs(x), tabs(y), abs (z)", "abs"), 1);
        assert_eq!(calls("select a + b + plus(c, d)", "plus"), 3);
    }
}
