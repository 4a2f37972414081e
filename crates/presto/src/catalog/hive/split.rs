//! Splits: bytes of a file, and the values of partition keys.
//!
//! ```text
//! path, format, start, bytes, size and time of the file
//! number of keys, then for each its name, 1 or 0, its value if 1
//! ```

use serde::Deserialize;
use serde_json::Value as JsonValue;
use volley_connector::{Split, SplitReader, SplitWriter};
use volley_connector_hive::{FileFormat, FileRange};
use volley_error::{Error, Result};
use volley_function::Registry;

/// The number of this connector in the bytes of splits.
const CONNECTOR: u8 = 21;

/// What a split reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HiveSplit {
    pub path: String,
    pub format: FileFormat,
    pub range: FileRange,
    /// The bytes of the file, and when it was changed, in milliseconds since 1970.
    pub file_bytes: u64,
    pub modified_millis: u64,
    /// The partition keys as texts; `None` for null.
    pub keys: Vec<(String, Option<String>)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HiveSplitJson {
    file_split: FileSplitJson,
    database: String,
    table: String,
    storage: StorageJson,
    #[serde(default)]
    partition_keys: Vec<PartitionKeyJson>,
    table_bucket_number: Option<i64>,
    bucket_conversion: Option<JsonValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileSplitJson {
    path: String,
    start: u64,
    length: u64,
    #[serde(default)]
    file_size: u64,
    #[serde(default)]
    file_modified_time: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StorageJson {
    storage_format: StorageFormatJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StorageFormatJson {
    input_format: String,
}

#[derive(Deserialize)]
struct PartitionKeyJson {
    name: String,
    value: Option<String>,
}

impl HiveSplit {
    /// The schema, the table and what is read of the JSON of a split.
    ///
    /// # Errors
    ///
    /// Unsupported: a file format, a file system, or buckets that are converted. Invalid value:
    /// malformed JSON.
    pub(super) fn of_json(split: &JsonValue) -> Result<(String, String, HiveSplit)> {
        let malformed =
            |it| Error::invalid_value(format!("malformed JSON of a split of hive: {it}"));
        let json = HiveSplitJson::deserialize(split).map_err(malformed)?;
        if json.bucket_conversion.is_some() {
            let error = Error::unsupported("files of another number of buckets than the table's");
            return Err(error.at("bucket", json.table_bucket_number.unwrap_or(-1)));
        }
        let input_format = json.storage.storage_format.input_format;
        let format = match input_format.rsplit('.').next() {
            Some("MapredParquetInputFormat") => FileFormat::Parquet,
            Some("OrcInputFormat") => FileFormat::Orc,
            _ => return Err(Error::unsupported(format!("files of the format {input_format}"))),
        };
        let FileSplitJson { path, start, length, file_size, file_modified_time } = json.file_split;
        let split = HiveSplit {
            path: local_path(&path)?.to_owned(),
            format,
            range: FileRange { start, bytes: length },
            file_bytes: file_size,
            modified_millis: file_modified_time,
            keys: json.partition_keys.into_iter().map(|it| (it.name, it.value)).collect(),
        };
        Ok((json.database, json.table, split))
    }

    /// The split as bytes.
    pub(super) fn to_split(&self) -> Split {
        let format = match self.format {
            FileFormat::Orc => 1,
            _ => 0,
        };
        let FileRange { start, bytes } = self.range;
        let mut writer = SplitWriter::new(CONNECTOR).text(&self.path).number(format);
        writer = writer.number(start).number(bytes);
        writer = writer.number(self.file_bytes).number(self.modified_millis);
        writer = writer.number(self.keys.len() as u64);
        for (name, value) in &self.keys {
            writer = writer.text(name).number(value.is_some().into());
            writer = value.iter().fold(writer, |writer, it| writer.text(it));
        }
        let label = format!("{}, {bytes} bytes from {start}", self.path);
        Split { size_bytes: bytes, ..Split::new(writer.finish(), label) }
    }

    /// What [`HiveSplit::to_split`] wrote.
    ///
    /// # Errors
    ///
    /// Corruption: other bytes.
    pub(super) fn of_split(split: &Split, registry: &Registry) -> Result<HiveSplit> {
        let mut reader = SplitReader::new(split, CONNECTOR, registry)?;
        let path = reader.text()?.to_owned();
        let format = match reader.number()? {
            0 => FileFormat::Parquet,
            1 => FileFormat::Orc,
            other => return Err(Error::corruption(format!("file format {other} of a split"))),
        };
        let range = FileRange { start: reader.number()?, bytes: reader.number()? };
        let (file_bytes, modified_millis) = (reader.number()?, reader.number()?);
        let mut keys = Vec::new();
        for _ in 0..reader.number()? {
            let name = reader.text()?.to_owned();
            let value = match reader.number()? {
                0 => None,
                _ => Some(reader.text()?.to_owned()),
            };
            keys.push((name, value));
        }
        reader.finish()?;
        Ok(HiveSplit { path, format, range, file_bytes, modified_millis, keys })
    }
}

/// The path of `file:/path` or `file:///path`.
pub(super) fn local_path(location: &str) -> Result<&str> {
    let path = location.strip_prefix("file:").unwrap_or(location);
    let path = path.strip_prefix("//").unwrap_or(path);
    match path.starts_with('/') {
        true => Ok(path),
        false => {
            let error = Error::unsupported("files that are not in a local folder");
            Err(error.at("location", location))
        }
    }
}
