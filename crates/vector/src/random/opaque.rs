//! Random objects.

use super::Generator;
use std::cmp::Ordering;
use volley_types::{Opaque, OpaqueType, Type, Value};

/// The type that random objects are of: whole numbers, called `THING`, in reverse order.
#[derive(Debug)]
struct Thing;

impl OpaqueType for Thing {
    type Object = i64;

    fn name(&self) -> &str {
        "THING"
    }

    fn compare(&self, left: &i64, right: &i64) -> Ordering {
        right.cmp(left)
    }

    fn key(&self, object: &i64, key: &mut Vec<u8>) {
        key.extend_from_slice(&object.to_le_bytes());
    }

    fn push(&self, out: &mut String, object: &i64) {
        out.push_str(&format!("thing {object}"));
    }
}

/// The type of the random objects.
pub fn opaque_type() -> Opaque {
    Opaque::new(Thing)
}

impl Generator {
    /// An object of [`opaque_type`]; NULL of another type, whose objects nobody else can make.
    pub(super) fn object(&mut self, data_type: &Type) -> Value {
        let opaque = opaque_type();
        if *data_type != Type::Opaque(opaque.clone()) {
            return Value::Null;
        }
        opaque.value(self.below(9) as i64)
    }
}
