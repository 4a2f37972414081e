//! Returns aggregates of whole tables, or of their rows where one column is null or is not, from
//! the tables' statistics.

use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::{as_column, negated};
use volley_connector::TableStatistics;
use volley_error::Result;
use volley_logical::{AggregateCall, Column, ColumnId, Expr, ExprKind, Plan, SpecialForm};
use volley_types::{Type, Value};

/// Replaces count, min and max over all rows of a table by what it knows exactly.
pub(super) fn answer_from_statistics(plan: Plan, ctx: &OptimizerContext<'_>) -> Result<Plan> {
    super::cte::with_ctes(plan, &mut |plan| {
        rewrite_up(plan, &mut |node| Ok(answered(&node, ctx)?.unwrap_or(node)))
    })
}

fn answered(plan: &Plan, ctx: &OptimizerContext<'_>) -> Result<Option<Plan>> {
    let Plan::Aggregate { input, keys, aggregates } = plan else { return Ok(None) };
    if !keys.is_empty() || aggregates.is_empty() {
        return Ok(None);
    }
    let Some((Plan::Scan { table, columns, filters, .. }, names)) = scan_below(input) else {
        return Ok(None);
    };
    let Some(test) = NullTest::of(filters) else { return Ok(None) };
    let statistics = ctx.tables.resolve(table)?.statistics()?;
    if !statistics.is_exact {
        return Ok(None);
    }
    let of_scan = |id: ColumnId| columns.iter().find(|it| it.0.id == id).map(|it| it.1);
    let position = |id: ColumnId| {
        let id = names
            .iter()
            .rev()
            .try_fold(id, |id, exprs| as_column(&exprs.iter().find(|it| it.0.id == id)?.1))?;
        of_scan(id)
    };
    let known = Known { statistics: &statistics, test: test.positioned(&of_scan) };
    let answer = |it: &(Column, AggregateCall)| {
        let value = known.answer(&it.1, &position)?;
        Some(Expr::constant(value, it.0.data_type.clone()))
    };
    let row: Option<Vec<Expr>> = aggregates.iter().map(answer).collect();
    let columns = aggregates.iter().map(|it| it.0.clone()).collect();
    Ok(row.map(|row| Plan::Values { columns, rows: vec![row] }))
}

type Exprs = [(Column, Expr)];

/// A scan, and the projections above it, the lowest first.
fn scan_below(mut plan: &Plan) -> Option<(&Plan, Vec<&Exprs>)> {
    let mut projections = Vec::new();
    loop {
        match plan {
            Plan::Scan { .. } => {
                projections.reverse();
                return Some((plan, projections));
            }
            Plan::Project { input, exprs } => {
                projections.push(exprs.as_slice());
                plan = input;
            }
            _ => return None,
        }
    }
}

/// Which rows a scan returns, by a test of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NullTest<T> {
    /// All rows.
    All,
    /// Those where the column is null.
    Null(T),
    /// Those where it is not.
    NotNull(T),
}

impl NullTest<ColumnId> {
    /// What the filters of a scan test, if it is no more than that.
    fn of(filters: &[Expr]) -> Option<NullTest<ColumnId>> {
        let tested = |expr: &Expr| match &expr.kind {
            ExprKind::Special { form: SpecialForm::IsNull, args } => as_column(args.first()?),
            _ => None,
        };
        match filters {
            [] => Some(NullTest::All),
            [filter] => match negated(filter) {
                Some(inner) => tested(inner).map(NullTest::NotNull),
                None => tested(filter).map(NullTest::Null),
            },
            _ => None,
        }
    }

    fn positioned(self, position: &dyn Fn(ColumnId) -> Option<usize>) -> NullTest<Option<usize>> {
        match self {
            NullTest::All => NullTest::All,
            NullTest::Null(id) => NullTest::Null(position(id)),
            NullTest::NotNull(id) => NullTest::NotNull(position(id)),
        }
    }
}

/// Exact statistics of a table, and which of its rows are aggregated: by the position of a column,
/// `None` for one that is not read from the table.
struct Known<'a> {
    statistics: &'a TableStatistics,
    test: NullTest<Option<usize>>,
}

impl Known<'_> {
    fn answer(
        &self,
        call: &AggregateCall,
        position: &dyn Fn(ColumnId) -> Option<usize>,
    ) -> Option<Value> {
        // Of the smallest value it does not matter how often it is there.
        let is_plain = call.filter.is_none() && call.order_by.is_empty();
        let repeats = call.distinct && call.function == "count";
        if !is_plain || repeats {
            return None;
        }
        if let ("count", []) = (call.function.as_str(), call.args.as_slice()) {
            return as_count(match self.test {
                NullTest::All => self.statistics.rows?,
                NullTest::Null(at) => self.nulls(at?)?,
                NullTest::NotNull(at) => self.values(at?)?,
            });
        }
        let [arg] = call.args.as_slice() else { return None };
        let at = position(as_column(arg)?)?;
        match self.test {
            NullTest::All => {}
            NullTest::NotNull(tested) if tested == Some(at) => {}
            NullTest::Null(tested) if tested == Some(at) && call.function == "count" => {
                return as_count(0);
            }
            NullTest::Null(_) | NullTest::NotNull(_) => return None,
        }
        let column = self.statistics.columns.get(at)?;
        let bound = match call.function.as_str() {
            "count" => return as_count(self.values(at)?),
            "min" => column.min.clone(),
            "max" => column.max.clone(),
            _ => None,
        };
        bound.filter(|it| has_exact_bounds(&arg.data_type, it))
    }

    fn nulls(&self, at: usize) -> Option<u64> {
        self.statistics.columns.get(at)?.nulls
    }

    fn values(&self, at: usize) -> Option<u64> {
        self.statistics.rows?.checked_sub(self.nulls(at)?)
    }
}

fn as_count(rows: u64) -> Option<Value> {
    Some(Value::BigInt(rows.try_into().ok()?))
}

/// Whether `bound` is a value of a type whose bounds are neither cut off nor leave values out, as
/// those of texts and of floats may.
fn has_exact_bounds(data_type: &Type, bound: &Value) -> bool {
    if data_type.unsigned().is_some() {
        return bound.as_i128().is_some();
    }
    matches!(
        (data_type, bound),
        (Type::TinyInt, Value::TinyInt(_))
            | (Type::SmallInt, Value::SmallInt(_))
            | (Type::Integer, Value::Integer(_))
            | (Type::BigInt, Value::BigInt(_))
            | (Type::Decimal { .. }, Value::Decimal(_))
            | (Type::Date, Value::Date(_))
            | (Type::Time, Value::Time(_))
            | (Type::Timestamp, Value::Timestamp(_))
    )
}
