//! Aggregates of rows in an order: `percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`.
//!
//! They are the same as functions of two arguments, `quantile_cont(x, 0.5)`, or as functions with
//! ORDER BY.

use super::{
    Binder,
    aggregate::{Parsed, Written},
    group::is_constant,
    inspect,
};
use sqlparser::ast::OrderBySort;
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind, SortKey};
use volley_types::{Type, Value};

/// The registered name of a function with WITHIN GROUP.
pub(super) fn ordered_set_function(name: &str, span: Option<Span>) -> Result<&'static str> {
    Ok(match name {
        "percentile_cont" | "quantile_cont" => "quantile_cont",
        "percentile_disc" | "quantile_disc" => "quantile_disc",
        "mode" => "mode",
        "listagg" | "string_agg" => "string_agg",
        "array_agg" => "array_agg",
        _ => {
            let error = Error::invalid_query(format!("{name} takes no WITHIN GROUP")).span(span);
            return Err(error.hint("percentile_cont, percentile_disc, mode and listagg do"));
        }
    })
}

impl<'a> Binder<'a> {
    /// The call as one without WITHIN GROUP.
    pub(super) fn within_group(
        &self,
        mut written: Written<'a>,
        parsed: Parsed<'_, 'a>,
    ) -> Result<Written<'a>> {
        let Parsed { name, within_group, span, .. } = parsed;
        let invalid = |message: String| Err(Error::invalid_query(message).span(span));
        if within_group.is_empty() {
            return Ok(written);
        }
        if !written.order_by.is_empty() {
            return invalid(format!("ORDER BY in {name}, which has WITHIN GROUP"));
        }
        if matches!(name, "string_agg" | "array_agg") {
            written.order_by = within_group;
            return Ok(written);
        }
        if name == "mode" {
            written.order_by = within_group;
        }
        let [key] = within_group else {
            return invalid(format!("{name} takes one value in WITHIN GROUP"));
        };
        let shares = if name == "mode" { 0 } else { 1 };
        if written.args.len() != shares {
            return invalid(format!("{name} with WITHIN GROUP takes {shares} arguments"));
        }
        written.args.insert(0, &key.expr);
        written.descends = name != "mode" && matches!(key.options.sort, Some(OrderBySort::Desc));
        Ok(written)
    }

    /// The function that regards the order of the rows, where that without ORDER BY does not.
    pub(super) fn with_order<'n>(&self, name: &'n str) -> &'n str {
        match name {
            _ if self.shared.is_presto() => name,
            "mode" => "mode_first",
            "min_by" | "arg_min" | "argmin" => "min_by_first",
            "max_by" | "arg_max" | "argmax" => "max_by_first",
            name => name,
        }
    }

    /// Whether ORDER BY among the arguments of a quantile says that its share counts from the
    /// greatest value. By another order than that of its values no quantile changes.
    pub(super) fn is_descending_quantile(
        &mut self,
        name: &str,
        written: &Written<'a>,
        args: &[Expr],
    ) -> Result<bool> {
        if !matches!(name, "quantile_cont" | "quantile_disc") {
            return Ok(false);
        }
        let (keys, value) = (self.call_order(written.order_by)?, args.first());
        let is_value = |it: &SortKey| value.is_some_and(|value| inspect::same(&it.expr, value));
        Ok(keys.first().is_some_and(|it| it.descending && is_value(it)))
    }

    /// The share of a quantile is the same for all rows.
    pub(super) fn check_share(&self, name: &str, args: &[Expr]) -> Result<()> {
        let is_quantile = matches!(name, "quantile_cont" | "quantile_disc" | "quantile");
        let Some(share) = args.get(1).filter(|_| is_quantile) else { return Ok(()) };
        match is_constant(share) {
            true => Ok(()),
            false => {
                let message = format!("the share of {name} must be constant");
                Err(Error::invalid_query(message).span(share.span))
            }
        }
    }

    /// A share of rows, or several, counted from the greatest value: negative.
    pub(super) fn from_the_greatest(&self, share: Expr) -> Result<Expr> {
        if let (ExprKind::Call { args, .. }, Type::Array(_)) = (&share.kind, &share.data_type) {
            let shares = args.iter().map(|it| self.from_the_greatest(it.clone()));
            let shares = shares.collect::<Result<Vec<_>>>()?;
            return self.call("list_value", shares, share.span);
        }
        let zero = matches!(&share.kind, ExprKind::Constant(value) if value.as_i128() == Some(0));
        let share = share.cast(Type::Double);
        match zero {
            true => Ok(Expr::constant(Value::Double(-0.0), Type::Double)),
            false => self.call("negate", vec![share], None),
        }
    }
}
