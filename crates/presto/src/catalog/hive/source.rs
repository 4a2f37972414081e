//! Reads splits: opens the file of each, and reads its row groups.

use super::{HiveColumn, HiveColumnKind, HiveTable, split::HiveSplit};
use std::{collections::VecDeque, sync::Arc, task::Waker};
use volley_connector::{
    ListedSplits, Scan, ScanMetrics, ScanRequest, Source, SourceStep, Split, SplitSource,
    SplitStep, Table,
};
use volley_connector_hive::{ColumnSource, DeclaredColumn, FileFormat, FileOptions, FileTable};
use volley_error::{Error, Result};
use volley_types::{Field, Type, Value, text};

/// The most row groups that are listed at a time.
const GROUPS_MAX: usize = 64;

/// A scan whose splits the coordinator sends.
pub(super) struct HiveScan {
    table: HiveTable,
    request: ScanRequest,
}

/// Reads the splits of one driver.
struct HiveSource {
    table: HiveTable,
    request: ScanRequest,
    file: Option<OpenFile>,
    /// What was read of files that are done.
    done: ScanMetrics,
}

/// The file of a split.
struct OpenFile {
    scan: Box<dyn Scan>,
    source: Box<dyn Source>,
    groups: Box<dyn SplitSource>,
    listed: VecDeque<Split>,
    is_reading: bool,
}

impl HiveScan {
    pub(super) fn new(table: HiveTable, request: ScanRequest) -> HiveScan {
        HiveScan { table, request }
    }
}

impl Scan for HiveScan {
    /// None: the coordinator lists the files.
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        Ok(ListedSplits::boxed(Vec::new()))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        let (table, request) = (self.table.clone(), self.request.clone());
        Ok(Box::new(HiveSource { table, request, file: None, done: ScanMetrics::default() }))
    }
}

impl HiveSource {
    fn open(&self, split: &HiveSplit) -> Result<OpenFile> {
        let options = FileOptions {
            format: Some(split.format),
            pool: self.table.pool.clone(),
            files: self.table.files.clone(),
            ..FileOptions::default()
        };
        let columns = self.table.columns.iter().map(|it| self.table.declared(it, split));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let table = FileTable::declared(&split.path, &columns, split.range, &options)?;
        let scan = table.scan(self.request.clone())?;
        let (source, groups) = (scan.source()?, scan.splits()?);
        Ok(OpenFile { scan, source, groups, listed: VecDeque::new(), is_reading: false })
    }
}

impl HiveTable {
    /// Where a file has a column.
    fn declared(&self, column: &HiveColumn, split: &HiveSplit) -> Result<DeclaredColumn> {
        let finds_by_name = match split.format {
            FileFormat::Orc => self.catalog.finds_orc_by_name,
            _ => self.catalog.finds_parquet_by_name,
        };
        let source = match &column.kind {
            HiveColumnKind::Regular(_) if finds_by_name => ColumnSource::Name,
            HiveColumnKind::Regular(place) => ColumnSource::Place(*place),
            HiveColumnKind::Path => ColumnSource::Constant(Value::text(&split.path)),
            // Both are far below 2^63.
            HiveColumnKind::FileSize => {
                ColumnSource::Constant(Value::BigInt(split.file_bytes as i64))
            }
            HiveColumnKind::FileModifiedTime => {
                ColumnSource::Constant(Value::BigInt(split.modified_millis as i64))
            }
            HiveColumnKind::PartitionKey => {
                let key = split.keys.iter().find(|it| it.0 == column.name);
                let missing =
                    || Error::invalid_query(format!("a split without the key {}", column.name));
                let (_, text) = key.ok_or_else(missing)?;
                ColumnSource::Constant(key_value(text.as_deref(), column)?)
            }
        };
        Ok(DeclaredColumn {
            field: Field::new(column.name.clone(), column.data_type.clone()),
            source,
        })
    }
}

/// The value of a partition key.
fn key_value(value: Option<&str>, column: &HiveColumn) -> Result<Value> {
    /// What Hive calls the folder of nulls.
    const NULL: &str = "__HIVE_DEFAULT_PARTITION__";
    let Some(value) = value.filter(|it| *it != NULL) else { return Ok(Value::Null) };
    let parsed = match &column.data_type {
        Type::Varchar => Some(Value::text(value)),
        Type::Boolean => text::parse_boolean(value).map(Value::Boolean),
        Type::TinyInt => value.parse().ok().map(Value::TinyInt),
        Type::SmallInt => value.parse().ok().map(Value::SmallInt),
        Type::Integer => value.parse().ok().map(Value::Integer),
        Type::BigInt => value.parse().ok().map(Value::BigInt),
        Type::Double => text::parse_f64(value).map(Value::Double),
        Type::Real => text::parse_f32(value).map(Value::Real),
        Type::Date => text::parse_date(value).map(Value::Date),
        Type::Timestamp => text::parse_timestamp(value).map(Value::Timestamp),
        Type::Decimal { scale, .. } => text::parse_decimal(value, *scale).map(Value::Decimal),
        other => return Err(Error::unsupported(format!("a partition key of type {other}"))),
    };
    parsed.ok_or_else(|| {
        let error = Error::invalid_value(format!("the partition key {value:?}"));
        error.at("column", &column.name).at("type", &column.data_type)
    })
}

impl Source for HiveSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let registry = Arc::clone(&self.request.registry);
        let split = HiveSplit::of_split(&split, &registry)?;
        self.file = Some(self.open(&split)?);
        Ok(())
    }

    fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        let Some(file) = &mut self.file else { return Ok(SourceStep::NeedSplit) };
        if file.is_reading {
            let step = file.source.step(waker)?;
            if matches!(step, SourceStep::NeedSplit) {
                file.is_reading = false;
                return Ok(SourceStep::Progress);
            }
            return Ok(step);
        }
        if let Some(group) = file.listed.pop_front() {
            file.source.start(group)?;
            file.is_reading = true;
            return Ok(SourceStep::Progress);
        }
        match file.groups.next(GROUPS_MAX, waker)? {
            SplitStep::Splits(groups) => {
                file.listed.extend(groups);
                Ok(SourceStep::Progress)
            }
            SplitStep::Blocked => Ok(SourceStep::Blocked),
            SplitStep::End => {
                self.done = self.metrics();
                self.file = None;
                Ok(SourceStep::NeedSplit)
            }
        }
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.done;
        if let Some(file) = &self.file {
            metrics += file.source.metrics();
            metrics += file.scan.pruned();
        }
        metrics
    }
}
