//! Tables whose columns a catalog declares, and parts of files.

use crate::part::{Part, PartColumn, PartFile};
use volley_error::{Error, Result};
use volley_types::{Field, Type, Value, custom::TimestampUnit, implicit_cast_cost};

/// A column that a catalog declares.
#[derive(Clone, Debug)]
pub struct DeclaredColumn {
    /// Its name and type.
    pub field: Field,
    /// Where its values are.
    pub source: ColumnSource,
}

/// Where the values of a declared column are.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnSource {
    /// In the column at this place of the file, from 0; null if the file has fewer columns.
    Place(usize),
    /// In the column of the file with the declared name; null if the file has none.
    Name,
    /// All rows have this value.
    Constant(Value),
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// The first byte.
    pub start: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl FileRange {
    /// Whole files.
    pub const ALL: FileRange = FileRange { start: 0, bytes: u64::MAX };

    pub(crate) fn contains(self, position: u64) -> bool {
        position >= self.start && position - self.start < self.bytes
    }
}

/// A file with declared columns.
pub(crate) fn declared_part(file: PartFile, columns: &[DeclaredColumn]) -> Result<Part> {
    let columns = columns.iter().map(|it| declared_column(it, &file));
    let columns = columns.collect::<Result<Vec<_>>>()?.into();
    Ok(Part { file, columns })
}

fn declared_column(column: &DeclaredColumn, file: &PartFile) -> Result<PartColumn> {
    let DeclaredColumn { field, source } = column;
    let place = match source {
        ColumnSource::Place(place) => *place,
        ColumnSource::Name => match file.schema().index_of(&field.name) {
            Some(place) => place,
            None => return Ok(PartColumn::Constant(Value::Null)),
        },
        ColumnSource::Constant(value) => return Ok(PartColumn::Constant(value.clone())),
    };
    let own = file.schema().fields.get(place);
    let (Some(own), Some(read_type)) = (own, file.read_type(place)) else {
        return Ok(PartColumn::Constant(Value::Null));
    };
    if *read_type == field.data_type || file.reads_as(place, &field.data_type) {
        return Ok(PartColumn::Stored(place));
    }
    if own.data_type == field.data_type
        || implicit_cast_cost(&own.data_type, &field.data_type).is_some()
        || TimestampUnit::of(&own.data_type).is_some() && field.data_type == Type::Timestamp
    {
        return Ok(PartColumn::Cast(place));
    }
    let types = format!("{} in the file and {} in the table", own.data_type, field.data_type);
    let error = Error::invalid_query(format!("column \"{}\" is {types}", field.name));
    Err(error.at("file", file.path()))
}
