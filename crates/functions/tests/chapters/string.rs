use crate::calls::{call, exhausts, fails};
use volley_types::{Type, Value};

fn text(text: &str) -> (Type, Value) {
    (Type::Varchar, Value::text(text))
}

fn number(value: i64) -> (Type, Value) {
    (Type::BigInt, Value::BigInt(value))
}

#[track_caller]
fn check(name: &str, args: &[(Type, Value)], expected: &str) {
    assert_eq!(call(name, args), Value::text(expected), "{name}{args:?}");
}

#[test]
fn lengths_count_code_points() {
    for (value, expected) in [("", 0), ("größe", 5), ("日本語", 3), ("🦆", 1)] {
        assert_eq!(call("length", &[text(value)]), Value::BigInt(expected));
    }
    assert_eq!(call("octet_length", &[text("日本")]), Value::BigInt(6));
    assert_eq!(call("ascii", &[text("€")]), Value::Integer(8364));
    check("chr", &[(Type::Integer, Value::Integer(8364))], "€");
    assert_eq!(fails("chr", &[(Type::Integer, Value::Integer(55296))]), "not a code point: 55296");
}

#[test]
fn case_changes_by_code_point() {
    check(
        "upper",
        &[text("Ärger über Öl, a string longer than thirty-two bytes")],
        "ÄRGER ÜBER ÖL, A STRING LONGER THAN THIRTY-TWO BYTES",
    );
    check(
        "upper",
        &[text("a string longer than thirty-two bytes")],
        "A STRING LONGER THAN THIRTY-TWO BYTES",
    );
    check("upper", &[text("ß")], "ẞ");
    check("lower", &[text("ΑΒΓ")], "αβγ");
    check("initcap", &[text("hello wORLD")], "Hello World");
}

#[test]
fn substrings_count_from_either_end() {
    let check3 = |start, length, expected| {
        check("substring", &[text("hello"), number(start), number(length)], expected);
    };
    check3(1, 3, "hel");
    check3(0, 3, "he");
    check3(-3, 2, "ll");
    check3(2, 100, "ello");
    check3(10, 2, "");
    check3(2, 0, "");
    check3(-10, 8, "hel");
    check3(2, -1, "h");
    check3(-2, -2, "el");
    check3(i64::MAX, i64::MAX, "");
    check3(i64::MIN, i64::MIN, "");
    let long = "a text that is longer than twelve bytes";
    check("substring", &[text(long), number(3)], &long[2..]);
    check("substring", &[text("日本語テキスト"), number(3), number(2)], "語テ");
    check("left", &[text("日本語"), number(-1)], "日本");
    check("right", &[text("日本語"), number(1)], "語");
    check("right", &[text("hello"), number(-10)], "");
    check("right", &[text("hello"), number(i64::MIN)], "");
}

#[test]
fn parts_are_split_at_separators() {
    let check3 = |value: &str, separator: &str, index, expected| {
        check("split_part", &[text(value), text(separator), number(index)], expected);
    };
    check3("a,b,,c", ",", 3, "");
    check3("a,b,,c", ",", 4, "c");
    check3("a,b,,c", ",", 5, "");
    check3("a,b", ",", -1, "b");
    check3("a,b", ",", 0, "");
    check3("abc", "", 1, "a");
    check3("abc", "", -1, "c");
    check3("abc", ",", i64::MIN, "");
}

#[test]
fn ends_are_trimmed() {
    check("trim", &[text(" \ta ")], "\ta");
    check("trim", &[text("xyyxabcxy"), text("xy")], "abc");
    check("ltrim", &[text("äöabc"), text("öä")], "abc");
    check("rtrim", &[text("abc日本"), text("本日")], "abc");
    check("trim", &[text("abc"), text("")], "abc");
}

#[test]
fn padding_repeats_and_cuts() {
    let pad = |name: &str, value: &str, length, padding: &str, expected: &str| {
        check(name, &[text(value), number(length), text(padding)], expected);
    };
    pad("lpad", "a", 5, "xy", "xyxya");
    pad("rpad", "a", 5, "xy", "axyxy");
    pad("lpad", "hello", 3, "x", "hel");
    pad("lpad", "日", 3, "本", "本本日");
    pad("rpad", "abc", -1, "x", "");
    pad("rpad", "a", 1, "", "a");
    let args = [text("a"), number(5), text("")];
    assert_eq!(fails("lpad", &args), "cannot pad with an empty text");
    check("repeat", &[text("ab"), number(3)], "ababab");
    check("repeat", &[text(""), number(i64::MAX)], "");
    let failed = fails("repeat", &[text("ab"), number(i64::MAX)]);
    assert_eq!(failed, "text would be longer than 256 MiB");
}

#[test]
fn texts_are_found_and_replaced() {
    let position = |value: &str, part: &str| call("position", &[text(value), text(part)]);
    assert_eq!(position("日本語", "語"), Value::BigInt(3));
    assert_eq!(position("abc", ""), Value::BigInt(1));
    assert_eq!(position("abc", "x"), Value::BigInt(0));
    assert_eq!(call("starts_with", &[text("abc"), text("ab")]), Value::Boolean(true));
    assert_eq!(call("ends_with", &[text("a"), text("aa")]), Value::Boolean(false));
    assert_eq!(call("contains", &[text(""), text("")]), Value::Boolean(true));
    check("replace", &[text("aaa"), text("aa"), text("b")], "ba");
    check("replace", &[text("日本"), text("本"), text("x")], "日x");
    check("replace", &[text("abc"), text(""), text("-")], "abc");
    check("translate", &[text("12345"), text("143"), text("ax")], "a2x5");
    check("reverse", &[text("🦆日a")], "a日🦆");
    check("reverse", &[text("abc")], "cba");
    check("overlay", &[text("abcdef"), text("X"), number(2), number(3)], "aXef");
}

#[test]
fn joining_skips_or_keeps_nulls() {
    let null = (Type::Varchar, Value::Null);
    check("concat", &[text("a"), null.clone(), text("b")], "ab");
    check("concat", &[text("n"), number(1), (Type::Boolean, Value::Boolean(true))], "n1true");
    check("concat", &[null.clone()], "");
    check("concat_ws", &[text(","), text("a"), null.clone(), text("")], "a,");
    assert_eq!(call("concat_ws", &[null.clone(), text("a")]), Value::Null);
    assert_eq!(call("concat_op", &[null, text("a")]), Value::Null);
    check("concat_op", &[text("a"), number(1)], "a1");
    let bytes = (Type::Varbinary, Value::Varbinary([1].as_slice().into()));
    let joined = call("concat_op", &[bytes.clone(), bytes]);
    assert_eq!(joined, Value::Varbinary([1, 1].as_slice().into()));
}

#[test]
fn bytes_are_encoded_and_decoded() {
    check("hex", &[text("abc")], "616263");
    check("hex", &[number(-1)], "FFFFFFFFFFFFFFFF");
    check("hex", &[number(0)], "0");
    check("bin", &[number(5)], "101");
    let bytes = |bytes: &[u8]| (Type::Varbinary, Value::Varbinary(bytes.into()));
    for plain in ["", "a", "ab", "abc", "abcd"] {
        let encoded = call("to_base64", &[bytes(plain.as_bytes())]);
        let decoded = call("from_base64", &[(Type::Varchar, encoded)]);
        assert_eq!(decoded, bytes(plain.as_bytes()).1);
    }
    check("to_base64", &[bytes(b"ab")], "YWI=");
    assert_eq!(fails("from_base64", &[text("YW=I")]), "not base 64: 'YW=I'");
    assert_eq!(call("unhex", &[text("fFf")]), bytes(&[15, 255]).1);
    assert_eq!(fails("unhex", &[text("xy")]), "not hexadecimal: 'xy'");
    assert_eq!(fails("decode", &[bytes(&[0xFF])]), "cannot decode bytes that are not UTF-8");
}

#[test]
fn distances_count_characters() {
    assert_eq!(call("levenshtein", &[text("kitten"), text("sitting")]), Value::BigInt(3));
    assert_eq!(call("levenshtein", &[text(""), text("äö")]), Value::BigInt(2));
    assert_eq!(call("hamming", &[text("abc"), text("abd")]), Value::BigInt(1));
    assert!(fails("hamming", &[text("a"), text("ab")]).starts_with("texts of different lengths"));
}

#[test]
fn results_larger_than_the_memory_end_the_query() {
    let long = text(&"x".repeat(1 << 20));
    exhausts("concat_op", &[long.clone(), text("y")], 100);
    exhausts("concat", &[long.clone(), long.clone()], 100);
    exhausts("concat_ws", &[text(", "), long.clone(), long.clone()], 100);
    exhausts("replace", &[long.clone(), text("x"), text(&"y".repeat(100))], 1);
    exhausts("regexp_replace", &[long.clone(), text("x"), text(&"y".repeat(100)), text("g")], 1);
    exhausts(
        "regexp_replace",
        &[long.clone(), text("(x)"), text(r"\1bcdefghijklmn"), text("g")],
        1,
    );
    exhausts("translate", &[long.clone(), text("x"), text("€")], 10);
    exhausts("url_encode", &[text(&"€".repeat(1 << 20))], 1);
    exhausts("bin", &[text(&"x".repeat(1 << 21))], 1);
    exhausts("repeat", &[text("x"), number(100 << 20)], 1);
    exhausts("string_split", &[long.clone(), text("")], 1);
    exhausts("levenshtein", &[text(&"a".repeat(4 << 20)), text(&"b".repeat(4 << 20))], 1);
}

#[test]
fn bits_are_written_from_the_highest() {
    check("bin", &[text("a")], "01100001");
    check("bin", &[text("aB")], "0110000101000010");
}
