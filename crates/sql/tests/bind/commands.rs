use super::{Tables, plan, statement};
use expect_test::expect;
use volley_connector::WriteKind;
use volley_sql::{Statement, Write};

#[test]
fn tables_are_made_with_known_types() {
    expect![[r#"
        CreateTable { name: "x", or_replace: true, if_not_exists: false, columns: Schema { fields: [Field { name: "a", data_type: Integer }, Field { name: "n", data_type: Integer }] }, definition: TableDefinition { columns: [], checks: [], keys: [], foreign_keys: [], indexes: [], comment: None, on_commit: PreserveRows }, query: Some(Query { plan: Project { input: Project { input: Scan { table: Stored { database: "memory", table: TableId(1), row_ids: Without }, name: "t", columns: [(Column { id: ColumnId(0), name: "a", data_type: Integer }, 0), (Column { id: ColumnId(1), name: "b", data_type: Varchar }, 1), (Column { id: ColumnId(2), name: "d", data_type: Decimal { precision: 15, scale: 2 } }, 2), (Column { id: ColumnId(3), name: "day", data_type: Date }, 3)], filters: [] }, exprs: [(Column { id: ColumnId(0), name: "a", data_type: Integer }, Expr { kind: Column(ColumnId(0)), data_type: Integer, span: Some(Span { start: 36, end: 37 }) }), (Column { id: ColumnId(4), name: "n", data_type: Unknown }, Expr { kind: Constant(Null), data_type: Unknown, span: Some(Span { start: 39, end: 43 }) })] }, exprs: [(Column { id: ColumnId(0), name: "a", data_type: Integer }, Expr { kind: Column(ColumnId(0)), data_type: Integer, span: None }), (Column { id: ColumnId(5), name: "n", data_type: Integer }, Expr { kind: Cast { input: Expr { kind: Column(ColumnId(4)), data_type: Unknown, span: None }, null_on_error: false, package: Core }, data_type: Integer, span: None })] }, names: ["a", "n"] }) }
    "#]].assert_eq(&plan("create or replace table x as select a, null as n from t"));
    expect![[r#"
        CreateTable { name: "x", or_replace: false, if_not_exists: true, columns: Schema { fields: [Field { name: "a", data_type: Integer }, Field { name: "b", data_type: Decimal { precision: 5, scale: 0 } }, Field { name: "c", data_type: Array(Double) }, Field { name: "d", data_type: Row([Field { name: "x", data_type: Integer }]) }, Field { name: "e", data_type: HugeInt }] }, definition: TableDefinition { columns: [ColumnDefinition { is_not_null: false, default: None, generated: None, named_types: [], comment: None }, ColumnDefinition { is_not_null: false, default: None, generated: None, named_types: [], comment: None }, ColumnDefinition { is_not_null: false, default: None, generated: None, named_types: [], comment: None }, ColumnDefinition { is_not_null: false, default: None, generated: None, named_types: [], comment: None }, ColumnDefinition { is_not_null: false, default: None, generated: None, named_types: [], comment: None }], checks: [], keys: [], foreign_keys: [], indexes: [], comment: None, on_commit: PreserveRows }, query: None }
    "#]].assert_eq(&plan("create table if not exists x (a int, b decimal(5), c double[], d struct(x int), e hugeint)"));
}

#[test]
fn rows_are_inserted_in_the_order_of_the_table() {
    let sql = "insert into t (day, a) select '2020-01-01', c from u";
    let Ok(Statement::Write(write)) = statement(&Tables::small(), sql) else {
        panic!("not an INSERT");
    };
    let Write { table, kind, query, .. } = *write;
    assert_eq!(table, "t");
    assert_eq!(kind, WriteKind::Insert { skipping_keys: Vec::new() });
    expect![[r#"
        Project a#4 = cast(c as INTEGER), b = NULL, d = NULL, day = cast('2020-01-01' as DATE)
          Project '2020-01-01' = 2020-01-01, c
            Scan u [a#0, c, Flag]
    "#]]
    .assert_eq(&query.plan.to_string());
}

#[test]
fn inserted_values_are_converted_one_by_one() {
    let sql = "insert into t (b, d) values (1, 1), ('a', '2.5')";
    let Ok(Statement::Write(write)) = statement(&Tables::small(), sql) else {
        panic!("not an INSERT");
    };
    let query = write.query;
    expect![[r#"
        Project a = NULL, b = col0, d = col1, day = NULL
          Values [col0, col1] 2 rows
    "#]]
    .assert_eq(&query.plan.to_string());
}

#[test]
fn other_commands() {
    let all = |texts: &[&str]| -> String {
        texts.iter().map(|it| format!("{:?}\n", statement(&Tables::small(), it))).collect()
    };
    expect![[r#"
        Ok(Drop { kind: Table, names: ["a", "b.c"], if_exists: true })
        Ok(Drop { kind: View, names: ["v"], if_exists: false })
        Ok(Set { name: "threads", value: "4" })
        Ok(Set { name: "memory", value: "1GB" })
        Ok(Reset { name: "threads" })
        Ok(ShowSetting { name: "threads" })
        Ok(ShowAll)
        Ok(ShowTables)
        Ok(Describe { columns: [("a", Integer), ("b", Varchar), ("d", Decimal { precision: 15, scale: 2 }), ("day", Date)] })
        Ok(Describe { columns: [("x", Integer)] })
        Ok(Describe { columns: [("x", BigInt)] })
        Ok(CreateView { name: "x", or_replace: false, if_not_exists: false, columns: ["q"], sql: "select a from t", dialect: Volley })
        Ok(Explain { form: Analyze, format: Text, statement: ShowTables })
    "#]].assert_eq(&all(&[
        "drop table if exists a, b.c",
        "drop view v",
        "set threads = 4",
        "set Memory to '1GB'",
        "reset threads",
        "show threads",
        "show all",
        "show tables",
        "describe t",
        "describe select a + 1 as x from t",
        "describe 'f.csv'",
        "create view x(q) as select a from t",
        "explain analyze show tables",
    ]));
    let sql = "copy (select a from t) to 'f.csv' (header false, delimiter '|')";
    let Ok(Statement::Copy { path, format, options, .. }) = statement(&Tables::small(), sql) else {
        panic!("not a COPY");
    };
    assert_eq!((path.as_str(), format.as_str()), ("f.csv", "csv"));
    assert_eq!(options.len(), 2);
}
