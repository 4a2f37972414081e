//! Lateral joins whose right side processes single rows: joined by numbers of the left rows.
//!
//! If the right side expands lists, their distinct combinations are expensive to find, and usually
//! as many as the rows. The rows are numbered instead:
//!
//! ```text
//! t ⟕ᴸ[c] π(unnest[t.a](1))    becomes    t' ⟕[t'.n = u.n and c] π(unnest[u.a](u))
//!                              where      t' = number(t), and u is t' once more
//! t ⋈ᴸ γ(unnest[t.a](1))       becomes    t' ⟕[t'.n = u.n] γ[u.n](unnest[u.a](u))
//! ```

use super::Unnesting;
use super::dependent::Lateral;
use super::graft::{graft, is_row_wise};
use crate::columns::{free_columns, fresh_copy, pass};
use crate::expr::{eq, same, substitute, substitute_in_plan};
use std::collections::HashMap;
use volley_error::Result;
use volley_logical::{AggregateCall, Column, ColumnId, Expr, JoinKind, Plan};
use volley_types::Type;

/// The right side for all rows of the left one.
pub(super) struct Numbered {
    /// The left side, with numbers.
    left: Plan,
    /// The right side over the left one.
    right: Plan,
    /// The number on the left side, and on the right one: that of the left row that a row is of.
    numbers: [Column; 2],
    /// The left side's columns on the right side.
    renamed: HashMap<ColumnId, Expr>,
}

impl Lateral {
    /// Whether the right side is better computed by numbers than for distinct combinations.
    pub(super) fn is_by_number(&self) -> bool {
        let keeps_left = matches!(
            self.kind,
            JoinKind::Left | JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark
        );
        keeps_left && takes_nested(&self.left, &self.right) && is_row_wise(&self.right)
    }
}

/// Whether what the right side takes from the left one has a nested type.
pub(super) fn takes_nested(left: &Plan, right: &Plan) -> bool {
    let taken = free_columns(right);
    left.columns().iter().any(|it| taken.contains(&it.id) && it.data_type.is_nested())
}

impl Unnesting<'_> {
    /// Joins the right side by numbers.
    pub(super) fn remove_by_number(&mut self, mut join: Lateral) -> Result<Plan> {
        let numbered = self.numbered_right(std::mem::take(&mut join.left), join.right);
        join.left = numbered.left;
        join.right = self.resolve(numbered.right)?;
        let [mine, theirs] = numbered.numbers.map(|it| pass(&it).1);
        join.conditions.push(if join.null_aware { same(mine, theirs) } else { eq(mine, theirs) });
        Ok(join.into_plan())
    }

    /// The right side over the left one.
    pub(super) fn numbered_right(&mut self, left: Plan, mut right: Plan) -> Numbered {
        let ids = self.ctx.column_ids;
        let columns = left.columns();
        let (copy, _) = fresh_copy(&left, ids);
        let number = |_| ids.column("number", Type::BigInt);
        let plan = Plan::UniqueId { input: Box::new(copy), column: number(()) };
        let cte = self.new_cte("numbered", plan);
        let fresh = |it: &Column| ids.column(it.name.clone(), it.data_type.clone());
        let read: Vec<Column> = columns.iter().map(fresh).chain([number(())]).collect();
        let own: Vec<Column> = columns.into_iter().chain([number(())]).collect();
        let renamed: HashMap<ColumnId, Expr> =
            own.iter().zip(&read).map(|(old, new)| (old.id, pass(new).1)).collect();
        substitute_in_plan(&mut right, &renamed);
        let input = Plan::CteRef { cte: cte.clone(), columns: read.clone() };
        graft(&mut right, input, &read);
        let left = Plan::CteRef { cte, columns: own.clone() };
        let last = |of: &[Column]| of.last().cloned().unwrap_or_else(|| number(()));
        Numbered { left, right, numbers: [last(&own), last(&read)], renamed }
    }
}

impl Numbered {
    /// The left side, the right side's rows grouped by left rows, and the condition of their join.
    pub(super) fn grouped(
        self,
        mut aggregates: Vec<(Column, AggregateCall)>,
    ) -> (Plan, Plan, Expr) {
        let exprs = aggregates.iter_mut().flat_map(|it| it.1.exprs_mut());
        exprs.for_each(|it| substitute(it, &self.renamed));
        let [mine, theirs] = self.numbers;
        let (input, keys) = (Box::new(self.right), vec![pass(&theirs)]);
        let groups = Plan::Aggregate { input, keys, aggregates };
        (self.left, groups, eq(pass(&mine).1, pass(&theirs).1))
    }
}
