//! Functions of HYPERLOGLOG: `approx_set`, `empty_approx_set`, `merge`, `merge_hll`, `cardinality`.

use super::{
    aggregate::{self, Sketch, merge_row},
    hyper_log_log::{DEFAULT_BITS, HyperLogLog},
    scalar::{self, bytes_of, malformed},
};
use crate::binary::murmur3_x64_128;
use std::{borrow::Cow, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, BoundScalar, FunctionDoc, Registry};
use volley_functions::value_aggregate::{Keys, elements};
use volley_types::{CustomOrder, Type, Value, custom, implicit_cast_cost};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    aggregate::add(
        registry,
        ("approx_set", "approx_set(x[, e]) -> hyperloglog"),
        "A sketch of the set of values that are not null, whose \
         `cardinality` is about their number: with a standard error of at most e, from 0.0040625 \
         to 0.26, or else of 1.625 %.",
        "cardinality(approx_set(x)) FROM (VALUES (1), (2), (2)) t(x)",
        "2",
        bind_set,
    );
    // Described with `merge` of other sketches.
    let merge = |args: &[Type]| {
        let fits = *args == [sketch()];
        fits.then(|| aggregate::bound::<HyperLogLog>(args.to_vec(), sketch(), merge_row))
    };
    registry.add_aggregate("presto.merge", FunctionDoc::default(), Arc::new(merge));
    register_scalars(registry);
}

fn register_scalars(registry: &mut Registry) {
    let bind = |args: &[Type]| {
        scalar::bound(args, vec![sketch()], Type::BigInt, |row| {
            let found = read(bytes_of(&row.value(0)).unwrap_or_default())?;
            Ok(Value::BigInt(found.estimate()))
        })
    };
    // Described with the core's function.
    registry.add_scalar("presto.cardinality", FunctionDoc::default(), Arc::new(bind));
    scalar::add(
        registry,
        ("empty_approx_set", "empty_approx_set([e]) -> hyperloglog"),
        "The sketch of the empty set, of a standard error as for approx_set.",
        ("cardinality(empty_approx_set())", "0"),
        |args| {
            let types = if args.is_empty() { vec![] } else { vec![Type::Double] };
            let has_error = !args.is_empty();
            scalar::bound(args, types, sketch(), move |row| {
                let bits = if has_error { bits_of(row.number(0))? } else { DEFAULT_BITS };
                Ok(Value::Varbinary(HyperLogLog::new(bits).to_bytes().into()))
            })
        },
    );
    scalar::add(
        registry,
        ("merge_hll", "merge_hll(array(hyperloglog)) -> hyperloglog"),
        "The sketch of the union of the sets; null if there is none.",
        (
            "cardinality(merge_hll(array_agg(s))) FROM (SELECT approx_set(x) FROM (VALUES (1), \
             (2)) t(x) GROUP BY x) v(s)",
            "2",
        ),
        |args| {
            scalar::bound(args, vec![Type::array(sketch())], sketch(), |row| {
                let sketches = row.value(0);
                let mut union: Option<HyperLogLog> = None;
                for bytes in elements(&sketches).iter().filter_map(bytes_of) {
                    let other = read(bytes)?;
                    match &mut union {
                        Some(union) => {
                            if !union.merge(&other) {
                                return Err(other_buckets(union, &other));
                            }
                        }
                        None => union = Some(other),
                    }
                }
                Ok(union.map_or(Value::Null, |it| Value::Varbinary(it.to_bytes().into())))
            })
        },
    );
}

fn sketch() -> Type {
    custom::HyperLogLog::data_type()
}

fn read(bytes: &[u8]) -> Result<HyperLogLog> {
    HyperLogLog::from_bytes(bytes).ok_or_else(malformed)
}

fn other_buckets(left: &HyperLogLog, right: &HyperLogLog) -> Error {
    Error::invalid_value(format!(
        "cannot merge sketches with different numbers of buckets: 2^{} and 2^{}",
        left.bits(),
        right.bits()
    ))
}

/// The bits of a sketch of this standard error.
fn bits_of(error: Option<f64>) -> Result<u32> {
    let error = error.unwrap_or(f64::NAN);
    HyperLogLog::bits_of_error(error).ok_or_else(|| {
        let range = "standard error must be in [0.0040625, 0.26]";
        Error::invalid_value(format!("{range}: {error}"))
    })
}

fn bind_set(args: &[Type]) -> Option<BoundAggregate> {
    let (value, errors) = args.split_first()?;
    // Presto has no other types than BIGINT, DOUBLE and VARCHAR; the hashes of others are ours.
    let value = match value {
        integer if integer.is_integer() => Type::BigInt,
        Type::Real | Type::Double | Type::Decimal { .. } => Type::Double,
        other if other.order() >= CustomOrder::Equality => other.clone(),
        _ => return None,
    };
    let keys = Keys::of(&value);
    let mut types = vec![value];
    match errors {
        [] => {}
        [error] if implicit_cast_cost(error, &Type::Double).is_some() => types.push(Type::Double),
        _ => return None,
    }
    let has_error = types.len() > 1;
    Some(aggregate::bound::<HyperLogLog>(types, sketch(), move |state, row| {
        let value = row.value(0);
        let hash = hash_of(&value).unwrap_or_else(|| keys.hash(&value));
        let sketch = match state {
            Some(sketch) => sketch,
            None => {
                let bits = if has_error { bits_of(row.number(1))? } else { DEFAULT_BITS };
                state.insert(Box::new(HyperLogLog::new(bits)))
            }
        };
        sketch.add(hash);
        Ok(())
    }))
}

/// Presto's hash of a value in sketches, the lower half of MurmurHash3 of its
/// [bytes](hashed_bytes). `None` of other values.
pub(super) fn hash_of(value: &Value) -> Option<u64> {
    let hash = murmur3_x64_128(&hashed_bytes(value)?);
    hash.first_chunk::<8>().map(|it| u64::from_le_bytes(*it))
}

/// The bytes of a value that Presto hashes: those of a text, or the 8 bytes of a number, where -0.0
/// is 0.0. `None` of other values.
pub(super) fn hashed_bytes(value: &Value) -> Option<Cow<'_, [u8]>> {
    let number = match value {
        Value::Varchar(text) => return Some(text.as_bytes().into()),
        Value::Varbinary(bytes) => return Some(Cow::Borrowed(bytes)),
        Value::Boolean(it) => i64::from(*it),
        Value::TinyInt(it) => i64::from(*it),
        Value::SmallInt(it) => i64::from(*it),
        Value::Integer(it) | Value::Date(it) => i64::from(*it),
        Value::BigInt(it) => *it,
        Value::Time(it) | Value::Timestamp(it) => it.div_euclid(1_000),
        Value::Real(it) => {
            i64::from(if it.is_nan() { f32::NAN } else { it + 0.0 }.to_bits() as i32)
        }
        Value::Double(it) => if it.is_nan() { f64::NAN } else { it + 0.0 }.to_bits() as i64,
        _ => return None,
    };
    Some(number.to_le_bytes().to_vec().into())
}

/// The conversion of VARBINARY to `to`, if that is HYPERLOGLOG: bytes that are a sketch.
pub(crate) fn bind_bytes(to: &Type) -> Option<BoundScalar> {
    if *to != sketch() {
        return None;
    }
    let types = vec![Type::Varbinary];
    let cast = scalar::bound(&types.clone(), types, sketch(), |row| {
        let bytes = row.value(0);
        if let Some(bytes) = bytes_of(&bytes) {
            read(bytes)?;
        }
        Ok(bytes)
    })?;
    Some(BoundScalar { name: "cast".to_owned(), ..cast })
}

impl Sketch for HyperLogLog {
    fn read(bytes: &[u8]) -> Option<HyperLogLog> {
        HyperLogLog::from_bytes(bytes)
    }

    fn write(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn absorb(&mut self, other: &HyperLogLog) -> Result<()> {
        if self.merge(other) { Ok(()) } else { Err(other_buckets(self, other)) }
    }

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}
