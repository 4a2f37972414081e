//! Packages of functions, and resolution of unqualified names.

#[cfg(test)]
mod tests;

use crate::{
    ArgumentType, BindWindow, BoundAggregate, BoundHigherOrder, BoundScalar, BoundWindow, Entry,
    PackageDoc, Registry,
};
use volley_error::Result;
use volley_types::Type;

/// Functions and casts whose names and semantics are those of one system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Package {
    /// What needs no other name. Its semantics follow DuckDB where SQL leaves a choice.
    #[default]
    Core,
    /// Presto's, after its manual.
    Presto,
}

impl Package {
    /// All packages.
    pub const ALL: [Package; 2] = [Package::Core, Package::Presto];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Package::Core => "core",
            Package::Presto => "presto",
        }
    }

    /// What the names of its functions begin with in the registry.
    pub fn prefix(self) -> &'static str {
        match self {
            Package::Core => "",
            Package::Presto => "presto.",
        }
    }

    /// The package that a name in the registry belongs to, and the rest of the name.
    pub fn split(name: &str) -> (Package, &str) {
        let prefixed = Package::ALL.into_iter().filter(|it| *it != Package::Core);
        let mut found = prefixed.filter_map(|it| Some((it, name.strip_prefix(it.prefix())?)));
        found.next().unwrap_or((Package::Core, name))
    }
}

/// Finds functions by the names that people write, for one dialect.
///
/// A name without a package means the function of the first of `packages` that has one for the
/// arguments; `presto.round` means that function alone.
#[derive(Clone, Copy)]
pub struct FunctionNames<'a> {
    registry: &'a Registry,
    packages: &'a [Package],
}

impl<'a> FunctionNames<'a> {
    /// Names that are looked up in `packages`, in this order.
    pub fn new(registry: &'a Registry, packages: &'a [Package]) -> FunctionNames<'a> {
        FunctionNames { registry, packages }
    }

    /// Whether there is a function `name`.
    ///
    /// # Errors
    ///
    /// As [`Registry::check_name`].
    pub fn check_name(&self, name: &str) -> Result<()> {
        let mut candidates = self.candidates(name);
        candidates.next().map_or_else(|| self.registry.check_name(name), |_| Ok(()))
    }

    /// The names in the registry that `name` may refer to, in order, including those with a prefix.
    pub fn known(&self, name: &str) -> Vec<String> {
        self.candidates(name).collect()
    }

    /// Whether `name` is a function that takes lambdas.
    pub fn takes_lambdas(&self, name: &str) -> bool {
        let all = self.registry.higher_order();
        self.candidates(name)
            .any(|it| all.contains_key(&it) || all.contains_key(self.registry.target(&it)))
    }

    /// Whether `name` is an aggregate function.
    pub fn is_aggregate(&self, name: &str) -> bool {
        self.candidates(name).next().is_some_and(|it| self.registry.is_aggregate(&it))
    }

    /// Whether `name` is a window function, and no aggregate.
    pub fn is_window(&self, name: &str) -> bool {
        self.candidates(name).next().is_some_and(|it| self.registry.is_window(&it))
    }

    /// The window function `name`, with all overloads.
    pub fn window(&self, name: &str) -> Option<&'a Entry<BindWindow>> {
        let registry = self.registry;
        let entry = |it: String| {
            let windows = registry.windows();
            windows.get(&it).or_else(|| windows.get(registry.target(&it)))
        };
        self.candidates(name).find_map(entry)
    }

    /// The scalar function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_scalar`].
    pub fn resolve_scalar(&self, name: &str, args: &[Type]) -> Result<BoundScalar> {
        self.first(name, |it| self.registry.resolve_scalar(it, args))
    }

    /// The function `name` for arguments of these types, some of which are lambdas.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_higher_order`].
    pub fn resolve_higher_order(
        &self,
        name: &str,
        args: &[ArgumentType],
    ) -> Result<BoundHigherOrder> {
        self.first(name, |it| self.registry.resolve_higher_order(it, args))
    }

    /// The aggregate function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_aggregate`].
    pub fn resolve_aggregate(&self, name: &str, args: &[Type]) -> Result<BoundAggregate> {
        self.first(name, |it| self.registry.resolve_aggregate(it, args))
    }

    /// The window function `name` for arguments of these types.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_window`].
    pub fn resolve_window(&self, name: &str, args: &[Type]) -> Result<BoundWindow> {
        self.first(name, |it| self.registry.resolve_window(it, args))
    }

    /// The package whose conversion an explicit cast uses, and the conversion: that of the first
    /// package, or the core's if it has none.
    ///
    /// # Errors
    ///
    /// As [`Registry::resolve_cast`].
    pub fn resolve_cast(&self, from: &Type, to: &Type) -> Result<(Package, BoundScalar)> {
        let first = self.packages.first().copied().unwrap_or_default();
        match self.registry.package_cast(first, from, to) {
            Some(cast) => Ok((first, cast)),
            None => Ok((Package::Core, self.registry.resolve_cast(from, to)?)),
        }
    }

    /// The first package's answer that is not an error, or the first error.
    fn first<B>(&self, name: &str, resolve: impl Fn(&str) -> Result<B>) -> Result<B> {
        let mut error = None;
        for candidate in self.candidates(name) {
            match resolve(&candidate) {
                Ok(bound) => return Ok(bound),
                Err(other) => error = error.or(Some(other)),
            }
        }
        match error {
            Some(error) => Err(error),
            None => resolve(name),
        }
    }

    fn candidates(&self, name: &str) -> impl Iterator<Item = String> {
        let name = name.to_ascii_lowercase();
        let has_package = Package::split(&name).0 != Package::Core;
        let packages = if has_package { &[Package::Core][..] } else { self.packages };
        let names = packages.iter().map(move |it| format!("{}{name}", it.prefix()));
        names.filter(|it| self.registry.contains(it))
    }
}

impl Registry {
    /// Gives the function `target` the additional name `name` in `package`. Overloads of that name
    /// in the package take precedence.
    pub fn share(&mut self, package: Package, name: &str, target: &str) {
        let name = format!("{}{name}", package.prefix());
        self.shared_names_mut().insert(name, target.to_owned());
    }

    /// Adds to the function `name` of `package` the overloads of the function `target` that take
    /// lambdas.
    pub fn share_with_lambdas(&mut self, package: Package, name: &str, target: &str) {
        let name = format!("{}{name}", package.prefix());
        self.copy_lambdas(target, &name);
    }

    /// What people read about all functions, by package and name.
    pub fn package_docs(&self) -> Vec<PackageDoc<'_>> {
        let split = |(name, kind, doc)| {
            let (package, name) = Package::split(name);
            PackageDoc { package, name, kind, doc }
        };
        let mut docs: Vec<_> = self.docs().into_iter().map(split).collect();
        docs.sort_by_key(|it| (it.package, it.name, it.kind));
        docs
    }
}
