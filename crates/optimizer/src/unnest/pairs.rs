//! Subqueries in the condition of an outer, semi or anti join that use columns of both sides.
//!
//! Such a subquery has a value per pair of rows. An inner join makes the pairs, which are filtered
//! and joined to the numbered rows of the preserved side:
//!
//! ```text
//! l ⟕[p] r         l' ⟕[l'.id = x.id] x        x = σ[p](l' × r)      l' = number(l)
//! l ⟗[p] r         (l' ⟕[l'.id = x.id] x) ⟗[x.id₂ = r'.id₂] r'       x = σ[p](l' × r')
//! ```

use super::Unnesting;
use crate::columns::{free_columns, fresh_copy, pass, project_to};
use crate::expr::{eq, substitute};
use std::{collections::HashMap, sync::Arc};
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, Cte, Expr, JoinKind, Plan};
use volley_types::Type;

/// One side of the join, its rows numbered, to be read several times.
struct Numbered {
    cte: Arc<Cte>,
    /// The columns of the side, then the number.
    columns: Vec<Column>,
}

impl Unnesting<'_> {
    /// A join of `kind` with conditions on pairs, which have subqueries.
    pub(super) fn lift_on_pairs(
        &mut self,
        left: Plan,
        right: Plan,
        kind: JoinKind,
        conditions: Vec<Expr>,
    ) -> Result<Plan> {
        if kind == JoinKind::Right {
            return self.lift_on_pairs(right, left, JoinKind::Left, conditions);
        }
        let is_correlated = !free_columns(&left).is_empty();
        if is_correlated && kind != JoinKind::Full {
            return self.lift_on_right(left, right, kind, conditions);
        }
        let outer = self.numbered(left)?;
        if kind == JoinKind::Full {
            return self.lift_full(outer, right, conditions);
        }
        let (pairs, number) = self.pairs(&outer, right, conditions)?;
        Ok(self.joined_back(&outer, pairs, kind, &number))
    }

    /// A left side that depends on an outer query cannot be read twice, nor can a right side be
    /// read by itself that depends on the left one. The conditions become a filter of the right
    /// side, which depends on the left one then.
    pub(super) fn lift_on_right(
        &mut self,
        left: Plan,
        right: Plan,
        kind: JoinKind,
        conditions: Vec<Expr>,
    ) -> Result<Plan> {
        let filtered = Plan::Filter { input: Box::new(right), conjuncts: conditions };
        let right = self.lift(filtered)?;
        Ok(match join(left, right, kind, Vec::new()) {
            Plan::Join { left, right, kind, conditions, null_aware, mark, .. } => {
                Plan::Join { left, right, kind, conditions, null_aware, mark, lateral: true }
            }
            other => other,
        })
    }

    /// The left rows with their pairs, and the right rows without any.
    fn lift_full(&mut self, outer: Numbered, right: Plan, conditions: Vec<Expr>) -> Result<Plan> {
        let inner = self.numbered(right)?;
        let (copy, renamed) = inner.read(self);
        let mut copied = conditions;
        copied.iter_mut().for_each(|it| substitute(it, &renamed));
        let (pairs, number) = self.pairs(&outer, copy, copied)?;
        let left = self.joined_back(&outer, pairs, JoinKind::Left, &number);
        let mine = inner.number();
        let theirs = renamed.get(&mine.id).cloned().ok_or_else(lost)?;
        let equal = eq(theirs, Expr::column(mine.id, Type::BigInt));
        let right = inner.original();
        Ok(join(left, right, JoinKind::Full, vec![equal]))
    }

    /// Numbers the rows of a side.
    fn numbered(&mut self, side: Plan) -> Result<Numbered> {
        if !free_columns(&side).is_empty() {
            return Err(Error::unsupported(
                "correlated full join with a subquery on both sides in its condition",
            ));
        }
        let side = self.resolve(side)?;
        let mut columns = side.columns();
        let (copy, _) = fresh_copy(&side, self.ctx.column_ids);
        let number = self.ctx.column_ids.column("number", Type::BigInt);
        let plan = Plan::UniqueId { input: Box::new(copy), column: number };
        columns.push(self.ctx.column_ids.column("number", Type::BigInt));
        Ok(Numbered { cte: self.new_cte("numbered", plan), columns })
    }

    /// The pairs that satisfy the conditions, and the column with the outer row's number.
    fn pairs(
        &mut self,
        outer: &Numbered,
        inner: Plan,
        mut conditions: Vec<Expr>,
    ) -> Result<(Plan, Column)> {
        let (copy, renamed) = outer.read(self);
        conditions.iter_mut().for_each(|it| substitute(it, &renamed));
        let number = copy.columns().pop().ok_or_else(lost)?;
        let mut columns = inner.columns();
        columns.push(number.clone());
        let all = join(copy, inner, JoinKind::Inner, Vec::new());
        let filtered = Plan::Filter { input: Box::new(all), conjuncts: conditions };
        let lifted = self.lift(filtered)?;
        Ok((project_to(lifted, &columns), number))
    }

    fn joined_back(&self, outer: &Numbered, pairs: Plan, kind: JoinKind, number: &Column) -> Plan {
        let mine = Expr::column(outer.number().id, Type::BigInt);
        let equal = eq(mine, Expr::column(number.id, Type::BigInt));
        join(outer.original(), pairs, kind, vec![equal])
    }
}

impl Numbered {
    fn number(&self) -> &Column {
        // The number was pushed last.
        &self.columns[self.columns.len() - 1]
    }

    /// The side's rows under their own identities.
    fn original(&self) -> Plan {
        Plan::CteRef { cte: self.cte.clone(), columns: self.columns.clone() }
    }

    /// The side's rows under new identities, and those by the old ones.
    fn read(&self, unnesting: &Unnesting<'_>) -> (Plan, HashMap<ColumnId, Expr>) {
        let ids = unnesting.ctx.column_ids;
        let fresh = |it: &Column| ids.column(it.name.clone(), it.data_type.clone());
        let columns: Vec<Column> = self.columns.iter().map(fresh).collect();
        let pairs = self.columns.iter().zip(&columns);
        let renamed = pairs.map(|(old, new)| (old.id, pass(new).1)).collect();
        (Plan::CteRef { cte: self.cte.clone(), columns }, renamed)
    }
}

fn join(left: Plan, right: Plan, kind: JoinKind, conditions: Vec<Expr>) -> Plan {
    Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        conditions,
        null_aware: false,
        mark: None,
        lateral: false,
    }
}

fn lost() -> Error {
    Error::internal("a numbered row lost its number")
}
