//! How files are read.

use volley_io::ReadFaults;
use volley_plan::FileFormat;

/// How files are read. The default decides all by the files.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// The format; `None`: by the ending of each name.
    pub format: Option<FileFormat>,
    /// For tests: makes reads of Parquet files fail.
    pub faults: Option<ReadFaults>,
}

/// The format that a name's ending tells.
pub(crate) fn format_of(path: &str) -> Option<FileFormat> {
    let lower = path.to_ascii_lowercase();
    let endings = [
        (".parquet", FileFormat::Parquet),
        (".csv", FileFormat::Csv),
        (".json", FileFormat::Json),
        (".jsonl", FileFormat::Json),
        (".ndjson", FileFormat::Json),
    ];
    endings.iter().find(|(ending, _)| lower.ends_with(ending)).map(|(_, format)| *format)
}
