//! Statistics of the values that are written: of a row group, a stripe, the file.

use crate::writer::proto::MessageBuilder;
use volley_types::Type;

/// Longer texts are no bounds.
const TEXT_BYTES_MAX: usize = 1024;

/// What is known of some values of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    /// Values that are not null.
    pub values: u64,
    pub has_null: bool,
    pub kind: Kind,
}

/// By type.
#[derive(Clone, Debug, Default)]
pub(crate) enum Kind {
    /// Nothing but the number of values.
    #[default]
    Count,
    Boolean {
        trues: u64,
    },
    /// The least and the greatest value, and the sum, `None` beyond 64 bits.
    Integer(Option<(i64, i64)>, Option<i64>),
    Date(Option<(i64, i64)>),
    /// In milliseconds.
    Timestamp(Option<(i64, i64)>),
    /// Without NaN; the sum is NaN if there is one.
    Double(Option<(f64, f64)>, f64),
    /// The unscaled values; with the scale.
    Decimal(Option<(i128, i128)>, u8),
    /// The least and the greatest value; those that are too long are unknown, and with them the
    /// bound.
    Text {
        bounds: Option<(Vec<u8>, Vec<u8>)>,
        bytes: u64,
    },
    Binary {
        bytes: u64,
    },
}

impl Statistics {
    /// Of no values of a type.
    pub fn of_type(data_type: &Type) -> Statistics {
        let kind = match data_type {
            Type::Boolean => Kind::Boolean { trues: 0 },
            Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt => {
                Kind::Integer(None, Some(0))
            }
            Type::Date => Kind::Date(None),
            Type::Timestamp => Kind::Timestamp(None),
            Type::Custom(custom) if *custom.storage() == Type::Timestamp => Kind::Timestamp(None),
            Type::Real | Type::Double => Kind::Double(None, 0.0),
            Type::Decimal { scale, .. } => Kind::Decimal(None, *scale),
            Type::Varbinary => Kind::Binary { bytes: 0 },
            Type::Array(_) | Type::FixedArray(_) | Type::Map(_) | Type::Row(_) => Kind::Count,
            _ => Kind::Text { bounds: None, bytes: 0 },
        };
        Statistics { values: 0, has_null: false, kind }
    }

    pub fn add_integer(&mut self, value: i64) {
        self.values += 1;
        match &mut self.kind {
            Kind::Integer(bounds, sum) => {
                widen(bounds, value);
                *sum = sum.and_then(|it| it.checked_add(value));
            }
            Kind::Date(bounds) => widen(bounds, value),
            // Rounded down; readers know that values are up to a millisecond greater.
            Kind::Timestamp(bounds) => widen(bounds, value.div_euclid(1000)),
            Kind::Boolean { trues } => *trues += value as u64,
            _ => {}
        }
    }

    pub fn add_double(&mut self, value: f64) {
        self.values += 1;
        if let Kind::Double(bounds, sum) = &mut self.kind {
            *sum += value;
            if !value.is_nan() {
                *bounds = Some(bounds.map_or((value, value), |(least, greatest)| {
                    (least.min(value), greatest.max(value))
                }));
            }
        }
    }

    pub fn add_decimal(&mut self, value: i128) {
        self.values += 1;
        if let Kind::Decimal(bounds, _) = &mut self.kind {
            widen(bounds, value);
        }
    }

    pub fn add_bytes(&mut self, value: &[u8]) {
        self.values += 1;
        match &mut self.kind {
            Kind::Text { bounds, bytes } => {
                *bytes += value.len() as u64;
                let (least, greatest) = bounds.get_or_insert_with(|| (value.into(), value.into()));
                if value < least.as_slice() {
                    *least = value.into();
                }
                if value > greatest.as_slice() {
                    *greatest = value.into();
                }
            }
            Kind::Binary { bytes } => *bytes += value.len() as u64,
            _ => {}
        }
    }

    /// Adds what is known of other values of the column.
    pub fn merge(&mut self, other: &Statistics) {
        self.values += other.values;
        self.has_null |= other.has_null;
        match (&mut self.kind, &other.kind) {
            (Kind::Boolean { trues }, Kind::Boolean { trues: more }) => *trues += more,
            (Kind::Integer(bounds, sum), Kind::Integer(others, more)) => {
                merge_bounds(bounds, others);
                *sum = sum.zip(*more).and_then(|(a, b)| a.checked_add(b));
            }
            (Kind::Date(bounds), Kind::Date(others))
            | (Kind::Timestamp(bounds), Kind::Timestamp(others)) => merge_bounds(bounds, others),
            (Kind::Double(bounds, sum), Kind::Double(others, more)) => {
                merge_bounds(bounds, others);
                *sum += more;
            }
            (Kind::Decimal(bounds, _), Kind::Decimal(others, _)) => merge_bounds(bounds, others),
            (Kind::Text { bounds, bytes }, Kind::Text { bounds: others, bytes: more }) => {
                *bytes += more;
                if let Some((least, greatest)) = others {
                    let own = bounds.get_or_insert_with(|| (least.clone(), greatest.clone()));
                    own.0 = std::mem::take(&mut own.0).min(least.clone());
                    own.1 = std::mem::take(&mut own.1).max(greatest.clone());
                }
            }
            (Kind::Binary { bytes }, Kind::Binary { bytes: more }) => *bytes += more,
            _ => {}
        }
    }

    /// As they are stored.
    pub fn message(&self) -> MessageBuilder {
        let message = MessageBuilder::default().integer(1, self.values);
        let inner = MessageBuilder::default();
        let message = match &self.kind {
            Kind::Count => message,
            Kind::Boolean { trues } => message.message(5, inner.packed(1, &[*trues])),
            Kind::Integer(bounds, sum) => {
                let inner = with_range(inner, *bounds);
                message.message(2, sum.iter().fold(inner, |it, sum| it.signed(3, *sum)))
            }
            Kind::Date(bounds) => message.message(7, with_range(inner, *bounds)),
            Kind::Timestamp(Some((least, greatest))) => {
                // In local time, which is UTC here, and in UTC.
                let inner = with_range(inner, Some((*least, *greatest)));
                message.message(9, inner.signed(3, *least).signed(4, *greatest))
            }
            Kind::Timestamp(None) => message.message(9, inner),
            Kind::Double(bounds, sum) => {
                let inner = match bounds {
                    Some((least, greatest)) => inner.double(1, *least).double(2, *greatest),
                    None => inner,
                };
                message.message(3, inner.double(3, *sum))
            }
            Kind::Decimal(bounds, scale) => {
                let inner = match bounds {
                    Some((least, greatest)) => inner
                        .bytes(1, decimal_text(*least, *scale).as_bytes())
                        .bytes(2, decimal_text(*greatest, *scale).as_bytes()),
                    None => inner,
                };
                message.message(6, inner)
            }
            Kind::Text { bounds, bytes } => {
                let mut inner = inner;
                if let Some((least, greatest)) = bounds {
                    for (number, bound) in [(1, least), (2, greatest)] {
                        if bound.len() <= TEXT_BYTES_MAX {
                            inner = inner.bytes(number, bound);
                        }
                    }
                }
                message.message(4, inner.signed(3, *bytes as i64))
            }
            Kind::Binary { bytes } => message.message(8, inner.signed(1, *bytes as i64)),
        };
        message.integer(10, u64::from(self.has_null))
    }
}

fn widen<T: Copy + Ord>(bounds: &mut Option<(T, T)>, value: T) {
    *bounds = Some(match *bounds {
        None => (value, value),
        Some((least, greatest)) => (least.min(value), greatest.max(value)),
    });
}

fn merge_bounds<T: Copy + PartialOrd>(bounds: &mut Option<(T, T)>, others: &Option<(T, T)>) {
    *bounds = match (*bounds, *others) {
        (Some((least, greatest)), Some((less, more))) => Some((
            if less < least { less } else { least },
            if more > greatest { more } else { greatest },
        )),
        (own, others) => own.or(others),
    };
}

fn with_range(message: MessageBuilder, bounds: Option<(i64, i64)>) -> MessageBuilder {
    match bounds {
        Some((least, greatest)) => message.signed(1, least).signed(2, greatest),
        None => message,
    }
}

/// A decimal as text, without zeros at the end of its fraction.
fn decimal_text(value: i128, scale: u8) -> String {
    let digits = format!("{:0>1$}", value.unsigned_abs(), usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let sign = if value < 0 { "-" } else { "" };
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::decimal_text;

    #[test]
    fn decimals_are_written_as_text() {
        let text = [(1230, 2), (-5, 2), (0, 3), (700, 2), (12, 0)].map(|(v, s)| decimal_text(v, s));
        assert_eq!(text, ["12.3", "-0.05", "0", "7", "12"]);
    }
}
