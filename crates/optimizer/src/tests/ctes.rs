//! Filters of common table expressions.

use super::check;
use super::rules::check_rule;
use expect_test::expect;

#[test]
fn definitions_are_filtered_by_what_references_keep() {
    check_rule(
        "filter_ctes",
        "with x as (select t.a, u.e, sum(t.b) sb from t, u where t.a = u.a group by t.a, u.e)
         select x1.a from x x1, x x2
         where x1.a = x2.a and x1.e = 3 and x2.e = 4 and x1.sb > 10 and x2.sb > 10",
        expect![[r#"
            Project a#7
              Join inner on eq(a#7, a#10)
                Filter eq(e#8, 3) and gt(sb#9, 10)
                  CteRef x [a#7, e#8, sb#9]
                    Filter gt(sum, 10)
                      Aggregate [a#0, e#5] [sum = sum(b)]
                        Join inner on eq(a#0, a#4)
                          Scan t [a#0, b]
                          Scan u [a#4, e#5] where or(eq(e#5, 3), eq(e#5, 4))
                Filter eq(e#11, 4) and gt(sb#12, 10)
                  CteRef x [a#10, e#11, sb#12]
                    Filter gt(sum, 10)
                      Aggregate [a#0, e#5] [sum = sum(b)]
                        Join inner on eq(a#0, a#4)
                          Scan t [a#0, b]
                          Scan u [a#4, e#5] where or(eq(e#5, 3), eq(e#5, 4))
        "#]],
        expect![[r#"
            Project a#7
              Join inner on eq(a#7, a#10)
                Filter eq(e#8, 3) and gt(sb#9, 10)
                  CteRef x [a#7, e#8, sb#9]
                    Aggregate [a#0, e#5] [sum#6 = final sum(sum#13)]
                      Join inner on eq(a#0, a#4)
                        Aggregate [a#0] [sum#13 = partial sum(b)]
                          Scan t [a#0, b]
                        Scan u [a#4, e#5]
                Filter eq(e#11, 4) and gt(sb#12, 10)
                  CteRef x [a#10, e#11, sb#12]
                    Aggregate [a#0, e#5] [sum#6 = final sum(sum#13)]
                      Join inner on eq(a#0, a#4)
                        Aggregate [a#0] [sum#13 = partial sum(b)]
                          Scan t [a#0, b]
                        Scan u [a#4, e#5]
        "#]],
    );
}

#[test]
fn a_reference_to_all_rows_keeps_its_definition_whole() {
    check(
        "with x as (select a, sum(b) sb from t group by a)
         select x1.a from x x1, x x2 where x1.sb = x2.sb and x1.a = 3",
        expect![[r#"
            Project a#5
              Join inner on eq(sb#8, sb#6)
                CteRef x [a#7, sb#8]
                  Aggregate [a#0] [sum = sum(b)]
                    Scan t [a#0, b]
                Filter eq(a#5, 3)
                  CteRef x [a#5, sb#6]
                    Aggregate [a#0] [sum = sum(b)]
                      Scan t [a#0, b]
        "#]],
    );
}

#[test]
fn branches_of_a_union_that_no_reference_keeps_are_not_run() {
    check(
        "with x as (select 'low' k, a, sum(b) sb from t group by a
                    union all select 'high' k, a, sum(b) sb from s group by a
                    union all select 'none' k, a, sum(e) sb from u group by a)
         select x1.a from x x1, x x2 where x1.a = x2.a and x1.k = 'low' and x2.k = 'high'",
        expect![[r#"
            Project a#20
              Join inner on eq(a#20, a#23)
                Filter eq(k#19, low)
                  CteRef x [k#19, a#20]
                    Union all [k#16, a#17]
                      Project k#5 = low, a#0
                        Aggregate [a#0] []
                          Scan t [a#0]
                      Project k#11 = high, a#6
                        Aggregate [a#6] []
                          Scan s [a#6]
                Filter eq(k#22, high)
                  CteRef x [k#22, a#23]
                    Union all [k#16, a#17]
                      Project k#5 = low, a#0
                        Aggregate [a#0] []
                          Scan t [a#0]
                      Project k#11 = high, a#6
                        Aggregate [a#6] []
                          Scan s [a#6]
        "#]],
    );
}

#[test]
fn filters_of_references_in_definitions_reach_the_definitions_below() {
    check(
        "with x as (select a, b, sum(d) sd from s group by a, b),
              y as (select x1.a, x1.sd, x2.sd sd2 from x x1, x x2
                    where x1.a = x2.a and x1.b = 1 and x2.b = 2)
         select y1.sd from y y1, y y2 where y1.a = 5 and y2.a = 6",
        expect![[r#"
            Project sd#12
              Join inner
                Filter eq(a#11, 5)
                  CteRef y [a#11, sd#12]
                    Project a#5, sd#7
                      Join inner on eq(a#8, a#5)
                        Filter eq(b#9, 2)
                          CteRef x [a#8, b#9, sd#10]
                            Aggregate [a#0, b#1] [sum = sum(d)]
                              Scan s [a#0, b#1, d] where or(and(eq(b#1, 1), or(eq(a#0, 5), eq(a#0, 6))), eq(b#1, 2))
                        Filter eq(b#6, 1) and or(eq(a#5, 5), eq(a#5, 6))
                          CteRef x [a#5, b#6, sd#7]
                            Aggregate [a#0, b#1] [sum = sum(d)]
                              Scan s [a#0, b#1, d] where or(and(eq(b#1, 1), or(eq(a#0, 5), eq(a#0, 6))), eq(b#1, 2))
                Filter eq(a#14, 6)
                  CteRef y [a#14, sd#15]
                    Project a#5, sd#7
                      Join inner on eq(a#8, a#5)
                        Filter eq(b#9, 2)
                          CteRef x [a#8, b#9, sd#10]
                            Aggregate [a#0, b#1] [sum = sum(d)]
                              Scan s [a#0, b#1, d] where or(and(eq(b#1, 1), or(eq(a#0, 5), eq(a#0, 6))), eq(b#1, 2))
                        Filter eq(b#6, 1) and or(eq(a#5, 5), eq(a#5, 6))
                          CteRef x [a#5, b#6, sd#7]
                            Aggregate [a#0, b#1] [sum = sum(d)]
                              Scan s [a#0, b#1, d] where or(and(eq(b#1, 1), or(eq(a#0, 5), eq(a#0, 6))), eq(b#1, 2))
        "#]],
    );
}
