use super::*;
use volley_types::{Type, Value};
use volley_vector::{Batch, Rows, Vector};

fn constant(value: Value, data_type: Type) -> Expr {
    Expr::new(volley_expression::ExprKind::Constant(value), data_type)
}

fn first_value(mut set: ExprSet) -> Value {
    let batch = Batch::new(vec![Vector::nulls(Type::BigInt, 1)], 1);
    let column = set.begin(&batch).evaluate(0, &Rows::all(1)).unwrap();
    column.value(0).unwrap()
}

#[test]
fn equal_expressions_are_compiled_once() {
    let (kept, registry) = (ExprCache::default(), Registry::new());
    let query = Arc::new(QueryConstants::default());
    for _ in 0..3 {
        for number in [7, 8] {
            let exprs = [constant(Value::BigInt(number), Type::BigInt)];
            let set = kept.compile(&exprs, &registry, &query).unwrap();
            assert_eq!(first_value(set), Value::BigInt(number));
        }
    }
    assert_eq!(kept.len(), 2);
}

#[test]
fn floats_are_told_apart_by_their_bits() {
    let (kept, registry) = (ExprCache::default(), Registry::new());
    let query = Arc::new(QueryConstants::default());
    for _ in 0..2 {
        for zero in [0.0_f64, -0.0] {
            let exprs = [constant(Value::Double(zero), Type::Double)];
            let set = kept.compile(&exprs, &registry, &query).unwrap();
            let found = first_value(set);
            assert!(found.is_identical(&Value::Double(zero)), "{found:?} for {zero:?}");
        }
    }
    assert_eq!(kept.len(), 2);
}

#[test]
fn expressions_that_do_not_equal_themselves_do_not_pile_up() {
    let (kept, registry) = (ExprCache::default(), Registry::new());
    let query = Arc::new(QueryConstants::default());
    for _ in 0..2 * SETS_MAX {
        let exprs = [constant(Value::Double(f64::NAN), Type::Double)];
        let set = kept.compile(&exprs, &registry, &query).unwrap();
        assert!(matches!(first_value(set), Value::Double(it) if it.is_nan()));
    }
    assert!(kept.len() <= SETS_MAX);
    assert_eq!(kept.len(), 1);
}
