//! Types that are registered at run time.
//!
//! A custom type gives a meaning of its own to the values of a storage type: how they are written
//! and read, and whether they have an order. Vectors, operators and files treat them as values of
//! the storage type, so every kernel works on them.

mod ip_address;
mod json;
mod key;
#[cfg(test)]
mod tests;
mod uuid;

pub use ip_address::IpAddress;
pub use json::Json;
pub use key::ComparisonKey;
pub use uuid::Uuid;

use crate::{Type, Value};
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

    /// Which comparisons there are: of the keys, or else of the storage type.
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
        self.name() == other.name()
    }
}

impl Eq for Custom {}

impl hash::Hash for Custom {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// Makes the type for the parameters that were written behind its name; `Err` says what is wrong
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

    /// The type called `name`, ignoring case; `None` when there is none.
    pub fn make(&self, name: &str, parameters: &[String]) -> Option<Result<Type, String>> {
        self.makers.get(&name.to_ascii_uppercase()).map(|make| make(parameters))
    }

    /// The names, in upper case.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.makers.keys().map(String::as_str)
    }
}

/// 128 bits as a HUGEINT whose order is that of the bits as a number without a sign.
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
