//! `+`, `-`, `*`, `/`, `%` and the sign, on numbers.

use super::{core, decimal};
use std::sync::Arc;
use volley_function::{BindScalar, BoundScalar, FunctionDoc, Package, Registry};
use volley_types::Type;

/// Registers the operators. What is not on numbers is the core's or the chapter's on dates.
pub(super) fn register(registry: &mut Registry) {
    for name in ["plus", "minus", "multiply", "mod", "negate"] {
        registry.share(Package::Presto, name, name);
    }
    let multiply = doc(
        "x * y -> decimal",
        "The product of decimals, whose scales and digits add up, of 38 digits at most.",
        &[("1.5 * 1.5", "2.25"), ("typeof(1234567890.12 * 1234567890.12)", "decimal(24,4)")],
    );
    registry.add_scalar("presto.multiply", multiply, Arc::new(decimal::bind_multiply));
    let modulo = doc(
        "x % y -> decimal",
        "The remainder of decimals; it has the sign of x and the larger scale.",
        &[("12.3 % 1.21", "0.20"), ("typeof(12.3 % 1.21)", "decimal(3,2)")],
    );
    registry.add_scalar("presto.mod", modulo, Arc::new(decimal::bind_mod));
    let divide = doc(
        "x / y -> as the operands",
        "The quotient. That of integers is truncated, that of decimals is rounded half up to the \
         larger scale; both fail for a zero y. Floats give an infinity or NaN there.",
        &[("7 / 2", "3"), ("1.00 / 3", "0.33"), ("7e0 / 2", "3.5")],
    );
    registry.add_scalar("presto.divide", divide, Arc::new(decimal::bind_divide));
    for (name, is_accepted) in
        [("integer_divide", are_integers as fn(&_) -> _), ("divide", is_float)]
    {
        let bind = only(core(registry, name), is_accepted);
        registry.add_scalar("presto.divide", FunctionDoc::default(), bind);
    }
}

/// The function of the core for some arguments.
fn only(overloads: Vec<BindScalar>, is_accepted: fn(&[Type]) -> bool) -> BindScalar {
    Arc::new(move |args: &[Type]| -> Option<BoundScalar> {
        if is_accepted(args) { overloads.iter().find_map(|bind| bind(args)) } else { None }
    })
}

fn are_integers(args: &[Type]) -> bool {
    args.iter().all(|it| it.is_integer() || *it == Type::Unknown)
}

fn is_float(args: &[Type]) -> bool {
    args.iter().all(|it| it.is_numeric() || *it == Type::Unknown) && args.iter().any(Type::is_float)
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "math", examples)
}
