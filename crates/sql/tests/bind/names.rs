use super::{error, plan};
use expect_test::expect;

#[test]
fn unknown_names_point_at_themselves_and_suggest_the_nearest() {
    expect!["[tt] no such table: tt (did you mean t?)"].assert_eq(&error("select 1 from tt"));
    expect!["[flg] no such column: flg (did you mean Flag?)"]
        .assert_eq(&error("select flg from u"));
    expect!["[u.flg] no such column: u.flg (did you mean Flag?)"]
        .assert_eq(&error("select u.flg from u"));
    expect!["[x.a] no such table in FROM: x (did you mean y?)"]
        .assert_eq(&error("select x.a from u as y"));
    expect!["[uppr] no such function: uppr (did you mean upper?)"]
        .assert_eq(&error("select uppr('x')"));
    expect!["[x] no such table in FROM: x (did you mean t?)"]
        .assert_eq(&error("select x.* from t"));
    expect!["[z] no such field: z (did you mean x?)"].assert_eq(&error("select r.z from s"));
    expect!["[integr] no such type: integr (did you mean INTEGER?)"]
        .assert_eq(&error("select cast(1 as integr)"));
    expect!["[strct] no such type: strct (did you mean STRUCT?)"]
        .assert_eq(&error("select cast(null as strct)"));
    expect!["[row] no such type: row"].assert_eq(&error("select cast(null as row)"));
    expect!["['missing.csv'] no such file: missing.csv"]
        .assert_eq(&error("select 1 from 'missing.csv'"));
}

#[test]
fn ambiguous_names_list_what_they_may_mean() {
    expect!["[a] ambiguous column: a (it may be t.a or u.a)"]
        .assert_eq(&error("select a from t, u"));
    expect!["[u as t] two tables in FROM are called t (give one of them an alias)"]
        .assert_eq(&error("select t.a from t join u as t on true"));
}

#[test]
fn names_ignore_case_and_keep_it_in_the_output() {
    expect![[r#"
        Flag BOOLEAN, FLAG BOOLEAN, a BIGINT
        Project Flag, FLAG = Flag, a
          Scan U [a, c, Flag]
    "#]]
    .assert_eq(&plan("select FLAG, \"flag\" as \"FLAG\", U.A from U"));
    expect![[r#"
        a INTEGER, b VARCHAR
        Project a, b
          Scan T [a, b, d, day]
    "#]]
    .assert_eq(&plan("select main.t.a, t.b from main.T"));
}

#[test]
fn views_with_errors_point_at_the_view() {
    expect!["[broken] no such column: nothing (view: broken)"]
        .assert_eq(&error("select * from broken"));
    expect!["[loop] view refers to itself: loop (view: loop)"]
        .assert_eq(&error("select * from loop"));
}
