//! The order in which a plan is rewritten.

use crate::{OptimizerContext, distribute, keys, rules as all, unnest, volatile};
use volley_error::Result;
use volley_logical::Plan;

/// A rewrite: a plan of the same meaning, cheaper.
pub(crate) struct Rule {
    /// Its name, for switching it off.
    pub(crate) name: &'static str,
    /// What it does, for people.
    pub(crate) description: &'static str,
    /// Does it.
    pub(crate) apply: fn(Plan, &OptimizerContext<'_>) -> Result<Plan>,
}

/// A rule's name and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The name that [`OptimizerContext::disabled_rules`] takes.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
}

/// All rules, each once, in the order in which they first run; those of distribution come last.
pub fn rules() -> Vec<RuleInfo> {
    let mut infos: Vec<RuleInfo> = Vec::new();
    for rule in all::SEQUENCE {
        if infos.iter().all(|it| it.name != rule.name) {
            infos.push(RuleInfo { name: rule.name, description: rule.description });
        }
    }
    infos.extend_from_slice(distribute::RULES);
    infos
}

/// Unnests subqueries and lateral joins, and applies all rules that are switched on. The output
/// columns stay the same.
///
/// # Errors
///
/// Unsupported: a correlated subquery in a place where unnesting does not reach it. I/O, when
/// statistics must be read. Cancelled, timed out.
pub fn optimize(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let columns = plan.columns();
    let plan = volatile::evaluate_once(plan, ctx)?;
    let plan = keys::compare_by_keys(plan, ctx)?;
    let mut plan = unnest::unnest(plan, ctx)?;
    for rule in all::SEQUENCE {
        ctx.query.cancellation.check()?;
        if ctx.is_enabled(rule.name) {
            plan = (rule.apply)(plan, ctx)?;
        }
    }
    Ok(crate::columns::project_to(plan, &columns))
}
