//! `glob`, `read_text` and `read_blob`: the names of files, and files as values.
//!
//! A file is opened when its row is read, and read only if its content is asked for.

use crate::listing::listed;
use std::{collections::BTreeMap, sync::Arc, task::Waker};
use volley_connector::{
    Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split, SplitSource, SplitStep, Table,
    TableArgument, TableCall, TableFunction, TableStatistics,
};
use volley_error::{Error, ErrorKind, Result};
use volley_expression::filter::Conjuncts;
use volley_io::FileSystems;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_plan::TableHandle;
use volley_types::{Field, Schema, Type, Value, custom::TimestampTz};
use volley_vector::{Batch, Vector};

/// The column with the bytes of a file.
const CONTENT: usize = 1;

/// What a file's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Text,
    Blob,
}

/// Adds the functions to those of a session, whose names come first. Contents are charged to
/// `pool`.
pub(crate) fn add_file_contents(
    functions: &mut BTreeMap<String, TableFunction>,
    files: &FileSystems,
    pool: &Pool,
) {
    for (name, content) in [("read_text", Content::Text), ("read_blob", Content::Blob)] {
        let (files, pool) = (files.clone(), pool.clone());
        let read = move |call: &TableCall<'_>| -> Result<Arc<dyn Table>> {
            let paths = found(&files, call)?;
            let name = format!("{}({})", call.name, paths.join(", "));
            let (schema, files, pool) = (schema_of(content), files.clone(), pool.clone());
            Ok(Arc::new(Contents { name, schema, files, paths: paths.into(), content, pool }))
        };
        functions.entry(name.to_owned()).or_insert_with(|| Arc::new(read));
    }
    let (files, pool) = (files.clone(), pool.clone());
    let glob = move |call: &TableCall<'_>| {
        let paths = found(&files, call)?;
        let schema = Schema::new(vec![Field::new("file", Type::Varchar)]);
        let rows: Vec<Vec<Value>> = paths.iter().map(|it| vec![Value::text(it)]).collect();
        listed(format!("glob({})", paths.join(", ")), schema, &rows, &pool)
    };
    functions.entry("glob".to_owned()).or_insert_with(|| Arc::new(glob));
}

fn schema_of(content: Content) -> Schema {
    let data_type = match content {
        Content::Text => Type::Varchar,
        Content::Blob => Type::Varbinary,
    };
    Schema::new(vec![
        Field::new("filename", Type::Varchar),
        Field::new("content", data_type),
        Field::new("size", Type::BigInt),
        Field::new("last_modified", TimestampTz::data_type()),
    ])
}

/// The files that the only argument names: a path, a glob, or a list of these. What is not there
/// gives none.
fn found(files: &FileSystems, call: &TableCall<'_>) -> Result<Vec<String>> {
    call.expect_arguments(1)?;
    let misfit = || Error::invalid_query(format!("{} takes a path, or a list of paths", call.name));
    let paths: Vec<String> = match call.arguments {
        [TableArgument::Value(Value::Varchar(path), _)] => vec![path.as_ref().to_owned()],
        [TableArgument::Value(Value::Array(paths), _)] => {
            let path = |it: &Value| it.as_str().map(str::to_owned).ok_or_else(misfit);
            paths.iter().map(path).collect::<Result<_>>()?
        }
        _ => return Err(misfit()),
    };
    let mut all = Vec::new();
    for path in paths {
        check_cancelled()?;
        // A folder gives none of the files in it, but for the pattern `**`.
        match files.list(&path, &|_| path.ends_with("**")) {
            Ok(found) => all.extend(found),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Whether an error says that there is nothing at a location.
fn is_missing(error: &Error) -> bool {
    use std::error::Error as _;
    let source = error.source().and_then(|it| it.downcast_ref::<std::io::Error>());
    error.kind() == ErrorKind::Io
        && source.is_some_and(|it| it.kind() == std::io::ErrorKind::NotFound)
}

/// A row per file.
#[derive(Clone)]
struct Contents {
    name: String,
    schema: Schema,
    files: FileSystems,
    paths: Arc<[String]>,
    content: Content,
    /// What contents are charged to.
    pool: Pool,
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Contents").field(&self.name).finish()
    }
}

impl Table for Contents {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: "file contents".to_owned(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(ContentScan { table: self.clone(), request }))
    }
}

struct ContentScan {
    table: Contents,
    request: ScanRequest,
}

impl Scan for ContentScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        Ok(Box::new(FileSplits { paths: Arc::clone(&self.table.paths), next: 0 }))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(ContentSource {
            table: self.table.clone(),
            columns: self.request.columns.clone(),
            conjuncts: self.request.conjuncts()?,
            path: None,
            charge: self.table.pool.reservation(),
            metrics: ScanMetrics::default(),
        }))
    }
}

/// A split per file: its path.
struct FileSplits {
    paths: Arc<[String]>,
    next: usize,
}

impl SplitSource for FileSplits {
    fn next(&mut self, max: usize, _waker: &Waker) -> Result<SplitStep> {
        let left = self.paths.get(self.next..).unwrap_or_default();
        if left.is_empty() {
            return Ok(SplitStep::End);
        }
        let taken = left.iter().take(max.max(1));
        let splits: Vec<Split> =
            taken.map(|it| Split::new(it.as_bytes().to_vec(), it.clone())).collect();
        self.next += splits.len();
        Ok(SplitStep::Splits(splits))
    }
}

struct ContentSource {
    table: Contents,
    columns: Vec<usize>,
    conjuncts: Option<Conjuncts>,
    /// The file to read next.
    path: Option<String>,
    /// The bytes of the row that was read last.
    charge: Reservation,
    metrics: ScanMetrics,
}

impl ContentSource {
    /// The row of a file; its content only if `reads`.
    fn row(&mut self, path: &str, reads: bool) -> Result<Batch> {
        let file = self.table.files.open(path)?;
        let size = file.size_bytes();
        let content = match reads {
            false => Value::Null,
            true => {
                // The bytes, and the value made of them.
                self.charge
                    .resize(usize::try_from(size).unwrap_or(usize::MAX).saturating_mul(2))?;
                let bytes = file.read(0..size)?;
                match self.table.content {
                    Content::Blob => Value::Varbinary(bytes.as_ref().into()),
                    Content::Text => Value::text(std::str::from_utf8(&bytes).map_err(|_| {
                        let error = Error::invalid_value("the file is not UTF-8");
                        error.at("file", path.to_owned()).hint("read_blob reads its bytes")
                    })?),
                }
            }
        };
        let size = Value::BigInt(i64::try_from(size).unwrap_or(i64::MAX));
        let values = [Value::text(path), content, size, Value::Null];
        let columns = self.table.schema.types().zip(values);
        let columns = columns.map(|(of, value)| Vector::from_values(of.clone(), &[value]));
        Ok(Batch::new(columns.collect(), 1))
    }
}

impl Source for ContentSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let path = String::from_utf8(split.bytes.to_vec());
        self.path = Some(path.map_err(|_| Error::internal("a split of another scan"))?);
        self.metrics.groups_read += 1;
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        let Some(path) = self.path.take() else { return Ok(SourceStep::NeedSplit) };
        let filtered = self.conjuncts.as_ref().map_or(&[][..], |it| it.columns());
        let reads = self.columns.iter().chain(filtered).any(|it| *it == CONTENT);
        let batch = self.row(&path, reads)?;
        self.metrics.rows_read += 1;
        let Some(conjuncts) = &mut self.conjuncts else {
            return Ok(SourceStep::Batch(batch.project(&self.columns)));
        };
        let selected = conjuncts.select(batch.project(conjuncts.columns()))?.rows;
        match selected.is_empty() {
            true => Ok(SourceStep::Progress),
            false => Ok(SourceStep::Batch(batch.project(&self.columns).select(&selected))),
        }
    }

    fn metrics(&self) -> ScanMetrics {
        self.metrics
    }
}
