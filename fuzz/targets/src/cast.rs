//! Values as text.

use crate::REGISTRY;
use std::sync::{Arc, LazyLock};
use volley_expression::{Expr, ExprSet};
use volley_function::QueryConstants;
use volley_types::{
    Field, Type, Value,
    custom::{Json, TimestampTz, Uuid},
};

static TYPES: LazyLock<Vec<Type>> = LazyLock::new(|| {
    let decimal = |precision, scale| Type::Decimal { precision, scale };
    let row = Type::row(vec![Field::new("a", Type::Date), Field::new("b", Type::Varchar)]);
    vec![
        Type::Boolean,
        Type::TinyInt,
        Type::BigInt,
        Type::HugeInt,
        decimal(9, 2),
        decimal(38, 10),
        Type::Real,
        Type::Double,
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::Interval,
        Type::Varbinary,
        Json::data_type(),
        TimestampTz::data_type(),
        Uuid::data_type(),
        Type::array(Type::Varchar),
        Type::array(Type::array(Type::Interval)),
        Type::fixed_array(Type::Double, 2),
        Type::map(Type::Varchar, Type::array(row.clone())),
        row,
    ]
});

/// Casts a text to every type. What becomes a value is the same value after it was a text.
pub fn cast(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for data_type in &*TYPES {
        let Some(value) = fold(Value::text(text), &Type::Varchar, data_type) else { continue };
        let Some(shown) = fold(value.clone(), data_type, &Type::Varchar) else { continue };
        let again = fold(shown.clone(), &Type::Varchar, data_type);
        // Values are compared as texts, since NaN is not equal to itself as a Rust number.
        let again = again.and_then(|it| fold(it, data_type, &Type::Varchar));
        assert!(
            again.as_ref() == Some(&shown),
            "{text:?} is {value:?}, which is {shown:?}, which is {again:?} as {data_type}"
        );
    }
}

fn fold(value: Value, from: &Type, to: &Type) -> Option<Value> {
    let expr = Expr::constant(value, from.clone()).cast(to.clone());
    ExprSet::fold(&expr, &REGISTRY, &Arc::new(QueryConstants::default())).ok().flatten()
}
