//! JSON: text that is one JSON value (RFC 8259), stored as it was written.

use super::{Custom, CustomType, Exchange};
use crate::{Type, Value};
use serde::de::IgnoredAny;

/// The type JSON. Stored as VARCHAR; values are equal when their texts are.
#[derive(Debug)]
pub struct Json;

impl Json {
    /// The type.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(Json))
    }

    /// Whether a text is one JSON value.
    pub fn is_valid(text: &str) -> bool {
        serde_json::from_str::<IgnoredAny>(text).is_ok()
    }
}

impl CustomType for Json {
    fn name(&self) -> &str {
        "JSON"
    }

    fn storage(&self) -> &Type {
        &Type::Varchar
    }

    fn push(&self, out: &mut String, stored: &Value) {
        out.push_str(stored.as_str().unwrap_or_default());
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Json::is_valid(text).then(|| Value::text(text))
    }

    fn exchange(&self) -> Exchange {
        Exchange::Json
    }

    fn is_storage(&self) -> bool {
        true
    }
}
