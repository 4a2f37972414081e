//! COPY FROM: the rows of a file into a table.

use crate::{
    Outcome, Session,
    csv_options::{CsvReader, read_csv_options},
    planning::{StatementContext, plan_query},
    text_table::TextTable,
    write::{query_over, run_write, write},
};
use std::sync::Arc;
use volley_catalog::Turn;
use volley_connector::{Table, TableOption};
use volley_connector_hive::FileFormat;
use volley_error::{Error, ErrorKind, Result};
use volley_sql::{CopiedText, CopyFrom};
use volley_text::CsvReadOptions;
use volley_types::{Type, Value};

/// Adds the rows of a file; none, if one of them does not fit.
pub(crate) fn copy_from(
    session: &Session,
    copy: CopyFrom,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<Outcome> {
    let Some(text) = &copy.text else {
        if let Some((name, _)) = copy.options.first() {
            let message = format!("COPY option {name} does not go with {}", copy.format);
            return Err(Error::invalid_query(message).hint("it is for CSV"));
        }
        FileFormat::of_name(&copy.format, &session.host.formats)?;
        return write(session, copy.write, turn, cx);
    };
    let table: Arc<dyn Table> = Arc::new(TextTable {
        handle: text.handle.clone(),
        schema: text.schema.clone(),
        files: session.files.clone(),
        path: copy.path.clone(),
        options: read_options(&copy.options)?,
        pool: session.pool.child("text of a file"),
    });
    let mut planned = plan_query(session, copy.write.query.plan.clone(), cx)?;
    planned.tables = Arc::new(planned.tables.with(text.handle.clone(), Arc::clone(&table)));
    match run_write(session, &copy.write, planned, turn, cx).map(|it| it.0) {
        Err(error) if error.kind() == ErrorKind::InvalidValue => {
            let misfit = first_misfit(session, text, &table, cx)?;
            Err(misfit.map_or(error, |it| it.at("file", &copy.path)))
        }
        copied => copied,
    }
}

/// The error of the first line with a field that is not of its column's type.
fn first_misfit(
    session: &Session,
    text: &CopiedText,
    table: &Arc<dyn Table>,
    cx: &StatementContext,
) -> Result<Option<Error>> {
    let mut first: Option<(i128, Error)> = None;
    for (column, data_type, query) in &text.misfits {
        let rows = query_over(session, query.clone(), (&text.handle, table), cx)?;
        let Some(batch) = rows.batches.first() else { continue };
        let line = batch.column(0).value(0)?.as_i128().unwrap_or_default();
        if first.as_ref().is_none_or(|it| line < it.0) {
            let value = batch.column(1).value(0)?;
            let field: String = value.as_str().unwrap_or_default().chars().take(40).collect();
            let error = Error::invalid_value(format!("not a {data_type}: '{field}'"));
            first = Some((line, error.at("line", line).at("column", column)));
        }
    }
    Ok(first.map(|it| it.1))
}

fn read_options(written: &[(String, String)]) -> Result<CsvReadOptions> {
    // A text in quotes is a text, as COPY writes it.
    let mut options = CsvReadOptions { allow_quoted_nulls: false, ..CsvReadOptions::default() };
    let written: Vec<TableOption> = written.iter().map(option).collect();
    let types = |_: &str| Err(Error::internal("options of COPY FROM that name types"));
    read_csv_options(&mut options, &written, CsvReader::Copy, &types)?;
    Ok(options)
}

fn option((name, value): &(String, String)) -> TableOption {
    TableOption {
        name: name.clone(),
        value: Value::text(value),
        data_type: Type::Varchar,
        name_span: None,
        span: None,
    }
}
