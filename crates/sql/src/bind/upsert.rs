//! INSERT with handling of key conflicts: ON CONFLICT, OR REPLACE, OR IGNORE.

use super::{
    Binder, Bound, Clause,
    merge::{Arm, joined, replaced},
    scope::Scope,
    select::column_expr,
    target::Target,
    unsupported,
};
use sqlparser::ast::{
    self, Assignment, ConflictTarget, Insert, OnConflictAction, OnInsert, SqliteOnConflict,
};
use volley_connector::{MergeAction, WriteKind};
use volley_error::{Error, Result};
use volley_logical::{Expr, JoinKind, Plan, SortKey, SpecialForm};
use volley_types::{Type, Value};

/// What INSERT does with a row whose key is there.
pub(super) enum Conflict<'a> {
    /// Fails.
    Refused,
    /// Leaves it out, for these keys.
    Skipped(Vec<usize>),
    /// Changes the row that is there.
    Updated(Upsert<'a>),
}

/// How INSERT changes a row that is there.
pub(super) struct Upsert<'a> {
    /// The columns of the key.
    key: Vec<usize>,
    /// SET; `None` for all columns.
    assignments: Option<&'a [Assignment]>,
    condition: Option<&'a ast::Expr>,
}

impl<'a> Binder<'a> {
    /// What INSERT does with rows whose key is there.
    pub(super) fn conflict(&self, insert: &'a Insert, target: &Target) -> Result<Conflict<'a>> {
        let all_keys = || (0..target.stored.definition.keys.len()).collect();
        match (&insert.or, &insert.on) {
            (None, None) => Ok(Conflict::Refused),
            (Some(SqliteOnConflict::Ignore), None) => Ok(Conflict::Skipped(all_keys())),
            (Some(SqliteOnConflict::Replace), None) => {
                let key = self.only_key(target, "INSERT OR REPLACE")?;
                Ok(Conflict::Updated(Upsert { key, assignments: None, condition: None }))
            }
            (None, Some(OnInsert::OnConflict(on))) => {
                let key = match &on.conflict_target {
                    None => None,
                    Some(it) => Some(self.conflict_key(it, target)?),
                };
                match (&on.action, key) {
                    (OnConflictAction::DoNothing, None) => Ok(Conflict::Skipped(all_keys())),
                    (OnConflictAction::DoNothing, Some(key)) => Ok(Conflict::Skipped(vec![key])),
                    (OnConflictAction::DoUpdate(update), key) => {
                        let key = match key {
                            Some(key) => self.key_columns(target, key),
                            None => self.only_key(target, "ON CONFLICT DO UPDATE")?,
                        };
                        let assignments = Some(update.assignments.as_slice());
                        let condition = update.selection.as_ref();
                        Ok(Conflict::Updated(Upsert { key, assignments, condition }))
                    }
                }
            }
            _ => Err(unsupported("this form of INSERT", target.span)),
        }
    }

    fn key_columns(&self, target: &Target, key: usize) -> Vec<usize> {
        let key = target.stored.definition.keys.get(key);
        key.map(|it| it.columns.clone()).unwrap_or_default()
    }

    /// The columns of the only key of the table.
    fn only_key(&self, target: &Target, what: &str) -> Result<Vec<usize>> {
        match target.stored.definition.keys.as_slice() {
            [key] => Ok(key.columns.clone()),
            [] => {
                let message =
                    format!("{what} needs a PRIMARY KEY or UNIQUE columns: {}", target.name);
                Err(Error::invalid_query(message).span(target.span))
            }
            _ => {
                let message = format!("{what} of a table with several keys: {}", target.name);
                let error = Error::invalid_query(message).span(target.span);
                Err(error.hint("say which: ON CONFLICT (column) DO UPDATE"))
            }
        }
    }

    /// The key of exactly these columns.
    fn conflict_key(&self, written: &ConflictTarget, target: &Target) -> Result<usize> {
        let ConflictTarget::Columns(names) = written else {
            return Err(unsupported("ON CONFLICT ON CONSTRAINT", target.span));
        };
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let span = self.span(name.span);
            wanted.push(self.position_of(target.schema(), &name.value, span)?);
        }
        wanted.sort_unstable();
        let is_wanted = |columns: &[usize]| {
            let mut columns = columns.to_vec();
            columns.sort_unstable();
            columns == wanted
        };
        let keys = &target.stored.definition.keys;
        keys.iter().position(|it| is_wanted(&it.columns)).ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|it| it.value.as_str()).collect();
            let message = format!("no PRIMARY KEY or UNIQUE of the columns {}", names.join(", "));
            let span = names.first().and_then(|_| self.span(written_span(written)));
            Error::invalid_query(message).span(span)
        })
    }

    /// The first row of each key, in the order in which they come, and those that have none because
    /// a part of it is null.
    fn first_of_key(&self, source: Bound, key: &[usize]) -> Result<Bound> {
        let Bound { plan, columns } = source;
        let (numbered, number) = self.numbered(plan)?;
        let order =
            SortKey { expr: column_expr(&number, None), descending: false, nulls_first: false };
        let (mut plan, place) = self.windowed(numbered, "row_number", vec![order]);
        let parts = key.iter().filter_map(|it| columns.get(*it)).map(|it| column_expr(it, None));
        let parts: Vec<Expr> = parts.collect();
        let one = Expr::constant(Value::BigInt(1), Type::BigInt);
        let mut kept = vec![self.call("eq", vec![column_expr(&place, None), one], None)?];
        kept.extend(
            parts
                .iter()
                .map(|it| Expr::special(SpecialForm::IsNull, vec![it.clone()], Type::Boolean)),
        );
        if let Plan::Window { partition_by, .. } = &mut plan {
            *partition_by = parts;
        }
        let conjuncts = vec![Expr::special(SpecialForm::Or, kept, Type::Boolean)];
        Ok(Bound { plan: Plan::Filter { input: Box::new(plan), conjuncts }, columns })
    }

    /// INSERT that changes rows that are there: a join of the rows with the table. Of
    /// several rows with one key, the first holds.
    pub(super) fn upsert(
        &mut self,
        target: &Target,
        (source, given): (Bound, &[usize]),
        update: Upsert<'a>,
    ) -> Result<(WriteKind, Bound)> {
        let source = self.first_of_key(source, &update.key)?;
        let rows = self.target_rows(target)?;
        let mut conditions = Vec::with_capacity(update.key.len());
        for index in &update.key {
            let pair = [source.columns.get(*index), rows.columns.get(*index)];
            let pair = pair.into_iter().flatten().map(|it| column_expr(it, None)).collect();
            conditions.push(self.compare("eq", pair, None)?);
        }
        let excluded = Scope::of_relation("excluded", "excluded", source.columns.clone());
        let mut both = rows.scope.clone();
        hide(&excluded, &mut both)?;
        let is_new = vec![column_expr(&rows.row_id, None)];
        let is_new = Expr::special(SpecialForm::IsNull, is_new, Type::Boolean);
        let inserted = source.columns.iter().map(|it| column_expr(it, None)).collect::<Vec<_>>();
        let plan = joined(source.plan, rows.plan, JoinKind::Left, conditions);
        let bind = |it: &mut Self| {
            let condition = match update.condition {
                Some(written) => it.conjuncts(written, "WHERE")?,
                None => Vec::new(),
            };
            let values = match update.assignments {
                Some(written) => replaced(&rows.columns, it.assignments(target, written)?),
                None => {
                    let new = |it: &usize| Some((*it, inserted.get(*it)?.clone()));
                    replaced(&rows.columns, given.iter().filter_map(new).collect())
                }
            };
            Ok((condition, values))
        };
        let ((mut condition, values), _) = self.with_level(both, Clause::Set, bind)?;
        condition.insert(0, self.negated(is_new.clone(), true)?);
        let condition = match condition.len() {
            1 => condition.remove(0),
            _ => Expr::special(SpecialForm::And, condition, Type::Boolean),
        };
        let arms = vec![
            Arm { condition: is_new, action: Some(MergeAction::Insert), values: inserted },
            Arm { condition, action: Some(MergeAction::Update), values },
        ];
        let bound = self.arms(plan, &rows.row_id, target, arms)?;
        let bound = self.with_generated(target, bound, 2)?;
        Ok((WriteKind::Merge { statement: "INSERT" }, bound))
    }
}

/// Adds columns that are found with a qualifier only.
fn hide(hidden: &Scope, scope: &mut Scope) -> Result<()> {
    let mut hidden = hidden.clone();
    hidden.columns.iter_mut().for_each(|it| it.is_plain = false);
    scope.append(hidden)
}

fn written_span(target: &ConflictTarget) -> sqlparser::tokenizer::Span {
    match target {
        ConflictTarget::Columns(names) => {
            names.first().map_or_else(sqlparser::tokenizer::Span::empty, |it| it.span)
        }
        ConflictTarget::OnConstraint(name) => ast::Spanned::span(name),
    }
}
