//! Properties of the rows that a node returns: their order, whether they are one stream, and
//! constant columns.
//!
//! An order applies to the rows of each driver by itself. A reader that relies on it must know that
//! the streams of drivers are not combined on the way, or that there is only one stream.

use crate::{ExchangeKind, GeneratorKind, PlanNode, Routing, SortKey, UnnestNode, WindowNode};
use std::sync::Arc;
use volley_expression::{Expr, ExprKind};
use volley_types::Value;

impl PlanNode {
    /// The columns by which the rows of each driver are sorted, the first key first; empty if
    /// nothing is known. A reader that relies on it must also call [`PlanNode::keep_order`].
    pub fn order(&self) -> Vec<SortKey> {
        let mut path = Vec::new();
        let mut node = self;
        let mut keys = loop {
            match node {
                PlanNode::OrderBy(it) => break it.keys.clone(),
                PlanNode::TopN(it) => break it.keys.clone(),
                PlanNode::PageSource(it) => break it.merge.clone(),
                PlanNode::Exchange(it) => break it.routing.merge_keys().to_vec(),
                PlanNode::Unnest(it) => break order_of_series(it),
                // Several streams are gathered.
                PlanNode::Limit(it) if !it.input.is_one_stream() => break Vec::new(),
                PlanNode::GroupLimit(it) if !it.input.is_one_stream() => break Vec::new(),
                PlanNode::Window(it) if !it.sorted => {
                    break output_keys(&it.output, &sort_keys(it));
                }
                _ => match node.input_in_order() {
                    Some(input) => {
                        path.push(node);
                        node = input;
                    }
                    None => break Vec::new(),
                },
            }
        };
        for node in path.into_iter().rev() {
            if keys.is_empty() {
                break;
            }
            keys = match node {
                PlanNode::Project(it) => {
                    let position = |column: usize| {
                        let is_it =
                            |it: &Expr| matches!(it.kind, ExprKind::Column(from) if from == column);
                        it.exprs.iter().position(is_it)
                    };
                    moved(&keys, position)
                }
                PlanNode::Window(it) => output_keys(&it.output, &keys),
                _ => keys,
            };
        }
        keys
    }

    /// Declares that a reader relies on [`PlanNode::order`].
    pub fn keep_order(node: &mut Arc<PlanNode>) {
        let mut node = node;
        loop {
            let input = match Arc::make_mut(node) {
                PlanNode::Window(it) if !it.sorted => {
                    it.keeps_order = true;
                    return;
                }
                PlanNode::Filter(it) => &mut it.input,
                PlanNode::Project(it) => &mut it.input,
                PlanNode::Window(it) => &mut it.input,
                PlanNode::Limit(it) => &mut it.input,
                PlanNode::GroupLimit(it) => &mut it.input,
                PlanNode::Sample(it) => &mut it.input,
                PlanNode::UniqueId(it) => &mut it.input,
                _ => return,
            };
            node = input;
        }
    }

    /// Whether one driver returns all rows.
    pub fn is_one_stream(&self) -> bool {
        let mut node = self;
        loop {
            match node {
                PlanNode::OrderBy(_)
                | PlanNode::TopN(_)
                | PlanNode::Values(_)
                | PlanNode::Limit(_)
                | PlanNode::GroupLimit(_)
                | PlanNode::EnforceSingleRow(_) => return true,
                PlanNode::LocalExchange(it) => return it.kind == ExchangeKind::Gather,
                PlanNode::PageSource(it) => return !it.merge.is_empty(),
                PlanNode::Exchange(it) => return matches!(it.routing, Routing::Merge(_)),
                PlanNode::Unnest(it) => node = &it.input,
                _ => match node.input_in_order() {
                    Some(input) => node = input,
                    None => return false,
                },
            }
        }
    }

    /// The value that a column has in all rows, where that is known.
    pub fn constant(&self, column: usize) -> Option<&Value> {
        let (mut node, mut column) = (self, column);
        loop {
            node = match node {
                PlanNode::Project(it) => match &it.exprs.get(column)?.kind {
                    ExprKind::Constant(value) => return Some(value),
                    ExprKind::Column(from) => {
                        column = *from;
                        &it.input
                    }
                    _ => return None,
                },
                PlanNode::Window(it) => {
                    column = *it.output.get(column)?;
                    &it.input
                }
                PlanNode::OrderBy(it) => &it.input,
                PlanNode::LocalExchange(it) => &it.input,
                PlanNode::Exchange(it) => &it.input,
                PlanNode::Values(it) => match it.rows.as_slice() {
                    [row] => return row.get(column),
                    _ => return None,
                },
                _ => node.input_in_order()?,
            };
        }
    }

    /// The input whose rows the node passes on in the order of arrival. The node may drop rows, and
    /// keeps the positions of columns (except for projections and windows).
    fn input_in_order(&self) -> Option<&PlanNode> {
        Some(match self {
            PlanNode::Filter(it) => &it.input,
            PlanNode::Project(it) => &it.input,
            PlanNode::Window(it) => &it.input,
            PlanNode::Limit(it) => &it.input,
            PlanNode::GroupLimit(it) => &it.input,
            PlanNode::Sample(it) if it.seed.is_none() => &it.input,
            PlanNode::UniqueId(it) => &it.input,
            _ => return None,
        })
    }

    /// Whether it makes one row at most.
    fn is_one_row(&self) -> bool {
        let mut node = self;
        loop {
            node = match node {
                PlanNode::Values(it) => return it.rows.len() <= 1,
                PlanNode::EnforceSingleRow(_) => return true,
                _ => match node.input_in_order() {
                    Some(input) => input,
                    None => return false,
                },
            }
        }
    }
}

/// The keys that a window sorts by: its partitions, then their order.
fn sort_keys(node: &WindowNode) -> Vec<SortKey> {
    let key = |column: &usize| SortKey { column: *column, descending: false, nulls_first: false };
    node.partition_by.iter().map(key).chain(node.order_by.iter().copied()).collect()
}

/// The leading keys that are returned, if the output columns are the input columns `from`.
fn output_keys(from: &[usize], keys: &[SortKey]) -> Vec<SortKey> {
    moved(keys, |column| from.iter().position(|it| *it == column))
}

/// The first keys that have a position in the output.
fn moved(keys: &[SortKey], position: impl Fn(usize) -> Option<usize>) -> Vec<SortKey> {
    let moved = |key: &SortKey| Some(SortKey { column: position(key.column)?, ..*key });
    keys.iter().map_while(moved).collect()
}

/// The order of numbers that are made of one row.
fn order_of_series(node: &UnnestNode) -> Vec<SortKey> {
    if !node.input.is_one_row() {
        return Vec::new();
    }
    let up = |column| SortKey { column, descending: false, nulls_first: false };
    let column = node.replicated.len();
    match node.generators.as_slice() {
        [it] if it.kind != GeneratorKind::Elements => {
            let step = it.args.get(2).and_then(|it| node.input.constant(*it));
            match step {
                Some(Value::BigInt(step)) if *step > 0 => vec![up(column)],
                Some(Value::BigInt(step)) if *step < 0 => {
                    vec![SortKey { descending: true, ..up(column) }]
                }
                _ => Vec::new(),
            }
        }
        _ if node.ordinality && !node.outer => vec![up(node.schema.len() - 1)],
        _ => Vec::new(),
    }
}
