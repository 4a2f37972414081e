//! Pushes the domain through recursions: all rows of the domain recur at once, and the columns of
//! the left side become part of the recursion's rows.
//!
//! ```text
//! Recursive anchor(l) step(l, w)
//!     becomes, for all l at once, with held columns d:
//! Recursive (anchor with d) (step with d over σ[w.d = l] w, for all l that w has)
//! ```
//!
//! A row of the left side whose recursion has ended has no rows in the working table, and is not
//! part of later iterations, even if the step makes a row without input.

use crate::columns::{fresh_copy, rewrite_up};
use crate::expr::same;
use crate::rules::reads_working_table;
use crate::unnest::Unnesting;
use crate::unnest::domain::{Domain, Mapping, Pushed, Source};
use volley_error::{Error, Result};
use volley_logical::{Column, ColumnId, ColumnIds, Expr, Plan, RECURRING};

/// A recursion whose working table gets more columns.
struct Widened {
    id: u32,
    name: String,
    columns: Vec<Column>,
    /// Columns of the left side, and their names and types among the rows that come.
    held: Vec<(ColumnId, Column)>,
}

impl Unnesting<'_> {
    pub(super) fn push_recursive(&mut self, plan: Plan, domain: &mut Domain) -> Result<Pushed> {
        let Plan::Recursive { id, name, distinct, mut keys, inputs, columns } = plan else {
            return Err(Error::internal("not a recursion"));
        };
        let [(anchor, anchor_feeds), (step, step_feeds)] = <[_; 2]>::try_from(inputs)
            .map_err(|_| Error::internal("a recursion without its parts"))?;
        let need = domain.ids();
        let anchor = self.push(anchor, &need, domain)?.without_nulls();
        let held = anchor.map.iter().map(|(id, source)| (*id, source.column.clone())).collect();
        let widened = Widened { id, name, columns, held };
        let ids = self.ctx.column_ids;
        let step = widened.correlated(inlined(step, id, ids)?, ids)?;
        let mut rest = Domain::new(widened.left(ids), &need);
        let step = self.push(step, &need, &mut rest)?.without_nulls();
        let inputs = vec![widened.fed(anchor, anchor_feeds)?, widened.fed(step, step_feeds)?];
        let Widened { id, name, mut columns, held } = widened;
        if !keys.is_empty() {
            // Each row of the left side has keys of its own.
            keys.extend(columns.len()..columns.len() + held.len());
        }
        let mut map = Mapping::new();
        for (outer, Column { name, data_type, .. }) in held {
            let column = ids.column(name, data_type);
            columns.push(column.clone());
            map.insert(outer, Source { column, null_free: false });
        }
        let plan = Plan::Recursive { id, name, distinct, keys, inputs, columns };
        Ok(Pushed { plan, map })
    }
}

impl Widened {
    /// The working table with all columns; those that it had are `columns`. Also what it holds of
    /// the left side.
    fn working_table(
        &self,
        id: u32,
        mut columns: Vec<Column>,
        ids: &ColumnIds,
    ) -> (Plan, Vec<Column>) {
        let held = self.held.iter().map(|(_, it)| ids.column(&*it.name, it.data_type.clone()));
        let held: Vec<Column> = held.collect();
        columns.extend(held.iter().cloned());
        (Plan::WorkingTable { id, name: self.name.clone(), columns }, held)
    }

    /// The step, in which working tables have the rows of one row of the left side.
    fn correlated(&self, step: Plan, ids: &ColumnIds) -> Result<Plan> {
        rewrite_up(step, &mut |node| match node {
            Plan::WorkingTable { id, columns, .. } if id & !RECURRING == self.id => {
                let (table, held) = self.working_table(id, columns, ids);
                let outer = self.held.iter().zip(&held).map(|((outer, _), it)| {
                    let own = Expr::column(it.id, it.data_type.clone());
                    same(Expr::column(*outer, it.data_type.clone()), own)
                });
                Ok(Plan::Filter { input: Box::new(table), conjuncts: outer.collect() })
            }
            other => Ok(other),
        })
    }

    /// What the step takes from the left side: what is in the working table.
    fn left(&self, ids: &ColumnIds) -> Plan {
        let own = self.columns.iter().map(|it| ids.column(&*it.name, it.data_type.clone()));
        let (table, held) = self.working_table(self.id, own.collect(), ids);
        let outer = self.held.iter().zip(held).map(|((outer, _), it)| {
            let expr = Expr::column(it.id, it.data_type.clone());
            (Column { id: *outer, ..it }, expr)
        });
        Plan::Project { input: Box::new(table), exprs: outer.collect() }
    }

    /// The anchor or the step, and the columns that feed its output columns.
    fn fed(&self, part: Pushed, mut feeds: Vec<ColumnId>) -> Result<(Plan, Vec<ColumnId>)> {
        let Pushed { plan, map } = part;
        for feed in &mut feeds {
            *feed = super::union::feed(*feed, &plan, &map);
        }
        for (outer, _) in &self.held {
            let source = map.get(outer).ok_or_else(|| Error::internal("inputs disagree"))?;
            feeds.push(source.column.id);
        }
        Ok((plan, feeds))
    }
}

/// A step without common table expressions that read the working table.
fn inlined(step: Plan, recursion: u32, ids: &ColumnIds) -> Result<Plan> {
    rewrite_up(step, &mut |node| match node {
        Plan::CteRef { cte, columns } if reads_working_table(&cte.plan, |it| it == recursion) => {
            let (copy, renamed) = fresh_copy(&cte.plan, ids);
            let made = cte.plan.columns();
            let input = Box::new(inlined(copy, recursion, ids)?);
            let exprs = columns.into_iter().zip(made).map(|(column, inner)| {
                let id = renamed.get(&inner.id).copied().unwrap_or(inner.id);
                (column, Expr::column(id, inner.data_type))
            });
            Ok(Plan::Project { input, exprs: exprs.collect() })
        }
        other => Ok(other),
    })
}
