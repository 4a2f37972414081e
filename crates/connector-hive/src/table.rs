//! The table.

use crate::{
    config::{FileOptions, format_of},
    split::FileScan,
    statistics::statistics_of,
};
use std::sync::{Arc, OnceLock};
use volley_connector::{Scan, ScanRequest, Table, TableStatistics};
use volley_error::{Error, Result};
use volley_io::{list_files, open_file};
use volley_parquet::ParquetFile;
use volley_plan::{FileFormat, TableHandle};
use volley_text::{CsvFile, JsonFile};
use volley_types::Schema;

/// The connector's name in table handles.
pub const CONNECTOR: &str = "hive";

/// A table of files.
#[derive(Debug)]
pub struct FileTable {
    /// As given: a path, a glob or a folder.
    path: String,
    schema: Schema,
    parts: Arc<[Part]>,
    statistics: OnceLock<Arc<TableStatistics>>,
}

/// One file of a table.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub file: PartFile,
    /// For each column of the table, its position in the file.
    pub places: Arc<[usize]>,
}

/// A file by its format.
#[derive(Clone, Debug)]
pub(crate) enum PartFile {
    Parquet(ParquetFile),
    Csv(Arc<CsvFile>),
    Json(Arc<JsonFile>),
}

impl Part {
    /// The position in the file of a column of the table; beyond the last for one that is missing.
    pub fn place(&self, column: usize) -> usize {
        self.places.get(column).copied().unwrap_or(usize::MAX)
    }
}

impl PartFile {
    pub fn path(&self) -> &str {
        match self {
            PartFile::Parquet(file) => file.path(),
            PartFile::Csv(file) => file.path(),
            PartFile::Json(file) => file.path(),
        }
    }

    fn schema(&self) -> &Schema {
        match self {
            PartFile::Parquet(file) => file.schema(),
            PartFile::Csv(file) => file.schema(),
            PartFile::Json(file) => file.schema(),
        }
    }
}

impl FileTable {
    /// Opens the files that `path` (a file, a glob or a folder) names and reads their schema.
    ///
    /// # Errors
    ///
    /// I/O: nothing is there. Corruption. Unsupported types or formats. Files with different
    /// columns.
    pub fn open(path: &str, options: &FileOptions) -> Result<FileTable> {
        let has_format = |name: &str| options.format.is_some() || format_of(name).is_some();
        let paths = list_files(path, &has_format)?;
        let mut formats = Vec::with_capacity(paths.len());
        for path in &paths {
            let format = options.format.or_else(|| format_of(path)).ok_or_else(|| {
                Error::unsupported(format!("file of an unknown format: {path}"))
                    .hint("names end with .parquet, .csv, .json, .jsonl or .ndjson")
            })?;
            formats.push(format);
        }
        let files = open_files(&paths, &formats, options)?;
        let schema = files.first().map(|it| it.schema().clone()).unwrap_or_default();
        let parts = files.into_iter().map(|file| {
            let places = places_in(&schema, &file)?;
            Ok(Part { file, places })
        });
        let parts = parts.collect::<Result<Arc<[Part]>>>()?;
        Ok(FileTable { path: path.to_owned(), schema, parts, statistics: OnceLock::new() })
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|it| it.file.path())
    }
}

/// Opens files. CSV files after the first take its types; JSON files have all columns of any.
fn open_files(
    paths: &[String],
    formats: &[FileFormat],
    options: &FileOptions,
) -> Result<Vec<PartFile>> {
    let of_json = paths.iter().zip(formats).filter(|(_, format)| **format == FileFormat::Json);
    let json: Vec<String> = of_json.map(|(path, _)| path.clone()).collect();
    let mut json =
        if json.is_empty() { Vec::new() } else { JsonFile::open_all(&json)? }.into_iter();
    let mut csv: Option<Arc<CsvFile>> = None;
    let mut files = Vec::with_capacity(paths.len());
    for (path, format) in paths.iter().zip(formats) {
        files.push(match format {
            FileFormat::Parquet => {
                let file = open_file(path)?;
                let file = match &options.faults {
                    Some(faults) => faults.wrap(file),
                    None => file,
                };
                PartFile::Parquet(ParquetFile::open(file)?)
            }
            FileFormat::Csv => {
                let file = Arc::new(CsvFile::open(path, csv.as_ref().map(|it| it.schema()))?);
                csv.get_or_insert_with(|| Arc::clone(&file));
                PartFile::Csv(file)
            }
            FileFormat::Json => {
                let file = json.next().ok_or_else(|| Error::internal("one JSON file per path"))?;
                PartFile::Json(Arc::new(file))
            }
        });
    }
    Ok(files)
}

/// Where the columns of the table stand in a file.
fn places_in(schema: &Schema, file: &PartFile) -> Result<Arc<[usize]>> {
    let own = file.schema();
    if own.fields.iter().map(|it| &it.name).eq(schema.fields.iter().map(|it| &it.name)) {
        (0..schema.len()).try_for_each(|place| check_type(schema, place, file, place))?;
        return Ok((0..schema.len()).collect());
    }
    let place = |index: usize| {
        let name = schema.fields.get(index).map(|it| it.name.as_str()).unwrap_or_default();
        let place = own.index_of(name).ok_or_else(|| {
            Error::invalid_query(format!("column \"{name}\" is missing in {}", file.path()))
                .hint("all files of a table have the columns of the first one")
        })?;
        check_type(schema, index, file, place)?;
        Ok(place)
    };
    (0..schema.len()).map(place).collect()
}

fn check_type(schema: &Schema, index: usize, file: &PartFile, place: usize) -> Result<()> {
    let (wanted, own) = (schema.fields.get(index), file.schema().fields.get(place));
    match (wanted, own) {
        (Some(wanted), Some(own)) if wanted.data_type == own.data_type => Ok(()),
        (Some(wanted), Some(own)) => Err(Error::invalid_query(format!(
            "column \"{}\" is {} in {} and {} in the first file",
            wanted.name,
            own.data_type,
            file.path(),
            wanted.data_type
        ))),
        _ => Err(Error::internal("no such column")),
    }
}

impl Table for FileTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.to_owned(), table: self.path.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let statistics =
            self.statistics.get_or_init(|| Arc::new(statistics_of(&self.schema, &self.parts)));
        Ok(Arc::clone(statistics))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(FileScan::new(Arc::clone(&self.parts), request)))
    }
}
