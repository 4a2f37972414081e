//! Pages as Arrow IPC streams, for clients with an Arrow library.
//!
//! A page is a whole stream: schema, one record batch, end. Columns are flat and in the layouts
//! that every Arrow library reads. Fields are named by their position, since edges have no names.
//! The format has no checksum.

use crate::{Encoder, PageFormat, PageWriter};
use arrow_array::RecordBatch;
use arrow_ipc::{reader::StreamDecoder, writer::StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type};
use volley_vector::{
    Batch, Buffer, Vector,
    arrow::{
        ArrowLayout, batch_to_arrow, from_arrow, schema_to_arrow, type_from_arrow, type_to_arrow,
    },
};

/// Arrow IPC; see the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrowFormat;

struct ArrowWriter {
    types: Vec<Type>,
    schema: SchemaRef,
}

impl PageFormat for ArrowFormat {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn writer(&self, types: &[Type]) -> Result<Box<dyn PageWriter>> {
        // Refuses types without bytes.
        Encoder::new(types)?;
        for data_type in types {
            if !comes_back(data_type)? {
                let message = format!("pages of {data_type} in Arrow's format");
                return Err(Error::unsupported(message).hint("use the native page format"));
            }
        }
        let field = |(index, it): (usize, &Type)| Field::new(format!("c{index}"), it.clone());
        let schema = Schema::new(types.iter().enumerate().map(field).collect::<Vec<_>>());
        let schema = Arc::new(schema_to_arrow(&schema, ArrowLayout::Portable));
        Ok(Box::new(ArrowWriter { types: types.to_vec(), schema }))
    }

    fn decode(&self, page: &Buffer, types: &[Type]) -> Result<Batch> {
        // The IPC reader of arrow-rs 60 slices buffers by lengths that it does not check.
        let decoded = catch_unwind(AssertUnwindSafe(|| decode(page, types)));
        decoded.unwrap_or_else(|_| Err(corruption("lengths beyond the page")))
    }
}

impl PageWriter for ArrowWriter {
    fn write(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        if !batch.columns().iter().map(Vector::data_type).eq(&self.types) {
            return Err(Error::internal("a page of other types than its writer's"));
        }
        let loaded = batch.clone().loaded()?;
        let batch = batch_to_arrow(&loaded, &self.schema, ArrowLayout::Portable)?;
        let start = out.len();
        let written = write(&batch, &self.schema, out);
        written.map_err(|error| {
            out.truncate(start);
            Error::internal("Arrow refuses a page").caused_by(error)
        })
    }
}

fn write(batch: &RecordBatch, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), ArrowError> {
    let mut writer = StreamWriter::try_new(out, schema)?;
    writer.write(batch)?;
    writer.finish()
}

/// The batch of a page; may panic for damaged bytes.
fn decode(page: &Buffer, types: &[Type]) -> Result<Batch> {
    let batch = read(page)?;
    if batch.num_columns() != types.len() {
        return Err(corruption("other columns"));
    }
    let columns = types.iter().zip(batch.columns()).map(|(data_type, array)| {
        if *array.data_type() != type_to_arrow(data_type, ArrowLayout::Portable) {
            return Err(corruption("columns of other types"));
        }
        let vector = from_arrow(array.as_ref())
            .map_err(|it| corruption("values beyond their type").caused_by(it))?;
        relabeled(vector, data_type)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(columns, batch.num_rows()))
}

/// The only batch of a stream.
fn read(page: &Buffer) -> Result<RecordBatch> {
    let refused = |it: ArrowError| corruption("bytes that are no stream").caused_by(it);
    let (mut decoder, mut rest, mut found) = (StreamDecoder::new(), page.clone(), None);
    while !rest.is_empty() {
        if let Some(batch) = decoder.decode(&mut rest).map_err(refused)?
            && found.replace(batch).is_some()
        {
            return Err(corruption("more than one batch"));
        }
    }
    decoder.finish().map_err(refused)?;
    found.ok_or_else(|| corruption("no batch"))
}

/// Whether values of a type are read as values of that type.
fn comes_back(data_type: &Type) -> Result<bool> {
    let found = type_from_arrow(&type_to_arrow(data_type, ArrowLayout::Portable));
    let Ok(found) = found else { return Ok(false) };
    Ok(found == *data_type || is_another_label(&found, data_type))
}

/// Whether a flat value of one type is one of the other: HUGEINT is a decimal in Arrow.
fn is_another_label(found: &Type, data_type: &Type) -> bool {
    *data_type == Type::HugeInt && found.physical() == data_type.physical()
}

fn relabeled(vector: Vector, data_type: &Type) -> Result<Vector> {
    if vector.data_type() == data_type {
        return Ok(vector);
    }
    match is_another_label(vector.data_type(), data_type) {
        true => Ok(vector.with_type(data_type.clone())),
        false => Err(Error::unsupported(format!("pages of {data_type} in Arrow's format"))),
    }
}

#[cold]
fn corruption(what: &str) -> Error {
    Error::corruption(format!("damaged Arrow page: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_same, types_of};
    use volley_error::ErrorKind;
    use volley_types::custom::UnsignedInteger;
    use volley_vector::random::Generator;

    fn types() -> Vec<Type> {
        vec![
            Type::Unknown,
            Type::Boolean,
            Type::TinyInt,
            Type::SmallInt,
            Type::Integer,
            Type::BigInt,
            Type::HugeInt,
            UnsignedInteger::UTinyInt.data_type(),
            UnsignedInteger::UBigInt.data_type(),
            Type::Real,
            Type::Double,
            Type::decimal(12, 2),
            Type::decimal(38, 4),
            Type::Varchar,
            Type::Varbinary,
            Type::Date,
            Type::Timestamp,
            Type::Interval,
            Type::array(Type::array(Type::Varchar)),
            Type::fixed_array(Type::Integer, 3),
            Type::map(Type::Varchar, Type::BigInt),
            Type::row([Field::new("a", Type::Varchar), Field::new("b", Type::Date)]),
        ]
    }

    fn written(batch: &Batch) -> Vec<u8> {
        let mut bytes = Vec::new();
        ArrowFormat.writer(&types_of(batch)).unwrap().write(batch, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn batches_in_every_encoding_come_back() {
        for rows in [0, 1, 3, 17, 500] {
            for seed in 0..10 {
                let batch = Generator::new(seed).batch(&types(), rows);
                let page = Buffer::from_vec(written(&batch));
                assert_same(&ArrowFormat.decode(&page, &types()).unwrap(), &batch);
            }
        }
    }

    #[test]
    fn damaged_pages_are_an_error_or_a_batch() {
        let mut random = fastrand::Rng::with_seed(1);
        for seed in 0..20 {
            let page = written(&Generator::new(seed).batch(&types(), 20));
            for _ in 0..200 {
                let mut damaged = page.clone();
                for _ in 0..random.usize(1..4) {
                    damaged[random.usize(..page.len())] ^= 1 << random.u32(..8);
                }
                damaged.truncate(random.usize(page.len() / 2..=page.len()));
                if let Err(error) = ArrowFormat.decode(&Buffer::from_vec(damaged), &types()) {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Unsupported));
                }
            }
        }
    }

    #[test]
    fn types_that_arrow_does_not_have_are_refused() {
        let of_custom = Type::array(Type::HugeInt);
        for data_type in [Type::Opaque(volley_vector::random::opaque_type()), of_custom] {
            let error = ArrowFormat.writer(&[data_type]).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
}
