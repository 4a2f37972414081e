use super::{error, plan};
use expect_test::expect;

#[test]
fn conditions_are_taken_apart_at_and() {
    expect![[r#"
        b VARCHAR, c DOUBLE
        Project b, c
          Join left on eq(cast(a#0 as BIGINT), a#4) and gt(c, 1.0) and Flag
            Scan t [a#0, b, d, day]
            Scan u [a#4, c, Flag]
    "#]]
    .assert_eq(&plan("select b, c from t left join u on t.a = u.a and c > 1 and (flag)"));
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE, k BIGINT, c DOUBLE, Flag BOOLEAN
        Project a, b, d, day, a, c, Flag
          Join inner
            Scan t [a, b, d, day]
            Scan x [a, c, Flag]
    "#]]
    .assert_eq(&plan("select * from t cross join u as x(k)"));
}

#[test]
fn using_shows_shared_columns_once() {
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE, c DOUBLE, Flag BOOLEAN
        Project a#0, b, d, day, c, Flag
          Join inner on eq(cast(a#0 as BIGINT), a#4)
            Scan t [a#0, b, d, day]
            Scan u [a#4, c, Flag]
    "#]]
    .assert_eq(&plan("select * from t join u using (a)"));
    expect![[r#"
        a BIGINT, a INTEGER, a BIGINT
        Project a#4, a#0, a#7 = a#4
          Join right on eq(cast(a#0 as BIGINT), a#4)
            Scan t [a#0, b, d, day]
            Scan u [a#4, c, Flag]
    "#]]
    .assert_eq(&plan("select a, t.a, u.a from t right join u using (a)"));
    expect![[r#"
        a BIGINT, b VARCHAR, d DECIMAL(15,2), day DATE, c DOUBLE, Flag BOOLEAN, a BIGINT
        Project a#7, b, d, day, c, Flag, a#4
          Project a#0, b, d, day, a#4, c, Flag, a#7 = coalesce(cast(a#0 as BIGINT), a#4)
            Join full on eq(cast(a#0 as BIGINT), a#4)
              Scan t [a#0, b, d, day]
              Scan u [a#4, c, Flag]
    "#]]
    .assert_eq(&plan("select *, u.a from t full join u using (a)"));
    expect![[r#"
        a BIGINT
        Project a#9
          Project a#0, b, d, day, a#4, c, Flag, a#7, a#8, a#9 = coalesce(a#7, cast(a#8 as BIGINT))
            Join full on eq(a#7, cast(a#8 as BIGINT))
              Project a#0, b, d, day, a#4, c, Flag, a#7 = coalesce(cast(a#0 as BIGINT), a#4)
                Join full on eq(cast(a#0 as BIGINT), a#4)
                  Scan t [a#0, b, d, day]
                  Scan u [a#4, c, Flag]
              Project a#8 = 5
                Values [] 1 rows
    "#]]
    .assert_eq(&plan("select a from t natural full join u full join (select 5 as a) x using (a)"));
}

#[test]
fn semi_and_anti_joins_show_the_left_side() {
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE
        Project a#0, b, d, day
          Join left semi on eq(cast(a#0 as BIGINT), a#4)
            Scan t [a#0, b, d, day]
            Scan u [a#4, c, Flag]
    "#]]
    .assert_eq(&plan("select * from t semi join u on t.a = u.a"));
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE
        Project a#0, b, d, day
          Join left anti on eq(cast(a#0 as BIGINT), a#4)
            Scan t [a#0, b, d, day]
            Scan u [a#4, c, Flag]
    "#]]
    .assert_eq(&plan("select * from t anti join u using (a)"));
}

#[test]
fn subqueries_in_from_may_be_lateral() {
    expect![[r#"
        k INTEGER
        Project k
          LateralJoin inner
            Scan t [a, b, d, day]
            Project k = plus(a, 1)
              Values [] 1 rows
    "#]]
    .assert_eq(&plan("select x.k from t, lateral (select t.a + 1 as k) x"));
    expect![[r#"
        k DOUBLE
        Project c#5
          LateralJoin left on true
            Scan t [a#0, b, d, day]
            Project c#5
              Filter eq(a#4, cast(a#0 as BIGINT))
                Scan u [a#4, c#5, Flag]
    "#]]
    .assert_eq(&plan(
        "select x.k from t left join lateral (select c as k from u where u.a = t.a) x on true",
    ));
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE, a BIGINT, c DOUBLE, Flag BOOLEAN, tiny TINYINT, list ARRAY(INTEGER), r ROW(x INTEGER, Y VARCHAR), m MAP(VARCHAR, INTEGER)
        Project a#0, b, d, day, a#4, c, Flag, tiny, list, r, m
          Join inner on eq(cast(tiny as DOUBLE), c)
            Join inner on eq(cast(a#0 as BIGINT), a#4)
              Scan t [a#0, b, d, day]
              Scan u [a#4, c, Flag]
            Scan s [tiny, list, r, m]
    "#]].assert_eq(&plan("select * from (t join u on t.a = u.a) join s on tiny = c"));
}

#[test]
fn joins_that_cannot_be() {
    expect!["[u] join without a condition: ON, USING or CROSS is missing"]
        .assert_eq(&error("select 1 from t join u"));
    expect!["[c] no such column on the left side of USING: c"]
        .assert_eq(&error("select 1 from t join u using (c)"));
    expect!["[s] the sides of NATURAL JOIN have no column in common"]
        .assert_eq(&error("select 1 from t natural join s"));
    expect!["[c] comparison has values of types VARCHAR and DOUBLE (cast one of them)"]
        .assert_eq(&error("select 1 from t join u on b = c"));
    expect!["[sum] aggregate functions are not allowed in a join condition"]
        .assert_eq(&error("select 1 from t join u on sum(t.a) > 1"));
}
