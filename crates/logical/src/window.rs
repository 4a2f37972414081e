//! Window functions.

use crate::{Expr, SortKey};
use volley_error::Span;
use volley_plan::Frame;
use volley_types::Type;

/// A call of a window function, or of an aggregate over a window.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The registered name.
    pub function: String,
    /// Arguments, cast to the types that the registry resolved.
    pub args: Vec<Expr>,
    /// Only distinct argument rows of a frame count. Aggregates only.
    pub distinct: bool,
    /// FILTER (WHERE ...): BOOLEAN. Aggregates only.
    pub filter: Option<Expr>,
    /// ORDER BY among the arguments: in which order the rows of the frame come.
    pub order_by: Vec<SortKey>,
    /// Rows where the first argument is null do not count.
    pub ignore_nulls: bool,
    /// How many of the node's order keys the call has.
    pub order_keys: usize,
    /// Which rows it sees.
    pub frame: Frame<Expr>,
    /// The result type.
    pub data_type: Type,
    /// Its position in the text.
    pub span: Option<Span>,
}

impl WindowCall {
    /// Arguments, filter, order, and what the frame's bounds are found by.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order_by.iter().map(|it| &it.expr);
        self.args.iter().chain(&self.filter).chain(order).chain(self.frame.columns())
    }

    /// Like [`WindowCall::exprs`], to change.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let order = self.order_by.iter_mut().map(|it| &mut it.expr);
        self.args.iter_mut().chain(&mut self.filter).chain(order).chain(self.frame.columns_mut())
    }
}
