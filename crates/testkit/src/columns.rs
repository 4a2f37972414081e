//! Random columns of any type and encoding.

use crate::Random;
use volley_error::Result;
use volley_types::{Type, Value, custom::UnsignedInteger};
use volley_vector::{
    Batch, Vector,
    random::{SCALAR_TYPES, opaque_type},
};

/// Values and columns of any type, the same for the same seed.
pub struct RandomColumns(Random);

impl RandomColumns {
    /// Those of a seed.
    pub fn new(seed: u64) -> RandomColumns {
        RandomColumns(Random(seed))
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0.next() % limit
    }

    /// One type of each kind that can be a key.
    pub fn key_types() -> Vec<Type> {
        let others = [
            Type::Unknown,
            Type::decimal(12, 2),
            Type::decimal(38, 4),
            UnsignedInteger::UTinyInt.data_type(),
            UnsignedInteger::UBigInt.data_type(),
            Type::array(Type::Varchar),
            Type::map(Type::Integer, Type::Varchar),
            Type::fixed_array(Type::Integer, 2),
            Type::Opaque(opaque_type()),
            Type::array(Type::Opaque(opaque_type())),
        ];
        let scalars = SCALAR_TYPES.into_iter().filter(|it| *it != Type::Interval);
        scalars.chain(others).collect()
    }

    /// A value of few possible ones (about 40), null now and then.
    pub fn value(&mut self, data_type: &Type) -> Value {
        if self.below(10) == 0 {
            return Value::Null;
        }
        let number = self.below(40) as i64 - 20;
        match data_type {
            Type::Unknown => Value::Null,
            Type::Boolean => Value::Boolean(number > 0),
            Type::TinyInt => Value::TinyInt(number as i8),
            Type::SmallInt => Value::SmallInt(number as i16 * 1000),
            Type::Integer => Value::Integer(number as i32 * 100_000_000),
            Type::BigInt => Value::BigInt(number * (1 << 58)),
            Type::HugeInt => Value::HugeInt(i128::from(number) << 120),
            Type::Real => Value::Real(if number == 7 { f32::NAN } else { number as f32 / 8.0 }),
            Type::Double => Value::Double(match number {
                0 => 0.0,
                1 => -0.0,
                7 => f64::NAN,
                8 => f64::INFINITY,
                other => other as f64 / 3.0,
            }),
            Type::Decimal { .. } => Value::Decimal(i128::from(number) * 12345),
            Type::Varchar => Value::text(RandomColumns::text(number)),
            Type::Varbinary => Value::Varbinary(RandomColumns::text(number).as_bytes().into()),
            Type::Date => Value::Date(number as i32 * 100),
            Type::Time => Value::Time(number.abs() * 1_000_000),
            Type::Timestamp => Value::Timestamp(number * 1_000_000_000_000),
            Type::Array(element) => {
                Value::Array((0..self.below(3)).map(|_| self.value(element)).collect())
            }
            Type::FixedArray(array) => {
                Value::Array((0..array.1).map(|_| self.value(&array.0)).collect())
            }
            Type::Opaque(opaque) => opaque.value(number),
            Type::Map(entry) => Value::Map(
                (0..self.below(2)).map(|_| (self.value(&entry.0), self.value(&entry.1))).collect(),
            ),
            Type::Custom(custom) => {
                let number = u128::from(number.unsigned_abs());
                let number = custom.unsigned().and_then(|it| it.store(it.greatest() - number));
                number.unwrap_or(Value::Null)
            }
            Type::Row(_) | Type::Interval => Value::Null,
        }
    }

    /// Short, long and non-ASCII text.
    fn text(number: i64) -> String {
        match number.rem_euclid(4) {
            0 => "x".repeat(number.unsigned_abs() as usize),
            1 => format!("größer als zwölf Bytes {number}"),
            2 => format!("é{number}"),
            _ => format!("exactly12b{:02}", number.abs()),
        }
    }

    /// A column of `rows` rows in a random encoding.
    pub fn column(&mut self, data_type: &Type, rows: usize) -> Vector {
        match self.below(5) {
            0 => Vector::constant(data_type.clone(), &self.value(data_type), rows),
            1 => {
                let values: Vec<Value> = (0..10).map(|_| self.value(data_type)).collect();
                let base = Vector::from_values(data_type.clone(), &values);
                let codes: Vec<u32> = (0..rows).map(|_| self.below(10) as u32).collect();
                base.wrap(&codes.into(), &mut Vec::new())
            }
            2 => {
                let values: Vec<Value> = (0..rows).map(|_| self.value(data_type)).collect();
                let flat = Vector::from_values(data_type.clone(), &values);
                // Where the type and the values have one.
                flat.to_bias().ok().flatten().unwrap_or(flat)
            }
            encoding => {
                let values: Vec<Value> = (0..rows).map(|_| self.value(data_type)).collect();
                let flat = Vector::from_values(data_type.clone(), &values);
                if encoding == 3 { flat } else { lazy(flat) }
            }
        }
    }

    /// `rows` rows in batches of `batch_rows`.
    pub fn batches(&mut self, types: &[Type], rows: usize, batch_rows: usize) -> Vec<Batch> {
        let mut batches = Vec::new();
        let mut left = rows;
        while left > 0 {
            let rows = left.min(batch_rows);
            left -= rows;
            let columns = types.iter().map(|it| self.column(it, rows)).collect();
            batches.push(Batch::new(columns, rows));
        }
        batches
    }
}

fn lazy(vector: Vector) -> Vector {
    struct Loader(Vector);

    impl volley_vector::Loader for Loader {
        fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
            match rows {
                Some(rows) => self.0.gather(rows),
                None => Ok(self.0.clone()),
            }
        }
    }

    let (data_type, rows) = (vector.data_type().clone(), vector.len());
    Vector::lazy(data_type, rows, Box::new(Loader(vector)))
}
