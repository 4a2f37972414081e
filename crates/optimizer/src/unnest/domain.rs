//! The columns that a lateral join's right side uses from its left side.

use super::Unnesting;
use crate::columns::fresh_copy;
use crate::expr::{ColumnSet, eq, is_not_null, same};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use volley_logical::{Column, ColumnId, Cte, Expr, Plan};

/// The distinct combinations of the columns that the right side of one lateral join uses from the
/// left side. The plan is built on first use.
pub(super) struct Domain {
    /// The left side.
    left: Plan,
    /// The columns taken.
    columns: Vec<Column>,
    /// The left side as a common table expression, once the domain is a plan.
    shared: Option<Arc<Cte>>,
}

/// The column of a plan that holds what a column of the left side held.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) column: Column,
    /// A null here equals no null of the left side: the column comes from `inner = outer`, and rows
    /// in which it is null are not part of the result.
    pub(super) null_free: bool,
}

/// For each column of the left side: where a plan holds it.
pub(super) type Mapping = BTreeMap<ColumnId, Source>;

/// A plan that computes the right side for every row of the domain at once.
pub(super) struct Pushed {
    pub(super) plan: Plan,
    pub(super) map: Mapping,
}

impl Domain {
    /// The domain of `columns` of `left`.
    pub(super) fn new(left: Plan, columns: &ColumnSet) -> Domain {
        let columns = left.columns().into_iter().filter(|it| columns.contains(&it.id));
        let mut taken: Vec<Column> = Vec::new();
        for column in columns {
            if taken.iter().all(|it| it.id != column.id) {
                taken.push(column);
            }
        }
        Domain { left, columns: taken, shared: None }
    }

    /// The identities of its columns.
    pub(super) fn ids(&self) -> ColumnSet {
        self.columns.iter().map(|it| it.id).collect()
    }

    /// The left side, or a reference to put in its place if it is used a second time.
    pub(super) fn into_left(self) -> Plan {
        match self.shared {
            Some(cte) => Plan::CteRef { cte, columns: self.left.columns() },
            None => self.left,
        }
    }

    /// The domain as a plan with columns of its own.
    pub(super) fn plan(&mut self, unnesting: &mut Unnesting<'_>) -> Pushed {
        let ids = unnesting.ctx.column_ids;
        let cte = self.shared.get_or_insert_with(|| {
            let (copy, _) = fresh_copy(&self.left, ids);
            unnesting.new_cte("outer", copy)
        });
        let fresh = |it: &Column| ids.column(it.name.clone(), it.data_type.clone());
        let all = self.left.columns();
        let read: Vec<Column> = all.iter().map(fresh).collect();
        let mut keys = Vec::new();
        let mut map = Mapping::new();
        for column in &self.columns {
            let Some(at) = all.iter().position(|it| it.id == column.id) else { continue };
            let key = fresh(column);
            keys.push((key.clone(), Expr::column(read[at].id, column.data_type.clone())));
            map.insert(column.id, Source { column: key, null_free: false });
        }
        let input = Box::new(Plan::CteRef { cte: cte.clone(), columns: read });
        Pushed { plan: Plan::Aggregate { input, keys, aggregates: Vec::new() }, map }
    }
}

impl Source {
    /// The column.
    pub(super) fn expr(&self) -> Expr {
        Expr::column(self.column.id, self.column.data_type.clone())
    }
}

/// The columns of the left side, replaced.
pub(super) fn replacements(map: &Mapping) -> HashMap<ColumnId, Expr> {
    map.iter().map(|(id, source)| (*id, source.expr())).collect()
}

/// Equality of what two plans hold of the left side.
pub(super) fn equalities(left: &Mapping, right: &Mapping) -> Vec<Expr> {
    let both = left.iter().filter_map(|(id, source)| Some((source, right.get(id)?)));
    both.map(|(a, b)| {
        if a.null_free || b.null_free { eq(a.expr(), b.expr()) } else { same(a.expr(), b.expr()) }
    })
    .collect()
}

impl Pushed {
    /// Drops the rows that are not part of the result, so that nulls mean what they say.
    pub(super) fn without_nulls(mut self) -> Pushed {
        let columns = self.map.values_mut().filter(|it| it.null_free);
        let conjuncts: Vec<Expr> = columns
            .map(|it| {
                it.null_free = false;
                is_not_null(it.expr())
            })
            .collect();
        if !conjuncts.is_empty() {
            self.plan = Plan::Filter { input: Box::new(self.plan), conjuncts };
        }
        self
    }
}
