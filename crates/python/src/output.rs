//! Batches of the engine as record batches, with or without their dictionaries and runs.
//!
//! A stream of record batches has one type per column. With encodings, the first batch decides
//! which columns are dictionaries or runs. Later batches with another encoding are wrapped: each
//! row is an entry, or a run, of its own.

use crate::zone::{self, source_zone};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchOptions, RunArray,
    cast::AsArray,
    types::{Int32Type, UInt32Type},
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::sync::Arc;
use volley::{Error, Result, Type, Vector};
use volley_types::Exchange;
use volley_vector::{
    Batch, Decoded, Encoding,
    arrow::{ArrowLayout, batch_to_arrow, to_arrow, to_arrow_encoded},
};

const LAYOUT: ArrowLayout = ArrowLayout::Portable;

/// How the batches of one query become record batches.
#[derive(Clone)]
pub(crate) struct Output {
    schema: SchemaRef,
    /// Whether a column is a dictionary, runs, or timestamps of another zone than UTC.
    is_changed: bool,
}

impl Output {
    /// Record batches of plain values, of a query with these types.
    pub(crate) fn plain<'a>(arrow: &Schema, types: impl Iterator<Item = &'a Type>) -> Output {
        let mut is_changed = false;
        let field = |(field, data_type): (&Arc<Field>, &Type)| {
            let Some(zone) = source_zone(data_type) else { return Arc::clone(field) };
            is_changed = true;
            Arc::new(Field::clone(field).with_data_type(zone::arrow_type(&zone)))
        };
        let fields: Vec<_> = arrow.fields().iter().zip(types).map(field).collect();
        Output { schema: Arc::new(Schema::new(fields)), is_changed }
    }

    /// Record batches whose columns have the encodings of those of the first batch.
    pub(crate) fn encoded(self, first: &Batch) -> Output {
        let mut is_changed = self.is_changed;
        let field = |(field, column): (&Arc<Field>, &Vector)| {
            let Some(data_type) = encoded_type(field, column) else { return Arc::clone(field) };
            is_changed = true;
            Arc::new(Field::clone(field).with_data_type(data_type))
        };
        let fields: Vec<_> = self.schema.fields().iter().zip(first.columns()).map(field).collect();
        Output { schema: Arc::new(Schema::new(fields)), is_changed }
    }

    /// The schema of the record batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batch as a record batch.
    ///
    /// # Errors
    ///
    /// As [`to_arrow`].
    pub(crate) fn record_batch(&self, batch: &Batch) -> Result<RecordBatch> {
        if !self.is_changed {
            return batch_to_arrow(batch, &self.schema, LAYOUT);
        }
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| array_of(column, field.data_type()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|it| refused(&it))
    }
}

/// The type of an encoded column; `None` for one that is written as plain values.
fn encoded_type(field: &Field, column: &Vector) -> Option<DataType> {
    let is_plain = match column.data_type() {
        Type::Custom(it) => matches!(it.exchange(), Exchange::Unsigned | Exchange::Timestamps(_)),
        other => !other.is_nested(),
    };
    if !is_plain {
        return None;
    }
    let values = Box::new(field.data_type().clone());
    match column.encoding() {
        // A selection of rows is a dictionary, too, with at least as many entries as rows.
        Encoding::Dictionary { .. } if Decoded::new(column).ok()?.base().len() <= column.len() => {
            Some(DataType::Dictionary(Box::new(DataType::Int32), values))
        }
        Encoding::RunLength { .. } => {
            let ends = Arc::new(Field::new("run_ends", DataType::Int32, false));
            let values = Arc::new(Field::new("values", *values, true));
            Some(DataType::RunEndEncoded(ends, values))
        }
        _ => None,
    }
}

fn array_of(column: &Vector, to: &DataType) -> Result<ArrayRef> {
    match to {
        DataType::Dictionary(..) => match column.encoding() {
            Encoding::Dictionary { .. } if !column.is_empty() => {
                signed_keys(to_arrow_encoded(column, LAYOUT)?.as_ref())
            }
            _ => {
                let keys: Int32Array = (0..row_count(column)?).collect();
                let array = DictionaryArray::try_new(keys, to_arrow(column, LAYOUT)?);
                Ok(Arc::new(array.map_err(|it| refused(&it))?))
            }
        },
        DataType::RunEndEncoded(..) => match column.encoding() {
            Encoding::RunLength { .. } | Encoding::Constant(_) if !column.is_empty() => {
                to_arrow_encoded(column, LAYOUT)
            }
            _ => {
                let ends: Int32Array = (1..=row_count(column)?).collect();
                let values = to_arrow(column, LAYOUT)?;
                let array = RunArray::<Int32Type>::try_new(&ends, &values);
                Ok(Arc::new(array.map_err(|it| refused(&it))?))
            }
        },
        plain => Ok(zone::in_zone_of(to_arrow(column, LAYOUT)?, plain)),
    }
}

/// Keys with a sign, which all libraries read.
fn signed_keys(array: &dyn Array) -> Result<ArrayRef> {
    let Some(array) = array.as_dictionary_opt::<UInt32Type>() else {
        return Err(Error::internal("dictionary with other keys"));
    };
    let keys = array.keys();
    if i32::try_from(array.values().len()).is_err() {
        return Err(Error::invalid_value("more than 2^31 values in a dictionary"));
    }
    let signed = ScalarBuffer::new(keys.values().inner().clone(), 0, keys.len());
    let keys = Int32Array::new(signed, keys.nulls().cloned());
    let made = DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(array.values()));
    Ok(Arc::new(made.map_err(|it| refused(&it))?))
}

fn row_count(column: &Vector) -> Result<i32> {
    i32::try_from(column.len())
        .map_err(|_| Error::invalid_value("more than 2^31 rows in one batch"))
}

fn refused(error: &ArrowError) -> Error {
    Error::internal(format!("encoded columns are no valid record batch: {error}"))
}
