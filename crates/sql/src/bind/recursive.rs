//! WITH RECURSIVE: an anchor, and a step over the rows of the last iteration.
//!
//! ```text
//! anchor UNION [ALL] step       the step names the common table expression, the anchor does not;
//!                               there may be several of both
//! ```
//!
//! The columns have the common types of anchor and step. A step whose columns differ in type from
//! its working table is bound again over the common types, a few times; then it is cast to them.

use super::{Binder, Bound, query::CteEntry, unsupported};
use sqlparser::ast::{
    self, Ident, ObjectNamePart, SetExpr, SetOperator, SetQuantifier, Visit, visit_relations,
};
use std::{cell::Cell, ops::ControlFlow};
use volley_error::{Error, Result, Span};
use volley_logical::{Column, ColumnId, Plan, RECURRING, SetOperation};
use volley_types::{DECIMAL_PRECISION_MAX, Type};

/// What precedes the name of a recursion with USING KEY, for the last row of each key.
pub(super) const RECURRING_SCHEMA: &str = "recurring";

/// How often a step is bound for the sake of its types.
const ROUNDS_MAX: usize = 4;

/// The most times that the steps of one text are bound: recursions within each other multiply.
const STEPS_MAX: usize = 1000;

/// The working table of a recursion whose step is being bound.
pub(super) struct Working {
    id: u32,
    columns: Vec<Column>,
    /// Whether the recursion has USING KEY, so that there is a last row of each key.
    has_keys: bool,
    /// How often it was named.
    uses: Cell<usize>,
}

/// The parts of a recursive query.
struct Parts<'a> {
    all: bool,
    anchors: Vec<&'a SetExpr>,
    steps: Vec<&'a SetExpr>,
}

impl<'a> Binder<'a> {
    /// The query of a common table expression under WITH RECURSIVE, which may refer to itself.
    pub(super) fn recursive(&mut self, cte: &'a ast::Cte) -> Result<Bound> {
        if !mentions(&*cte.query, &cte.alias.name) {
            return self.query(&cte.query);
        }
        self.deeper(|it| it.span(cte.alias.name.span), |it| it.recursive_here(cte))
    }

    fn recursive_here(&mut self, cte: &'a ast::Cte) -> Result<Bound> {
        self.reject_clauses(cte)?;
        let visible = self.ctes.len();
        if let Some(with) = &cte.query.with {
            self.with(with)?;
        }
        let parts = self.parts(cte)?;
        let bound = self.recursion(cte, &parts);
        self.ctes.truncate(visible);
        bound
    }

    fn reject_clauses(&self, cte: &ast::Cte) -> Result<()> {
        let query = &cte.query;
        self.reject_query_clauses(query)?;
        let clause = match (&query.order_by, &query.limit_clause, &query.fetch) {
            (Some(_), ..) => "ORDER BY",
            (_, Some(_), _) | (.., Some(_)) => "LIMIT",
            _ => return Ok(()),
        };
        let message = format!("{clause} of a recursive query as a whole");
        let hint = "put it around a reference to the query, or its step in parentheses";
        Err(Error::invalid_query(message).span(self.span(cte.alias.name.span)).hint(hint))
    }

    /// Takes the query apart.
    fn parts(&self, cte: &'a ast::Cte) -> Result<Parts<'a>> {
        let name = &cte.alias.name;
        let (mut terms, mut first) = (Vec::new(), &*cte.query.body);
        let mut all = None;
        while mentions(first, name) {
            let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } =
                first
            else {
                return Err(self.no_recursion(name));
            };
            let is_all = match set_quantifier {
                SetQuantifier::All => true,
                SetQuantifier::Distinct | SetQuantifier::None => false,
                _ => return Err(unsupported("UNION BY NAME of a recursive query", None)),
            };
            if *all.get_or_insert(is_all) != is_all {
                return Err(self.no_recursion(name));
            }
            terms.push(&**right);
            first = left;
        }
        if terms.len() > self.shared.settings.depth_max {
            return Err(Error::invalid_query("nested too deeply: chain of set operations"));
        }
        let terms = terms.into_iter().rev();
        let (steps, mut anchors): (Vec<_>, Vec<_>) = terms.partition(|it| mentions(*it, name));
        anchors.insert(0, first);
        Ok(Parts { all: all.unwrap_or(true), anchors, steps })
    }

    fn no_recursion(&self, name: &Ident) -> Error {
        let message = format!("{} refers to itself in another way than as a recursion", name.value);
        let hint = "a recursive query is: anchor UNION [ALL] step, where only the step names it";
        Error::invalid_query(message).span(self.span(name.span)).hint(hint)
    }

    fn recursion(&mut self, cte: &'a ast::Cte, parts: &Parts<'a>) -> Result<Bound> {
        let span = self.span(cte.alias.name.span);
        let anchor = self.terms(&parts.anchors, span)?;
        let names = self.rename(anchor.columns.clone(), &cte.alias)?;
        let mut types: Vec<Type> = anchor.columns.iter().map(|it| it.data_type.clone()).collect();
        let id = self.shared.cte_ids.get();
        self.shared.cte_ids.set(id + 1);
        let mut round = 0;
        let key_names = self.source.keys_of(&cte.closing_paren_token.0);
        let keys = self.using_key_positions(key_names.unwrap_or_default(), &names)?;
        let (step, uses) = loop {
            let columns = names.iter().zip(&types);
            let columns = columns.map(|(it, data_type)| self.column(&it.name, data_type.clone()));
            let has_keys = key_names.is_some();
            let (columns, uses) = (columns.collect(), Cell::new(0));
            let working = Working { id, columns, has_keys, uses };
            let (step, uses) = self.step(cte, parts, working, span)?;
            let common = self.common_types(&types, &step.columns, round);
            let common = common.map_err(|it| it.span(span))?;
            round += 1;
            if common == types || round == ROUNDS_MAX {
                break (step, uses);
            }
            types = common;
        };
        if uses == 0 && keys.is_empty() {
            // Something else has its name.
            let both = self.combine(SetOperation::Union, parts.all, vec![anchor, step]);
            return both.map_err(|it| it.span(span));
        }
        if !parts.all || !keys.is_empty() {
            self.check_distinct(&types, span)?;
        }
        let mut inputs = Vec::with_capacity(2);
        for part in [anchor, step] {
            let bound = self.cast_columns(part, &types)?;
            let feeds: Vec<ColumnId> = bound.columns.iter().map(|it| it.id).collect();
            inputs.push((bound.plan, feeds));
        }
        let columns = names.iter().zip(&types);
        let columns = columns.map(|(it, data_type)| self.column(&it.name, data_type.clone()));
        let columns: Vec<Column> = columns.collect();
        let name = cte.alias.name.value.clone();
        let distinct = !parts.all;
        let plan = Plan::Recursive { id, name, distinct, keys, inputs, columns: columns.clone() };
        Ok(Bound { plan, columns })
    }

    /// The positions of the columns of USING KEY.
    fn using_key_positions(&self, keys: &[Ident], columns: &[Column]) -> Result<Vec<usize>> {
        let mut positions = Vec::with_capacity(keys.len());
        for key in keys {
            let invalid = |message: String| Error::invalid_query(message).span(self.span(key.span));
            let found = columns.iter().position(|it| it.name.eq_ignore_ascii_case(&key.value));
            let position = found
                .ok_or_else(|| invalid(format!("no such column in USING KEY: {}", key.value)))?;
            if positions.contains(&position) {
                return Err(invalid(format!("column {} is twice in USING KEY", key.value)));
            }
            positions.push(position);
        }
        Ok(positions)
    }

    /// The step over a working table, and how often it names that.
    fn step(
        &mut self,
        cte: &ast::Cte,
        parts: &Parts<'a>,
        working: Working,
        span: Option<Span>,
    ) -> Result<(Bound, usize)> {
        self.recursive_steps += 1;
        if self.recursive_steps > STEPS_MAX {
            let message = format!("recursive queries nested too deeply: {}", cte.alias.name.value);
            return Err(Error::invalid_query(message).span(span));
        }
        let width = working.columns.len();
        let position = self.ctes.len();
        self.ctes.push(CteEntry::working(&cte.alias.name.value, working));
        let step = self.terms(&parts.steps, span)?;
        let uses = self.ctes.get(position).map_or(0, |it| it.working_uses());
        self.ctes.truncate(position);
        if step.columns.len() != width {
            let found = step.columns.len();
            let message =
                format!("anchor and step of a recursion have {width} and {found} columns");
            return Err(Error::invalid_query(message).span(span));
        }
        Ok((step, uses))
    }

    /// All rows of several queries.
    fn terms(&mut self, terms: &[&'a SetExpr], span: Option<Span>) -> Result<Bound> {
        let mut bound = terms.iter().map(|it| self.set_expr(it)).collect::<Result<Vec<_>>>()?;
        match bound.len() {
            1 => bound.pop().ok_or_else(|| Error::internal("a recursion without a part")),
            _ => self.combine(SetOperation::Union, true, bound).map_err(|it| it.span(span)),
        }
    }

    fn check_distinct(&self, types: &[Type], span: Option<Span>) -> Result<()> {
        types.iter().try_for_each(|it| self.needs_equality(it, "UNION", span))?;
        match types.iter().find(|it| it.key_type().is_some()) {
            Some(it) => Err(unsupported(format!("UNION of recursive rows of type {it}"), span)),
            None => Ok(()),
        }
    }
}

impl Working {
    pub(super) fn uses(&self) -> usize {
        self.uses.get()
    }

    /// The rows that came last.
    pub(super) fn last(&self) -> u32 {
        self.id
    }

    /// The last row of each key, with USING KEY.
    pub(super) fn recurring(&self) -> Option<u32> {
        self.has_keys.then_some(self.id | RECURRING)
    }
}

impl Binder<'_> {
    /// A reference to the rows that came last.
    pub(super) fn working_table(&self, name: &str, working: &Working, id: u32) -> Bound {
        working.uses.set(working.uses.get() + 1);
        let columns = working.columns.iter();
        let columns = columns.map(|it| self.column(it.name.clone(), it.data_type.clone()));
        let columns: Vec<Column> = columns.collect();
        let name = name.to_owned();
        let plan = Plan::WorkingTable { id, name, columns: columns.clone() };
        Bound { plan, columns }
    }
}

/// Whether a query has a relation of this name somewhere.
fn mentions(query: &impl Visit, name: &Ident) -> bool {
    let found = visit_relations(query, |relation| match relation.0.as_slice() {
        [ObjectNamePart::Identifier(part)] if part.value.eq_ignore_ascii_case(&name.value) => {
            ControlFlow::Break(())
        }
        [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(part)]
            if schema.value.eq_ignore_ascii_case(RECURRING_SCHEMA)
                && part.value.eq_ignore_ascii_case(&name.value) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

impl Binder<'_> {
    /// The types of a working table from which a step over one of `types` makes `columns`.
    fn common_types(&self, types: &[Type], columns: &[Column], round: usize) -> Result<Vec<Type>> {
        let common = |(own, column): (&Type, &Column)| {
            let common = self.set_column_type(own, column, SetOperation::Union)?;
            Ok(match common {
                // Sums and products have more digits than what they are made of, again and again.
                Type::Decimal { scale, .. } if round > 0 && common != *own => {
                    Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale }
                }
                other => other,
            })
        };
        types.iter().zip(columns).map(common).collect()
    }
}
