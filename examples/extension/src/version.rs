//! A type: versions such as `1.10.2`, and a function of them.

use volley::{
    Type, Value,
    custom::{Custom, CustomType},
    function::{
        BindScalar, FunctionDoc, ScalarTraits,
        simple::{self, BigInt, Pattern, Physical},
    },
};

/// Bits of each of the last two parts.
const PART_BITS: u32 = 20;

/// `VERSION`: three numbers in one BIGINT, the first one in the highest bits. Stored values
/// therefore compare and hash as versions do. Types with a different order define a key, see
/// [`CustomType::key`].
#[derive(Debug)]
pub struct Version;

impl CustomType for Version {
    fn name(&self) -> &str {
        "VERSION"
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    /// A value as text: for CAST to VARCHAR and for printing.
    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::BigInt(stored) = stored {
            let part = |index: u32| stored >> (index * PART_BITS) & ((1 << PART_BITS) - 1);
            out.push_str(&format!("{}.{}.{}", major(*stored), part(1), part(0)));
        }
    }

    /// A text as value, for CAST from VARCHAR; `None` is an error, or null in TRY_CAST.
    fn parse(&self, text: &str) -> Option<Value> {
        let mut parts = text.trim().split('.').map(|it| it.parse::<i64>().ok());
        let mut stored = 0;
        for _ in 0..3 {
            let part = parts.next()??;
            if !(0..1 << PART_BITS).contains(&part) {
                return None;
            }
            stored = stored << PART_BITS | part;
        }
        parts.next().is_none().then_some(Value::BigInt(stored))
    }
}

fn major(stored: i64) -> i64 {
    stored >> (2 * PART_BITS)
}

/// `major(VERSION) -> BIGINT`. No marker exists for our type: `Physical` reads the stored values,
/// and `bind` receives the types.
pub fn bind_major() -> BindScalar {
    let version = Pattern::Exact(Type::Custom(Custom::new(Version)));
    let function = simple::function1::<Physical<i64>, BigInt, _>(major);
    let result = Pattern::Exact(Type::BigInt);
    simple::bind(vec![version], result, ScalarTraits::INFALLIBLE, function)
}

/// What `DESCRIBE FUNCTION major` shows.
pub fn major_doc() -> FunctionDoc {
    FunctionDoc::new(
        "major(version) -> bigint",
        "The first part of a version.",
        "version",
        &[("major('2.1.0'::VERSION)", "2")],
    )
}
