//! The table.

use crate::{
    FileFormat,
    columns::arrange,
    config::{FileOptions, format_of},
    declared::{DeclaredColumn, FileRange, declared_part},
    definition,
    field::with_fields,
    part::{Part, PartFile},
    partition::Partitions,
    split::FileScan,
    statistics::statistics_of,
};
use std::sync::{Arc, OnceLock};
use volley_connector::{ColumnField, Scan, ScanRequest, Table, TableStatistics};
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_orc::OrcFile;
use volley_parquet::ParquetFile;
use volley_plan::TableHandle;
use volley_text::{CsvFile, JsonFile};
use volley_types::Schema;

/// The connector's name in table handles.
pub const CONNECTOR: &str = "hive";

/// A table of files.
#[derive(Debug)]
pub struct FileTable {
    name: String,
    /// Whether the names of its files say all that it was opened with.
    reopens: bool,
    schema: Arc<Schema>,
    fields: Vec<ColumnField>,
    /// The columns, then the fields.
    scanned: Arc<Schema>,
    parts: Arc<[Part]>,
    /// Which row groups are rows of the table: those that begin here.
    range: FileRange,
    statistics: OnceLock<Arc<TableStatistics>>,
    /// What is kept of footers; it goes with the table.
    _footers: Reservation,
}

impl FileTable {
    /// Opens the files that `path` (a file, a glob or a folder) names and reads their schema.
    ///
    /// # Errors
    ///
    /// I/O: nothing is there. Corruption. Unsupported types or formats. Files with different
    /// columns.
    pub fn open(path: &str, options: &FileOptions) -> Result<FileTable> {
        FileTable::open_all(path, &[path.to_owned()], options)
    }

    /// As [`FileTable::open`], of several paths, in their order. Tables with the same `name` have
    /// the same rows.
    ///
    /// # Errors
    ///
    /// As [`FileTable::open`].
    pub fn open_all(name: &str, paths: &[String], options: &FileOptions) -> Result<FileTable> {
        let has_format =
            |name: &str| options.format.is_some() || format_of(name, &options.formats).is_some();
        let mut files = Vec::new();
        for path in paths {
            files.extend(options.files.list(path, &has_format)?);
        }
        let paths = files;
        let mut formats = Vec::with_capacity(paths.len());
        for path in &paths {
            let format =
                options.format.or_else(|| format_of(path, &options.formats)).ok_or_else(|| {
                    Error::unsupported(format!("file of an unknown format: {path}")).hint(
                        "names end with .parquet, .orc, .csv, .json, .jsonl, .ndjson, .arrow or .avro",
                    )
                })?;
            formats.push(format);
        }
        let partitions = Partitions::of(&paths, options)?;
        let mut footers = options.pool.reservation();
        let files = open_files(&paths, &formats, options, &mut footers)?;
        let (schema, parts) = arrange(files, partitions, options)?;
        let (fields, parts) = with_fields(&schema, parts);
        let scanned = schema.fields.iter().chain(fields.iter().map(|it| &it.field));
        Ok(FileTable {
            reopens: definition::is_reopened_by_paths(options, &formats),
            name: name.to_owned(),
            scanned: Arc::new(scanned.cloned().collect()),
            schema: Arc::new(schema),
            fields,
            parts,
            range: FileRange::ALL,
            statistics: OnceLock::new(),
            _footers: footers,
        })
    }

    /// The row groups or stripes of a file that begin in `range`, with columns that a catalog
    /// declares.
    ///
    /// # Errors
    ///
    /// I/O, corruption. Invalid query: a column whose type does not fit the file's. Unsupported: a
    /// format without row groups or stripes.
    pub fn declared(
        path: &str,
        columns: &[DeclaredColumn],
        range: FileRange,
        options: &FileOptions,
    ) -> Result<FileTable> {
        let format = options.format.or_else(|| format_of(path, &options.formats));
        let format = format.filter(|it| matches!(it, FileFormat::Parquet | FileFormat::Orc));
        let format = format.ok_or_else(|| {
            let error = Error::unsupported("declared columns of files but Parquet and ORC");
            error.at("file", path)
        })?;
        let mut footers = options.pool.reservation();
        let files = open_files(&[path.to_owned()], &[format], options, &mut footers)?;
        let part = |file| declared_part(file, columns);
        let parts = files.into_iter().map(part).collect::<Result<Arc<[Part]>>>()?;
        let schema: Arc<Schema> = Arc::new(columns.iter().map(|it| it.field.clone()).collect());
        Ok(FileTable {
            reopens: false,
            name: path.to_owned(),
            scanned: Arc::clone(&schema),
            schema,
            fields: Vec::new(),
            parts,
            range,
            statistics: OnceLock::new(),
            _footers: footers,
        })
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|it| it.file.path())
    }
}

/// Opens files; `footers` are charged with what is kept of those of Parquet files. JSON files have
/// all columns of any.
fn open_files(
    paths: &[String],
    formats: &[FileFormat],
    options: &FileOptions,
    footers: &mut Reservation,
) -> Result<Vec<PartFile>> {
    let of_json = paths.iter().zip(formats).filter(|(_, format)| **format == FileFormat::Json);
    let json: Vec<String> = of_json.map(|(path, _)| path.clone()).collect();
    let json = options.files.open_each(&json).collect::<Result<Vec<_>>>()?;
    let json = match json.is_empty() {
        true => Vec::new(),
        false => JsonFile::open_all(json, &options.json, &options.pool)?,
    };
    let mut json = json.into_iter();
    let others = paths.iter().zip(formats).filter(|(_, format)| **format != FileFormat::Json);
    let others: Vec<String> = others.map(|(path, _)| path.clone()).collect();
    let mut others = options.files.open_each(&others);
    let mut open = || others.next().ok_or_else(|| Error::internal("one file per path"))?;
    let mut files = Vec::with_capacity(paths.len());
    for format in formats {
        files.push(match format {
            FileFormat::Parquet => {
                PartFile::Parquet(ParquetFile::open_with(open()?, options.parquet, footers)?)
            }
            FileFormat::Orc => PartFile::Orc(OrcFile::open_with(open()?, footers)?),
            FileFormat::Csv => {
                PartFile::Csv(Arc::new(CsvFile::open(open()?, &options.csv, &options.pool)?))
            }
            FileFormat::Json => {
                let file = json.next().ok_or_else(|| Error::internal("one JSON file per path"))?;
                PartFile::Json(Arc::new(file))
            }
            FileFormat::Added(name) => {
                let format = options.formats.get(name);
                let format = format.ok_or_else(|| Error::internal("a format without a reader"))?;
                PartFile::Added(format.open(open()?, &options.pool)?)
            }
        });
    }
    Ok(files)
}

impl Table for FileTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.to_owned(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn fields(&self) -> &[ColumnField] {
        &self.fields
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let statistics =
            self.statistics.get_or_init(|| Arc::new(statistics_of(&self.scanned, &self.parts)));
        Ok(Arc::clone(statistics))
    }

    fn definition(&self) -> Option<Vec<u8>> {
        match self.reopens {
            true => definition::to_bytes(&self.name, self.files(), &self.schema),
            false => None,
        }
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let (parts, schema) = (Arc::clone(&self.parts), Arc::clone(&self.scanned));
        Ok(Box::new(FileScan::new(parts, schema, self.range, request)))
    }
}
