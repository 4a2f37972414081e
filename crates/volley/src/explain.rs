//! EXPLAIN and EXPLAIN ANALYZE.

use crate::{
    ResultStream, Session, distribution,
    planning::{Planned, StatementContext, plan_query},
    statement::copy_plan,
    write::{run_write, write_plan},
};
use std::sync::Arc;
use volley_catalog::Turn;
use volley_error::{Error, Result};
use volley_sql::{ExplainForm, Statement};
use volley_types::Schema;

/// The plan of a statement, or its fragments, as rows of text; or runs it and adds what happened.
pub(crate) fn explain(
    session: &Session,
    statement: Statement,
    form: ExplainForm,
    cx: &StatementContext,
) -> Result<ResultStream> {
    let planned = match statement {
        Statement::Query(query) | Statement::CreateTable { query: Some(query), .. } => {
            plan_query(session, query.plan, cx)?
        }
        Statement::Write(write) => {
            let planned = plan_query(session, write.query.plan.clone(), cx)?;
            if analyze {
                let written = run_write(session, &write, planned, turn, cx)?.1;
                let statistics = written.statistics.map(|it| it.render(&written.plan));
                return Ok(ResultStream::of_lines("plan", &statistics.unwrap_or_default()));
            }
            write_plan(planned, &write.table, &write.checks)
        }
        Statement::Copy { query, path, format, options } => {
            copy_plan(session, query, &path, &format, &options, cx)?
        }
        _ => return Err(Error::unsupported("EXPLAIN of a statement without a query")),
    };
    let text = match form {
        ExplainForm::Analyze => run_measured(session, planned)?,
        ExplainForm::Plan => planned.plan.to_string(),
        ExplainForm::Distributed => {
            let settings = session.settings();
            distribution::fragments(&planned.plan, &planned.tables, &settings)?.to_string()
        }
    };
    Ok(ResultStream::of_lines("plan", &text))
}

/// Runs the query to the end, and returns what every operator did.
fn run_measured(session: &Session, planned: Planned) -> Result<String> {
    let plan = Arc::clone(&planned.plan);
    let mut result = session.start(planned, Schema::default())?;
    while result.next()?.is_some() {}
    Ok(result.render_statistics(&plan))
}
