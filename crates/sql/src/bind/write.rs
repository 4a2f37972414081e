//! INSERT, UPDATE and DELETE.

use super::{
    Binder, Bound, Clause,
    expr::without_parentheses,
    merge::replaced,
    scope::Scope,
    select::column_expr,
    target::{Target, is_default},
    unsupported,
    upsert::Conflict,
};
use crate::{Statement, Write, parse, write::written_handle};
use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Delete, FromTable, Ident, Insert, ObjectName, Spanned,
    TableAlias, TableObject, Truncate, Update, UpdateTableFromKind,
};
use std::collections::HashSet;
use volley_connector::WriteKind;
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Field, Schema, Type};

impl<'a> Binder<'a> {
    pub(super) fn insert(&mut self, insert: &'a Insert) -> Result<Statement> {
        let TableObject::TableName(name) = &insert.table else {
            return Err(unsupported("INSERT into something else than a table", None));
        };
        let span = self.span(name.span());
        let is_other = insert.overwrite
            || insert.output.is_some()
            || insert.partitioned.is_some()
            || !insert.assignments.is_empty();
        if is_other {
            return Err(unsupported("this form of INSERT", span));
        }
        let alias = self.source.insert_alias(insert.insert_token.0.span);
        let alias = alias.map(|name| TableAlias {
            explicit: true,
            name: name.clone(),
            columns: Vec::new(),
            at: None,
        });
        let target = self.target(name, alias.as_ref(), "INSERT")?;
        let (source, given) = self.inserted_rows(insert, &target)?;
        let conflict = self.conflict(insert, &target)?;
        let (kind, bound) = match conflict {
            Conflict::Refused => (WriteKind::Insert { skipping_keys: Vec::new() }, source),
            Conflict::Skipped(keys) => (WriteKind::Insert { skipping_keys: keys }, source),
            Conflict::Updated(update) => self.upsert(&target, (source, &given), update)?,
        };
        self.write(target, kind, bound, insert.returning.as_ref())
    }

    /// The statement that changes `target` by the rows of a query. Rows of UPDATE have, behind the
    /// new values, the columns that do not change, if the table has CHECK constraints.
    pub(super) fn write(
        &mut self,
        target: Target,
        kind: WriteKind,
        bound: Bound,
        returning: Option<&'a Vec<ast::SelectItem>>,
    ) -> Result<Statement> {
        let returning = self.returning(&target, &kind, returning)?;
        let leaves_rows_out =
            matches!(&kind, WriteKind::Insert { skipping_keys } if !skipping_keys.is_empty());
        let (late_checks, (bound, checks)) = match leaves_rows_out {
            true => (self.late_checks(&target)?, (bound, Vec::new())),
            false => (Vec::new(), self.checked(&target, &kind, bound)?),
        };
        let (schema, written) = (target.schema().clone(), written_handle());
        let (table, query) = (target.name, bound.into());
        let write = Write { table, schema, kind, query, checks, late_checks, returning, written };
        Ok(Statement::Write(Box::new(write)))
    }

    /// The rows that INSERT adds, with the columns of the table; and which of these it gives.
    fn inserted_rows(
        &mut self,
        insert: &'a Insert,
        target: &Target,
    ) -> Result<(Bound, Vec<usize>)> {
        let schema = target.schema();
        let defaults = (0..schema.len()).map(|it| self.default_of(&target.stored, schema, it));
        let defaults = defaults.collect::<Result<Vec<_>>>()?;
        let Some(source) = &insert.source else {
            let row = Bound { plan: Plan::one_row(), columns: Vec::new() };
            return Ok((self.completed(row, (&[], &[]), target, &defaults)?, Vec::new()));
        };
        if self.source.is_by_name(insert.insert_token.0.span) {
            if let Some(column) = insert.columns.first() {
                let message = "INSERT BY NAME takes no list of columns";
                return Err(Error::invalid_query(message).span(self.span(column.span())));
            }
            let bound = self.query(source)?;
            let position = |it: &Column| self.position_of(schema, &it.name, target.span);
            let targets = bound.columns.iter().map(position).collect::<Result<Vec<_>>>()?;
            check_once(&targets, schema, target.span)?;
            for index in &targets {
                self.check_not_generated(target, *index, target.span)?;
            }
            let places = self.places_of(source, targets.len());
            return Ok((self.completed(bound, (&targets, &places), target, &defaults)?, targets));
        }
        let targets = self.targets(target, &insert.columns)?;
        let bound = match plain_values(source) {
            Some(values) => {
                let fields = targets.iter().filter_map(|it| schema.fields.get(*it));
                let types: Vec<Type> = fields.map(|it| it.data_type.clone()).collect();
                let defaults = targets.iter().filter_map(|it| defaults.get(*it).cloned());
                self.values_as(values, &types, &defaults.collect::<Vec<_>>())?
            }
            None => self.query(source)?,
        };
        if bound.columns.len() != targets.len() {
            let (given, wanted) = (bound.columns.len(), targets.len());
            let message = format!("INSERT has {given} columns for {wanted} of the table");
            return Err(Error::invalid_query(message).span(target.span));
        }
        let places = self.places_of(source, targets.len());
        Ok((self.completed(bound, (&targets, &places), target, &defaults)?, targets))
    }

    /// Where the columns of a query are written; the whole query, where that is not known.
    fn places_of(&self, query: &ast::Query, width: usize) -> Vec<Option<Span>> {
        let items = match &*query.body {
            ast::SetExpr::Select(select) => select.projection.as_slice(),
            _ => &[],
        };
        let written = items.iter().map_while(|item| match item {
            ast::SelectItem::UnnamedExpr(expr) => Some(expr),
            ast::SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        let mut places: Vec<Option<Span>> = written.map(|it| self.span(it.span())).collect();
        places.resize(width, self.span(query.span()));
        places
    }

    /// All columns of the target: those of the rows at `targets`, the others by default.
    pub(super) fn completed_rows(
        &self,
        bound: Bound,
        targets: &[usize],
        target: &Target,
    ) -> Result<Bound> {
        let schema = target.schema();
        let defaults = (0..schema.len()).map(|it| self.default_of(&target.stored, schema, it));
        let defaults = defaults.collect::<Result<Vec<_>>>()?;
        self.completed(bound, (targets, &[]), target, &defaults)
    }

    /// All columns of the table: those of the rows at `targets`, which are written at `places`, the
    /// others by default.
    fn completed(
        &self,
        bound: Bound,
        (targets, places): (&[usize], &[Option<Span>]),
        target: &Target,
        defaults: &[Expr],
    ) -> Result<Bound> {
        let (schema, span) = (target.schema(), target.span);
        let column = |(index, field): (usize, &Field)| {
            let column = self.column(field.name.clone(), field.data_type.clone());
            let source = targets.iter().position(|it| *it == index);
            let given = source.and_then(|it| Some((bound.columns.get(it)?, places.get(it))));
            let expr = match given {
                Some((it, place)) => {
                    let given = column_expr(it, place.copied().flatten());
                    self.cast_to(given, field.data_type.clone(), false)
                }
                None => Ok(defaults.get(index).cloned().unwrap_or_else(super::expr::null)),
            };
            Ok((column, expr.map_err(|it| it.span(span))?))
        };
        let exprs = schema.fields.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        let plan = Plan::Project { input: Box::new(bound.plan), exprs };
        self.with_generated(target, Bound { plan, columns }, 0)
    }

    /// The positions in the table of a list of columns; of all that are not generated, when it is
    /// empty.
    pub(super) fn targets(&self, target: &Target, written: &[ObjectName]) -> Result<Vec<usize>> {
        let schema = target.schema();
        if written.is_empty() {
            let definition = &target.stored.definition;
            return Ok((0..schema.len()).filter(|it| !definition.is_generated(*it)).collect());
        }
        let mut targets = Vec::with_capacity(written.len());
        for name in written {
            let span = self.span(name.span());
            let index = self.position_of(schema, &parse::dotted(name), span)?;
            self.check_not_generated(target, index, span)?;
            targets.push(index);
            check_once(&targets, schema, span)?;
        }
        Ok(targets)
    }

    /// Refuses to give a generated column a value.
    pub(super) fn check_not_generated(
        &self,
        target: &Target,
        index: usize,
        span: Option<Span>,
    ) -> Result<()> {
        if !target.stored.definition.is_generated(index) {
            return Ok(());
        }
        let name = target.schema().fields.get(index).map_or("", |it| it.name.as_str());
        Err(Error::invalid_query(format!("column is generated: {name}")).span(span))
    }

    /// The position of a column of the table.
    pub(super) fn position_of(
        &self,
        schema: &Schema,
        name: &str,
        span: Option<Span>,
    ) -> Result<usize> {
        schema.index_of(name).ok_or_else(|| {
            let names = schema.fields.iter().map(|it| it.name.as_str());
            let error = Error::invalid_query(format!("no such column: {name}")).span(span);
            match volley_types::nearest_name(name, names) {
                Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                None => error,
            }
        })
    }

    pub(super) fn delete(&mut self, delete: &'a Delete) -> Result<Statement> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let [table] = from.as_slice() else {
            return Err(unsupported("DELETE FROM several tables (USING adds others)", None));
        };
        if !delete.tables.is_empty()
            || delete.output.is_some()
            || !delete.order_by.is_empty()
            || delete.limit.is_some()
        {
            return Err(unsupported("this form of DELETE", None));
        }
        let target = self.target_of(table, "DELETE")?;
        let rows = self.target_rows(&target)?;
        let tables = delete.using.as_deref().unwrap_or_default();
        let (plan, scope) = self.with_tables((rows.plan, rows.scope), tables)?;
        let where_clause = delete.selection.as_ref();
        let (plan, _) = self.filtered(plan, scope, where_clause)?;
        let bound = projected(plan, vec![(rows.row_id.clone(), column_expr(&rows.row_id, None))]);
        self.write(target, WriteKind::Delete, bound, delete.returning.as_ref())
    }

    pub(super) fn truncate(&mut self, truncate: &'a Truncate) -> Result<Statement> {
        let [table] = truncate.table_names.as_slice() else {
            return Err(unsupported("TRUNCATE of several tables", None));
        };
        if truncate.partitions.is_some() || truncate.identity.is_some() || truncate.if_exists {
            return Err(unsupported("this form of TRUNCATE", self.span(table.name.span())));
        }
        let target = self.target(&table.name, None, "TRUNCATE")?;
        let rows = self.target_rows(&target)?;
        let row_id = (rows.row_id.clone(), column_expr(&rows.row_id, None));
        self.write(target, WriteKind::Delete, projected(rows.plan, vec![row_id]), None)
    }

    /// WHERE of a statement that changes a table.
    fn filtered(
        &mut self,
        plan: Plan,
        scope: Scope,
        condition: Option<&'a ast::Expr>,
    ) -> Result<(Plan, Scope)> {
        let Some(condition) = condition else { return Ok((plan, scope)) };
        let bind = |it: &mut Self| it.conjuncts(condition, "WHERE");
        let (conjuncts, level) = self.with_level(scope, Clause::Where, bind)?;
        Ok((Plan::Filter { input: Box::new(plan), conjuncts }, level.scope))
    }

    pub(super) fn update(&mut self, update: &'a Update) -> Result<Statement> {
        let span = self.span(update.update_token.0.span);
        if update.output.is_some()
            || update.or.is_some()
            || !update.order_by.is_empty()
            || update.limit.is_some()
        {
            return Err(unsupported("this form of UPDATE", span));
        }
        let tables = match &update.from {
            None => &[][..],
            Some(UpdateTableFromKind::AfterSet(tables)) => tables,
            Some(UpdateTableFromKind::BeforeSet(_)) => {
                return Err(unsupported("FROM before SET", span));
            }
        };
        let target = self.target_of(&update.table, "UPDATE")?;
        let rows = self.target_rows(&target)?;
        let (plan, scope) = self.with_tables((rows.plan, rows.scope), tables)?;
        let (plan, scope) = self.filtered(plan, scope, update.selection.as_ref())?;
        let bind = |it: &mut Self| it.assignments(&target, &update.assignments);
        let (mut assigned, _) = self.with_level(scope, Clause::Set, bind)?;
        let definition = &target.stored.definition;
        let has_generated = definition.columns.iter().any(|it| it.generated.is_some());
        if has_generated {
            assigned = replaced(&rows.columns, assigned).into_iter().enumerate().collect();
        }
        let mut exprs = vec![(rows.row_id.clone(), column_expr(&rows.row_id, None))];
        let mut columns = Vec::with_capacity(assigned.len());
        for (index, expr) in assigned {
            exprs.push((self.column("new value", expr.data_type.clone()), expr));
            columns.push(index);
        }
        if !definition.checks.is_empty() {
            let unchanged = rows.columns.iter().enumerate().filter(|it| !columns.contains(&it.0));
            exprs.extend(unchanged.map(|(_, it)| (it.clone(), column_expr(it, None))));
        }
        let kind = WriteKind::Update { columns };
        let mut bound = projected(plan, exprs);
        if has_generated {
            bound = self.with_generated(&target, bound, 1)?;
        }
        self.write(target, kind, bound, update.returning.as_ref())
    }

    /// SET: the positions of columns and their new values, in the innermost level.
    pub(super) fn assignments(
        &mut self,
        target: &Target,
        written: &'a [Assignment],
    ) -> Result<Vec<(usize, Expr)>> {
        let mut assigned: Vec<(usize, Expr)> = Vec::with_capacity(written.len());
        for assignment in written {
            for (name, value) in self.pairs(assignment)? {
                let span = self.span(name.span);
                let index = self.position_of(target.schema(), &name.value, span)?;
                if assigned.iter().any(|it| it.0 == index) {
                    let message = format!("column set twice: {}", name.value);
                    return Err(Error::invalid_query(message).span(span));
                }
                self.check_not_generated(target, index, span)?;
                assigned.push((index, self.assigned(target, index, value)?));
            }
        }
        Ok(assigned)
    }

    /// The value of column `index` that is written, or its DEFAULT.
    pub(super) fn assigned(
        &mut self,
        target: &Target,
        index: usize,
        value: &'a ast::Expr,
    ) -> Result<Expr> {
        if is_default(value) {
            return self.default_of(&target.stored, target.schema(), index);
        }
        let field = target.schema().fields.get(index);
        let data_type = field.map_or(Type::Unknown, |it| it.data_type.clone());
        let expr = self.expr(value)?;
        self.cast_to(expr, data_type, false)
    }

    /// The columns of an assignment and what each is set to.
    fn pairs(&self, assignment: &'a Assignment) -> Result<Vec<(&'a Ident, &'a ast::Expr)>> {
        let column = |name: &'a ObjectName| match name.0.as_slice() {
            [part] => part.as_ident().ok_or_else(|| Error::internal("a name without text")),
            _ => {
                let what = "SET of something else than a column of the table by its name";
                Err(unsupported(what, self.span(name.span())))
            }
        };
        match &assignment.target {
            AssignmentTarget::ColumnName(name) => Ok(vec![(column(name)?, &assignment.value)]),
            AssignmentTarget::Tuple(names) => {
                let span = self.span(assignment.value.span());
                let values = match without_parentheses(&assignment.value) {
                    ast::Expr::Tuple(values) => values,
                    one if names.len() == 1 => std::slice::from_ref(one),
                    _ => return Err(unsupported("SET of several columns by one query", span)),
                };
                if names.len() != values.len() {
                    let (columns, values) = (names.len(), values.len());
                    let message = format!("SET has {values} values for {columns} columns");
                    return Err(Error::invalid_query(message).span(span));
                }
                names.iter().zip(values).map(|(name, value)| Ok((column(name)?, value))).collect()
            }
        }
    }
}

/// A plan with these output columns.
pub(super) fn projected(plan: Plan, exprs: Vec<(Column, Expr)>) -> Bound {
    let columns = exprs.iter().map(|it| it.0.clone()).collect();
    Bound { plan: Plan::Project { input: Box::new(plan), exprs }, columns }
}

fn check_once(targets: &[usize], schema: &Schema, span: Option<Span>) -> Result<()> {
    let mut seen = HashSet::new();
    match targets.iter().find(|it| !seen.insert(**it)) {
        None => Ok(()),
        Some(twice) => {
            let name = schema.fields.get(*twice).map_or("", |it| it.name.as_str());
            Err(Error::invalid_query(format!("column given twice: {name}")).span(span))
        }
    }
}

/// The VALUES that are all of a query.
fn plain_values(query: &ast::Query) -> Option<&ast::Values> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match &*query.body {
        ast::SetExpr::Values(values) if is_plain => Some(values),
        _ => None,
    }
}
