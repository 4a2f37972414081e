//! Tests of single columns as plain data: what filters ask of a column before it is decoded.

use crate::{BooleanBuffer, Decoded, Vector, comparator};
use volley_error::Result;
use volley_kernels::compare::Comparison;
use volley_types::Value;

/// A test of the values of a column. Values are of the column's type, those of a custom type as
/// they are stored.
///
/// A null row passes [`ColumnTest::IsNull`] alone. Values compare in SQL's order: NaN equals itself
/// and is the greatest, -0.0 equals 0.0. No row compares with a value that is NULL.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnTest {
    /// IS NULL.
    IsNull,
    /// IS NOT NULL.
    IsNotNull,
    /// The row's value compares so with `value`.
    Compare {
        /// With the row's value on the left.
        comparison: Comparison,
        /// The right side.
        value: Value,
    },
    /// `low <= row AND row <= high`.
    Between {
        /// The least value that passes.
        low: Value,
        /// The greatest one.
        high: Value,
    },
    /// The row's value is one of these.
    In(Vec<Value>),
}

impl ColumnTest {
    /// Which rows of a vector pass, by comparing row by row.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; a type without this comparison.
    pub fn matches(&self, vector: &Vector) -> Result<BooleanBuffer> {
        let len = vector.len();
        match self {
            ColumnTest::IsNull | ColumnTest::IsNotNull => {
                let decoded = Decoded::new(vector)?;
                let wants_null = *self == ColumnTest::IsNull;
                Ok(BooleanBuffer::collect_bool(len, |row| decoded.is_null(row) == wants_null))
            }
            ColumnTest::Compare { comparison, value } => compare(vector, *comparison, value),
            ColumnTest::Between { low, high } => {
                let from_low = compare(vector, Comparison::GreaterOrEqual, low)?;
                Ok(&from_low & &compare(vector, Comparison::LessOrEqual, high)?)
            }
            ColumnTest::In(values) => {
                let mut found = BooleanBuffer::new_unset(len);
                for value in values {
                    found = &found | &compare(vector, Comparison::Equal, value)?;
                }
                Ok(found)
            }
        }
    }
}

fn compare(vector: &Vector, comparison: Comparison, value: &Value) -> Result<BooleanBuffer> {
    if value.is_null() {
        return Ok(BooleanBuffer::new_unset(vector.len()));
    }
    let value = Vector::from_values(vector.data_type().clone(), std::slice::from_ref(value));
    let comparator = comparator(vector, &value)?;
    Ok(BooleanBuffer::collect_bool(vector.len(), |row| {
        !comparator.left_is_null(row) && comparison.holds(comparator.compare_valid(row, 0))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Type;

    #[track_caller]
    fn check(vector: &Vector, test: &ColumnTest, expected: &[bool]) {
        let found: Vec<bool> = test.matches(vector).unwrap().iter().collect();
        assert_eq!(found, expected, "{test:?}");
    }

    #[test]
    fn tests_follow_the_order_of_values_and_nulls_pass_none() {
        let values = [Value::Double(f64::NAN), Value::Null, Value::Double(-0.0), Value::Double(2.)];
        let vector = Vector::from_values(Type::Double, &values);
        check(&vector, &ColumnTest::IsNull, &[false, true, false, false]);
        check(&vector, &ColumnTest::IsNotNull, &[true, false, true, true]);
        let compare = |comparison, value| ColumnTest::Compare { comparison, value };
        let zero = || Value::Double(0.0);
        check(&vector, &compare(Comparison::Equal, zero()), &[false, false, true, false]);
        check(&vector, &compare(Comparison::Greater, zero()), &[true, false, false, true]);
        check(&vector, &compare(Comparison::NotEqual, Value::Null), &[false; 4]);
        let nan = || Value::Double(f64::NAN);
        check(
            &vector,
            &ColumnTest::Between { low: Value::Double(1.0), high: nan() },
            &[true, false, false, true],
        );
        check(
            &vector,
            &ColumnTest::In(vec![nan(), Value::Null, zero()]),
            &[true, false, true, false],
        );
        check(&vector, &ColumnTest::In(Vec::new()), &[false; 4]);
    }
}
