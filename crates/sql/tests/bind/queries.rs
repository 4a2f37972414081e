use super::plan;
use expect_test::expect;

#[test]
fn select_list_names_and_wildcards() {
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE, a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE, a INTEGER, a + 1 INTEGER, x INTEGER, a INTEGER
        Project a#0, b#1, d#2, day#3, a#4 = a#0, b#5 = b#1, d#6 = d#2, day#7 = day#3, a#8 = a#0, a + 1 = plus(a#0, 1), x = a#0, a#11 = a#0
          Scan t [a#0, b#1, d#2, day#3]
    "#]].assert_eq(&plan("select *, t.*, A, a + 1, a as x, a from t"));
    expect![[r#"
        a INTEGER, day DATE
        Project a#4 = plus(a#0, 1), day
          Scan t [a#0, b, d, day]
    "#]]
    .assert_eq(&plan("select * exclude (b, d) replace (a + 1 as a) from t"));
    expect![[r#"
        a INTEGER, b VARCHAR, d DECIMAL(15,2), day DATE
        Project a, b, d, day
          Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("from t"));
    expect![[r#"
        1 INTEGER, 'x' VARCHAR
        Project 1 = 1, 'x' = x
          Filter true
            Values [] 1 rows
    "#]]
    .assert_eq(&plan("select 1, 'x' where true"));
}

#[test]
fn aliases_serve_in_all_clauses() {
    expect![[r#"
        x INTEGER, y INTEGER
        Project x = plus(a, 1), y = multiply(plus(a, 1), 2)
          Filter gt(multiply(plus(a, 1), 2), 4)
            Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a + 1 as x, x * 2 as y from t where y > 4"));
    expect![[r#"
        x INTEGER, count(*) BIGINT
        Project key#5, count#4
          Filter gt(key#5, 1)
            Aggregate [key#5 = plus(a, 1)] [count#4 = count()]
              Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a + 1 as x, count(*) from t group by x having x > 1"));
    expect![[r#"
        b INTEGER
        Project a#0
          Filter eq(b#1, x)
            Scan t [a#0, b#1, d, day]
    "#]]
    .assert_eq(&plan("select a as b from t where b = 'x'"));
}

#[test]
fn order_by_positions_aliases_and_hidden_columns() {
    expect![[r#"
        x INTEGER, b VARCHAR
        Project a#0, b
          Sort b desc, a#0 nulls first, d#2
            Project a#0, b, d#2
              Scan t [a#0, b, d#2, day]
    "#]]
    .assert_eq(&plan("select a as x, b from t order by 2 desc, x nulls first, d"));
    expect![[r#"
        a INTEGER
        Limit 2 offset 3
          Sort a
            Project a
              Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a from t order by all limit 1 + 1 offset 3"));
    expect![[r#"
        a + 1 INTEGER
        Project a + 1
          Limit 2
            Sort a + 1, key
              Project a + 1 = plus(a, 1), key = negate(a)
                Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select a + 1 from t order by a + 1, -a fetch first 2 rows only"));
    expect![[r#"
        b VARCHAR
        Sort b
          Aggregate [b] []
            Project b
              Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan("select distinct b from t order by b limit null"));
}

#[test]
fn distinct_on_keeps_the_first_row_of_each_group() {
    expect![[r#"
        b VARCHAR
        Project b
          Limit 5
            Sort key#4, d#2
              GroupLimit [key#4] order [key#4, d#2] 1
                Project b, key#4 = mod(a, 2), d#2
                  Scan t [a, b, d#2, day]
    "#]]
    .assert_eq(&plan("select distinct on (a % 2) b from t order by a % 2, d limit 5"));
}

#[test]
fn set_operations_unify_types_and_take_the_first_names() {
    expect![[r#"
        a BIGINT
        Union all [a#10]
          Project a#8 = cast(a#0 as BIGINT)
            Project a#0
              Scan t [a#0, b, d, day]
          Project a#4
            Scan u [a#4, c, Flag]
          Project 1#9 = cast(1#7 as BIGINT)
            Project 1#7 = 1
              Values [] 1 rows
    "#]]
    .assert_eq(&plan("select a from t union all select a from u union all select 1"));
    expect![[r#"
        a DECIMAL(20,1)
        Aggregate [a#11] []
          Union all [a#11]
            Project a#8 = cast(a#0 as DECIMAL(20,1))
              Project a#0
                Scan t [a#0, b, d, day]
            Project a#9 = cast(a#4 as DECIMAL(20,1))
              Project a#4
                Scan u [a#4, c, Flag]
            Project 1.5#10 = cast(1.5#7 as DECIMAL(20,1))
              Project 1.5#7 = 1.5
                Values [] 1 rows
    "#]]
    .assert_eq(&plan("select a from t union select a from u union select 1.5"));
    expect![[r#"
        x VARCHAR
        Sort x#5
          Union [x#5]
            Project x#4 = cast(x#0 as VARCHAR)
              Project x#0 = 1
                Values [] 1 rows
            Union all ['a'#3]
              Project 'a'#1 = a
                Values [] 1 rows
              Project 'b' = b
                Values [] 1 rows
    "#]]
    .assert_eq(&plan("select 1 x union (select 'a' union all select 'b') order by x"));
    expect![[r#"
        a BIGINT
        Except [a#11]
          Intersect all [a#8]
            Project a#7 = cast(a#0 as BIGINT)
              Project a#0
                Scan t [a#0, b, d, day]
            Project a#4
              Scan u [a#4, c, Flag]
          Project NULL#10 = cast(NULL#9 as BIGINT)
            Project NULL#9 = NULL
              Values [] 1 rows
    "#]]
    .assert_eq(&plan("select a from t intersect all select a from u except select null"));
}

#[test]
fn values_have_one_type_per_column() {
    expect![[r#"
        col0 DECIMAL(11,1), col1 VARCHAR
        Sort col0
          Values [col0, col1] 2 rows
    "#]]
    .assert_eq(&plan("values (1, 'a'), (2.5, null) order by col0"));
    expect![[r#"
        y VARCHAR
        Project col1#1
          Values [col0, col1#1] 1 rows
    "#]]
    .assert_eq(&plan("select y from (values (1, 'a')) v(x, y)"));
}

#[test]
fn common_table_expressions_are_bound_once_and_shared() {
    expect![[r#"
        k INTEGER, k INTEGER
        Project k#5, k#6
          Filter eq(k#5, k#6)
            Join inner
              CteRef x [k#5]
                Project a
                  Scan t [a, b, d, day]
              CteRef y [k#6]
                Project k#4
                  CteRef x [k#4]
                    Project a
                      Scan t [a, b, d, day]
    "#]]
    .assert_eq(&plan(
        "with x(k) as materialized (select a from t), y as (select k from x)
         select * from x, y as z where x.k = z.k",
    ));
    expect![[r#"
        two INTEGER, one INTEGER
        Project two#2, one#3
          Join inner
            Project two#2
              CteRef t [two#2]
                Project two#1 = 2
                  Values [] 1 rows
            CteRef t [one#3]
              Project one#0 = 1
                Values [] 1 rows
    "#]].assert_eq(&plan("with t as (select 1 as one) select * from (with t as (select 2 as two) select * from t), t"));
}

#[test]
fn views_are_bound_by_their_text() {
    expect![[r#"
        first INTEGER, B b VARCHAR
        Project a#0, b#1
          Filter or(eq(b#1, x), eq(a#0, 1))
            Project a#0, b#1
              Project a#0, b#1
                Filter gt(a#0, 1)
                  Scan t [a#0, b#1, d, day]
    "#]]
    .assert_eq(&plan("select * from w where \"b B\" = 'x' or first = 1"));
    expect![[r#"
        first INTEGER, B b VARCHAR
        Project a#0, b#1
          Project a#0, b#1
            Project a#0, b#1
              Filter gt(a#0, 1)
                Scan t [a#0, b#1, d, day]
    "#]]
    .assert_eq(&plan("select first, \"B b\" from w"));
}

#[test]
fn files_are_tables() {
    expect![[r#"
        x BIGINT
        Project x
          Scan dir/data.parquet [x]
    "#]]
    .assert_eq(&plan("select data.x from 'dir/data.parquet'"));
    expect![[r#"
        y BIGINT
        Project x#0
          Scan dir/*.parquet [x#0]
    "#]]
    .assert_eq(&plan("select f.y from 'dir/*.parquet' as f(y)"));
}
