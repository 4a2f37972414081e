//! Filters of a lazy column that its source can evaluate without decoding the values.
//!
//! A conjunct is one if it compares a single column with constants of the column's type. The twin
//! is the expression itself: where the source cannot tell, that is evaluated.

use crate::{Expr, ExprKind, SpecialForm};
use volley_error::Result;
use volley_kernels::compare::Comparison;
use volley_types::{Type, Value};
use volley_vector::{Batch, ColumnTest, Encoding, Rows};

/// Tests of one column; a row must pass all of them.
#[derive(Debug, PartialEq)]
pub(super) struct PackedFilter {
    column: usize,
    tests: Vec<ColumnTest>,
}

impl PackedFilter {
    /// The tests that pass for exactly the rows that `filter` is true for; `None` if there are no
    /// such tests.
    pub(super) fn of(filter: &Expr) -> Option<PackedFilter> {
        let mut column = None;
        let mut tests = Vec::new();
        add_tests(filter, &mut column, &mut tests)?;
        Some(PackedFilter { column: column?, tests: with_ranges(tests) })
    }

    /// The rows of `rows` that pass, if the column is not decoded and its source can tell.
    ///
    /// # Errors
    ///
    /// What the column's loader reports.
    pub(super) fn select(&self, batch: &Batch, rows: &Rows) -> Result<Option<Rows>> {
        let Some(column) = batch.columns().get(self.column) else { return Ok(None) };
        let Encoding::Lazy(lazy) = column.encoding() else { return Ok(None) };
        let mut left: Option<Rows> = None;
        for test in &self.tests {
            match lazy.select(test, left.as_ref().unwrap_or(rows))? {
                Some(passing) => left = Some(passing),
                None => return Ok(None),
            }
        }
        Ok(left)
    }
}

/// Adds the tests of a filter, which are all of one column.
fn add_tests(filter: &Expr, column: &mut Option<usize>, tests: &mut Vec<ColumnTest>) -> Option<()> {
    match &filter.kind {
        ExprKind::Special { form: SpecialForm::And, args } => {
            args.iter().try_for_each(|it| add_tests(it, column, tests))
        }
        ExprKind::Special { form: SpecialForm::IsNull, args } => {
            let [operand] = args.as_slice() else { return None };
            is_column(operand, column)?;
            tests.push(ColumnTest::IsNull);
            Some(())
        }
        ExprKind::Special { form: SpecialForm::In, args } => {
            let (operand, list) = args.split_first()?;
            is_column(operand, column)?;
            let values = list.iter().map(|it| constant(it, &operand.data_type));
            tests.push(ColumnTest::In(values.collect::<Option<_>>()?));
            Some(())
        }
        ExprKind::Call { name, args } => match (name.as_str(), args.as_slice()) {
            ("not", [Expr { kind: ExprKind::Special { form: SpecialForm::IsNull, args }, .. }]) => {
                let [operand] = args.as_slice() else { return None };
                is_column(operand, column)?;
                tests.push(ColumnTest::IsNotNull);
                Some(())
            }
            (name, [left, right]) => {
                let comparison = comparison(name)?;
                let (operand, comparison, value) = match right.kind {
                    ExprKind::Constant(_) => (left, comparison, right),
                    _ => (right, comparison.flipped(), left),
                };
                is_column(operand, column)?;
                let value = constant(value, &operand.data_type)?;
                tests.push(ColumnTest::Compare { comparison, value });
                Some(())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Notes that an operand is the column that all tests are of.
fn is_column(operand: &Expr, column: &mut Option<usize>) -> Option<()> {
    let ExprKind::Column(position) = operand.kind else { return None };
    if matches!(operand.data_type, Type::Custom(_)) {
        return None;
    }
    (*column.get_or_insert(position) == position).then_some(())
}

/// The value of a constant of this type.
fn constant(expr: &Expr, data_type: &Type) -> Option<Value> {
    match &expr.kind {
        ExprKind::Constant(value) if expr.data_type == *data_type => Some(value.clone()),
        _ => None,
    }
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "eq" => Comparison::Equal,
        "neq" => Comparison::NotEqual,
        "lt" => Comparison::Less,
        "lte" => Comparison::LessOrEqual,
        "gt" => Comparison::Greater,
        "gte" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// A lower and an upper bound as one range.
fn with_ranges(mut tests: Vec<ColumnTest>) -> Vec<ColumnTest> {
    let bound = |tests: &[ColumnTest], wanted: Comparison| {
        tests.iter().position(|it| match it {
            ColumnTest::Compare { comparison, value } => *comparison == wanted && !value.is_null(),
            _ => false,
        })
    };
    let lower = bound(&tests, Comparison::GreaterOrEqual);
    let upper = bound(&tests, Comparison::LessOrEqual);
    let (Some(lower), Some(upper)) = (lower, upper) else { return tests };
    let value = |it: &ColumnTest| match it {
        ColumnTest::Compare { value, .. } => value.clone(),
        _ => Value::Null,
    };
    let range = ColumnTest::Between { low: value(&tests[lower]), high: value(&tests[upper]) };
    tests[lower] = range;
    tests.remove(upper);
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(index: usize) -> Expr {
        Expr::column(index, Type::BigInt)
    }

    fn number(value: i64) -> Expr {
        Expr::constant(Value::BigInt(value), Type::BigInt)
    }

    fn call(name: &str, left: Expr, right: Expr) -> Expr {
        Expr::call(name, vec![left, right], Type::Boolean)
    }

    #[track_caller]
    fn check(filter: &Expr, expected: Option<(usize, Vec<ColumnTest>)>) {
        let expected = expected.map(|(column, tests)| PackedFilter { column, tests });
        assert_eq!(PackedFilter::of(filter), expected, "{filter:?}");
    }

    #[test]
    fn comparisons_of_one_column_with_constants_are_tests() {
        let compare =
            |comparison, value| ColumnTest::Compare { comparison, value: Value::BigInt(value) };
        let less = vec![compare(Comparison::Less, 4)];
        check(&call("lt", column(2), number(4)), Some((2, less.clone())));
        check(&call("gt", number(4), column(2)), Some((2, less)));
        let range = Expr::and(vec![
            call("gte", column(1), number(3)),
            call("neq", column(1), number(5)),
            call("lte", column(1), number(9)),
        ]);
        let between = ColumnTest::Between { low: Value::BigInt(3), high: Value::BigInt(9) };
        check(&range, Some((1, vec![between, compare(Comparison::NotEqual, 5)])));
        let is_null = Expr::special(SpecialForm::IsNull, vec![column(0)], Type::Boolean);
        check(&is_null, Some((0, vec![ColumnTest::IsNull])));
        let not_null = Expr::call("not", vec![is_null], Type::Boolean);
        check(&not_null, Some((0, vec![ColumnTest::IsNotNull])));
        let list = vec![column(0), number(1), number(2)];
        let list = Expr::special(SpecialForm::In, list, Type::Boolean);
        let values = vec![Value::BigInt(1), Value::BigInt(2)];
        check(&list, Some((0, vec![ColumnTest::In(values)])));
    }

    #[test]
    fn other_filters_are_expressions() {
        check(&call("lt", column(0), column(1)), None);
        let wider = Expr::constant(Value::Integer(1), Type::Integer);
        check(&call("lt", column(0), wider), None);
        check(&call("like", column(0), number(1)), None);
        let two = vec![call("eq", column(0), number(1)), call("eq", column(1), number(1))];
        check(&Expr::and(two.clone()), None);
        check(&Expr::special(SpecialForm::Or, two, Type::Boolean), None);
        check(&Expr::column(0, Type::Boolean), None);
    }
}
