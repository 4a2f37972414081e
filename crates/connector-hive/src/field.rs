//! Fields of columns of rows that are read as columns of their own: those that all files of a
//! table have as Parquet columns.

use crate::part::{Part, PartColumn, PartFile};
use std::sync::Arc;
use volley_connector::ColumnField;
use volley_parquet::{ParquetField, ParquetFile};
use volley_types::{Schema, Type};

/// The fields that every file has, and the files with where they have them.
pub(crate) fn with_fields(schema: &Schema, parts: Arc<[Part]>) -> (Vec<ColumnField>, Arc<[Part]>) {
    if !schema.types().any(|it| matches!(it, Type::Row(_))) {
        return (Vec::new(), parts);
    }
    let mut fields = fields_of_first(&parts);
    for part in parts.iter().skip(1) {
        fields.retain(|it| place(part, it).is_some());
    }
    if fields.is_empty() {
        return (fields, parts);
    }
    let extended = |part: &Part| {
        // Every file has all that are left.
        let places = fields.iter().map(|it| place(part, it).unwrap_or(usize::MAX));
        let columns = part.columns.iter().cloned().chain(places.map(PartColumn::Stored));
        Part { file: part.file.clone(), columns: columns.collect() }
    };
    let parts = parts.iter().map(extended).collect();
    (fields, parts)
}

fn fields_of_first(parts: &[Part]) -> Vec<ColumnField> {
    let Some(Part { file: PartFile::Parquet(file), columns }) = parts.first() else {
        return Vec::new();
    };
    let of_table = |it: &ParquetField| {
        let is_it = |column: &PartColumn| *column == PartColumn::Stored(it.column);
        let column = columns.iter().position(is_it)?;
        Some(ColumnField { column, path: it.path.clone(), field: it.field.clone() })
    };
    file.fields().iter().filter_map(of_table).collect()
}

/// The position of a field in a file that reads its column as the table has it.
fn place(part: &Part, field: &ColumnField) -> Option<usize> {
    let (PartFile::Parquet(file), Some(PartColumn::Stored(column))) =
        (&part.file, part.columns.get(field.column))
    else {
        return None;
    };
    position(file, *column, field)
}

fn position(file: &ParquetFile, column: usize, field: &ColumnField) -> Option<usize> {
    let is_it = |it: &ParquetField| {
        it.column == column && it.path == field.path && it.field.data_type == field.field.data_type
    };
    Some(file.schema().len() + file.fields().iter().position(is_it)?)
}
