//! Comments of tables, views and columns (COMMENT ON).

use crate::catalog::{Entry, replaced};
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{ColumnDefinition, Table};
use volley_error::{Error, Result};

/// What people are told about a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ViewComments {
    pub(crate) view: Option<String>,
    /// By the names of columns, in lower case.
    pub(crate) columns: BTreeMap<String, String>,
}

impl Entry {
    /// Says something about a table or view, or one of its columns; `None`: nothing any more.
    pub(crate) fn comment(
        &mut self,
        name: &str,
        column: Option<&str>,
        text: Option<String>,
    ) -> Result<()> {
        match (self, column) {
            (Entry::Table(_), _) => {
                let message = format!("a comment on a table that is not in memory: {name}");
                return Err(Error::unsupported(message));
            }
            (Entry::Memory(table), column) => {
                let mut definition = (**table.definition()).clone();
                match column {
                    None => definition.comment = text,
                    Some(column) => {
                        let fields = table.schema().len();
                        let index = table.schema().index_of(column);
                        definition.columns.resize(fields, ColumnDefinition::default());
                        let column = index.and_then(|it| definition.columns.get_mut(it));
                        column.ok_or_else(|| replaced(name))?.comment = text;
                    }
                }
                *table = Arc::new((**table).clone().with_definition(Arc::new(definition)));
            }
            (Entry::View { comments, .. }, None) => comments.view = text,
            (Entry::View { comments, .. }, Some(column)) => {
                let column = column.to_lowercase();
                match text {
                    Some(text) => drop(comments.columns.insert(column, text)),
                    None => drop(comments.columns.remove(&column)),
                }
            }
        }
        Ok(())
    }
}
