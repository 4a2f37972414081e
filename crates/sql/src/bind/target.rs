//! The table that a statement changes: its rows, and the SQL expressions of its definition.

use super::{
    Binder, Bound, Clause, Shared,
    limit::Limits,
    scope::{Scope, ScopeColumn},
    select::{Clauses, column_expr},
    unsupported,
    write::projected,
};
use crate::{
    Check, Query, Relation, parse, stack,
    write::{LaterRows, written_handle},
};
use sqlparser::ast::{
    Expr as Written, ObjectName, SelectItem, Spanned, TableAlias, TableFactor, TableWithJoins,
};
use std::sync::Arc;
use volley_connector::{CheckDefinition, MergeAction, StoredTable, WriteKind};
use volley_error::{Error, Result, Span};
use volley_logical::{Column, Expr, NamedTable, Plan, SpecialForm, TableRef};
use volley_types::{Field, Schema, Type, Value};

/// The column that says what MERGE did to a row.
const MERGE_ACTION: &str = "merge_action";

/// A table to be changed.
pub(super) struct Target {
    /// Its name as written.
    pub(super) name: String,
    /// The name that qualifies its columns: the alias, or the last part of its own.
    pub(super) alias: String,
    /// The alias, or the whole name.
    qualified: String,
    pub(super) table: NamedTable,
    pub(super) stored: StoredTable,
    pub(super) span: Option<Span>,
}

/// The rows of a target.
pub(super) struct TargetRows {
    pub(super) plan: Plan,
    pub(super) scope: Scope,
    /// The columns of the table.
    pub(super) columns: Vec<Column>,
    pub(super) row_id: Column,
}

impl Target {
    pub(super) fn schema(&self) -> &Schema {
        self.table.table.schema()
    }

    pub(super) fn types(&self) -> Vec<Type> {
        self.schema().types().cloned().collect()
    }
}

impl<'a> Binder<'a> {
    /// The table of `DELETE FROM table` and its like.
    pub(super) fn target_of(&self, written: &'a TableWithJoins, what: &str) -> Result<Target> {
        if let Some(join) = written.joins.first() {
            let span = self.span(join.relation.span());
            return Err(unsupported(format!("a join as the table of {what}"), span));
        }
        self.target_of_factor(&written.relation, what)
    }

    pub(super) fn target_of_factor(&self, written: &'a TableFactor, what: &str) -> Result<Target> {
        match written {
            TableFactor::Table { name, alias, args: None, .. } => {
                self.target(name, alias.as_ref(), what)
            }
            other => {
                let message = format!("{what} takes the name of a table");
                Err(Error::invalid_query(message).span(self.span(other.span())))
            }
        }
    }

    /// A table by its name; `what` is done with it.
    pub(super) fn target(
        &self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        what: &str,
    ) -> Result<Target> {
        let span = self.span(name.span());
        let dotted = parse::dotted(name);
        let table = match self.shared.catalog.table(&dotted).map_err(|it| it.span(span))? {
            Some(Relation::Table(table)) => table,
            Some(Relation::View { .. }) => {
                let message = format!("{what} does not take a view: {dotted}");
                return Err(Error::invalid_query(message).span(span));
            }
            None => return Err(self.no_table(&dotted, span)),
        };
        let is_stored = matches!(table.reference, TableRef::Stored { .. });
        let Some(stored) = table.table.as_stored().filter(|_| is_stored) else {
            let message = format!("{what} does not take a table that is not in memory: {dotted}");
            let error = Error::unsupported(message).span(span);
            return Err(error.hint("copy it with CREATE TABLE ... AS SELECT"));
        };
        *self.target_home.borrow_mut() = self.shared.catalog.home_of(&table.reference);
        let last = name.0.last().and_then(|it| it.as_ident()).map(|it| it.value.clone());
        let (alias, qualified) = match alias {
            Some(alias) if alias.columns.is_empty() => {
                (alias.name.value.clone(), alias.name.value.clone())
            }
            Some(alias) => {
                let span = self.span(alias.name.span);
                return Err(unsupported(format!("names of columns in {what}"), span));
            }
            None => (last.unwrap_or_else(|| dotted.clone()), dotted.clone()),
        };
        Ok(Target { name: dotted, alias, qualified, table, stored, span })
    }

    /// The rows of a target, with their ids.
    pub(super) fn target_rows(&self, target: &Target) -> Result<TargetRows> {
        let with_ids = target.table.with_row_ids();
        let with_ids = with_ids.ok_or_else(|| Error::internal("rows without ids"))?;
        let bound = self.scan(&with_ids, &target.alias);
        let mut columns = bound.columns;
        let row_id = columns.pop().ok_or_else(|| Error::internal("no row ids"))?;
        let scope = self.target_scope(target, columns.clone()).with_row_ids(row_id.clone());
        Ok(TargetRows { plan: bound.plan, scope, columns, row_id })
    }

    fn target_scope(&self, target: &Target, columns: Vec<Column>) -> Scope {
        Scope::of_relation(&target.alias, &target.qualified, columns)
    }

    /// The written rows, as a table in FROM.
    fn written_rows(&self, target: &Target) -> (Plan, Scope) {
        let bound = self.written(target.schema().clone());
        (bound.plan, self.target_scope(target, bound.columns))
    }

    /// The written rows of MERGE, with what was done to each.
    fn merged_rows(&self, target: &Target) -> Result<(Plan, Scope)> {
        let mut schema = target.schema().clone();
        schema.fields.push(Field::new(MERGE_ACTION, Type::Varchar));
        let mut bound = self.written(schema);
        let action = bound.columns.pop().ok_or_else(|| Error::internal("no actions"))?;
        let mut scope = self.target_scope(target, bound.columns);
        scope.columns.push(ScopeColumn { relation: None, column: action, is_plain: false });
        Ok((bound.plan, scope))
    }

    fn written(&self, schema: Schema) -> Bound {
        let rows = LaterRows { handle: written_handle(), schema };
        self.scan_external(Arc::new(rows), "written rows")
    }

    /// `merge_action` or `merge_action()` in RETURNING of MERGE.
    pub(super) fn merge_action(&self, name: &str, span: Option<Span>) -> Option<Expr> {
        let level = self.levels.last().filter(|_| name.eq_ignore_ascii_case(MERGE_ACTION))?;
        let is_action = |it: &&ScopeColumn| {
            it.relation.is_none() && !it.is_plain && it.column.name == MERGE_ACTION
        };
        let found = level.scope.columns.iter().find(is_action)?;
        Some(column_expr(&found.column, span))
    }

    /// RETURNING: over the written rows, which names of the target's columns mean.
    pub(super) fn returning(
        &mut self,
        target: &Target,
        kind: &WriteKind,
        items: Option<&'a Vec<SelectItem>>,
    ) -> Result<Option<Query>> {
        let Some(items) = items else { return Ok(None) };
        let (plan, scope) = match kind {
            WriteKind::Merge { statement: "MERGE" } => self.merged_rows(target)?,
            _ => self.written_rows(target),
        };
        let bind = |it: &mut Self| {
            let items = it.projection(items)?;
            it.bound_items(items)
        };
        let ((items, exprs), _) = self.with_level(scope, Clause::Returning, bind)?;
        let bound = self.outputs(plan, &items, Clauses::of_items(exprs), Limits::default())?;
        Ok(Some(bound.into()))
    }

    /// The rows of a statement with a BOOLEAN column behind the others for each NOT NULL and CHECK
    /// constraint, which is true for a row that violates it; and the errors of these.
    pub(super) fn checked(
        &self,
        target: &Target,
        kind: &WriteKind,
        bound: Bound,
    ) -> Result<(Bound, Vec<String>)> {
        let WrittenColumns { kept, row, written } =
            WrittenColumns::new(target, kind, &bound.columns);
        let (schema, definition) = (target.schema(), &target.stored.definition);
        let mut violations = Vec::new();
        for index in written.into_iter().filter(|it| definition.is_not_null(*it)) {
            let (Some(Some(column)), Some(field)) = (row.get(index), schema.fields.get(index))
            else {
                return Err(Error::internal("a column of the table is missing"));
            };
            let column = vec![column_expr(column, None)];
            let is_null = Expr::special(SpecialForm::IsNull, column, Type::Boolean);
            violations
                .push((is_null, format!("null in a column that is NOT NULL: {}", field.name)));
        }
        for check in definition.checks.iter().filter(|_| !row.is_empty()) {
            let scope = self.target_scope(target, row.iter().flatten().cloned().collect());
            let condition = self.stored_condition(&check.condition, scope, target.span)?;
            violations.push((self.negated(condition, true)?, violation_of(check)));
        }
        if violations.is_empty() {
            return Ok((bound, Vec::new()));
        }
        let Bound { plan, mut columns } = bound;
        columns.truncate(kept);
        let mut exprs: Vec<(Column, Expr)> =
            columns.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
        let mut messages = Vec::with_capacity(violations.len());
        for (violated, message) in violations {
            let violated = match kind {
                WriteKind::Merge { .. } => self.unless_deleted(&columns, violated)?,
                _ => violated,
            };
            exprs.push((self.column("violated", Type::Boolean), violated));
            messages.push(message);
        }
        Ok((projected(plan, exprs), messages))
    }

    /// A condition on rows of MERGE that are written.
    fn unless_deleted(&self, columns: &[Column], condition: Expr) -> Result<Expr> {
        let action = columns.get(1).ok_or_else(|| Error::internal("rows without an action"))?;
        let deleted = Value::Integer(MergeAction::Delete.code());
        let operands = vec![column_expr(action, None), Expr::constant(deleted, Type::Integer)];
        let is_written = self.negated(self.compare("eq", operands, None)?, true)?;
        Ok(Expr::special(SpecialForm::And, vec![is_written, condition], Type::Boolean))
    }

    /// The CHECK constraints of the target, on the written rows.
    pub(super) fn late_checks(&self, target: &Target) -> Result<Vec<Check>> {
        let definition = &target.stored.definition;
        let check = |it: &CheckDefinition| {
            let (plan, scope) = self.written_rows(target);
            let condition = self.stored_condition(&it.condition, scope, target.span)?;
            let violated = self.negated(condition, true)?;
            let plan = Plan::Filter { input: Box::new(plan), conjuncts: vec![violated] };
            let plan = Plan::Limit { input: Box::new(plan), offset: 0, limit: Some(1) };
            let columns = plan.columns();
            Ok(Check { message: violation_of(it), violations: Bound { plan, columns }.into() })
        };
        definition.checks.iter().map(check).collect()
    }

    /// The condition of a CHECK constraint, over the columns of `scope`.
    pub(super) fn stored_condition(
        &self,
        text: &str,
        scope: Scope,
        span: Option<Span>,
    ) -> Result<Expr> {
        self.stored_expr((text, span), scope, Clause::Check, |binder, expr| {
            binder.condition(expr, "a CHECK constraint")
        })
    }

    /// The rows with the values of generated columns, which are computed of the others. The columns
    /// of the table follow `before` others.
    pub(super) fn with_generated(
        &self,
        target: &Target,
        bound: Bound,
        before: usize,
    ) -> Result<Bound> {
        let definition = &target.stored.definition;
        if !definition.columns.iter().any(|it| it.generated.is_some()) {
            return Ok(bound);
        }
        let own = bound.columns.get(before..).unwrap_or_default();
        let named = own.iter().zip(&target.schema().fields);
        let named =
            named.map(|(column, field)| Column { name: field.name.clone(), ..column.clone() });
        let scope = Scope::of_columns(named.collect());
        let mut exprs = Vec::with_capacity(bound.columns.len());
        for (index, column) in bound.columns.iter().enumerate() {
            let generated = index.checked_sub(before).and_then(|it| definition.columns.get(it));
            exprs.push(match generated.and_then(|it| it.generated.as_deref()) {
                None => (column.clone(), column_expr(column, None)),
                Some(text) => {
                    let to = &column.data_type;
                    let value = self.generated_expr(text, scope.clone(), to, target.span)?;
                    (self.column(column.name.clone(), to.clone()), value)
                }
            });
        }
        Ok(projected(bound.plan, exprs))
    }

    /// The value of a generated column, of the columns of `scope`.
    pub(super) fn generated_expr(
        &self,
        text: &str,
        scope: Scope,
        data_type: &Type,
        span: Option<Span>,
    ) -> Result<Expr> {
        let cast = |binder: &Binder<'_>, it: Expr| match data_type {
            Type::Unknown => Ok(it),
            to => binder.cast_to(it, to.clone(), false),
        };
        self.stored_expr((text, span), scope, Clause::Check, cast)
    }

    /// What column `index` of a table gets without a value: its DEFAULT, or NULL.
    pub(super) fn default_of(
        &self,
        stored: &StoredTable,
        schema: &Schema,
        index: usize,
    ) -> Result<Expr> {
        let column = stored.definition.columns.get(index);
        let data_type = schema.fields.get(index).map_or(Type::Unknown, |it| it.data_type.clone());
        match column.and_then(|it| it.default.as_deref()) {
            Some(text) => self.default_expr(text, &data_type, None),
            None => self.cast_to(super::expr::null(), data_type, false),
        }
    }

    /// The expression of a DEFAULT.
    pub(super) fn default_expr(
        &self,
        text: &str,
        data_type: &Type,
        span: Option<Span>,
    ) -> Result<Expr> {
        let cast = |binder: &Binder<'_>, it: Expr| binder.cast_to(it, data_type.clone(), false);
        self.stored_expr((text, span), Scope::default(), Clause::Default, cast)
    }

    /// Binds the text of an expression, whose errors point at `span`.
    fn stored_expr(
        &self,
        (text, span): (&str, Option<Span>),
        scope: Scope,
        clause: Clause,
        finish: impl FnOnce(&Binder<'_>, Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        stack::with_room(text.len(), || {
            let (written, source) = parse::parse_expr(text)?;
            let home = self.target_home.borrow().clone();
            let within = home.and_then(|it| self.shared.catalog.within(&it));
            let catalog = within.as_deref().unwrap_or(self.shared.catalog);
            let mut binder = Binder::new(Shared { catalog, ..self.shared }, &source);
            let place = self.view_span.or(span).or(self.first_word);
            binder.view_span = place.or(Some(Span::default()));
            binder.views.clone_from(&self.views);
            binder.depth = self.depth;
            let (expr, _) = binder.with_level(scope, clause, |it| it.expr(&written))?;
            finish(&binder, expr)
        })
    }
}

/// Which columns of a statement's rows make the rows of the table.
struct WrittenColumns {
    /// How many of the first ones are for the table.
    kept: usize,
    /// By column of the table, with the name that it has there. `None` if it does not change and
    /// no CHECK constraint may need it.
    row: Vec<Option<Column>>,
    /// The positions in the table of those that the statement writes.
    written: Vec<usize>,
}

impl WrittenColumns {
    fn new(target: &Target, kind: &WriteKind, columns: &[Column]) -> WrittenColumns {
        let fields = &target.schema().fields;
        let width = fields.len();
        let (kept, sources): (usize, Vec<usize>) = match kind {
            WriteKind::Insert { .. } => (width, (0..width).collect()),
            WriteKind::Merge { .. } => (width + 2, (2..width + 2).collect()),
            WriteKind::Delete => (1, Vec::new()),
            WriteKind::Update { columns: changed } => {
                let mut unchanged = changed.len() + 1..;
                let source = |it: usize| match changed.iter().position(|changed| *changed == it) {
                    Some(position) => position + 1,
                    None => unchanged.next().unwrap_or(usize::MAX),
                };
                (changed.len() + 1, (0..width).map(source).collect())
            }
        };
        let named = |(source, field): (usize, &Field)| {
            let column = columns.get(source)?.clone();
            Some(Column { name: field.name.clone(), ..column })
        };
        let row: Vec<Option<Column>> = sources.into_iter().zip(fields).map(named).collect();
        let written = match kind {
            WriteKind::Update { columns } => columns.clone(),
            _ => (0..row.len()).collect(),
        };
        WrittenColumns { kept, row, written }
    }
}

/// The error of a row that violates a CHECK constraint.
fn violation_of(check: &CheckDefinition) -> String {
    let name = check.name.as_ref().unwrap_or(&check.condition);
    format!("CHECK constraint is not satisfied: {name}")
}

/// Whether `DEFAULT` is written.
pub(super) fn is_default(expr: &Written) -> bool {
    matches!(expr, Written::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}
