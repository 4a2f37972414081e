//! COMMENT ON.

use super::{Binder, unsupported};
use crate::{Statement, parse};
use sqlparser::ast::{CommentObject, ObjectName, Spanned};
use volley_error::{Error, Result};
use volley_types::{Field, Schema};

impl<'a> Binder<'a> {
    pub(super) fn comment(
        &mut self,
        object: CommentObject,
        name: &'a ObjectName,
        text: Option<&str>,
    ) -> Result<Statement> {
        let span = self.span(name.span());
        let (name, column) = match object {
            CommentObject::Table | CommentObject::View => (parse::dotted(name), None),
            CommentObject::Column => match parse::table_and_column(name) {
                Some((table, column)) => (table, Some(column)),
                None => {
                    let message = "COMMENT ON COLUMN takes table.column";
                    return Err(Error::invalid_query(message).span(span));
                }
            },
            other => return Err(unsupported(format!("COMMENT ON {other}"), span)),
        };
        if self.shared.catalog.table(&name).map_err(|it| it.span(span))?.is_none() {
            return Err(self.no_table(&name, span));
        }
        if let Some(column) = &column {
            let fields = self.table(&name, span)?.columns.into_iter();
            let schema: Schema = fields.map(|it| Field::new(it.name, it.data_type)).collect();
            self.position_of(&schema, column, span)?;
        }
        Ok(Statement::Comment { name, column, text: text.map(str::to_owned) })
    }
}
