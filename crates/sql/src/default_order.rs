//! What ORDER BY means where it does not say it: the settings `default_order` and
//! `default_null_order`.

use std::{fmt, str::FromStr};
use volley_error::Error;

/// The order of keys without ASC or DESC, and of NULL without NULLS FIRST or NULLS LAST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultOrder {
    /// The direction.
    pub direction: Direction,
    /// Where NULL goes.
    pub nulls: NullOrder,
}

/// The direction of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The least value first.
    #[default]
    Ascending,
    /// The greatest value first.
    Descending,
}

/// Where NULL goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullOrder {
    /// Before all values.
    First,
    /// Behind all values.
    #[default]
    Last,
    /// As a value less than all others, as in SQLite and MySQL.
    Least,
    /// As a value greater than all others, as in PostgreSQL.
    Greatest,
}

impl DefaultOrder {
    /// Whether the order is descending, and whether NULL comes first, given what is written.
    pub(crate) fn resolve(
        self,
        descending: Option<bool>,
        nulls_first: Option<bool>,
    ) -> (bool, bool) {
        let descending = descending.unwrap_or(self.direction == Direction::Descending);
        let nulls_first = nulls_first.unwrap_or(match self.nulls {
            NullOrder::First => true,
            NullOrder::Last => false,
            NullOrder::Least => !descending,
            NullOrder::Greatest => descending,
        });
        (descending, nulls_first)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Ascending => "ASC",
            Direction::Descending => "DESC",
        })
    }
}

impl FromStr for Direction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Direction, Error> {
        match text.to_ascii_lowercase().as_str() {
            "asc" | "ascending" => Ok(Direction::Ascending),
            "desc" | "descending" => Ok(Direction::Descending),
            _ => Err(Error::invalid_value(format!("default_order must be asc or desc: '{text}'"))),
        }
    }
}

impl fmt::Display for NullOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NullOrder::First => "NULLS_FIRST",
            NullOrder::Last => "NULLS_LAST",
            NullOrder::Least => "NULLS_FIRST_ON_ASC_LAST_ON_DESC",
            NullOrder::Greatest => "NULLS_LAST_ON_ASC_FIRST_ON_DESC",
        })
    }
}

impl FromStr for NullOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<NullOrder, Error> {
        match text.to_ascii_lowercase().replace([' ', '_'], "").as_str() {
            "nullsfirst" | "first" => Ok(NullOrder::First),
            "nullslast" | "last" => Ok(NullOrder::Last),
            "nullsfirstonasclastondesc" | "sqlite" | "mysql" => Ok(NullOrder::Least),
            "nullslastonascfirstondesc" | "postgres" => Ok(NullOrder::Greatest),
            _ => Err(Error::invalid_value(format!("not an order of NULL: '{text}'"))
                .hint("nulls_first, nulls_last, sqlite, mysql or postgres")),
        }
    }
}
