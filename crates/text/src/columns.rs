//! Text columns as vectors of their types.

use crate::text_type::{
    TextType, parse_boolean, parse_date, parse_double, parse_integer, parse_time, parse_timestamp,
};
use arrow_array::{Array, StringArray};
use volley_error::{Error, Result};
use volley_types::{Native, Type};
use volley_vector::{BooleanBuffer, NullBuffer, StringBuilder, Vector};

/// Parses a column. Empty text is null, with `empty_is_null`.
pub(crate) fn parse_column(
    texts: &StringArray,
    data_type: &Type,
    empty_is_null: bool,
) -> Result<Vector> {
    check_text(texts)?;
    let valid = |row: usize| texts.is_valid(row) && !(empty_is_null && texts.value(row).is_empty());
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(texts.len(), valid));
    let nulls = Some(nulls).filter(|it| it.null_count() > 0);
    let column = Column { texts, nulls, data_type };
    match TextType::of(data_type) {
        Some(TextType::Boolean) => {
            let values = column.parse(|it| parse_boolean(it).map(i8::from))?;
            let bits = BooleanBuffer::collect_bool(values.len(), |row| values.get(row) == Some(&1));
            Ok(Vector::boolean(bits, column.nulls))
        }
        Some(TextType::BigInt) => column.native(parse_integer::<i64>),
        Some(TextType::HugeInt) => column.native(parse_integer::<i128>),
        Some(TextType::Double) => column.native(parse_double),
        Some(TextType::Date) => column.native(parse_date),
        Some(TextType::Time) => column.native(parse_time),
        Some(TextType::Timestamp) => column.native(parse_timestamp),
        Some(TextType::Varchar) => Ok(column.strings()),
        None => Err(Error::unsupported(format!("{data_type} in a text file"))),
    }
}

/// The decoder of CSV looks at the text of all fields together: a character may be split between
/// two of them, and neither is UTF-8 then.
fn check_text(texts: &StringArray) -> Result<()> {
    let offsets = texts.value_offsets();
    let all = str::from_utf8(texts.value_data()).ok();
    match all.filter(|it| offsets.iter().all(|at| it.is_char_boundary(*at as usize))) {
        Some(_) => Ok(()),
        None => Err(Error::corruption("text that is not UTF-8")),
    }
}

struct Column<'a> {
    texts: &'a StringArray,
    nulls: Option<NullBuffer>,
    data_type: &'a Type,
}

impl Column<'_> {
    fn parse<T: Default>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>> {
        let value = |row: usize| {
            if self.nulls.as_ref().is_some_and(|it| it.is_null(row)) {
                return Ok(T::default());
            }
            let text = self.texts.value(row);
            parse(text).ok_or_else(|| {
                Error::corruption(format!("not a {}: '{}'", self.data_type, excerpt(text)))
            })
        };
        (0..self.texts.len()).map(value).collect()
    }

    fn native<T: Native + Default>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<Vector> {
        let values = self.parse(parse)?;
        Ok(Vector::native::<T>(self.data_type.clone(), values, self.nulls.clone()))
    }

    fn strings(&self) -> Vector {
        let mut builder = StringBuilder::with_capacity(self.texts.len());
        for row in 0..self.texts.len() {
            builder.push(self.texts.value(row).as_bytes());
        }
        Vector::strings(Type::Varchar, builder.finish(), self.nulls.clone())
    }
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}
