//! MERGE. INSERT with ON CONFLICT is planned alike.
//!
//! ```text
//! Project id, action code, CASE action WHEN 0 THEN value ... END per column
//!   <- Filter action IS NOT NULL <- Project action: CASE WHEN condition THEN 0 ... END
//!   <- Join source, target with row ids
//! ```

use super::{
    Binder, Bound, Clause,
    access::ambiguous,
    scope::{Found, Scope},
    select::column_expr,
    target::{Target, TargetRows},
    unsupported,
    write::projected,
};
use crate::{Statement, parse};
use sqlparser::ast::{
    self, Merge, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    MergeUpdateKind, OutputClause,
};
use volley_connector::{MergeAction, WriteKind};
use volley_error::{Error, Result};
use volley_logical::{Column, Expr, JoinKind, Plan, SpecialForm};
use volley_types::{Type, Value};

/// What happens to a pair of rows, or a row without a partner.
pub(super) struct Arm {
    pub(super) condition: Expr,
    /// `None` for DO NOTHING.
    pub(super) action: Option<MergeAction>,
    /// One per column of the table, unless it has no use.
    pub(super) values: Vec<Expr>,
}

/// Both sides of MERGE, joined.
struct Sides {
    plan: Plan,
    source: Scope,
    target: Scope,
    both: Scope,
    /// Not null where there is a source row.
    has_source: Column,
    row_id: Column,
    target_columns: Vec<Column>,
    source_columns: Vec<Column>,
}

impl<'a> Binder<'a> {
    pub(super) fn merge(&mut self, merge: &'a Merge) -> Result<Statement> {
        let target = self.target_of_factor(&merge.table, "MERGE")?;
        let rows = self.target_rows(&target)?;
        let (source, source_scope) = self.source(&merge.source)?;
        let kind = join_kind(&merge.clauses);
        let sides = self.sides(rows, (source, source_scope), kind, &merge.on)?;
        let mut arms = Vec::with_capacity(merge.clauses.len());
        for clause in &merge.clauses {
            arms.push(self.arm(&target, &sides, clause)?);
        }
        let bound = self.arms(sides.plan, &sides.row_id, &target, arms)?;
        let bound = self.with_generated(&target, bound, 2)?;
        let returning = match &merge.output {
            None => None,
            Some(OutputClause::Returning { select_items, .. }) => Some(select_items),
            Some(OutputClause::Output { .. }) => return Err(unsupported("OUTPUT", None)),
        };
        self.write(target, WriteKind::Merge { statement: "MERGE" }, bound, returning)
    }

    fn source(&mut self, written: &'a ast::TableFactor) -> Result<(Plan, Scope)> {
        let outer = std::mem::replace(&mut self.from_level, self.levels.len());
        let source = self.factor(written);
        self.from_level = outer;
        source
    }

    fn sides(
        &mut self,
        target: TargetRows,
        (source, source_scope): (Plan, Scope),
        kind: JoinKind,
        on: &'a ast::Expr,
    ) -> Result<Sides> {
        let (source, has_source) = self.marked(source);
        let source_columns = source_scope.plain().map(|it| it.column.clone()).collect();
        let mut both = source_scope.clone();
        both.append(target.scope.clone())?;
        let bind = |it: &mut Self| match using_columns(on) {
            Some(names) => it.equal_columns(names, &source_scope, &target.scope),
            None => it.conjuncts(on, "the condition of MERGE"),
        };
        let (conditions, level) = self.with_level(both, Clause::JoinCondition, bind)?;
        let plan = joined(source, target.plan, kind, conditions);
        Ok(Sides {
            plan,
            source: source_scope,
            target: target.scope,
            both: level.scope,
            has_source,
            row_id: target.row_id,
            target_columns: target.columns,
            source_columns,
        })
    }

    /// USING: that columns of both sides are equal.
    fn equal_columns(
        &self,
        names: &[ast::FunctionArg],
        source: &Scope,
        target: &Scope,
    ) -> Result<Vec<Expr>> {
        let equal = |arg: &ast::FunctionArg| {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Identifier(name))) =
                arg
            else {
                return Err(Error::invalid_query("USING takes names of columns"));
            };
            let span = self.span(name.span);
            let side = |scope: &Scope| match scope.find(&name.value) {
                Found::One(column) => Ok(column_expr(&column, span)),
                Found::None => {
                    let message = format!("no such column on both sides of USING: {}", name.value);
                    Err(Error::invalid_query(message).span(span))
                }
                Found::Several(names) => Err(ambiguous(&name.value, &names, span)),
            };
            self.compare("eq", vec![side(source)?, side(target)?], span)
        };
        names.iter().map(equal).collect()
    }

    /// The plan with one more column that is TRUE.
    fn marked(&self, plan: Plan) -> (Plan, Column) {
        let mark = self.column("has source", Type::Boolean);
        let mut exprs: Vec<(Column, Expr)> =
            plan.columns().into_iter().map(|it| (it.clone(), column_expr(&it, None))).collect();
        exprs.push((mark.clone(), Expr::boolean(true)));
        (Plan::Project { input: Box::new(plan), exprs }, mark)
    }

    fn arm(&mut self, target: &Target, sides: &Sides, clause: &'a MergeClause) -> Result<Arm> {
        let is_absent = |column: &Column| {
            let column = vec![column_expr(column, None)];
            Expr::special(SpecialForm::IsNull, column, Type::Boolean)
        };
        let (no_source, no_target) = (is_absent(&sides.has_source), is_absent(&sides.row_id));
        let (scope, mut conjuncts) = match clause.clause_kind {
            MergeClauseKind::Matched => {
                let found = [no_source, no_target].map(|it| self.negated(it, true));
                (&sides.both, found.into_iter().collect::<Result<Vec<_>>>()?)
            }
            MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => {
                (&sides.source, vec![no_target])
            }
            MergeClauseKind::NotMatchedBySource => (&sides.target, vec![no_source]),
        };
        let bind = |it: &mut Self| {
            if let Some(predicate) = &clause.predicate {
                conjuncts.extend(it.conjuncts(predicate, "the condition of WHEN")?);
            }
            it.arm_values(target, sides, &clause.action)
        };
        let ((action, values), _) = self.with_level(scope.clone(), Clause::Merge, bind)?;
        let condition = match conjuncts.len() {
            1 => conjuncts.remove(0),
            _ => Expr::special(SpecialForm::And, conjuncts, Type::Boolean),
        };
        Ok(Arm { condition, action, values })
    }

    fn arm_values(
        &mut self,
        target: &Target,
        sides: &Sides,
        action: &'a ast::MergeAction,
    ) -> Result<(Option<MergeAction>, Vec<Expr>)> {
        match action {
            ast::MergeAction::DoNothing { .. } => Ok((None, Vec::new())),
            ast::MergeAction::Delete { .. } => Ok((Some(MergeAction::Delete), Vec::new())),
            ast::MergeAction::Update(update) => {
                let values = self.update_values(target, sides, update)?;
                Ok((Some(MergeAction::Update), values))
            }
            ast::MergeAction::Insert(insert) => {
                let values = self.insert_values(target, sides, insert)?;
                Ok((Some(MergeAction::Insert), values))
            }
        }
    }

    fn update_values(
        &mut self,
        target: &Target,
        sides: &Sides,
        update: &'a MergeUpdateExpr,
    ) -> Result<Vec<Expr>> {
        let span = self.span(update.update_token.0.span);
        if update.update_predicate.is_some() || update.delete_predicate.is_some() {
            return Err(unsupported("WHERE in UPDATE of MERGE (use WHEN ... AND)", span));
        }
        match &update.kind {
            MergeUpdateKind::Set(assignments) => {
                let assigned = self.assignments(target, assignments)?;
                Ok(replaced(&sides.target_columns, assigned))
            }
            MergeUpdateKind::Wildcard => self.source_values(target, sides),
        }
    }

    fn insert_values(
        &mut self,
        target: &Target,
        sides: &Sides,
        insert: &'a MergeInsertExpr,
    ) -> Result<Vec<Expr>> {
        let span = self.span(insert.insert_token.0.span);
        if insert.insert_predicate.is_some() {
            return Err(unsupported("WHERE in INSERT of MERGE (use WHEN ... AND)", span));
        }
        let MergeInsertKind::Values(values) = &insert.kind else {
            return self.source_values(target, sides);
        };
        let targets = self.targets(target, &insert.columns)?;
        let [row] = values.rows.as_slice() else {
            return Err(Error::invalid_query("INSERT of MERGE takes one row").span(span));
        };
        if row.content.len() != targets.len() {
            let (given, wanted) = (row.content.len(), targets.len());
            let message = format!("INSERT has {given} columns for {wanted} of the table");
            return Err(Error::invalid_query(message).span(span));
        }
        let value = |index: usize| match targets.iter().position(|it| *it == index) {
            Some(at) => match row.content.get(at) {
                Some(written) => self.assigned(target, index, written),
                None => Err(Error::internal("fewer values than columns")),
            },
            None => self.default_of(&target.stored, target.schema(), index),
        };
        (0..target.schema().len()).map(value).collect()
    }

    /// The columns of the source, for those of the table in their order.
    fn source_values(&mut self, target: &Target, sides: &Sides) -> Result<Vec<Expr>> {
        let definition = &target.stored.definition;
        let is_plain = |it: &usize| !definition.is_generated(*it);
        let (given, wanted) =
            (sides.source_columns.len(), (0..target.schema().len()).filter(is_plain).count());
        if given != wanted {
            let message = format!("the source of MERGE has {given} columns, the table {wanted}");
            return Err(Error::invalid_query(message).span(target.span));
        }
        let mut source = sides.source_columns.iter();
        let value = |(index, to): (usize, Type)| match is_plain(&index).then(|| source.next()) {
            Some(Some(it)) => self.cast_to(column_expr(it, None), to, false),
            _ => Ok(Expr::constant(Value::Null, to)),
        };
        target.types().into_iter().enumerate().map(value).collect()
    }

    /// For each row of `plan` the first arm whose condition is true: id, action, all columns.
    pub(super) fn arms(
        &self,
        plan: Plan,
        row_id: &Column,
        target: &Target,
        arms: Vec<Arm>,
    ) -> Result<Bound> {
        let integer = |it: i32| Expr::constant(Value::Integer(it), Type::Integer);
        let null = |it: &Type| Expr::constant(Value::Null, it.clone());
        let mut choice = Vec::with_capacity(arms.len() * 2 + 1);
        for (number, arm) in (0..).zip(&arms) {
            let chosen = arm.action.map_or_else(|| null(&Type::Integer), |_| integer(number));
            choice.extend([arm.condition.clone(), chosen]);
        }
        choice.push(null(&Type::Integer));
        let chosen = self.column("arm", Type::Integer);
        let mut exprs: Vec<(Column, Expr)> =
            plan.columns().into_iter().map(|it| (it.clone(), column_expr(&it, None))).collect();
        let switch = match arms.is_empty() {
            true => null(&Type::Integer),
            false => Expr::special(SpecialForm::Switch, choice, Type::Integer),
        };
        exprs.push((chosen.clone(), switch));
        let plan = Plan::Project { input: Box::new(plan), exprs };
        let is_null = vec![column_expr(&chosen, None)];
        let is_null = Expr::special(SpecialForm::IsNull, is_null, Type::Boolean);
        let conjuncts = vec![self.negated(is_null, true)?];
        let plan = Plan::Filter { input: Box::new(plan), conjuncts };
        let of_arms = |value: &dyn Fn(&Arm) -> Option<Expr>, data_type: &Type| {
            let mut args = Vec::with_capacity(arms.len() * 2 + 1);
            for (number, arm) in (0..).zip(&arms) {
                if let Some(value) = value(arm) {
                    let operands = vec![column_expr(&chosen, None), integer(number)];
                    args.extend([self.compare("eq", operands, None)?, value]);
                }
            }
            let otherwise = null(data_type);
            if args.is_empty() {
                return Ok::<_, Error>(otherwise);
            }
            args.push(otherwise);
            Ok(Expr::special(SpecialForm::Switch, args, data_type.clone()))
        };
        let action = |arm: &Arm| arm.action.map(|it| integer(it.code()));
        let action = of_arms(&action, &Type::Integer)?;
        let mut exprs = vec![
            (row_id.clone(), column_expr(row_id, None)),
            (self.column("action", Type::Integer), action),
        ];
        for (index, field) in target.schema().fields.iter().enumerate() {
            let value = of_arms(&|arm| arm.values.get(index).cloned(), &field.data_type)?;
            exprs.push((self.column(field.name.clone(), field.data_type.clone()), value));
        }
        Ok(projected(plan, exprs))
    }
}

/// The names in USING of MERGE, which its condition represents.
fn using_columns(on: &ast::Expr) -> Option<&[ast::FunctionArg]> {
    match on {
        ast::Expr::Function(function) if parse::dotted(&function.name) == parse::MERGE_USING => {
            match &function.args {
                ast::FunctionArguments::List(list) => Some(&list.args),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The columns, some of them replaced.
pub(super) fn replaced(columns: &[Column], assigned: Vec<(usize, Expr)>) -> Vec<Expr> {
    let mut values: Vec<Expr> = columns.iter().map(|it| column_expr(it, None)).collect();
    for (index, expr) in assigned {
        if let Some(value) = values.get_mut(index) {
            *value = expr;
        }
    }
    values
}

/// The join that keeps the rows which the clauses name; the source stands on the left.
fn join_kind(clauses: &[MergeClause]) -> JoinKind {
    let has = |kinds: &[MergeClauseKind]| clauses.iter().any(|it| kinds.contains(&it.clause_kind));
    let keeps_source = has(&[MergeClauseKind::NotMatched, MergeClauseKind::NotMatchedByTarget]);
    let keeps_target = has(&[MergeClauseKind::NotMatchedBySource]);
    match (keeps_source, keeps_target) {
        (false, false) => JoinKind::Inner,
        (true, false) => JoinKind::Left,
        (false, true) => JoinKind::Right,
        (true, true) => JoinKind::Full,
    }
}

pub(super) fn joined(left: Plan, right: Plan, kind: JoinKind, conditions: Vec<Expr>) -> Plan {
    Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        conditions,
        null_aware: false,
        mark: None,
        lateral: false,
    }
}
