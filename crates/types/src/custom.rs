//! Types that are registered at run time.
//!
//! A custom type defines the meaning of the values of a storage type: how they are written and
//! read, by what they are compared, and whether they have an order. Vectors, operators and files
//! treat them as values of the storage type, so every kernel works on them.
//!
//! # How to write a custom type
//!
//! 1. Choose a name and a storage type: the built-in type, not nested, that holds the values.
//! 2. [`CustomType::parse`] and [`CustomType::push`] read and write text. They provide casts from
//!    and to VARCHAR, literals such as `VERSION '1.2'`, results and files of text.
//! 3. By default, values compare like their stored values. To change that, [`CustomType::key`]
//!    returns a key to compare by. Comparisons, IN, GROUP BY, DISTINCT, joins, ORDER BY, min and
//!    max, set operations and functions on arrays and maps compare keys, also of values inside of
//!    nested types. [`CustomType::order`] declares that the type has no order, or no equality.
//!    Operations that need it are refused with an error that names the type.
//! 4. Register it in a session's [`TypeRegistry`]: [`TypeRegistry::add_plain`], or
//!    [`TypeRegistry::add`] for a type with parameters. Functions of the type are registered like
//!    all functions, and conversions from and to other types with `Registry::add_casts`.
//!
//! Example: versions of software, such as 1.10.2, with a maximum number of parts. They are stored
//! as written, and compared part by part as numbers.
//!
//! ```
//! use std::sync::Arc;
//! use volley_types::{ComparisonKey, Custom, CustomType, Type, TypeRegistry, Value};
//!
//! /// VERSION(parts). Stored as VARCHAR.
//! #[derive(Debug)]
//! struct Version {
//!     name: String,
//!     parts_max: usize,
//! }
//!
//! /// The parts of a version; `None` when the text is none.
//! fn parts(text: &str) -> Option<Vec<u32>> {
//!     text.split('.').map(|it| it.parse().ok()).collect()
//! }
//!
//! impl CustomType for Version {
//!     // Types of one name are the same type, so the parameters belong into it.
//!     fn name(&self) -> &str {
//!         &self.name
//!     }
//!
//!     fn storage(&self) -> &Type {
//!         &Type::Varchar
//!     }
//!
//!     fn push(&self, out: &mut String, stored: &Value) {
//!         out.push_str(stored.as_str().unwrap_or_default());
//!     }
//!
//!     fn parse(&self, text: &str) -> Option<Value> {
//!         let count = parts(text.trim())?.len();
//!         (count <= self.parts_max).then(|| Value::text(text.trim()))
//!     }
//!
//!     fn key(&self) -> Option<&dyn ComparisonKey> {
//!         Some(self)
//!     }
//! }
//!
//! impl ComparisonKey for Version {
//!     fn data_type(&self) -> &Type {
//!         &Type::Varbinary
//!     }
//!
//!     // Numbers of the same length compare as their bytes do; 1.0 is 1.
//!     fn key(&self, stored: &Value) -> Value {
//!         let mut parts = parts(stored.as_str().unwrap_or_default()).unwrap_or_default();
//!         while parts.last() == Some(&0) {
//!             parts.pop();
//!         }
//!         Value::Varbinary(parts.iter().flat_map(|it| it.to_be_bytes()).collect())
//!     }
//! }
//!
//! fn make(parameters: &[String]) -> Result<Type, String> {
//!     let parts_max = match parameters {
//!         [] => 3,
//!         [parts] => parts.parse().map_err(|_| "VERSION takes a number of parts".to_owned())?,
//!         _ => return Err("VERSION takes one parameter".to_owned()),
//!     };
//!     let name = format!("VERSION({parts_max})");
//!     Ok(Type::Custom(Custom::new(Version { name, parts_max })))
//! }
//!
//! let mut types = TypeRegistry::default();
//! types.add("VERSION", Arc::new(make));
//! let version = types.make("version", &["2".to_owned()]).expect("registered")?;
//! assert_eq!(version.to_string(), "VERSION(2)");
//!
//! let Type::Custom(custom) = &version else { unreachable!() };
//! assert_eq!(custom.parse("1.2.3"), None);
//! let (old, new) = (custom.parse("1.9").expect("valid"), custom.parse(" 1.10 ").expect("valid"));
//! assert_eq!(new.display(&version).to_string(), "1.10");
//! let (Value::Varbinary(old), Value::Varbinary(new)) =
//!     (version.key_of(&old), version.key_of(&new)) else { unreachable!() };
//! assert!(old < new);
//! # Ok::<(), String>(())
//! ```

mod collation;
mod enumeration;
mod hyper_log_log;
mod ip_address;
mod ip_prefix;
mod json;
mod key;
mod time_tz;
mod timestamp_tz;
mod timestamp_unit;
#[cfg(test)]
mod tests;
mod unsigned;
mod uuid;
mod zoned_clock;
mod zoned_timestamp;

pub use collation::Collation;
pub use enumeration::Enumeration;
pub use hyper_log_log::HyperLogLog;
pub use ip_address::IpAddress;
pub use ip_prefix::{IpNetwork, IpPrefix};
pub use json::Json;
pub use key::ComparisonKey;
pub use time_tz::{TimeTz, ZonedTime};
pub use timestamp_tz::TimestampTz;
pub use timestamp_unit::TimestampUnit;
pub use unsigned::{SignFlipped, UnsignedInteger};
pub use uuid::Uuid;
pub use zoned_clock::ZonedClock;
pub use zoned_timestamp::ZonedTimestamp;

use crate::{Field, Type, Value, Zone};
use std::{collections::BTreeMap, fmt, hash, sync::Arc};

/// What a custom type is.
pub trait CustomType: fmt::Debug + Send + Sync {
    /// Its name in SQL, in upper case, with parameters if it has any. Types of one name are the
    /// same type.
    fn name(&self) -> &str;

    /// How values are stored: a type without parts, no custom one.
    fn storage(&self) -> &Type;

    /// Appends a value, given as one of the storage type, as CAST to VARCHAR writes it.
    fn push(&self, out: &mut String, stored: &Value);

    /// The value that a text means, as one of the storage type; `None` when it means none.
    fn parse(&self, text: &str) -> Option<Value>;

    /// Which comparisons there are: of the keys, or of the storage type.
    fn order(&self) -> CustomOrder {
        CustomOrder::Ordered
    }

    /// What values are compared and hashed by; `None`: as they are stored.
    fn key(&self) -> Option<&dyn ComparisonKey> {
        None
    }

    /// What a client gets that does not know the type.
    fn exchange(&self) -> Exchange {
        Exchange::Storage
    }

    /// Whether values of another type become values of this one without being asked, where both
    /// meet; there must be a conversion.
    fn absorbs(&self, _other: &Type) -> bool {
        false
    }

    /// Whether values may be used as those of the storage type without being asked.
    fn is_storage(&self) -> bool {
        false
    }

    /// The texts of all values, of a type that lists them: what is stored is the position in the
    /// list. Such values meet text, and those of other lists, as text.
    fn labels(&self) -> Option<&[String]> {
        None
    }

    /// Which unsigned integer type it is, of those of SQL.
    fn unsigned(&self) -> Option<UnsignedInteger> {
        None
    }

    /// The type as a session of this time zone writes and reads it; `None` when it does so as this
    /// one.
    fn in_zone(&self, _zone: &Zone) -> Option<Custom> {
        None
    }
}

/// Which comparisons a custom type has, from the fewest to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CustomOrder {
    /// None: it cannot be grouped, joined or sorted by.
    None,
    /// Equality only: it cannot be sorted by.
    Equality,
    /// `=`, `<` and the others.
    Ordered,
}

/// How values of a custom type are passed on to what does not know it: Arrow and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// As values of the storage type.
    Storage,
    /// As text.
    Text,
    /// As timestamps in UTC; the storage type is TIMESTAMP.
    Instants,
    /// As the 16 bytes of UUIDs; the storage type is HUGEINT, see [`stored_bits`].
    Uuids,
    /// As text that is JSON; the storage type is VARCHAR.
    Json,
    /// As unsigned integers of the storage type's width, stored with the sign bit flipped; see
    /// [`UnsignedInteger`].
    Unsigned,
    /// As timestamps without a zone that count this unit, as the storage does.
    Timestamps(TimestampUnit),
}

/// A handle to a custom type. Cheap to clone; equal by name.
#[derive(Clone, Debug)]
pub struct Custom(Arc<dyn CustomType>);

impl Custom {
    /// A handle to `custom`.
    ///
    /// # Panics
    ///
    /// If its storage type, or that of its keys, has parts or is a custom type.
    pub fn new(custom: impl CustomType + 'static) -> Custom {
        let is_plain = |it: &Type| !it.is_nested() && !matches!(it, Type::Custom(_));
        let storage = custom.storage();
        assert!(is_plain(storage), "storage of {}: {storage}", custom.name());
        if let Some(key) = custom.key() {
            assert!(is_plain(key.data_type()), "keys of {}: {}", custom.name(), key.data_type());
        }
        Custom(Arc::new(custom))
    }
}

impl std::ops::Deref for Custom {
    type Target = dyn CustomType;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Custom) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
            || self.name() == other.name()
    }
}

impl Eq for Custom {}

impl hash::Hash for Custom {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// The names of types that SQL knows without a registry, besides their synonyms.
const BUILT_IN_NAMES: [&str; 19] = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "REAL",
    "DOUBLE",
    "DECIMAL",
    "VARCHAR",
    "VARBINARY",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "INTERVAL",
    "ARRAY",
    "MAP",
    "ROW",
    "STRUCT",
];

/// Makes the type for the parameters that were written after its name; `Err` says what is wrong
/// with them.
pub type MakeType = Arc<dyn Fn(&[String]) -> Result<Type, String> + Send + Sync>;

/// The types that a session knows besides the built-in ones.
#[derive(Clone, Default)]
pub struct TypeRegistry {
    makers: BTreeMap<String, MakeType>,
}

impl TypeRegistry {
    /// Adds the type `name`, with whatever parameters `make` takes.
    pub fn add(&mut self, name: &str, make: MakeType) {
        self.makers.insert(name.to_ascii_uppercase(), make);
    }

    /// Adds a type without parameters under its name.
    pub fn add_plain(&mut self, custom: impl CustomType + 'static) {
        let custom = Custom::new(custom);
        let name = custom.name().to_owned();
        let make = move |parameters: &[String]| match parameters {
            [] => Ok(Type::Custom(custom.clone())),
            _ => Err(format!("the type {} takes no parameters", custom.name())),
        };
        self.add(&name, Arc::new(make));
    }

    /// Registers `alias` as another name of the type `name`; does nothing if the type does not
    /// exist.
    pub fn add_alias(&mut self, alias: &str, name: &str) {
        if let Some(make) = self.makers.get(&name.to_ascii_uppercase()).cloned() {
            self.add(alias, make);
        }
    }

    /// The type called `name`, ignoring case; `None` when there is none.
    pub fn make(&self, name: &str, parameters: &[String]) -> Option<Result<Type, String>> {
        self.makers.get(&name.to_ascii_uppercase()).map(|make| make(parameters))
    }

    /// The names of all types, in upper case: the built-in ones and those that were added.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        BUILT_IN_NAMES.into_iter().chain(self.makers.keys().map(String::as_str))
    }
}

/// 128 bits as a HUGEINT that orders like the bits as an unsigned number.
pub fn stored_bits(bits: u128) -> i128 {
    (bits ^ 1 << 127) as i128
}

/// The bits that [`stored_bits`] made `stored` of.
pub fn bits_of(stored: i128) -> u128 {
    stored as u128 ^ 1 << 127
}

impl fmt::Debug for TypeRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.makers.keys()).finish()
    }
}

impl Type {
    /// The type as a session of this time zone writes and reads it, parts included.
    pub fn in_zone(&self, zone: &Zone) -> Type {
        match self {
            Type::Custom(custom) => custom.in_zone(zone).map_or_else(|| self.clone(), Type::Custom),
            Type::Array(element) => Type::array(element.in_zone(zone)),
            Type::FixedArray(array) => Type::fixed_array(array.0.in_zone(zone), array.1),
            Type::Map(entry) => Type::map(entry.0.in_zone(zone), entry.1.in_zone(zone)),
            Type::Row(fields) => Type::row(
                fields.iter().map(|it| Field::new(it.name.clone(), it.data_type.in_zone(zone))),
            ),
            _ => self.clone(),
        }
    }
}
