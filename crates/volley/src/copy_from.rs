//! COPY FROM: the rows of a file into a table.

use crate::{
    Outcome, Session,
    csv_options::{CsvReader, read_csv_options},
    planning::StatementContext,
    write::{query_over, write, write_rows},
};
use std::sync::Arc;
use volley_catalog::Turn;
use volley_connector::{Table, TableOption};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, ErrorKind, Result};
use volley_sql::{CopiedText, CopyFrom};
use volley_text::{CsvReadOptions, CsvRows};
use volley_types::{Type, Value};

/// Rows of text that are read at once.
const READ_ROWS: usize = 1 << 14;

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
        crate::copy::file_format(&copy.format)?;
        return write(session, copy.write, turn, cx);
    };
    let options = read_options(&copy.options)?;
    let pool = session.pool.child("text of a file");
    let mut rows =
        CsvRows::open(session.files.open(&copy.path)?, text.schema.len() - 1, options, &pool)?;
    let mut charge = pool.reservation();
    let mut batches = Vec::new();
    while let Some(batch) = rows.next(READ_ROWS)? {
        cx.constants.cancellation.check()?;
        charge.grow(batch.retained_bytes())?;
        batches.push(batch);
    }
    let table = MemoryTable::new(&copy.path, text.schema.clone(), batches, &session.pool)?;
    drop(charge);
    let table: Arc<dyn Table> = Arc::new(table);
    let rows = query_over(session, copy.write.query.clone(), (&text.handle, &table), cx);
    match rows {
        Ok(rows) => write_rows(session, copy.write, rows, turn, cx),
        Err(error) if error.kind() == ErrorKind::InvalidValue => {
            let misfit = first_misfit(session, text, &table, cx)?;
            Err(misfit.map_or(error, |it| it.at("file", &copy.path)))
        }
        Err(error) => Err(error),
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
