//! Whose semantics a statement has where systems differ.

use std::{fmt, str::FromStr};
use volley_error::{Error, Result};
use volley_function::Package;

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
