use super::error;
use expect_test::expect;

fn all(statements: &[&str]) -> String {
    statements.iter().map(|it| format!("{it} => {}\n", error(it))).collect()
}

#[test]
fn unsupported_constructs_are_named() {
    expect![[r#"
        with recursive x as (select 1) select * from x => no error
        select distinct on (a) a from t => no error
        select a from t qualify true => [true] QUALIFY without a window function (WHERE and HAVING filter by other values)
        select a from t limit 10 by a => [limit 10 by] not supported: LIMIT ... BY
        select a from t union by name select a from u => no error
        begin => no error
        commit => no error
        delete from t limit 1 => [delete] not supported: this form of DELETE
        update t set a = 1 limit 1 => [update] not supported: this form of UPDATE
        alter table t add column x int, drop column a => [t] not supported: several changes by one ALTER TABLE
        create index i on t(a) => no error
        select a from t for update => [select] not supported: FOR UPDATE and FOR SHARE
        drop index x => no error
        create table x (a int references t) => [t] referenced table has no PRIMARY KEY: t (name the columns: REFERENCES table (column))
        select a into x from t => [x] not supported: SELECT INTO
        grant select on t to x => [grant] not supported: GRANT SELECT
    "#]].assert_eq(&all(&[
        "with recursive x as (select 1) select * from x",
        "select distinct on (a) a from t",
        "select a from t qualify true",
        "select a from t limit 10 by a",
        "select a from t union by name select a from u",
        "begin",
        "commit",
        "delete from t limit 1",
        "update t set a = 1 limit 1",
        "alter table t add column x int, drop column a",
        "create index i on t(a)",
        "select a from t for update",
        "drop index x",
        "create table x (a int references t)",
        "select a into x from t",
        "grant select on t to x",
    ]));
}

#[test]
fn clauses_that_make_no_sense() {
    expect![[r#"
        select a from t order by 2 => [2] ORDER BY position must be 1 to 1: 2
        select distinct a from t order by d => [d] ORDER BY of SELECT DISTINCT must be in the SELECT list
        select a from t limit 'x' => ['x'] LIMIT must be a constant number of rows
        select a from t limit -1 => [1] LIMIT is out of range: -1
        select a from t limit a => [a] LIMIT must be a constant number of rows: no such column: a
        select * => [*] * without FROM
        values (1), (2, 3) => [2] rows of VALUES have 1 and 2 columns
        select 1 union select 1, 2 => [select] sides of UNION have 1 and 2 columns
        select [1] union select 2 => [select] column 2 of UNION has types ARRAY(INTEGER) and INTEGER (cast one of them)
        with x as (select 1), X as (select 2) select 1 => [X] common table expression defined twice: X
        select * from (select 1) x(a, b) => [b] x has 1 columns but 2 names
        select a from t where b => [b] WHERE must be BOOLEAN, not VARCHAR
        select a from t where d => [d] WHERE must be BOOLEAN, not DECIMAL(15,2)
        select a from t having b => [b] HAVING must be BOOLEAN, not VARCHAR
        create table x as select 1 as a, 2 as A => two columns are called A (give one of them another name with AS)
        create view x(a, b) as select 1 => [b] view has 1 columns but 2 names
        insert into t(a, a) values (1, 2) => [a] column given twice: a
        insert into t values (1) => [t] INSERT has 1 columns for 4 of the table
        insert into v values (1) => [v] INSERT does not take a view: v
        insert into nowhere values (1) => [nowhere] no such table: nowhere
        insert into t(z) values (1) => [z] no such column: z (did you mean a?)
        copy t to 'x.unknown' => unknown file format: x.unknown (add (FORMAT parquet) or (FORMAT csv))
        select * exclude (z) from t => [z] no such column in EXCLUDE: z
        select 1 where 2.5 => [2.5] WHERE must be BOOLEAN, not DECIMAL(2,1)
    "#]].assert_eq(&all(&[
        "select a from t order by 2",
        "select distinct a from t order by d",
        "select a from t limit 'x'",
        "select a from t limit -1",
        "select a from t limit a",
        "select *",
        "values (1), (2, 3)",
        "select 1 union select 1, 2",
        "select [1] union select 2",
        "with x as (select 1), X as (select 2) select 1",
        "select * from (select 1) x(a, b)",
        "select a from t where b",
        "select a from t where d",
        "select a from t having b",
        "create table x as select 1 as a, 2 as A",
        "create view x(a, b) as select 1",
        "insert into t(a, a) values (1, 2)",
        "insert into t values (1)",
        "insert into v values (1)",
        "insert into nowhere values (1)",
        "insert into t(z) values (1)",
        "copy t to 'x.unknown'",
        "select * exclude (z) from t",
        "select 1 where 2.5",
    ]));
}
