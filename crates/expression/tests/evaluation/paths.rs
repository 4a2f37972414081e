//! Proof that the special paths are taken, with their answers.

use crate::support::*;
use std::sync::{Arc, atomic::Ordering};
use volley_expression::{Expr, ExprSet, SpecialForm, marks, marks::Mark};
use volley_types::{Type, Value};
use volley_vector::{Batch, Encoding, Rows, Vector};

/// How often `mark` is hit by `work`.
fn hits<T>(mark: Mark, work: impl FnOnce() -> T) -> (u64, T) {
    let before = marks::count(mark);
    let result = work();
    (marks::count(mark) - before, result)
}

fn bigints(values: &[i64]) -> Vec<Value> {
    values.iter().map(|it| Value::BigInt(*it)).collect()
}

#[test]
fn parts_without_columns_fold() {
    let sum = call("plus", vec![lit(1), call("plus", vec![lit(2), lit(3)])]);
    let (folded, value) = hits(Mark::Folded, || ExprSet::fold(&sum, &registry(), &query()));
    assert_eq!((folded, value.unwrap()), (2, Some(Value::BigInt(6))));
    let failing = call("divide", vec![lit(1), lit(0)]);
    assert_eq!(ExprSet::fold(&failing, &registry(), &query()).unwrap(), None);
    assert_eq!(ExprSet::fold(&int(0), &registry(), &query()).unwrap(), None);
    let now = call("now", vec![]);
    let value = ExprSet::fold(&now, &registry(), &query()).unwrap();
    assert_eq!(value, Some(Value::Timestamp(42)));
}

#[test]
fn a_part_that_fails_to_fold_fails_only_rows_that_need_it() {
    let failing = call("divide", vec![lit(1), lit(0)]);
    let condition = call("lt", vec![int(0), lit(0)]);
    let guarded = special(SpecialForm::Switch, vec![condition, failing.clone(), int(0)]);
    let positive = Batch::new(vec![ints(&[Some(1), Some(2)])], 2);
    assert_eq!(values(&guarded, &positive).unwrap(), bigints(&[1, 2]));
    let negative = Batch::new(vec![ints(&[Some(1), Some(-2)])], 2);
    assert_eq!(values(&guarded, &negative).unwrap_err().message(), "division by zero");
    let tried = special(SpecialForm::Try, vec![failing.clone()]);
    assert_eq!(values(&tried, &positive).unwrap(), [Value::Null, Value::Null]);
    let empty = Batch::new(vec![ints(&[])], 0);
    assert!(values(&failing, &empty).unwrap().is_empty());
}

#[test]
fn common_parts_run_once_over_filter_and_projections() {
    let common = call("plus", vec![int(0), int(1)]);
    let filter = call("lt", vec![common.clone(), lit(10)]);
    let projection = call("xor", vec![common, lit(1)]);
    let mut set = compile(&[filter, projection]).unwrap();
    let batch = Batch::new(vec![ints(&[Some(1), Some(9)]), ints(&[Some(2), Some(8)])], 2);
    let (reused, vector) = hits(Mark::Reused, || {
        let mut evaluation = set.begin(&batch);
        let rows = evaluation.select(0, &Rows::all(2)).unwrap();
        assert_eq!(rows.to_indices(), [0]);
        evaluation.evaluate(1, &rows).unwrap()
    });
    assert_eq!((reused, vector.value(0).unwrap()), (1, Value::BigInt(2)));
}

#[test]
fn columns_that_share_codes_are_peeled_together_and_keep_the_encoding() {
    let sum = call("plus", vec![call("plus", vec![int(0), int(1)]), lit(1)]);
    let mut set = compile(&[sum]).unwrap();
    let inner = Batch::new(vec![ints(&[Some(1), Some(2)]), ints(&[Some(10), Some(20)])], 2);
    let batch = inner.wrap(&vec![1, 0, 1].into());
    let (peeled, vector) =
        hits(Mark::Peeled, || set.begin(&batch).evaluate(0, &Rows::all(3)).unwrap());
    assert_eq!(peeled, 1);
    assert!(matches!(vector.encoding(), Encoding::Dictionary { base, .. } if base.len() == 2));
    assert_eq!(vector.to_values().unwrap(), bigints(&[23, 12, 23]));
}

#[test]
fn layers_of_dictionaries_are_peeled_one_after_the_other() {
    let sum = call("divide", vec![lit(100), int(0)]);
    let values = Arc::new(ints(&[Some(5), Some(10)]));
    let inner = Arc::new(dictionary(&[1, 0, 1, 1], &values));
    let batch = Batch::new(vec![dictionary(&[3, 1, 0, 2, 1], &inner)], 5);
    let mut set = compile(&[sum]).unwrap();
    let (peeled, vector) =
        hits(Mark::Peeled, || set.begin(&batch).evaluate(0, &Rows::all(5)).unwrap());
    assert_eq!(peeled, 2);
    assert_eq!(vector.to_values().unwrap(), bigints(&[10, 20, 10, 10, 20]));
}

#[test]
fn calls_of_associative_functions_become_one() {
    let column = |index| Expr::column(index, Type::Varchar);
    let left = call("join", vec![column(0), column(1)]);
    let right = call("join", vec![column(1), column(0)]);
    let all = call("join", vec![left, right]);
    let texts = |values: [&str; 2]| Vector::from_values(Type::Varchar, &values.map(Value::text));
    let batch = Batch::new(vec![texts(["a", "ö"]), texts(["b", ""])], 2);
    let (flattened, found) = hits(Mark::Flattened, || values(&all, &batch).unwrap());
    assert_eq!((flattened, found), (1, vec![Value::text("abba"), Value::text("öö")]));
    // `plus` is not declared so.
    let sum = call("plus", vec![call("plus", vec![int(0), int(0)]), int(0)]);
    assert_eq!(hits(Mark::Flattened, || compile(&[sum]).unwrap()).0, 0);
}

#[test]
fn base_rows_that_no_row_names_do_not_fail() {
    let quotient = call("divide", vec![lit(100), int(0)]);
    let base = Arc::new(ints(&[Some(0), Some(5), Some(10)]));
    let batch = Batch::new(vec![dictionary(&[1, 2, 1, 2], &base)], 4);
    let (peeled, found) = hits(Mark::Peeled, || values(&quotient, &batch).unwrap());
    assert_eq!((peeled, found), (1, bigints(&[20, 10, 20, 10])));
}

#[test]
fn results_for_a_dictionary_are_kept_over_batches() {
    let tail = call("tail", vec![Expr::column(0, Type::Varchar)]);
    let mut set = compile(&[call("length", vec![tail])]).unwrap();
    let texts = ["a", "bcd", "efghi"].map(Value::text);
    let base = Arc::new(Vector::from_values(Type::Varchar, &texts));
    let (memoized, _) = hits(Mark::Memoized, || {
        for (codes, expected) in [([0u32, 1, 0], [0i64, 2, 0]), ([2, 2, 1], [4, 4, 2])] {
            let batch = Batch::new(vec![dictionary(&codes, &base)], 3);
            let vector = set.begin(&batch).evaluate(0, &Rows::all(3)).unwrap();
            assert_eq!(vector.to_values().unwrap(), bigints(&expected));
        }
    });
    assert_eq!(memoized, 1);
}

#[test]
fn conjuncts_over_one_dictionary_are_one_lookup() {
    let base = Arc::new(ints(&[Some(0), Some(5), None, Some(10), Some(20)]));
    for (form, expected) in [(SpecialForm::And, [1, 3, 6]), (SpecialForm::Or, [1, 3, 6])] {
        let (low, high) = match form {
            SpecialForm::And => {
                (call("lt", vec![lit(4), int(0)]), call("lt", vec![int(0), lit(15)]))
            }
            _ => (call("eq", vec![int(0), lit(5)]), call("eq", vec![int(0), lit(10)])),
        };
        let mut set = compile(&[Expr::special(form, vec![low, high], Type::Boolean)]).unwrap();
        let (peeled, _) = hits(Mark::Peeled, || {
            for _ in 0..2 {
                let batch = Batch::new(vec![dictionary(&[0, 1, 2, 3, 4, 2, 1], &base)], 7);
                let rows = set.begin(&batch).select(0, &Rows::all(7)).unwrap();
                assert_eq!(rows.to_indices(), expected);
            }
        });
        assert_eq!(peeled, 2);
    }
}

#[test]
fn remembered_errors_fail_only_the_rows_that_have_them() {
    let mut set = compile(&[call("divide", vec![lit(6), int(0)])]).unwrap();
    let base = Arc::new(ints(&[Some(0), Some(1), Some(2), Some(3)]));
    for (codes, fails) in [([1u32, 2], false), ([2, 3], false), ([0, 1], true), ([1, 1], false)] {
        let batch = Batch::new(vec![dictionary(&codes, &base)], 2);
        let result = set.begin(&batch).evaluate(0, &Rows::all(2));
        assert_eq!(result.is_err(), fails, "{codes:?}");
    }
}

#[test]
fn constant_columns_give_a_constant() {
    let batch = Batch::new(vec![Vector::constant(Type::BigInt, &Value::BigInt(4), 5)], 5);
    let mut set = compile(&[call("plus", vec![int(0), lit(1)])]).unwrap();
    let vector = set.begin(&batch).evaluate(0, &Rows::all(5)).unwrap();
    assert!(vector.is_constant());
    assert_eq!(vector.value(3).unwrap(), Value::BigInt(5));
}

#[test]
fn a_lazy_column_is_loaded_once_and_only_when_it_is_needed() {
    let first = call("lt", vec![int(0), lit(0)]);
    let second = call("lt", vec![int(1), lit(0)]);
    let both = special(SpecialForm::And, vec![first, second.clone()]);
    let (column, loads) = lazy(ints(&[Some(-1), Some(1)]));
    let mut set = compile(&[both, second]).unwrap();
    let batch = Batch::new(vec![ints(&[Some(1), Some(2)]), column], 2);
    let mut evaluation = set.begin(&batch);
    assert!(evaluation.select(0, &Rows::all(2)).unwrap().is_empty());
    assert_eq!(loads.load(Ordering::Relaxed), 0);
    assert_eq!(evaluation.select(1, &Rows::all(2)).unwrap().to_indices(), [0]);
    assert_eq!(evaluation.select(1, &Rows::all(2)).unwrap().count(), 1);
    assert_eq!(loads.load(Ordering::Relaxed), 1);
}

#[test]
fn a_lazy_column_passes_through_unloaded() {
    let (column, loads) = lazy(ints(&[Some(1)]));
    let batch = Batch::new(vec![column], 1);
    let mut set = compile(&[int(0)]).unwrap();
    let vector = set.begin(&batch).evaluate(0, &Rows::all(1)).unwrap();
    assert!(vector.is_lazy() && loads.load(Ordering::Relaxed) == 0);
}

#[test]
fn conjuncts_that_decide_much_at_little_cost_come_first() {
    // The first keeps all rows and costs much, the second drops all.
    let long = (0..50).fold(int(0), |sum, _| call("xor", vec![sum, int(0)]));
    let useless = call("lt", vec![lit(-1_000_000), long]);
    let useful = call("lt", vec![int(0), lit(0)]);
    let mut set = compile(&[special(SpecialForm::And, vec![useless, useful])]).unwrap();
    let numbers: Vec<Option<i64>> = (1..1000).map(Some).collect();
    let batch = Batch::new(vec![ints(&numbers)], 999);
    let run = |set: &mut ExprSet| {
        assert!(set.begin(&batch).select(0, &Rows::all(999)).unwrap().is_empty());
    };
    run(&mut set);
    let (reordered, (short_cuts, _)) =
        hits(Mark::Reordered, || hits(Mark::ShortCut, || run(&mut set)));
    assert_eq!((reordered, short_cuts), (1, 1));
}
