//! PRIMARY KEY and UNIQUE.

use super::check;
use super::rules::check_rule;
use expect_test::expect;

#[test]
fn keys_of_tables_determine_their_other_columns() {
    check_rule(
        "reduce_group_keys",
        "select id, name, sum(b) from k join t on t.a = k.g group by id, name",
        expect![[r#"
            Project id, name#1 = name#9, sum#7
              Aggregate [id] [sum#7 = final sum(sum#8), name#9 = any_value(name#1)]
                Join inner on eq(g, a)
                  Scan k [id, name#1, g]
                  Aggregate [a] [sum#8 = partial sum(b)]
                    Scan t [a, b]
        "#]],
        expect![[r#"
            Aggregate [id, name] [sum#7 = final sum(sum#8)]
              Join inner on eq(g, a)
                Scan k [id, name, g]
                Aggregate [a] [sum#8 = partial sum(b)]
                  Scan t [a, b]
        "#]],
    );
    check(
        "select distinct id, name from k",
        expect![[r#"
        Scan k [id, name]
    "#]],
    );
    check(
        "select distinct g, name from k",
        expect![[r#"
        Aggregate [g, name] []
          Project g, name
            Scan k [name, g]
    "#]],
    );
    check(
        "select t.b from t left join k on t.a = k.id",
        expect![[r#"
        Scan t [b]
    "#]],
    );
}
