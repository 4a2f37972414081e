//! Each rule, on and off.

use super::check;
use crate::testing::optimized_without;
use crate::{rules, testing::plan_without};
use expect_test::{Expect, expect};

/// What a rule makes of a query, and what the plan is without it.
pub(super) fn check_rule(rule: &str, sql: &str, on: Expect, off: Expect) {
    assert!(rules().iter().any(|it| it.name == rule), "there is no rule {rule}");
    check(sql, on);
    off.assert_eq(&optimized_without(sql, &[rule]));
}

#[test]
fn constants_fold() {
    check_rule(
        "fold_constants",
        "select a from t where a > 2 + 3",
        expect![[r#"
        Scan t [a] where gt(a, 5)
    "#]],
        expect![[r#"
        Filter gt(a, plus(2, 3))
          Scan t [a]
    "#]],
    );
}

#[test]
fn constants_narrow() {
    check_rule(
        "narrow_constants",
        "select a from t where cast(a as bigint) = 5",
        expect![[r#"
            Scan t [a] where eq(a, 5)
        "#]],
        expect![[r#"
            Scan t [a] where eq(cast(a as BIGINT), 5)
        "#]],
    );
}

#[test]
fn common_factors_come_out_of_or() {
    check_rule(
        "simplify_booleans",
        "select t.a from t, u where (t.a = u.a and t.b = 1) or (t.a = u.a and u.e = 2)",
        expect![[r#"
            Project a#0
              Join inner on eq(a#0, a#4) and or(eq(b, 1), eq(e, 2))
                Scan t [a#0, b]
                Scan u [a#4, e]
        "#]],
        expect![[r#"
            Project a#0
              Join inner on or(and(eq(a#0, a#4), eq(b, 1)), and(eq(a#0, a#4), eq(e, 2)))
                Scan t [a#0, b]
                Scan u [a#4, e]
        "#]],
    );
}

#[test]
fn equalities_become_lists() {
    check(
        "select a from t where (b = 1 or b = 2 or b = 3) and not (a >= 4)",
        expect![[r#"
        Project a
          Scan t [a, b] where in(b, 1, 2, 3) and lt(a, 4)
    "#]],
    );
}

#[test]
fn common_table_expressions_are_inlined_or_shared() {
    check_rule(
        "inline_ctes",
        "with x as (select a from t) select a from x where a = 3",
        expect![[r#"
            Project a#4 = a#0
              Scan t [a#0] where eq(a#0, 3)
        "#]],
        expect![[r#"
            Filter eq(a#4, 3)
              CteRef x [a#4]
                Scan t [a#0] where eq(a#0, 3)
        "#]],
    );
    check(
        "with x as (select a, sum(b) sb from s group by a)
         select * from x where sb = (select max(sb) from x)",
        expect![[r#"
            Project a#5, sb#6
              Join inner on eq(sb#6, max(sb))
                CteRef x [a#5, sb#6]
                  Aggregate [a#0] [sum = sum(b)]
                    Scan s [a#0, b]
                SingleRow
                  Project max(sb) = max
                    Aggregate [] [max = max(sb#8)]
                      CteRef x [a#7, sb#8]
                        Aggregate [a#0] [sum = sum(b)]
                          Scan s [a#0, b]
        "#]],
    );
}

#[test]
fn outer_joins_become_inner() {
    check_rule(
        "simplify_outer_joins",
        "select t.a, s.c from t left join s on t.a = s.a where s.b > 5",
        expect![[r#"
            Project a#0, c
              Join inner on eq(a#4, a#0)
                Scan s [a#4, b, c] where gt(b, 5)
                Scan t [a#0]
        "#]],
        expect![[r#"
            Project a#0, c
              Filter gt(b, 5)
                Join right on eq(a#0, a#4)
                  Scan s [a#4, b, c]
                  Scan t [a#0]
        "#]],
    );
    check(
        "select t.a, s.c from t full join s on t.a = s.a where t.b = 3",
        expect![[r#"
        Project a#0, c
          Join right on eq(a#0, a#4)
            Scan s [a#4, c]
            Scan t [a#0, b] where eq(b, 3)
    "#]],
    );
    check(
        "select t.a from t left join s on t.a = s.a where s.b is null",
        expect![[r#"
        Project a#0
          Filter is_null(b)
            Join right on eq(a#0, a#4)
              Scan s [a#4, b]
              Scan t [a#0]
    "#]],
    );
}

#[test]
fn filters_reach_the_scans() {
    check_rule(
        "push_filters",
        "select x.a, n from (select a, count(*) n from t group by a) x, u
         where x.a = u.a and x.a < 10 and n > 2",
        expect![[r#"
            Project a#0, count#4
              Join inner on eq(a#5, a#0)
                Scan u [a#5] where lt(a#5, 10)
                Filter gt(count#4, 2)
                  Aggregate [a#0] [count#4 = count()]
                    Scan t [a#0] where lt(a#0, 10)
        "#]],
        expect![[r#"
            Project a#0, count#4
              Join inner on eq(a#5, a#0)
                Scan u [a#5]
                Filter lt(a#0, 10) and gt(count#4, 2)
                  Aggregate [a#0] [count#4 = count()]
                    Scan t [a#0]
        "#]],
    );
}

#[test]
fn equal_columns_pass_the_same_tests() {
    check_rule(
        "infer_predicates",
        "select t.b from t, u where t.a = u.a and u.a = 7",
        expect![[r#"
            Project b
              Join inner on eq(a#0, a#4)
                Scan t [a#0, b] where eq(a#0, 7)
                Scan u [a#4] where eq(a#4, 7)
        "#]],
        expect![[r#"
            Project b
              Join inner on eq(a#0, a#4)
                Scan t [a#0, b]
                Scan u [a#4] where eq(a#4, 7)
        "#]],
    );
}

#[test]
fn or_over_two_inputs_says_something_of_each() {
    check_rule(
        "derive_from_or",
        "select t.a from t, u where t.a = u.a and ((t.b = 1 and u.e = 2) or (t.b = 3 and u.e = 4))",
        expect![[r#"
            Project a#0
              Join inner on eq(a#0, a#4) and or(and(eq(b, 1), eq(e, 2)), and(eq(b, 3), eq(e, 4)))
                Scan t [a#0, b] where or(eq(b, 1), eq(b, 3))
                Scan u [a#4, e] where or(eq(e, 2), eq(e, 4))
        "#]],
        expect![[r#"
            Project a#0
              Join inner on eq(a#0, a#4) and or(and(eq(b, 1), eq(e, 2)), and(eq(b, 3), eq(e, 4)))
                Scan t [a#0, b]
                Scan u [a#4, e]
        "#]],
    );
}

#[test]
fn what_is_empty_does_not_run() {
    check_rule(
        "drop_empty",
        "select t.a, s.c from t left join (select * from s where 1 = 0) s on t.a = s.a",
        expect![[r#"
            Project a, c = NULL
              Scan t [a]
        "#]],
        expect![[r#"
            Project a#0, c
              Join left on eq(a#0, a#4)
                Scan t [a#0]
                Filter false
                  Scan s [a#4, c]
        "#]],
    );
}

#[test]
fn distinct_of_groups_goes() {
    check_rule(
        "drop_distinct",
        "select distinct a, n from (select a, count(*) n from t group by a) x",
        expect![[r#"
            Aggregate [a] [count = count()]
              Scan t [a]
        "#]],
        expect![[r#"
            Project a, count#4 = n#5
              Aggregate [a] [n#5 = any_value(count#4)]
                Aggregate [a] [count#4 = count()]
                  Scan t [a]
        "#]],
    );
}

#[test]
fn limits_go_below_projections_and_unions() {
    check_rule(
        "push_limits",
        "select a + 1 from (select a, b from t union all select a, b from s) x order by b limit 3",
        expect![[r#"
            Project a + 1 = plus(a#8, 1)
              Limit 3
                Sort b#9
                  Union all [a#8, b#9]
                    Limit 3
                      Sort b#1
                        Scan t [a#0, b#1]
                    Limit 3
                      Sort b#5
                        Scan s [a#4, b#5]
        "#]],
        expect![[r#"
            Project a + 1
              Limit 3
                Sort b#9
                  Project a + 1 = plus(a#8, 1), b#9
                    Union all [a#8, b#9]
                      Scan t [a#0, b#1]
                      Scan s [a#4, b#5]
        "#]],
    );
}

#[test]
fn selective_semi_joins_go_first() {
    check_rule(
        "place_semi_joins",
        "select s.c from s, t where s.b = t.b and s.a in (select a from u where e = 3)",
        expect![[r#"
            Project c
              Join inner on eq(b#1, b#5)
                Join left semi on eq(a#0, a#10)
                  Scan s [a#0, b#1, c]
                  Project a#10 = a#8
                    Scan u [a#8, e] where eq(e, 3)
                Scan t [b#5]
        "#]],
        expect![[r#"
            Project c
              Join left semi on eq(a#0, a#10)
                Join inner on eq(b#1, b#5)
                  Scan s [a#0, b#1, c]
                  Scan t [b#5]
                Project a#10 = a#8
                  Scan u [a#8, e] where eq(e, 3)
        "#]],
    );
}

#[test]
fn joins_are_ordered_by_cost() {
    check_rule(
        "order_joins",
        "select s.c from s, u, t where s.b = t.b and t.a = u.a and u.e = 3",
        expect![[r#"
            Project c
              Join inner on eq(b#1, b#7)
                Scan s [b#1, c]
                Join inner on eq(a#6, a#4)
                  Scan t [a#6, b#7]
                  Scan u [a#4, e] where eq(e, 3)
        "#]],
        expect![[r#"
            Project c
              Join inner on eq(b#1, b#7) and eq(a#6, a#4)
                Join inner
                  Scan s [b#1, c]
                  Scan u [a#4, e] where eq(e, 3)
                Scan t [a#6, b#7]
        "#]],
    );
}

#[test]
fn the_smaller_side_is_held() {
    check_rule(
        "choose_build_sides",
        "select u.a, s.c from u left join s on u.a = s.a",
        expect![[r#"
            Project a#0, c
              Join right on eq(a#0, a#2)
                Scan s [a#2, c]
                Scan u [a#0]
        "#]],
        expect![[r#"
            Project a#0, c
              Join left on eq(a#0, a#2)
                Scan u [a#0]
                Scan s [a#2, c]
        "#]],
    );
}

#[test]
fn equal_subplans_run_once() {
    check_rule(
        "share_subplans",
        "select s.a, sum(u.e) from s, u where s.b = u.e group by s.a
         having sum(u.e) > (select sum(u.e) from s, u where s.b = u.e)",
        expect![[r#"
            Project a#0, sum#6
              Join inner on gt(sum#6, sum(u.e))
                Aggregate [a#0] [sum#6 = sum(e#5)]
                  CteRef shared [a#0, e#5]
                    Project a#15, e#20
                      Join inner on eq(b, e#20)
                        Scan s [a#15, b]
                        Scan u [e#20]
                SingleRow
                  Project sum(u.e) = sum#13
                    Aggregate [] [sum#13 = sum(e#12)]
                      CteRef shared [a#7, e#12]
                        Project a#15, e#20
                          Join inner on eq(b, e#20)
                            Scan s [a#15, b]
                            Scan u [e#20]
        "#]],
        expect![[r#"
            Project a, sum#6
              Join inner on gt(sum#6, sum(u.e))
                Aggregate [a] [sum#6 = sum(e#5)]
                  Join inner on eq(b#1, e#5)
                    Scan s [a, b#1]
                    Scan u [e#5]
                SingleRow
                  Project sum(u.e) = sum#13
                    Aggregate [] [sum#13 = sum(e#12)]
                      Join inner on eq(b#8, e#12)
                        Scan s [b#8]
                        Scan u [e#12]
        "#]],
    );
}

#[test]
fn unused_columns_are_not_read() {
    check_rule(
        "prune_columns",
        "select count(*) from s",
        expect![[r#"
        Aggregate [] [count = count()]
          Scan s []
    "#]],
        expect![[r#"
        Aggregate [] [count = count()]
          Scan s [a, b, c, d]
    "#]],
    );
}

#[test]
fn projections_merge() {
    check_rule(
        "merge_projections",
        "select y + 1 from (select a + 1 as y from t) x",
        expect![[r#"
            Project y + 1 = plus(plus(a, 1), 1)
              Scan t [a]
        "#]],
        expect![[r#"
            Project y + 1 = plus(y, 1)
              Project y = plus(a, 1)
                Scan t [a]
        "#]],
    );
}

#[test]
fn every_query_plans_with_any_rule_off() {
    let names: Vec<&str> = rules().iter().map(|it| it.name).collect();
    for (number, sql) in volley_tpch::QUERIES.iter().enumerate() {
        for name in &names {
            let planned = plan_without(sql, &[name]);
            assert!(planned.is_ok(), "query {} without {name}: {:?}", number + 1, planned.err());
        }
        assert!(plan_without(sql, &names).is_ok(), "query {} without rules", number + 1);
    }
}

#[test]
fn disjunctions_above_groups_and_windows_are_derived_below_them() {
    check_rule(
        "derive_from_or",
        "select a, s from (select a, c, sum(b) s from t group by a, c)
         where (a = 1 and s > 0) or (a = 2 and c < 'x')",
        expect![[r#"
            Project a, sum#4
              Filter or(and(eq(a, 1), gt(sum#4, 0)), and(eq(a, 2), lt(c, x)))
                Aggregate [a, c] [sum#4 = sum(b)]
                  Scan t [a, b, c] where or(eq(a, 1), and(eq(a, 2), lt(c, x)))
        "#]],
        expect![[r#"
            Project a, sum#4
              Filter or(and(eq(a, 1), gt(sum#4, 0)), and(eq(a, 2), lt(c, x)))
                Aggregate [a, c] [sum#4 = sum(b)]
                  Scan t [a, b, c]
        "#]],
    );
    check_rule(
        "derive_from_or",
        "select a, n from (select a, b, row_number() over (partition by a order by b) n from t)
         where (a = 1 and n = 3) or (a = 2 and n > 5)",
        expect![[r#"
            Project a, row_number#4
              Filter or(and(eq(a, 1), eq(row_number#4, 3)), and(eq(a, 2), gt(row_number#4, 5)))
                Window [a] order [b] [row_number#4 = row_number()]
                  Scan t [a, b] where or(eq(a, 1), eq(a, 2))
        "#]],
        expect![[r#"
            Project a, row_number#4
              Filter or(and(eq(a, 1), eq(row_number#4, 3)), and(eq(a, 2), gt(row_number#4, 5)))
                Window [a] order [b] [row_number#4 = row_number()]
                  Scan t [a, b]
        "#]],
    );
}

#[test]
fn a_test_that_may_fail_is_not_derived_below_groups() {
    check(
        "select a, s from (select a, sum(b) s from t group by a)
         where (s > 0 and 10 // a = 1) or (s < 0 and 20 // a = 1)",
        expect![[r#"
            Filter or(and(gt(sum, 0), eq(integer_divide(10, a), 1)), and(lt(sum, 0), eq(integer_divide(20, a), 1)))
              Aggregate [a] [sum = sum(b)]
                Scan t [a, b]
        "#]],
    );
}
