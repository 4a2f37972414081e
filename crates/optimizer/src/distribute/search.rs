//! The search for the cheapest distributed plan.
//!
//! ```text
//! first pass    each node keeps its cheapest alternative: the cost of that plan is the bound
//! second pass   each node keeps the cheapest alternative of each distribution, unless
//!                 it costs more than the bound (costs only grow), or
//!                 the cheapest of all and an exchange of its rows cost less
//! ```
//!
//! The alternatives of a node are its entry of the memo: the cheapest plan of each property that a
//! node above may require (System R's interesting orders, here distributions). An input is placed
//! once, for all requirements.

use super::{
    DISTRIBUTION_SEARCH, DistributionContext, Distributor,
    placed::{Distribution, Placed},
};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_plan::{PlanNode, Routing};

/// Alternatives of a node at most: joins of many inputs on many keys have no more useful ones.
const ALTERNATIVES_MAX: usize = 8;

/// Which alternatives a node keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kept {
    /// The cheapest.
    One,
    /// Those that may be a part of a whole plan that costs at most this.
    Bounded(f64),
    /// All: the plain twin, for plans of few joins.
    #[cfg(test)]
    All,
}

/// The cheapest plan that was found, whose rows one task has.
///
/// # Errors
///
/// Internal: a node without an input.
pub(super) fn cheapest(plan: &Arc<PlanNode>, context: &DistributionContext<'_>) -> Result<Placed> {
    let first = cheapest_of(plan, context, Kept::One)?;
    if context.disabled_rules.contains(DISTRIBUTION_SEARCH) {
        return Ok(first);
    }
    let found = cheapest_of(plan, context, Kept::Bounded(first.cost))?;
    Ok(if found.cost < first.cost { found } else { first })
}

/// The cheapest plan of those that one pass makes.
///
/// # Errors
///
/// As [`cheapest`].
pub(super) fn cheapest_of(
    plan: &Arc<PlanNode>,
    context: &DistributionContext<'_>,
    kept: Kept,
) -> Result<Placed> {
    Distributor { context, shared: HashMap::new(), kept }.place_single(plan)
}

/// The first of the cheapest.
///
/// # Errors
///
/// Internal: there is none.
pub(super) fn first_cheapest(alternatives: impl Iterator<Item = Placed>) -> Result<Placed> {
    let cheapest = alternatives.reduce(|one, it| if it.cost < one.cost { it } else { one });
    cheapest.ok_or_else(|| Error::internal("a plan node that cannot be placed"))
}

impl Distributor<'_> {
    /// The alternatives of a node that are worth keeping, the cheapest first.
    pub(super) fn pruned(&self, mut alternatives: Vec<Placed>) -> Vec<Placed> {
        // Stable: the rule that comes first wins among equals.
        alternatives.sort_by(|one, other| one.cost.total_cmp(&other.cost));
        let bound = match (self.kept, alternatives.first()) {
            (_, None) => return alternatives,
            (Kept::One, Some(_)) => {
                alternatives.truncate(1);
                return alternatives;
            }
            #[cfg(test)]
            (Kept::All, Some(_)) => return alternatives,
            (Kept::Bounded(bound), Some(first)) => {
                // An exchange gives the cheapest any distribution.
                let exchanged = first.cost + self.moving(first, &Routing::Hash(Vec::new()));
                bound.min(exchanged)
            }
        };
        let mut kept: Vec<Placed> = Vec::new();
        for it in alternatives {
            let is_useful = kept.iter().all(|other| other.distribution != it.distribution)
                && (kept.is_empty() || it.cost <= bound && is_property(&it.distribution));
            if is_useful && kept.len() < ALTERNATIVES_MAX {
                kept.push(it);
            }
        }
        kept
    }
}

/// Whether a node above may save an exchange because of it.
fn is_property(distribution: &Distribution) -> bool {
    *distribution != Distribution::Arbitrary
}
