//! Pushes the domain through joins.

use super::{substituted_plan, taken_by, taken_by_exprs};
use crate::columns::pass;
use crate::expr::{ColumnSet, substitute};
use crate::unnest::Unnesting;
use crate::unnest::dependent::join_pushed;
use crate::unnest::domain::{Domain, Mapping, Pushed, Source, equalities, replacements};
use volley_error::{Error, Result};
use volley_logical::{ColumnId, Expr, JoinKind, Plan, SpecialForm};

impl Unnesting<'_> {
    pub(super) fn push_join(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Plan::Join { left, right, kind, conditions, null_aware, mark, lateral } = plan else {
            return Err(Error::internal("not a join"));
        };
        if lateral {
            let plan = Plan::Join { left, right, kind, conditions, null_aware, mark, lateral };
            return self.push_lateral(plan, need, domain);
        }
        match kind {
            JoinKind::Inner => self.push_inner(*left, *right, conditions, need, domain),
            JoinKind::Full => self.push_full(*left, *right, conditions, need, domain),
            JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => {
                let (left, right, kind) = (right, left, mirrored(kind));
                let plan = Plan::Join { left, right, kind, conditions, null_aware, mark, lateral };
                self.push_preserving(plan, need, domain)
            }
            _ => {
                let plan = Plan::Join { left, right, kind, conditions, null_aware, mark, lateral };
                self.push_preserving(plan, need, domain)
            }
        }
    }

    /// The nearest right row of each left row, which holds what is needed.
    pub(super) fn push_asof(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Plan::AsofJoin { left, right, kind, mut conditions } = plan else {
            return Err(Error::internal("not an ASOF join"));
        };
        let place = conditions.first().and_then(|it| it.span);
        let of_right = taken_by(&right, domain);
        if matches!(kind, JoinKind::Right | JoinKind::Full) || !of_right.is_empty() {
            let what = "an ASOF join whose right side depends on an outer query, or is kept";
            return Err(Error::unsupported(what).span(place));
        }
        let Pushed { plan, map } = self.push(*left, need, domain)?;
        let by = replacements(&map);
        conditions.iter_mut().for_each(|it| substitute(it, &by));
        let plan = Plan::AsofJoin { left: Box::new(plan), right, kind, conditions };
        Ok(Pushed { plan, map })
    }

    /// Either side may hold what is needed.
    fn push_inner(
        &mut self,
        left: Plan,
        right: Plan,
        conditions: Vec<Expr>,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let (outer, own): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|it| !taken_by_exprs([it], domain).is_empty());
        if !outer.is_empty() {
            let join = inner_join(left, right, own);
            return self.push_filter(join, outer, need, domain);
        }
        let (mut of_left, mut of_right) = (taken_by(&left, domain), taken_by(&right, domain));
        let is_held = |it: &ColumnId| of_left.contains(it) || of_right.contains(it);
        let missing: ColumnSet = need.iter().copied().filter(|it| !is_held(it)).collect();
        let carrier = if of_left.is_empty() { &mut of_right } else { &mut of_left };
        carrier.extend(missing);
        let left = self.push(left, &of_left, domain)?;
        let right = self.push(right, &of_right, domain)?;
        Ok(join_pushed(left, right, own))
    }

    /// Joins that return rows of the left input independently: the left input provides the domain.
    fn push_preserving(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Plan::Join { left, right, kind, mut conditions, null_aware, mark, .. } = plan else {
            return Err(Error::internal("not a join"));
        };
        let left = self.push(*left, need, domain)?;
        let of_right = taken_by(&right, domain);
        let mut right = self.push(*right, &of_right, domain)?;
        if null_aware {
            right = right.without_nulls();
        }
        let by = replacements(&left.map);
        conditions.iter_mut().for_each(|it| substitute(it, &by));
        conditions.extend(match null_aware {
            true => never_unknown(&left.map, &right.map),
            false => equalities(&left.map, &right.map),
        });
        let plan = Plan::Join {
            left: Box::new(left.plan),
            right: Box::new(right.plan),
            kind,
            conditions,
            null_aware,
            mark,
            lateral: false,
        };
        Ok(Pushed { plan, map: left.map })
    }

    /// Rows of either side are taken literally: both hold what is needed.
    fn push_full(
        &mut self,
        left: Plan,
        right: Plan,
        mut conditions: Vec<Expr>,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let need: ColumnSet = need.union(&domain.ids()).copied().collect();
        let left = self.push(left, &need, domain)?.without_nulls();
        let right = self.push(right, &need, domain)?.without_nulls();
        let by = replacements(&left.map);
        conditions.iter_mut().for_each(|it| substitute(it, &by));
        conditions.extend(equalities(&left.map, &right.map));
        let join = Plan::Join {
            left: Box::new(left.plan),
            right: Box::new(right.plan),
            kind: JoinKind::Full,
            conditions,
            null_aware: false,
            mark: None,
            lateral: false,
        };
        let mut exprs: Vec<_> = join.columns().iter().map(pass).collect();
        let mut map = Mapping::new();
        for (id, source) in &left.map {
            let Some(other) = right.map.get(id) else { continue };
            let data_type = source.column.data_type.clone();
            let column = self.ctx.column_ids.column(source.column.name.clone(), data_type.clone());
            let args = vec![source.expr(), other.expr()];
            exprs.push((column.clone(), Expr::special(SpecialForm::Coalesce, args, data_type)));
            map.insert(*id, Source { column, null_free: false });
        }
        Ok(Pushed { plan: Plan::Project { input: Box::new(join), exprs }, map })
    }

    /// A lateral join within the right side of another one: its left side gets what both its sides
    /// need, so that its right side depends on its left one only.
    fn push_lateral(
        &mut self,
        plan: Plan,
        need: &ColumnSet,
        domain: &mut Domain,
    ) -> Result<Pushed> {
        let Plan::Join { left, right, kind, mut conditions, null_aware, mark, lateral } = plan
        else {
            return Err(Error::internal("not a join"));
        };
        let mut need = need.clone();
        need.extend(taken_by(&right, domain));
        need.extend(taken_by_exprs(&conditions, domain));
        let left = self.push(*left, &need, domain)?;
        let by = replacements(&left.map);
        conditions.iter_mut().for_each(|it| substitute(it, &by));
        let plan = Plan::Join {
            left: Box::new(left.plan),
            right: Box::new(substituted_plan(*right, &left.map)),
            kind,
            conditions,
            null_aware,
            mark,
            lateral,
        };
        Ok(Pushed { plan, map: left.map })
    }
}

fn inner_join(left: Plan, right: Plan, conditions: Vec<Expr>) -> Plan {
    Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind: JoinKind::Inner,
        conditions,
        null_aware: false,
        mark: None,
        lateral: false,
    }
}

/// Equality that is never null; the right side has no rows that are not part of the result.
fn never_unknown(left: &Mapping, right: &Mapping) -> Vec<Expr> {
    let both = left.iter().filter_map(|(id, source)| Some((source, right.get(id)?)));
    both.map(|(a, b)| crate::expr::same(a.expr(), b.expr())).collect()
}

/// The kind of the join with its sides swapped.
fn mirrored(kind: JoinKind) -> JoinKind {
    match kind {
        JoinKind::Left => JoinKind::Right,
        JoinKind::Right => JoinKind::Left,
        JoinKind::LeftSemi => JoinKind::RightSemi,
        JoinKind::RightSemi => JoinKind::LeftSemi,
        JoinKind::LeftAnti => JoinKind::RightAnti,
        JoinKind::RightAnti => JoinKind::LeftAnti,
        other => other,
    }
}
