//! Statements that change rows in WITH: each runs before the statement that reads what it returns.
//!
//! ```text
//! WITH a AS (SELECT 1), b AS (DELETE FROM t RETURNING *) SELECT * FROM b
//!   " rows 1":  WITH a AS (SELECT 1) DELETE FROM t RETURNING *
//!   then:       WITH a AS (SELECT 1), b AS (SELECT * FROM " rows 1") SELECT * FROM b
//! ```

use super::{Command, ParsedStatement, parse_query_at};
use sqlparser::{
    ast::{Ident, ObjectName, Query, SetExpr, Statement, TableFactor, With},
    tokenizer::Span,
};
use std::sync::Arc;
use volley_error::{Error, Result};

/// What the name of the rows of a statement in WITH begins with.
const ROWS: &str = " rows ";

/// A statement whose WITH changes rows, as statements that run one after the other.
#[derive(Debug)]
pub struct ChangesInWith {
    /// The statements of WITH, and the name under which later ones read the rows of each.
    pub changes: Vec<(String, ParsedStatement)>,
    /// The statement itself.
    pub last: ParsedStatement,
}

impl ParsedStatement {
    /// The statements that it consists of, if its WITH changes rows.
    ///
    /// # Errors
    ///
    /// Internal: a part that cannot be made.
    pub fn changes_in_with(&self) -> Result<Option<ChangesInWith>> {
        let Command::Sql(statement) = &self.command else { return Ok(None) };
        let Statement::Query(query) = &**statement else { return Ok(None) };
        let Some(with) = query.with.as_ref().filter(|it| changes(it)) else { return Ok(None) };
        let mut rest = With { cte_tables: Vec::new(), ..with.clone() };
        let mut all = Vec::new();
        for cte in &with.cte_tables {
            let mut cte = cte.clone();
            if is_change(&cte.query) {
                let name = format!("{ROWS}{}", all.len() + 1);
                let rows = rows_of(&name, cte.alias.name.span)?;
                let mut change = std::mem::replace(&mut cte.query, rows);
                change.with = match (change.with.take(), rest.cte_tables.is_empty()) {
                    (own, true) => own,
                    (None, false) => Some(rest.clone()),
                    (Some(own), false) => {
                        let mut both = rest.clone();
                        both.recursive |= own.recursive;
                        both.cte_tables.extend(own.cte_tables);
                        Some(both)
                    }
                };
                all.push((name, self.part(*change)));
            }
            rest.cte_tables.push(cte);
        }
        let last = Query { with: Some(rest), ..(**query).clone() };
        Ok(Some(ChangesInWith { changes: all, last: self.part(last) }))
    }

    /// A statement of the same text.
    fn part(&self, query: Query) -> ParsedStatement {
        ParsedStatement {
            span: self.span,
            command: Command::Sql(Box::new(Statement::Query(Box::new(query)))),
            source: Arc::clone(&self.source),
            parameters: self.parameters.clone(),
        }
    }
}

/// Whether WITH changes rows.
pub(super) fn changes(with: &With) -> bool {
    with.cte_tables.iter().any(|it| is_change(&it.query))
}

fn is_change(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}

/// `SELECT * FROM name`.
fn rows_of(name: &str, place: Span) -> Result<Box<Query>> {
    let wrong = || Error::internal("rows of a statement in WITH");
    let mut query = parse_query_at("SELECT * FROM t", place)?;
    let SetExpr::Select(select) = &mut *query.body else { return Err(wrong()) };
    match select.from.first_mut().map(|it| &mut it.relation) {
        Some(TableFactor::Table { name: of, .. }) => {
            *of = ObjectName::from(vec![Ident::with_quote('"', name)]);
            Ok(query)
        }
        _ => Err(wrong()),
    }
}
