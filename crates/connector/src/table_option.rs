//! Arguments of table functions that have a name.

use volley_error::{Error, Result, Span};
use volley_types::{Field, Type, Value};

/// An argument with a name: `name = value`. COPY has such options, too, whose values are texts.
#[derive(Clone, Debug, PartialEq)]
pub struct TableOption {
    /// In lower case.
    pub name: String,
    /// A literal.
    pub value: Value,
    /// The type of the value.
    pub data_type: Type,
    /// Where the name stands in the SQL text.
    pub name_span: Option<Span>,
    /// Where the value stands.
    pub span: Option<Span>,
}

impl TableOption {
    /// Whether it is on: TRUE, FALSE, 1, 0, or a text that says so.
    ///
    /// # Errors
    ///
    /// Invalid value, at the value's place; so do the others.
    pub fn boolean(&self) -> Result<bool> {
        let of_text = |it: &str| match it.to_ascii_lowercase().as_str() {
            "true" | "t" | "on" | "1" => Some(true),
            "false" | "f" | "off" | "0" => Some(false),
            _ => None,
        };
        let value = match &self.value {
            Value::Boolean(value) => Some(*value),
            Value::Varchar(text) => of_text(text),
            _ => self.integer().filter(|it| matches!(it, 0 | 1)).map(|it| it == 1),
        };
        value.ok_or_else(|| self.misfit("TRUE or FALSE"))
    }

    /// A text.
    ///
    /// # Errors
    ///
    /// As [`TableOption::boolean`].
    pub fn text(&self) -> Result<&str> {
        self.value.as_str().ok_or_else(|| self.misfit("a text"))
    }

    /// A text, or a list of texts.
    ///
    /// # Errors
    ///
    /// As [`TableOption::boolean`].
    pub fn texts(&self) -> Result<Vec<String>> {
        let wanted = "a text, or a list of texts";
        match &self.value {
            Value::Varchar(text) => Ok(vec![text.as_ref().to_owned()]),
            Value::Array(values) if !values.is_empty() => values
                .iter()
                .map(|it| it.as_str().map(str::to_owned).ok_or_else(|| self.misfit(wanted)))
                .collect(),
            _ => Err(self.misfit(wanted)),
        }
    }

    /// A single ASCII character, also written `\t`; none for an empty text.
    ///
    /// # Errors
    ///
    /// As [`TableOption::boolean`].
    pub fn byte(&self) -> Result<Option<u8>> {
        let text = match self.text()? {
            "\\t" => "\t",
            text => text,
        };
        match text.as_bytes() {
            [] => Ok(None),
            [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'\0') => Ok(Some(*byte)),
            _ => Err(self.misfit("one ASCII character")),
        }
    }

    /// A whole number from 0 on.
    ///
    /// # Errors
    ///
    /// As [`TableOption::boolean`].
    pub fn count(&self) -> Result<u64> {
        let number = match &self.value {
            Value::Varchar(text) => text.trim().parse().ok(),
            _ => self.integer().and_then(|it| u64::try_from(it).ok()),
        };
        number.ok_or_else(|| self.misfit("a whole number from 0 on"))
    }

    /// The value, if it is of a type of whole numbers.
    pub fn integer(&self) -> Option<i128> {
        let is_integer = matches!(
            self.data_type,
            Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt | Type::HugeInt
        );
        self.value.as_i128().filter(|_| is_integer)
    }

    /// The fields of a row: `{'name': value, ...}`.
    ///
    /// # Errors
    ///
    /// As [`TableOption::boolean`].
    pub fn fields(&self) -> Result<Vec<(&Field, &Value)>> {
        match (&self.value, &self.data_type) {
            (Value::Row(values), Type::Row(fields)) => {
                Ok(fields.iter().zip(values.iter()).collect())
            }
            _ => Err(self.misfit("a row such as {'name': 'TYPE'}")),
        }
    }

    /// The error that the value is not what is `wanted`.
    pub fn misfit(&self, wanted: &str) -> Error {
        let message = match self.value.is_null() {
            true => format!("option {} is {wanted}, not NULL", self.name),
            false => {
                let shown = self.value.display(&self.data_type).to_string();
                let shown: String = shown.chars().take(40).collect();
                format!("option {} is {wanted}, not {shown}", self.name)
            }
        };
        Error::invalid_value(message).span(self.span)
    }
}
