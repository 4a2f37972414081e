//! How files are read.

use crate::FileFormat;
use volley_connector::FormatRegistry;
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_parquet::ParquetReadOptions;
use volley_text::{CsvReadOptions, JsonReadOptions};
use volley_types::Type;

/// How files are read. The default decides all by the files.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// The format; `None`: by the ending of each name.
    pub format: Option<FileFormat>,
    /// A column of this name has the name of each row's file.
    pub filename: Option<String>,
    /// A column of this name has the position of each row in its Parquet file, from 0 on.
    pub file_row_number: Option<String>,
    /// The table has the columns of all files, found by name, with types that hold those of all;
    /// those that a file lacks are null there. Otherwise it has the columns of the first file.
    pub union_by_name: bool,
    /// Whether folders called `key=value` give columns; `None`: if all files are in such ones.
    pub hive_partitioning: Option<bool>,
    /// Whether columns of folders get types; otherwise they are texts.
    pub hive_types_autocast: bool,
    /// Types of columns of folders, by name.
    pub hive_types: Vec<(String, Type)>,
    /// How Parquet files are read.
    pub parquet: ParquetReadOptions,
    /// How CSV files are read.
    pub csv: CsvReadOptions,
    /// How JSON files are read.
    pub json: JsonReadOptions,
    /// What is charged with what opening files takes, and with what is kept of their footers.
    pub pool: Pool,
    /// Where the files are.
    pub files: FileSystems,
    /// Formats that were added to the engine.
    pub formats: FormatRegistry,
}

impl Default for FileOptions {
    fn default() -> FileOptions {
        FileOptions {
            format: None,
            filename: None,
            file_row_number: None,
            union_by_name: false,
            hive_partitioning: None,
            hive_types_autocast: true,
            hive_types: Vec::new(),
            parquet: ParquetReadOptions::default(),
            csv: CsvReadOptions::default(),
            json: JsonReadOptions::default(),
            pool: Pool::root("files", None),
            files: FileSystems::default(),
            formats: FormatRegistry::default(),
        }
    }
}

/// The format that a name's ending tells, one of ours or of those that were added; text files may
/// be compressed.
pub(crate) fn format_of(path: &str, added: &FormatRegistry) -> Option<FileFormat> {
    let lower = path.to_ascii_lowercase();
    if let Some(format) = added.of_path(&lower) {
        return Some(FileFormat::Added(format.name()));
    }
    if lower.ends_with(".parquet") {
        return Some(FileFormat::Parquet);
    }
    if lower.ends_with(".orc") {
        return Some(FileFormat::Orc);
    }
    let text = [".gz", ".zst"].iter().find_map(|it| lower.strip_suffix(it)).unwrap_or(&lower);
    let endings = [
        (".csv", FileFormat::Csv),
        (".tsv", FileFormat::Csv),
        (".json", FileFormat::Json),
        (".jsonl", FileFormat::Json),
        (".ndjson", FileFormat::Json),
    ];
    endings.iter().find(|(ending, _)| text.ends_with(ending)).map(|(_, format)| *format)
}
