use super::{error, plan};
use expect_test::expect;

#[test]
fn subqueries_stand_in_any_expression() {
    expect![[r#"
        (SELECT max(c) FROM u) + 1 DOUBLE
        Project (SELECT max(c) FROM u) + 1 = plus(scalar(Project max#7), 1.0)
          Scan t [a#0, b, d, day]
    "#]]
    .assert_eq(&plan("select (select max(c) from u) + 1 from t"));
    expect![[r#"
        a INTEGER
        Project a#0
          Filter or(not(exists(Project 1 = 1)), (cast(a#0 as BIGINT)) in (Project a#8))
            Scan t [a#0, b, d, day]
    "#]].assert_eq(&plan("select a from t where not exists (select 1 from u where u.a = t.a) or a in (select a from u)"));
    expect![[r#"
        a INTEGER
        Project a#0
          Filter not((cast(a#0 as DOUBLE), b) in (Project c, 'x' = x))
            Scan t [a#0, b, d, day]
    "#]]
    .assert_eq(&plan("select a from t where (a, b) not in (select c, 'x' from u)"));
}

#[test]
fn names_reach_through_levels() {
    expect![[r#"
        a INTEGER
        Project a#0
          Filter exists(Project 1 = 1)
            Scan t [a#0, b, d, day]
    "#]].assert_eq(&plan(
        "select a from t where exists (select 1 from u where c > (select tiny from s where tiny = t.a and tiny < u.c))",
    ));
}

#[test]
fn quantified_comparisons_are_rewritten() {
    expect![[r#"
        a = ANY(SELECT a FROM u) BOOLEAN, a <> ALL(SELECT a FROM u) BOOLEAN
        Project a = ANY(SELECT a FROM u) = (cast(a#0 as BIGINT)) in (Project a#4), a <> ALL(SELECT a FROM u) = not((cast(a#0 as BIGINT)) in (Project a#7))
          Scan t [a#0, b, d, day]
    "#]]
        .assert_eq(&plan("select a = any (select a from u), a <> all (select a from u) from t"));
    expect![[r#"
        a > ALL(SELECT a FROM u) BOOLEAN
        Project a > ALL(SELECT a FROM u) = not(switch(exists(Filter lte(cast(a#0 as BIGINT), a#4)), true, exists(Filter is_null(lte(cast(a#0 as BIGINT), a#7))), NULL, false))
          Scan t [a#0, b, d, day]
    "#]].assert_eq(&plan("select a > all (select a from u) from t"));
}

#[test]
fn widths_must_fit() {
    expect!["[select a, c from u] subquery must have 1 column, not 2"]
        .assert_eq(&error("select (select a, c from u)"));
    expect!["[select a, c from u] subquery must have 1 column, not 2"]
        .assert_eq(&error("select 1 in (select a, c from u)"));
    expect!["[select a from u] subquery must have 2 columns, not 1"]
        .assert_eq(&error("select (1, 2) in (select a from u)"));
    expect!["[b] comparison has values of types VARCHAR and DOUBLE (cast one of them)"]
        .assert_eq(&error("select b in (select c from u) from t"));
    expect!["no error"].assert_eq(&error("select 1 = any ([1])"));
}
