//! EXPLAIN and EXPLAIN ANALYZE.

use crate::{
    ResultStream, Session, distribution,
    planning::{Planned, StatementContext, plan_query},
    statement::copy_plan,
    write::{run_write, write_plan},
};
use volley_error::{Error, Result};
use volley_profile::QueryProfile;
use volley_sql::{ExplainFormat, Statement};
use volley_types::Schema;

/// How a plan is explained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explain {
    /// Whether to run it, and to add what happened.
    pub(crate) analyze: bool,
    pub(crate) format: ExplainFormat,
}

/// The plan of a statement as rows of text; with `analyze`, runs it and adds what happened.
pub(crate) fn explain(
    session: &Session,
    statement: Statement,
    explain: Explain,
    cx: &StatementContext,
) -> Result<ResultStream> {
    if explain.format != ExplainFormat::Text {
        cx.estimate_rows();
    }
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
    let profile = if explain.analyze {
        run_measured(session, planned)?
    } else {
        let mut profile = QueryProfile::of_plan(&planned.plan, &planned.estimates);
        profile.statement = planned.statement.to_string();
        profile.version = env!("CARGO_PKG_VERSION").to_owned();
        profile
    };
    let text = match explain.format {
        ExplainFormat::Text => profile.text(),
        ExplainFormat::Json => profile.json(),
        ExplainFormat::Html => profile.html(),
        ExplainFormat::Dot => profile.dot(),
        ExplainFormat::Svg => profile.svg(),
        ExplainFormat::Trace => profile.chrome_trace(),
    };
    Ok(ResultStream::of_lines("plan", &text))
}

/// Runs the query to the end, and returns what every operator did.
fn run_measured(session: &Session, planned: Planned) -> Result<QueryProfile> {
    let mut result = session.start(planned, Schema::default())?;
    while result.next()?.is_some() {}
    result.profile().ok_or_else(|| Error::internal("a plan that did not run"))
}
