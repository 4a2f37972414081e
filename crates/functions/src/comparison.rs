//! Comparisons: `=`, `<>`, `<`, `<=`, `>`, `>=`, IS [NOT] DISTINCT FROM.
//!
//! NaN equals itself and is the greatest number, -0.0 equals 0.0. Nested values compare element by
//! element; a null inside equals a null and comes after everything else.

mod compare;
#[cfg(test)]
mod tests;

use crate::documentation::doc;
use compare::{Compare, Distinct};
use std::sync::Arc;
use volley_function::{BindScalar, BoundScalar, Registry, ScalarFunction, ScalarTraits};
use volley_kernels::compare::Comparison;
use volley_types::{CustomOrder, Type, common_type};

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
}

/// Takes two arguments of types that meet in one which has the comparison.
fn bind(
    propagates_nulls: bool,
    needs_order: bool,
    function: Arc<dyn ScalarFunction>,
) -> BindScalar {
    Arc::new(move |given: &[Type]| {
        let [left, right] = given else { return None };
        let common = common_type(left, right)?;
        match common.order() {
            CustomOrder::None => return None,
            CustomOrder::Equality if needs_order => return None,
            _ => (),
        }
        Some(BoundScalar {
            name: String::new(),
            args: vec![common.clone(), common],
            result: Type::Boolean,
            traits: ScalarTraits { deterministic: true, propagates_nulls, infallible: true },
            function: Arc::clone(&function),
        })
    })
}
