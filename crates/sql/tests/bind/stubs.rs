//! A registry for tests: the real functions, and bare signatures for missing ones.

use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundScalar, EvalContext, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
};
use volley_types::{Type, common_type};
use volley_vector::{Rows, Vector};

struct Stub;

impl ScalarFunction for Stub {
    fn evaluate(&self, _: &Rows, _: &[Vector], _: &Type, _: &mut EvalContext) -> Result<Vector> {
        Err(volley_error::Error::unsupported("stub"))
    }
}

fn bound(args: &[Type], result: Type) -> Option<BoundScalar> {
    let (name, args) = (String::new(), args.to_vec());
    let traits = ScalarTraits::DEFAULT;
    Some(BoundScalar { name, args, result, traits, function: Arc::new(Stub) })
}

fn add(registry: &mut Registry, names: &[&str], bind: fn(&[Type]) -> Option<BoundScalar>) {
    for name in names {
        if !registry.scalars().contains_key(*name) {
            registry.add_scalar(name, FunctionDoc::default(), Arc::new(bind));
        }
    }
}

fn common(args: &[Type]) -> Option<Type> {
    args.iter().try_fold(Type::Unknown, |common, it| common_type(&common, it))
}

fn arithmetic(args: &[Type]) -> Option<BoundScalar> {
    if let [Type::Date, Type::Interval] = args {
        return bound(args, Type::Timestamp);
    }
    let to = match common(args)? {
        Type::Unknown => Type::BigInt,
        to => to,
    };
    if !to.is_numeric() {
        return None;
    }
    bound(&vec![to.clone(); args.len()], to)
}

fn texts(args: &[Type], result: Type) -> Option<BoundScalar> {
    let wanted: Vec<Type> = args.iter().map(|_| Type::Varchar).collect();
    let fits = args.iter().all(|it| matches!(it, Type::Varchar | Type::Unknown));
    if fits { bound(&wanted, result) } else { None }
}

/// All functions that tests name.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    volley_functions::register(&mut registry);
    volley_functions_presto::register(&mut registry);
    let comparisons = ["eq", "neq", "lt", "lte", "gt", "gte"];
    add(&mut registry, &comparisons, |it| bound(it, Type::Boolean));
    let distinct = ["is_distinct_from", "is_not_distinct_from"];
    add(&mut registry, &distinct, |it| bound(it, Type::Boolean));
    add(&mut registry, &["not"], |it| bound(it, Type::Boolean));
    add(&mut registry, &["plus", "minus", "multiply", "mod", "negate", "abs"], arithmetic);
    add(&mut registry, &["integer_divide", "power"], arithmetic);
    add(&mut registry, &["divide"], |it| bound(&vec![Type::Double; it.len()], Type::Double));
    add(&mut registry, &["concat_op", "trim", "ltrim", "upper"], |it| texts(it, Type::Varchar));
    add(&mut registry, &["like", "ilike"], |it| texts(it, Type::Boolean));
    add(&mut registry, &["position"], |it| texts(it, Type::BigInt));
    add(&mut registry, &["greatest"], |it| bound(it, it.first()?.clone()));
    add(&mut registry, &["date_part"], |it| bound(it, Type::BigInt));
    add(&mut registry, &["current_date"], |it| bound(it, Type::Date));
    add(&mut registry, &["substring"], |it| {
        let wanted = [Type::Varchar, Type::BigInt, Type::BigInt];
        bound(wanted.get(..it.len())?, Type::Varchar)
    });
    add(&mut registry, &["list_value"], |it| bound(it, Type::array(common(it)?)));
    add(&mut registry, &["map"], |it| match it {
        [Type::Array(key), Type::Array(value)] => {
            bound(it, Type::map((**key).clone(), (**value).clone()))
        }
        _ => None,
    });
    add(&mut registry, &["array_extract"], |it| match it {
        [Type::Array(element), _] => bound(&[it[0].clone(), Type::BigInt], (**element).clone()),
        _ => None,
    });
    add(&mut registry, &["element_at"], |it| match it {
        [Type::Map(entry), _] => bound(it, entry.1.clone()),
        _ => None,
    });
    registry.add_casts(Arc::new(|from, to| {
        let is_possible = !from.is_nested() || to.is_nested() || *to == Type::Varchar;
        if is_possible { bound(std::slice::from_ref(from), to.clone()) } else { None }
    }));
    registry
}
