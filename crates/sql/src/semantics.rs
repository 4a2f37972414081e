//! The dialect: the semantics of a statement where systems differ.

use std::{fmt, str::FromStr};
use volley_error::{Error, Result};
use volley_function::Package;
use volley_types::{
    Field, Type,
    custom::{TimeTz, TimestampTz, ZonedClock, ZonedTimestamp},
};

/// Whose semantics a statement has where systems differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// What a user of DuckDB or PostgreSQL expects.
    #[default]
    Volley,
    /// Presto's: names of functions mean Presto's, casts follow its rules, and integers divided by
    /// integers are integers.
    Presto,
}

impl Dialect {
    /// The packages in which names of functions are looked up, in order.
    pub fn packages(self) -> &'static [Package] {
        match self {
            Dialect::Volley => &[Package::Core, Package::Presto],
            Dialect::Presto => &[Package::Presto, Package::Core],
        }
    }

    /// The name of a type, as `typeof` gives it.
    pub(crate) fn type_name(self, data_type: &Type) -> String {
        match self {
            Dialect::Volley => data_type.to_string(),
            Dialect::Presto => presto_type_name(data_type),
        }
    }
}

/// Presto writes names of types in lower case; those of fields stay as they are.
fn presto_type_name(data_type: &Type) -> String {
    match data_type {
        Type::Unknown => "unknown".to_owned(),
        Type::Array(element) => format!("array({})", presto_type_name(element)),
        Type::FixedArray(array) => format!("array({})", presto_type_name(&array.0)),
        Type::Map(entry) => {
            format!("map({}, {})", presto_type_name(&entry.0), presto_type_name(&entry.1))
        }
        Type::Row(fields) => {
            let field = |it: &Field| match it.name.is_empty() {
                true => presto_type_name(&it.data_type),
                false => format!("{} {}", it.name, presto_type_name(&it.data_type)),
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("row({})", fields.join(", "))
        }
        // Its texts stay as they are, too.
        other if other.labels().is_some() => other.to_string().replacen("ENUM", "enum", 1),
        // Presto's types of sketches of sets have capital letters.
        Type::Custom(custom) if custom.name() == "HYPERLOGLOG" => "HyperLogLog".to_owned(),
        Type::Custom(custom) if custom.name() == "SETDIGEST" => "SetDigest".to_owned(),
        Type::Custom(custom) if custom.name() == "KHYPERLOGLOG" => "KHyperLogLog".to_owned(),
        Type::Custom(custom) if custom.name() == "BINGTILE" => "BingTile".to_owned(),
        zoned if ZonedTimestamp::is(zoned) => TimestampTz::NAME.to_lowercase(),
        zoned if ZonedClock::is(zoned) => TimeTz::NAME.to_lowercase(),
        other => other.to_string().to_lowercase(),
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(text: &str) -> Result<Dialect> {
        match text.to_ascii_lowercase().as_str() {
            "volley" => Ok(Dialect::Volley),
            "presto" => Ok(Dialect::Presto),
            _ => Err(Error::invalid_value(format!("dialect must be volley or presto: '{text}'"))),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dialect::Volley => "volley",
            Dialect::Presto => "presto",
        })
    }
}
