//! Subqueries, unnested: snapshots of the optimized plans.

use super::check;
use expect_test::expect;

#[test]
fn an_equality_makes_groups_without_a_domain() {
    check(
        "select a, (select max(b) from s where s.a = t.a) from t",
        expect![[r#"
        Project a#0, (SELECT max(b) FROM s WHERE s.a = t.a) = max
          Join left on eq(a#0, a#4)
            Scan t [a#0]
            Aggregate [a#4] [max = max(b)]
              Scan s [a#4, b]
    "#]],
    );
}

#[test]
fn a_count_of_nothing_is_zero() {
    check(
        "select a, (select count(*) from s where s.a = t.a) from t",
        expect![[r#"
        Project a#0, (SELECT count(*) FROM s WHERE s.a = t.a) = coalesce(count, 0)
          Join left on eq(a#0, a#4)
            Scan t [a#0]
            Aggregate [a#4] [count = count()]
              Scan s [a#4]
    "#]],
    );
}

#[test]
fn an_inequality_needs_the_domain() {
    check(
        "select a, (select count(*) from s where s.b > t.b) from t",
        expect![[r#"
            Project a#0, (SELECT count(*) FROM s WHERE s.b > t.b) = coalesce(count#11, 0)
              Join left on is_not_distinct_from(b#1, b#20)
                Project a#0 = a#21, b#1 = b#22
                  Scan t [a#21, b#22]
                Aggregate [b#20] [count#11 = final count(count#29)]
                  Join inner on gt(b#5, b#20)
                    Aggregate [b#20 = b#17] []
                      Project b#17 = b#26
                        Scan t [b#26]
                    Aggregate [b#5] [count#29 = partial count()]
                      Scan s [b#5]
        "#]],
    );
}

#[test]
fn a_scalar_subquery_without_aggregate_is_checked_for_a_second_row() {
    check(
        "select a, (select c from s where s.a = t.a) from t",
        expect![[r#"
        Project a#0, (SELECT c FROM s WHERE s.a = t.a) = c#9
          Filter switch(gt(rows, 1), cast(error(scalar subquery returned more than one row) as BOOLEAN), true)
            Join left on eq(a#0, a#4)
              Scan t [a#0]
              Aggregate [a#4] [rows = count(), c#9 = any_value(c#11)]
                Project a#4, c#11 = c#6
                  Scan s [a#4, c#6]
    "#]],
    );
}

#[test]
fn an_uncorrelated_scalar_subquery_is_one_row() {
    check(
        "select a from t where b > (select avg(b) from s)",
        expect![[r#"
        Project a
          Join inner on gt(cast(b#1 as DOUBLE), avg(b))
            Scan t [a, b#1]
            SingleRow
              Project avg(b) = avg
                Aggregate [] [avg = avg(b#5)]
                  Scan s [b#5]
    "#]],
    );
}

#[test]
fn a_limit_holds_per_outer_row() {
    check(
        "select a, (select c from s where s.a = t.a order by s.b limit 1) from t",
        expect![[r#"
        Project a#0, (SELECT c FROM s WHERE s.a = t.a ORDER BY s.b LIMIT 1) = c#9
          Join left on eq(a#0, a#4)
            Scan t [a#0]
            Project c#9 = c#6, a#4
              GroupLimit [a#4] order [b#5] 1
                Project c#6, b#5, a#4
                  Scan s [a#4, b#5, c#6]
    "#]],
    );
}

#[test]
fn exists_is_a_semi_join_with_the_other_conditions() {
    check(
        "select a from t where exists (select 1 from s where s.a = t.a and s.b <> t.b)",
        expect![[r#"
            Project a#0
              Join right semi on eq(a#4, a#0) and neq(b#5, b#1)
                Scan s [a#4, b#5]
                Scan t [a#0, b#1]
        "#]],
    );
}

#[test]
fn exists_of_an_aggregate_is_true() {
    check(
        "select a from t where exists (select count(*) from s where s.a = t.a)",
        expect![[r#"
        Scan t [a]
    "#]],
    );
}

#[test]
fn exists_with_an_offset_counts_per_outer_row() {
    check(
        "select a from t where exists (select 1 from s where s.a = t.a offset 2)",
        expect![[r#"
        Join right semi on eq(a#0, a#4)
          GroupLimit [a#4] order [] offset 2
            Scan s [a#4]
          Scan t [a#0]
    "#]],
    );
}

#[test]
fn not_in_knows_three_values() {
    check(
        "select a from t where b not in (select b from s)",
        expect![[r#"
        Project a
          Join left anti null-aware on eq(b#1, b#8)
            Scan t [a, b#1]
            Project b#8 = b#5
              Scan s [b#5]
    "#]],
    );
    check(
        "select a from t where b not in (select b from s where s.a = t.a)",
        expect![[r#"
        Project a#0
          Join left anti null-aware on eq(b#1, b#8) and is_not_distinct_from(a#4, a#0)
            Scan t [a#0, b#1]
            Project b#8 = b#5, a#4
              Scan s [a#4, b#5] where not(is_null(a#4))
    "#]],
    );
}

#[test]
fn under_or_subqueries_are_marks() {
    check(
        "select a from t where a = 5 or b in (select b from s where s.a = t.a)",
        expect![[r#"
        Project a#0
          Filter or(eq(a#0, 5), mark)
            Join left mark null-aware mark mark on eq(b#1, b#9) and is_not_distinct_from(a#4, a#0)
              Scan t [a#0, b#1]
              Project b#9 = b#5, a#4
                Scan s [a#4, b#5] where not(is_null(a#4))
    "#]],
    );
}

#[test]
fn correlation_reaches_through_two_levels() {
    check(
        "select a from t where exists (select 1 from s where s.a = t.a
           and exists (select 1 from u where u.a = s.b and u.e = t.b))",
        expect![[r#"
            Project a#0
              Join right semi on eq(a#4, a#0) and is_not_distinct_from(b#1, b#20)
                Join left semi on eq(a#8, b#5) and eq(e, b#20)
                  Join inner
                    Scan s [a#4, b#5]
                    Aggregate [b#20 = b#17] []
                      Project b#17 = b#26
                        Scan t [b#26]
                  Scan u [a#8, e]
                Project a#0 = a#21, b#1 = b#22
                  Scan t [a#21, b#22]
        "#]],
    );
}

#[test]
fn set_operations_carry_what_is_correlated() {
    check(
        "select a, (select count(*) from
           (select a from s where s.b = t.b union all select a from u where u.e = t.b) x) from t",
        expect![[r#"
            Project a, (SELECT count(*) FROM (SELECT a FROM s WHERE s.b = t.b UNION ALL SELECT a FROM u WHERE u.e = t.b) x) = coalesce(count, 0)
              Join left on is_not_distinct_from(b#1, b#15)
                Scan t [a, b#1]
                Aggregate [b#15] [count = count()]
                  Union all [b#15]
                    Scan s [b#5] where not(is_null(b#5))
                    Scan u [e] where not(is_null(e))
        "#]],
    );
}

#[test]
fn lateral_joins_are_unnested_too() {
    check(
        "select t.a, x.b from t
           left join lateral (select b from s where s.a = t.a order by b limit 2) x on true",
        expect![[r#"
            Project a#0, b
              Join left on eq(a#0, a#4)
                Scan t [a#0]
                GroupLimit [a#4] order [b] 2
                  Project b, a#4
                    Scan s [a#4, b]
        "#]],
    );
}

#[test]
fn a_subquery_in_an_outer_join_goes_to_the_side_it_belongs_to() {
    check(
        "select t.a from t left join s on t.a = s.a and s.b in (select e from u)",
        expect![[r#"
        Project a#0
          Join right on eq(a#0, a#4)
            Filter mark
              Join left mark null-aware mark mark on eq(b, e#11)
                Scan s [a#4, b]
                Project e#11 = e#9
                  Scan u [e#9]
            Scan t [a#0]
    "#]],
    );
}

#[test]
fn a_subquery_of_both_sides_of_an_outer_join_is_evaluated_on_pairs() {
    check(
        "select t.a, s.c from t left join s
           on t.a = s.a and (select max(e) from u where u.a = t.b) > s.b
           and exists (select 1 from u where u.a = t.b and u.e = s.b)",
        expect![[r#"
            Project a#0, c
              Join left on eq(number#19, number#24)
                CteRef numbered [a#0, b#1, number#19]
                  UniqueId number#18
                    Scan t [a#14, b#15]
                Project c, number#24
                  Join left semi on eq(a#11, b#21) and eq(e#12, b#5)
                    Project b#21, number#24, b#5, c
                      Join inner on eq(a#4, a#20) and gt(max, b#5)
                        Scan s [a#4, b#5, c]
                        Join inner on eq(b#21, a#8)
                          CteRef numbered [a#20, b#21, number#24]
                            UniqueId number#18
                              Scan t [a#14, b#15]
                          Aggregate [a#8] [max = max(e#9)]
                            Scan u [a#8, e#9]
                    Scan u [a#11, e#12]
        "#]],
    );
}

#[test]
fn elements_are_made_of_the_rows_themselves() {
    check(
        "select a, x from t, unnest([a, b]) u(x) where x > 1 and a < 5",
        expect![[r#"
        Project a, unnest#4
          Filter gt(unnest#4, 1)
            Unnest unnest#4 = unnest(list_value(a, b))
              Scan t [a, b] where lt(a, 5)
    "#]],
    );
    check(
        "select a, x from t left join lateral (select x from unnest([a, b]) u(x)) q on true",
        expect![[r#"
            Project a, unnest#4
              Unnest outer unnest#4 = unnest(list_value(a, b))
                Scan t [a, b]
        "#]],
    );
    check(
        "select a, q.y from t, lateral (select y from unnest([a, b]) u(x), range(x) r(y)) q",
        expect![[r#"
            Project a, range#5
              Unnest range#5 = range(0, cast(unnest as BIGINT), 1)
                Unnest unnest = unnest(list_value(a, b))
                  Scan t [a, b]
        "#]],
    );
}

#[test]
fn rows_with_lists_are_joined_by_numbers() {
    check(
        "select a, x from (select a, [a, b] as l from t) q left join unnest(l) u(x) on x > a",
        expect![[r#"
            Project a#0, unnest#5
              Join right on gt(unnest#5, a#0) and eq(number#15, number#12)
                Unnest unnest#5 = unnest(l#14)
                  CteRef numbered [a#13, l#14, number#12]
                    UniqueId number#11
                      Project a#6, l#10 = list_value(a#6, b)
                        Scan t [a#6, b]
                CteRef numbered [a#0, l#4, number#15]
                  UniqueId number#11
                    Project a#6, l#10 = list_value(a#6, b)
                      Scan t [a#6, b]
        "#]],
    );
    check(
        "select a, (select sum(x) from unnest(l) u(x)) from (select a, [a, b] as l from t) q",
        expect![[r#"
            Project a#0, (SELECT sum(x) FROM unnest(l) u (x)) = sum
              Join left on eq(number#18, number#15)
                CteRef numbered [a#0, l#4, number#18]
                  UniqueId number#14
                    Project a#9, l#13 = list_value(a#9, b)
                      Scan t [a#9, b]
                Aggregate [number#15] [sum = sum(unnest)]
                  Unnest unnest = unnest(l#17)
                    CteRef numbered [a#16, l#17, number#15]
                      UniqueId number#14
                        Project a#9, l#13 = list_value(a#9, b)
                          Scan t [a#9, b]
        "#]],
    );
}

#[test]
fn the_first_rows_per_group_are_limits_of_groups() {
    check(
        "select t.a, q.c from t, lateral (select c from s where s.a = t.a order by b limit 2) q",
        expect![[r#"
            Project a#0, c
              Join inner on eq(a#0, a#4)
                Scan t [a#0]
                Project c, a#4
                  GroupLimit [a#4] order [b#5] 2
                    Project c, b#5, a#4
                      Scan s [a#4, b#5, c]
        "#]],
    );
}
