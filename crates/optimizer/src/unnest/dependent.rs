//! Turns lateral joins into plain joins.

use super::Unnesting;
use super::domain::{Domain, Mapping, Pushed, equalities, replacements};
use crate::columns::{free_columns, map_inputs, output_set};
use crate::expr::{ColumnSet, as_column, binary_call, eq, same, substitute, used_columns};
use crate::stack::deep;
use volley_error::Result;
use volley_logical::{Column, Expr, JoinKind, Plan};

/// A lateral join, split. The left side depends on nothing.
pub(super) struct Lateral {
    pub(super) left: Plan,
    pub(super) right: Plan,
    pub(super) kind: JoinKind,
    pub(super) conditions: Vec<Expr>,
    pub(super) null_aware: bool,
    pub(super) mark: Option<Column>,
}

impl Unnesting<'_> {
    /// Removes the lateral joins of a plan that depends on nothing, outermost first.
    pub(super) fn resolve(&mut self, mut plan: Plan) -> Result<Plan> {
        deep(|| {
            if !matches!(plan, Plan::Join { lateral: true, .. }) {
                map_inputs(&mut plan, |input| self.resolve(input))?;
                return Ok(plan);
            }
            let Plan::Join { left, right, kind, conditions, null_aware, mark, .. } = plan else {
                return Ok(plan);
            };
            let left = self.resolve(*left)?;
            let mut join = Lateral { left, right: *right, kind, conditions, null_aware, mark };
            join.hoist(self);
            self.remove_lateral(join)
        })
    }

    fn remove_lateral(&mut self, mut join: Lateral) -> Result<Plan> {
        let left_columns = output_set(&join.left);
        if join.is_correlated(&left_columns) && join.takes_left() {
            return self.resolve(join.grafted());
        }
        if join.is_correlated(&left_columns) && join.is_single() {
            return self.remove_single(join);
        }
        if join.is_correlated(&left_columns) && join.is_by_number() {
            return self.remove_by_number(join);
        }
        if join.is_correlated(&left_columns) {
            join.pull_conditions(&left_columns);
        }
        if !join.is_correlated(&left_columns) {
            join.right = self.resolve(join.right)?;
            return Ok(join.into_plan());
        }
        let pushed = self.push_into_right(&mut join)?;
        join.attach(pushed, self)
    }

    /// The right side, which is taken out of the join, for all rows of the left side at once.
    pub(super) fn push_into_right(&mut self, join: &mut Lateral) -> Result<Pushed> {
        let mut taken = free_columns(&join.right);
        let left_columns = output_set(&join.left);
        taken.retain(|it| left_columns.contains(it));
        let mut domain = Domain::new(std::mem::take(&mut join.left), &taken);
        let pushed = self.push(std::mem::take(&mut join.right), &taken, &mut domain)?;
        join.left = domain.into_left();
        Ok(pushed)
    }
}

impl Lateral {
    pub(super) fn is_correlated(&self, left: &ColumnSet) -> bool {
        !free_columns(&self.right).is_disjoint(left)
    }

    /// The join with a right side that depends on nothing.
    pub(super) fn into_plan(self) -> Plan {
        Plan::Join {
            left: Box::new(self.left),
            right: Box::new(self.right),
            kind: self.kind,
            conditions: self.conditions,
            null_aware: self.null_aware,
            mark: self.mark,
            lateral: false,
        }
    }

    /// Joins what was computed for the whole domain: rows belong together where they agree in what
    /// the right side took from the left one.
    fn attach(mut self, pushed: Pushed, unnesting: &mut Unnesting<'_>) -> Result<Plan> {
        // With three-valued IN, only the comparisons of IN itself may be unknown.
        let pushed = if self.null_aware { pushed.without_nulls() } else { pushed };
        self.conditions.extend(with_outer(&pushed.map));
        self.right = unnesting.resolve(pushed.plan)?;
        Ok(self.into_plan())
    }

    /// Computes on the left side what the right side compares with columns of its own: then the
    /// comparison is one of columns.
    fn hoist(&mut self, unnesting: &Unnesting<'_>) {
        let columns = output_set(&self.left);
        let mut added = Vec::new();
        hoist_in(&mut self.right, &columns, unnesting, &mut added);
        if added.is_empty() {
            return;
        }
        let left = std::mem::take(&mut self.left);
        let mut exprs: Vec<_> = left.columns().iter().map(crate::columns::pass).collect();
        exprs.extend(added);
        self.left = Plan::Project { input: Box::new(left), exprs };
    }
}

/// The left side's columns equal what the right side holds of them.
pub(super) fn with_outer(map: &Mapping) -> Vec<Expr> {
    map.iter()
        .map(|(id, source)| {
            let outer = Expr::column(*id, source.column.data_type.clone());
            if source.null_free { eq(outer, source.expr()) } else { same(outer, source.expr()) }
        })
        .collect()
}

/// Joins two pushed inputs of an inner join.
pub(super) fn join_pushed(left: Pushed, right: Pushed, mut conditions: Vec<Expr>) -> Pushed {
    conditions.extend(equalities(&left.map, &right.map));
    let mut map = right.map;
    for (id, source) in left.map {
        let null_free = source.null_free || map.get(&id).is_some_and(|it| it.null_free);
        map.insert(id, super::domain::Source { null_free, ..source });
    }
    let by = replacements(&map);
    conditions.iter_mut().for_each(|it| substitute(it, &by));
    let plan = Plan::Join {
        left: Box::new(left.plan),
        right: Box::new(right.plan),
        kind: JoinKind::Inner,
        conditions,
        null_aware: false,
        mark: None,
        lateral: false,
    };
    Pushed { plan, map }
}

fn hoist_in(
    plan: &mut Plan,
    outer: &ColumnSet,
    unnesting: &Unnesting<'_>,
    added: &mut Vec<(Column, Expr)>,
) {
    deep(|| {
        if let Plan::Filter { conjuncts, .. } = plan {
            for conjunct in conjuncts {
                hoist_side(conjunct, outer, unnesting, added);
            }
        }
        for input in plan.inputs_mut() {
            hoist_in(input, outer, unnesting, added);
        }
    });
}

/// `f(outer columns) = g(own columns)`: the left side becomes a column.
fn hoist_side(
    conjunct: &mut Expr,
    outer: &ColumnSet,
    unnesting: &Unnesting<'_>,
    added: &mut Vec<(Column, Expr)>,
) {
    if binary_call(conjunct, "eq").is_none() {
        return;
    }
    let [a, b] = conjunct.children_mut() else { return };
    let (of_a, of_b) = (used_columns(a), used_columns(b));
    let is_outer = |it: &ColumnSet| !it.is_empty() && it.is_subset(outer);
    let side = if is_outer(&of_a) && of_b.is_disjoint(outer) {
        a
    } else if is_outer(&of_b) && of_a.is_disjoint(outer) {
        b
    } else {
        return;
    };
    if as_column(side).is_some() {
        return;
    }
    let column = unnesting.ctx.column_ids.column("outer", side.data_type.clone());
    let by_column = Expr::column(column.id, column.data_type.clone());
    added.push((column, std::mem::replace(side, by_column)));
}
