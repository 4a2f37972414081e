//! Unnesting: plans without subqueries in expressions and without lateral joins.
//!
//! After Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015). Two steps:
//!
//! 1. [`lift`]: a subquery in an expression becomes a lateral join below the node that has the
//!    expression, and a column in its place. EXISTS and IN become semi, anti and mark joins; a
//!    scalar subquery becomes an inner join with a `SingleRow`.
//! 2. [`dependent`]: a lateral join `left ⋈ right(left)` becomes a plain one, outermost first. The
//!    left columns that the right side uses become columns of the right side: either columns that
//!    it equates with them anyway, or columns of a *domain*, the distinct combinations in `left`,
//!    which is joined where the right side first needs them ([`push`]).
//!
//! ```text
//! by equality       l ⋈ᴸ γ(σ[r.a = l.a] r)   becomes   l ⋈ᴸ[l.a = r.a] γ[r.a](r)
//! through a domain  l ⋈ᴸ γ(σ[r.a > l.a] r)   becomes   l ⋈ᴸ[l.a = d.a] γ[d.a](σ[r.a > d.a](d × r))
//!                                            where     d = δ(π[a] l)
//! ```

mod lift;
mod pairs;
mod dependent;
mod pull;
mod push;
mod scalar;
mod domain;
mod graft;
mod number;

use crate::OptimizerContext;
use std::{collections::HashMap, sync::Arc};
use volley_error::Result;
use volley_logical::{Cte, Plan};

/// Rewrites `plan` without subqueries and lateral joins. Output columns of the plan keep their
/// identities; further columns may be added.
///
/// # Errors
///
/// Unsupported, naming the construct, if a subquery cannot be unnested in its position.
pub(crate) fn unnest(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    let mut unnesting = Unnesting { ctx, ctes: HashMap::new(), next_cte: first_free_cte(&plan) };
    unnesting.unnest(plan)
}

pub(super) struct Unnesting<'a> {
    ctx: &'a OptimizerContext<'a>,
    /// Common table expressions that are unnested, by identity.
    ctes: HashMap<u32, Arc<Cte>>,
    next_cte: u32,
}

impl Unnesting<'_> {
    fn unnest(&mut self, plan: Plan) -> Result<Plan> {
        let lifted = self.lift(plan)?;
        self.resolve(lifted)
    }

    /// A common table expression depends on nothing: it is unnested by itself, once.
    fn cte(&mut self, cte: &Arc<Cte>) -> Result<Arc<Cte>> {
        if let Some(done) = self.ctes.get(&cte.id) {
            return Ok(done.clone());
        }
        let columns = cte.plan.columns();
        let plan = self.unnest(cte.plan.clone())?;
        let done = Arc::new(Cte {
            id: cte.id,
            name: cte.name.clone(),
            plan: crate::columns::project_to(plan, &columns),
            materialized: cte.materialized,
        });
        self.ctes.insert(cte.id, done.clone());
        Ok(done)
    }

    /// A common table expression of our own.
    fn new_cte(&mut self, name: &str, plan: Plan) -> Arc<Cte> {
        let id = self.next_cte;
        self.next_cte += 1;
        let cte = Arc::new(Cte { id, name: name.to_owned(), plan, materialized: false });
        self.ctes.insert(id, cte.clone());
        cte
    }
}

/// An identity that no common table expression of the plan has.
fn first_free_cte(plan: &Plan) -> u32 {
    let mut next = 0;
    crate::columns::for_each_node(plan, &mut |plan| {
        if let Plan::CteRef { cte, .. } = plan {
            next = next.max(cte.id.saturating_add(1));
        }
    });
    next
}
