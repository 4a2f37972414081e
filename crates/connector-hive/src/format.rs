//! Formats of files, and the options that they are written with.

use crate::folder_options::FOLDER_OPTIONS;
use volley_connector::FormatRegistry;
use volley_error::{Error, Result};
use volley_types::nearest_name;

/// What COPY understands beside FORMAT.
const OPTIONS: [&str; 6] =
    ["header", "delimiter", "quote", "null", "compression", "row_group_size"];

const COMPRESSIONS: [(&str, FileCompression); 6] = [
    ("none", FileCompression::None),
    ("uncompressed", FileCompression::None),
    ("snappy", FileCompression::Snappy),
    ("zstd", FileCompression::Zstd),
    ("gzip", FileCompression::Gzip),
    ("lz4", FileCompression::Lz4),
];

/// The formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object per line.
    Json,
    /// Apache ORC.
    Orc,
    /// The one of this name that was added to the engine.
    Added(&'static str),
}

/// How a file is written, beyond its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// How Parquet pages and ORC streams are compressed.
    pub compression: FileCompression,
    /// The maximum number of rows of a row group of Parquet; `None` leaves it to the writer.
    pub row_group_rows: Option<usize>,
    /// Whether CSV begins with a line of column names.
    pub has_header: bool,
    /// The delimiter between CSV fields.
    pub delimiter: char,
    /// The quote around CSV fields that need it; doubled within them.
    pub quote: char,
    /// What CSV has for NULL.
    pub null: String,
    /// Options of a format that was added, as written.
    pub added: Vec<(String, String)>,
}

/// How Parquet pages and ORC streams are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCompression {
    /// Not at all.
    None,
    /// Quick; the default.
    Snappy,
    /// Small.
    Zstd,
    /// What most systems read, slow: GZIP in Parquet, ZLIB in ORC.
    Gzip,
    /// LZ4 blocks: quicker than Snappy to read.
    Lz4,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            compression: FileCompression::Snappy,
            row_group_rows: None,
            has_header: true,
            delimiter: ',',
            quote: '"',
            null: String::new(),
            added: Vec::new(),
        }
    }
}

impl FileFormat {
    /// The format that a name stands for, one of ours or of those that were added.
    ///
    /// # Errors
    ///
    /// Unsupported: no such format.
    pub fn of_name(name: &str, added: &FormatRegistry) -> Result<FileFormat> {
        if let Some(format) = added.get(name) {
            return Ok(FileFormat::Added(format.name()));
        }
        Ok(match name {
            "parquet" => FileFormat::Parquet,
            "orc" => FileFormat::Orc,
            "csv" => FileFormat::Csv,
            "json" | "ndjson" | "jsonl" => FileFormat::Json,
            other => {
                let error = Error::unsupported(format!("unsupported file format: '{other}'"));
                let names = FileFormat::SINKS.iter().map(|it| it.0).chain(added.names());
                let names: Vec<&str> = names.collect();
                return Err(match nearest_name(other, names.iter().copied()) {
                    Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                    None => error.hint(format!("there are {}", names.join(", "))),
                });
            }
        })
    }

    /// The names of sinks of files.
    pub const SINKS: [(&'static str, FileFormat); 4] = [
        ("parquet", FileFormat::Parquet),
        ("orc", FileFormat::Orc),
        ("csv", FileFormat::Csv),
        ("json", FileFormat::Json),
    ];

    /// The name of its sink.
    pub fn sink_name(self) -> &'static str {
        match self {
            FileFormat::Parquet => "parquet",
            FileFormat::Orc => "orc",
            FileFormat::Csv => "csv",
            FileFormat::Json => "json",
            FileFormat::Added(name) => name,
        }
    }
}

impl WriteOptions {
    /// The options, checked against the format.
    /// # Errors
    ///
    /// Unsupported: no such option. Invalid query or value: one that does not fit.
    pub fn read(format: FileFormat, written: &[(String, String)]) -> Result<WriteOptions> {
        let mut options = WriteOptions::default();
        if let FileFormat::Added(_) = format {
            options.added = written.to_vec();
            return Ok(options);
        }
        for (name, value) in written {
            let belongs_to = match name.as_str() {
                "header" => {
                    options.has_header = boolean(name, value)?;
                    FileFormat::Csv
                }
                "delimiter" | "delim" | "sep" => {
                    options.delimiter = delimiter(value)?;
                    FileFormat::Csv
                }
                "quote" => {
                    options.quote = char::from(single_byte(name, value)?);
                    FileFormat::Csv
                }
                "null" | "nullstr" => {
                    options.null.clone_from(value);
                    FileFormat::Csv
                }
                "row_group_size" => {
                    options.row_group_rows = Some(row_count(name, value)?);
                    FileFormat::Parquet
                }
                "compression" => {
                    options.compression = compression(value)?;
                    if format == FileFormat::Orc { FileFormat::Orc } else { FileFormat::Parquet }
                }
                _ => return Err(unknown_option(name)),
            };
            if options.quote == options.delimiter {
                return Err(Error::invalid_value("delimiter and quote are the same character"));
            }
            if belongs_to != format {
                let message = format!("COPY option {name} does not go with {}", name_of(format));
                let hint = format!("it is for {}", name_of(belongs_to));
                return Err(Error::invalid_query(message).hint(hint));
            }
        }
        Ok(options)
    }
}

fn unknown_option(name: &str) -> Error {
    let error = Error::unsupported(format!("unsupported COPY option: {name}"));
    let names = OPTIONS.into_iter().chain(FOLDER_OPTIONS).chain(["format"]);
    match nearest_name(name, names.clone()) {
        Some(nearest) => error.hint(format!("did you mean {nearest}?")),
        None => error.hint(format!("COPY takes {}", names.collect::<Vec<_>>().join(", "))),
    }
}

fn name_of(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Parquet => "Parquet",
        FileFormat::Orc => "ORC",
        FileFormat::Csv => "CSV",
        FileFormat::Json => "JSON",
        FileFormat::Added(name) => name,
    }
}

pub(crate) fn boolean(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::invalid_value(format!("COPY option {name} is true or false: '{value}'"))),
    }
}

/// A single ASCII character that quoting does not use.
fn delimiter(value: &str) -> Result<char> {
    let value = if value == "\\t" { "\t" } else { value };
    let mut chars = value.chars();
    let single = chars.next().filter(|_| chars.next().is_none());
    let usable = |it: &char| it.is_ascii() && !matches!(it, '"' | '\n' | '\r' | '\0');
    single.filter(usable).ok_or_else(|| {
        Error::invalid_value(format!("COPY option delimiter is one ASCII character: '{value}'"))
            .hint("such as ',', ';', '|' or '\\t'")
    })
}

/// A number of rows above 0.
fn row_count(name: &str, value: &str) -> Result<usize> {
    value.parse().ok().filter(|it| *it > 0).ok_or_else(|| {
        Error::invalid_value(format!("COPY option {name} is a number of rows: '{value}'"))
    })
}

/// A single ASCII character.
fn single_byte(name: &str, value: &str) -> Result<u8> {
    let value = if value == "\\t" { "\t" } else { value };
    match value.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'\0') => Ok(*byte),
        _ => {
            let message = format!("COPY option {name} is one ASCII character: '{value}'");
            Err(Error::invalid_value(message))
        }
    }
}

fn compression(value: &str) -> Result<FileCompression> {
    let found = COMPRESSIONS.iter().find(|it| it.0.eq_ignore_ascii_case(value));
    found.map(|it| it.1).ok_or_else(|| {
        let error = Error::unsupported(format!("unsupported compression: '{value}'"));
        match nearest_name(value, COMPRESSIONS.iter().map(|it| it.0)) {
            Some(nearest) => error.hint(format!("did you mean {nearest}?")),
            None => error.hint("write none, snappy, zstd, gzip or lz4"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(format: FileFormat, name: &str, value: &str) -> Result<WriteOptions> {
        WriteOptions::read(format, &[(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn options_are_read() {
        assert!(!options(FileFormat::Csv, "header", "FALSE").unwrap().has_header);
        assert_eq!(options(FileFormat::Csv, "delimiter", "\\t").unwrap().delimiter, '\t');
        let zstd = options(FileFormat::Parquet, "compression", "ZSTD").unwrap();
        assert_eq!(zstd.compression, FileCompression::Zstd);
    }

    #[track_caller]
    fn check(format: FileFormat, name: &str, value: &str, message: &str, hint: Option<&str>) {
        let error = options(format, name, value).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint_text()), (message, hint));
    }

    #[test]
    fn wrong_options_are_refused_with_the_nearest_one() {
        check(
            FileFormat::Parquet,
            "compresion",
            "zstd",
            "unsupported COPY option: compresion",
            Some("did you mean compression?"),
        );
        check(
            FileFormat::Parquet,
            "compression",
            "zst",
            "unsupported compression: 'zst'",
            Some("did you mean zstd?"),
        );
        check(
            FileFormat::Parquet,
            "header",
            "true",
            "COPY option header does not go with Parquet",
            Some("it is for CSV"),
        );
        check(
            FileFormat::Csv,
            "header",
            "maybe",
            "COPY option header is true or false: 'maybe'",
            None,
        );
        assert!(options(FileFormat::Csv, "delimiter", "||").is_err());
        assert!(options(FileFormat::Csv, "delimiter", "\"").is_err());
    }
}
