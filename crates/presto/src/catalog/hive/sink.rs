//! Writes files of a table of the catalog hive.

use super::{partition_sink::PartitionedRows, split::local_path};
use crate::{
    json::{Json, Object},
    table_write::WrittenTable,
    worker::random_uuid,
};
use serde::Deserialize;
use serde_json::json;
use std::{fs, sync::Arc};
use volley_connector::{FormatRegistry, RowSink, SinkFactory, TableWriter};
use volley_connector_hive::FileSinkFactory;
use volley_error::{Error, Result};
use volley_io::FileSystems;
use volley_plan::WriteTarget;
use volley_types::Schema;
use volley_vector::Batch;

/// Files of one table, which a task writes.
#[derive(Clone, Debug)]
pub(crate) struct HiveSinks {
    /// The names of the partition keys, which are the last columns.
    pub(super) keys: Arc<[String]>,
    /// Where files are written, and where the coordinator moves them, as the handle says.
    write_path: String,
    target_path: String,
    /// What the files are to the table: all of its rows, or further ones.
    update_mode: UpdateMode,
    existing: ExistingPartitions,
    /// The name of the format's sink, and of its compression.
    format: &'static str,
    compression: String,
    /// The identity of the query, with which names of files begin.
    query: String,
    files: FileSystems,
    written: Arc<WrittenTable>,
}

/// What files are to a table, or to a partition of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdateMode {
    /// All of its rows.
    New,
    /// Further rows.
    Append,
    /// All of its rows, in place of those that it has.
    Overwrite,
}

/// What an INSERT does to a partition that the table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExistingPartitions {
    Append,
    Overwrite,
    /// It fails: the coordinator refuses a new partition of the same name.
    Error,
}

impl ExistingPartitions {
    /// The value of `insert_existing_partitions_behavior`; APPEND if it is not set.
    ///
    /// # Errors
    ///
    /// Invalid value: no such value.
    pub(crate) fn named(value: Option<&str>) -> Result<ExistingPartitions> {
        Ok(match value {
            None | Some("APPEND") => ExistingPartitions::Append,
            Some("OVERWRITE") => ExistingPartitions::Overwrite,
            Some("ERROR") => ExistingPartitions::Error,
            Some(other) => {
                let message = format!("insert_existing_partitions_behavior {other}");
                return Err(Error::invalid_value(message));
            }
        })
    }
}

impl UpdateMode {
    fn name(self) -> &'static str {
        match self {
            UpdateMode::New => "NEW",
            UpdateMode::Append => "APPEND",
            UpdateMode::Overwrite => "OVERWRITE",
        }
    }
}

/// The file in which a metastore of files describes a partition.
const PARTITION_FILE: &str = ".prestoSchema";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LocationHandle {
    target_path: String,
    write_path: String,
    table_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputColumn {
    name: String,
    column_type: String,
}

impl HiveSinks {
    /// The files of a `HiveOutputTableHandle` or a `HiveInsertTableHandle`.
    ///
    /// # Errors
    ///
    /// Unsupported: buckets, a format, a compression. Invalid value: malformed JSON.
    pub(crate) fn of_handle(
        handle: Json<'_>,
        query: &str,
        existing: ExistingPartitions,
        written: &Arc<WrittenTable>,
    ) -> Result<HiveSinks> {
        let handle = handle.object("a handle of a table of hive")?;
        let keys = partition_keys(&handle)?;
        let location: LocationHandle = handle.read("locationHandle")?;
        local_path(&location.write_path)?;
        let format: String = handle.read("actualStorageFormat")?;
        let format = match format.as_str() {
            "PARQUET" => "parquet",
            "ORC" => "orc",
            other => {
                return Err(Error::unsupported(format!("writing files of the format {other}")));
            }
        };
        let compression: String = handle.read("compressionCodec")?;
        Ok(HiveSinks {
            keys: keys.into(),
            write_path: location.write_path,
            target_path: location.target_path,
            update_mode: match location.table_type.as_str() {
                "EXISTING" => UpdateMode::Append,
                _ => UpdateMode::New,
            },
            existing,
            format,
            compression: compression.to_lowercase(),
            query: query.to_owned(),
            files: FileSystems::default(),
            written: Arc::clone(written),
        })
    }
}

/// The names of the columns that are partition keys.
fn partition_keys(handle: &Object<'_>) -> Result<Vec<String>> {
    let columns: Vec<InputColumn> = handle.read("inputColumns")?;
    let is_key = |it: &InputColumn| it.column_type == "PARTITION_KEY";
    for column in &columns {
        if !is_key(column) && column.column_type != "REGULAR" {
            let message = format!("writing a column of the kind {} of hive", column.column_type);
            return Err(Error::unsupported(message).at("column", &column.name));
        }
    }
    let regular = columns.iter().take_while(|it| !is_key(it)).count();
    if columns.iter().skip(regular).any(|it| !is_key(it)) {
        return Err(Error::invalid_value("a table with a column after its partition keys"));
    }
    for property in ["bucketProperty", "encryptionInformation"] {
        if handle.optional(property).is_some() {
            return Err(Error::unsupported(format!("writing a table with {property}")));
        }
    }
    Ok(columns.into_iter().skip(regular).map(|it| it.name).collect())
}

impl SinkFactory for HiveSinks {
    fn writer(&self, _target: &WriteTarget, columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        Ok(Arc::new(HiveWriter { sinks: self.clone(), columns: columns.clone() }))
    }
}

struct HiveWriter {
    sinks: HiveSinks,
    columns: Schema,
}

impl TableWriter for HiveWriter {
    fn sinks_max(&self) -> usize {
        usize::MAX
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let (sinks, columns) = (self.sinks.clone(), self.columns.clone());
        match sinks.keys.is_empty() {
            true => Ok(Box::new(HiveFile::new(sinks, columns, String::new())?)),
            false => Ok(Box::new(PartitionedRows::new(sinks, &columns)?)),
        }
    }
}

/// The file of one driver, in one partition; made for its first rows.
pub(super) struct HiveFile {
    sinks: HiveSinks,
    columns: Schema,
    name: String,
    /// The name of the partition, such as `year=2020/month=1`; empty in a table without keys.
    partition: String,
    rows: u64,
    /// Bytes of the rows in memory.
    bytes: u64,
    sink: Option<Box<dyn RowSink>>,
}

impl HiveFile {
    pub(super) fn new(sinks: HiveSinks, columns: Schema, partition: String) -> Result<HiveFile> {
        let name = format!("{}_{}", sinks.query, random_uuid()?);
        Ok(HiveFile { sinks, columns, name, partition, rows: 0, bytes: 0, sink: None })
    }

    /// The folder of the partition below that of the table.
    fn folder(&self, of_table: &str) -> String {
        match self.partition.is_empty() {
            true => of_table.to_owned(),
            false => format!("{}/{}", of_table.trim_end_matches('/'), self.partition),
        }
    }

    fn path(&self) -> Result<String> {
        Ok(format!("{}/{}", self.folder(local_path(&self.sinks.write_path)?), self.name))
    }

    /// Rows of a partition that the table has are further ones, unless they replace its rows.
    fn update_mode(&self) -> Result<UpdateMode> {
        if self.partition.is_empty() || self.sinks.update_mode == UpdateMode::New {
            return Ok(self.sinks.update_mode);
        }
        Ok(match self.sinks.existing {
            _ if !self.is_partition_of_table()? => UpdateMode::New,
            ExistingPartitions::Append => UpdateMode::Append,
            ExistingPartitions::Overwrite => UpdateMode::Overwrite,
            ExistingPartitions::Error => UpdateMode::New,
        })
    }

    /// Whether the table has the partition: its folder exists. Where files are written into the
    /// table itself, the folder may be that of this file; then the metastore's file counts.
    fn is_partition_of_table(&self) -> Result<bool> {
        let folder = self.folder(local_path(&self.sinks.target_path)?);
        let sign = match self.sinks.write_path == self.sinks.target_path {
            true => format!("{folder}/{PARTITION_FILE}"),
            false => folder,
        };
        fs::exists(&sign).map_err(|error| Error::io(sign, error))
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let folder = self.folder(local_path(&self.sinks.write_path)?);
        fs::create_dir_all(&folder).map_err(|it| Error::io(&folder, it))?;
        let target = WriteTarget {
            sink: self.sinks.format.to_owned(),
            location: self.path()?,
            options: vec![("compression".to_owned(), self.sinks.compression.clone())],
        };
        let factory =
            FileSinkFactory { files: self.sinks.files.clone(), formats: FormatRegistry::default() };
        factory.writer(&target, &self.columns)?.open()
    }
}

impl RowSink for HiveFile {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        self.rows += batch.rows() as u64;
        self.bytes += volley_wire::flat_bytes(batch)? as u64;
        let sink = match &mut self.sink {
            Some(sink) => sink,
            None => {
                let opened = self.open()?;
                self.sink.insert(opened)
            }
        };
        sink.write(batch)
    }

    fn finish(&mut self) -> Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        sink.finish()?;
        let size = self.sinks.files.open(&self.path()?)?.size_bytes();
        let fragment = json!({
            "name": self.partition,
            "updateMode": self.update_mode()?.name(),
            "writePath": self.folder(&self.sinks.write_path),
            "targetPath": self.folder(&self.sinks.target_path),
            "fileWriteInfos": [{
                "writeFileName": self.name,
                "targetFileName": self.name,
                "fileSize": size,
            }],
            "rowCount": self.rows,
            "inMemoryDataSizeInBytes": self.bytes,
            "onDiskDataSizeInBytes": size,
            "containsNumberedFileNames": false,
        });
        self.sinks.written.add(fragment.to_string());
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.sink.as_ref().map_or(0, |it| it.held_bytes())
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        self.sink.as_ref().map_or(0, |it| it.write_bytes(flat_bytes))
    }

    fn reclaim(&mut self) -> Result<()> {
        self.sink.as_mut().map_or(Ok(()), |it| it.reclaim())
    }
}
