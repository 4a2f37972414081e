//! VALUES.

use super::{Binder, Bound, Clause, scope::Scope, target::is_default};
use sqlparser::ast;
use volley_error::{Error, Result};
use volley_logical::{Column, Expr, Plan};
use volley_types::Type;

impl<'a> Binder<'a> {
    /// Literal rows; columns are called `col0`, `col1`, ...
    pub(super) fn values(&mut self, values: &'a ast::Values) -> Result<Bound> {
        self.values_as(values, &[], &[])
    }

    /// As [`Binder::values`]; the first columns are cast to `types`, each value on its own, and
    /// take `defaults` where DEFAULT is written.
    pub(super) fn values_as(
        &mut self,
        values: &'a ast::Values,
        types: &[Type],
        defaults: &[Expr],
    ) -> Result<Bound> {
        let rows = values.rows.iter().map(|it| &it.content);
        let width = rows.clone().next().map_or(0, Vec::len);
        let bind = |it: &mut Self| {
            rows.map(|row| it.row(row, width, defaults)).collect::<Result<Vec<_>>>()
        };
        let (rows, _) = self.with_level(Scope::default(), Clause::Values, bind)?;
        self.rows_plan(rows, width, types)
    }

    fn row(&mut self, row: &'a [ast::Expr], width: usize, defaults: &[Expr]) -> Result<Vec<Expr>> {
        let value = |(index, written): (usize, &'a ast::Expr)| match defaults.get(index) {
            Some(default) if is_default(written) => Ok(default.clone()),
            _ => self.expr(written),
        };
        let exprs = row.iter().enumerate().map(value).collect::<Result<Vec<_>>>()?;
        if exprs.len() != width {
            let message = format!("rows of VALUES have {width} and {} columns", exprs.len());
            let span = exprs.first().and_then(|it| it.span);
            return Err(Error::invalid_query(message).span(span));
        }
        Ok(exprs)
    }

    fn rows_plan(&self, rows: Vec<Vec<Expr>>, width: usize, types: &[Type]) -> Result<Bound> {
        let height = rows.len();
        let mut by_column: Vec<Vec<Expr>> = (0..width).map(|_| Vec::new()).collect();
        for row in rows {
            by_column.iter_mut().zip(row).for_each(|(column, expr)| column.push(expr));
        }
        let mut columns: Vec<Column> = Vec::with_capacity(width);
        let mut rows: Vec<Vec<Expr>> = (0..height).map(|_| Vec::with_capacity(width)).collect();
        for (index, exprs) in by_column.into_iter().enumerate() {
            let exprs = match types.get(index) {
                Some(to) => {
                    let cast = |it| self.cast_to(it, to.clone(), false);
                    exprs.into_iter().map(cast).collect::<Result<Vec<_>>>()?
                }
                None => self.unify(exprs, "VALUES")?,
            };
            let data_type = exprs.first().map_or(Type::Unknown, |it| it.data_type.clone());
            columns.push(self.column(format!("col{index}"), data_type));
            rows.iter_mut().zip(exprs).for_each(|(row, expr)| row.push(expr));
        }
        let plan = Plan::Values { columns: columns.clone(), rows };
        Ok(Bound { plan, columns })
    }
}
