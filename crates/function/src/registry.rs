//! The registry: resolves a name and argument types to a function.

use crate::{
    ArgumentType, BindHigherOrder, BoundAggregate, BoundHigherOrder, BoundScalar, BoundWindow,
    Package,
};
use std::{collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_types::{
    Type, TypeRegistry,
    custom::{TimeTz, TimestampUnit, UnsignedInteger},
};

/// Settles a scalar function's types: `None` when it does not take these arguments.
///
/// The result's `args` may differ from the given types where an implicit cast leads there
/// (see [`volley_types::implicit_cast_cost`]); binding those again must give the same result.
pub type BindScalar = Arc<dyn Fn(&[Type]) -> Option<BoundScalar> + Send + Sync>;

/// Settles an aggregate function's types: `None` when it does not take these arguments.
pub type BindAggregate = Arc<dyn Fn(&[Type]) -> Option<BoundAggregate> + Send + Sync>;

/// Settles a window function's types: `None` when it does not take these arguments.
pub type BindWindow = Arc<dyn Fn(&[Type]) -> Option<BoundWindow> + Send + Sync>;

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

impl FunctionDoc {
    /// Documentation: signature, description, category, and examples as pairs of an expression and
    /// its result as text.
    pub fn new(
        signature: &str,
        description: &str,
        category: &str,
        examples: &[(&str, &str)],
    ) -> FunctionDoc {
        let examples = examples.iter().map(|(call, text)| (call.to_string(), text.to_string()));
        FunctionDoc {
            signature: signature.to_owned(),
            description: description.to_owned(),
            category: category.to_owned(),
            examples: examples.collect(),
        }
    }
}

/// The overloads of a function under one name.
#[derive(Clone)]
pub struct Entry<B> {
    /// Tried in order of registration; the cheapest in implicit casts wins.
    pub overloads: Vec<B>,
    /// For people: one for each signature that has any.
    pub docs: Vec<FunctionDoc>,
}

/// What a function makes values of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FunctionKind {
    /// One row.
    Scalar,
    /// The rows of a group.
    Aggregate,
    /// The rows around a row.
    Window,
}

/// A function as people read about it.
#[derive(Clone, Copy, Debug)]
pub struct PackageDoc<'a> {
    /// The package that it belongs to.
    pub package: Package,
    /// Its name without the package.
    pub name: &'a str,
    /// What it makes values of.
    pub kind: FunctionKind,
    /// What there is to read.
    pub doc: &'a FunctionDoc,
}

/// All functions a session knows. Names are lower case; those of packages other than the core begin
/// with [`Package::prefix`]. Finding a function here takes the whole name; see
/// [`FunctionNames`](crate::FunctionNames) for names that people write.
#[derive(Clone, Default)]
pub struct Registry {
    scalars: BTreeMap<String, Entry<BindScalar>>,
    higher_order: BTreeMap<String, Entry<BindHigherOrder>>,
    aggregates: BTreeMap<String, Entry<BindAggregate>>,
    windows: BTreeMap<String, Entry<BindWindow>>,
    /// Special forms with the syntax of functions: only documented here.
    forms: BTreeMap<String, FunctionDoc>,
    casts: Vec<BindCast>,
    /// Conversions whose rules are those of a package other than the core.
    package_casts: Vec<(Package, BindCast)>,
    /// Further names of functions, and the names that they are registered by.
    shared_names: BTreeMap<String, String>,
    types: TypeRegistry,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    /// Adds an overload of the scalar function `name`. Documentation without a signature is left
    /// out: the overload is described by another one's.
    pub fn add_scalar(&mut self, name: &str, doc: FunctionDoc, bind: BindScalar) {
        add(&mut self.scalars, name, doc, bind);
    }

    /// Adds an overload with lambdas of the scalar function `name`.
    pub fn add_higher_order(&mut self, name: &str, doc: FunctionDoc, bind: BindHigherOrder) {
        add(&mut self.higher_order, name, doc, bind);
    }

    /// Adds an overload of the aggregate function `name`.
    pub fn add_aggregate(&mut self, name: &str, doc: FunctionDoc, bind: BindAggregate) {
        add(&mut self.aggregates, name, doc, bind);
    }

    /// Adds an overload of the window function `name`.
    pub fn add_window(&mut self, name: &str, doc: FunctionDoc, bind: BindWindow) {
        add(&mut self.windows, name, doc, bind);
    }

    /// Describes a special form that is written like a function.
    pub fn add_form(&mut self, name: &str, doc: FunctionDoc) {
        self.forms.insert(name.to_ascii_lowercase(), doc);
    }

    /// Adds conversions; those added later are asked first.
    pub fn add_casts(&mut self, bind: BindCast) {
        self.casts.push(bind);
    }

    /// Adds conversions with the rules of `package`; those added later are asked first.
    pub fn add_package_casts(&mut self, package: Package, bind: BindCast) {
        self.package_casts.push((package, bind));
    }

    /// The types besides the built-in ones.
    pub fn types(&self) -> &TypeRegistry {
        &self.types
    }

    /// The types besides the built-in ones, to add to.
    pub fn types_mut(&mut self) -> &mut TypeRegistry {
        &mut self.types
    }

    /// The conversion `from` one type `to` another: a function of one argument that fails the rows
    /// whose value cannot be converted.
    ///
    /// # Errors
    ///
    /// Invalid query, if there is no such conversion.
    pub fn resolve_cast(&self, from: &Type, to: &Type) -> Result<BoundScalar> {
        self.casts
            .iter()
            .rev()
            .find_map(|bind| bind(from, to))
            .ok_or_else(|| Error::invalid_query(format!("cannot cast {from} to {to}")))
    }

    /// What finds the core's conversions that are registered so far.
    pub fn casts_so_far(&self) -> BindCast {
        let casts = self.casts.clone();
        Arc::new(move |from, to| casts.iter().rev().find_map(|bind| bind(from, to)))
    }

    /// The conversion that has rules of its own in `package`.
    pub(crate) fn package_cast(
        &self,
        package: Package,
        from: &Type,
        to: &Type,
    ) -> Option<BoundScalar> {
        let casts = self.package_casts.iter().rev().filter(|it| it.0 == package);
        casts.into_iter().find_map(|it| it.1(from, to))
    }

    /// Like [`Registry::resolve_cast`], by the rules of `package`.
    ///
    /// # Errors
    ///
    /// Invalid query, if there is no such conversion.
    pub fn resolve_cast_of(&self, package: Package, from: &Type, to: &Type) -> Result<BoundScalar> {
        match package {
            Package::Core => self.resolve_cast(from, to),
            package => self.package_cast(package, from, to).ok_or_else(|| {
                let package = package.name();
                Error::invalid_query(format!("cannot cast {from} to {to} as {package} does"))
            }),
        }
    }

    /// Whether there is a function of this whole lower-case name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        let is_known = |it: &str| self.is_function(it) || self.forms.contains_key(it);
        is_known(name) || is_known(self.target(name))
    }

    /// Whether this lower-case name is that of a function, not of a special form.
    fn is_function(&self, name: &str) -> bool {
        self.scalars.contains_key(name)
            || self.higher_order.contains_key(name)
            || self.aggregates.contains_key(name)
            || self.windows.contains_key(name)
    }

    /// Adds the overloads of `target` with lambdas after those of `name`, both lower case, to be
    /// read about where people read about `name`.
    pub(crate) fn copy_lambdas(&mut self, target: &str, name: &str) {
        let Some(copied) = self.higher_order.get(target).cloned() else { return };
        let docs = self.docs();
        let category = docs.iter().find(|it| it.0 == name).map(|it| it.2.category.clone());
        let new = || Entry { overloads: Vec::new(), docs: Vec::new() };
        let entry = self.higher_order.entry(name.to_owned()).or_insert_with(new);
        entry.overloads.extend(copied.overloads);
        entry.docs.extend(copied.docs.into_iter().map(|it| FunctionDoc {
            category: category.clone().unwrap_or_else(|| it.category.clone()),
            ..it
        }));
    }

    /// The name that the function of this lower-case name is registered by.
    pub(crate) fn target<'a>(&'a self, name: &'a str) -> &'a str {
        self.shared_names.get(name).map_or(name, String::as_str)
    }

    pub(crate) fn shared_names_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.shared_names
    }

    /// All scalar functions, by name.
    pub fn scalars(&self) -> &BTreeMap<String, Entry<BindScalar>> {
        &self.scalars
    }

    /// All functions that take lambdas, by name.
    pub fn higher_order(&self) -> &BTreeMap<String, Entry<BindHigherOrder>> {
        &self.higher_order
    }

    /// All aggregate functions, by name.
    pub fn aggregates(&self) -> &BTreeMap<String, Entry<BindAggregate>> {
        &self.aggregates
    }

    /// What settles the types of the aggregate function registered as `name`, which takes the
    /// cheapest of the overloads that there are so far.
    pub fn aggregate_so_far(&self, name: &str) -> Option<BindAggregate> {
        let entry = self.aggregates.get(name)?.clone();
        Some(Arc::new(move |args: &[Type]| cheapest(&entry, args, |it| &it.args)))
    }

    /// What people read about all functions, by name; several times for those with several
    /// signatures.
    pub fn docs(&self) -> Vec<(&str, FunctionKind, &FunctionDoc)> {
        let scalars = self.scalars.iter().map(|(name, it)| (name, FunctionKind::Scalar, &it.docs));
        let higher_order =
            self.higher_order.iter().map(|(name, it)| (name, FunctionKind::Scalar, &it.docs));
        let aggregates =
            self.aggregates.iter().map(|(name, it)| (name, FunctionKind::Aggregate, &it.docs));
        let windows = self.windows.iter().map(|(name, it)| (name, FunctionKind::Window, &it.docs));
        let all = scalars.chain(higher_order).chain(aggregates).chain(windows);
        let mut docs: Vec<_> = all
            .flat_map(|(name, kind, docs)| docs.iter().map(move |it| (name.as_str(), kind, it)))
            .collect();
        let forms = self.forms.iter();
        docs.extend(forms.map(|(name, doc)| (name.as_str(), FunctionKind::Scalar, doc)));
        let mut shared = Vec::new();
        for (name, target) in &self.shared_names {
            let same = docs.iter().filter(|it| it.0 == target);
            shared.extend(same.map(|it| (name.as_str(), it.1, it.2)));
        }
        docs.extend(shared);
        docs.sort_by_key(|it| (it.0, it.1));
        docs
    }

    /// Whether there is a function `name`, ignoring case.
    ///
    /// # Errors
    ///
    /// Invalid query, with the nearest name as a hint, when there is none.
    pub fn check_name(&self, name: &str) -> Result<()> {
        let known = self.contains(&name.to_ascii_lowercase());
        if known { Ok(()) } else { Err(self.unknown(name)) }
    }

    /// Whether `name` is an aggregate function, ignoring case.
    pub fn is_aggregate(&self, name: &str) -> bool {
        self.registered(name).iter().any(|it| self.aggregates.contains_key(it))
    }

    /// All window functions, by name; aggregates can be called over windows, too.
    pub fn windows(&self) -> &BTreeMap<String, Entry<BindWindow>> {
        &self.windows
    }

    /// Whether `name` is a window function, and no aggregate, ignoring case.
    pub fn is_window(&self, name: &str) -> bool {
        self.registered(name).iter().any(|it| self.windows.contains_key(it))
    }

    /// The scalar function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// Invalid query: no such function (with the nearest names as a hint), or none for these types
    /// (with the signature as a hint).
    pub fn resolve_scalar(&self, name: &str, args: &[Type]) -> Result<BoundScalar> {
        let bind = |own: &str, args: &[Type]| {
            let bound = cheapest(self.scalars.get(own)?, args, |it| &it.args)?;
            Some(BoundScalar { name: own.to_owned(), ..bound })
        };
        self.bound(name, args, bind).ok_or_else(|| self.no_function(name, args))
    }

    /// The function `name` for arguments of these types, some of which are lambdas; see
    /// [`BindHigherOrder`].
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_scalar`].
    pub fn resolve_higher_order(
        &self,
        name: &str,
        args: &[ArgumentType],
    ) -> Result<BoundHigherOrder> {
        let unsized_arg = |it: &ArgumentType| match it {
            ArgumentType::Value(data_type) => ArgumentType::Value(data_type.without_size()),
            lambda => lambda.clone(),
        };
        let unsized_args: Vec<ArgumentType> = args.iter().map(unsized_arg).collect();
        let bind = |own: &str| {
            let overloads = &self.higher_order.get(own)?.overloads;
            let bound = overloads.iter().find_map(|bind| bind(args));
            let bound = bound.or_else(|| overloads.iter().find_map(|bind| bind(&unsized_args)))?;
            Some(BoundHigherOrder { name: own.to_owned(), ..bound })
        };
        let bound = self.registered(name).into_iter().find_map(|it| bind(&it));
        bound.ok_or_else(|| self.no_function(name, args))
    }

    /// The aggregate function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_scalar`].
    pub fn resolve_aggregate(&self, name: &str, args: &[Type]) -> Result<BoundAggregate> {
        let bind = |own: &str, args: &[Type]| {
            let bound = cheapest(self.aggregates.get(own)?, args, |it| &it.args)?;
            Some(BoundAggregate { name: own.to_owned(), ..bound })
        };
        self.bound(name, args, bind).ok_or_else(|| self.no_function(name, args))
    }

    /// The window function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_scalar`].
    pub fn resolve_window(&self, name: &str, args: &[Type]) -> Result<BoundWindow> {
        let bind = |own: &str, args: &[Type]| {
            let bound = cheapest(self.windows.get(own)?, args, |it| &it.args)?;
            Some(BoundWindow { name: own.to_owned(), ..bound })
        };
        self.bound(name, args, bind).ok_or_else(|| self.no_function(name, args))
    }

    /// What `bind` gives for the first of the names that `name` may be registered by, where arrays
    /// of a fixed size may be taken as arrays of any size, unsigned integers as signed ones,
    /// timestamps of other units as TIMESTAMP, and times with a zone as TIME.
    fn bound<B>(
        &self,
        name: &str,
        args: &[Type],
        bind: impl Fn(&str, &[Type]) -> Option<B>,
    ) -> Option<B> {
        let bind = |own: &String| {
            bind(own, args)
                .or_else(|| bind(own, &without_sizes(args)?))
                .or_else(|| bind(own, &stand_ins(args)?))
        };
        self.registered(name).iter().find_map(bind)
    }

    /// The names that the function called `name`, in any case, is registered by: overloads of its
    /// own come before those that it shares.
    fn registered(&self, name: &str) -> Vec<String> {
        let lower = name.to_ascii_lowercase();
        let shared = self.shared_names.get(&lower).cloned();
        std::iter::once(lower).chain(shared).collect()
    }

    /// The error that there is no function `name`, or none for these arguments.
    fn no_function(&self, name: &str, args: &[impl ToString]) -> Error {
        let own = self.registered(name);
        let docs = own.iter().flat_map(|it| {
            let scalars = self.scalars.get(it).map(|it| &it.docs);
            let higher_order = self.higher_order.get(it).map(|it| &it.docs);
            let aggregates = self.aggregates.get(it).map(|it| &it.docs);
            let windows = self.windows.get(it).map(|it| &it.docs);
            [scalars, higher_order, aggregates, windows].into_iter().flatten().flatten()
        });
        match own.iter().any(|it| self.is_function(it)) {
            true => no_overload(name, args, docs),
            false => self.unknown(name),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        if let Some(form) = self.forms.get(&name.to_ascii_lowercase()) {
            let message = format!("{name} does not take these arguments");
            return Error::invalid_query(message).hint(format!("it is {}", form.signature));
        }
        let error = Error::invalid_query(format!("no such function: {name}"));
        let names = self.scalars.keys().chain(self.higher_order.keys());
        let names = names.chain(self.aggregates.keys()).chain(self.windows.keys());
        let names = names.chain(self.shared_names.keys()).map(|it| Package::split(it).1);
        match volley_types::nearest_name(name, names) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error,
        }
    }
}

/// The types with arrays of any size instead of those of a fixed size; `None` when there are none.
/// Functions that do not know arrays of a fixed size take them so.
fn without_sizes(args: &[Type]) -> Option<Vec<Type>> {
    let has_sizes = args.iter().any(|it| matches!(it, Type::FixedArray(_)));
    has_sizes.then(|| args.iter().map(Type::without_size).collect())
}

/// The types with the signed integers that unsigned ones convert to without a cast, or DOUBLE for
/// UHUGEINT, TIMESTAMP for timestamps of other units, and TIME for times with a zone; `None` when
/// there are none. Functions that
/// do not know such types take them so.
fn stand_ins(args: &[Type]) -> Option<Vec<Type>> {
    // The difference of two times with a zone is not that of their times.
    if args.iter().filter(|it| TimeTz::is(it)).count() > 1 {
        return None;
    }
    let has_any = args.iter().any(|it| stand_in(it).is_some());
    has_any.then(|| args.iter().map(|it| stand_in(it).unwrap_or_else(|| it.clone())).collect())
}

/// See [`stand_ins`].
fn stand_in(data_type: &Type) -> Option<Type> {
    match data_type {
        Type::Array(element) => stand_in(element).map(Type::array),
        Type::FixedArray(array) => stand_in(&array.0).map(Type::array),
        _ if TimeTz::is(data_type) => Some(Type::Time),
        _ => match data_type.unsigned() {
            Some(UnsignedInteger::UHugeInt) => Some(Type::Double),
            Some(unsigned) => Some(unsigned.signed()),
            None => TimestampUnit::of(data_type).map(|_| Type::Timestamp),
        },
    }
}

/// The sum of the implicit casts; large when one is missing (the overload took it on itself).
fn cost(from: &[Type], to: &[Type]) -> u32 {
    const EXPLICIT: u32 = 1000;
    let pairs = from.iter().zip(to);
    pairs.map(|(from, to)| volley_types::implicit_cast_cost(from, to).unwrap_or(EXPLICIT)).sum()
}

fn add<B>(entries: &mut BTreeMap<String, Entry<B>>, name: &str, doc: FunctionDoc, bind: B) {
    let name = name.to_ascii_lowercase();
    let new = || Entry { overloads: Vec::new(), docs: Vec::new() };
    let entry = entries.entry(name).or_insert_with(new);
    let is_known = entry.docs.iter().any(|it| it.signature == doc.signature);
    if !is_known && !doc.signature.is_empty() {
        entry.docs.push(doc);
    }
    entry.overloads.push(bind);
}

/// The overload with the cheapest implicit casts to the types that `wanted` finds in it.
fn cheapest<B>(
    entry: &Entry<Arc<dyn Fn(&[Type]) -> Option<B> + Send + Sync>>,
    args: &[Type],
    wanted: impl Fn(&B) -> &Vec<Type>,
) -> Option<B> {
    let bound = entry.overloads.iter().filter_map(|bind| bind(args));
    bound.min_by_key(|bound| cost(args, wanted(bound)))
}

fn no_overload<'a>(
    name: &str,
    args: &[impl ToString],
    docs: impl Iterator<Item = &'a FunctionDoc>,
) -> Error {
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let error =
        Error::invalid_query(format!("function {name} does not take ({})", args.join(", ")));
    let signatures: Vec<&str> = docs.map(|it| it.signature.as_str()).collect();
    match signatures.is_empty() {
        true => error,
        false => error.hint(format!("it is {}", signatures.join(" or "))),
    }
}

impl std::fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            FunctionKind::Scalar => "scalar",
            FunctionKind::Aggregate => "aggregate",
            FunctionKind::Window => "window",
        })
    }
}
