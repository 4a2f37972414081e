//! POSITIONAL JOIN: joins rows by position; the shorter side is padded with nulls.
//!
//! ```text
//! Sort by number
//!   <- Project numbers as one <- Join FULL left number = right number
//!     <- Window row_number() over the order of the left side, and of the right side
//! ```
//!
//! Plans are bags of rows, so that the binder derives the order of a side: that of its ORDER BY, of
//! a list of VALUES, or of the rows in a table. Other rows are numbered in the order of arrival.

use super::{Binder, join::Side, select::column_expr, unsupported};
use volley_error::Result;
use volley_logical::{Column, Expr, JoinKind, Plan, SortKey, SpecialForm};
use volley_types::{Type, Value};

impl Binder<'_> {
    /// Joins two sides by the positions of their rows.
    pub(super) fn positional_join(
        &self,
        (left, left_scope): Side,
        (right, right_scope): Side,
        is_lateral: bool,
    ) -> Result<Side> {
        if is_lateral {
            return Err(unsupported("references to the left side of a POSITIONAL join", None));
        }
        let mut scope = left_scope;
        scope.append(right_scope)?;
        let columns: Vec<Column> = left.columns().into_iter().chain(right.columns()).collect();
        let (left, left_number) = self.numbered(left)?;
        let (right, right_number) = self.numbered(right)?;
        let numbers = vec![column_expr(&left_number, None), column_expr(&right_number, None)];
        let joined = Plan::Join {
            left: Box::new(left),
            right: Box::new(right),
            kind: JoinKind::Full,
            conditions: vec![self.compare("eq", numbers.clone(), None)?],
            null_aware: false,
            mark: None,
            lateral: false,
        };
        let number = self.column("position", Type::BigInt);
        let either = Expr::special(SpecialForm::Coalesce, numbers, Type::BigInt);
        let joined = with_column(joined, &columns, (number.clone(), either));
        let sorted = Plan::Sort { input: Box::new(joined), keys: vec![ascending(&number)] };
        Ok((sorted, scope))
    }

    /// The plan with the numbers of its rows, from 1.
    pub(super) fn numbered(&self, plan: Plan) -> Result<(Plan, Column)> {
        let (plan, order) = self.ordered(plan)?;
        Ok(self.windowed(plan, "row_number", order))
    }

    /// The plan, with columns that give the order of its rows; none where it is not known.
    fn ordered(&self, plan: Plan) -> Result<(Plan, Vec<SortKey>)> {
        Ok(match plan {
            Plan::Scan { table, name, mut columns, filters } => {
                let Some(with_ids) = self.with_row_ids(&table)? else {
                    return Ok((Plan::Scan { table, name, columns, filters }, Vec::new()));
                };
                let row = self.column("row", Type::BigInt);
                columns.push((row.clone(), with_ids.table.schema().len() - 1));
                let table = with_ids.reference;
                (Plan::Scan { table, name, columns, filters }, vec![ascending(&row)])
            }
            Plan::Values { mut columns, mut rows } => {
                let row = self.column("row", Type::BigInt);
                columns.push(row.clone());
                for (number, values) in (0..).zip(&mut rows) {
                    values.push(Expr::constant(Value::BigInt(number), Type::BigInt));
                }
                (Plan::Values { columns, rows }, vec![ascending(&row)])
            }
            Plan::Sort { input, keys } => {
                let mut columns = input.columns();
                let mut plan = *input;
                let mut order = Vec::with_capacity(keys.len());
                for key in keys.clone() {
                    let column = self.column("key", key.expr.data_type.clone());
                    plan = with_column(plan, &columns, (column.clone(), key.expr));
                    order.push(SortKey { expr: column_expr(&column, None), ..key });
                    columns.push(column);
                }
                (Plan::Sort { input: Box::new(plan), keys }, order)
            }
            Plan::Project { input, mut exprs } => {
                let (input, order) = self.ordered(*input)?;
                let columns = input.columns();
                let is_key = |it: &&Column| order.iter().any(|key| is_column(&key.expr, it));
                let is_new = |it: &&Column| exprs.iter().all(|(own, _)| own.id != it.id);
                let keys: Vec<&Column> = columns.iter().filter(is_key).filter(is_new).collect();
                exprs.extend(keys.into_iter().map(|it| (it.clone(), column_expr(it, None))));
                (Plan::Project { input: Box::new(input), exprs }, order)
            }
            Plan::Filter { input, conjuncts } => {
                let (input, order) = self.ordered(*input)?;
                (Plan::Filter { input: Box::new(input), conjuncts }, order)
            }
            Plan::Limit { input, offset, limit } => {
                let (input, order) = self.ordered(*input)?;
                (Plan::Limit { input: Box::new(input), offset, limit }, order)
            }
            other => (other, Vec::new()),
        })
    }
}

/// The columns of a plan that are named, and one more.
fn with_column(plan: Plan, columns: &[Column], more: (Column, Expr)) -> Plan {
    let exprs = columns.iter().map(|it| (it.clone(), column_expr(it, None)));
    let exprs = exprs.chain([more]).collect();
    Plan::Project { input: Box::new(plan), exprs }
}

fn is_column(expr: &Expr, column: &Column) -> bool {
    matches!(expr.kind, volley_logical::ExprKind::Column(id) if id == column.id)
}

fn ascending(column: &Column) -> SortKey {
    SortKey { expr: column_expr(column, None), descending: false, nulls_first: false }
}
