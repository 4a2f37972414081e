use super::{error, plan};
use expect_test::expect;

#[test]
fn equal_calls_are_shared() {
    expect![[r#"
        b VARCHAR, sum(a) HUGEINT, sum(A) + count(*) HUGEINT
        Project b, sum#4, sum(A) + count(*)
          Sort count#5
            Project b, sum#4, sum(A) + count(*) = plus(sum#4, cast(count#5 as HUGEINT)), count#5
              Filter gt(sum#4, 1)
                Aggregate [b] [sum#4 = sum(a), count#5 = count()]
                  Scan t [a, b, d, day]
    "#]].assert_eq(&plan(
        "select b, sum(a), sum(A) + count(*) from t group by b having sum(t.a) > 1 order by count(*)",
    ));
    expect![[r#"
        count(DISTINCT a) FILTER (WHERE b LIKE 'x%') BIGINT, count() BIGINT
        Project count#4, count#5
          Aggregate [] [count#4 = count(distinct a) filter like(b, x%), count#5 = count()]
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select count(distinct a) filter (where b like 'x%'), count() from t"));
    expect![[r#"
        string_agg(b, ',' ORDER BY a DESC) VARCHAR
        Project string_agg#4
          Aggregate [] [string_agg#4 = string_agg(b, , order by a desc)]
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select string_agg(b, ',' order by a desc) from t"));
}

#[test]
fn keys_are_found_by_structure() {
    expect![[r#"
        a + 1 INTEGER, (a + 1) * 2 INTEGER
        Project key#4, (a + 1) * 2 = multiply(key#4, 2)
          Aggregate [key#4 = plus(a, 1)] []
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a + 1, (a + 1) * 2 from t group by a + 1"));
    expect![[r#"
        k INTEGER, b VARCHAR, max(d) DECIMAL(15,2)
        Project key#5, b, max#4
          Aggregate [key#5 = plus(a, 1), b] [max#4 = max(d)]
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a + 1 as k, b, max(d) from t group by 1, 2"));
    expect![[r#"
        a % 2 INTEGER, b VARCHAR, min(d) DECIMAL(15,2)
        Project key#5, b, min#4
          Aggregate [key#5 = mod(a, 2), b] [min#4 = min(d)]
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a % 2, b, min(d) from t group by all"));
    expect![[r#"
        1 INTEGER
        Project 1 = 1
          Filter gt(count, 1)
            Aggregate [] [count = count()]
              Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select 1 from t having count(*) > 1"));
    expect![[r#"
        m DOUBLE, count(*) BIGINT
        Project key#9, count#8
          Aggregate [key#9 = scalar(Project max#7)] [count#8 = count()]
            Scan t [a#0, b, d, day]
    "#]]
    .assert_eq(&plan(
        "select (select max(c) from u where u.a = t.a) as m, count(*) from t group by m",
    ));
    expect![[r#"
        (SELECT max(c) FROM u WHERE u.a = t.a + 1) DOUBLE
        Project (SELECT max(c) FROM u WHERE u.a = t.a + 1) = scalar(Project max#7)
          Aggregate [key = plus(a#0, 1)] []
            Scan t [a#0, b, d, day]
    "#]]
    .assert_eq(&plan("select (select max(c) from u where u.a = t.a + 1) from t group by a + 1"));
}

#[test]
fn columns_must_be_grouped() {
    expect!["[a] column a must be in GROUP BY or an argument of an aggregate function (any_value(a) takes any of its values)"].assert_eq(&error("select b, a from t group by b"));
    expect!["[a] column a must be in GROUP BY or an argument of an aggregate function (any_value(a) takes any of its values)"].assert_eq(&error("select count(*), a from t"));
    expect!["[d] column d must be in GROUP BY or an argument of an aggregate function (any_value(d) takes any of its values)"].assert_eq(&error("select b from t group by b order by d"));
    expect!["[t.a] column a must be in GROUP BY or an argument of an aggregate function (any_value(a) takes any of its values)"].assert_eq(&error("select (select c from u where u.a = t.a) from t group by b"));
    expect!["[*] column b must be in GROUP BY or an argument of an aggregate function (any_value(b) takes any of its values)"].assert_eq(&error("select * from t group by a"));
}

#[test]
fn aggregates_have_their_places() {
    expect!["[sum] aggregate functions are not allowed in WHERE"]
        .assert_eq(&error("select 1 from t where sum(a) > 1"));
    expect!["[max] aggregate calls cannot be nested"]
        .assert_eq(&error("select sum(max(a)) from t"));
    expect!["[sum] aggregate functions are not allowed in GROUP BY"]
        .assert_eq(&error("select 1 from t group by sum(a)"));
    expect!["[x] aggregate functions are not allowed in GROUP BY"]
        .assert_eq(&error("select sum(a) as x from t group by x"));
    expect!["[sum] function sum does not take (VARCHAR) (it is sum(number) -> hugeint, decimal(38, s) or double)"].assert_eq(&error("select sum(b) from t"));
    expect!["[upper] FILTER after upper, which is not an aggregate function"]
        .assert_eq(&error("select upper(b) filter (where true) from t"));
    expect![
        "[sum] window functions are not allowed in an aggregate call (compute them in a subquery)"
    ]
    .assert_eq(&error("select sum(sum(a) over ()) from t"));
    expect!["no error"].assert_eq(&error("select b from t group by rollup(b)"));
    expect!["[3] GROUP BY position must be 1 to 1: 3"]
        .assert_eq(&error("select a from t group by 3"));
}

#[test]
fn aggregates_of_outer_columns_belong_to_the_outer_query() {
    expect![[r#"
        (SELECT sum(t.a)) HUGEINT
        Project (SELECT sum(t.a)) = scalar(Project sum(t.a) = sum)
          Aggregate [] [sum = sum(a)]
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select (select sum(t.a)) from t"));
    expect![[r#"
        b VARCHAR
        Project b
          Filter exists(Project 1 = 1)
            Aggregate [b] [sum = sum(a#0)]
              Scan t [a#0, b, d, day]
    "#]]
    .assert_eq(&plan(
        "select b from t group by b having exists (select 1 from u where u.a = sum(t.a))",
    ));
    expect!["[sum] aggregate functions are not allowed in WHERE"]
        .assert_eq(&error("select 1 from t where (select sum(t.a)) > 1"));
}
