use super::{FilterProject, SLICE_TIME, SLICE_TIME_MAX};
use crate::test_kit::{Harness, InputEncoding, SETUPS, TestTables, run};
use volley_expression::Expr;
use volley_memory::Pool;
use volley_plan::Columns;
use volley_testkit::{RowValues, sorted};
use volley_types::{Type, Value};
use volley_vector::{Batch, Encoding, Vector};

const COLUMNS: [(&str, Type); 3] = [("a", Type::BigInt), ("b", Type::Varchar), ("c", Type::BigInt)];

fn rows() -> RowValues {
    let row = |it: i64| {
        let a = if it % 7 == 3 { Value::Null } else { Value::BigInt(it % 50) };
        vec![a, Value::text(format!("text {}", it % 3)), Value::BigInt(it)]
    };
    (0..300).map(row).collect()
}

fn below(c: &Columns, limit: i64) -> volley_error::Result<Expr> {
    c.call("lt", [c.column("a")?, c.integer(limit)])
}

fn passes(row: &[Value], limit: i128) -> bool {
    row[0].as_i128().is_some_and(|it| it < limit)
}

#[test]
fn filters_keep_the_rows_for_which_they_are_true() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&COLUMNS, rows(), manners);
        for limit in [0, 1, 10, 25, 45, 1000] {
            let plan = tables.scan("t").filter(|c| below(c, limit));
            let expected: RowValues =
                rows().into_iter().filter(|it| passes(it, limit.into())).collect();
            for setup in SETUPS {
                let result = run(plan.clone(), &tables, setup).unwrap();
                assert_eq!(sorted(result), sorted(expected.clone()), "{manners:?} {setup:?}");
            }
        }
    }
}

#[test]
fn projections_see_surviving_rows_only() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&COLUMNS, rows(), manners);
        for limit in [1, 10, 25, 45] {
            let plan = tables.scan("t").filter(|c| below(c, limit)).project(|c| {
                let sum = c.call("plus", [c.column("a")?, c.column("c")?])?;
                // Fails for rows with a = 49, which the filter drops.
                let rest = c.call("minus", [c.integer(49), c.column("a")?])?;
                let rest = c.call("mod", [c.column("c")?, rest])?;
                Ok(vec![("s", sum), ("b", c.column("b")?), ("r", rest)])
            });
            let project = |row: Vec<Value>| {
                let (a, c) = (row[0].as_i128().unwrap() as i64, row[2].as_i128().unwrap() as i64);
                vec![Value::BigInt(a + c), row[1].clone(), Value::BigInt(c % (49 - a))]
            };
            let kept = rows().into_iter().filter(|it| passes(it, limit.into()));
            let expected: RowValues = kept.map(project).collect();
            for setup in SETUPS {
                let result = run(plan.clone(), &tables, setup).unwrap();
                assert_eq!(sorted(result), sorted(expected.clone()), "{manners:?} {setup:?}");
            }
        }
    }
}

#[test]
fn filters_above_projections_and_projections_above_those_all_apply() {
    let tables = TestTables::one(&COLUMNS, rows(), InputEncoding::Lazy);
    let plan = tables
        .scan("t")
        .filter(|c| below(c, 40))
        .filter(|c| c.call("gt", [c.column("c")?, c.integer(100)]))
        .project(|c| Ok(vec![("x", c.call("plus", [c.column("a")?, c.integer(1)])?)]))
        .filter(|c| c.call("eq", [c.column("x")?, c.integer(5)]))
        .project(|c| Ok(vec![("x", c.column("x")?), ("y", c.column("x")?)]));
    let passes = |row: &Vec<Value>| row[0] == Value::BigInt(4) && row[2].as_i128() > Some(100);
    let count = rows().iter().filter(|it| passes(it)).count();
    for setup in SETUPS {
        let result = run(plan.clone(), &tables, setup).unwrap();
        assert_eq!(result, vec![vec![Value::BigInt(5); 2]; count], "{setup:?}");
    }
}

#[test]
fn an_error_of_a_needed_row_fails_the_query() {
    let tables = TestTables::one(&COLUMNS, rows(), InputEncoding::Flat);
    let plan = tables
        .scan("t")
        .project(|c| Ok(vec![("x", c.call("mod", [c.column("c")?, c.column("a")?])?)]));
    for setup in SETUPS {
        let error = run(plan.clone(), &tables, setup).unwrap_err();
        assert_eq!(error.message(), "division by zero");
    }
}

fn integers(values: std::ops::Range<i64>) -> Batch {
    let (rows, values) = (values.clone().count(), values.collect::<Vec<_>>());
    let column = Vector::native::<i64>(Type::BigInt, values, None);
    Batch::new(vec![column.clone(), column], rows)
}

#[test]
fn columns_that_only_pass_share_one_code_buffer() {
    let cx = Harness::context(1000);
    let column = || Expr::column(0, Type::BigInt);
    let limit = Expr::constant(Value::BigInt(700), Type::BigInt);
    let filter = Expr::call("lt", vec![column(), limit], Type::Boolean);
    let operator = FilterProject::new("filter", &[filter], None, &cx).unwrap();
    let mut harness = Harness::new(operator);
    assert!(matches!(harness.step().unwrap(), volley_exec::Step::NeedInput));
    harness.accept(integers(0..1000)).unwrap();
    let volley_exec::Step::Output(batch) = harness.step().unwrap() else { panic!("no output") };
    let codes: Vec<_> = batch
        .columns()
        .iter()
        .map(|it| match it.encoding() {
            Encoding::Dictionary { codes, .. } => codes.as_ptr(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!((batch.rows(), codes[0]), (700, codes[1]));
}

#[test]
fn small_results_come_as_decent_batches() {
    let cx = Harness::context(1000);
    let column = || Expr::column(0, Type::BigInt);
    let rest = Expr::call(
        "mod",
        vec![column(), Expr::constant(Value::BigInt(100), Type::BigInt)],
        Type::BigInt,
    );
    let zero = Expr::constant(Value::BigInt(0), Type::BigInt);
    let filter = Expr::call("eq", vec![rest, zero], Type::Boolean);
    let operator = FilterProject::new("filter", &[filter], None, &cx).unwrap();
    let batches = (0..100).map(|it| integers(it * 1000..(it + 1) * 1000)).collect();
    let (sizes, rows) = Harness::new(operator).feed_sizes(batches).unwrap();
    assert_eq!(rows, 1000);
    assert!(sizes.iter().all(|it| *it >= 250), "{sizes:?}");
    assert_eq!(cx.pool.stats().bytes, 0);
}

#[test]
fn slices_give_the_rows_of_the_whole_batch() {
    let column = || Expr::column(0, Type::BigInt);
    let number = |it: i64| Expr::constant(Value::BigInt(it), Type::BigInt);
    let filter = Expr::call("gt", vec![column(), number(100)], Type::Boolean);
    let sum = Expr::call("plus", vec![column(), number(1)], Type::BigInt);
    let feed = |slice_rows: usize| {
        let (cx, sum) = (Harness::context(1000), [sum.clone()]);
        let mut operator =
            FilterProject::new("project", &[filter.clone()], Some(&sum), &cx).unwrap();
        operator.slice_rows = slice_rows;
        let mut harness = Harness::new(operator);
        let batches = || vec![integers(0..1000), integers(1000..1300)];
        (harness.feed(batches()).unwrap(), cx.pool.stats().bytes)
    };
    let whole = feed(usize::MAX);
    assert_eq!(whole.0.len(), 1199);
    for slice_rows in [1, 7, 64, 999] {
        assert_eq!(feed(slice_rows), whole, "{slice_rows}");
    }
}

#[test]
fn slow_slices_make_the_next_ones_smaller_and_quick_ones_larger() {
    let cx = Harness::context(1000);
    let mut operator = FilterProject::new("filter", &[], None, &cx).unwrap();
    operator.learn(1000, SLICE_TIME * 100);
    assert_eq!(operator.slice_rows, 10);
    operator.learn(10, SLICE_TIME_MAX);
    assert_eq!(operator.slice_rows, 10);
    operator.learn(10, SLICE_TIME / 10);
    assert_eq!(operator.slice_rows, 20);
    // A last slice of a batch says nothing of larger ones.
    operator.learn(3, SLICE_TIME / 10);
    assert_eq!(operator.slice_rows, 20);
    operator.learn(1, SLICE_TIME * 1000);
    assert_eq!(operator.slice_rows, 1);
}

#[test]
fn slices_that_take_much_memory_make_the_next_ones_smaller() {
    let mut cx = Harness::context(1000);
    cx.pool = Pool::root("test", Some(64 << 20));
    let mut operator = FilterProject::new("filter", &[], None, &cx).unwrap();
    operator.slice_bytes = 4 << 20;
    operator.learn(1000, SLICE_TIME / 10);
    assert_eq!(operator.slice_rows, 250);
    // Twice as many would take too much.
    operator.slice_bytes = 1 << 20;
    operator.learn(250, SLICE_TIME / 10);
    assert_eq!(operator.slice_rows, 250);
    operator.slice_bytes = 1 << 19;
    operator.learn(250, SLICE_TIME / 10);
    assert_eq!(operator.slice_rows, 500);
}

#[test]
fn large_texts_on_the_way_are_made_of_few_rows_at_once() {
    let mut cx = Harness::context(1000);
    cx.pool = Pool::root("test", Some(64 << 20));
    let number = |it: i64| Expr::constant(Value::BigInt(it), Type::BigInt);
    let text = Expr::constant(Value::text("x".repeat(100)), Type::Varchar);
    let count = Expr::call("plus", vec![Expr::column(0, Type::BigInt), number(2000)], Type::BigInt);
    let long = Expr::call("repeat", vec![text, count], Type::Varchar);
    let length = Expr::call("length", vec![long], Type::BigInt);
    let operator = FilterProject::new("project", &[], Some(&[length]), &cx).unwrap();
    // 200 MB of texts in all.
    let lengths = Harness::new(operator).feed(vec![integers(0..1000)]).unwrap();
    assert_eq!(lengths.len(), 1000);
    assert!(cx.pool.stats().peak_bytes < 16 << 20, "{:?}", cx.pool.stats());
}
