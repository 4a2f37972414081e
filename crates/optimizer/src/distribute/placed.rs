//! How the rows of a node are distributed over tasks.

use std::{collections::BTreeSet, sync::Arc};
use volley_expression::{Expr, ExprKind};
use volley_plan::{PlanNode, TaskCount};

/// A node, and what is known of its rows.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub node: Arc<PlanNode>,
    pub distribution: Distribution,
    /// About how many rows all tasks have together, where that is known.
    pub rows: Option<f64>,
    /// What exchanges and tables of joins cost so far; see [`super::cost`].
    pub cost: f64,
}

impl Placed {
    /// A plan that runs within the task of the node around it.
    pub(super) fn in_step(node: &Arc<PlanNode>) -> Placed {
        let distribution = Distribution::Single;
        Placed { node: Arc::clone(node), distribution, rows: None, cost: 0.0 }
    }

    /// The number of columns; one, if there is none.
    pub(super) fn width(&self) -> f64 {
        self.node.schema().len().max(1) as f64
    }
}

/// Which task has which rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Distribution {
    /// One task has all.
    Single,
    /// Rows are hashed by keys, in this order. Each key is a set of columns that are equal in all
    /// rows.
    Hashed(Vec<BTreeSet<usize>>),
    /// Any task has any row.
    Arbitrary,
}

impl Distribution {
    /// Rows that were hashed by these columns.
    pub(super) fn of_keys(keys: &[usize]) -> Distribution {
        Distribution::Hashed(keys.iter().map(|it| BTreeSet::from([*it])).collect())
    }

    /// How many tasks have rows.
    pub(super) fn tasks(&self) -> TaskCount {
        match self {
            Distribution::Single => TaskCount::One,
            Distribution::Hashed(_) | Distribution::Arbitrary => TaskCount::All,
        }
    }

    /// Whether rows with equal values in `keys` are in the same task.
    pub(super) fn keeps_together(&self, keys: &[usize]) -> bool {
        match self {
            Distribution::Single => true,
            Distribution::Hashed(hashed) => {
                hashed.iter().all(|it| keys.iter().any(|key| it.contains(key)))
            }
            Distribution::Arbitrary => false,
        }
    }

    /// The same, where the columns of the rows have moved: `to` answers the positions of a column.
    pub(super) fn mapped(&self, to: impl Fn(usize) -> Vec<usize>) -> Distribution {
        let Distribution::Hashed(keys) = self else { return self.clone() };
        let moved = |it: &BTreeSet<usize>| it.iter().flat_map(|it| to(*it)).collect();
        let keys: Vec<BTreeSet<usize>> = keys.iter().map(moved).collect();
        match keys.iter().any(BTreeSet::is_empty) {
            true => Distribution::Arbitrary,
            false => Distribution::Hashed(keys),
        }
    }

    /// What is true of rows of all inputs, which several tasks have.
    pub(super) fn common<'a>(mut inputs: impl Iterator<Item = &'a Distribution>) -> Distribution {
        let Some(Distribution::Hashed(mut keys)) = inputs.next().cloned() else {
            return Distribution::Arbitrary;
        };
        for input in inputs {
            let Distribution::Hashed(other) = input else { return Distribution::Arbitrary };
            if other.len() != keys.len() {
                return Distribution::Arbitrary;
            }
            for (key, other) in keys.iter_mut().zip(other) {
                key.retain(|it| other.contains(it));
            }
        }
        match keys.iter().any(BTreeSet::is_empty) {
            true => Distribution::Arbitrary,
            false => Distribution::Hashed(keys),
        }
    }
}

/// Where a column of the only input of a node is in its output.
pub(super) fn outputs_of(node: &PlanNode, column: usize) -> Vec<usize> {
    let at = |positions: &[usize]| -> Vec<usize> {
        let positions = positions.iter().enumerate().filter(|it| *it.1 == column);
        positions.map(|it| it.0).collect()
    };
    match node {
        PlanNode::Project(project) => {
            let is_it = |it: &Expr| matches!(it.kind, ExprKind::Column(from) if from == column);
            let exprs = project.exprs.iter().enumerate().filter(|it| is_it(it.1));
            exprs.map(|it| it.0).collect()
        }
        PlanNode::Aggregation(aggregation) => at(&aggregation.keys),
        PlanNode::Window(window) => at(&window.output),
        PlanNode::Unnest(unnest) => at(&unnest.replicated),
        _ => vec![column],
    }
}
