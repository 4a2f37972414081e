//! Shapes of JSON values: types, and fields in order of appearance.

use crate::{json_sample::ShapeCharge, text_type::TextType};
use arrow_schema::{DataType, Field};
use indexmap::IndexMap;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::{fmt, sync::Arc};
use volley_error::{Error, Result};

/// What values of one place have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Only nulls so far.
    Unknown,
    Boolean,
    BigInt,
    Double,
    /// Text that is always of a type: VARCHAR, DATE, TIME, TIMESTAMP with or without a zone.
    Text(TextType),
    Array(Box<Shape>),
    Object(Fields),
}

/// By name, in the order in which they appear.
type Fields = IndexMap<String, Shape>;

/// What a field takes besides its name: its entry, its place among the hashes, and allocations.
const FIELD_BYTES: usize = size_of::<(u64, String, Shape)>() + 48;

impl Shape {
    /// What both have in common. Different scalars are text.
    ///
    /// # Errors
    ///
    /// Unsupported: a list or an object next to something else.
    pub fn merge(self, other: Shape) -> Result<Shape> {
        Ok(match (self, other) {
            (Shape::Unknown, other) | (other, Shape::Unknown) => other,
            (Shape::Array(left), Shape::Array(right)) => {
                Shape::Array(Box::new(left.merge(*right)?))
            }
            (Shape::Object(left), Shape::Object(right)) => {
                Shape::Object(merge_fields(left, right)?)
            }
            (left, right) if left == right => left,
            (Shape::BigInt, Shape::Double) | (Shape::Double, Shape::BigInt) => Shape::Double,
            (left, right) if left.is_scalar() && right.is_scalar() => {
                Shape::Text(TextType::Varchar)
            }
            _ => {
                return Err(Error::unsupported(
                    "JSON field that is a list or an object in some lines and not in others",
                ));
            }
        })
    }

    fn is_scalar(&self) -> bool {
        !matches!(self, Shape::Array(_) | Shape::Object(_))
    }

    /// The type to read it as; what is unknown is text.
    pub fn data_type(&self) -> DataType {
        match self {
            Shape::Boolean => DataType::Boolean,
            Shape::BigInt => DataType::Int64,
            Shape::Double => DataType::Float64,
            Shape::Unknown | Shape::Text(_) => DataType::Utf8,
            Shape::Array(element) => {
                DataType::List(Arc::new(Field::new("item", element.data_type(), true)))
            }
            Shape::Object(fields) => DataType::Struct(
                fields.iter().map(|(name, it)| Field::new(name, it.data_type(), true)).collect(),
            ),
        }
    }
}

/// The fields of both, those of `left` first.
fn merge_fields(mut left: Fields, right: Fields) -> Result<Fields> {
    for (name, shape) in right {
        add_field(&mut left, name, shape)?;
    }
    Ok(left)
}

/// Adds a field, or what it has in common with the one of its name.
fn add_field(fields: &mut Fields, name: String, shape: Shape) -> Result<()> {
    let Some(old) = fields.get_mut(&name) else {
        fields.insert(name, shape);
        return Ok(());
    };
    let before = std::mem::replace(old, Shape::Unknown);
    *old = before.merge(shape).map_err(|it| it.at("field", name))?;
    Ok(())
}

/// Reads the shape of a value, and charges it.
#[derive(Clone, Copy)]
pub(crate) struct ShapeSeed<'a>(pub &'a ShapeCharge);

impl<'de> DeserializeSeed<'de> for ShapeSeed<'_> {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ShapeSeed<'_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Unknown)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Boolean)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::BigInt)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(if i64::try_from(value).is_ok() { Shape::BigInt } else { Shape::Double })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Double)
    }

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        // Numbers in quotes stay text.
        let candidates =
            [TextType::Date, TextType::Time, TextType::Timestamp, TextType::TimestampTz];
        let found = candidates.into_iter().find(|it| it.accepts(text));
        Ok(Shape::Text(found.unwrap_or(TextType::Varchar)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Shape, A::Error> {
        let mut shape = Shape::Unknown;
        while let Some(element) = elements.next_element_seed(self)? {
            shape = shape.merge(element).map_err(serde::de::Error::custom)?;
        }
        Ok(Shape::Array(Box::new(shape)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
        let mut fields = Fields::new();
        while let Some(name) = entries.next_key::<String>()? {
            self.0.grow(FIELD_BYTES + name.len()).map_err(serde::de::Error::custom)?;
            let shape = entries.next_value_seed(self)?;
            add_field(&mut fields, name, shape).map_err(serde::de::Error::custom)?;
        }
        Ok(Shape::Object(fields))
    }
}
