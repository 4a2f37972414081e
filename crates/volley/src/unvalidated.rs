//! Queries of remote files that begin before their stores have told whether the files have changed.

use crate::{
    ResultStream, Session,
    planning::StatementContext,
    statement::{bind, start_query},
};
use std::sync::Arc;
use volley_error::{Result, Span};
use volley_io::{Validations, Validity};
use volley_sql::{Parameters, ParsedStatement, Statement};

/// Starts a query of remote files as the cache knows them, while their stores are asked whether
/// they have changed. `None` if it is another statement, or if they have changed: then it is to be
/// run anew, and nothing was seen of it.
pub(crate) fn run(
    session: &Session,
    parsed: &ParsedStatement,
    cx: &StatementContext,
    values: &(Parameters, Option<Span>),
) -> Result<Option<ResultStream>> {
    // Files in functions have their scheme in the text, too; views and macros do not matter here.
    if !parsed.is_query() || !parsed.text().contains("://") {
        return Ok(None);
    }
    // The rows of a table of the caller may be there only once.
    let is_remote = |it: &String| it.contains("://");
    if cx.replacements.is_some() && !parsed.table_names().iter().all(is_remote) {
        return Ok(None);
    }
    session.catalog.check_not_aborted()?;
    let mut own = StatementContext::begin(session, Arc::clone(&cx.constants), None, parsed.text());
    own.replacements.clone_from(&cx.replacements);
    let validations = Validations::default();
    let started = validations.run(|| match bind(session, parsed, &own, values.clone())? {
        Statement::Query(query) => start_query(session, query, &own).map(Some),
        _ => Ok(None),
    });
    match validations.answer()? {
        Validity::Unchanged => started,
        Validity::Changed => Ok(None),
    }
}
