//! Comparisons: `=`, `<>`, `<`, `<=`, `>`, `>=`, IS [NOT] DISTINCT FROM.
//!
//! NaN equals itself and is the greatest number, -0.0 equals 0.0. Nested values compare element by
//! element; a null inside equals a null and comes after everything else.

mod compare;

use crate::documentation::doc;
use compare::{Compare, Distinct};
use std::sync::Arc;
use volley_function::{BindScalar, BoundScalar, Registry, ScalarFunction, ScalarTraits, simple};
use volley_kernels::compare::Comparison;
use volley_types::{CustomOrder, Type, comparable_type};

/// Registers the comparisons.
pub(crate) fn register(registry: &mut Registry) {
    let comparisons = [
        ("eq", Comparison::Equal, "=", "Whether both are equal.", "false"),
        ("neq", Comparison::NotEqual, "<>", "Whether both differ.", "true"),
        ("lt", Comparison::Less, "<", "Whether the first is less.", "true"),
        ("lte", Comparison::LessOrEqual, "<=", "Whether the first is less or equal.", "true"),
        ("gt", Comparison::Greater, ">", "Whether the first is greater.", "false"),
        (
            "gte",
            Comparison::GreaterOrEqual,
            ">=",
            "Whether the first is greater or equal.",
            "false",
        ),
    ];
    for (name, comparison, operator, description, example) in comparisons {
        let signature = format!("a {operator} b -> boolean");
        let doc =
            doc(&signature, description, "comparison", &[(&format!("1 {operator} 2"), example)]);
        let needs_order = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        registry.add_scalar(name, doc, bind(true, needs_order, Arc::new(Compare(comparison))));
    }
    let distinct = doc(
        "a IS DISTINCT FROM b -> boolean",
        "Whether both differ; two nulls do not.",
        "comparison",
        &[("1 IS DISTINCT FROM NULL", "true")],
    );
    let bind_distinct = bind(false, false, Arc::new(Distinct { negated: false }));
    registry.add_scalar("is_distinct_from", distinct, bind_distinct);
    let same = doc(
        "a IS NOT DISTINCT FROM b -> boolean",
        "Whether both are equal; two nulls are.",
        "comparison",
        &[("1 IS NOT DISTINCT FROM NULL", "false")],
    );
    let bind_same = bind(false, false, Arc::new(Distinct { negated: true }));
    registry.add_scalar("is_not_distinct_from", same, bind_same);
    let key = doc(
        "comparison_key(x) -> the type of its keys",
        "What x is compared and hashed by: x itself, unless its type, or that of a part of it, has an \
         order of its own.",
        "comparison",
        &[("comparison_key(1)", "1")],
    );
    registry.add_scalar("comparison_key", key, Arc::new(bind_key));
}

fn bind_key(given: &[Type]) -> Option<BoundScalar> {
    let [of] = given else { return None };
    if of.order() == CustomOrder::None {
        return None;
    }
    Some(BoundScalar {
        name: String::new(),
        args: given.to_vec(),
        result: of.key_type().unwrap_or_else(|| of.clone()),
        traits: ScalarTraits::INFALLIBLE,
        function: simple::vectorized(|_, args, _, _| args[0].comparison_keys()),
    })
}

/// Takes two arguments of types that meet in one which has the comparison.
fn bind(
    propagates_nulls: bool,
    needs_order: bool,
    function: Arc<dyn ScalarFunction>,
) -> BindScalar {
    Arc::new(move |given: &[Type]| {
        let [left, right] = given else { return None };
        let common = comparable_type(left, right)?;
        let needed = if needs_order { CustomOrder::Ordered } else { CustomOrder::Equality };
        if common.order() < needed {
            return None;
        }
        Some(BoundScalar {
            name: String::new(),
            args: vec![common.clone(), common],
            result: Type::Boolean,
            traits: ScalarTraits { propagates_nulls, ..ScalarTraits::INFALLIBLE },
            function: Arc::clone(&function),
        })
    })
}
