//! Grouping sets that are computed from each other.

use super::check;
use super::rules::check_rule;
use crate::testing::plan_for;
use expect_test::expect;

#[test]
fn coarser_sets_are_computed_from_finer_ones() {
    check_rule(
        "cascade_sets",
        "select a, b, sum(d), count(*) from s group by rollup(a, b)",
        expect![[r#"
            Union all [a#6, b#7, sum#4, count#5]
              Project a#22 = a#18, b#23 = b#19, sum#25 = sum#20, count#26 = count#21
                CteRef sets [a#18, b#19, sum#20, count#21]
                  Aggregate [a#14 = a#10, b#15 = b#11] [sum#16 = merged sum(sum#12), count#17 = merged count(count#13)]
                    Aggregate [a#10 = a#0, b#11 = b#1] [sum#12 = partial sum(d), count#13 = partial count()]
                      Scan s [a#0, b#1, d]
              Project a#37 = a#34, b#38 = NULL, sum#40 = sum#35, count#41 = count#36
                CteRef sets [a#34, sum#35, count#36]
                  Aggregate [a#31 = a#27] [sum#32 = merged sum(sum#29), count#33 = merged count(count#30)]
                    CteRef sets [a#27, b#28, sum#29, count#30]
                      Aggregate [a#14 = a#10, b#15 = b#11] [sum#16 = merged sum(sum#12), count#17 = merged count(count#13)]
                        Aggregate [a#10 = a#0, b#11 = b#1] [sum#12 = partial sum(d), count#13 = partial count()]
                          Scan s [a#0, b#1, d]
              Project a#47 = NULL, b#48 = NULL, sum#50 = sum#45, count#51 = count#46
                Aggregate [] [sum#45 = final sum(sum#43), count#46 = final count(count#44)]
                  CteRef sets [a#42, sum#43, count#44]
                    Aggregate [a#31 = a#27] [sum#32 = merged sum(sum#29), count#33 = merged count(count#30)]
                      CteRef sets [a#27, b#28, sum#29, count#30]
                        Aggregate [a#14 = a#10, b#15 = b#11] [sum#16 = merged sum(sum#12), count#17 = merged count(count#13)]
                          Aggregate [a#10 = a#0, b#11 = b#1] [sum#12 = partial sum(d), count#13 = partial count()]
                            Scan s [a#0, b#1, d]
        "#]],
        expect![[r#"
            Project a#6, b#7, sum#4, count#5
              Aggregate [a#6, b#7, group_id] [sum#4 = sum(d) filter present, count#5 = count() filter present]
                GroupId group_id [a#6 = a#0, b#7 = b#1] sets [(a#6, b#7), (a#6), ()]
                  Scan s [a#0, b#1, d]
        "#]],
    );
    // Few groups, a set that has not the keys of the others, and calls that are not split.
    check(
        "select a, sum(d) from s group by rollup(a)",
        expect![[r#"
        Project a#5, sum#4
          Aggregate [a#5, group_id] [sum#4 = sum(d) filter present]
            GroupId group_id [a#5 = a#0] sets [(a#5), ()]
              Scan s [a#0, d]
    "#]],
    );
    check(
        "select a, b, sum(d) from s group by grouping sets ((a), (b))",
        expect![[r#"
        Project a#5, b#6, sum#4
          Aggregate [a#5, b#6, group_id] [sum#4 = sum(d)]
            GroupId group_id [a#5 = a#0, b#6 = b#1] sets [(a#5), (b#6)]
              Scan s [a#0, b#1, d]
    "#]],
    );
    check(
        "select a, b, count(distinct d) from s group by rollup(a, b)",
        expect![[r#"
        Project a#5, b#6, count#4
          Aggregate [a#5, b#6, group_id] [count#4 = count(distinct d) filter present]
            GroupId group_id [a#5 = a#0, b#6 = b#1] sets [(a#5, b#6), (a#5), ()]
              Scan s [a#0, b#1, d]
    "#]],
    );
}

#[test]
fn drivers_merge_the_finest_groups_once() {
    let sql = "select a, b, avg(d) from s group by cube(a, b)";
    let lowered = plan_for(sql, &[], 2).expect("it plans").lowered.to_string();
    expect![[r#"
        Union inputs=4
          Aggregation Single keys=[#0, #1] aggregates=[avg(partial #2)]
            LocalExchange hash [#0, #1]
              Shared 0
                Aggregation Intermediate keys=[#0, #1] aggregates=[avg(#2)]
                  LocalExchange hash [#0, #1]
                    Aggregation Partial keys=[#0, #1] aggregates=[avg(#2)]
                      TableScan s [a, b, d]
          Project #0 as a, NULL as b, #1 as avg
            Aggregation Single keys=[#0] aggregates=[avg(partial #1)]
              LocalExchange hash [#0]
                Shared 1
                  Aggregation Intermediate keys=[#0] aggregates=[avg(#1)]
                    LocalExchange hash [#0]
                      Aggregation Partial keys=[#0] aggregates=[avg(partial #2)]
                        Shared 0 (above)
          Project NULL as a, #0 as b, #1 as avg
            Aggregation Final keys=[#0] aggregates=[avg(#1)]
              LocalExchange hash [#0]
                Aggregation Partial keys=[#1] aggregates=[avg(partial #2)]
                  Shared 0 (above)
          Project NULL as a, NULL as b, #0 as avg
            Aggregation Final aggregates=[avg(#0)]
              LocalExchange gather
                Aggregation Partial aggregates=[avg(partial #1)]
                  Shared 1 (above)
    "#]]
    .assert_eq(&lowered);
}
