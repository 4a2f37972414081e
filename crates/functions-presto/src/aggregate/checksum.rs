//! `checksum`, and the sizes of values: `sum_data_size_for_stats`, `max_data_size_for_stats`.

use super::{doc, presto};
use std::sync::Arc;
use twox_hash::XxHash64;
use volley_error::Result;
use volley_function::Registry;
use volley_functions::value_aggregate::{self, Keys, ValueAggregate, ValueRow};
use volley_types::{CustomOrder, Type, Value};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let checksum = doc(
        "checksum(x) -> varbinary",
        "8 bytes that depend on the values, nulls included, but not on their order; null without \
         rows. Those of maps and custom types differ from Presto's.",
        &[("to_hex(checksum(x)) FROM (VALUES (bigint '3'), (NULL)) t(x)", "F251B655881C012F")],
    );
    let bind = |args: &[Type]| {
        let [value] = args else { return None };
        if value.order() < CustomOrder::Equality {
            return None;
        }
        let aggregate = Checksum { keys: Keys::of(value) };
        Some(value_aggregate::bound(args.to_vec(), Type::BigInt, Type::Varbinary, aggregate))
    };
    registry.add_aggregate(&presto("checksum"), checksum, Arc::new(bind));
    for (name, size, what, example) in [
        ("sum_data_size_for_stats", Size::Sum, "sum", "5"),
        ("max_data_size_for_stats", Size::Max, "greatest", "3"),
    ] {
        let call = format!("{name}(x) FROM (VALUES ('abc'), ('de'), (NULL)) t(x)");
        let doc = doc(
            &format!("{name}(x) -> bigint"),
            &format!("The {what} of the sizes in bytes of the values that are not null."),
            &[(&call, example)],
        );
        let bind = move |args: &[Type]| {
            let [_] = args else { return None };
            Some(value_aggregate::bound(args.to_vec(), Type::BigInt, Type::BigInt, size))
        };
        registry.add_aggregate(&presto(name), doc, Arc::new(bind));
    }
}

/// The sum of the values' hashes, each times [`PRIME`], modulo 2^64; the hash of null is 1.
struct Checksum {
    keys: Keys,
}

/// The first prime number of XXH64.
const PRIME: u64 = 0x9E37_79B1_85EB_CA87;

impl Checksum {
    /// Presto's hash of a value that is not null, and the engine's of a map or a custom type.
    fn hash(&self, value: &Value) -> u64 {
        match value {
            Value::Boolean(true) => 1231,
            Value::Boolean(false) => 1237,
            Value::TinyInt(it) => hash_long((*it).into()),
            Value::SmallInt(it) => hash_long((*it).into()),
            Value::Integer(it) | Value::Date(it) => hash_long((*it).into()),
            Value::BigInt(it) => hash_long(*it),
            Value::Time(it) | Value::Timestamp(it) => hash_long(it.div_euclid(1_000)),
            Value::Real(it) => {
                let it = if it.is_nan() { f32::NAN } else { it + 0.0 };
                hash_long(i64::from(it.to_bits() as i32))
            }
            Value::Double(it) => {
                let it = if it.is_nan() { f64::NAN } else { it + 0.0 };
                hash_long(it.to_bits() as i64)
            }
            Value::Varchar(text) => XxHash64::oneshot(0, text.as_bytes()),
            Value::Varbinary(bytes) => XxHash64::oneshot(0, bytes),
            Value::Array(parts) | Value::Row(parts) => parts.iter().fold(0, |hash: u64, part| {
                let part = if part.is_null() { 0 } else { self.hash(part) };
                hash.wrapping_mul(31).wrapping_add(part)
            }),
            other => self.keys.hash(other),
        }
    }
}

fn hash_long(value: i64) -> u64 {
    let mixed = (value as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    mixed.rotate_left(31).wrapping_mul(PRIME)
}

impl ValueAggregate for Checksum {
    type State = Option<u64>;
    const IGNORES_NULLS: &'static [bool] = &[false];

    fn add(&self, state: &mut Option<u64>, row: ValueRow<'_>) -> Result<()> {
        let value = row.value(0);
        let hash = if value.is_null() { 1 } else { self.hash(&value) };
        *state = Some(state.unwrap_or(0).wrapping_add(hash.wrapping_mul(PRIME)));
        Ok(())
    }

    fn merge(&self, state: &mut Option<u64>, partial: &Value) -> Result<()> {
        let sum = partial.as_i128().unwrap_or(0) as u64;
        *state = Some(state.unwrap_or(0).wrapping_add(sum));
        Ok(())
    }

    fn partial(&self, state: &Option<u64>) -> Result<Value> {
        Ok(state.map_or(Value::Null, |it| Value::BigInt(it as i64)))
    }

    fn result(&self, state: &Option<u64>) -> Result<Value> {
        let bytes = |it: u64| Value::Varbinary(it.to_le_bytes().into());
        Ok(state.map_or(Value::Null, bytes))
    }
}

/// What is told of the sizes.
#[derive(Clone, Copy)]
enum Size {
    Sum,
    Max,
}

impl Size {
    fn put(self, state: &mut Option<i64>, size: i64) {
        *state = Some(match (self, *state) {
            (_, None) => size,
            (Size::Sum, Some(sum)) => sum.saturating_add(size),
            (Size::Max, Some(max)) => max.max(size),
        });
    }
}

/// Numbers have the size of their type, strings that of their bytes, others those of their parts.
fn size_of_value(value: &Value) -> i64 {
    match value {
        Value::Null => 0,
        Value::Boolean(_) | Value::TinyInt(_) => 1,
        Value::SmallInt(_) => 2,
        Value::Integer(_) | Value::Real(_) | Value::Date(_) => 4,
        Value::BigInt(_) | Value::Double(_) | Value::Time(_) | Value::Timestamp(_) => 8,
        Value::HugeInt(_) | Value::Decimal(_) | Value::Interval(_) => 16,
        Value::Varchar(text) => text.len() as i64,
        Value::Varbinary(bytes) => bytes.len() as i64,
        Value::Array(values) | Value::Row(values) => values.iter().map(size_of_value).sum(),
        Value::Map(entries) => {
            entries.iter().map(|it| size_of_value(&it.0) + size_of_value(&it.1)).sum()
        }
        Value::Object(object) => object.bytes() as i64,
    }
}

impl ValueAggregate for Size {
    type State = Option<i64>;

    fn add(&self, state: &mut Option<i64>, row: ValueRow<'_>) -> Result<()> {
        self.put(state, size_of_value(&row.value(0)));
        Ok(())
    }

    fn merge(&self, state: &mut Option<i64>, partial: &Value) -> Result<()> {
        self.put(state, partial.as_i128().unwrap_or(0) as i64);
        Ok(())
    }

    fn partial(&self, state: &Option<i64>) -> Result<Value> {
        Ok(state.map_or(Value::Null, Value::BigInt))
    }

    fn result(&self, state: &Option<i64>) -> Result<Value> {
        self.partial(state)
    }
}
