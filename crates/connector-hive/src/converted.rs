//! Reads files that do not have all columns as the table has them: first the columns, then what
//! the file does not have, casts, the filters, and the projection.

use crate::{
    group_reader::GroupReader,
    part::{PartColumn, PartFile},
    split::FileSplit,
};
use std::{sync::Arc, task::Waker};
use volley_connector::{FormatReader, FormatRequest, ScanMetrics, ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_expression::{
    Expr, ExprKind, ExprSet,
    filter::{Conjuncts, FilterCounts},
};
use volley_function::Package;
use volley_text::{TextReader, TextStep};
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Decoded, Rows, Vector};

/// Reads text files, and row groups of files whose columns are not those of the table.
pub(crate) struct ConvertedSource {
    request: ScanRequest,
    conjuncts: Option<Conjuncts>,
    /// Columns to make, by position in the table, ascending.
    needed: Vec<usize>,
    /// Name and type of each.
    fields: Schema,
    current: Option<Current>,
    casts: Vec<Cast>,
    metrics: ScanMetrics,
}

/// A split that is being read.
struct Current {
    reader: Reader,
    path: String,
    /// One per needed column.
    origins: Vec<Origin>,
    /// The position in the file of the next row.
    row: u64,
    /// Whether rows are left out whose values do not fit.
    ignore_errors: bool,
}

enum Reader {
    Text(TextReader),
    Groups(Box<GroupReader>),
    Added(Box<dyn FormatReader>),
}

/// Where a needed column comes from.
enum Origin {
    /// A column of the reader, of the table's type or to be cast.
    Read(usize),
    Constant(Value),
    RowNumber,
}

/// A compiled conversion.
struct Cast {
    from: Type,
    to: Type,
    null_on_error: bool,
    exprs: ExprSet,
}

impl ConvertedSource {
    pub fn new(schema: &Schema, request: &ScanRequest, needed: &[usize]) -> Result<Self> {
        let field = |it: &usize| schema.fields.get(*it).cloned();
        let fields: Option<Vec<_>> = needed.iter().map(field).collect();
        let fields = fields.ok_or_else(|| Error::internal("no such column"))?;
        Ok(ConvertedSource {
            request: request.clone(),
            conjuncts: request.conjuncts()?,
            needed: needed.to_vec(),
            fields: Schema::new(fields),
            current: None,
            casts: Vec::new(),
            metrics: ScanMetrics::default(),
        })
    }

    pub fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        if let Some(Current { reader: Reader::Groups(reader), .. }) = &self.current {
            metrics += reader.metrics();
        }
        metrics += self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default();
        metrics
    }

    /// What each filter did so far.
    pub fn filters(&self) -> Vec<FilterCounts> {
        self.conjuncts.as_ref().map(Conjuncts::filters).unwrap_or_default()
    }

    pub fn start(&mut self, split: &FileSplit) -> Result<()> {
        self.finish();
        let FileSplit { part, group, chunks } = split;
        let (mut places, mut origins) = (Vec::new(), Vec::new());
        // Of each column that is read, the type that it is read as; of those that are cast, the
        // file's.
        let mut types = Vec::new();
        for (column, field) in self.needed.iter().zip(&self.fields.fields) {
            let origin = part.column(*column)?;
            origins.push(match origin {
                PartColumn::Stored(place) | PartColumn::Cast(place) => {
                    places.push(*place);
                    let is_stored = matches!(origin, PartColumn::Stored(_));
                    types.push(is_stored.then(|| field.data_type.clone()));
                    Origin::Read(places.len() - 1)
                }
                PartColumn::Constant(value) => Origin::Constant(value.clone()),
                PartColumn::RowNumber => Origin::RowNumber,
            });
        }
        let (rows, pool) = (self.request.batch_rows.max(1), &self.request.pool);
        let (mut row, mut ignore_errors) = (0, false);
        let reader = match &part.file {
            PartFile::Csv(file) => {
                ignore_errors = file.ignores_errors();
                Reader::Text(match chunks {
                    Some(chunks) => file.read_chunks(chunks, &places, rows, pool)?,
                    None => file.read(&places, rows, pool)?,
                })
            }
            PartFile::Json(file) => Reader::Text(match chunks {
                Some(chunks) => file.read_chunks(chunks, &places, rows, pool)?,
                None => file.read(&places, rows, pool)?,
            }),
            PartFile::Added(file) => {
                let request = FormatRequest { batch_rows: rows, pool: pool.clone() };
                Reader::Added(file.read(*group, &places, &request)?)
            }
            PartFile::Parquet(_) | PartFile::Orc(_) => {
                row = (0..*group).map(|it| part.rows(it)).sum();
                let reader = self.group_reader(&part.file, *group, &places, &types)?;
                Reader::Groups(Box::new(reader))
            }
        };
        if !matches!(reader, Reader::Groups(_)) {
            self.metrics.groups_read += 1;
        }
        let path = part.file.path().to_owned();
        self.current = Some(Current { reader, path, origins, row, ignore_errors });
        Ok(())
    }

    /// A reader of all rows of a row group.
    fn group_reader(
        &self,
        file: &PartFile,
        group: usize,
        places: &[usize],
        types: &[Option<Type>],
    ) -> Result<GroupReader> {
        let request = ScanRequest {
            columns: (0..places.len()).collect(),
            filters: Vec::new(),
            dynamic_filters: Vec::new(),
            ..self.request.clone()
        };
        let reader = GroupReader::new(file, &request)?;
        let mut reader = reader.ok_or_else(|| Error::internal("file without row groups"))?;
        let place = |it: usize| {
            let place = places.get(it).copied().unwrap_or(usize::MAX);
            (place, types.get(it).and_then(Option::as_ref))
        };
        reader.start(file, group, &place)?;
        Ok(reader)
    }

    /// Leaves the split.
    fn finish(&mut self) {
        if let Some(Current { reader: Reader::Groups(reader), .. }) = self.current.take() {
            self.metrics += reader.metrics();
        }
    }

    pub fn step(&mut self, waker: &Waker) -> Result<SourceStep> {
        let Some(current) = &mut self.current else { return Ok(SourceStep::NeedSplit) };
        let step = match &mut current.reader {
            Reader::Text(reader) => {
                let step = reader.step()?;
                self.metrics.bytes_read += reader.take_bytes_read();
                match step {
                    TextStep::Batch(batch) => {
                        self.metrics.rows_read += batch.rows() as u64;
                        SourceStep::Batch(batch)
                    }
                    TextStep::Progress => SourceStep::Progress,
                    TextStep::End => SourceStep::NeedSplit,
                }
            }
            Reader::Groups(reader) => reader.step(waker)?,
            Reader::Added(reader) => {
                let before = reader.bytes_read();
                let step = reader.step(waker)?;
                self.metrics.bytes_read += reader.bytes_read() - before;
                if let SourceStep::Batch(batch) = &step {
                    self.metrics.rows_read += batch.rows() as u64;
                }
                step
            }
        };
        let batch = match step {
            SourceStep::Batch(batch) => batch,
            SourceStep::NeedSplit => {
                self.finish();
                return Ok(SourceStep::NeedSplit);
            }
            other => return Ok(other),
        };
        let batch = self.complete(batch)?;
        let batch = self.filter(batch)?;
        Ok(if batch.rows() == 0 { SourceStep::Progress } else { SourceStep::Batch(batch) })
    }

    /// As [`Source::chunk`](volley_connector::Source::chunk).
    pub fn chunk(&self) -> u32 {
        match self.current.as_ref().map(|it| &it.reader) {
            Some(Reader::Text(reader)) => reader.chunk(),
            _ => 0,
        }
    }

    /// As [`Source::split_share`](volley_connector::Source::split_share).
    pub fn split_share(&self) -> f64 {
        match self.current.as_ref().map(|it| &it.reader) {
            Some(Reader::Text(reader)) => reader.file_share(),
            Some(Reader::Groups(reader)) => reader.group_share(),
            Some(Reader::Added(_)) | None => 0.0,
        }
    }

    /// The needed columns of the rows that were read.
    fn complete(&mut self, read: Batch) -> Result<Batch> {
        let Some(current) = &mut self.current else {
            return Err(Error::internal("rows of no split"));
        };
        let rows = read.rows();
        let start = current.row;
        current.row += rows as u64;
        let mut columns = Vec::with_capacity(self.needed.len());
        let mut misfits = Vec::new();
        for (origin, field) in current.origins.iter().zip(&self.fields.fields) {
            columns.push(match origin {
                Origin::Constant(value) => Vector::constant(field.data_type.clone(), value, rows),
                Origin::RowNumber => {
                    let numbers: Vec<i64> =
                        (start..start + rows as u64).map(|it| it as i64).collect();
                    Vector::native::<i64>(Type::BigInt, numbers, None)
                }
                Origin::Read(place) => {
                    let column = read.column(*place);
                    if *column.data_type() == field.data_type {
                        column.clone()
                    } else {
                        let ignore = current.ignore_errors;
                        let cast =
                            cast(&mut self.casts, &self.request, column, &field.data_type, ignore);
                        let cast = cast
                            .map_err(|it| it.at("column", &field.name).at("file", &current.path))?;
                        if ignore {
                            let known = misfits.len();
                            note_misfits(column, &cast, &mut misfits)?;
                            let new = misfits.get(known..).unwrap_or_default();
                            reject(&current.reader, new, (*place, column), field)?;
                        }
                        cast
                    }
                }
            });
        }
        let batch = Batch::new(columns, rows);
        if misfits.is_empty() {
            return Ok(batch);
        }
        misfits.sort_unstable();
        let kept = (0..rows).filter(|it| misfits.binary_search(it).is_err());
        Ok(batch.select(&Rows::from_indices(rows, kept)))
    }

    fn filter(&mut self, batch: Batch) -> Result<Batch> {
        let places = |columns: &[usize]| -> Vec<usize> {
            columns.iter().filter_map(|it| self.needed.binary_search(it).ok()).collect()
        };
        let output = batch.project(&places(&self.request.columns));
        let Some(used) = self.conjuncts.as_ref().map(|it| places(it.columns())) else {
            return Ok(output);
        };
        let Some(conjuncts) = &mut self.conjuncts else { return Ok(output) };
        if batch.rows() == 0 {
            return Ok(output);
        }
        let rows = conjuncts.select_rows(batch.project(&used))?;
        Ok(output.select(&rows))
    }
}

/// A column as another type.
fn cast(
    casts: &mut Vec<Cast>,
    request: &ScanRequest,
    column: &Vector,
    to: &Type,
    null_on_error: bool,
) -> Result<Vector> {
    let from = column.data_type();
    let is_it = |it: &Cast| it.from == *from && it.to == *to && it.null_on_error == null_on_error;
    let place = match casts.iter().position(is_it) {
        Some(place) => place,
        None => {
            let input = Box::new(Expr::column(0, from.clone()));
            let kind = ExprKind::Cast { input, null_on_error, package: Package::Core };
            let expr = Expr::new(kind, to.clone());
            let query = Arc::clone(&request.query);
            let exprs = ExprSet::compile(&[expr], &request.registry, query)?;
            let exprs = exprs.charged_to(&request.pool);
            let (from, to) = (from.clone(), to.clone());
            casts.push(Cast { from, to, null_on_error, exprs });
            casts.len() - 1
        }
    };
    let cast = casts.get_mut(place).ok_or_else(|| Error::internal("no such cast"))?;
    let batch = Batch::new(vec![column.loaded()?], column.len());
    cast.exprs.begin(&batch).evaluate(0, &Rows::all(column.len()))?.into_loaded()
}

/// Collects rows whose values do not fit, if the reader of a text file does so. `place`: the column
/// among those that are read.
fn reject(
    reader: &Reader,
    rows: &[usize],
    (place, column): (usize, &Vector),
    field: &Field,
) -> Result<()> {
    let Reader::Text(reader) = reader else { return Ok(()) };
    for row in rows {
        let value = column.value(*row)?;
        let message = format!("not a {}: '{}'", field.data_type, value.display(column.data_type()));
        reader.reject(*row, place, &field.name, message)?;
    }
    Ok(())
}

/// Adds the rows that lost their value.
fn note_misfits(before: &Vector, after: &Vector, misfits: &mut Vec<usize>) -> Result<()> {
    let (before, after) = (Decoded::new(before)?, Decoded::new(after)?);
    let lost = |row: &usize| after.is_null(*row) && !before.is_null(*row);
    misfits.extend((0..after.len()).filter(lost));
    Ok(())
}
