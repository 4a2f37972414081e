use super::*;
use crate::Interval;

fn text(push: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    push(&mut out);
    out
}

fn days(year: i64, month: i64, day: i64) -> i32 {
    crate::civil::checked_days(year, month, day).unwrap()
}

#[test]
fn floats_print_their_shortest_form() {
    let check = |value: f64, expected: &str| {
        assert_eq!(text(|out| push_f64(out, value)), expected);
    };
    check(1.0, "1.0");
    check(0.1, "0.1");
    check(1e15, "1000000000000000.0");
    check(1e16, "1e+16");
    check(123456789012345678.0, "1.2345678901234568e+17");
    check(0.0001, "0.0001");
    check(1e-5, "1e-05");
    check(123456.789, "123456.789");
    check(-0.0, "-0.0");
    check(1.5e300, "1.5e+300");
    check(5e-324, "5e-324");
    check(f64::NAN, "nan");
    check(-f64::NAN, "nan");
    check(f64::NEG_INFINITY, "-inf");
    assert_eq!(text(|out| push_f32(out, 0.1)), "0.1");
    assert_eq!(text(|out| push_f32(out, 1e8)), "100000000.0");
    assert_eq!(text(|out| push_f32(out, f32::MAX)), "3.4028235e+38");
}

#[test]
fn integers_and_decimals_print_all_digits() {
    assert_eq!(text(|out| push_i64(out, i64::MIN)), i64::MIN.to_string());
    assert_eq!(text(|out| push_i64(out, 0)), "0");
    assert_eq!(text(|out| push_i128(out, i128::MIN)), i128::MIN.to_string());
    let check = |unscaled, precision, scale, expected: &str| {
        assert_eq!(text(|out| push_decimal(out, unscaled, precision, scale)), expected);
    };
    check(150, 5, 2, "1.50");
    check(-5, 5, 2, "-0.05");
    check(50, 3, 3, ".050");
    check(0, 1, 0, "0");
    check(-5, 1, 1, "-.5");
    check(10i128.pow(38) - 1, 38, 10, "9999999999999999999999999999.9999999999");
}

#[test]
fn integers_are_read_from_many_forms() {
    let check = |text: &str, expected| assert_eq!(parse_integer(text), expected, "{text}");
    check(" 12\n", Some(12));
    check("+5", Some(5));
    check("1_000", Some(1000));
    check("1e3", Some(1000));
    check("1.5", Some(2));
    check("-1.5", Some(-2));
    check("2.5", Some(3));
    check("0x1F", Some(31));
    check("0b11", Some(3));
    check("1.", Some(1));
    check(".5", Some(1));
    check(".4", Some(0));
    check("15e-1", Some(2));
    check("170141183460469231731687303715884105727", Some(i128::MAX));
    let malformed = ["", "abc", "12x", "--1", "+ 1", "1e", "1,000", "1_", "_1", "1__0", ".", "-"];
    malformed.iter().for_each(|it| check(it, None));
    check("1e400", None);
    check("170141183460469231731687303715884105728", None);
}

#[test]
fn decimals_round_half_away_from_zero() {
    let check = |text: &str, scale, expected| {
        assert_eq!(parse_decimal(text, scale), expected, "{text}");
    };
    check("1.555", 2, Some(156));
    check("1.545", 2, Some(155));
    check("-1.555", 2, Some(-156));
    check("155.5e-2", 2, Some(156));
    check("1e-9", 2, Some(0));
    check("1e-400", 2, Some(0));
    check("1.5e", 2, None);
    check("1.2.3", 2, None);
    check("inf", 2, None);
    let third = format!("0.{}", "3".repeat(60));
    check(&third, 10, Some(3_333_333_333));
    check(&format!("{third}e60"), 0, None);
}

#[test]
fn floats_and_booleans_are_read() {
    assert_eq!(parse_f64(" 1_000.5 "), Some(1000.5));
    assert_eq!(parse_f64("1e400"), Some(f64::INFINITY));
    assert_eq!(parse_f64("-Infinity"), Some(f64::NEG_INFINITY));
    assert!(parse_f64("nan").is_some_and(f64::is_nan));
    for malformed in ["", ".", "1e", "1d", "0x10", "1 2", "_1"] {
        assert_eq!(parse_f64(malformed), None, "{malformed}");
    }
    assert_eq!(parse_boolean("tRuE"), Some(true));
    assert_eq!(parse_boolean("n"), Some(false));
    assert_eq!(parse_boolean("on"), None);
    assert_eq!(parse_boolean(" true"), None);
}

#[test]
fn plain_dates_are_those_of_the_calendar() {
    let days = [(1, 1), (2, 28), (2, 29), (2, 30), (3, 1), (12, 31), (6, 31), (13, 1), (1, 0)];
    for year in 0..10_000 {
        for (month, day) in days {
            let text = format!("{year:04}-{month:02}-{day:02}");
            let expected = crate::civil::checked_days(year, month, day);
            assert_eq!(parse_date(&text), expected, "{text}");
        }
    }
    // With a blank before it, a date is read otherwise.
    for text in ["2020-0a-01", "2020x01-01", "2020/01/01", "20-2001-01", "-020-01-01", "2020-01-0:"]
    {
        assert_eq!(parse_date(text), parse_date(&format!(" {text}")), "{text}");
    }
}

#[test]
fn dates_are_read_and_printed() {
    let check = |text: &str, expected| assert_eq!(parse_date(text), expected, "{text}");
    check("2020-01-02", Some(days(2020, 1, 2)));
    check(" 2020/1/2 ", Some(days(2020, 1, 2)));
    check("2020 01 02", Some(days(2020, 1, 2)));
    check("2020-01-02 12:00:00", Some(days(2020, 1, 2)));
    check("2020-01-02T00:00", Some(days(2020, 1, 2)));
    check("0044-03-15 (BC)", Some(days(-43, 3, 15)));
    check("-20-01-02", Some(days(-20, 1, 2)));
    check("99999-01-02", Some(days(99999, 1, 2)));
    check("epoch", Some(0));
    for malformed in [
        "",
        "x",
        "2020-01",
        "20200102",
        "2020-01-02x",
        "2020-01-02 x",
        "2020-01/02",
        "2020-13-01",
        "2020-02-30",
        "2020-00-01",
        "+2020-01-02",
        "2020-01-02(BC)",
        "2020-01-023",
    ] {
        check(malformed, None);
    }
    assert_eq!(text(|out| push_date(out, days(-43, 3, 15))), "0044-03-15 (BC)");
    assert_eq!(text(|out| push_date(out, days(10000, 1, 1))), "10000-01-01");
    assert_eq!(text(|out| push_date(out, i32::MIN)), "5877642-06-23 (BC)");
}

#[test]
fn timestamps_and_times_are_read_and_printed() {
    let check = |input: &str, expected: &str| {
        let micros = parse_timestamp(input).unwrap_or_else(|| panic!("{input}"));
        assert_eq!(text(|out| push_timestamp(out, micros)), expected);
    };
    check("2020-01-02T12:00:00Z", "2020-01-02 12:00:00");
    check("2020-01-02 1:2:3", "2020-01-02 01:02:03");
    check("2020-01-02 12:3", "2020-01-02 12:03:00");
    check("2020-01-02 24:00:00", "2020-01-03 00:00:00");
    check("2020-01-02 12:00:00.1234567", "2020-01-02 12:00:00.123456");
    check("2020-01-02 12:00:00.100", "2020-01-02 12:00:00.1");
    check("2020-01-02 12:00:00 +02:30", "2020-01-02 12:00:00");
    check("2020-01-02 (BC) 12:00:00", "2020-01-02 (BC) 12:00:00");
    check("1969-12-31 23:59:59.5", "1969-12-31 23:59:59.5");
    check("2020-01-31", "2020-01-31 00:00:00");
    for malformed in [
        "2020-01-02 12",
        "2020-01-02 25:00:00",
        "2020-01-02 24:01:00",
        "2020-01-02 23:59:60",
        "2020-01-02_12:00:00",
        "2020-01-02 12:00:00 x",
        "2020-01-02 12:00:00 +0 2",
        "300000-01-01",
    ] {
        assert_eq!(parse_timestamp(malformed), None, "{malformed}");
    }
    assert_eq!(parse_time("1:2:3.5"), Some(3_723_500_000));
    assert_eq!(parse_time("2020-01-01 12:00:00"), Some(43_200_000_000));
    assert_eq!(parse_time("12"), None);
    assert_eq!(text(|out| push_time(out, 43_200_500_000)), "12:00:00.5");
}

#[test]
fn intervals_are_read_and_printed() {
    let check = |input: &str, expected: &str| {
        let interval = parse_interval(input).unwrap_or_else(|| panic!("{input}"));
        assert_eq!(text(|out| push_interval(out, interval)), expected, "{input}");
    };
    check("3 days", "3 days");
    check("1 year 2 months 3 days 04:05:06", "1 year 2 months 3 days 04:05:06");
    check("-1 year -2 months", "-1 year -2 months");
    check("-04:05:06.5", "-04:05:06.5");
    check("3", "00:00:03");
    check("3d", "3 days");
    check("3 days ago", "-3 days");
    check("1.5 days", "1 day 12:00:00");
    check("1.5 months", "1 month 15 days");
    check("1.5 years", "1 year 6 months");
    check("1.5 weeks", "10 days 12:00:00");
    check("-1.5 days", "-1 day -12:00:00");
    check("1day2hours", "1 day 02:00:00");
    check("1 d 2 h 3 m 4 s 5 ms 6 us", "1 day 02:03:04.005006");
    check("1 century 2 decades 3 millennia", "3120 years");
    check("@ 1 DAYS", "1 day");
    check("+1 day -2 hours", "1 day -02:00:00");
    check("100 hours", "100:00:00");
    check("0 days", "00:00:00");
    for malformed in [
        "",
        "day",
        "x",
        "1 q",
        "1 day, 2 hours",
        "1e3 days",
        "ago",
        "1000000000 years",
        "2020-01-01",
        "1 2 3",
        "10:00 11:00",
        "10:00 1 day",
        "1 day 5",
        "99999999999999999999 days",
    ] {
        assert_eq!(parse_interval(malformed), None, "{malformed}");
    }
    let interval = Interval { months: 0, days: 0, nanoseconds: 1_000 };
    assert_eq!(text(|out| push_interval(out, interval)), "00:00:00.000001");
}

#[test]
fn nested_values_quote_what_would_be_misread() {
    let check = |value: Value, data_type: Type, expected: &str| {
        assert_eq!(value.display(&data_type).to_string(), expected);
    };
    let texts = ["a", "b c", "", "NULL", "x'y", " a", "a,b"].map(Value::text);
    let strings = Type::array(Type::Varchar);
    check(Value::Array(texts.into()), strings, r"[a, b c, '', 'NULL', 'x\'y', ' a', 'a,b']");
    let numbers = [Value::Integer(1), Value::Null];
    check(Value::Array(numbers.clone().into()), Type::array(Type::Integer), "[1, NULL]");
    let row = Type::row([Field::new("a", Type::Integer), Field::new("b", Type::Integer)]);
    check(Value::Row(numbers.clone().into()), row, "{'a': 1, 'b': NULL}");
    let unnamed = Type::row([Field::new("", Type::Integer), Field::new("", Type::Integer)]);
    check(Value::Row(numbers.into()), unnamed, "(1, NULL)");
    let entries = [(Value::text("k"), Value::Timestamp(0))];
    let map = Type::map(Type::Varchar, Type::Timestamp);
    check(Value::Map(entries.into()), map, "{k='1970-01-01 00:00:00'}");
    check(Value::Varbinary([0, b'a', 0xAA].as_slice().into()), Type::Varbinary, r"\x00a\xAA");
}

#[test]
fn nested_texts_are_split() {
    let values = |text: &str| {
        unnest(text, '[', ']', None).map(|it| it.into_iter().map(|it| it.value).collect::<Vec<_>>())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        values(r#"[a, 'b c', "d", NULL]"#),
        Some(vec![some("a"), some("b c"), some("d"), None])
    );
    assert_eq!(values("[[1, 2], []]"), Some(vec![some("[1, 2]"), some("[]")]));
    assert_eq!(values("[]"), Some(vec![]));
    assert_eq!(values(r"['x\'y']"), Some(vec![some("x'y")]));
    for malformed in ["1", "[1", "[']", "[1]]", "[(]"] {
        assert_eq!(values(malformed), None, "{malformed}");
    }
    let row = unnest("{'a': 1, b: x}", '{', '}', Some(':')).unwrap();
    assert_eq!(row[0], Unnested { key: some("a"), value: some("1") });
    assert_eq!(row[1], Unnested { key: some("b"), value: some("x") });
}

#[test]
fn binary_text_reads_back() {
    let bytes: Vec<u8> = (0..=255).collect();
    let printed = text(|out| push_binary(out, &bytes));
    let mut read = Vec::new();
    parse_binary(&printed, &mut read).unwrap();
    assert_eq!(read, bytes);
    assert_eq!(parse_binary(r"\xA", &mut read), None);
    assert_eq!(parse_binary("é", &mut read), None);
}
