//! A map with values as keys, small for few entries.
//!
//! Keys are equal as SQL says: NaN equals itself, `-0.0` is `0.0`, nulls are equal, custom types as
//! their keys are.

use super::{compact_map::CompactMap, compare_values, hash_bytes, mix, value_bytes};
use std::cmp::Ordering;
use volley_types::{Type, Value};

/// How values of a type become what they are compared by.
#[derive(Clone, Debug)]
pub struct Keys(Option<Type>);

impl Keys {
    /// Of values of this type.
    pub fn of(data_type: &Type) -> Keys {
        Keys(data_type.key_type().map(|_| data_type.clone()))
    }

    /// The order of two values.
    pub fn compare(&self, left: &Value, right: &Value) -> Ordering {
        match &self.0 {
            None => compare_values(left, right),
            Some(data_type) => compare_values(&data_type.key_of(left), &data_type.key_of(right)),
        }
    }

    /// A hash of the value: that of equal ones is the same, in every release, since sketches keep
    /// hashes.
    pub fn hash(&self, value: &Value) -> u64 {
        match &self.0 {
            None => hash_of(value),
            Some(data_type) => hash_of(&data_type.key_of(value)),
        }
    }
}

/// A map from values to `V`s.
#[derive(Clone)]
pub struct ValueMap<V>(CompactMap<Value, V>);

impl<V> Default for ValueMap<V> {
    fn default() -> ValueMap<V> {
        ValueMap(CompactMap::default())
    }
}

impl<V> ValueMap<V> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.entries().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.entries().is_empty()
    }

    /// The entries in the order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &V)> {
        self.0.entries().iter().map(|it| (&it.0, &it.1))
    }

    /// The entries in the order of their keys, null last.
    pub fn sorted(&self, keys: &Keys) -> Vec<(&Value, &V)> {
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort_by(|left, right| keys.compare(left.0, right.0));
        sorted
    }

    /// The value of `key`, which is added with what `new` makes when it is not there.
    pub fn entry(&mut self, keys: &Keys, key: Value, new: impl FnOnce() -> V) -> &mut V {
        let position = self.find(keys, &key).unwrap_or_else(|| {
            let bytes = value_bytes(&key);
            self.0.push(key, bytes, new(), |it| keys.hash(it))
        });
        self.0.value_mut(position)
    }

    /// The value of `key`, if there is one.
    pub fn get(&self, keys: &Keys, key: &Value) -> Option<&V> {
        self.find(keys, key).map(|it| &self.0.entries()[it].1)
    }

    /// Removes all entries, and gives them.
    pub fn take(&mut self) -> Vec<(Value, V)> {
        std::mem::take(self).0.into_entries().collect()
    }

    /// Bytes on the heap, without those of the `V`s.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn find(&self, keys: &Keys, key: &Value) -> Option<usize> {
        self.0.find(|| keys.hash(key), |it| keys.compare(it, key).is_eq())
    }
}

/// A hash of a value that is compared as it is stored.
fn hash_of(value: &Value) -> u64 {
    fn float(value: f64) -> u64 {
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        mix(value.to_bits())
    }
    match value {
        Value::Null => 1,
        Value::Boolean(value) => mix(u64::from(*value)),
        Value::Real(value) => float((*value).into()),
        Value::Double(value) => float(*value),
        Value::Varchar(text) => hash_bytes(text.as_bytes()),
        Value::Varbinary(bytes) => hash_bytes(bytes),
        Value::Interval(it) => mix(volley_vector::interval_nanos(*it) as u64),
        Value::Array(values) | Value::Row(values) => {
            values.iter().fold(2, |hash, it| mix(hash ^ hash_of(it)))
        }
        Value::Map(entries) => {
            entries.iter().fold(3, |hash, it| mix(mix(hash ^ hash_of(&it.0)) ^ hash_of(&it.1)))
        }
        Value::Object(object) => {
            let mut key = Vec::new();
            object.push_key(&mut key);
            hash_bytes(&key)
        }
        integer => integer.as_i128().map_or(0, |it| mix(it as u64 ^ mix((it >> 64) as u64))),
    }
}
