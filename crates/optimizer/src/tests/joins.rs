//! The order of joins.

use super::check;
use super::rules::check_rule;
use crate::testing::{optimized, optimized_without};
use expect_test::expect;

#[test]
fn equal_columns_join_inputs_that_no_condition_names_together() {
    check(
        "select count(*) from s, t, u where s.a = t.a and s.a = u.a and u.e = 3 and t.b = 4",
        expect![[r#"
            Aggregate [] [count = count()]
              Join inner on eq(a#0, a#4)
                Scan s [a#0]
                Join inner on eq(a#4, a#8)
                  Scan t [a#4, b] where eq(b, 4)
                  Scan u [a#8, e] where eq(e, 3)
        "#]],
    );
}

#[test]
fn cross_products_come_last() {
    check(
        "select count(*) from t, u, s where t.a = s.a",
        expect![[r#"
            Aggregate [] [count#10 = final count(count#11)]
              Join inner
                Join inner on eq(a#0, a#6)
                  Scan t [a#0]
                  Aggregate [a#6] [count#11 = partial count()]
                    Scan s [a#6]
                Scan u []
        "#]],
    );
}

#[test]
fn projections_between_joins_do_not_fix_their_order() {
    check(
        "select count(*) from (select s.b + 1 as x, t.a from s, t where s.b = t.b) y, u
         where y.a = u.a and u.e = 3 and x > 4",
        expect![[r#"
            Aggregate [] [count = count()]
              Project 
                Join inner on eq(b#1, b#5)
                  Filter gt(plus(b#1, 1), 4)
                    Scan s [b#1]
                  Join inner on eq(a#4, a#9)
                    Scan t [a#4, b#5]
                    Scan u [a#9, e] where eq(e, 3)
        "#]],
    );
}

#[test]
fn two_columns_of_one_input_that_equal_a_third_are_compared() {
    check(
        "select count(*) from t, u where t.a = u.a and t.b = u.a",
        expect![[r#"
        Aggregate [] [count = count()]
          Join inner on eq(a#4, b)
            Scan u [a#4]
            Filter eq(b, a#0)
              Scan t [a#0, b]
    "#]],
    );
}

#[test]
fn more_inputs_than_dynamic_programming_takes_are_joined_without_products() {
    let names: Vec<String> = (0..15).map(|it| format!("t t{it}")).collect();
    let conditions: Vec<String> = (1..15).map(|it| format!("t{it}.a = t{}.b", it - 1)).collect();
    let sql =
        format!("select count(*) from {} where {}", names.join(", "), conditions.join(" and "));
    let plan = optimized(&sql);
    assert_eq!(plan.lines().filter(|it| it.trim() == "Join inner").count(), 0, "{plan}");
    assert_eq!(plan.matches("Join inner on").count(), 14, "{plan}");
}

#[test]
fn the_order_of_from_does_not_matter() {
    let tables = ["lineitem", "orders", "customer", "nation", "region"];
    let conditions = "l_orderkey = o_orderkey and o_custkey = c_custkey
        and c_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA'";
    let plan_of = |tables: &[&str]| {
        let sql = format!("select count(*) from {} where {conditions}", tables.join(", "));
        // Identities of columns follow the order of FROM; names are unique here.
        optimized(&sql)
    };
    let mut reversed = tables;
    reversed.reverse();
    let orders = |plan: String| {
        plan.lines().filter(|it| it.contains("Scan")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(orders(plan_of(&tables)), orders(plan_of(&reversed)));
    let unordered = optimized_without(
        &format!("select count(*) from {} where {conditions}", reversed.join(", ")),
        &["order_joins"],
    );
    assert_ne!(orders(plan_of(&tables)), orders(unordered));
}

#[test]
fn of_two_sides_with_as_many_rows_the_narrow_one_is_held() {
    for (wide, narrow) in [("x", "y"), ("y", "x")] {
        let sql = format!(
            "select max({wide}.l_comment), sum({narrow}.l_tax) from lineitem x, lineitem y
             where x.l_orderkey = y.l_orderkey and x.l_linenumber = y.l_linenumber"
        );
        let plan = optimized(&sql);
        let scans: Vec<&str> = plan.lines().filter(|it| it.contains("Scan")).collect();
        assert!(scans[0].contains("l_comment") && scans[1].contains("l_tax"), "{plan}");
    }
}

#[test]
fn texts_of_a_small_input_are_tested_below_the_join() {
    check_rule(
        "compute_below_joins",
        "select s.b, sum(case when t.c = 'x' then s.d end), count(case when s.c like '%y' then 1 end),
         sum(case when t.c = 'x' and t.b > 2 then s.b end), max(upper(t.c))
         from s, t where s.a = t.a group by s.b",
        expect![[r#"
            Aggregate [b#1] [sum#8 = sum(switch(test#12, d, NULL)), count = count(test#13), sum#10 = sum(switch(test#14, b#1, NULL)), max = max(upper(c#6))]
              Join inner on eq(a#0, a#4)
                Project a#0, b#1, d, test#13 = switch(like(c#2, %y), 1, NULL)
                  Scan s [a#0, b#1, c#2, d]
                Project a#4, c#6, test#12 = eq(c#6, x), test#14 = and(eq(c#6, x), gt(b#5, 2))
                  Scan t [a#4, b#5, c#6]
        "#]],
        expect![[r#"
            Aggregate [b#1] [sum#8 = sum(switch(eq(c#6, x), d, NULL)), count = count(switch(like(c#2, %y), 1, NULL)), sum#10 = sum(switch(and(eq(c#6, x), gt(b#5, 2)), b#1, NULL)), max = max(upper(c#6))]
              Join inner on eq(a#0, a#4)
                Scan s [a#0, b#1, c#2, d]
                Scan t [a#4, b#5, c#6]
        "#]],
    );
    // The rows of t without a partner are padded: the test is of the padded rows.
    check(
        "select s.b, sum(case when t.c is null then s.d end) from s left join t on s.a = t.a group by s.b",
        expect![[r#"
            Aggregate [b] [sum = sum(switch(is_null(c), d, NULL))]
              Join left on eq(a#0, a#4)
                Scan s [a#0, b, d]
                Scan t [a#4, c]
        "#]],
    );
}

#[test]
fn joins_of_which_one_side_is_not_used_are_reduced() {
    check_rule(
        "reduce_joins",
        "select t.b from t left join (select a, count(*) n from s group by a) x on t.a = x.a",
        expect![[r#"
            Scan t [b]
        "#]],
        expect![[r#"
            Project b
              Join left on eq(a#0, a#4)
                Scan t [a#0, b]
                Aggregate [a#4] []
                  Scan s [a#4]
        "#]],
    );
    check(
        "select t.b from t left join s on t.a = s.a",
        expect![[r#"
        Project b
          Join right on eq(a#0, a#4)
            Scan s [a#4]
            Scan t [a#0, b]
    "#]],
    );
    check(
        "select distinct t.b from t left join s on t.a = s.a",
        expect![[r#"
        Aggregate [b] []
          Scan t [b]
    "#]],
    );
    check(
        "select distinct t.b from t join s on t.a = s.a",
        expect![[r#"
        Aggregate [b] []
          Project b
            Join right semi on eq(a#0, a#4)
              Scan s [a#4]
              Scan t [a#0, b]
    "#]],
    );
    check(
        "select distinct t.b from t join u on t.a = u.a",
        expect![[r#"
        Aggregate [b] []
          Project b
            Join inner on eq(a#0, a#4)
              Scan t [a#0, b]
              Scan u [a#4]
    "#]],
    );
    check(
        "select count(*) from t where a in (select x.a from s x, s y where x.b = y.b)",
        expect![[r#"
            Aggregate [] [count = count()]
              Join right semi on eq(a#0, a#13)
                Project a#13 = a#4
                  Join left semi on eq(b#5, b#9)
                    Scan x [a#4, b#5]
                    Scan y [b#9]
                Scan t [a#0]
        "#]],
    );
}
