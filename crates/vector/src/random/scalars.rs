//! Random types and values without nesting, with the cases at the edges.

use super::Generator;
use volley_types::{Interval, Type, Value};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Days that any calendar function can handle: years 1000 to 2999 or so.
const DAYS: std::ops::Range<i32> = -354_000..376_000;

/// Text with what goes wrong easily: empty, of 12 and 13 bytes, longer, not ASCII, wildcards.
const TEXTS: [&str; 16] = [
    "",
    " ",
    "a",
    "abc",
    "ABC",
    "a_b%c",
    "exactly 12 b",
    "exactly 13 by",
    "a text that is longer than its view",
    "ä",
    "日本語テキスト",
    "çirkin İstanbul ß ﬁ",
    "🦀 crab",
    "1234",
    "-0.5",
    "2020-02-29",
];

/// The types without parts and parameters.
pub const SCALAR_TYPES: [Type; 14] = [
    Type::Boolean,
    Type::TinyInt,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::HugeInt,
    Type::Real,
    Type::Double,
    Type::Varchar,
    Type::Varbinary,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::Interval,
];

impl Generator {
    pub(super) fn scalar_type(&mut self) -> Type {
        if self.below(SCALAR_TYPES.len() + 1) == 0 {
            let precision = 1 + self.below(38) as u8;
            return Type::decimal(precision, self.below(usize::from(precision) + 1) as u8);
        }
        self.choose(&SCALAR_TYPES).clone()
    }

    /// A value of `data_type`, at the edge of its range from time to time; NULL only where the type
    /// has nothing else, and inside of nested values.
    pub fn value(&mut self, data_type: &Type) -> Value {
        if let Some(example) = self.example(data_type) {
            return example;
        }
        match data_type {
            Type::Unknown => Value::Null,
            Type::Custom(custom) => match custom.labels() {
                Some([]) => Value::Null,
                Some(labels) => {
                    let label = self.choose(labels).clone();
                    custom.parse(&label).unwrap_or(Value::Null)
                }
                // As it may be stored, whether the type would read it or not.
                None => self.value(custom.storage()),
            },
            Type::Boolean => Value::Boolean(self.random.bool()),
            Type::TinyInt => Value::TinyInt(self.integer(i8::MIN.into(), i8::MAX.into()) as i8),
            Type::SmallInt => {
                Value::SmallInt(self.integer(i16::MIN.into(), i16::MAX.into()) as i16)
            }
            Type::Integer => Value::Integer(self.integer(i32::MIN.into(), i32::MAX.into()) as i32),
            Type::BigInt => Value::BigInt(self.integer(i64::MIN.into(), i64::MAX.into()) as i64),
            Type::HugeInt => Value::HugeInt(self.integer(i128::MIN, i128::MAX)),
            Type::Real => Value::Real(self.double() as f32),
            Type::Double => Value::Double(self.double()),
            Type::Decimal { precision, .. } => {
                let end = 10i128.pow(u32::from(*precision)) - 1;
                Value::Decimal(self.integer(-end, end))
            }
            Type::Varchar => Value::text(self.text()),
            Type::Varbinary => {
                let len = self.below(20);
                Value::Varbinary((0..len).map(|_| self.random.u8(..)).collect())
            }
            Type::Date => Value::Date(self.random.i32(DAYS)),
            Type::Time => Value::Time(self.random.i64(0..MICROS_PER_DAY)),
            Type::Timestamp => {
                let days = i64::from(self.random.i32(DAYS));
                Value::Timestamp(days * MICROS_PER_DAY + self.random.i64(0..MICROS_PER_DAY))
            }
            Type::Interval => Value::Interval(Interval::new(
                self.random.i32(-30..30),
                self.random.i32(-400..400),
                self.random.i64(-MICROS_PER_DAY..MICROS_PER_DAY) * 1000,
            )),
            Type::Array(element) => {
                let len = self.below(super::ELEMENTS_MAX + 1);
                Value::Array(self.values(element, len).into())
            }
            Type::FixedArray(array) => Value::Array(self.values(&array.0, array.1 as usize).into()),
            Type::Opaque(_) => self.object(data_type),
            Type::Map(entry) => {
                let mut entries: Vec<(Value, Value)> = Vec::new();
                for _ in 0..self.below(super::ELEMENTS_MAX + 1) {
                    let key = self.value(&entry.0);
                    if entries.iter().all(|it| it.0 != key) && !key.is_null() {
                        entries.push((key, self.values(&entry.1, 1).remove(0)));
                    }
                }
                Value::Map(entries.into())
            }
            Type::Row(fields) => {
                let fields = fields.iter().map(|it| self.values(&it.data_type, 1).remove(0));
                Value::Row(fields.collect())
            }
        }
    }

    /// One of the examples of the type, every other time.
    fn example(&mut self, data_type: &Type) -> Option<Value> {
        let place = self.examples.iter().position(|it| it.0 == *data_type)?;
        let index = self.below(2 * self.examples.get(place)?.1.len());
        self.examples.get(place)?.1.get(index).cloned()
    }

    /// Small numbers mostly, so that values repeat; the whole range sometimes; its ends seldom.
    fn integer(&mut self, min: i128, max: i128) -> i128 {
        match self.below(20) {
            0 => min,
            1 => max,
            2..=4 => self.random.i128(min..=max),
            _ => self.random.i128(-10..=20).clamp(min, max),
        }
    }

    fn double(&mut self) -> f64 {
        let edges = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300];
        match self.below(10) {
            0 => *self.choose(&edges),
            1..=3 => (self.random.f64() - 0.5) * 1e6,
            _ => f64::from(self.random.i32(-40..40)) / 4.0,
        }
    }

    fn text(&mut self) -> String {
        match self.below(4) {
            0 => (0..self.below(40)).map(|_| self.random.alphanumeric()).collect(),
            _ => (*self.choose(&TEXTS)).to_owned(),
        }
    }
}
