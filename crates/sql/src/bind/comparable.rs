//! Checks which types may be compared.

use super::Binder;
use volley_error::{Error, Result, Span};
use volley_types::{CustomOrder, Type};

impl Binder<'_> {
    /// Checks that values of the type can be distinguished; `place` names the construct.
    pub(super) fn needs_equality(
        &self,
        data_type: &Type,
        place: &str,
        span: Option<Span>,
    ) -> Result<()> {
        check(data_type, CustomOrder::Equality, place, span)
    }

    /// Checks that values of the type have an order; `place` names the construct.
    pub(super) fn needs_order(
        &self,
        data_type: &Type,
        place: &str,
        span: Option<Span>,
    ) -> Result<()> {
        check(data_type, CustomOrder::Ordered, place, span)
    }
}

fn check(data_type: &Type, wanted: CustomOrder, place: &str, span: Option<Span>) -> Result<()> {
    let Some(lacking) = data_type.lacks_order(wanted) else { return Ok(()) };
    let what = match lacking.order() {
        CustomOrder::None => "cannot be compared",
        _ => "have no order",
    };
    let within = match lacking == data_type {
        true => String::new(),
        false => format!(", in {data_type}"),
    };
    let message = format!("values of type {lacking} {what}: {place}{within}");
    Err(Error::invalid_query(message).span(span))
}
