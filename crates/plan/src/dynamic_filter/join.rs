//! Finds the scans that can leave out what a join will drop.
//!
//! A join that drops probe rows without a match follows each of its probe keys down the plan, to
//! the scans whose column it is. Every node on the way must carry the column along, and drop or
//! keep rows of one key value whatever rows of other values there are:
//!
//! ```text
//! filter, order, exchange, union    as it is
//! project, unique id                where the column is passed on
//! aggregation, window               a group or partition key
//! join                              a column of either side, if no row of that side is replaced by
//!                                   nulls when its match is missing; as its own key, of both sides
//! ```
//!
//! Scans wait for the filters that they get. This cannot become a circle: a join's build side does
//! not depend on its probe side, and no filter goes into a shared subplan, which others read, too.

use super::{
    DynamicFilters,
    column_origin::{ColumnSources, keeps_probe_columns, scans_of, sources_of},
};
use crate::{HashJoinNode, JoinKind, PlanNode, PlanWalk};
use volley_expression::filter::KeyFilter;

/// Adds the filters of a join at a position.
pub(super) fn find(
    plan: &PlanWalk<'_>,
    position: usize,
    join: &HashJoinNode,
    filters: &mut DynamicFilters,
) {
    for (key, column) in join.probe_keys.iter().enumerate().filter(|(key, _)| makes(join, *key)) {
        let from = (plan.input(position, 0), *column);
        filters.add(position, key, scans_of(plan, from, &inputs_of));
    }
}

/// Where a column of the node at a position comes from, for filters of joins above.
pub(super) fn sources(plan: &PlanWalk<'_>, from: (usize, usize)) -> ColumnSources {
    sources_of(plan, from, &inputs_of)
}

/// Whether the join can make a filter of one of its keys.
pub(super) fn makes(join: &HashJoinNode, key: usize) -> bool {
    let column = join.build_keys.get(key);
    let data_type = column.and_then(|it| join.build.schema().types().nth(*it));
    drops_probe_rows(join.kind)
        && join.nulls_equal.get(key) == Some(&false)
        && data_type.is_some_and(|it| KeyFilter::is_possible_for(it.physical()))
}

/// Whether a probe row without a match changes nothing.
fn drops_probe_rows(kind: JoinKind) -> bool {
    match kind {
        JoinKind::Inner
        | JoinKind::Right
        | JoinKind::LeftSemi
        | JoinKind::RightSemi
        | JoinKind::RightAnti => true,
        JoinKind::Left | JoinKind::Full | JoinKind::LeftAnti | JoinKind::LeftMark => false,
    }
}

/// Where a column of a node comes from, beyond [`scans_of`]'s own ways: inputs, each with a column.
fn inputs_of(plan: &PlanWalk<'_>, position: usize, column: usize) -> Vec<(usize, usize)> {
    let input = |column: usize| (plan.input(position, 0), column);
    match plan.visits[position].node {
        PlanNode::OrderBy(_) => vec![input(column)],
        PlanNode::UniqueId(node) if column + 1 < node.schema.len() => vec![input(column)],
        PlanNode::Aggregation(node) => {
            node.keys.get(column).map(|it| input(*it)).into_iter().collect()
        }
        PlanNode::Window(node) => {
            let column = node.output.get(column).filter(|it| node.partition_by.contains(it));
            column.map(|it| input(*it)).into_iter().collect()
        }
        PlanNode::HashJoin(join) => {
            let column = join.output.get(column);
            column.map_or(Vec::new(), |it| columns_below(plan, position, join, *it))
        }
        _ => Vec::new(),
    }
}

/// Where `column`, among all columns of a join, comes from: inputs, each with a column.
fn columns_below(
    plan: &PlanWalk<'_>,
    position: usize,
    join: &HashJoinNode,
    column: usize,
) -> Vec<(usize, usize)> {
    let (probe, build) = (plan.input(position, 0), plan.input(position, 1));
    let build_start = if join.kind.has_probe_columns() { join.probe.schema().len() } else { 0 };
    let key = |keys: &[usize], column: usize| {
        let mut pairs = keys.iter().zip(&join.nulls_equal);
        pairs.position(|(key, nulls_equal)| *key == column && !nulls_equal)
    };
    let mut below = Vec::new();
    match column.checked_sub(build_start) {
        None if keeps_probe_columns(join.kind) => {
            below.push((probe, column));
            let twin = key(&join.probe_keys, column).filter(|_| has_pairs_only(join.kind));
            below.extend(twin.and_then(|it| join.build_keys.get(it)).map(|it| (build, *it)));
        }
        Some(column) if keeps_build_columns(join.kind) && column < join.build.schema().len() => {
            below.push((build, column));
            let twin = key(&join.build_keys, column).filter(|_| has_pairs_only(join.kind));
            below.extend(twin.and_then(|it| join.probe_keys.get(it)).map(|it| (probe, *it)));
        }
        _ => {}
    }
    below
}

/// Whether output rows of a build row have exactly its own values.
fn keeps_build_columns(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Left | JoinKind::Full) && kind.has_build_columns()
}

/// Whether a row of either side without a match has no output row.
fn has_pairs_only(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::LeftSemi | JoinKind::RightSemi)
}
