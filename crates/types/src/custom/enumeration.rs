//! ENUM: one text of a list, ordered by position in the list.

use super::{Custom, CustomType, Exchange};
use crate::{Type, Value};
use std::collections::HashMap;

/// The type ENUM('a', 'b', ...). Stored as the position of the text in the list, counted from 0, in
/// the smallest integer type that has all of them.
#[derive(Debug)]
pub struct Enumeration {
    name: String,
    labels: Vec<String>,
    positions: HashMap<String, i32>,
    storage: Type,
}

impl Enumeration {
    /// The type of these texts; `Err` says what is wrong with them.
    pub fn data_type(labels: Vec<String>) -> Result<Type, String> {
        let mut positions = HashMap::with_capacity(labels.len());
        let mut name = String::from("ENUM(");
        for (index, label) in labels.iter().enumerate() {
            let position = i32::try_from(index).map_err(|_| "an ENUM with too many values")?;
            if positions.insert(label.clone(), position).is_some() {
                return Err(format!("two values of an ENUM are '{label}'"));
            }
            let comma = if index == 0 { "" } else { ", " };
            name.extend([comma, "'", &label.replace('\'', "''"), "'"]);
        }
        name.push(')');
        let storage = match labels.len() {
            0..=0x80 => Type::TinyInt,
            0x81..=0x8000 => Type::SmallInt,
            _ => Type::Integer,
        };
        Ok(Type::Custom(Custom::new(Enumeration { name, labels, positions, storage })))
    }
}

impl CustomType for Enumeration {
    fn name(&self) -> &str {
        &self.name
    }

    fn storage(&self) -> &Type {
        &self.storage
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let position = stored.as_i128().and_then(|it| usize::try_from(it).ok());
        out.push_str(position.and_then(|it| self.labels.get(it)).map_or("", String::as_str));
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let position = *self.positions.get(text)?;
        match self.storage {
            Type::TinyInt => i8::try_from(position).ok().map(Value::TinyInt),
            Type::SmallInt => i16::try_from(position).ok().map(Value::SmallInt),
            _ => Some(Value::Integer(position)),
        }
    }

    fn exchange(&self) -> Exchange {
        Exchange::Text
    }

    fn labels(&self) -> Option<&[String]> {
        Some(&self.labels)
    }
}
