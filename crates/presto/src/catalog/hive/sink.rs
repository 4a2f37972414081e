//! Writes files of a table of the catalog hive.

use super::split::local_path;
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
    /// Where files are written, and where the coordinator moves them, as the handle says.
    write_path: String,
    target_path: String,
    /// What the files are to the table: all of its rows, or further ones.
    update_mode: &'static str,
    /// The name of the format's sink, and of its compression.
    format: &'static str,
    compression: String,
    /// The identity of the query, with which names of files begin.
    query: String,
    files: FileSystems,
    written: Arc<WrittenTable>,
}

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
    /// Unsupported: partitions, buckets, a format, a compression. Invalid value: malformed JSON.
    pub(crate) fn of_handle(
        handle: Json<'_>,
        query: &str,
        written: &Arc<WrittenTable>,
    ) -> Result<HiveSinks> {
        let handle = handle.object("a handle of a table of hive")?;
        check_layout(&handle)?;
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
            write_path: location.write_path,
            target_path: location.target_path,
            update_mode: if location.table_type == "EXISTING" { "APPEND" } else { "NEW" },
            format,
            compression: compression.to_lowercase(),
            query: query.to_owned(),
            files: FileSystems::default(),
            written: Arc::clone(written),
        })
    }
}

fn check_layout(handle: &Object<'_>) -> Result<()> {
    let columns: Vec<InputColumn> = handle.read("inputColumns")?;
    if let Some(key) = columns.iter().find(|it| it.column_type != "REGULAR") {
        return Err(Error::unsupported("writing a partitioned table").at("column", &key.name));
    }
    for property in ["bucketProperty", "encryptionInformation"] {
        if handle.optional(property).is_some() {
            return Err(Error::unsupported(format!("writing a table with {property}")));
        }
    }
    Ok(())
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
        let name = format!("{}_{}", sinks.query, random_uuid()?);
        Ok(Box::new(HiveFile { sinks, columns, name, rows: 0, bytes: 0, sink: None }))
    }
}

/// The file of one driver; made for its first rows.
struct HiveFile {
    sinks: HiveSinks,
    columns: Schema,
    name: String,
    rows: u64,
    /// Bytes of the rows in memory.
    bytes: u64,
    sink: Option<Box<dyn RowSink>>,
}

impl HiveFile {
    fn path(&self) -> Result<String> {
        Ok(format!("{}/{}", local_path(&self.sinks.write_path)?, self.name))
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let folder = local_path(&self.sinks.write_path)?;
        fs::create_dir_all(folder).map_err(|it| Error::io(folder, it))?;
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
            "name": "",
            "updateMode": self.sinks.update_mode,
            "writePath": self.sinks.write_path,
            "targetPath": self.sinks.target_path,
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

    fn give_back(&mut self) -> Result<()> {
        self.sink.as_mut().map_or(Ok(()), |it| it.give_back())
    }
}
