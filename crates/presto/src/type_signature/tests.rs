use super::*;
use volley_error::ErrorKind;
use volley_types::custom::{Uuid, ZonedClock};

fn parse(signature: &str) -> Result<Type> {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    volley_functions_presto::register(&mut registry);
    parse_type(signature, &registry)
}

fn check(signature: &str, expected: Type) {
    assert_eq!(parse(signature).unwrap(), expected, "{signature}");
}

#[test]
fn signatures_are_types() {
    check("bigint", Type::BigInt);
    check("varchar(117)", Type::Varchar);
    check("char(3)", Type::Varchar);
    check("LikePattern", Type::Varchar);
    check("decimal(38,4)", Type::decimal(38, 4));
    check("decimal(38, 4)", Type::decimal(38, 4));
    check("array(array(varchar(55)))", Type::array(Type::array(Type::Varchar)));
    check("map(varchar,row(x real))", {
        Type::map(Type::Varchar, Type::row([Field::new("x", Type::Real)]))
    });
    let state = [Field::new("field0", Type::Double), Field::new("field1", Type::BigInt)];
    check("row(field0 double,field1 bigint)", Type::row(state));
    let quoted = [Field::new("a \"b\"", Type::Date), Field::new("", Type::array(Type::Date))];
    check(r#"row("a ""b""" date,array(date))"#, Type::row(quoted));
    check("row()", Type::row([]));
    check("row(interval day to second)", Type::row([Field::new("", Type::Interval)]));
    check("timestamp with time zone", ZonedTimestamp::data_type());
    check("time with time zone", ZonedClock::data_type());
    let timed = [Field::new("a", ZonedClock::data_type()), Field::new("", ZonedClock::data_type())];
    check("row(a time with time zone,time with time zone)", Type::row(timed));
    check("row(a uuid)", Type::row([Field::new("a", Uuid::data_type())]));
    for custom in
        ["json", "ipaddress", "ipprefix", "HyperLogLog", "tdigest(double)", "qdigest(real)"]
    {
        assert!(matches!(parse(custom).unwrap(), Type::Custom(_)), "{custom}");
    }
}

#[test]
fn unknown_types_are_named() {
    for (signature, name) in
        [("array(geometry)", "geometry"), ("map(bigint,qdigest(varchar))", "qdigest")]
    {
        let error = parse(signature).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(name), "{error}");
    }
}

#[test]
fn malformed_signatures_are_errors() {
    let nested = "array(".repeat(100_000);
    for signature in [
        "",
        "array",
        "array(",
        "array(bigint",
        "map(bigint)",
        "decimal(39,1)",
        "decimal(3,4)",
        "decimal(x)",
        "row(a bigint",
        "row(\"a",
        "bigint)",
        "row(a bigint,,b bigint)",
        "varchar(",
        &nested,
    ] {
        let kind = parse(signature).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::InvalidValue, "{signature:.20}");
    }
}
