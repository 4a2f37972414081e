use super::*;
use crate::{EvalContext, FunctionDoc, ScalarFunction, ScalarTraits};
use std::sync::Arc;
use volley_vector::{Rows, Vector};

/// A function that is never called.
struct Named;

impl ScalarFunction for Named {
    fn evaluate(&self, _: &Rows, _: &[Vector], _: &Type, _: &mut EvalContext) -> Result<Vector> {
        Err(volley_error::Error::internal("called"))
    }
}

fn bound(args: Vec<Type>, result: Type) -> BoundScalar {
    BoundScalar::new(args, result, ScalarTraits::DEFAULT, Arc::new(Named))
}

/// `round` in both packages, Presto's for DOUBLE alone; `twice` in Presto's; `length` in the core,
/// which Presto shares as `char_length`.
fn registry() -> Registry {
    let mut registry = Registry::new();
    let add = |registry: &mut Registry, name: &str, only: Option<Type>| {
        let bind = move |args: &[Type]| {
            let takes = only.as_ref().is_none_or(|it| args == std::slice::from_ref(it));
            takes.then(|| bound(args.to_vec(), Type::BigInt))
        };
        let doc = FunctionDoc::new(&format!("{name}(any) -> bigint"), "", "math", &[]);
        registry.add_scalar(name, doc, Arc::new(bind));
    };
    add(&mut registry, "round", None);
    add(&mut registry, "presto.round", Some(Type::Double));
    add(&mut registry, "presto.twice", Some(Type::Double));
    add(&mut registry, "length", None);
    registry.share(Package::Presto, "char_length", "length");
    registry.add_casts(Arc::new(|from, to| Some(bound(vec![from.clone()], to.clone()))));
    registry.add_package_casts(
        Package::Presto,
        Arc::new(|from, to| (*from == Type::Double).then(|| bound(vec![from.clone()], to.clone()))),
    );
    registry
}

const CORE_FIRST: [Package; 2] = [Package::Core, Package::Presto];
const PRESTO_FIRST: [Package; 2] = [Package::Presto, Package::Core];

#[track_caller]
fn check(packages: &[Package], name: &str, arg: Type, expected: &str) {
    let registry = registry();
    let names = FunctionNames::new(&registry, packages);
    let found = match names.resolve_scalar(name, std::slice::from_ref(&arg)) {
        Ok(bound) => bound.name,
        Err(error) => error.message().to_owned(),
    };
    assert_eq!(found, expected);
}

#[test]
fn the_first_package_that_takes_the_arguments_has_the_function() {
    check(&CORE_FIRST, "ROUND", Type::Double, "round");
    check(&PRESTO_FIRST, "round", Type::Double, "presto.round");
    check(&PRESTO_FIRST, "round", Type::BigInt, "round");
    check(&CORE_FIRST, "twice", Type::Double, "presto.twice");
}

#[test]
fn a_name_with_a_package_means_that_function_alone() {
    check(&CORE_FIRST, "presto.round", Type::Double, "presto.round");
    check(&PRESTO_FIRST, "presto.round", Type::Date, "function presto.round does not take (DATE)");
    check(&CORE_FIRST, "presto.thrice", Type::Date, "no such function: presto.thrice");
}

#[test]
fn a_shared_name_leads_to_the_function_of_the_core() {
    check(&PRESTO_FIRST, "char_length", Type::Varchar, "length");
    check(&CORE_FIRST, "presto.char_length", Type::Varchar, "length");
    let registry = registry();
    let docs = registry.package_docs();
    let names: Vec<_> = docs.iter().map(|it| (it.package, it.name)).collect();
    let presto = |name| (Package::Presto, name);
    let core = |name| (Package::Core, name);
    let expected =
        [core("length"), core("round"), presto("char_length"), presto("round"), presto("twice")];
    assert_eq!(names, expected);
}

#[test]
fn the_error_is_that_of_the_first_package() {
    check(&PRESTO_FIRST, "twice", Type::Date, "function presto.twice does not take (DATE)");
    let registry = registry();
    let error = FunctionNames::new(&registry, &CORE_FIRST).check_name("twize").unwrap_err();
    assert_eq!(error.hint_text(), Some("did you mean twice?"));
}

#[test]
fn casts_follow_the_first_package_where_it_has_rules() {
    let registry = registry();
    let presto = FunctionNames::new(&registry, &PRESTO_FIRST);
    let of = |from: &Type| presto.resolve_cast(from, &Type::Varchar).unwrap().0;
    assert_eq!(of(&Type::Double), Package::Presto);
    assert_eq!(of(&Type::Date), Package::Core);
    let core = FunctionNames::new(&registry, &CORE_FIRST);
    assert_eq!(core.resolve_cast(&Type::Double, &Type::Varchar).unwrap().0, Package::Core);
    assert!(registry.resolve_cast_of(Package::Presto, &Type::Date, &Type::Varchar).is_err());
}
