//! Values as numbers, for interpolation.

use volley_types::{Type, Value};

/// A value on its type's number line: decimals as what they are worth, dates as days, times as
/// microseconds. Text has none.
pub(super) fn as_number(value: &Value, data_type: &Type) -> Option<f64> {
    if let Some(unsigned) = data_type.unsigned() {
        return unsigned.number(value).map(|it| it as f64);
    }
    match (value, data_type) {
        (Value::Real(number), _) => Some(f64::from(*number)),
        (Value::Double(number), _) => Some(*number),
        (Value::Boolean(value), _) => Some(f64::from(u8::from(*value))),
        (Value::Decimal(unscaled), Type::Decimal { scale, .. }) => {
            Some(*unscaled as f64 / 10_f64.powi(i32::from(*scale)))
        }
        (other, _) => other.as_i128().map(|it| it as f64),
    }
}

/// How many different values lie between two of a discrete type.
pub(super) fn steps(low: f64, high: f64, data_type: &Type) -> Option<f64> {
    let step = match data_type {
        Type::Boolean => 1.0,
        Type::Decimal { scale, .. } => 10_f64.powi(-i32::from(*scale)),
        Type::Date => 1.0,
        _ if data_type.is_integer() || data_type.unsigned().is_some() => 1.0,
        _ => return None,
    };
    Some(((high - low) / step + 1.0).max(1.0))
}
