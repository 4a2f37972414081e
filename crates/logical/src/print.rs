//! Printing logical plans and expressions, for EXPLAIN and tests.
//!
//! One line per node, inputs indented by two spaces. A column is shown by its name, followed by its
//! identity when another column of the plan has the same name.

mod window;

use crate::{
    AggregateCall, CallStep, Column, ColumnId, Expr, ExprKind, Plan, SampleMethod, SetOperation,
    SortKey,
};
use crate::{Subquery, SubqueryKind};
use std::collections::HashMap;
use std::fmt::{self, Formatter, Write};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut names = Names::default();
        names.collect(self);
        let mut printer = Printer { names: &names, f };
        printer.plan(self, 0)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = Names::default();
        let mut printer = Printer { names: &names, f };
        printer.expr(self)
    }
}

/// The names of a plan's columns, and how often each name occurs.
#[derive(Default)]
struct Names {
    of: HashMap<ColumnId, String>,
    uses: HashMap<String, usize>,
}

impl Names {
    fn collect(&mut self, plan: &Plan) {
        let mut rest = vec![plan];
        while let Some(plan) = rest.pop() {
            for column in made(plan) {
                if self.of.insert(column.id, column.name.clone()).is_none() {
                    *self.uses.entry(column.name.clone()).or_default() += 1;
                }
            }
            for expr in plan.exprs() {
                subqueries(expr, &mut rest);
            }
            if let Plan::CteRef { cte, .. } = plan {
                rest.push(&cte.plan);
            }
            rest.extend(plan.inputs());
        }
    }
}

fn subqueries<'a>(expr: &'a Expr, plans: &mut Vec<&'a Plan>) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        if let ExprKind::Subquery(subquery) = &expr.kind {
            plans.push(&subquery.plan);
        }
        rest.extend(expr.children());
    }
}

/// The columns that the node itself defines.
fn made(plan: &Plan) -> Vec<&Column> {
    match plan {
        Plan::Scan { columns, .. } => columns.iter().map(|it| &it.0).collect(),
        Plan::Values { columns, .. }
        | Plan::SetOperation { columns, .. }
        | Plan::Recursive { columns, .. }
        | Plan::WorkingTable { columns, .. }
        | Plan::CteRef { columns, .. } => columns.iter().collect(),
        Plan::Project { exprs, .. } => exprs.iter().map(|it| &it.0).collect(),
        Plan::Aggregate { keys, aggregates, .. } => {
            keys.iter().map(|it| &it.0).chain(aggregates.iter().map(|it| &it.0)).collect()
        }
        Plan::GroupId { keys, id, present, .. } => {
            keys.iter().map(|it| &it.0).chain([id]).chain(present).collect()
        }
        Plan::Window { calls, .. } => calls.iter().map(|it| &it.0).collect(),
        Plan::Join { mark, .. } => mark.iter().collect(),
        Plan::UniqueId { column, .. } => vec![column],
        Plan::Unnest { generators, ordinality, .. } => {
            generators.iter().flat_map(|it| &it.columns).chain(ordinality).collect()
        }
        _ => Vec::new(),
    }
}

struct Printer<'a, 'b, 'c> {
    names: &'a Names,
    f: &'b mut Formatter<'c>,
}

impl Printer<'_, '_, '_> {
    fn plan(&mut self, plan: &Plan, depth: usize) -> fmt::Result {
        write!(self.f, "{:1$}", "", depth * 2)?;
        self.node(plan)?;
        self.f.write_char('\n')?;
        for input in plan.inputs() {
            self.plan(input, depth + 1)?;
        }
        if let Plan::CteRef { cte, .. } = plan {
            self.plan(&cte.plan, depth + 1)?;
        }
        Ok(())
    }

    fn node(&mut self, plan: &Plan) -> fmt::Result {
        match plan {
            Plan::Scan { name, columns, filters, .. } => {
                write!(self.f, "Scan {name} [")?;
                self.list(columns, |it, (column, _)| it.column(column.id))?;
                self.f.write_char(']')?;
                if filters.is_empty() {
                    return Ok(());
                }
                self.f.write_str(" where ")?;
                self.conjuncts(filters)
            }
            Plan::Values { columns, rows } => {
                self.columns("Values", columns)?;
                write!(self.f, " {} rows", rows.len())
            }
            Plan::Project { exprs, .. } => {
                self.f.write_str("Project ")?;
                self.list(exprs, |it, (column, expr)| it.defined(column, expr))
            }
            Plan::Filter { conjuncts, .. } => {
                self.f.write_str("Filter ")?;
                self.conjuncts(conjuncts)
            }
            Plan::Join { .. } => self.join(plan),
            Plan::AsofJoin { kind, conditions, .. } => {
                write!(self.f, "AsofJoin {kind} on ")?;
                self.conjuncts(conditions)
            }
            Plan::Aggregate { keys, aggregates, .. } => self.aggregate(keys, aggregates),
            Plan::GroupId { .. } => self.group_id(plan),
            Plan::Window { .. } => self.window(plan),
            Plan::Sort { keys, .. } => {
                self.f.write_str("Sort ")?;
                self.sort_keys(keys)
            }
            Plan::Limit { offset, limit, .. } => {
                self.f.write_str("Limit")?;
                self.range(*offset, *limit)
            }
            Plan::GroupLimit { .. } => self.group_limit(plan),
            Plan::SetOperation { operation, all, columns, .. } => {
                let name = match operation {
                    SetOperation::Union => "Union",
                    SetOperation::Intersect => "Intersect",
                    SetOperation::Except => "Except",
                };
                self.columns(&format!("{name}{}", if *all { " all" } else { "" }), columns)
            }
            Plan::Recursive { name, distinct, columns, .. } => {
                let all = if *distinct { "" } else { " all" };
                self.columns(&format!("Recursive {name}{all}"), columns)
            }
            Plan::WorkingTable { name, columns, .. } => {
                self.columns(&format!("WorkingTable {name}"), columns)
            }
            Plan::CteRef { cte, columns } => self.columns(&format!("CteRef {}", cte.name), columns),
            Plan::Sample { method, .. } => match method {
                SampleMethod::Rows(share) => write!(self.f, "Sample rows {share}"),
                SampleMethod::Batches(share) => write!(self.f, "Sample batches {share}"),
                SampleMethod::Count(rows) => write!(self.f, "Sample {rows} rows"),
            },
            Plan::SingleRow { .. } => self.f.write_str("SingleRow"),
            Plan::UniqueId { column, .. } => {
                self.f.write_str("UniqueId ")?;
                self.column(column.id)
            }
            Plan::Unnest { .. } => self.unnest(plan),
        }
    }

    /// What a node is, and the columns that it makes.
    fn columns(&mut self, node: &str, columns: &[Column]) -> fmt::Result {
        write!(self.f, "{node} [")?;
        self.list(columns, |it, column| it.column(column.id))?;
        self.f.write_char(']')
    }

    fn group_id(&mut self, plan: &Plan) -> fmt::Result {
        let Plan::GroupId { keys, sets, id, .. } = plan else { return Ok(()) };
        self.f.write_str("GroupId ")?;
        self.column(id.id)?;
        self.f.write_str(" [")?;
        self.list(keys, |it, (column, expr)| it.defined(column, expr))?;
        self.f.write_str("] sets [")?;
        self.list(sets, |it, set| {
            it.f.write_char('(')?;
            let keys: Vec<_> = set.keys.iter().filter_map(|at| keys.get(*at)).collect();
            it.list(&keys, |it, key| it.column(key.0.id))?;
            it.f.write_char(')')
        })?;
        self.f.write_char(']')
    }

    fn group_limit(&mut self, plan: &Plan) -> fmt::Result {
        let Plan::GroupLimit { keys, order, offset, limit, .. } = plan else { return Ok(()) };
        self.f.write_str("GroupLimit [")?;
        self.list(keys, |it, key| it.column(*key))?;
        self.f.write_str("] order [")?;
        self.sort_keys(order)?;
        self.f.write_char(']')?;
        self.range(*offset, *limit)
    }

    fn unnest(&mut self, plan: &Plan) -> fmt::Result {
        let Plan::Unnest { generators, ordinality, outer, .. } = plan else { return Ok(()) };
        self.f.write_str(if *outer { "Unnest outer " } else { "Unnest " })?;
        self.list(generators, |it, generator| {
            it.list(&generator.columns, |it, column| it.column(column.id))?;
            write!(it.f, " = ")?;
            it.named(generator.kind.name(), &generator.args)
        })?;
        let Some(ordinality) = ordinality else { return Ok(()) };
        self.f.write_str(" ordinality ")?;
        self.column(ordinality.id)
    }

    fn join(&mut self, plan: &Plan) -> fmt::Result {
        let Plan::Join { kind, conditions, null_aware, mark, lateral, .. } = plan else {
            return Ok(());
        };
        self.f.write_str(if *lateral { "LateralJoin " } else { "Join " })?;
        write!(self.f, "{kind}")?;
        if *null_aware {
            self.f.write_str(" null-aware")?;
        }
        if let Some(mark) = mark {
            self.f.write_str(" mark ")?;
            self.column(mark.id)?;
        }
        if !conditions.is_empty() {
            self.f.write_str(" on ")?;
            self.conjuncts(conditions)?;
        }
        Ok(())
    }

    fn aggregate(
        &mut self,
        keys: &[(Column, Expr)],
        aggregates: &[(Column, AggregateCall)],
    ) -> fmt::Result {
        self.f.write_str("Aggregate [")?;
        self.list(keys, |it, (column, expr)| it.defined(column, expr))?;
        self.f.write_str("] [")?;
        self.list(aggregates, |it, (column, call)| {
            it.column(column.id)?;
            it.f.write_str(" = ")?;
            it.call(call)
        })?;
        self.f.write_char(']')
    }

    fn call(&mut self, call: &AggregateCall) -> fmt::Result {
        self.f.write_str(match call.step {
            CallStep::Complete => "",
            CallStep::Partial => "partial ",
            CallStep::Merge(_) => "merged ",
            CallStep::Final(_) => "final ",
        })?;
        write!(self.f, "{}({}", call.function, if call.distinct { "distinct " } else { "" })?;
        self.list(&call.args, Self::expr)?;
        if !call.order_by.is_empty() {
            self.f.write_str(" order by ")?;
            self.sort_keys(&call.order_by)?;
        }
        self.f.write_char(')')?;
        if let Some(filter) = &call.filter {
            self.f.write_str(" filter ")?;
            self.expr(filter)?;
        }
        Ok(())
    }

    fn range(&mut self, offset: u64, limit: Option<u64>) -> fmt::Result {
        if let Some(limit) = limit {
            write!(self.f, " {limit}")?;
        }
        if offset > 0 {
            write!(self.f, " offset {offset}")?;
        }
        Ok(())
    }

    pub(crate) fn sort_keys(&mut self, keys: &[SortKey]) -> fmt::Result {
        self.list(keys, |it, key| {
            it.expr(&key.expr)?;
            it.f.write_str(if key.descending { " desc" } else { "" })?;
            it.f.write_str(if key.nulls_first { " nulls first" } else { "" })
        })
    }

    fn defined(&mut self, column: &Column, expr: &Expr) -> fmt::Result {
        self.column(column.id)?;
        if matches!(&expr.kind, ExprKind::Column(id) if *id == column.id) {
            return Ok(());
        }
        self.f.write_str(" = ")?;
        self.expr(expr)
    }

    fn conjuncts(&mut self, conjuncts: &[Expr]) -> fmt::Result {
        for (index, conjunct) in conjuncts.iter().enumerate() {
            self.f.write_str(if index == 0 { "" } else { " and " })?;
            self.expr(conjunct)?;
        }
        Ok(())
    }

    fn list<T>(
        &mut self,
        items: &[T],
        mut print: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        for (index, item) in items.iter().enumerate() {
            self.f.write_str(if index == 0 { "" } else { ", " })?;
            print(self, item)?;
        }
        Ok(())
    }

    fn column(&mut self, id: ColumnId) -> fmt::Result {
        match self.names.of.get(&id) {
            Some(name) if self.names.uses.get(name) == Some(&1) => self.f.write_str(name),
            Some(name) => write!(self.f, "{name}{id}"),
            None => write!(self.f, "{id}"),
        }
    }

    fn expr(&mut self, expr: &Expr) -> fmt::Result {
        match &expr.kind {
            ExprKind::Column(id) => self.column(*id),
            ExprKind::Constant(value) => write!(self.f, "{}", value.display(&expr.data_type)),
            ExprKind::Parameter(parameter) => write!(self.f, "{parameter}"),
            ExprKind::Lambda { body, .. } => {
                self.f.write_str("lambda ")?;
                self.expr(body)
            }
            ExprKind::Call { name, args } => self.named(name, args),
            ExprKind::Special { form, args } => self.named(form.name(), args),
            ExprKind::Cast { input, null_on_error, package } => {
                self.f.write_str(package.prefix())?;
                self.f.write_str(if *null_on_error { "try_cast(" } else { "cast(" })?;
                self.expr(input)?;
                write!(self.f, " as {})", expr.data_type)
            }
            ExprKind::Subquery(subquery) => self.subquery(subquery),
        }
    }

    fn named(&mut self, name: &str, args: &[Expr]) -> fmt::Result {
        write!(self.f, "{name}(")?;
        self.list(args, Self::expr)?;
        self.f.write_char(')')
    }

    fn subquery(&mut self, subquery: &Subquery) -> fmt::Result {
        match &subquery.kind {
            SubqueryKind::Scalar => self.f.write_str("scalar(")?,
            SubqueryKind::Exists => self.f.write_str("exists(")?,
            SubqueryKind::In(exprs) => {
                self.f.write_char('(')?;
                self.list(exprs, Self::expr)?;
                self.f.write_str(") in (")?;
            }
        }
        self.node(&subquery.plan)?;
        self.f.write_char(')')
    }
}
