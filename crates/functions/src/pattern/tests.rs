use super::{
    Compiled, EXPRESSION_BYTES, PATTERNS_BYTES_MAX, PatternCache,
    expression::Options,
    matcher::{Matcher, Syntax},
};
use volley_error::Error;
use volley_types::{Type, Value};
use volley_vector::{Values, Vector};

/// The definition of LIKE.
fn naive(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|start| naive(&text[start..], rest)),
        Some(('_', rest)) => !text.is_empty() && naive(&text[1..], rest),
        Some((literal, rest)) => text.first() == Some(literal) && naive(&text[1..], rest),
    }
}

/// All texts of up to `len_max` of these characters.
fn all_texts(characters: &[char], len_max: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut start = 0;
    for _ in 0..len_max {
        let end = texts.len();
        for index in start..end {
            characters.iter().for_each(|it| texts.push(format!("{}{it}", texts[index])));
        }
        start = end;
    }
    texts
}

#[test]
fn every_short_pattern_matches_as_defined() {
    let texts = all_texts(&['a', 'ö'], 4);
    for pattern in all_texts(&['a', 'ö', '%', '_'], 4) {
        let matcher = Matcher::new(&pattern, None, Syntax::Like).unwrap();
        let characters: Vec<char> = pattern.chars().collect();
        for text in &texts {
            let expected = naive(&text.chars().collect::<Vec<_>>(), &characters);
            assert_eq!(matcher.matches(text), expected, "'{text}' LIKE '{pattern}'");
        }
        // A part after the first % is searched in all texts together.
        let rest =
            pattern.strip_prefix('%').and_then(|it| it.trim_start_matches('%').split_once('%'));
        let is_searched = rest.is_some() && !pattern.contains('_');
        let values: Vec<Value> = texts.iter().map(Value::text).collect();
        let column = Vector::from_values(Type::Varchar, &values);
        let Some(Values::View(strings)) = column.flat_values() else { panic!("text is no view") };
        let found = matcher.select(strings);
        assert_eq!(found.is_some(), is_searched, "{pattern}");
        if let Some(found) = found {
            let expected = texts.iter().map(|it| Value::Boolean(matcher.matches(it)));
            assert_eq!(found.to_values().unwrap(), expected.collect::<Vec<_>>(), "{pattern}");
        }
    }
}

#[test]
fn compiled_patterns_are_kept_up_to_a_number_of_bytes() {
    let cache = PatternCache::default();
    let compiled = |bytes: usize| move || Ok(Compiled { pattern: bytes, bytes });
    let is_kept = |pattern: &str, bytes: usize| {
        let found = cache.get(pattern, || Err(Error::internal("compiled again")));
        found.is_ok_and(|it| *it == bytes)
    };
    cache.get("a", compiled(1000)).unwrap();
    cache.get("b", compiled(2000)).unwrap();
    assert!(is_kept("a", 1000) && is_kept("b", 2000));
    // More than all may have together: it is the only one.
    cache.get("c", compiled(PATTERNS_BYTES_MAX + 1)).unwrap();
    assert!(is_kept("c", PATTERNS_BYTES_MAX + 1) && !is_kept("a", 1000));
    cache.get("d", compiled(1)).unwrap();
    assert!(is_kept("d", 1) && !is_kept("c", PATTERNS_BYTES_MAX + 1));
}

#[test]
fn repeated_patterns_are_found_without_a_hash() {
    let cache = PatternCache::default();
    let patterns = ["", "a", "ä%", "text 1%", "text 2%", "a much longer pattern with the end 1%"];
    for round in 0..3 {
        for (number, pattern) in patterns.iter().enumerate() {
            let compile = || {
                assert_eq!(round, 0, "{pattern} was compiled again");
                Ok(Compiled { pattern: number, bytes: 1 })
            };
            assert_eq!(*cache.get(pattern, compile).unwrap(), number);
            assert_eq!(*cache.get(pattern, compile).unwrap(), number);
        }
    }
    assert!(cache.recent_hits() >= 3 * patterns.len(), "{}", cache.recent_hits());
}

#[test]
fn large_patterns_are_known_to_be_large() {
    let bytes = |pattern: &str| Options::default().compile(pattern).map(|it| it.bytes).unwrap();
    assert_eq!(bytes("abc"), EXPRESSION_BYTES[0]);
    assert!(bytes("(x{1000}){100}") >= EXPRESSION_BYTES[2]);
    let error = Options::default().compile("((x{1000}){1000}){10}").err().unwrap();
    assert!(error.to_string().contains("invalid regular expression"));
}
