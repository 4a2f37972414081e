//! Tables of files as bytes, for other processes that see the same files.
//!
//! ```text
//! name, number of files, the path of each, number of columns, name and type of each
//! ```
//!
//! The format is that of [`volley_vector::save`], kind 8. The process that opens the table again
//! checks that the files still have these columns; splits tell whether a file was written again.

use crate::{
    FileFormat,
    config::{FileOptions, format_of},
    table::FileTable,
};
use volley_connector::{FormatRegistry, Table};
use volley_error::{Error, Result};
use volley_parquet::ParquetReadOptions;
use volley_types::{Field, Schema, custom::TypeRegistry};
use volley_vector::save::{Reader, Writer};

/// The kind of these bytes.
const FILES_OF_TABLE: u8 = 8;

/// Whether files of these formats that are opened again by their names alone are the same table.
pub(crate) fn is_reopened_by_paths(options: &FileOptions, formats: &[FileFormat]) -> bool {
    let is_own = |it: &FileFormat| matches!(it, FileFormat::Parquet | FileFormat::Orc);
    formats.iter().all(is_own)
        && options.filename.is_none()
        && options.file_row_number.is_none()
        && !options.union_by_name
        && options.hive_partitioning.is_none()
        && options.hive_types_autocast
        && options.hive_types.is_empty()
        && options.parquet == ParquetReadOptions::default()
}

/// The bytes; `None` for columns of types that have none.
pub(crate) fn to_bytes<'a>(
    name: &str,
    files: impl Iterator<Item = &'a str>,
    schema: &Schema,
) -> Option<Vec<u8>> {
    let files: Vec<&str> = files.collect();
    // Names decide the format when the files are opened again.
    if files.iter().any(|it| format_of(it, &FormatRegistry::default()).is_none()) {
        return None;
    }
    let mut out = Writer::new(FILES_OF_TABLE);
    out.text(name);
    out.number(files.len());
    files.iter().for_each(|it| out.text(it));
    out.number(schema.len());
    for field in &schema.fields {
        out.text(&field.name);
        out.data_type(&field.data_type).ok()?;
    }
    Some(out.finish())
}

impl FileTable {
    /// Opens the files of a table whose [`Table::definition`] another process has sent.
    ///
    /// # Errors
    ///
    /// As [`FileTable::open`]. Corruption: other bytes. I/O: the files here have other columns.
    pub fn from_definition(
        bytes: &[u8],
        options: &FileOptions,
        types: &TypeRegistry,
    ) -> Result<FileTable> {
        let mut from = Reader::new(bytes, FILES_OF_TABLE, types)?;
        let name = from.text()?.to_owned();
        let count = from.count()?;
        let paths = (0..count).map(|_| Ok(from.text()?.to_owned())).collect::<Result<Vec<_>>>()?;
        let count = from.count()?;
        let field = |from: &mut Reader<'_>| Ok(Field::new(from.text()?, from.data_type()?));
        let fields = (0..count).map(|_| field(&mut from)).collect::<Result<Vec<Field>>>()?;
        from.finish()?;
        let table = FileTable::open_all(&name, &paths, options)?;
        let found = &table.schema().fields;
        let is_same = found.len() == fields.len()
            && found
                .iter()
                .zip(&fields)
                .all(|(a, b)| a.name == b.name && a.data_type == b.data_type);
        if !is_same {
            let message = format!("the files of {name} have other columns in another process");
            let error = Error::io(&name, std::io::Error::other(message));
            return Err(error.hint("all processes must see the same files under the same paths"));
        }
        Ok(table)
    }
}
