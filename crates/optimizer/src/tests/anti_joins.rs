//! Anti joins and semi joins made of outer joins and of set operations.

use super::check;
use super::rules::check_rule;
use expect_test::expect;

#[test]
fn outer_joins_become_anti_joins() {
    check_rule(
        "outer_to_anti",
        "select t.b, s.c from t left join s on t.a = s.a and s.b > 3 where s.a is null",
        expect![[r#"
            Project b#1, c = NULL
              Join right anti on eq(a#0, a#4)
                Scan s [a#4, b#5] where gt(b#5, 3)
                Scan t [a#0, b#1]
        "#]],
        expect![[r#"
            Project b#1, c
              Filter is_null(a#4)
                Join right on eq(a#0, a#4)
                  Scan s [a#4, b#5, c] where gt(b#5, 3)
                  Scan t [a#0, b#1]
        "#]],
    );
    // A column that no condition tests may be null in a row that has a partner.
    check(
        "select t.b from t left join s on t.a = s.a where s.b is null",
        expect![[r#"
            Project b#1
              Filter is_null(b#5)
                Join right on eq(a#0, a#4)
                  Scan s [a#4, b#5]
                  Scan t [a#0, b#1]
        "#]],
    );
    check(
        "select u.e from (select a, true as found from t) x right join u on x.a < u.a
         where x.found is null",
        expect![[r#"
            Project e
              Join left anti on lt(a#0, a#5)
                Scan u [a#5, e]
                Scan t [a#0]
        "#]],
    );
    check(
        "select t.b from t full join s on t.a = s.a where s.a is null",
        expect![[r#"
            Project b
              Filter is_null(a#4)
                Join full on eq(a#0, a#4)
                  Scan s [a#4]
                  Scan t [a#0, b]
        "#]],
    );
}

#[test]
fn set_operations_become_semi_and_anti_joins() {
    check_rule(
        "join_set_operations",
        "select a from t intersect select a from u",
        expect![[r#"
            Join left semi on is_not_distinct_from(a#6, a#7)
              Aggregate [a#6] []
                Project a#6 = a#0
                  Scan t [a#0]
              Project a#7 = a#4
                Scan u [a#4]
        "#]],
        expect![[r#"
            Intersect [a#6]
              Scan t [a#0]
              Scan u [a#4]
        "#]],
    );
    check(
        "select a, c from t except select a, c from s",
        expect![[r#"
        Join right anti on is_not_distinct_from(a#8, a#10) and is_not_distinct_from(c#9, c#11)
          Project a#10 = a#4, c#11 = c#6
            Scan s [a#4, c#6]
          Aggregate [a#8, c#9] []
            Project a#8 = a#0, c#9 = c#2
              Scan t [a#0, c#2]
    "#]],
    );
    // Values that are equal but not the same, and repetitions, are counted.
    check(
        "select d from t intersect select d from s",
        expect![[r#"
        Intersect [d#8]
          Scan t [d#3]
          Scan s [d#7]
    "#]],
    );
    check(
        "select a from t intersect all select a from u",
        expect![[r#"
        Intersect all [a#6]
          Scan t [a#0]
          Scan u [a#4]
    "#]],
    );
}
