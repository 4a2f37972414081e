//! Compiled expressions of a recursion's step, which are the same in each iteration.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use volley_error::Result;
use volley_expression::{Expr, ExprSet};
use volley_function::{QueryConstants, Registry};

/// The most sets that are kept: a step has few operators.
const SETS_MAX: usize = 64;

/// Expressions and what they were compiled to.
#[derive(Default)]
pub struct ExprCache(Mutex<Vec<(Vec<Expr>, ExprSet)>>);

impl ExprCache {
    /// As [`ExprSet::compile`], once for identical expressions.
    pub(crate) fn compile(
        &self,
        exprs: &[Expr],
        registry: &Registry,
        query: &Arc<QueryConstants>,
    ) -> Result<ExprSet> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |it: &Vec<Expr>| {
            it.len() == exprs.len() && it.iter().zip(exprs).all(|(a, b)| a.is_identical(b))
        };
        if let Some((_, set)) = kept.iter().find(|it| is_same(&it.0)) {
            return Ok(set.anew());
        }
        let set = ExprSet::compile(exprs, registry, Arc::clone(query))?;
        if kept.len() < SETS_MAX {
            kept.push((exprs.to_vec(), set.anew()));
        }
        Ok(set)
    }

    /// How many sets are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
