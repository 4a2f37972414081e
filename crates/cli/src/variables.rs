//! Values of parameters: `--var name=value` and `.var name value`.

use std::collections::BTreeMap;
use volley::{Error, Parameter, Result};

/// Values by lower-case name.
#[derive(Debug, Default)]
pub struct Variables(BTreeMap<String, (String, Parameter)>);

impl Variables {
    /// Adds `name=value`.
    ///
    /// # Errors
    ///
    /// Invalid value: no `=`, or not a name.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let Some((name, value)) = text.split_once('=') else {
            let error = Error::invalid_value(format!("not a variable: '{text}'"));
            return Err(error.hint("write --var name=value"));
        };
        self.set(name.trim(), value)
    }

    /// Gives a name a value.
    ///
    /// # Errors
    ///
    /// Invalid value: not a name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let is_start = |it: char| it.is_alphabetic() || it == '_';
        let is_name = name.chars().next().is_some_and(is_start)
            && name.chars().all(|it| it.is_alphanumeric() || it == '_');
        if !is_name {
            let error = Error::invalid_value(format!("not a name of a variable: '{name}'"));
            return Err(error.hint("a name has letters, digits and _, and begins with a letter"));
        }
        self.0.insert(name.to_lowercase(), (value.to_owned(), parameter(value)));
        Ok(())
    }

    /// Names and values as they were written, in order of the names.
    pub fn list(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.0.as_str()))
    }

    /// The values of the parameters of a statement that have one.
    pub fn of<'n>(&self, parameters: &'n [String]) -> Vec<(&'n str, Parameter)> {
        let value = |name: &'n String| {
            let found = self.0.get(&name.to_lowercase())?;
            Some((name.as_str(), found.1.clone()))
        };
        parameters.iter().filter_map(value).collect()
    }
}

/// A number, a truth value, NULL, or else a text; a text in quotes is one whatever is in them.
fn parameter(text: &str) -> Parameter {
    let inner = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
    if let Some(inner) = inner {
        return Parameter::from(inner.replace("''", "'"));
    }
    if let Ok(number) = text.parse::<i64>() {
        return Parameter::from(number);
    }
    let is_number =
        text.starts_with(|it: char| it.is_ascii_digit() || ['-', '+', '.'].contains(&it));
    if is_number && let Ok(number) = text.parse::<f64>() {
        return Parameter::from(number);
    }
    match text.to_ascii_lowercase().as_str() {
        "true" => Parameter::from(true),
        "false" => Parameter::from(false),
        "null" => Parameter::null(),
        _ => Parameter::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley::{Type, Value};

    #[test]
    fn values_have_the_type_that_they_look_like() {
        for (text, value, data_type) in [
            ("42", Value::BigInt(42), Type::BigInt),
            ("-1.5", Value::Double(-1.5), Type::Double),
            ("1e3", Value::Double(1000.0), Type::Double),
            ("True", Value::Boolean(true), Type::Boolean),
            ("null", Value::Null, Type::Unknown),
            ("nan", Value::text("nan"), Type::Varchar),
            ("2020-01-02", Value::text("2020-01-02"), Type::Varchar),
            ("'42'", Value::text("42"), Type::Varchar),
            ("'it''s'", Value::text("it's"), Type::Varchar),
            ("", Value::text(""), Type::Varchar),
        ] {
            assert_eq!(parameter(text), Parameter::new(value, data_type), "{text}");
        }
    }

    #[test]
    fn names_are_found_in_any_case_and_checked() {
        let mut variables = Variables::default();
        variables.add("Day=1").unwrap();
        let parameters = ["DAY".to_owned(), "other".to_owned()];
        assert_eq!(variables.of(&parameters).len(), 1);
        for wrong in ["day", "=1", "1day=1", "a b=1"] {
            assert!(variables.add(wrong).is_err(), "{wrong}");
        }
    }
}
