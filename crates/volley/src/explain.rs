//! EXPLAIN and EXPLAIN ANALYZE.

use crate::{
    ResultStream, Session, distribution,
    explain_io::explain_io,
    fragment_profile,
    planning::{Planned, StatementContext, plan_query},
    statement::copy_plan,
    write::{run_write, write_plan},
};
use volley_catalog::Turn;
use volley_error::{Error, Result};
use volley_plan::expand::sub_operators;
use volley_profile::QueryProfile;
use volley_sql::{ExplainForm, ExplainFormat, Statement};
use volley_types::Schema;

/// How a plan is explained.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Explain {
    pub(crate) form: ExplainForm,
    pub(crate) format: ExplainFormat,
}

/// The plan of a statement, or its fragments, as rows of text; or runs it and adds what happened: a
/// statement that changes a table changes it.
pub(crate) fn explain(
    session: &Session,
    statement: Statement,
    explain: Explain,
    turn: Option<Turn>,
    cx: &StatementContext,
) -> Result<ResultStream> {
    let Explain { form, format } = explain;
    if format != ExplainFormat::Text {
        cx.estimate_rows();
    }
    if form == ExplainForm::Io {
        let (plan, written) = match &statement {
            Statement::Query(query) => (&query.plan, None),
            Statement::CreateTable { query: Some(query), name, .. } => {
                (&query.plan, Some(name.as_str()))
            }
            Statement::Write(write) => (&write.query.plan, Some(write.table.as_str())),
            Statement::Copy { query, path, .. } => (&query.plan, Some(path.as_str())),
            _ => return Err(Error::unsupported("EXPLAIN of a statement without a query")),
        };
        let text = explain_io(plan, written, &cx.catalog)?;
        return Ok(ResultStream::of_lines("plan", &text));
    }
    let planned = match statement {
        Statement::Query(query) | Statement::CreateTable { query: Some(query), .. } => {
            plan_query(session, query.plan, cx)?
        }
        Statement::Write(write) => {
            let planned = plan_query(session, write.query.plan.clone(), cx)?;
            if form == ExplainForm::Analyze {
                let written = run_write(session, &write, planned, turn, cx)?.1;
                let text = measured(&written.result, format, session, cx);
                return Ok(ResultStream::of_lines("plan", &text));
            }
            write_plan(planned, &write.table, &write.checks)
        }
        Statement::Copy { query, path, format, options } => {
            copy_plan(session, query, &path, &format, &options, cx)?
        }
        _ => return Err(Error::unsupported("EXPLAIN of a statement without a query")),
    };
    let text = match form {
        ExplainForm::Analyze => {
            let mut result = session.start(planned, Schema::default())?;
            while result.next()?.is_some() {}
            measured(&result, format, session, cx)
        }
        ExplainForm::Plan => {
            let profile = QueryProfile::of_plan(&planned.plan, &planned.estimates);
            of_plan(profile, &planned, format)
        }
        ExplainForm::SubOperators => {
            let plan = sub_operators(&planned.plan)?;
            let profile = QueryProfile::of_sub_operators(&plan);
            of_plan(profile, &planned, format)
        }
        ExplainForm::Io => return Err(Error::internal("tables that are shown already")),
        ExplainForm::Distributed => {
            let plan = distribution::fragments(session, &planned.plan, &planned.tables)?;
            match format {
                ExplainFormat::Text => plan.to_string(),
                _ => of_plan(fragment_profile::profile_of_plan(&plan), &planned, format),
            }
        }
    };
    Ok(ResultStream::of_lines("plan", &text))
}

/// The profile of a plan that did not run.
fn of_plan(mut profile: QueryProfile, planned: &Planned, format: ExplainFormat) -> String {
    profile.statement = planned.statement.to_string();
    profile.version = env!("CARGO_PKG_VERSION").to_owned();
    rendered(&profile, format)
}

/// What every operator of a result did, whose rows were read to the end.
fn measured(
    result: &ResultStream,
    format: ExplainFormat,
    session: &Session,
    cx: &StatementContext,
) -> String {
    match result.profile() {
        Some(profile) if format == ExplainFormat::Text && !profile.fragments.is_empty() => {
            result.fragment_statistics()
        }
        Some(mut profile) => {
            if profile.statement.is_empty() {
                profile.statement = cx.text.to_string();
                let listed = session.settings().list().into_iter();
                profile.settings = listed.map(|it| (it.0.to_owned(), it.1)).collect();
            }
            rendered(&profile, format)
        }
        None => String::new(),
    }
}

fn rendered(profile: &QueryProfile, format: ExplainFormat) -> String {
    match format {
        ExplainFormat::Text => profile.text(),
        ExplainFormat::Json => profile.json(),
        ExplainFormat::Html => profile.html(),
        ExplainFormat::Dot => profile.dot(),
        ExplainFormat::Svg => profile.svg(),
        ExplainFormat::Trace => profile.chrome_trace(),
    }
}
