//! Single values: literals of expressions and plans.
//!
//! A value is a byte, 0 for NULL and 1 otherwise, and then its bytes; elements of arrays, maps and
//! rows are values themselves. Reading therefore takes memory in proportion to the file, unlike a
//! vector whose rows share elements.

use super::{Reader, Writer, corruption};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{Interval, Type, Value};

impl Writer {
    /// A value of a type that the reader knows.
    ///
    /// # Errors
    ///
    /// Unsupported, for objects; internal, for a value of another type; too many levels.
    pub fn value(&mut self, data_type: &Type, value: &Value) -> Result<()> {
        self.byte(u8::from(!value.is_null()));
        match value {
            Value::Null => {}
            Value::Boolean(it) => self.byte(u8::from(*it)),
            Value::TinyInt(it) => self.raw(&it.to_le_bytes()),
            Value::SmallInt(it) => self.raw(&it.to_le_bytes()),
            Value::Integer(it) | Value::Date(it) => self.raw(&it.to_le_bytes()),
            Value::BigInt(it) | Value::Time(it) | Value::Timestamp(it) => {
                self.raw(&it.to_le_bytes());
            }
            Value::HugeInt(it) | Value::Decimal(it) => self.raw(&it.to_le_bytes()),
            Value::Real(it) => self.raw(&it.to_le_bytes()),
            Value::Double(it) => self.raw(&it.to_le_bytes()),
            Value::Varchar(it) => self.text(it),
            Value::Varbinary(it) => {
                self.number(it.len());
                self.raw(it);
            }
            Value::Interval(it) => {
                self.raw(&it.months.to_le_bytes());
                self.raw(&it.days.to_le_bytes());
                self.raw(&it.nanoseconds.to_le_bytes());
            }
            Value::Array(_) | Value::Map(_) | Value::Row(_) => {
                self.nested(|it| it.parts(data_type, value))?;
            }
            Value::Object(_) => {
                return Err(Error::unsupported("values of opaque types cannot be saved"));
            }
        }
        Ok(())
    }

    fn parts(&mut self, data_type: &Type, value: &Value) -> Result<()> {
        match (data_type, value) {
            (Type::Array(element), Value::Array(values)) => {
                self.number(values.len());
                values.iter().try_for_each(|it| self.value(element, it))
            }
            (Type::FixedArray(array), Value::Array(values)) => {
                values.iter().try_for_each(|it| self.value(&array.0, it))
            }
            (Type::Map(entry), Value::Map(entries)) => {
                self.number(entries.len());
                entries.iter().try_for_each(|(key, value)| {
                    self.value(&entry.0, key)?;
                    self.value(&entry.1, value)
                })
            }
            (Type::Row(fields), Value::Row(values)) => fields
                .iter()
                .zip(values.iter())
                .try_for_each(|(field, it)| self.value(&field.data_type, it)),
            _ => Err(Error::internal(format!("value of another type than {data_type}"))),
        }
    }
}

impl Reader<'_> {
    /// A value of [`Writer::value`].
    ///
    /// # Errors
    ///
    /// Corruption, when the bytes are those of no value of this type.
    pub fn value(&mut self, data_type: &Type) -> Result<Value> {
        match self.byte()? {
            0 => Ok(Value::Null),
            1 => self.known_value(data_type),
            _ => Err(corruption("neither NULL nor a value")),
        }
    }

    fn known_value(&mut self, data_type: &Type) -> Result<Value> {
        Ok(match data_type {
            Type::Unknown => return Err(corruption("a value without a type")),
            Type::Boolean => match self.byte()? {
                0 => Value::Boolean(false),
                1 => Value::Boolean(true),
                _ => return Err(corruption("neither true nor false")),
            },
            Type::TinyInt => Value::TinyInt(i8::from_le_bytes(self.fixed()?)),
            Type::SmallInt => Value::SmallInt(i16::from_le_bytes(self.fixed()?)),
            Type::Integer => Value::Integer(i32::from_le_bytes(self.fixed()?)),
            Type::BigInt => Value::BigInt(i64::from_le_bytes(self.fixed()?)),
            Type::HugeInt => Value::HugeInt(i128::from_le_bytes(self.fixed()?)),
            Type::Real => Value::Real(f32::from_le_bytes(self.fixed()?)),
            Type::Double => Value::Double(f64::from_le_bytes(self.fixed()?)),
            Type::Decimal { precision, .. } => {
                let unscaled = i128::from_le_bytes(self.fixed()?);
                let limit = 10u128.pow(u32::from(*precision));
                if unscaled.unsigned_abs() >= limit {
                    return Err(corruption("DECIMAL of more digits"));
                }
                Value::Decimal(unscaled)
            }
            Type::Varchar => Value::text(self.text()?),
            Type::Varbinary => {
                let len = self.count()?;
                Value::Varbinary(self.raw(len)?.into())
            }
            Type::Date => Value::Date(i32::from_le_bytes(self.fixed()?)),
            Type::Time => Value::Time(i64::from_le_bytes(self.fixed()?)),
            Type::Timestamp => Value::Timestamp(i64::from_le_bytes(self.fixed()?)),
            Type::Interval => Value::Interval(Interval {
                months: i32::from_le_bytes(self.fixed()?),
                days: i32::from_le_bytes(self.fixed()?),
                nanoseconds: i64::from_le_bytes(self.fixed()?),
            }),
            Type::Array(element) => {
                let count = self.count()?;
                Value::Array(self.nested(|it| it.some_values(element, count))?)
            }
            Type::FixedArray(array) => {
                Value::Array(self.nested(|it| it.some_values(&array.0, array.1 as usize))?)
            }
            Type::Map(entry) => {
                let count = self.count()?;
                Value::Map(self.nested(|it| it.entries(entry, count))?)
            }
            Type::Row(fields) => {
                let values = self
                    .nested(|it| fields.iter().map(|field| it.value(&field.data_type)).collect());
                Value::Row(values?)
            }
            Type::Custom(custom) => return self.known_value(custom.storage()),
            Type::Opaque(_) => return Err(corruption("objects")),
        })
    }

    fn some_values(&mut self, data_type: &Type, count: usize) -> Result<Arc<[Value]>> {
        (0..count).map(|_| self.value(data_type)).collect()
    }

    fn entries(&mut self, entry: &(Type, Type), count: usize) -> Result<Arc<[(Value, Value)]>> {
        let read = |_| match self.value(&entry.0)? {
            Value::Null => Err(corruption("MAP with a key that is NULL")),
            key => Ok((key, self.value(&entry.1)?)),
        };
        (0..count).map(read).collect()
    }
}
