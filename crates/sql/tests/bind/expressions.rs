use super::expr;
use expect_test::expect;

fn all(texts: &[&str]) -> String {
    texts.iter().map(|it| format!("{it} => {}\n", expr(it))).collect()
}

#[test]
fn literals_have_the_smallest_exact_type() {
    expect![[r#"
        1 => 1 : INTEGER
        2147483648 => 2147483648 : BIGINT
        -2147483648 => -2147483648 : INTEGER
        -9223372036854775808 => -9223372036854775808 : BIGINT
        9223372036854775808 => 9223372036854775808 : HUGEINT
        0.2 => 0.2 : DECIMAL(2,1)
        .5 => .5 : DECIMAL(1,1)
        5. => 5 : DECIMAL(1,0)
        123.450 => 123.450 : DECIMAL(6,3)
        -0.05 => -0.05 : DECIMAL(3,2)
        1e3 => 1000.0 : DOUBLE
        1_000 => 1000 : INTEGER
        'it''s' => it's : VARCHAR
        E'a\nb' => a
        b : VARCHAR
        true => true : BOOLEAN
        null => NULL : NULL
        x'0aff' => \x0A\xFF : VARBINARY
        date '2020-01-01' => cast(2020-01-01 as DATE) : DATE
        timestamp '2020-01-01 10:00:00' => cast(2020-01-01 10:00:00 as TIMESTAMP) : TIMESTAMP
        [1, 2.5] => list_value(1.0, cast(2.5 as DECIMAL(11,1))) : ARRAY(DECIMAL(11,1))
        {'a': 1, 'b': 'x'} => row(1, x) : ROW(a INTEGER, b VARCHAR)
        map {'a': 1} => map(list_value(a), list_value(1)) : MAP(VARCHAR, INTEGER)
        [] => list_value() : ARRAY(NULL)
    "#]]
    .assert_eq(&all(&[
        "1",
        "2147483648",
        "-2147483648",
        "-9223372036854775808",
        "9223372036854775808",
        "0.2",
        ".5",
        "5.",
        "123.450",
        "-0.05",
        "1e3",
        "1_000",
        "'it''s'",
        "E'a\\nb'",
        "true",
        "null",
        "x'0aff'",
        "date '2020-01-01'",
        "timestamp '2020-01-01 10:00:00'",
        "[1, 2.5]",
        "{'a': 1, 'b': 'x'}",
        "map {'a': 1}",
        "[]",
    ]));
}

#[test]
fn intervals_in_all_spellings() {
    expect![[r#"
        interval '90' day => 90 days : INTERVAL
        interval '3' month => 3 months : INTERVAL
        interval '1 year 2 months' => 1 year 2 months : INTERVAL
        interval 3 days => 3 days : INTERVAL
        interval '1 day 04:05:06.7' => 1 day 04:05:06.7 : INTERVAL
        interval '-1.5 hours' => -01:30:00 : INTERVAL
        interval (a) week => multiply(7 days, cast(#0 as BIGINT)) : INTERVAL
        interval '2 weeks ago' => -14 days : INTERVAL
        interval 'soon' => ['soon'] not an interval, or out of range: soon (write it as '1 year 2 months 3 days 04:05:06')
        interval '1-2' year to month => 1 year 2 months : INTERVAL
        interval '1' eon => [eon] unknown unit of an interval: eon (AS names a column of seconds)
    "#]].assert_eq(&all(&[
        "interval '90' day",
        "interval '3' month",
        "interval '1 year 2 months'",
        "interval 3 days",
        "interval '1 day 04:05:06.7'",
        "interval '-1.5 hours'",
        "interval (a) week",
        "interval '2 weeks ago'",
        "interval 'soon'",
        "interval '1-2' year to month",
        "interval '1' eon",
    ]));
}

#[test]
fn operators_bind_as_they_should() {
    expect![[r#"
        a is distinct from 1 and true => and(is_distinct_from(#0, 1), true) : BOOLEAN
        a is not distinct from 1 or false => or(is_not_distinct_from(#0, 1), false) : BOOLEAN
        not a = 1 => not(eq(#0, 1)) : BOOLEAN
        a + 1 || 'x' => concat_op(cast(plus(#0, 1) as VARCHAR), x) : VARCHAR
        2 ^ 3 * 2 => multiply(power(2.0, 3.0), 2.0) : DOUBLE
        a between 1 and 3 and true => and(and(gte(#0, 1), lte(#0, 3)), true) : BOOLEAN
        a // 2 % 3 => mod(integer_divide(#0, 2), 3) : INTEGER
        a = 1 is null => is_null(eq(#0, 1)) : BOOLEAN
        b like 'x' || '%' escape '!' => like(#1, concat_op(x, %), !) : BOOLEAN
        b not ilike 'x' => not(ilike(#1, x)) : BOOLEAN
        -a => negate(#0) : INTEGER
        +a => #0 : INTEGER
        not a is not null => not(not(is_null(#0))) : BOOLEAN
        a in (1, 2) is not true => is_distinct_from(in(#0, 1, 2), true) : BOOLEAN
        a::double / 2 => divide(cast(#0 as DOUBLE), 2.0) : DOUBLE
        b is unknown => [b] operand of IS must be BOOLEAN, not VARCHAR
    "#]]
    .assert_eq(&all(&[
        "a is distinct from 1 and true",
        "a is not distinct from 1 or false",
        "not a = 1",
        "a + 1 || 'x'",
        "2 ^ 3 * 2",
        "a between 1 and 3 and true",
        "a // 2 % 3",
        "a = 1 is null",
        "b like 'x' || '%' escape '!'",
        "b not ilike 'x'",
        "-a",
        "+a",
        "not a is not null",
        "a in (1, 2) is not true",
        "a::double / 2",
        "b is unknown",
    ]));
}

#[test]
fn literals_take_the_type_of_the_other_side() {
    expect![[r#"
        day = '2020-01-01' => eq(#3, cast(2020-01-01 as DATE)) : BOOLEAN
        a = '1' => eq(#0, cast(1 as INTEGER)) : BOOLEAN
        d between '1' and 2 => and(gte(#2, cast(1 as DECIMAL(15,2))), lte(#2, 2.00)) : BOOLEAN
        tiny + 1 => plus(#4, 1) : TINYINT
        tiny + 1000 => plus(cast(#4 as INTEGER), 1000) : INTEGER
        a in ('1', 2) => in(#0, cast(1 as INTEGER), 2) : BOOLEAN
        case when true then day else '2020-01-01' end => switch(true, #3, cast(2020-01-01 as DATE)) : DATE
        coalesce(tiny, 1) => coalesce(#4, 1) : TINYINT
        true = 1 => eq(cast(true as INTEGER), 1) : BOOLEAN
        case a when '1' then 'x' end => switch(eq(#0, cast(1 as INTEGER)), x, NULL) : VARCHAR
        null = null => eq(NULL, NULL) : BOOLEAN
        a = null => eq(#0, NULL) : BOOLEAN
        nullif(a, 0) => switch(eq(#0, 0), NULL, #0) : INTEGER
        if(a, 1, 2.5) => switch(cast(#0 as BOOLEAN), 1.0, cast(2.5 as DECIMAL(11,1))) : DECIMAL(11,1)
        greatest(1, '2') => greatest(1, cast(2 as INTEGER)) : INTEGER
        tiny = 1000 => eq(cast(#4 as INTEGER), 1000) : BOOLEAN
        a = 1.5 => eq(cast(#0 as DECIMAL(11,1)), cast(1.5 as DECIMAL(11,1))) : BOOLEAN
        b || a => concat_op(#1, cast(#0 as VARCHAR)) : VARCHAR
        (a, b) = (1, 'x') => and(eq(#0, 1), eq(#1, x)) : BOOLEAN
        (a, b) in ((1, 'x')) => and(eq(#0, 1), eq(#1, x)) : BOOLEAN
    "#]].assert_eq(&all(&[
        "day = '2020-01-01'",
        "a = '1'",
        "d between '1' and 2",
        "tiny + 1",
        "tiny + 1000",
        "a in ('1', 2)",
        "case when true then day else '2020-01-01' end",
        "coalesce(tiny, 1)",
        "true = 1",
        "case a when '1' then 'x' end",
        "null = null",
        "a = null",
        "nullif(a, 0)",
        "if(a, 1, 2.5)",
        "greatest(1, '2')",
        "tiny = 1000",
        "a = 1.5",
        "b || a",
        "(a, b) = (1, 'x')",
        "(a, b) in ((1, 'x'))",
    ]));
}

#[test]
fn functions_with_a_syntax_of_their_own() {
    expect![[r#"
        extract(year from day) => date_part(year, #3) : BIGINT
        substring(b from 2 for 3) => substring(#1, 2, 3) : VARCHAR
        substring(b for 3) => substring(#1, 1, 3) : VARCHAR
        position('x' in b) => position(#1, x) : BIGINT
        trim(leading 'x' from b) => ltrim(#1, x) : VARCHAR
        trim(b) => trim(#1) : VARCHAR
        try_cast(b as integer) => try_cast(#1 as INTEGER) : INTEGER
        b::decimal(10,2) => cast(#1 as DECIMAL(10,2)) : DECIMAL(10,2)
        cast(a as text) => cast(#0 as VARCHAR) : VARCHAR
        current_date => current_date() : DATE
        list[1] => array_extract(#5, 1) : INTEGER
        r.x => struct_extract(#6, x) : INTEGER
        r.y => struct_extract(#6, Y) : VARCHAR
        s.r.y => struct_extract(#6, Y) : VARCHAR
        m['k'] => element_at(#7, k) : INTEGER
        r['x'] => struct_extract(#6, x) : INTEGER
        (r).x => struct_extract(#6, x) : INTEGER
        struct_pack(q := 1).q => struct_extract(row(1), q) : INTEGER
        cast(null as bigint) => NULL : BIGINT
    "#]]
    .assert_eq(&all(&[
        "extract(year from day)",
        "substring(b from 2 for 3)",
        "substring(b for 3)",
        "position('x' in b)",
        "trim(leading 'x' from b)",
        "trim(b)",
        "try_cast(b as integer)",
        "b::decimal(10,2)",
        "cast(a as text)",
        "current_date",
        "list[1]",
        "r.x",
        "r.y",
        "s.r.y",
        "m['k']",
        "r['x']",
        "(r).x",
        "struct_pack(q := 1).q",
        "cast(null as bigint)",
    ]));
}

#[test]
fn types_that_do_not_fit_are_errors() {
    expect![[r#"
        b < 5 => [5] comparison has values of types VARCHAR and INTEGER (cast one of them)
        case when a then 1 else b end => [1] CASE has values of types VARCHAR and INTEGER (cast one of them)
        a + b => [a + b] function plus does not take (INTEGER, VARCHAR) (it is x + y -> the wider of both types)
        not day => [day] operand of NOT must be BOOLEAN, not DATE
        coalesce(b, 1) => [1] coalesce has values of types VARCHAR and INTEGER (cast one of them)
        r + 1 => [r + 1] function plus does not take (ROW(x INTEGER, Y VARCHAR), INTEGER) (it is x + y -> the wider of both types)
        a[1] => [a[1] a value of type INTEGER has no elements
        a.x => [a.x] a value of type INTEGER has no field x
        cast(list as integer) => [list] cannot cast ARRAY(INTEGER) to INTEGER
        cast(a as decimal(50)) => [a] DECIMAL takes 1 to 38 digits, and a scale up to that
        $1 => [$1] parameter without a value: $1 (prepare the statement, and run it with values)
        a similar to 'x' => [a similar to 'x'] function regexp_full_match does not take (INTEGER, VARCHAR) (it is regexp_full_match(text, pattern[, options]) -> boolean)
        lambda x: x + 1 => [select] not supported: a lambda that is not an argument of a function
        a at time zone 'UTC' => [a at time zone 'UTC'] function timezone does not take (VARCHAR, INTEGER) (it is timezone(timestamp with time zone) -> bigint or timezone(zone, timestamp) -> timestamp with time zone)
        b collate nocase => cast(#1 as VARCHAR COLLATE NOCASE) : VARCHAR COLLATE NOCASE
        list[1:2] => array_slice(#5, 1, 2) : ARRAY(INTEGER)
        upper(b := 1) => [upper] not supported: named arguments
        upper(*) => [upper] not supported: * as an argument
        interval a => [a] INTERVAL needs a unit of time
    "#]].assert_eq(&all(&[
        "b < 5",
        "case when a then 1 else b end",
        "a + b",
        "not day",
        "coalesce(b, 1)",
        "r + 1",
        "a[1]",
        "a.x",
        "cast(list as integer)",
        "cast(a as decimal(50))",
        "$1",
        "a similar to 'x'",
        "lambda x: x + 1",
        "a at time zone 'UTC'",
        "b collate nocase",
        "list[1:2]",
        "upper(b := 1)",
        "upper(*)",
        "interval a",
    ]));
}
