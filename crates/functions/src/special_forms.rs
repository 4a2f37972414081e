//! Documentation of special forms with the syntax of functions. The expression compiler implements
//! them.

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
    register_collections(registry);
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

/// Forms that other functions are called for.
fn register_collections(registry: &mut Registry) {
    let nested = |signature: &str, description: &str, example: (&str, &str)| {
        doc(signature, description, "nested", &[example])
    };
    let append = nested(
        "list_append(list, x) -> list",
        "The list with x after its elements.",
        ("list_append([1, 2], 3)", "[1, 2, 3]"),
    );
    for name in ["list_append", "array_append", "array_push_back"] {
        registry.add_form(name, append.clone());
    }
    let prepend = nested(
        "list_prepend(x, list) -> list",
        "The list with x before its elements.",
        ("list_prepend(0, [1, 2])", "[0, 1, 2]"),
    );
    for name in ["list_prepend", "array_prepend"] {
        registry.add_form(name, prepend.clone());
    }
    let push_front = nested(
        "array_push_front(list, x) -> list",
        "The list with x before its elements.",
        ("array_push_front([1, 2], 0)", "[0, 1, 2]"),
    );
    registry.add_form("array_push_front", push_front);
    let to_string = nested(
        "array_to_string(list, separator) -> varchar",
        "The elements as text with the separator between them; nulls are left out.",
        ("array_to_string([1, NULL, 2], '-')", "1-2"),
    );
    for name in ["array_to_string", "list_to_string"] {
        registry.add_form(name, to_string.clone());
    }
    registry.add_form(
        "json_group_structure",
        doc(
            "json_group_structure(x) -> json",
            "What json_structure gives for all rows: the types of the parts of their values, as one \
             that fits all.",
            "json",
            &[(
                "json_group_structure(x) FROM (VALUES ('{\"a\": 1}'::json), ('{\"a\": 1.5}')) v(x)",
                "{\"a\":\"DOUBLE\"}",
            )],
        ),
    );
    let contains = nested(
        "map_contains(map, key) -> boolean",
        "Whether the map has the key.",
        ("map_contains(MAP {'a': 1}, 'a')", "true"),
    );
    registry.add_form("map_contains", contains);
}
