//! A scalar function: `initials('ada lovelace')` is `AL`.

use volley::function::{
    BindScalar, FunctionDoc,
    simple::{self, Varchar},
};

/// The function for one row. Nulls and encodings are none of its business: a null argument makes a
/// null result, and a dictionary is evaluated once per entry.
fn initials(text: &str) -> String {
    let firsts = text.split_whitespace().filter_map(|it| it.chars().next());
    firsts.flat_map(char::to_uppercase).collect()
}

/// How it is called: the markers name the types of the argument and of the result.
pub fn bind() -> BindScalar {
    simple::unary::<Varchar, Varchar, _>(initials)
}

/// What `DESCRIBE FUNCTION initials` shows.
pub fn doc() -> FunctionDoc {
    FunctionDoc::new(
        "initials(text) -> varchar",
        "The first letters of the words, in upper case.",
        "string",
        &[("initials('ada lovelace')", "AL")],
    )
}
