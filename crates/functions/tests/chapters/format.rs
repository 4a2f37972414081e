use crate::calls::{fails, text};
use volley_types::{Type, Value};

fn string(text: &str) -> (Type, Value) {
    (Type::Varchar, Value::text(text))
}

fn double(value: f64) -> (Type, Value) {
    (Type::Double, Value::Double(value))
}

fn bigint(value: i64) -> (Type, Value) {
    (Type::BigInt, Value::BigInt(value))
}

#[track_caller]
fn check(template: &str, values: &[(Type, Value)], expected: &str) {
    let args = [&[string(template)], values].concat();
    assert_eq!(text("format", &args), expected, "{template}");
}

#[track_caller]
fn check_printf(template: &str, values: &[(Type, Value)], expected: &str) {
    let args = [&[string(template)], values].concat();
    assert_eq!(text("printf", &args), expected, "{template}");
}

#[test]
fn fields_name_arguments_in_one_way() {
    check("{} {}", &[string("a"), bigint(1)], "a 1");
    check("{1}{0}{1}", &[string("a"), bigint(1)], "1a1");
    check("{{}}", &[], "{}");
    check("{:.{}f}|{:>{}}", &[double(1.23456), bigint(2), string("é"), bigint(3)], "1.23|  é");
    let fails = |template: &str| fails("format", &[string(template), bigint(1)]);
    assert!(fails("{0} {}").starts_with("fields with and without numbers"));
    assert_eq!(fails("{} {}"), "the template has no value for field 2");
    assert!(fails("{").starts_with("a { without its }"));
    assert!(fails("}").starts_with("a } without its {"));
    assert!(fails("{:99999999999999999999}").starts_with("a number in a template"));
    assert_eq!(fails("{:q}"), "an integer cannot be written as q");
    assert_eq!(fails("{:.2f}"), "an integer has no precision");
}

#[test]
fn numbers_are_written_as_fields_ask() {
    for (template, expected) in [
        ("{:x}", "ff"),
        ("{:#X}", "0XFF"),
        ("{:o}", "377"),
        ("{:#b}", "0b11111111"),
        ("{:+}", "+255"),
        ("{: d}", " 255"),
        ("{:05}", "00255"),
        ("{:<5}|", "255  |"),
        ("{:*^9}", "***255***"),
        ("{:=+6}", "+  255"),
    ] {
        check(template, &[bigint(255)], expected);
    }
    check(
        "{:,}|{:_}|{:'}|{:t.}",
        &[1234567, 123, -1234, 1000].map(bigint),
        "1,234,567|123|-1'234|1.000",
    );
    for (value, template, expected) in [
        (1.0, "{}", "1.0"),
        (1e16, "{}", "1e+16"),
        (1e-7, "{}", "1e-07"),
        (123456789.0, "{}", "123456789.0"),
        (-0.0, "{}", "-0.0"),
        (1234567.891, "{:,.2f}", "1,234,567.89"),
        (12345.678, "{:e}", "1.234568e+04"),
        (0.0001, "{:g}", "0.0001"),
        (123456789.0, "{:g}", "1.23457e+08"),
        (1e20, "{:G}", "1E+20"),
        (1234.5, "{:.3}", "1.23e+03"),
        (1.0, "{:#g}", "1.00000"),
        (3.25159, "{:08.3f}", "0003.252"),
        (f64::NAN, "{:.1f}", "nan"),
        (f64::NEG_INFINITY, "{}", "-inf"),
    ] {
        check(template, &[double(value)], expected);
    }
}

#[test]
fn texts_are_padded_and_cut_by_code_points() {
    check("{:>5}|{:<5}|{:^5}|{:.2}", &["é", "é", "é", "éüö"].map(string), "    é|é    |  é  |éü");
    assert!(fails("format", &[string("{:05}"), string("a")]).starts_with("signs, zeros"));
    assert_eq!(fails("format", &[string("{:d}"), string("a")]), "a text cannot be written as d");
    let yes = (Type::Boolean, Value::Boolean(true));
    check("{} {:d}", &[yes.clone(), yes], "true 1");
}

#[test]
fn percent_signs_begin_fields_of_printf() {
    check_printf("%d%%", &[bigint(50)], "50%");
    check_printf("%5s|%-5s|%.2s", &["a", "b", "abc"].map(string), "    a|b    |ab");
    check_printf("%05d|%+d|% d|%.3d", &[3, 4, 5, 6].map(bigint), "00003|+4| 5|006");
    check_printf("%x|%#x|%c|%u", &[-1, 255, 65, 7].map(bigint), "ffffffffffffffff|0xff|A|7");
    check_printf("%,d|%'d", &[-1234567, 1234].map(bigint), "-1,234,567|1'234");
    check_printf("%2$s %1$s %1$s", &["a", "b"].map(string), "b a a");
    check_printf("%*d|%lld", &[5, 3, 1].map(bigint), "    3|1");
    check_printf("%5.1f%%|%e|%g", &[12.34, 1.5, 1.5].map(double), " 12.3%|1.500000e+00|1.5");
    let failed = fails("printf", &[string("100%"), bigint(1)]);
    assert!(failed.starts_with("a % without a type"), "{failed}");
    assert_eq!(fails("printf", &[string("%s"), bigint(1)]), "an integer cannot be written as s");
}
