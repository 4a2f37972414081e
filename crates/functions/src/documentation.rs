//! Writing documentation of functions.

use volley_function::FunctionDoc;

/// [`FunctionDoc::new`].
pub(crate) fn doc(
    signature: &str,
    description: &str,
    category: &str,
    examples: &[(&str, &str)],
) -> FunctionDoc {
    FunctionDoc::new(signature, description, category, examples)
}
