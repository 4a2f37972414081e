//! Writing documentation of functions.

use volley_function::FunctionDoc;

/// Documentation: signature, description, category, and examples as pairs of an expression and its
/// result as text.
pub(crate) fn doc(
    signature: &str,
    description: &str,
    category: &str,
    examples: &[(&str, &str)],
) -> FunctionDoc {
    FunctionDoc {
        signature: signature.to_owned(),
        description: description.to_owned(),
        category: category.to_owned(),
        examples: examples
            .iter()
            .map(|(call, text)| (call.to_string(), text.to_string()))
            .collect(),
    }
}
