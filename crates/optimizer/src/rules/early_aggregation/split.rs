//! Calls in two: below a join and above it.

use crate::OptimizerContext;
use crate::columns::pass;
use crate::expr::bigint;
use volley_logical::{AggregateCall, CallStep, Column, Expr, JoinKind, SpecialForm};
use volley_types::Type;

/// Sums of numbers of up to this many digits fit 38 digits.
const SUMMED_DIGITS_MAX: u8 = 19;

/// A call before the join, one after it, and what is made of that.
pub(super) struct Split {
    pub(super) partial: (Column, AggregateCall),
    pub(super) total: (Column, AggregateCall),
    pub(super) result: (Column, Expr),
}

impl Split {
    pub(super) fn of(
        (column, call): (Column, AggregateCall),
        kind: JoinKind,
        ctx: &OptimizerContext<'_>,
    ) -> Option<Split> {
        if kind == JoinKind::Inner {
            return Split::in_steps(column, call, ctx);
        }
        let ids = ctx.column_ids;
        let function = call.function.as_str();
        let is_count = function == "count";
        match (function, call.args.as_slice()) {
            ("count", [] | [_]) | ("min" | "max" | "bool_and" | "bool_or" | "every", [_]) => {}
            ("sum", [arg]) if can_sum(arg) => {}
            _ => return None,
        }
        let below = ids.column(column.name.clone(), call.data_type.clone());
        let mut arg = Expr::column(below.id, below.data_type.clone());
        if is_count {
            let alone = bigint(i64::from(call.args.is_empty()));
            arg = Expr::special(SpecialForm::Coalesce, vec![arg, alone], Type::BigInt);
        }
        let (function, data_type) = match is_count {
            true => ("sum".to_owned(), Type::HugeInt),
            false => (call.function.clone(), call.data_type.clone()),
        };
        let total = match is_count {
            true => ids.column(column.name.clone(), data_type.clone()),
            false => column.clone(),
        };
        let value = Expr::column(total.id, data_type.clone()).cast(call.data_type.clone());
        let after = AggregateCall { function, args: vec![arg], data_type, ..call.clone() };
        Some(Split { partial: (below, call), total: (total, after), result: (column, value) })
    }
    /// By intermediate results, if grouping rows first changes no result.
    fn in_steps(column: Column, call: AggregateCall, ctx: &OptimizerContext<'_>) -> Option<Split> {
        match (call.function.as_str(), call.args.as_slice()) {
            ("count", [] | [_]) | ("min" | "max" | "bool_and" | "bool_or" | "every", [_]) => {}
            ("sum" | "avg" | "mean", [arg]) if can_sum(arg) => {}
            _ => return None,
        }
        let types: Vec<Type> = call.args.iter().map(|it| it.data_type.clone()).collect();
        let state = ctx.registry.resolve_aggregate(&call.function, &types).ok()?.intermediate;
        let below = ctx.column_ids.column(column.name.clone(), state.clone());
        let args = vec![Expr::column(below.id, state.clone())];
        let after = AggregateCall { args, step: CallStep::Final(types), ..call.clone() };
        let partial = AggregateCall { step: CallStep::Partial, data_type: state, ..call };
        let result = pass(&column);
        Some(Split { partial: (below, partial), total: (column, after), result })
    }
}

/// Whether sums of the expression are exact and fit their type.
fn can_sum(expr: &Expr) -> bool {
    expr.data_type.decimal_shape().is_some_and(|(digits, _)| digits <= SUMMED_DIGITS_MAX)
}
