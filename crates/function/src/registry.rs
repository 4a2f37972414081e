//! The registry: from a name and argument types to a function.

use crate::{BoundAggregate, BoundScalar};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;

/// Settles a scalar function's types: `None` when it does not take these arguments.
///
/// The result's `args` may differ from the given types where an implicit cast leads there
/// (see [`volley_types::implicit_cast_cost`]); binding those again must give the same result.
pub type BindScalar = Arc<dyn Fn(&[Type]) -> Option<BoundScalar> + Send + Sync>;

/// Settles an aggregate function's types: `None` when it does not take these arguments.
pub type BindAggregate = Arc<dyn Fn(&[Type]) -> Option<BoundAggregate> + Send + Sync>;

/// The conversion from the first type to the second; `None` when there is none.
pub type BindCast = Arc<dyn Fn(&Type, &Type) -> Option<BoundScalar> + Send + Sync>;

/// What a person reads about a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionDoc {
    /// Such as `substring(string, start[, length]) -> varchar`.
    pub signature: String,
    /// One or two sentences.
    pub description: String,
    /// The chapter: `math`, `string`, ...
    pub category: String,
    /// Pairs of an expression and its result as text; run as tests.
    pub examples: Vec<(String, String)>,
}

/// A scalar function's overloads under one name.
#[derive(Clone)]
pub struct ScalarEntry {
    /// Tried in order of registration; the cheapest in implicit casts wins.
    pub overloads: Vec<BindScalar>,
    /// For people.
    pub doc: FunctionDoc,
}

/// An aggregate function's overloads under one name.
#[derive(Clone)]
pub struct AggregateEntry {
    /// As in [`ScalarEntry`].
    pub overloads: Vec<BindAggregate>,
    /// For people.
    pub doc: FunctionDoc,
}

/// All functions a session knows. Names are lower case.
#[derive(Clone, Default)]
pub struct Registry {
    scalars: BTreeMap<String, ScalarEntry>,
    aggregates: BTreeMap<String, AggregateEntry>,
    casts: Vec<BindCast>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds an overload of the scalar function `name`; documentation is taken from the first one
    /// that has any.
    pub fn add_scalar(&mut self, name: &str, doc: FunctionDoc, bind: BindScalar) {
        let entry = self
            .scalars
            .entry(name.to_ascii_lowercase())
            .or_insert_with(|| ScalarEntry { overloads: Vec::new(), doc: FunctionDoc::default() });
        if entry.doc.signature.is_empty() {
            entry.doc = doc;
        }
        entry.overloads.push(bind);
    }

    /// Adds an overload of the aggregate function `name`.
    pub fn add_aggregate(&mut self, name: &str, doc: FunctionDoc, bind: BindAggregate) {
        let entry = self.aggregates.entry(name.to_ascii_lowercase()).or_insert_with(|| {
            AggregateEntry { overloads: Vec::new(), doc: FunctionDoc::default() }
        });
        if entry.doc.signature.is_empty() {
            entry.doc = doc;
        }
        entry.overloads.push(bind);
    }

    /// Adds conversions; those added later are asked first.
    pub fn add_casts(&mut self, bind: BindCast) {
        self.casts.push(bind);
    }

    /// The conversion `from` one type `to` another: a function of one argument that fails the rows
    /// whose value cannot be converted.
    ///
    /// # Errors
    ///
    /// Invalid query, when there is no such conversion.
    pub fn resolve_cast(&self, from: &Type, to: &Type) -> Result<BoundScalar> {
        self.casts
            .iter()
            .rev()
            .find_map(|bind| bind(from, to))
            .ok_or_else(|| Error::invalid_query(format!("cannot cast {from} to {to}")))
    }

    /// All scalar functions, by name.
    pub fn scalars(&self) -> &BTreeMap<String, ScalarEntry> {
        &self.scalars
    }

    /// All aggregate functions, by name.
    pub fn aggregates(&self) -> &BTreeMap<String, AggregateEntry> {
        &self.aggregates
    }

    /// Whether `name` is an aggregate function, ignoring case.
    pub fn is_aggregate(&self, name: &str) -> bool {
        self.aggregates.contains_key(&name.to_ascii_lowercase())
    }

    /// The scalar function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// Invalid query: no such function (with the nearest names as a hint), or none for these types
    /// (with the signature as a hint).
    pub fn resolve_scalar(&self, name: &str, args: &[Type]) -> Result<BoundScalar> {
        let lower = name.to_ascii_lowercase();
        let entry = self.scalars.get(&lower).ok_or_else(|| self.unknown(name))?;
        let bound = entry.overloads.iter().filter_map(|bind| bind(args));
        bound
            .min_by_key(|bound| cost(args, &bound.args))
            .map(|bound| BoundScalar { name: lower, ..bound })
            .ok_or_else(|| no_overload(name, args, &entry.doc))
    }

    /// The aggregate function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_scalar`].
    pub fn resolve_aggregate(&self, name: &str, args: &[Type]) -> Result<BoundAggregate> {
        let lower = name.to_ascii_lowercase();
        let entry = self.aggregates.get(&lower).ok_or_else(|| self.unknown(name))?;
        let bound = entry.overloads.iter().filter_map(|bind| bind(args));
        bound
            .min_by_key(|bound| cost(args, &bound.args))
            .map(|bound| BoundAggregate { name: lower, ..bound })
            .ok_or_else(|| no_overload(name, args, &entry.doc))
    }

    fn unknown(&self, name: &str) -> Error {
        let error = Error::invalid_query(format!("no such function: {name}"));
        let names = self.scalars.keys().chain(self.aggregates.keys()).map(String::as_str);
        match volley_types::nearest_name(name, names) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error,
        }
    }
}

/// The sum of the implicit casts; large when one is missing (the overload took it on itself).
fn cost(from: &[Type], to: &[Type]) -> u32 {
    const EXPLICIT: u32 = 1000;
    let pairs = from.iter().zip(to);
    pairs.map(|(from, to)| volley_types::implicit_cast_cost(from, to).unwrap_or(EXPLICIT)).sum()
}

fn no_overload(name: &str, args: &[Type], doc: &FunctionDoc) -> Error {
    let args: Vec<String> = args.iter().map(Type::to_string).collect();
    let error =
        Error::invalid_query(format!("function {name} does not take ({})", args.join(", ")));
    if doc.signature.is_empty() { error } else { error.hint(format!("it is {}", doc.signature)) }
}
