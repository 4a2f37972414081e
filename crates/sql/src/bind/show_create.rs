//! SHOW CREATE: the statement that creates a table or view again.

use super::{Binder, write::projected};
use crate::{
    Relation, Statement,
    create_text::{create_table_text, create_view_text},
    parse,
};
use sqlparser::ast::{ObjectName, Spanned};
use volley_connector::TableDefinition;
use volley_error::{Error, Result};
use volley_logical::{Expr, NamedTable, Plan};
use volley_types::{Type, Value};

impl Binder<'_> {
    /// A row with the text of a statement, for a view or else a table.
    pub(super) fn show_create(&self, name: &ObjectName, is_view: bool) -> Result<Statement> {
        let span = self.span(name.span());
        let dotted = parse::dotted(name);
        let found = self.shared.catalog.table(&dotted).map_err(|it| it.span(span))?;
        let text = match found.ok_or_else(|| self.no_table(&dotted, span))? {
            Relation::Table(table) if !is_view => self.create_table_text(&dotted, &table),
            Relation::View { sql, columns, .. } if is_view => {
                create_view_text(&dotted.split('.').collect::<Vec<_>>(), &sql, &columns)
            }
            Relation::Table(_) => {
                let error = Error::invalid_query(format!("not a view: {dotted}")).span(span);
                return Err(error.hint(format!("SHOW CREATE TABLE {dotted}")));
            }
            Relation::View { .. } => {
                let error = Error::invalid_query(format!("not a table: {dotted}")).span(span);
                return Err(error.hint(format!("SHOW CREATE VIEW {dotted}")));
            }
        };
        let title = if is_view { "Create View" } else { "Create Table" };
        let column = self.column(title, Type::Varchar);
        let text = Expr::constant(Value::text(text), Type::Varchar);
        Ok(Statement::Query(projected(Plan::one_row(), vec![(column, text)]).into()))
    }

    fn create_table_text(&self, name: &str, table: &NamedTable) -> String {
        let stored = table.table.as_stored();
        let none = TableDefinition::default();
        let definition = stored.as_ref().map_or(&none, |it| &*it.definition);
        let parts: Vec<&str> = name.split('.').collect();
        let referenced = self.shared.catalog.referenced(&table.reference);
        let schema = table.table.schema();
        create_table_text(self.shared.dialect, &parts, schema, definition, &referenced)
    }
}
