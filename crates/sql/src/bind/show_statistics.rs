//! SHOW STATS FOR table: the statistics that the planner knows, a row per column and one for the
//! table.

use super::Binder;
use crate::{Relation, Statement, parse};
use sqlparser::ast::{ObjectName, Spanned};
use volley_connector::TableStatistics;
use volley_error::{Error, Result};
use volley_logical::{Column, Expr, Plan};
use volley_types::{Field, Type, Value};

/// The columns, as Presto names them.
const COLUMNS: [(&str, Type); 7] = [
    ("column_name", Type::Varchar),
    ("data_size", Type::Double),
    ("distinct_values_count", Type::Double),
    ("nulls_fraction", Type::Double),
    ("row_count", Type::Double),
    ("low_value", Type::Varchar),
    ("high_value", Type::Varchar),
];

impl Binder<'_> {
    pub(super) fn show_statistics(&self, name: &ObjectName) -> Result<Statement> {
        let span = self.span(name.span());
        let dotted = parse::dotted(name);
        let found = self.shared.catalog.table(&dotted).map_err(|it| it.span(span))?;
        let table = match found.ok_or_else(|| self.no_table(&dotted, span))? {
            Relation::Table(it) => it.table,
            Relation::View { .. } => {
                let message = format!("not a table: {dotted}");
                return Err(Error::invalid_query(message).span(span));
            }
        };
        let statistics = table.statistics().map_err(|it| it.span(span))?;
        let fields = table.schema().fields.iter().enumerate();
        let mut rows: Vec<Vec<Value>> =
            fields.map(|(index, field)| column_row(index, field, &statistics)).collect();
        let mut whole = vec![Value::Null; COLUMNS.len()];
        if let Some(row_count) = whole.get_mut(4) {
            *row_count = number(statistics.rows.map(|it| it as f64));
        }
        rows.push(whole);
        let columns: Vec<Column> =
            COLUMNS.iter().map(|(name, data_type)| self.column(*name, data_type.clone())).collect();
        let constant =
            |(value, column): (Value, &Column)| Expr::constant(value, column.data_type.clone());
        let row = |values: Vec<Value>| values.into_iter().zip(&columns).map(constant).collect();
        let rows = rows.into_iter().map(row).collect();
        let plan = Plan::Values { columns: columns.clone(), rows };
        Ok(Statement::Query(super::Bound { plan, columns }.into()))
    }
}

fn column_row(index: usize, field: &Field, statistics: &TableStatistics) -> Vec<Value> {
    let column = statistics.columns.get(index);
    let nulls = column.and_then(|it| it.nulls).zip(statistics.rows);
    let share = nulls.map(|(nulls, rows)| nulls as f64 / rows.max(1) as f64);
    // Presto shows bounds of what lies on a line.
    let has_bounds = field.data_type.is_number()
        || matches!(field.data_type, Type::Date | Type::Time | Type::Timestamp);
    let bound = |value: Option<&Value>| match value.filter(|_| has_bounds) {
        Some(value) => Value::text(value.display(&field.data_type).to_string()),
        None => Value::Null,
    };
    vec![
        Value::text(&field.name),
        Value::Null,
        number(column.and_then(|it| it.distinct).map(|it| it as f64)),
        number(share),
        Value::Null,
        bound(column.and_then(|it| it.min.as_ref())),
        bound(column.and_then(|it| it.max.as_ref())),
    ]
}

fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, Value::Double)
}
