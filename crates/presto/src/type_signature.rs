//! Presto's type signatures, such as `map(varchar(10),array(row(a bigint,"b c" double)))`.

#[cfg(test)]
mod tests;

use volley_error::{Error, Result};
use volley_function::Registry;
use volley_types::{
    DECIMAL_PRECISION_MAX, Field, Type,
    custom::{ZonedClock, ZonedTimestamp},
};

/// How deep a type may nest.
const DEPTH_MAX: usize = 64;

/// The type that a signature means here. VARCHAR and CHAR lose their length.
///
/// # Errors
///
/// Unsupported: a type that this worker does not have, named. Invalid value: a malformed signature.
pub(crate) fn parse_type(signature: &str, registry: &Registry) -> Result<Type> {
    let mut parser = Parser { rest: signature, registry };
    let parsed = parser.any(0).and_then(|it| match parser.rest.trim().is_empty() {
        true => Ok(it),
        false => Err(Error::invalid_value("text after the type")),
    });
    parsed.map_err(|it| it.at("in type", signature))
}

struct Parser<'a> {
    rest: &'a str,
    registry: &'a Registry,
}

impl<'a> Parser<'a> {
    fn any(&mut self, depth: usize) -> Result<Type> {
        if depth > DEPTH_MAX {
            return Err(Error::invalid_value("a type that nests too deep"));
        }
        let name = self.name()?.to_ascii_lowercase();
        match name.as_str() {
            "array" => {
                self.expect('(')?;
                let element = self.any(depth + 1)?;
                self.expect(')')?;
                Ok(Type::array(element))
            }
            "map" => {
                self.expect('(')?;
                let key = self.any(depth + 1)?;
                self.expect(',')?;
                let value = self.any(depth + 1)?;
                self.expect(')')?;
                Ok(Type::map(key, value))
            }
            "row" => self.row(depth),
            "tdigest" | "qdigest" | "kllsketch" => self.sketch(&name, depth),
            "decimal" => self.decimal(),
            "varchar" | "char" => {
                self.skip_parameters()?;
                Ok(Type::Varchar)
            }
            // What patterns are compiled to; they stay texts here.
            "likepattern" | "joniregexp" | "re2jregexp" | "jsonpath" | "codepoints" => {
                Ok(Type::Varchar)
            }
            scalar => self.scalar(scalar),
        }
    }

    fn scalar(&mut self, name: &str) -> Result<Type> {
        Ok(match name {
            "unknown" => Type::Unknown,
            "boolean" => Type::Boolean,
            "tinyint" => Type::TinyInt,
            "smallint" => Type::SmallInt,
            "integer" => Type::Integer,
            "bigint" => Type::BigInt,
            "real" => Type::Real,
            "double" => Type::Double,
            "varbinary" => Type::Varbinary,
            "date" => Type::Date,
            "time" => Type::Time,
            "timestamp" => Type::Timestamp,
            "interval day to second" | "interval year to month" => Type::Interval,
            "time with time zone" => ZonedClock::data_type(),
            "timestamp with time zone" => ZonedTimestamp::data_type(),
            // Values are the same bytes in both systems.
            "json" | "ipprefix" | "hyperloglog" | "setdigest" | "khyperloglog" | "color"
            | "bingtile" | "sfmsketch" => {
                return self.custom(name, &[]);
            }
            // Pages hold them in other bytes.
            "uuid" | "ipaddress" => return self.custom(name, &[]),
            other => return Err(no_type(other)),
        })
    }

    /// A registered type.
    fn custom(&self, name: &str, parameters: &[String]) -> Result<Type> {
        let made = self.registry.types().make(name, parameters).and_then(|it| it.ok());
        made.ok_or_else(|| no_type(name))
    }

    /// A sketch of values of a type, whose values are the same bytes in both systems.
    fn sketch(&mut self, name: &str, depth: usize) -> Result<Type> {
        self.expect('(')?;
        let element = self.any(depth + 1)?;
        self.expect(')')?;
        let shown = format!("{name}({element})").to_ascii_lowercase();
        self.custom(name, &[element.to_string()]).map_err(|_| no_type(&shown))
    }

    /// A name of letters; some types have several words.
    fn name(&mut self) -> Result<&'a str> {
        self.rest = self.rest.trim_start();
        let is_end = |it: char| matches!(it, '(' | ')' | ',');
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        match name.trim() {
            "" => Err(Error::invalid_value("a type without a name")),
            name => Ok(name),
        }
    }

    fn expect(&mut self, expected: char) -> Result<()> {
        let rest = self.rest.trim_start();
        let found = rest.strip_prefix(expected);
        self.rest = found.ok_or_else(|| Error::invalid_value(format!("no {expected:?}")))?;
        Ok(())
    }

    fn accept(&mut self, expected: char) -> bool {
        self.expect(expected).is_ok()
    }

    fn skip_parameters(&mut self) -> Result<()> {
        if self.accept('(') {
            self.number()?;
            self.expect(')')?;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<u32> {
        let rest = self.rest.trim_start();
        let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, rest) = rest.split_at(end);
        self.rest = rest;
        digits.parse().map_err(|_| Error::invalid_value("no number"))
    }

    fn decimal(&mut self) -> Result<Type> {
        self.expect('(')?;
        let precision = self.number()?;
        let scale = if self.accept(',') { self.number()? } else { 0 };
        self.expect(')')?;
        let is_right = (1..=u32::from(DECIMAL_PRECISION_MAX)).contains(&precision);
        match is_right && scale <= precision {
            true => Ok(Type::decimal(precision as u8, scale as u8)),
            false => Err(Error::invalid_value("digits of a decimal")),
        }
    }

    fn row(&mut self, depth: usize) -> Result<Type> {
        self.expect('(')?;
        let mut fields = Vec::new();
        if self.accept(')') {
            return Ok(Type::row(fields));
        }
        loop {
            let name = self.field_name()?;
            fields.push(Field::new(name, self.any(depth + 1)?));
            if self.accept(')') {
                return Ok(Type::row(fields));
            }
            self.expect(',')?;
        }
    }

    /// The name before the type of a field; fields may have none. Names in quotes double quotes
    /// inside.
    fn field_name(&mut self) -> Result<String> {
        let rest = self.rest.trim_start();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            loop {
                let unclosed = || Error::invalid_value("a field name without its closing quote");
                let end = quoted.find('"').ok_or_else(unclosed)?;
                let (part, after) = quoted.split_at(end);
                name.push_str(part);
                quoted = after.strip_prefix('"').unwrap_or(after);
                match quoted.strip_prefix('"') {
                    Some(next) => {
                        name.push('"');
                        quoted = next;
                    }
                    None => break,
                }
            }
            self.rest = quoted;
            return Ok(name);
        }
        let end = rest.find(['(', ')', ',']).unwrap_or(rest.len());
        let (word, _) = rest.split_at(end);
        // Types of several words have no name before them: `timestamp with time zone`.
        match word.split_once(' ') {
            Some((name, of))
                if !matches!(of.split(' ').next(), Some("with" | "day" | "year" | "to")) =>
            {
                self.rest = rest.get(name.len()..).unwrap_or_default();
                Ok(name.to_owned())
            }
            _ => {
                self.rest = rest;
                Ok(String::new())
            }
        }
    }
}

fn no_type(name: &str) -> Error {
    Error::unsupported(format!("the type {name} of Presto"))
}
