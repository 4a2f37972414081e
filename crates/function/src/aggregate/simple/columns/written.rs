//! Results that are written element by element: arrays, maps and rows.

use super::Answer;
use crate::{
    EvalContext,
    simple::{
        Array, ArrayWriter, Builder, Collected, Column, Map, MapWriter, Row, RowWriter, Writer,
        WrittenFields, reject_bad_keys, with_nulls,
    },
};
use volley_error::Result;
use volley_types::Type;
use volley_vector::{NullBuffer, Rows, Vector};

/// What writes one answer.
pub type Write<'a, W> = Box<dyn FnOnce(&mut W) + 'a>;

/// Results that are written one after the other.
pub struct WrittenColumn<W: Writer> {
    builder: W::Builder,
    len: usize,
}

impl<W: Writer> WrittenColumn<W> {
    /// Rows come in order; those left out are null.
    fn write(&mut self, row: usize, write: Write<'_, W>) {
        debug_assert!(self.builder.len() <= row, "rows come in order");
        self.builder.pad(row);
        write(self.builder.writer());
        self.builder.close();
    }
}

impl<W: Writer> Column for WrittenColumn<W> {
    type Item = Write<'static, W>;

    fn with_len(len: usize) -> Self {
        WrittenColumn { builder: W::Builder::new(&[]), len }
    }

    fn set(&mut self, row: usize, item: Write<'static, W>) {
        self.write(row, item);
    }

    fn finish(mut self, data_type: &Type, nulls: Option<NullBuffer>) -> Result<Vector> {
        self.builder.pad(self.len);
        let vector = with_nulls(self.builder.finish(data_type)?, nulls);
        let mut ctx = EvalContext::default();
        reject_bad_keys(&vector, &Rows::all(self.len), &mut ctx)?;
        ctx.errors.first().map_or(Ok(vector), Err)
    }
}

impl<B: Collected> Answer for Array<B> {
    type Item<'a> = Write<'a, ArrayWriter<B>>;
    type Column = WrittenColumn<ArrayWriter<B>>;

    fn set(column: &mut Self::Column, row: usize, item: Self::Item<'_>) -> bool {
        column.write(row, item);
        true
    }
}

impl<K: Collected, V: Collected> Answer for Map<K, V> {
    type Item<'a> = Write<'a, MapWriter<K, V>>;
    type Column = WrittenColumn<MapWriter<K, V>>;

    fn set(column: &mut Self::Column, row: usize, item: Self::Item<'_>) -> bool {
        column.write(row, item);
        true
    }
}

impl<F: WrittenFields> Answer for Row<F> {
    type Item<'a> = Write<'a, RowWriter<F>>;
    type Column = WrittenColumn<RowWriter<F>>;

    fn set(column: &mut Self::Column, row: usize, item: Self::Item<'_>) -> bool {
        column.write(row, item);
        true
    }
}
