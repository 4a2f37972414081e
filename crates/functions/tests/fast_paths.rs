//! Fast paths of the engine's functions: proves that they ran, and that they agree with the plain
//! evaluator.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use volley_expression::{
    Expr, ExprSet,
    marks::{Mark, count},
    plain::Plain,
};
use volley_function::{QueryConstants, Registry};
use volley_types::{Type, Value};
use volley_vector::{Batch, Nested, NullBuffer, Rows, Values, Vector};

fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    registry
}

/// What each row of a batch gives, by the plain evaluator.
fn plain(registry: &Registry, expr: &Expr, batch: &Batch) -> Vec<Value> {
    let query = Arc::new(QueryConstants::default());
    let plain = Plain { registry, query: &query, input: batch, parameters: &[] };
    (0..batch.rows()).map(|row| plain.evaluate(expr, row).unwrap()).collect()
}

fn double(index: usize) -> Expr {
    Expr::column(index, Type::Double)
}

/// `x * (1 - y) * (1 + z)` over DOUBLE columns.
fn projection() -> Expr {
    let call = |name: &str, left: Expr, right: Expr| {
        Expr::call(name.to_owned(), vec![left, right], Type::Double)
    };
    let one = || Expr::constant(Value::Double(1.0), Type::Double);
    let left = call("multiply", double(0), call("minus", one(), double(1)));
    call("multiply", left, call("plus", one(), double(2)))
}

/// Three columns: flat, flat with nulls, and a dictionary.
fn doubles(rows: usize, seed: u64) -> Batch {
    let mut random = fastrand::Rng::with_seed(seed);
    let special = [f64::NAN, -0.0, 0.0, f64::INFINITY, 1e308, 1.0];
    let mut value = || match random.usize(0..20) {
        it if it < special.len() => special[it],
        _ => random.f64() * 100.0 - 50.0,
    };
    let mut column = |len: usize| -> Vec<f64> { (0..len).map(|_| value()).collect() };
    let (x, y, base) = (column(rows), column(rows), column(7));
    let nulls: NullBuffer = (0..rows).map(|it| it % 5 != 2).collect();
    let codes: Vec<u32> = (0..rows as u32).map(|it| it * 3 % 7).collect();
    let base = Arc::new(Vector::native::<f64>(Type::Double, base, None));
    let columns = vec![
        Vector::native::<f64>(Type::Double, x, None),
        Vector::native::<f64>(Type::Double, y, Some(nulls)),
        Vector::dictionary(codes.into(), base, None),
    ];
    Batch::new(columns, rows)
}

#[test]
fn a_projection_runs_as_one_loop_and_keeps_earlier_results() {
    let (registry, expr) = (registry(), projection());
    let before = count(Mark::Fused);
    let query = Arc::new(QueryConstants::default());
    let mut set = ExprSet::compile(std::slice::from_ref(&expr), &registry, query).unwrap();
    assert_eq!(count(Mark::Fused) - before, 3);

    let mut held = Vec::new();
    for (seed, rows) in [1, 3, 1024, 2500, 40, 0, 1024].into_iter().enumerate() {
        let batch = doubles(rows, seed as u64);
        let before = count(Mark::Blockwise);
        let found = set.begin(&batch).evaluate(0, &Rows::all(rows)).unwrap();
        assert_eq!(count(Mark::Blockwise) - before, u64::from(rows > 0));
        held.push((found, plain(&registry, &expr, &batch)));
    }
    // Memory of results that are still held must not be used again.
    for (found, expected) in held {
        found.validate().unwrap();
        assert_eq!(format!("{:?}", found.to_values().unwrap()), format!("{expected:?}"));
    }
}

/// Arrays whose elements overlap and stand out of order; the third row is null, with elements.
fn arrays() -> Vector {
    let elements = [Some(10), None, Some(30), Some(40)];
    let elements = elements.map(|it| it.map_or(Value::Null, Value::Integer));
    let nested = Nested {
        offsets: vec![2, 0, 1, 1, 0].into(),
        sizes: vec![2, 3, 3, 2, 0].into(),
        elements: Vector::from_values(Type::Integer, &elements).into(),
    };
    let nulls: NullBuffer = [true, true, false, true, true].into_iter().collect();
    Vector::flat(Type::array(Type::Integer), Values::Array(nested), Some(nulls))
}

#[test]
fn elements_at_a_constant_index_are_shared_and_those_of_each_row() {
    let registry = registry();
    let rows = 5;
    for index in [1, 2, 3, 4, 0, -1, -2, -3, -4, i64::MIN, i64::MAX] {
        let column = |index: Vector| Batch::new(vec![arrays(), index], rows);
        let constant = column(Vector::constant(Type::BigInt, &Value::BigInt(index), rows));
        let flat = column(Vector::native::<i64>(Type::BigInt, vec![index; rows], None));
        let args = vec![Expr::column(0, Type::array(Type::Integer)), Expr::column(1, Type::BigInt)];
        let expr = Expr::call("element_at", args, Type::Integer);
        let run = |batch: &Batch| {
            let query = Arc::new(QueryConstants::default());
            let compiled = ExprSet::compile(std::slice::from_ref(&expr), &registry, query);
            compiled.unwrap().begin(batch).evaluate(0, &Rows::all(rows)).unwrap()
        };
        let (shared, copied) = (run(&constant), run(&flat));
        shared.validate().unwrap();
        assert!(shared.flat_values().is_none(), "{index}: {}", shared.summary());
        assert_eq!(shared.to_values().unwrap(), copied.to_values().unwrap(), "{index}");
        assert_eq!(copied.to_values().unwrap(), plain(&registry, &expr, &flat), "{index}");
    }
    let first = [Some(30), Some(10), None, None, None];
    let first = first.map(|it| it.map_or(Value::Null, Value::Integer));
    let args = vec![
        Expr::column(0, Type::array(Type::Integer)),
        Expr::constant(Value::BigInt(1), Type::BigInt),
    ];
    let expr = Expr::call("element_at", args, Type::Integer);
    assert_eq!(plain(&registry, &expr, &Batch::new(vec![arrays()], rows)), first);
}

/// Texts in all encodings that searching tells apart, with nulls and characters of several bytes.
fn texts(rows: usize) -> Vec<Vector> {
    let words = ["", "ab", "abab", "the quick brown fox", "über den Fluß und ab", "ababababababab"];
    let value = |row: usize| match row % 7 {
        6 => Value::Null,
        _ => Value::text(format!("{}{}", words[row % 6], words[row / 5 % 6])),
    };
    let values: Vec<Value> = (0..rows).map(value).collect();
    let flat = Vector::from_values(Type::Varchar, &values);
    let codes: Vec<u32> = (0..rows as u32).rev().collect();
    let reversed = Vector::dictionary(codes.into(), Arc::new(flat.clone()), None);
    vec![flat, reversed]
}

#[test]
fn constants_are_searched_as_each_text_alone_is() {
    let registry = registry();
    let (column, text) =
        (Expr::column(0, Type::Varchar), |it: &str| Expr::constant(Value::text(it), Type::Varchar));
    let mut exprs = Vec::new();
    for part in ["", "a", "ab", "ß", "fox", "bababab", "ababababababab", "nothing"] {
        let args = || vec![column.clone(), text(part)];
        exprs.push(Expr::call("strpos", args(), Type::BigInt));
        exprs.push(Expr::call("contains", args(), Type::Boolean));
        let replaced = vec![column.clone(), text(part), text("ä_")];
        exprs.push(Expr::call("replace", replaced, Type::Varchar));
        for pattern in ["%P%", "%P", "%P%ab", "%P%a%b%", "P%", "a%P%", "%P_%"] {
            let pattern = text(&pattern.replace('P', part));
            for name in ["like", "ilike"] {
                exprs.push(Expr::call(name, vec![column.clone(), pattern.clone()], Type::Boolean));
            }
        }
    }
    for column in [1, 3, 200].into_iter().flat_map(texts) {
        let rows = column.len();
        let batch = Batch::new(vec![column], rows);
        let query = Arc::new(QueryConstants::default());
        let mut set = ExprSet::compile(&exprs, &registry, query).unwrap();
        let third = Rows::from_indices(rows, (0..rows).step_by(3));
        for (index, expr) in exprs.iter().enumerate() {
            let expected = plain(&registry, expr, &batch);
            for active in [&Rows::all(rows), &third] {
                let found = set.begin(&batch).evaluate(index, active).unwrap();
                let found = found.to_values().unwrap();
                active.for_each(|row| assert_eq!(found[row], expected[row], "{expr}, row {row}"));
            }
        }
    }
}
