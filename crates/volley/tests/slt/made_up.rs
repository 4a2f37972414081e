//! Custom types whose order differs from that of their stored values.

use volley::{Registry, Type, Value};
use volley_types::{ComparisonKey, CustomOrder, CustomType};

/// Adds CASELESS, TAGGED, EQUATABLE and INCOMPARABLE.
pub fn register(registry: &mut Registry) {
    let types = registry.types_mut();
    types.add_plain(Caseless);
    types.add_plain(Tagged);
    types.add_plain(Unordered("EQUATABLE", CustomOrder::Equality));
    types.add_plain(Unordered("INCOMPARABLE", CustomOrder::None));
}

/// Text that is compared without regard to case.
#[derive(Debug)]
struct Caseless;

impl CustomType for Caseless {
    fn name(&self) -> &str {
        "CASELESS"
    }

    fn storage(&self) -> &Type {
        &Type::Varchar
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(stored.as_str().unwrap_or_default());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Some(Value::text(text))
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }
}

impl ComparisonKey for Caseless {
    fn data_type(&self) -> &Type {
        &Type::Varchar
    }

    fn key(&self, stored: &Value) -> Value {
        Value::text(stored.as_str().unwrap_or_default().to_lowercase())
    }
}

/// `number:tag`, a tag from 0 to 9. The greatest number comes first; tags do not count.
#[derive(Debug)]
struct Tagged;

impl CustomType for Tagged {
    fn name(&self) -> &str {
        "TAGGED"
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::BigInt(stored) = stored {
            out.push_str(&format!("{}:{}", stored.div_euclid(10), stored.rem_euclid(10)));
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let (number, tag) = text.split_once(':')?;
        let (number, tag) = (number.parse::<i32>().ok()?, tag.parse::<u8>().ok()?);
        (tag < 10).then(|| Value::BigInt(i64::from(number) * 10 + i64::from(tag)))
    }

    fn key(&self) -> Option<&dyn ComparisonKey> {
        Some(self)
    }
}

impl ComparisonKey for Tagged {
    fn data_type(&self) -> &Type {
        &Type::BigInt
    }

    fn key(&self, stored: &Value) -> Value {
        match stored {
            Value::BigInt(stored) => Value::BigInt(-stored.div_euclid(10)),
            _ => Value::Null,
        }
    }

    fn integer_keys(&self, stored: &[i64], keys: &mut [i64]) -> bool {
        keys.iter_mut().zip(stored).for_each(|(key, stored)| *key = -stored.div_euclid(10));
        true
    }
}

/// Text with fewer comparisons than text has.
#[derive(Debug)]
struct Unordered(&'static str, CustomOrder);

impl CustomType for Unordered {
    fn name(&self) -> &str {
        self.0
    }

    fn storage(&self) -> &Type {
        &Type::Varchar
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(stored.as_str().unwrap_or_default());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Some(Value::text(text))
    }

    fn order(&self) -> CustomOrder {
        self.1
    }
}
