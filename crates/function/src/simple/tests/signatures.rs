//! The signatures of closures' types.

use super::super::*;
use crate::{FunctionDoc, Registry};
use volley_error::Error;
use volley_types::CustomOrder;

fn bound(simple: Simple, given: &[Type]) -> Option<(Vec<Type>, Type)> {
    simple.into_bind()(given).map(|it| (it.args, it.result))
}

fn integers() -> Type {
    Type::array(Type::Integer)
}

#[test]
fn variables_meet_in_the_common_type() {
    let contains = || {
        scalar(|a: ArrayView<Equatable<0>>, x: EquatableValue<0>| a.iter().any(|it| it == Some(x)))
    };
    let expected = (vec![Type::array(Type::BigInt), Type::BigInt], Type::Boolean);
    assert_eq!(bound(contains(), &[integers(), Type::BigInt]), Some(expected.clone()));
    assert_eq!(bound(contains(), &expected.0), Some(expected));
    assert_eq!(bound(contains(), &[integers(), Type::Varchar]), None);
    assert_eq!(bound(contains(), &[Type::Integer, Type::Integer]), None);
    assert_eq!(bound(contains(), &[integers()]), None);
    let null = (vec![Type::array(Type::Integer), Type::Integer], Type::Boolean);
    assert_eq!(bound(contains(), &[Type::Unknown, Type::Integer]), Some(null));
}

#[test]
fn results_take_the_types_of_variables() {
    let swap = || {
        scalar(|m: MapView<Any<0>, Any<1>>, out: &mut ArrayWriter<Row<(Any<1>, Any<0>)>>| {
            for (key, value) in m.iter() {
                out.push((value, key));
            }
        })
    };
    let (_, result) = bound(swap(), &[Type::map(Type::Varchar, Type::Double)]).unwrap();
    let Type::Array(row) = result else { panic!("not an array") };
    let Type::Row(fields) = row.as_ref() else { panic!("not a row") };
    assert_eq!([&fields[0].data_type, &fields[1].data_type], [&Type::Double, &Type::Varchar]);
}

#[test]
fn what_is_asked_of_a_type_is_checked() {
    assert_eq!(Orderable::<1>::pattern(), Pattern::Variable(1, CustomOrder::Ordered));
    assert!(!Array::<Any<0>>::pattern().has_map());
    let pattern = Map::<Varchar, Row<(i64, bool)>>::pattern();
    let row = Pattern::Row(vec![Pattern::Exact(Type::BigInt), Pattern::Exact(Type::Boolean)]);
    assert_eq!(pattern, Pattern::Map(Box::new((Pattern::Exact(Type::Varchar), row))));
}

#[test]
fn variadic_functions_take_one_or_more() {
    let greatest = || scalar(|all: VariadicView<i64>| all.iter().max().unwrap_or(0));
    assert_eq!(bound(greatest(), &[]), None);
    assert_eq!(bound(greatest(), &[Type::Integer]).unwrap().0, [Type::BigInt]);
    let two = [Type::Integer, Type::TinyInt];
    assert_eq!(bound(greatest(), &two).unwrap().0, [Type::BigInt, Type::BigInt]);
    assert_eq!(bound(greatest(), &[Type::Integer, Type::Varchar]), None);
}

#[test]
fn the_registry_takes_closures_and_declared_functions() {
    let mut registry = Registry::new();
    let doc = FunctionDoc::default;
    let overflow = || Error::invalid_value("overflow");
    registry.simple("multiply", doc(), move |a: i64, b: i64| a.checked_mul(b).ok_or(overflow));
    registry.simple("multiply", doc(), |a: f64, b: f64| a * b);
    registry.simple("dice", doc(), scalar(|sides: i32| sides).nondeterministic());
    registry.simple("length", doc(), <str as LenOf>::len_of);
    let types = [Type::Integer, Type::BigInt];
    assert_eq!(registry.resolve_scalar("multiply", &types).unwrap().result, Type::BigInt);
    let types = [Type::Real, Type::BigInt];
    let bound = registry.resolve_scalar("multiply", &types).unwrap();
    assert_eq!((bound.result, bound.traits), (Type::Double, ScalarTraits::INFALLIBLE));
    assert!(!registry.resolve_scalar("dice", &[Type::Integer]).unwrap().traits.deterministic);
    assert_eq!(registry.resolve_scalar("length", &[Type::Varchar]).unwrap().result, Type::BigInt);
}

trait LenOf {
    fn len_of(&self) -> i64;
}

impl LenOf for str {
    fn len_of(&self) -> i64 {
        self.len() as i64
    }
}
