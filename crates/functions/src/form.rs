//! Special forms that are written like functions. The expression compiler knows what they do; here
//! is what people read about them.

use crate::documentation::doc;
use volley_function::Registry;

/// Describes the forms.
pub(crate) fn register(registry: &mut Registry) {
    let coalesce = doc(
        "coalesce(x, ...) -> same type",
        "The first argument that is not null; later ones are not evaluated.",
        "conditional",
        &[("coalesce(NULL, 2, 3)", "2")],
    );
    for name in ["coalesce", "ifnull", "nvl"] {
        registry.add_form(name, coalesce.clone());
    }
    registry.add_form(
        "nullif",
        doc(
            "nullif(x, y) -> type of x",
            "NULL where x equals y, otherwise x.",
            "conditional",
            &[("nullif(1, 1)", "NULL"), ("nullif(1, 2)", "1")],
        ),
    );
    let conditional = doc(
        "if(condition, x[, y]) -> common type",
        "x where the condition is true, otherwise y, or NULL without one. Only one is evaluated.",
        "conditional",
        &[("if(1 < 2, 'yes', 'no')", "yes"), ("if(1 > 2, 'yes')", "NULL")],
    );
    for name in ["if", "iff"] {
        registry.add_form(name, conditional.clone());
    }
    registry.add_form(
        "try",
        doc(
            "try(x) -> type of x",
            "x, or NULL for rows where x fails.",
            "conditional",
            &[("try(cast('a' AS INTEGER))", "NULL")],
        ),
    );
    registry.add_form(
        "row",
        doc("row(x, ...) -> row", "A row of the values.", "nested", &[("row(1, 'a')", "(1, a)")]),
    );
    registry.add_form(
        "struct_pack",
        doc(
            "struct_pack(name := x, ...) -> row",
            "A row with named fields.",
            "nested",
            &[("struct_pack(a := 1, b := 'x')", "{'a': 1, 'b': x}")],
        ),
    );
    registry.add_form(
        "typeof",
        doc(
            "typeof(x) -> varchar",
            "The name of the type of x.",
            "conditional",
            &[("typeof(1 + 1.5)", "DECIMAL(12,1)")],
        ),
    );
}
