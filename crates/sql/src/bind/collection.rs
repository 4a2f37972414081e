//! Functions of lists and maps that others are called for.

use super::Binder;
use volley_error::{Error, Result, Span};
use volley_logical::Expr;
use volley_types::Type;

/// Their names; they take two arguments.
pub(super) const COLLECTION_FORMS: [&str; 9] = [
    "list_append",
    "array_append",
    "array_push_back",
    "list_prepend",
    "array_prepend",
    "array_push_front",
    "array_to_string",
    "list_to_string",
    "map_contains",
];

impl Binder<'_> {
    pub(super) fn collection_form(
        &self,
        name: &str,
        args: Vec<Expr>,
        span: Option<Span>,
    ) -> Result<Expr> {
        let mut args = args.into_iter();
        let (Some(first), Some(second)) = (args.next(), args.next()) else {
            return Err(Error::internal("fewer arguments than two"));
        };
        match name {
            "list_append" | "array_append" | "array_push_back" => {
                let parts = vec![first, self.single(second, span)?];
                self.call("list_concat", self.unify(parts, "list")?, span)
            }
            "array_push_front" => {
                let parts = vec![self.single(second, span)?, first];
                self.call("list_concat", self.unify(parts, "list")?, span)
            }
            "list_prepend" | "array_prepend" => {
                let parts = vec![self.single(first, span)?, second];
                self.call("list_concat", self.unify(parts, "list")?, span)
            }
            "map_contains" => {
                let keys = self.call("map_keys", vec![first], span)?;
                self.call("contains", vec![keys, second], span)
            }
            _ => {
                let texts = self.cast_to(first, Type::array(Type::Varchar), false)?;
                self.call("array_join", vec![texts, second], span)
            }
        }
    }

    /// The list of one value.
    fn single(&self, value: Expr, span: Option<Span>) -> Result<Expr> {
        self.call("list_value", vec![value], span)
    }
}
