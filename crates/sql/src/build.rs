//! Builds queries without text: for data frames and other front ends.
//!
//! ```text
//! Query, Expr ── to_statement ──> SQL text with marks ── parse ──> ParsedStatement ── bind
//! ```
//!
//! The tree is of this crate, not of the parser behind it. A built query has a text, so that errors
//! have a place in it, and parts of it carry marks, by which a front end finds the call that made
//! them. A name or a literal in the tree never becomes another token of the text.

mod expr;
mod query;
mod literal;
mod writer;
#[cfg(test)]
mod tests;

pub use expr::{Expr, Frame, FrameBound, FrameUnits, Order};
pub use query::{Grouping, Item, Join, JoinKind, Query, Sample, Select, SetOperator};
pub use writer::Mark;

use crate::{ParsedStatement, parse};
use volley_error::{Error, Result, Span};
use writer::Writer;

/// A built query as the binder takes it.
#[derive(Debug)]
pub struct Built {
    /// The statement.
    pub statement: ParsedStatement,
    /// Its text.
    pub sql: String,
    /// Which part of the text comes from which marked query.
    pub marks: Vec<(Span, Mark)>,
}

impl Built {
    /// The mark of the innermost marked query that the place is in.
    pub fn mark_at(&self, place: Span) -> Option<Mark> {
        let around = |it: &&(Span, Mark)| it.0.start <= place.start && place.end <= it.0.end;
        let inside = self.marks.iter().filter(around);
        inside.min_by_key(|it| it.0.end - it.0.start).map(|it| it.1)
    }
}

impl Query {
    /// The text of the query.
    pub fn to_sql(&self) -> String {
        let mut writer = Writer::default();
        self.write_query(&mut writer);
        writer.text
    }

    /// The query as the binder takes it.
    ///
    /// # Errors
    ///
    /// Syntax: what is wrong with a name of a type or with an expression that is text.
    pub fn to_statement(&self) -> Result<Built> {
        let mut writer = Writer::default();
        self.write_query(&mut writer);
        let mut statements = parse(&writer.text)?.into_iter();
        match (statements.next(), statements.next()) {
            (Some(statement), None) if statement.is_query() => {
                Ok(Built { statement, sql: writer.text, marks: writer.marks })
            }
            _ => Err(Error::invalid_query("a built query is not one query")),
        }
    }
}

impl Expr {
    /// The text of the expression.
    pub fn to_sql(&self) -> String {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.text
    }
}
