//! Statements about databases and tables as a whole.

use super::Binder;
use crate::{
    Statement,
    parse::{self, Maintenance},
};
use volley_error::{Error, Result};

/// The format of the files with rows, without FORMAT.
const EXPORT_FORMAT: &str = "parquet";

impl Binder<'_> {
    pub(super) fn maintenance(&self, maintenance: &Maintenance) -> Result<Statement> {
        Ok(match maintenance {
            Maintenance::Checkpoint(database) => {
                Statement::Checkpoint { database: database.as_ref().map(|it| it.value.clone()) }
            }
            Maintenance::Vacuum(table) => {
                Statement::Vacuum { table: table.as_ref().map(parse::dotted) }
            }
            Maintenance::Analyze(table) => {
                Statement::Analyze { table: table.as_ref().map(parse::dotted) }
            }
            Maintenance::Export { database, folder, options } => {
                let database = database.as_ref().map(|it| it.value.clone());
                let mut format = EXPORT_FORMAT.to_owned();
                let mut others = Vec::new();
                for (name, value) in options {
                    let name_text = name.value.to_ascii_lowercase();
                    match (name_text.as_str(), value) {
                        ("format", Some(value)) => format = value.to_ascii_lowercase(),
                        ("format", None) => {
                            let error = Error::invalid_query("FORMAT needs a value");
                            return Err(error.span(self.span(name.span)));
                        }
                        (_, value) => {
                            let value = value.clone().unwrap_or_else(|| "true".to_owned());
                            others.push((name_text, value));
                        }
                    }
                }
                let folder = folder.clone();
                Statement::ExportDatabase { database, folder, format, options: others }
            }
            Maintenance::Import { folder } => Statement::ImportDatabase { folder: folder.clone() },
        })
    }
}
