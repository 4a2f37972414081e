//! Text columns as vectors of their types.

use crate::text_type::{
    TextFormats, TextType, TypeOrigin, parse_boolean, parse_double, parse_integer, parse_time,
};
use arrow_array::{Array, StringArray};
use volley_error::{Error, Result};
use volley_types::{Native, PhysicalType, Type, text};
use volley_vector::{BooleanBuffer, NullBuffer, StringBuilder, Vector};

/// A column that is read.
#[derive(Clone, Debug)]
pub(crate) struct TextField {
    pub name: String,
    pub data_type: Type,
    pub origin: TypeOrigin,
    pub formats: TextFormats,
}

/// A column of text.
pub(crate) struct Texts<'a> {
    text: &'a str,
    /// Where each value begins, and where the last one ends.
    offsets: &'a [i32],
    nulls: Option<NullBuffer>,
}

impl<'a> Texts<'a> {
    /// Values that stand one behind the other.
    ///
    /// # Errors
    ///
    /// Corruption: one of them is not UTF-8; a character may be split between two, and neither is
    /// UTF-8 then.
    pub fn new(text: &'a [u8], offsets: &'a [i32], nulls: Option<NullBuffer>) -> Result<Texts<'a>> {
        let all = str::from_utf8(text).ok();
        let is_split = |it: &&str| offsets.iter().any(|at| !it.is_char_boundary(*at as usize));
        let text = all.filter(|it| !is_split(it));
        let text = text.ok_or_else(|| Error::corruption("text that is not UTF-8"))?;
        Ok(Texts { text, offsets, nulls })
    }

    /// What the decoder of JSON made.
    ///
    /// # Errors
    ///
    /// As [`Texts::new`].
    pub fn of_array(array: &'a StringArray) -> Result<Texts<'a>> {
        Texts::new(array.value_data(), array.value_offsets(), array.nulls().cloned())
    }

    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|it| it.is_null(row))
    }

    /// The values themselves.
    pub fn strings(&self) -> Vector {
        let mut builder = StringBuilder::with_capacity(self.len());
        for row in 0..self.len() {
            builder.push(self.value(row).as_bytes());
        }
        Vector::strings(Type::Varchar, builder.finish(), self.nulls.clone())
    }

    fn value(&self, row: usize) -> &'a str {
        let bounds = self.offsets.get(row).zip(self.offsets.get(row + 1));
        let value = bounds.and_then(|(from, to)| self.text.get(*from as usize..*to as usize));
        value.unwrap_or_default()
    }
}

/// Whether columns of this type are parsed here; others are read as text, such as timestamps with a
/// zone, which is the session's where it is not written.
pub(crate) fn parses(data_type: &Type) -> bool {
    match TextType::of(data_type) {
        Some(TextType::TimestampTz) => false,
        Some(_) => true,
        None => matches!(data_type, Type::Real | Type::Decimal { .. }),
    }
}

/// A value that is not of its column's type.
#[derive(Debug)]
pub(crate) struct Misfit {
    pub row: usize,
    pub error: Error,
}

/// Parses a column, as VARCHAR if its type is not parsed here. Values that do not fit are NULL.
pub(crate) fn parse_column(texts: Texts<'_>, field: &TextField) -> Result<(Vector, Vec<Misfit>)> {
    let formats = &field.formats;
    let data_type = if parses(&field.data_type) { &field.data_type } else { &Type::Varchar };
    let origin = field.origin;
    let mut column = Column { texts, data_type, misfits: Vec::new() };
    let vector = match (TextType::of(data_type), data_type) {
        (Some(TextType::Boolean), _) => {
            let values = column.parse(|it| parse_boolean(it).map(i8::from));
            let bits = BooleanBuffer::collect_bool(values.len(), |row| values.get(row) == Some(&1));
            Vector::boolean(bits, column.nulls())
        }
        (Some(TextType::BigInt), _) => column.native(parse_integer::<i64>),
        (Some(TextType::HugeInt), _) => column.native(parse_integer::<i128>),
        (Some(TextType::Double), _) => column.native(|it| parse_double(&formats.number(it)?)),
        (Some(TextType::Date), _) => column.native(|it| formats.date(it, origin)),
        (Some(TextType::Time), _) => column.native(|it| parse_time(it, origin)),
        (Some(TextType::Timestamp), _) => column.native(|it| formats.timestamp(it, origin)),
        (Some(TextType::Varchar), _) => column.texts.strings(),
        (None, Type::Real) => column.native(|it| text::parse_f32(&formats.number(it)?)),
        (None, Type::Decimal { precision, scale }) => {
            column.decimals(*precision, *scale, formats)?
        }
        (Some(TextType::TimestampTz) | None, other) => {
            return Err(Error::unsupported(format!("{other} in a text file")));
        }
    };
    Ok((vector, column.misfits))
}

struct Column<'a> {
    texts: Texts<'a>,
    data_type: &'a Type,
    misfits: Vec<Misfit>,
}

impl Column<'_> {
    fn parse<T: Default>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let mut values = Vec::with_capacity(self.texts.len());
        for row in 0..self.texts.len() {
            let parsed = if self.texts.is_null(row) {
                None
            } else {
                let text = self.texts.value(row);
                let parsed = parse(text);
                if parsed.is_none() {
                    let message = format!("not a {}: '{}'", self.data_type, excerpt(text));
                    self.misfits.push(Misfit { row, error: Error::corruption(message) });
                }
                parsed
            };
            values.push(parsed.unwrap_or_default());
        }
        values
    }

    fn nulls(&self) -> Option<NullBuffer> {
        self.texts.nulls.clone()
    }

    fn native<T: Native + Default>(&mut self, parse: impl Fn(&str) -> Option<T>) -> Vector {
        let values = self.parse(parse);
        Vector::native::<T>(self.data_type.clone(), values, self.nulls())
    }

    fn decimals(&mut self, precision: u8, scale: u8, formats: &TextFormats) -> Result<Vector> {
        let limit = 10_i128.checked_pow(precision.into()).map_or(u128::MAX, i128::unsigned_abs);
        let values = self.parse(|it| {
            let unscaled = text::parse_decimal(&formats.number(it)?, scale)?;
            Some(unscaled).filter(|it| it.unsigned_abs() < limit)
        });
        let nulls = self.nulls();
        match self.data_type.physical() {
            PhysicalType::I64 => {
                // They have at most 18 digits.
                let values: Vec<i64> = values.into_iter().map(|it| it as i64).collect();
                Ok(Vector::native::<i64>(self.data_type.clone(), values, nulls))
            }
            PhysicalType::I128 => Ok(Vector::native::<i128>(self.data_type.clone(), values, nulls)),
            _ => Err(Error::internal("decimals of another width")),
        }
    }
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}
