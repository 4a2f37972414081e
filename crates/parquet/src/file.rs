//! A Parquet file: its footer, checked, and its schema.

use crate::{
    bounds::{chunk_bounds, noted_chunk_bounds},
    error::{corrupt, from_parquet},
    footer::check_schema,
    leaf::Leaf,
    schema::{Node, NodeKind, ParquetField, read_fields, read_schema},
};
use parquet::{
    basic::{ColumnOrder, Encoding},
    file::metadata::{
        ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
        ParquetStatisticsPolicy, RowGroupMetaData,
    },
};
use std::{ops::Range, sync::Arc};
use volley_connector::Bounds;
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::{Pool, Reservation};
use volley_types::Schema;

/// Length of the metadata (4 bytes) and the magic number.
const TAIL_BYTES: u64 = 8;

/// Smaller than any Parquet file: magic, tail.
const FILE_BYTES_MIN: u64 = 12;

/// How a file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParquetReadOptions {
    /// Whether bytes are text that the file does not say to be anything: some writers do not say.
    pub binary_as_string: bool,
}

/// An open Parquet file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ParquetFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Arc<dyn RandomAccessFile>,
    metadata: ParquetMetaData,
    schema: Schema,
    fields: Vec<ParquetField>,
    /// Of the columns, then of the fields.
    nodes: Vec<Node>,
}

impl ParquetFile {
    /// Reads and checks the footer of `file`.
    ///
    /// # Errors
    ///
    /// I/O; corruption; unsupported types.
    pub fn open(file: Arc<dyn RandomAccessFile>) -> Result<ParquetFile> {
        let mut charge = Pool::root("footer", None).reservation();
        ParquetFile::open_with(file, ParquetReadOptions::default(), &mut charge)
    }

    /// Like [`ParquetFile::open`], with `options`. Reserves the memory of the cached footer in
    /// `charge`, and temporarily the memory for reading it.
    ///
    /// # Errors
    ///
    /// As [`ParquetFile::open`]; out of memory.
    pub fn open_with(
        file: Arc<dyn RandomAccessFile>,
        options: ParquetReadOptions,
        charge: &mut Reservation,
    ) -> Result<ParquetFile> {
        let path = file.path().to_owned();
        ParquetFile::read(file, options, charge)
            .map_err(|it| if is_about(&it, &path) { it } else { it.at("file", path) })
    }

    fn read(
        file: Arc<dyn RandomAccessFile>,
        options: ParquetReadOptions,
        charge: &mut Reservation,
    ) -> Result<ParquetFile> {
        let metadata = read_footer(&*file, charge)?.metadata;
        let descriptor = metadata.file_metadata().schema_descr();
        let (schema, mut nodes) = read_schema(descriptor, options)?;
        let (fields, field_nodes) = read_fields(&schema, &nodes);
        nodes.extend(field_nodes);
        for (group, row_group) in metadata.row_groups().iter().enumerate() {
            check_row_group(row_group, descriptor.num_columns(), file.size_bytes())
                .map_err(|it| it.at("row group", group))?;
        }
        Ok(ParquetFile(Arc::new(Inner { file, metadata, schema, fields, nodes })))
    }

    /// The file.
    pub fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.0.file
    }

    /// Its name.
    pub fn path(&self) -> &str {
        self.0.file.path()
    }

    /// Its columns.
    pub fn schema(&self) -> &Schema {
        &self.0.schema
    }

    /// The fields of its columns that can be read as columns; their positions are those behind the
    /// columns.
    pub fn fields(&self) -> &[ParquetField] {
        &self.0.fields
    }

    /// The name of a column, or of a field by its position behind them.
    pub(crate) fn name(&self, column: usize) -> &str {
        let columns = &self.0.schema.fields;
        let field = || self.0.fields.get(column.checked_sub(columns.len())?).map(|it| &it.field);
        columns.get(column).or_else(field).map_or("", |it| &it.name)
    }

    /// The number of row groups.
    pub fn row_groups(&self) -> usize {
        self.0.metadata.num_row_groups()
    }

    /// The rows of a row group.
    pub fn rows(&self, group: usize) -> usize {
        self.group(group).map_or(0, |it| it.num_rows() as usize)
    }

    /// Where the first column of a row group begins in the file, in bytes.
    pub fn group_start(&self, group: usize) -> u64 {
        let first = self.group(group).ok().and_then(|it| it.columns().first());
        let start = first.map(|it| it.dictionary_page_offset().unwrap_or(it.data_page_offset()));
        start.and_then(|it| u64::try_from(it).ok()).unwrap_or(0)
    }

    /// What the footer says of the values of a column in a row group; says nothing of nested
    /// columns.
    pub fn bounds(&self, group: usize, column: usize) -> Bounds {
        self.chunk_bounds(group, column, chunk_bounds)
    }

    /// Like [`ParquetFile::bounds`], for heuristics: bounds of the values without NaNs, which most
    /// writers ignore.
    pub fn noted_bounds(&self, group: usize, column: usize) -> Bounds {
        self.chunk_bounds(group, column, noted_chunk_bounds)
    }

    fn chunk_bounds(
        &self,
        group: usize,
        column: usize,
        read: fn(&Leaf, &ColumnChunkMetaData, ColumnOrder) -> Bounds,
    ) -> Bounds {
        let leaf = match self.0.nodes.get(column).map(|it| &it.kind) {
            Some(NodeKind::Leaf(leaf)) if leaf.rep_max == 0 => leaf,
            _ => return Bounds::default(),
        };
        let chunk = self.group(group).ok().and_then(|it| it.columns().get(leaf.index));
        chunk.map_or_else(Bounds::default, |it| read(leaf, it, self.column_order(leaf)))
    }

    /// Bytes of a column in a row group: as stored, and decompressed.
    pub fn column_bytes(&self, group: usize, column: usize) -> (u64, u64) {
        let mut sum = (0, 0);
        for leaf in self.0.nodes.get(column).map(Node::leaves).unwrap_or_default() {
            if let Ok(chunk) = self.chunk(group, leaf) {
                sum.0 += chunk.compressed_size() as u64;
                sum.1 += chunk.uncompressed_size().max(0) as u64;
            }
        }
        sum
    }

    /// About how many distinct values a column has in a row group: from the size of the dictionary
    /// when all pages use it, else about one per row, also for texts without a dictionary when
    /// other columns have one. `None` for nested columns and for others without dictionaries.
    pub fn distinct_estimate(&self, group: usize, column: usize) -> Option<u64> {
        let NodeKind::Leaf(leaf) = &self.0.nodes.get(column)?.kind else { return None };
        let chunk = self.chunk(group, leaf).ok()?;
        let Some(dictionary) = dictionary_offset(chunk) else {
            // The writer gives up dictionaries where few values repeat.
            let mut others = self.group(group).ok()?.columns().iter();
            let is_text = leaf.fixed_bytes().is_none();
            let uses_dictionaries = is_text && others.any(|it| dictionary_offset(it).is_some());
            return uses_dictionaries.then(|| self.rows(group) as u64);
        };
        let stored = u64::try_from(chunk.data_page_offset().checked_sub(dictionary)?).ok()?;
        let rows = self.rows(group) as u64;
        let is_coded = |it: &Encoding| {
            matches!(it, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY | Encoding::RLE)
        };
        let mask = chunk.page_encoding_stats_mask()?;
        if !mask.encodings().all(|it| is_coded(&it)) {
            return Some(rows);
        }
        let ratio = chunk.uncompressed_size() as f64 / chunk.compressed_size().max(1) as f64;
        let value_bytes = match leaf.fixed_bytes() {
            Some(width) => width as f64,
            // A length and, as an estimate, a short word.
            None => 4.0 + 8.0,
        };
        let estimate = stored as f64 * ratio.max(1.0) / value_bytes;
        Some((estimate as u64).clamp(1, rows.max(1)))
    }

    /// By what the values of a leaf are ordered in what the writer says of them.
    pub(crate) fn column_order(&self, leaf: &Leaf) -> ColumnOrder {
        self.0.metadata.file_metadata().column_order(leaf.index)
    }

    pub(crate) fn node(&self, column: usize) -> Result<&Node> {
        self.0.nodes.get(column).ok_or_else(|| Error::internal("no such column"))
    }

    pub(crate) fn chunk(&self, group: usize, leaf: &Leaf) -> Result<&ColumnChunkMetaData> {
        let chunk = self.group(group)?.columns().get(leaf.index);
        chunk.ok_or_else(|| Error::internal("no such column chunk"))
    }

    fn group(&self, group: usize) -> Result<&RowGroupMetaData> {
        let group = self.0.metadata.row_groups().get(group);
        group.ok_or_else(|| Error::internal("no such row group"))
    }
}

fn dictionary_offset(chunk: &ColumnChunkMetaData) -> Option<i64> {
    chunk.dictionary_page_offset().filter(|it| *it > 0)
}

/// Whether the message names the file already.
fn is_about(error: &Error, path: &str) -> bool {
    error.to_string().contains(path)
}

/// The bytes of a column chunk in the file; [`ParquetFile::open`] checked that they are there.
pub(crate) fn chunk_range(chunk: &ColumnChunkMetaData) -> Range<u64> {
    let data = chunk.data_page_offset();
    // Some writers put a zero where there is no dictionary.
    let dictionary = chunk.dictionary_page_offset().filter(|it| *it > 0 && *it < data);
    let start = dictionary.unwrap_or(data) as u64;
    start..start + chunk.compressed_size() as u64
}

/// The maximum memory per byte of a footer while it is read; afterwards the size of the result is
/// known.
const KEPT_BYTES_PER_BYTE: usize = 10;

/// The bytes at the end of a file.
pub(crate) struct Footer {
    pub metadata: ParquetMetaData,
    /// Its bytes in the file, without their number and the magic.
    pub bytes: u64,
}

/// Reads the footer and checks only the schema's shape. Reserves the memory of the result in
/// `charge`.
pub(crate) fn read_footer(file: &dyn RandomAccessFile, charge: &mut Reservation) -> Result<Footer> {
    let size = file.size_bytes();
    if size < FILE_BYTES_MIN {
        return Err(corrupt(format!("not a Parquet file: it has {size} bytes")));
    }
    let tail = file.read(size - TAIL_BYTES..size)?;
    let (len, magic) = tail.split_at(4);
    match magic {
        b"PAR1" => {}
        b"PARE" => return Err(Error::unsupported("encrypted Parquet file")),
        _ => return Err(corrupt("not a Parquet file: it does not end with PAR1")),
    }
    let bytes = len.first_chunk::<4>().map_or(0, |it| u64::from(u32::from_le_bytes(*it)));
    if bytes > size - FILE_BYTES_MIN {
        return Err(corrupt(format!("Parquet footer of {bytes} bytes in a file of {size}")));
    }
    let most = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(KEPT_BYTES_PER_BYTE);
    let before = charge.bytes();
    charge.grow(most)?;
    let footer = file.read(size - TAIL_BYTES - bytes..size - TAIL_BYTES)?;
    check_schema(&footer).map_err(|it| it.at("part", "footer"))?;
    let metadata = ParquetMetaDataReader::decode_metadata(&footer).or_else(|error| {
        // Some writers leave statistics that are none, of no bytes for example; rows can be read
        // without them.
        let options = ParquetMetaDataOptions::new()
            .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll);
        ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options))
            .map_err(|_| from_parquet(error))
    })?;
    charge.resize(before.saturating_add(metadata.memory_size()))?;
    Ok(Footer { metadata, bytes })
}

fn check_row_group(group: &RowGroupMetaData, leaves: usize, file_bytes: u64) -> Result<()> {
    if group.num_columns() != leaves {
        return Err(corrupt("row group with a wrong number of columns"));
    }
    if group.num_rows() < 0 || group.num_rows() > i64::from(u32::MAX) {
        return Err(corrupt(format!("row group of {} rows", group.num_rows())));
    }
    for chunk in group.columns() {
        let column = || chunk.column_path().string();
        if chunk.file_path().is_some() {
            return Err(Error::unsupported("Parquet column in another file").at("column", column()));
        }
        let starts = [Some(chunk.data_page_offset()), chunk.dictionary_page_offset()];
        let is_negative = starts.iter().flatten().any(|it| *it < 0) || chunk.compressed_size() < 0;
        if is_negative || chunk_range(chunk).end > file_bytes {
            return Err(corrupt("column lies outside of the file").at("column", column()));
        }
    }
    Ok(())
}
