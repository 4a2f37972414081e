//! UNPIVOT: columns become rows. It repeats rows once per entry of its list, as for grouping sets,
//! and takes the values of another entry in each repetition.

use super::{Binder, Bound, expr::first_span, inspect, scope::Found, select::column_expr};
use sqlparser::ast::{self, ExprWithAlias, Ident};
use std::collections::HashSet;
use volley_error::{Error, Result};
use volley_logical::{Column, Expr, GroupingSet, Plan, SpecialForm};
use volley_types::{Type, Value};

/// What UNPIVOT makes rows of.
pub(super) struct Unpivot<'a> {
    /// The column of names.
    pub(super) name: &'a Ident,
    /// The columns of values.
    pub(super) values: Vec<&'a str>,
    /// What the values are: with several of them, each entry is a list.
    pub(super) listed: &'a [ExprWithAlias],
    /// Whether rows with a null among the values are kept.
    pub(super) keeps_nulls: bool,
}

/// An entry of the list.
struct Entry {
    label: String,
    values: Vec<Expr>,
}

impl<'a> Binder<'a> {
    /// The names of the columns of values: `v` or `(v, w)`.
    pub(super) fn value_names(&self, written: &'a ast::Expr) -> Result<Vec<&'a str>> {
        let name = |it: &'a ast::Expr| match it {
            ast::Expr::Identifier(name) => Ok(name.value.as_str()),
            other => {
                let error = Error::invalid_query("UNPIVOT takes names for its columns of values");
                Err(error.span(self.span(first_span(other))))
            }
        };
        match written {
            ast::Expr::Tuple(names) => names.iter().map(name).collect(),
            ast::Expr::Nested(one) => Ok(vec![name(one)?]),
            one => Ok(vec![name(one)?]),
        }
    }

    pub(super) fn unpivoted(&mut self, input: Plan, unpivot: &Unpivot<'a>) -> Result<Bound> {
        let entries = self.unpivot_entries(unpivot)?;
        let used: Vec<Expr> = entries.iter().flat_map(|it| it.values.iter().cloned()).collect();
        let others = self.unused_columns(&used, &[])?;
        let id = self.column("column_id", Type::BigInt);
        let sets = (0..).zip(&entries).map(|(id, _)| GroupingSet { id, keys: Vec::new() });
        let input = Plan::GroupId {
            input: Box::new(input),
            keys: Vec::new(),
            sets: sets.collect(),
            id: id.clone(),
            present: None,
        };
        let labels = entries.iter().map(|it| it.label.clone());
        let labels = labels.map(|it| Expr::constant(Value::text(it), Type::Varchar));
        let name = self.column(unpivot.name.value.as_str(), Type::Varchar);
        let mut exprs: Vec<(Column, Expr)> =
            others.iter().map(|it| (it.clone(), column_expr(it, None))).collect();
        exprs.push((name, self.by_id(&id, labels.collect(), Type::Varchar)?));
        let mut present = Vec::new();
        for (index, name) in unpivot.values.iter().enumerate() {
            let values = entries.iter().filter_map(|it| it.values.get(index).cloned());
            let values = self.unify(values.collect(), "UNPIVOT")?;
            let value_type = values.first().map_or(Type::Unknown, |it| it.data_type.clone());
            let column = self.column(*name, value_type.clone());
            let form = SpecialForm::IsNull;
            let is_null = Expr::special(form, vec![column_expr(&column, None)], Type::Boolean);
            present.push(self.negated(is_null, true)?);
            exprs.push((column, self.by_id(&id, values, value_type)?));
        }
        let columns = exprs.iter().map(|it| it.0.clone()).collect();
        let mut plan = Plan::Project { input: Box::new(input), exprs };
        if !unpivot.keeps_nulls {
            plan = Plan::Filter { input: Box::new(plan), conjuncts: present };
        }
        Ok(Bound { plan, columns })
    }

    /// The entries, with the columns of stars one by one.
    fn unpivot_entries(&mut self, unpivot: &Unpivot<'a>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for ExprWithAlias { expr: written, alias } in unpivot.listed {
            let span = self.span(first_span(written));
            let bound = match written {
                ast::Expr::Tuple(parts) if unpivot.values.len() > 1 => {
                    vec![parts.iter().map(|it| self.expr(it)).collect::<Result<Vec<_>>>()?]
                }
                one => self
                    .for_each_choice(|it| it.expr(one))?
                    .into_iter()
                    .map(|it| vec![it.1])
                    .collect(),
            };
            for values in bound {
                let values: Vec<Expr> =
                    values.into_iter().map(|it| self.column_of_text(it)).collect();
                let (count, wanted) = (values.len(), unpivot.values.len());
                if count != wanted {
                    let message =
                        format!("UNPIVOT into {wanted} values takes as many, not {count}");
                    let error = Error::invalid_query(message).span(span);
                    return Err(error.hint("write (a, b) for two values"));
                }
                let names = values.iter().map(|it| self.unpivoted_name(it));
                let names = names.collect::<Result<Vec<_>>>()?;
                let label = alias.as_ref().map_or(names.join("_"), |it| it.value.clone());
                entries.push(Entry { label, values });
            }
        }
        Ok(entries)
    }

    /// The column that a literal text names, or the expression itself.
    fn column_of_text(&self, expr: Expr) -> Expr {
        let found = inspect::string_literal(&expr).and_then(|it| Some(self.scope().ok()?.find(it)));
        match found {
            Some(Found::One(column)) => column_expr(&column, expr.span),
            _ => expr,
        }
    }

    /// The name of the only column of an expression.
    fn unpivoted_name(&self, expr: &Expr) -> Result<String> {
        let mut used = HashSet::new();
        inspect::collect_columns(expr, &mut used);
        let columns = self.scope()?.columns.iter().map(|it| &it.column);
        let mut columns = columns.filter(|it| used.contains(&it.id));
        match (columns.next(), columns.next()) {
            (Some(column), None) => Ok(column.name.clone()),
            _ => {
                let message = "UNPIVOT takes expressions of one column each";
                Err(Error::invalid_query(message).span(expr.span))
            }
        }
    }

    /// The value whose number a column has.
    fn by_id(&self, id: &Column, values: Vec<Expr>, data_type: Type) -> Result<Expr> {
        let last = values.len().saturating_sub(1);
        let mut args = Vec::with_capacity(2 * values.len());
        for (number, value) in (0..).zip(values) {
            if number < last as i64 {
                let number = Expr::constant(Value::BigInt(number), Type::BigInt);
                args.push(self.call("eq", vec![column_expr(id, None), number], None)?);
            }
            args.push(value);
        }
        match args.len() {
            1 => Ok(args.remove(0)),
            _ => Ok(Expr::special(SpecialForm::Switch, args, data_type)),
        }
    }
}
