use super::*;

fn texts(sql: &str) -> Vec<String> {
    parse(sql).unwrap().iter().map(|it| it.text().to_owned()).collect()
}

fn error(sql: &str) -> String {
    let error = parse(sql).unwrap_err();
    let span = error.text_span().unwrap_or_default();
    format!("{}..{} {error}", span.start, span.end)
}

#[test]
fn statements_are_split_at_semicolons_and_keep_their_text() {
    assert_eq!(texts(" select 1 ;; select ';' -- x;\n; "), ["select 1", "select ';'"]);
    assert!(texts("").is_empty());
    assert_eq!(texts("explain analyze select 1;set a=1"), ["explain analyze select 1", "set a=1"]);
}

#[test]
fn syntax_errors_point_at_the_token() {
    assert_eq!(error("select 1 +"), "10..10 expected an expression after +, found end of text");
    assert_eq!(error("select 1\n from 3"), "15..16 expected identifier after from, found 3");
    assert_eq!(error("selec 1"), "0..5 expected an SQL statement, found selec");
    assert_eq!(error("select 'ä"), "7..7 unterminated string literal");
    assert_eq!(error("select $$ä\n"), "7..7 unterminated dollar-quoted string");
    assert_eq!(error("select 1, $x$ä$$"), "10..10 unterminated dollar-quoted, expected $");
    assert_eq!(error("/* 1"), "0..0 unexpected EOF while in a multi-line comment");
    assert_eq!(
        error("select ä /* ä\n/* */ "),
        "10..10 unexpected EOF while in a multi-line comment"
    );
    assert_eq!(error("select 1 2"), "9..10 expected end of statement, found 2");
}

#[test]
fn a_view_keeps_the_text_of_its_query() {
    let statements = parse("create or replace view v(a, b) as select 1, 'é' -- c\n").unwrap();
    let Command::CreateView(view) = &statements[0].command else { panic!("not a view") };
    assert_eq!(view.sql, "select 1, 'é'");
    assert!(view.or_replace && view.columns.len() == 2);
}

#[test]
fn commands_are_recognized() {
    let sql = "copy t(a, b) to 'f.csv' (format csv, header, delimiter '|'); copy (select 1) to 'x';
        set threads to 4; set session memory = '1GB'; reset threads; show all; show tables;
        show threads; describe t; describe select 1; create table t as select 1";
    assert_eq!(parse(sql).unwrap().len(), 11);
}

#[test]
fn deep_and_long_texts_end_in_a_statement_or_an_error() {
    assert_eq!(parse(&format!("select {}1", "1+".repeat(20_000))).unwrap().len(), 1);
    assert!(parse(&format!("select {}1{}", "(".repeat(20_000), ")".repeat(20_000))).is_err());
    assert_eq!(parse(&format!("select {}true", "true or ".repeat(10_000))).unwrap().len(), 1);
    assert_eq!(
        parse(&format!("{}select 1", "select 1 union all ".repeat(2_000))).unwrap().len(),
        1
    );
}
