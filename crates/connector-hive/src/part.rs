//! The files of a table, and where they have its columns.

use std::sync::Arc;
use volley_connector::{Bounds, FormatFile};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_orc::OrcFile;
use volley_parquet::ParquetFile;
use volley_text::{CsvFile, FileChunks, JsonFile};
use volley_types::{Schema, Type, Value};

/// One file of a table.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub file: PartFile,
    /// For each column of the table, and then for each field that is read as one, where its values
    /// come from.
    pub columns: Arc<[PartColumn]>,
}

/// Where the values of a column come from in one file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PartColumn {
    /// The column at this place in the file, read as the table's type.
    Stored(usize),
    /// The column at this place, which is read as another type and cast to the table's.
    Cast(usize),
    /// All rows have this value: the name of the file, what a folder is called, or NULL.
    Constant(Value),
    /// The position of the row in its file.
    RowNumber,
}

/// A file by its format.
#[derive(Clone, Debug)]
pub(crate) enum PartFile {
    Parquet(ParquetFile),
    Orc(OrcFile),
    Csv(Arc<CsvFile>),
    Json(Arc<JsonFile>),
    Added(Arc<dyn FormatFile>),
}

impl Part {
    /// Where a column comes from.
    pub fn column(&self, column: usize) -> Result<&PartColumn> {
        self.columns.get(column).ok_or_else(|| Error::internal("no such column"))
    }

    /// The place in the file of a column that is there as the table has it; beyond the last one
    /// for others.
    pub fn place(&self, column: usize) -> usize {
        match self.columns.get(column) {
            Some(PartColumn::Stored(place)) => *place,
            _ => usize::MAX,
        }
    }

    /// Whether the file has these columns as the table has them.
    pub fn has(&self, columns: &[usize]) -> bool {
        columns.iter().all(|it| self.place(*it) != usize::MAX)
    }

    /// What is known of a column in a row group. A text file has one, of a row.
    pub fn bounds(&self, group: usize, column: usize) -> Bounds {
        match (self.columns.get(column), &self.file) {
            (Some(PartColumn::Stored(place)), PartFile::Parquet(file)) => {
                file.bounds(group, *place)
            }
            (Some(PartColumn::Stored(place)), PartFile::Orc(file)) => file.bounds(group, *place),
            (Some(PartColumn::Constant(value)), _) => self.constant_bounds(group, value),
            _ => Bounds::default(),
        }
    }

    /// As [`Part::bounds`], for heuristics.
    pub fn noted_bounds(&self, group: usize, column: usize) -> Bounds {
        match (self.columns.get(column), &self.file) {
            (Some(PartColumn::Stored(place)), PartFile::Parquet(file)) => {
                file.noted_bounds(group, *place)
            }
            _ => self.bounds(group, column),
        }
    }

    fn constant_bounds(&self, group: usize, value: &Value) -> Bounds {
        if value.is_null() {
            return Bounds { nulls: Some(self.rows(group)), ..Bounds::default() };
        }
        let value = Some(value.clone());
        Bounds { min: value.clone(), max: value, nulls: Some(0), distinct: Some(1) }
    }

    /// The bytes of columns of a row group; of a stripe, whose footer has the sizes of columns, the
    /// bytes of all columns; 0 of a text file.
    pub fn bytes(&self, group: usize, columns: &[usize]) -> u64 {
        let file = match &self.file {
            PartFile::Parquet(file) => file,
            PartFile::Orc(file) => return file.data_bytes(group),
            PartFile::Csv(_) | PartFile::Json(_) => return 0,
            PartFile::Added(file) => return file.split_bytes(group),
        };
        let stored = columns.iter().filter_map(|it| match self.columns.get(*it) {
            Some(PartColumn::Stored(place) | PartColumn::Cast(place)) => Some(*place),
            _ => None,
        });
        stored.map(|it| file.column_bytes(group, it).0).sum()
    }

    /// The rows of a row group.
    pub fn rows(&self, group: usize) -> u64 {
        match &self.file {
            PartFile::Parquet(file) => file.rows(group) as u64,
            PartFile::Orc(file) => file.rows(group) as u64,
            PartFile::Csv(_) | PartFile::Json(_) | PartFile::Added(_) => 1,
        }
    }
}

impl PartFile {
    /// Whether its row groups or stripes have statistics, and are read with filters.
    pub fn has_row_groups(&self) -> bool {
        matches!(self, PartFile::Parquet(_) | PartFile::Orc(_))
    }

    /// The number of row groups, stripes or splits; `None` of a text file.
    pub fn groups(&self) -> Option<usize> {
        match self {
            PartFile::Parquet(file) => Some(file.row_groups()),
            PartFile::Orc(file) => Some(file.stripes()),
            PartFile::Csv(_) | PartFile::Json(_) => None,
            PartFile::Added(file) => Some(file.splits()),
        }
    }

    /// The rows of a text file for several readers; `None` if one has to read them all.
    pub fn chunks(&self, pool: &Pool) -> Option<FileChunks> {
        match self {
            PartFile::Csv(file) => file.chunks(pool),
            PartFile::Json(file) => Some(file.chunks(pool)),
            PartFile::Parquet(_) | PartFile::Orc(_) | PartFile::Added(_) => None,
        }
    }

    /// How many readers of chunks have something to do, at most.
    pub fn chunks_max(&self) -> u64 {
        match self {
            PartFile::Csv(file) => file.chunks_max(),
            PartFile::Json(file) => file.chunks_max(),
            PartFile::Parquet(_) | PartFile::Orc(_) | PartFile::Added(_) => 1,
        }
    }

    /// Where a row group or stripe begins in the file, in bytes; 0 if the format has none.
    pub fn group_start(&self, group: usize) -> u64 {
        match self {
            PartFile::Parquet(file) => file.group_start(group),
            PartFile::Orc(file) => file.stripe_start(group),
            PartFile::Csv(_) | PartFile::Json(_) | PartFile::Added(_) => 0,
        }
    }

    /// What a row group is called in the format.
    pub fn group_name(&self) -> &'static str {
        match self {
            PartFile::Orc(_) => "stripe",
            PartFile::Added(_) => "split",
            _ => "row group",
        }
    }

    /// Whether the column at `place` is read as `wanted` without a cast: fields of rows in ORC
    /// files are found by name.
    pub fn reads_as(&self, place: usize, wanted: &Type) -> bool {
        match self {
            PartFile::Orc(file) => file.reads_as(place, wanted),
            _ => self.read_type(place) == Some(wanted),
        }
    }

    pub fn path(&self) -> &str {
        match self {
            PartFile::Parquet(file) => file.path(),
            PartFile::Orc(file) => file.path(),
            PartFile::Csv(file) => file.path(),
            PartFile::Json(file) => file.path(),
            PartFile::Added(file) => file.file().path(),
        }
    }

    fn file(&self) -> &Arc<dyn RandomAccessFile> {
        match self {
            PartFile::Parquet(file) => file.file(),
            PartFile::Orc(file) => file.file(),
            PartFile::Csv(file) => file.file(),
            PartFile::Json(file) => file.file(),
            PartFile::Added(file) => file.file(),
        }
    }

    /// The bytes of the whole file.
    pub fn size_bytes(&self) -> u64 {
        self.file().size_bytes()
    }

    /// Tells the file from one that is written to the same path later.
    pub fn version(&self) -> String {
        let file = self.file();
        match file.version() {
            Some(version) => version.to_string(),
            None => file.size_bytes().to_string(),
        }
    }

    pub fn schema(&self) -> &Schema {
        match self {
            PartFile::Parquet(file) => file.schema(),
            PartFile::Orc(file) => file.schema(),
            PartFile::Csv(file) => file.schema(),
            PartFile::Json(file) => file.schema(),
            PartFile::Added(file) => file.schema(),
        }
    }

    /// The type that the column at `place` is read as.
    pub fn read_type(&self, place: usize) -> Option<&Type> {
        let declared = self.schema().fields.get(place).map(|it| &it.data_type)?;
        match self {
            PartFile::Csv(_) if !CsvFile::reads(declared) => Some(&Type::Varchar),
            PartFile::Json(file) => file.read_type(place),
            _ => Some(declared),
        }
    }

    /// The file with columns read as the types that a schema has for their names, where it can.
    pub fn with_types(self, schema: &Schema) -> PartFile {
        match self {
            PartFile::Csv(file) => PartFile::Csv(Arc::new(file.with_types(schema))),
            other => other,
        }
    }
}
