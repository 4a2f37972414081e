//! Plans, lowered.

use crate::testing::{plan_for, plan_without};
use expect_test::{Expect, expect};

fn check(sql: &str, expected: Expect) {
    let text = match plan_without(sql, &[]) {
        Ok(planned) => planned.lowered.to_string(),
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&text);
}

#[test]
fn equalities_are_keys_and_the_rest_is_a_filter() {
    check(
        "select t.c, u.e from t join u on t.a + 1 = u.a and t.b > u.e",
        expect![[r#"
        HashJoin inner on #3 = build #0 filter=gt(#1, #5) output=[#2 as c, #5 as e]
          Project #0 as a, #1 as b, #2 as c, plus(#0, 1) as expr0
            TableScan t [a, b, c]
          TableScan u [a, e]
    "#]],
    );
    check(
        "select t.c from t join u on t.b > u.e",
        expect![[r#"
        RangeJoin inner on #0 > build #0 output=[#1 as c]
          TableScan t [b, c]
          TableScan u [e]
    "#]],
    );
    check(
        "select t.c from t join u on t.a is not distinct from u.a",
        expect![[r#"
        HashJoin inner on #0 is not distinct from build #0 output=[#1 as c]
          TableScan t [a, c]
          TableScan u [a]
    "#]],
    );
}

#[test]
fn a_sort_with_a_limit_keeps_the_first_rows() {
    check(
        "select a from t order by b desc limit 3 offset 1",
        expect![[r#"
        Project #0 as a
          TopN #1 desc limit=3 offset=1
            TableScan t [a, b]
    "#]],
    );
}

#[test]
fn keys_and_arguments_are_computed_first() {
    check(
        "select a + 1, sum(b * 2) filter (where b > 3) from t group by a + 1",
        expect![[r#"
        Aggregation Single keys=[#2] aggregates=[sum(#3) filter #4]
          Project #0 as a, #1 as b, plus(#0, 1) as expr0, multiply(#1, 2) as expr1, gt(#1, 3) as expr2
            TableScan t [a, b]
    "#]],
    );
}

#[test]
fn multiplicities_are_counted_and_repeated() {
    check(
        "select a from t intersect all select a from u",
        expect![[r#"
        Repeat
          Project #0 as a, switch(lt(#1, #2), #1, #2) as count
            Aggregation Single keys=[#0] aggregates=[count(#1), count(#2)]
              Union inputs=2
                Project #0 as a, true as mark, NULL as mark
                  TableScan t [a]
                Project #0 as a, NULL as mark, true as mark
                  TableScan u [a]
    "#]],
    );
    check(
        "select a from t except select a from u",
        expect![[r#"
            HashJoin left anti on #0 is not distinct from build #0 output=[#0 as a]
              Aggregation Single keys=[#0]
                TableScan t [a]
              TableScan u [a]
        "#]],
    );
}

#[test]
fn a_count_reads_no_column() {
    check(
        "select count(*) from t",
        expect![[r#"
        Aggregation Single aggregates=[count()]
          TableScan t []
    "#]],
    );
}

#[test]
fn output_columns_keep_their_order_and_names() {
    check(
        "select b as x, a as y, b as x from t",
        expect![[r#"
        Project #1 as x, #0 as y, #1 as x
          TableScan t [a, b]
    "#]],
    );
}

#[test]
fn what_is_referenced_twice_is_shared() {
    check(
        "with x as (select a, count(*) n from t group by a) select * from x x1, x x2
         where x1.n = x2.n",
        expect![[r#"
            HashJoin inner on #1 = build #1 output=[#0 as a, #1 as n, #2 as a, #3 as n]
              Shared 0
                Aggregation Single keys=[#0] aggregates=[count()]
                  TableScan t [a]
              Shared 0 (above)
        "#]],
    );
}

fn lowered_for_two(sql: &str) -> String {
    plan_for(sql, &[], 2).expect("it plans").lowered.to_string()
}

#[test]
fn distinct_arguments_of_few_groups_are_found_by_all_drivers() {
    expect![[r#"
        Aggregation Final keys=[#0] aggregates=[count(#1), sum(#2), count(#3)]
          LocalExchange hash [#0]
            Aggregation Partial keys=[#0] aggregates=[count(#1), sum(partial #2), count(partial #3)]
              Aggregation Intermediate keys=[#0, #1] aggregates=[sum(#2), count(#3)]
                LocalExchange hash [#0, #1]
                  Aggregation Partial keys=[#0, #1] aggregates=[sum(#2), count() filter #3]
                    Project #0 as a, #1 as b, #2 as d, gt(#1, 3) as expr0
                      TableScan s [a, b, d]
    "#]]
    .assert_eq(&lowered_for_two(
        "select a, count(distinct b), sum(d), count(*) filter (where b > 3) from s group by a",
    ));
    expect![[r#"
        Aggregation Final aggregates=[count(#0)]
          LocalExchange gather
            Aggregation Partial aggregates=[count(#0)]
              Aggregation Intermediate keys=[#0]
                LocalExchange hash [#0]
                  Aggregation Partial keys=[#0]
                    TableScan s [b]
    "#]]
    .assert_eq(&lowered_for_two("select count(distinct b) from s"));
    for sql in [
        "select b, c, count(distinct a) from s group by b, c",
        "select array_agg(distinct a), array_agg(b) from s",
    ] {
        let text = lowered_for_two(sql);
        assert!(text.contains("Aggregation Single"), "{text}");
    }
}
