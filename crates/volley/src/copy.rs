//! The columns of COPY.

use std::collections::HashSet;
use volley_types::Schema;

/// The names of the columns in the file; a repeated one gets a number, as readers ask by name.
pub(crate) fn distinct_names(schema: &Schema) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut distinct = |name: &str| {
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|it| seen.insert(it.to_lowercase())).unwrap_or_default()
    };
    schema.fields.iter().map(|it| distinct(&it.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::{Field, Type};

    #[test]
    fn repeated_names_get_numbers() {
        let field = |name| Field::new(name, Type::Integer);
        let schema = Schema::new(vec![field("a"), field("A"), field("b"), field("a")]);
        assert_eq!(distinct_names(&schema), ["a", "A_1", "b", "a_2"]);
    }
}
