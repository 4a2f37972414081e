//! Orders adjacent windows so that one sort serves several.
//!
//! ```text
//! PARTITION BY a ORDER BY b               sorted by b after a, by whom it is sorted already
//! PARTITION BY b, a ORDER BY c     ->     sorts by a, b, c
//! ```
//!
//! Those with the most keys come first; those that can use their sort come directly after them.

use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::{ColumnSet, as_column, collect_used};
use volley_error::Result;
use volley_logical::{Column, ColumnId, Expr, Plan, SortKey, WindowCall};

/// A window without its input.
struct Window {
    partition_by: Vec<Expr>,
    order_by: Vec<SortKey>,
    calls: Vec<(Column, WindowCall)>,
}

/// Orders windows that follow one another.
pub(super) fn share_sorts(plan: Plan, _ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| rewrite_up(plan, &mut |node| Ok(ordered(node))))
}

/// A window above others in its place among them.
fn ordered(plan: Plan) -> Plan {
    let mut windows = Vec::new();
    let mut rest = plan;
    // The topmost first.
    loop {
        match rest {
            Plan::Window { input, partition_by, order_by, calls, limit: None } => {
                windows.push(Window { partition_by, order_by, calls });
                rest = *input;
            }
            other => {
                rest = other;
                break;
            }
        }
    }
    if windows.len() > 1 && !depend(&windows) {
        windows = chained(windows);
    }
    for Window { partition_by, order_by, calls } in windows.into_iter().rev() {
        rest = Plan::Window { input: Box::new(rest), partition_by, order_by, calls, limit: None };
    }
    rest
}

/// Whether a window uses what another one computes.
fn depend(windows: &[Window]) -> bool {
    let mut used = ColumnSet::new();
    for window in windows {
        let args = window.calls.iter().flat_map(|it| it.1.exprs());
        let keys = window.order_by.iter().map(|it| &it.expr);
        let all = window.partition_by.iter().chain(keys).chain(args);
        all.for_each(|it| collect_used(it, &mut used));
    }
    windows.iter().flat_map(|it| &it.calls).any(|it| used.contains(&it.0.id))
}

/// The windows, topmost first, such that each sort serves those above it where it can.
fn chained(mut windows: Vec<Window>) -> Vec<Window> {
    // The order from below; equal ones stay as they are.
    windows.reverse();
    windows.sort_by_key(|it| std::cmp::Reverse(it.partition_by.len() + it.order_by.len()));
    let mut ordered: Vec<Window> = Vec::new();
    while !windows.is_empty() {
        let mut chain = vec![windows.remove(0)];
        let mut at = 0;
        while at < windows.len() {
            let last = chain.last().map(|it| (it.partition_by.as_slice(), it.order_by.as_slice()));
            let (above, order) = (&windows[at].partition_by, &windows[at].order_by);
            match last.and_then(|last| shared_sort((above, order), last)) {
                Some(_) => chain.push(windows.remove(at)),
                None => at += 1,
            }
        }
        // From the last one down: each has its partition keys in the order of the next.
        for index in (1..chain.len()).rev() {
            let (below, above) = chain.split_at_mut(index);
            let (Some(below), Some(above)) = (below.last_mut(), above.first()) else { continue };
            let keys = (below.partition_by.as_slice(), below.order_by.as_slice());
            if let Some(keys) = shared_sort((&above.partition_by, &above.order_by), keys) {
                below.partition_by = keys;
            }
        }
        ordered.append(&mut chain);
    }
    ordered.reverse();
    ordered
}

/// The partition keys of the window `below` in an order such that the window `above`, of partitions
/// and an order that are columns, needs no sort of its own; `None` where there is none.
pub(crate) fn shared_sort(
    above: (&[Expr], &[SortKey]),
    below: (&[Expr], &[SortKey]),
) -> Option<Vec<Expr>> {
    let mut rest: Vec<(ColumnId, &Expr)> =
        below.0.iter().map(|it| Some((as_column(it)?, it))).collect::<Option<_>>()?;
    let mut keys = Vec::with_capacity(rest.len());
    let mut take = |rest: &mut Vec<(ColumnId, &Expr)>, id: ColumnId| {
        let at = rest.iter().position(|it| it.0 == id)?;
        keys.push(rest.remove(at).1.clone());
        Some(())
    };
    for key in above.0 {
        take(&mut rest, as_column(key)?)?;
    }
    let mut order = below.1.iter();
    for key in above.1 {
        let id = as_column(&key.expr)?;
        if rest.is_empty() {
            let below = order.next()?;
            let is_same = as_column(&below.expr) == Some(id)
                && (below.descending, below.nulls_first) == (key.descending, key.nulls_first);
            is_same.then_some(())?;
            continue;
        }
        // As the window below sorts by its partitions.
        (!key.descending && !key.nulls_first).then_some(())?;
        take(&mut rest, id)?;
    }
    keys.extend(rest.into_iter().map(|it| it.1.clone()));
    Some(keys)
}
