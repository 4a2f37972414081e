//! IP addresses and networks, UUIDs.

mod address;
mod prefix;
mod collapse;
mod cast;

use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, FunctionDoc, Package, Registry, ScalarFunction, ScalarTraits};
use volley_types::{Type, custom::IpNetwork, implicit_cast_cost};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    registry.share(Package::Presto, "uuid", "uuid");
    registry.share(Package::Presto, "enum_key", "enum_key");
    address::register(registry);
    prefix::register(registry);
    collapse::register(registry);
    cast::register(registry);
}

/// What people read about a function of this chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "network", examples)
}

/// A function as it is registered.
struct Function {
    args: Vec<Type>,
    result: Type,
    traits: ScalarTraits,
    function: Arc<dyn ScalarFunction>,
}

/// Adds a function of types that the simple API has no markers for.
fn add(registry: &mut Registry, name: &str, doc: FunctionDoc, added: Function) {
    let bind = move |given: &[Type]| {
        let mut pairs = given.iter().zip(&added.args);
        let fits = given.len() == added.args.len()
            && pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some());
        let Function { args, result, traits, function } = &added;
        fits.then(|| BoundScalar::new(args.clone(), result.clone(), *traits, Arc::clone(function)))
    };
    registry.add_scalar(name, doc, Arc::new(bind));
}

/// The network that is stored as these bytes.
fn network(bytes: &[u8]) -> Result<IpNetwork> {
    IpNetwork::of_bytes(bytes).ok_or_else(|| Error::invalid_value("these bytes are no IPPREFIX"))
}
