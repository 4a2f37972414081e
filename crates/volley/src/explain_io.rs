//! EXPLAIN (TYPE IO): the tables that a statement reads and the one that it writes, as JSON with
//! Presto's names.
//!
//! ```text
//! {"inputTableColumnInfos": [{"table": {"catalog": "memory",
//!     "schemaTable": {"schema": "main", "table": "t"}}, "columns": ["a"]}],
//!  "outputTable": {"catalog": ...}}
//! ```

use std::collections::{BTreeMap, BTreeSet};
use volley_catalog::StatementCatalog;
use volley_error::Result;
use volley_logical::{Expr, ExprKind, Plan, TableRef};

/// The name of the catalog of tables that are in no database, such as files.
const FILES: &str = "files";

/// A table: its catalog, its schema and its name.
type Name = (String, String, String);

/// The text for a plan, and the name of the table that its statement writes.
///
/// # Errors
///
/// Invalid query: a table that does not exist any more. I/O.
pub(crate) fn explain_io(
    plan: &Plan,
    written: Option<&str>,
    catalog: &StatementCatalog,
) -> Result<String> {
    let mut tables: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    collect(plan, catalog, &mut seen, &mut tables)?;
    let inputs = tables.iter().map(|(name, columns)| {
        let columns: Vec<String> = columns.iter().map(|it| quoted(it)).collect();
        format!("{{\"table\": {}, \"columns\": [{}]}}", table_text(name), columns.join(", "))
    });
    let inputs: Vec<String> = inputs.collect();
    let mut text = format!("{{\"inputTableColumnInfos\": [{}]", inputs.join(", "));
    if let Some(written) = written {
        let name = match catalog.find_table(written)? {
            Some(found) => {
                (found.place.database, found.place.schema, found.object.name().to_owned())
            }
            None => (FILES.to_owned(), String::new(), written.to_owned()),
        };
        text.push_str(&format!(", \"outputTable\": {}", table_text(&name)));
    }
    text.push('}');
    Ok(text)
}

/// Adds the tables of a plan, those of its subqueries and common table expressions among them.
fn collect(
    plan: &Plan,
    catalog: &StatementCatalog,
    seen: &mut BTreeSet<u32>,
    tables: &mut BTreeMap<Name, BTreeSet<String>>,
) -> Result<()> {
    let mut plans = vec![plan];
    while let Some(plan) = plans.pop() {
        match plan {
            Plan::Scan { table, name, columns, .. } => {
                let of_table = tables.entry(name_of(table, name, catalog)?).or_default();
                of_table.extend(columns.iter().map(|it| it.0.name.clone()));
            }
            Plan::CteRef { cte, .. } if seen.insert(cte.id) => plans.push(&cte.plan),
            _ => {}
        }
        plans.extend(plan.inputs());
        let mut exprs: Vec<&Expr> = plan.exprs();
        while let Some(expr) = exprs.pop() {
            exprs.extend(expr.children());
            if let ExprKind::Subquery(subquery) = &expr.kind {
                collect(&subquery.plan, catalog, seen, tables)?;
            }
        }
    }
    Ok(())
}

fn name_of(table: &TableRef, shown: &str, catalog: &StatementCatalog) -> Result<Name> {
    let TableRef::Stored { database, table, .. } = table else {
        return Ok((FILES.to_owned(), String::new(), shown.to_owned()));
    };
    let snapshot = catalog.snapshot(database)?;
    let found = snapshot.catalog().table(*table);
    Ok(match found {
        Some((schema, table)) => (database.clone(), schema.name.clone(), table.name.clone()),
        None => (database.clone(), String::new(), shown.to_owned()),
    })
}

fn table_text((catalog, schema, table): &Name) -> String {
    format!(
        "{{\"catalog\": {}, \"schemaTable\": {{\"schema\": {}, \"table\": {}}}}}",
        quoted(catalog),
        quoted(schema),
        quoted(table)
    )
}

/// A text as JSON writes it.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
