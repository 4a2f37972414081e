//! Comparison keys of custom types whose stored values do not compare as the type does.
//!
//! A type's [`ComparisonKey`] maps stored values to values of a plain type. All operations that
//! compare, hash, group, join or sort use the keys. A nested type has keys if one of its element
//! types has.

use crate::{Field, Type, Value};

/// The order and equality of a custom type.
///
/// Values are equal exactly when their keys are, and in the order of their keys. Stored values that
/// are the same must have the same key.
pub trait ComparisonKey {
    /// The type of the keys: one without parts, no custom one.
    fn data_type(&self) -> &Type;

    /// The key of a stored value that is not null; not null either.
    fn key(&self, stored: &Value) -> Value;

    /// Writes the keys of many stored values, for types whose storage and keys are laid out as
    /// 64-bit integers; false if they are not, or if it would not be faster.
    fn integer_keys(&self, _stored: &[i64], _keys: &mut [i64]) -> bool {
        false
    }
}

impl Type {
    /// The type of the keys that values are compared by; `None` when they are compared as they are
    /// stored. Of a nested type, the same type with the keys' types for its parts.
    pub fn key_type(&self) -> Option<Type> {
        match self {
            Type::Custom(custom) => custom.key().map(|it| it.data_type().clone()),
            Type::Array(element) => element.key_type().map(Type::array),
            Type::FixedArray(array) => array.0.key_type().map(|it| Type::fixed_array(it, array.1)),
            Type::Map(entry) => {
                let (key, value) = (entry.0.key_type(), entry.1.key_type());
                if key.is_none() && value.is_none() {
                    return None;
                }
                let or = |key: Option<Type>, plain: &Type| key.unwrap_or_else(|| plain.clone());
                Some(Type::map(or(key, &entry.0), or(value, &entry.1)))
            }
            Type::Row(fields) => {
                let keys: Vec<Option<Type>> =
                    fields.iter().map(|it| it.data_type.key_type()).collect();
                if keys.iter().all(Option::is_none) {
                    return None;
                }
                let keyed = fields.iter().zip(keys).map(|(field, key)| {
                    let plain = || field.data_type.clone();
                    Field::new(field.name.clone(), key.unwrap_or_else(plain))
                });
                Some(Type::row(keyed))
            }
            _ => None,
        }
    }

    /// The key that `value`, one of this type, is compared by: of [`Type::key_type`], or the value
    /// itself when there is none.
    pub fn key_of(&self, value: &Value) -> Value {
        match (self, value) {
            (_, Value::Null) => Value::Null,
            (Type::Custom(custom), _) => {
                custom.key().map_or_else(|| value.clone(), |it| it.key(value))
            }
            (Type::Array(element), Value::Array(elements)) => {
                Value::Array(elements.iter().map(|it| element.key_of(it)).collect())
            }
            (Type::FixedArray(array), Value::Array(elements)) => {
                Value::Array(elements.iter().map(|it| array.0.key_of(it)).collect())
            }
            (Type::Map(types), Value::Map(entries)) => {
                let entry = |it: &(Value, Value)| (types.0.key_of(&it.0), types.1.key_of(&it.1));
                Value::Map(entries.iter().map(entry).collect())
            }
            (Type::Row(fields), Value::Row(values)) => {
                let keys = fields.iter().zip(values.iter());
                Value::Row(keys.map(|(field, it)| field.data_type.key_of(it)).collect())
            }
            _ => value.clone(),
        }
    }

    /// The custom or opaque type, this one or a nested one, that lacks the comparisons `wanted`.
    pub fn lacks_order(&self, wanted: super::CustomOrder) -> Option<&Type> {
        match self {
            Type::Custom(custom) => (custom.order() < wanted).then_some(self),
            Type::Opaque(opaque) => (opaque.order() < wanted).then_some(self),
            Type::Array(element) => element.lacks_order(wanted),
            Type::FixedArray(array) => array.0.lacks_order(wanted),
            Type::Map(entry) => entry.0.lacks_order(wanted).or_else(|| entry.1.lacks_order(wanted)),
            Type::Row(fields) => fields.iter().find_map(|it| it.data_type.lacks_order(wanted)),
            _ => None,
        }
    }
}
