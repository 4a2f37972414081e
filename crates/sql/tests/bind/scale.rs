//! Long and deep statements: linear time, no overflow of the stack.

use super::{Tables, error, statement};
use volley_logical::{ExprKind, Plan};
use volley_sql::Statement;

fn query(sql: &str) -> Plan {
    match statement(&Tables::small(), sql) {
        Ok(Statement::Query(query)) => query.plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ten_thousand_terms_are_one_node() {
    let sql = format!("select a = 0{} from t", " or a = 1".repeat(10_000));
    let Plan::Project { exprs, .. } = query(&sql) else { panic!("not a projection") };
    let ExprKind::Special { args, .. } = &exprs[0].1.kind else { panic!("not a chain") };
    assert_eq!(args.len(), 10_001);
    let sql = format!("select a from t where a = 0{}", " and a = 1".repeat(10_000));
    query(&sql);
}

#[test]
fn two_thousand_unions_are_one_node() {
    let sql = format!("select a from t{}", " union all select a from t".repeat(2000));
    let Plan::SetOperation { inputs, .. } = query(&sql) else { panic!("not a union") };
    assert_eq!(inputs.len(), 2001);
    query(&format!("select a from t{}", " union select a from t".repeat(2000)));
}

#[test]
fn long_chains_of_text_are_shallow() {
    query(&format!("select b{} from t", " || 'x'".repeat(10_000)));
}

#[test]
fn what_is_too_deep_is_an_error() {
    let deep = "nested too deeply: more than 1000 levels";
    assert!(error(&format!("select {}1", "1+".repeat(10_000))).ends_with(deep));
    assert!(error(&format!("select {}1", "- ".repeat(3_000))).ends_with(deep));
    assert!(
        error(&format!("select {}1{}", "abs(".repeat(2_000), ")".repeat(2_000))).ends_with(deep)
    );
    assert!(
        error(&format!("select {}1{}", "(select ".repeat(1_500), ")".repeat(1_500)))
            .ends_with(deep)
    );
    assert!(
        error(&format!("select {}1{}", "abs(".repeat(20_000), ")".repeat(20_000)))
            .contains("too deeply")
    );
    query(&format!("select {}1{}", "(".repeat(3_000), ")".repeat(3_000)));
    query(&format!("select {}1", "1+".repeat(900)));
}

#[test]
fn aliases_of_aliases_do_not_blow_up() {
    let items: Vec<String> =
        (1..60).map(|it| format!("x{} + x{} as x{it}", it - 1, it - 1)).collect();
    let sql = format!("select a as x0, {} from t", items.join(", "));
    assert!(error(&sql).contains("alias stands for too many others"));
}

#[test]
fn many_values_and_many_columns() {
    let rows: Vec<String> = (0..5_000).map(|it| format!("({it}, 'x')")).collect();
    query(&format!("values {}", rows.join(", ")));
    let items: Vec<String> = (0..2_000).map(|it| format!("{it} as c{it}")).collect();
    query(&format!("select * from (select {}) x", items.join(", ")));
}
