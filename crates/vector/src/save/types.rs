//! Types.

use super::{Reader, Writer, corruption};
use volley_error::{Error, Result};
use volley_types::{DECIMAL_PRECISION_MAX, FIXED_ARRAY_SIZE_MAX, Field, Type, custom::Collation};

/// The types without parts, by number.
const PLAIN: [Type; 15] = [
    Type::Unknown,
    Type::Boolean,
    Type::TinyInt,
    Type::SmallInt,
    Type::Integer,
    Type::BigInt,
    Type::HugeInt,
    Type::Real,
    Type::Double,
    Type::Varchar,
    Type::Varbinary,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::Interval,
];

const DECIMAL: u8 = 32;
const ARRAY: u8 = 33;
const FIXED_ARRAY: u8 = 34;
const MAP: u8 = 35;
const ROW: u8 = 36;
const CUSTOM: u8 = 37;

impl Writer {
    /// A type; a custom one by its name.
    ///
    /// # Errors
    ///
    /// Unsupported, for opaque types; too many levels.
    pub fn data_type(&mut self, data_type: &Type) -> Result<()> {
        self.nested(|it| it.parts_of_type(data_type))
    }

    fn parts_of_type(&mut self, data_type: &Type) -> Result<()> {
        match data_type {
            Type::Decimal { precision, scale } => self.raw(&[DECIMAL, *precision, *scale]),
            Type::Array(element) => {
                self.byte(ARRAY);
                self.data_type(element)?;
            }
            Type::FixedArray(array) => {
                self.byte(FIXED_ARRAY);
                self.number(array.1 as usize);
                self.data_type(&array.0)?;
            }
            Type::Map(entry) => {
                self.byte(MAP);
                self.data_type(&entry.0)?;
                self.data_type(&entry.1)?;
            }
            Type::Row(fields) => {
                self.byte(ROW);
                self.number(fields.len());
                for field in fields.iter() {
                    self.text(&field.name);
                    self.data_type(&field.data_type)?;
                }
            }
            Type::Custom(custom) => {
                self.byte(CUSTOM);
                self.text(custom.name());
            }
            Type::Opaque(opaque) => {
                let message = format!("values of the type {} cannot be saved", opaque.name());
                return Err(Error::unsupported(message));
            }
            plain => match PLAIN.iter().position(|it| it == plain) {
                Some(number) => self.byte(number as u8),
                None => return Err(Error::internal(format!("no number of the type {plain}"))),
            },
        }
        Ok(())
    }
}

impl Reader<'_> {
    /// A type.
    ///
    /// # Errors
    ///
    /// Corruption; invalid query, for a custom type that is not known.
    pub fn data_type(&mut self) -> Result<Type> {
        self.nested(|it| it.parts_of_type())
    }

    fn parts_of_type(&mut self) -> Result<Type> {
        Ok(match self.byte()? {
            DECIMAL => {
                let (precision, scale) = (self.byte()?, self.byte()?);
                if !(1..=DECIMAL_PRECISION_MAX).contains(&precision) || scale > precision {
                    return Err(corruption("DECIMAL of other digits"));
                }
                Type::Decimal { precision, scale }
            }
            ARRAY => Type::array(self.data_type()?),
            FIXED_ARRAY => {
                let size = u32::try_from(self.number()?).unwrap_or(0);
                if !(1..=FIXED_ARRAY_SIZE_MAX).contains(&size) {
                    return Err(corruption("ARRAY of another size"));
                }
                Type::fixed_array(self.data_type()?, size)
            }
            MAP => Type::map(self.data_type()?, self.data_type()?),
            ROW => {
                let count = self.count()?;
                let mut fields = Vec::new();
                for _ in 0..count {
                    let name = self.text()?.to_owned();
                    fields.push(Field::new(name, self.data_type()?));
                }
                Type::row(fields)
            }
            CUSTOM => {
                let text = self.text()?;
                if let Some(collation) = Collation::named(text) {
                    return Ok(collation);
                }
                let (name, parameters) = name_and_parameters(text);
                match self.types().make(name, &parameters) {
                    Some(Ok(made)) => made,
                    _ => return Err(Error::invalid_query(format!("no such type: {text}"))),
                }
            }
            plain => match PLAIN.get(usize::from(plain)) {
                Some(plain) => plain.clone(),
                None => return Err(corruption("unknown type")),
            },
        })
    }
}

/// `NAME(a, b)` in its parts.
fn name_and_parameters(text: &str) -> (&str, Vec<String>) {
    match text.strip_suffix(')').and_then(|it| it.split_once('(')) {
        Some((name, "")) => (name.trim_ascii(), Vec::new()),
        Some((name, parameters)) => {
            let mut is_quoted = false;
            let parts = parameters.split(|it| {
                is_quoted ^= it == '\'';
                it == ',' && !is_quoted
            });
            (name.trim_ascii(), parts.map(|it| it.trim_ascii().to_owned()).collect())
        }
        None => (text, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_part_no_parameters() {
        let check = |text: &str, name: &str, parameters: &[&str]| {
            let found = name_and_parameters(text);
            assert_eq!((found.0, found.1.as_slice()), (name, to_owned(parameters).as_slice()));
        };
        check("UUID", "UUID", &[]);
        check("VERSION(2, x)", "VERSION", &["2", "x"]);
        check("ENUM('a, b', 'it''s (c)')", "ENUM", &["'a, b'", "'it''s (c)'"]);
        check("ENUM()", "ENUM", &[]);
    }

    fn to_owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }
}
