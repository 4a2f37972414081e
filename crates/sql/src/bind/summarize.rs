//! SUMMARIZE: a row about each column of a table or query.

use super::{Binder, Bound, command::known};
use crate::{Statement, parse, parse::Described, stack};
use std::fmt::Write;
use volley_error::{Error, Result};
use volley_types::Type;

impl<'a> Binder<'a> {
    /// Binds `SUMMARIZE`; `text` is what the columns are those of.
    pub(super) fn summarize(&mut self, described: &'a Described, text: &str) -> Result<Statement> {
        let (bound, text) = match described {
            Described::Query(query) => (self.query(query)?, text.to_owned()),
            Described::Table(name) => (self.whole_table(name)?, format!("SELECT * FROM {text}")),
            Described::Function(_) => return Err(Error::internal("SUMMARIZE of a function")),
        };
        let sql = summary(&bound, &text);
        stack::with_room(sql.len(), || {
            let (query, source) = parse::parse_query(&sql)?;
            let mut binder = Binder::new(self.shared, &source);
            binder.view_span = self.first_word;
            Ok(Statement::Query(binder.query(&query)?.into()))
        })
    }
}

/// The query for a row per column, in their order.
fn summary(bound: &Bound, text: &str) -> String {
    let mut names = String::new();
    let mut rows = String::new();
    for (index, column) in bound.columns.iter().enumerate() {
        let data_type = known(&column.data_type);
        let (separator, union) = if index == 0 { ("", "") } else { (", ", " UNION ALL ") };
        let _ = write!(names, "{separator}c{index}");
        let when = |is_known: bool, call: &str| match is_known {
            true => format!("CAST({call}(c{index}) AS VARCHAR)"),
            false => "CAST(NULL AS VARCHAR)".to_owned(),
        };
        let (is_plain, is_number) = (is_plain(&data_type), data_type.is_number());
        let distinct = match is_plain {
            true => format!("approx_distinct(c{index})"),
            false => "CAST(NULL AS BIGINT)".to_owned(),
        };
        let _ = write!(
            rows,
            "{union}SELECT {index} AS n, {name} AS column_name, {type_name} AS column_type, \
             {min} AS min, {max} AS max, {distinct} AS approx_unique, {avg} AS avg, {std} AS std, \
             count(*) AS count, CAST(100.0 * (count(*) - count(c{index})) / \
             nullif(count(*), 0) AS DECIMAL(9,2)) AS null_percentage FROM s",
            name = quoted(&column.name),
            type_name = quoted(&data_type.to_string()),
            min = when(is_plain, "min"),
            max = when(is_plain, "max"),
            avg = when(is_number, "avg"),
            std = when(is_number, "stddev"),
        );
    }
    format!(
        "WITH s({names}) AS ({text}) SELECT column_name, column_type, min, max, approx_unique, \
         avg, std, count, null_percentage FROM ({rows}) ORDER BY n"
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether values have an order and no parts.
fn is_plain(data_type: &Type) -> bool {
    data_type.is_number()
        || data_type.is_string()
        || data_type.labels().is_some()
        || matches!(data_type, Type::Boolean | Type::Date | Type::Time | Type::Timestamp)
}
