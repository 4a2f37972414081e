use crate::calls::{call, fails};
use volley_types::{Type, Value};

fn text(text: &str) -> (Type, Value) {
    (Type::Varchar, Value::text(text))
}

#[test]
fn like_knows_escapes_and_case() {
    let like = |value: &str, pattern: &str| call("like", &[text(value), text(pattern)]);
    assert_eq!(like("line\nbreak", "line_break"), Value::Boolean(true));
    assert_eq!(like("a.c", "a.c"), Value::Boolean(true));
    assert_eq!(like("abc", "a.c"), Value::Boolean(false));
    assert_eq!(like(r"a\%", r"a\%"), Value::Boolean(true));
    assert_eq!(call("like", &[text("a"), (Type::Varchar, Value::Null)]), Value::Null);
    let escaped = |value: &str, pattern: &str, escape: &str| {
        call("like", &[text(value), text(pattern), text(escape)])
    };
    assert_eq!(escaped("100%", "%!%", "!"), Value::Boolean(true));
    assert_eq!(escaped("100x", "%!%", "!"), Value::Boolean(false));
    assert_eq!(escaped("a!", "a!!", "!"), Value::Boolean(true));
    let failed = fails("like", &[text("a"), text("a!"), text("!")]);
    assert_eq!(failed, "LIKE pattern ends with its escape character: 'a!'");
    let failed = fails("like", &[text("a"), text("a"), text("ab")]);
    assert_eq!(failed, "escape must be one character, not 'ab'");
    let ilike = |value: &str, pattern: &str| call("ilike", &[text(value), text(pattern)]);
    assert_eq!(ilike("ZAŻÓŁĆ", "zaż%"), Value::Boolean(true));
    assert_eq!(ilike("HELLO", "h_llo"), Value::Boolean(true));
}

#[test]
fn glob_knows_sets_and_escapes() {
    let glob = |value: &str, pattern: &str| {
        call("glob", &[text(value), text(pattern)]) == Value::Boolean(true)
    };
    assert!(glob("", "*") && glob("line\nbreak", "l*k") && glob("ä", "?") && !glob("A", "a"));
    assert!(glob("b", "[a-c]") && glob("é", "[à-ü]") && !glob("d", "[a-c]"));
    assert!(glob("d", "[!a-c]") && !glob("b", "[!a-c]") && !glob("", "[!a]"));
    assert!(glob("]", "[]]") && glob("-", "[a-]") && glob("^", "[^b]") && !glob("c", "[^b]"));
    assert!(glob("a*b", r"a\*b") && !glob("axb", r"a\*b") && glob("a", r"\a"));
    assert!(!glob("a", "[a") && !glob("[a", "[a") && !glob(r"a\", r"a\"));
    assert!(!glob("b", "[c-a]") && glob("b", "[!c-a]"));
    assert_eq!(call("glob", &[text("a"), (Type::Varchar, Value::Null)]), Value::Null);
}

#[test]
fn regular_expressions_match_anywhere_or_all() {
    let like = |value: &str, pattern: &str| call("regexp_like", &[text(value), text(pattern)]);
    assert_eq!(like("日本語", "本."), Value::Boolean(true));
    assert_eq!(like("abc", "^b"), Value::Boolean(false));
    assert_eq!(like("a\nb", "a.b"), Value::Boolean(false));
    let with = |options: &str, value: &str, pattern: &str| {
        call("regexp_like", &[text(value), text(pattern), text(options)])
    };
    assert_eq!(with("s", "a\nb", "a.b"), Value::Boolean(true));
    assert_eq!(with("i", "ABC", "b"), Value::Boolean(true));
    assert_eq!(with("l", "a.b", "."), Value::Boolean(true));
    assert_eq!(with("l", "ab", "."), Value::Boolean(false));
    let full = |pattern: &str| call("regexp_full_match", &[text("abc"), text(pattern)]);
    assert_eq!(full("b|abc"), Value::Boolean(true));
    assert_eq!(full("b"), Value::Boolean(false));
    let failed = fails("regexp_like", &[text("a"), text("(")]);
    assert_eq!(failed, "invalid regular expression: '('");
    let failed = fails("regexp_like", &[text("a"), text("a"), text("z")]);
    assert_eq!(failed, "unknown regular expression option: 'z'");
}

#[test]
fn matches_are_replaced_and_extracted() {
    let replace = |value: &str, pattern: &str, new: &str| {
        call("regexp_replace", &[text(value), text(pattern), text(new)])
    };
    assert_eq!(replace("hello", "l", "L"), Value::text("heLlo"));
    assert_eq!(replace("aaa", "a*", "b"), Value::text("b"));
    assert_eq!(replace("abc", "(b)", r"[\0\1\\]"), Value::text(r"a[bb\]c"));
    assert_eq!(replace("abc", "b", "$0"), Value::text("a$0c"));
    let all = [text("hello"), text("[eo]"), text(""), text("g")];
    assert_eq!(call("regexp_replace", &all), Value::text("hll"));
    assert!(fails("regexp_replace", &[text("a"), text("a"), text(r"\1")]).contains("group 1"));
    let extract = |group: i64| {
        let group = (Type::BigInt, Value::BigInt(group));
        call("regexp_extract", &[text("abc123"), text("([a-z]+)(x)?([0-9]+)"), group])
    };
    assert_eq!(extract(0), Value::text("abc123"));
    assert_eq!(extract(2), Value::text(""));
    assert_eq!(extract(3), Value::text("123"));
    assert_eq!(extract(9), Value::text(""));
    let list = call("regexp_extract_all", &[text("a1b2"), text("[a-z]")]);
    assert_eq!(list, Value::Array(["a", "b"].map(Value::text).into()));
    let list = call("string_split", &[text("a,b,"), text(",")]);
    assert_eq!(list, Value::Array(["a", "b", ""].map(Value::text).into()));
}

#[test]
fn replacing_is_that_of_the_library() {
    let all = [text("a1b22"), text("[0-9]+"), text("<$0>"), text("g")];
    assert_eq!(call("regexp_replace", &all), Value::text("a<$0>b<$0>"));
    let all = [text("a1b22"), text("([0-9])"), text(r"<\1>"), text("g")];
    assert_eq!(call("regexp_replace", &all), Value::text("a<1>b<2><2>"));
    let all = [text("ab"), text(""), text("-"), text("g")];
    assert_eq!(call("regexp_replace", &all), Value::text("-a-b-"));
}
