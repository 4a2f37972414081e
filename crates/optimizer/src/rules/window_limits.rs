//! Turns filters on ranks into limits of windows: `row_number() OVER ... <= n` keeps the first rows
//! of each partition.

use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::{as_column, as_constant, binary_call};
use volley_error::Result;
use volley_logical::{Column, ColumnId, Expr, Plan, WindowCall};

/// Functions whose values do not fall along a partition, and begin with 1.
const RANKS: [&str; 3] = ["row_number", "rank", "dense_rank"];

/// Gives limits to windows below filters.
pub(super) fn limit_windows(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| rewrite_up(plan, &mut |node| Ok(limited(node))))
}

fn limited(plan: Plan) -> Plan {
    let Plan::Filter { input, mut conjuncts } = plan else { return plan };
    let Plan::Window { input, partition_by, order_by, calls, limit } = *input else {
        return Plan::Filter { input, conjuncts };
    };
    let mut limit = limit;
    conjuncts.retain(|conjunct| {
        let Some(found) = rank_limit(conjunct, &calls, order_by.len()) else { return true };
        if limit.is_some() {
            return true;
        }
        limit = Some((found.column, found.rows));
        // An equality keeps one of the rows that the limit leaves.
        !found.is_all
    });
    let window = Plan::Window { input, partition_by, order_by, calls, limit };
    if conjuncts.is_empty() {
        return window;
    }
    Plan::Filter { input: Box::new(window), conjuncts }
}

/// A limit that a conjunct says.
struct Found {
    column: ColumnId,
    rows: u64,
    /// Whether the conjunct says no more than the limit.
    is_all: bool,
}

/// `rank <= n`, `rank < n` or `rank = n`, either way round. The call has all order keys: only then
/// its values do not fall in the node's order.
fn rank_limit(conjunct: &Expr, calls: &[(Column, WindowCall)], keys: usize) -> Option<Found> {
    let forms = [
        ("lte", false, 0),
        ("lt", false, 1),
        ("eq", false, 0),
        ("gte", true, 0),
        ("gt", true, 1),
        ("eq", true, 0),
    ];
    forms.into_iter().find_map(|(name, is_swapped, less)| {
        let (left, right) = binary_call(conjunct, name)?;
        let (rank, bound) = if is_swapped { (right, left) } else { (left, right) };
        let column = as_column(rank)?;
        let call = &calls.iter().find(|it| it.0.id == column)?.1;
        let is_rank = RANKS.contains(&call.function.as_str())
            && call.order_keys == keys
            && call.order_by.is_empty();
        let rows = as_constant(bound)?.as_i128()? - less;
        let rows = u64::try_from(rows.max(0)).ok()?;
        is_rank.then_some(Found { column, rows, is_all: name != "eq" })
    })
}
