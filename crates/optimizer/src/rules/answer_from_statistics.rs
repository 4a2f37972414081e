//! Returns aggregates of whole tables from the tables' statistics.

use crate::OptimizerContext;
use crate::columns::rewrite_up;
use crate::expr::as_column;
use volley_connector::TableStatistics;
use volley_error::Result;
use volley_logical::{AggregateCall, Column, ColumnId, Expr, Plan};
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
    let Some((Plan::Scan { table, columns, .. }, names)) = whole_table(input) else {
        return Ok(None);
    };
    let statistics = ctx.tables.resolve(table)?.statistics()?;
    if !statistics.is_exact {
        return Ok(None);
    }
    let position = |id: ColumnId| {
        let id = names
            .iter()
            .rev()
            .try_fold(id, |id, exprs| as_column(&exprs.iter().find(|it| it.0.id == id)?.1))?;
        columns.iter().find(|it| it.0.id == id).map(|it| it.1)
    };
    let answer = |it: &(Column, AggregateCall)| {
        let value = answer_of(&it.1, &statistics, &position)?;
        Some(Expr::constant(value, it.0.data_type.clone()))
    };
    let row: Option<Vec<Expr>> = aggregates.iter().map(answer).collect();
    let columns = aggregates.iter().map(|it| it.0.clone()).collect();
    Ok(row.map(|row| Plan::Values { columns, rows: vec![row] }))
}

type Exprs = [(Column, Expr)];

/// A scan of all rows, and the projections above it, the lowest first.
fn whole_table(mut plan: &Plan) -> Option<(&Plan, Vec<&Exprs>)> {
    let mut projections = Vec::new();
    loop {
        match plan {
            Plan::Scan { filters, .. } if filters.is_empty() => {
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

fn answer_of(
    call: &AggregateCall,
    statistics: &TableStatistics,
    position: &dyn Fn(ColumnId) -> Option<usize>,
) -> Option<Value> {
    // Of the smallest value it does not matter how often it is there.
    let is_plain = call.filter.is_none() && call.order_by.is_empty();
    let repeats = call.distinct && call.function == "count";
    if !is_plain || repeats {
        return None;
    }
    let rows = statistics.rows?;
    if let ("count", []) = (call.function.as_str(), call.args.as_slice()) {
        return Some(Value::BigInt(rows.try_into().ok()?));
    }
    let [arg] = call.args.as_slice() else { return None };
    let column = statistics.columns.get(position(as_column(arg)?)?)?;
    let bound = match call.function.as_str() {
        "count" => return Some(Value::BigInt(rows.checked_sub(column.nulls?)?.try_into().ok()?)),
        "min" => column.min.clone(),
        "max" => column.max.clone(),
        _ => None,
    };
    bound.filter(|it| has_exact_bounds(&arg.data_type, it))
}

/// Whether `bound` is a value of a type whose bounds are neither cut off nor leave values out, as
/// those of texts and of floats may.
fn has_exact_bounds(data_type: &Type, bound: &Value) -> bool {
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
