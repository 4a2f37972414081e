//! Functions of lists and maps that are bound as calls of other functions.

use super::{Binder, inspect};
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

/// Functions of a list, the name of an aggregate function, and its further arguments.
pub(super) const LIST_AGGREGATES: [&str; 5] =
    ["list_aggregate", "list_aggr", "array_aggregate", "array_aggr", "aggregate"];

impl Binder<'_> {
    /// `list_aggregate(list, 'sum', ...)`, which is `list_sum(list, ...)`.
    pub(super) fn list_aggregate(
        &self,
        mut args: Vec<Expr>,
        span: Option<Span>,
        name_span: Option<Span>,
    ) -> Result<Expr> {
        let name = args.remove(1);
        let Some(aggregate) = inspect::string_literal(&name) else {
            let message = "the name of the aggregate function must be a constant text";
            return Err(Error::invalid_query(message).span(name.span.or(name_span)));
        };
        let aggregate = aggregate.to_ascii_lowercase();
        if !self.shared.names.is_aggregate(&aggregate) {
            let message = format!("no such aggregate function: {aggregate}");
            return Err(Error::invalid_query(message).span(name.span.or(name_span)));
        }
        self.call(&format!("list_{aggregate}"), args, span)
    }

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
