//! What is known of the values of a column in some rows: its bounds, and how they compare.

use std::cmp::Ordering;
use volley_types::{Type, Value};

/// Bounds of a column's values; what is missing is unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// No value is less.
    pub min: Option<Value>,
    /// No value is greater.
    pub max: Option<Value>,
    /// How many values are null.
    pub nulls: Option<u64>,
    /// How many distinct values there are.
    pub distinct: Option<u64>,
}

impl Bounds {
    /// Those of `rows` of the `of_rows` rows that these are of.
    pub fn narrowed(mut self, of_rows: u64, rows: u64) -> Bounds {
        self.nulls = match self.nulls {
            Some(0) => Some(0),
            Some(nulls) if nulls == of_rows => Some(rows),
            nulls => nulls.filter(|_| rows == of_rows),
        };
        self
    }

    /// The bounds of the values of both: `None` is unknown. `distinct` stays unknown.
    pub fn union(&self, other: &Bounds) -> Bounds {
        let pick = |a: &Option<Value>, b: &Option<Value>, wanted| match (a, b) {
            (Some(a), Some(b)) => {
                let order = compare_values(a, b)?;
                Some(if order == wanted { a.clone() } else { b.clone() })
            }
            _ => None,
        };
        Bounds {
            min: pick(&self.min, &other.min, Ordering::Less),
            max: pick(&self.max, &other.max, Ordering::Greater),
            nulls: self.nulls.zip(other.nulls).map(|(a, b)| a.saturating_add(b)),
            distinct: None,
        }
    }
}

/// Whether no value is within both.
pub fn are_apart(a: &Bounds, b: &Bounds) -> bool {
    let is_less = |max: &Option<Value>, min: &Option<Value>| {
        let pair = max.as_ref().zip(min.as_ref());
        pair.is_some_and(|(max, min)| compare_values(max, min).is_some_and(Ordering::is_lt))
    };
    is_less(&a.max, &b.min) || is_less(&b.max, &a.min)
}

/// The order of two values of one type as SQL has it; `None` where it is not known here.
pub fn compare_values(left: &Value, right: &Value) -> Option<Ordering> {
    let float = |left: f64, right: f64| match (left.is_nan(), right.is_nan()) {
        (false, false) => left.partial_cmp(&right),
        (left, right) => Some(left.cmp(&right)),
    };
    match (left, right) {
        (Value::Varchar(left), Value::Varchar(right)) => {
            Some(left.as_bytes().cmp(right.as_bytes()))
        }
        (Value::Varbinary(left), Value::Varbinary(right)) => Some(left.cmp(right)),
        (Value::Boolean(left), Value::Boolean(right)) => Some(left.cmp(right)),
        (Value::Real(left), Value::Real(right)) => float((*left).into(), (*right).into()),
        (Value::Double(left), Value::Double(right)) => float(*left, *right),
        _ if std::mem::discriminant(left) == std::mem::discriminant(right) => {
            Some(left.as_i128()?.cmp(&right.as_i128()?))
        }
        _ => None,
    }
}

/// Whether `data_type` has an order that bounds can be compared in.
pub fn is_ordered(data_type: &Type) -> bool {
    !data_type.is_nested() && !matches!(data_type, Type::Interval | Type::Unknown)
}
