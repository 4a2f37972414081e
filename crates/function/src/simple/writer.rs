//! Results that a closure writes incrementally: text, arrays, maps, rows, values of any type.
//!
//! A writer appends to the column of results itself; nothing is collected per row. The values of a
//! row are removed again if the row becomes null or fails.
//!
//! ```text
//! ArrayWriter<i64>            elements.push(1) ──> values [.., 1]      sizes, offsets per row
//! ArrayWriter<PartOf<0>>      views into the buffers of argument 0: no text is copied
//! ArrayWriter<Any<0>>         codes of a dictionary over the arguments' elements: no copies
//! ```

mod nested;
mod reference;

pub use nested::{ArrayWriter, EachField, MapWriter, RowWriter, WrittenFields};
pub use reference::{AnyBuilder, PartBuilder, PartOf};

use super::{
    args::{Contiguous, Source, Varbinary, Varchar},
    map::{Args, Inputs},
    memory::{BorrowedReservation, Growth, keeps_going_after},
    output::NullRows,
    pattern::SqlType,
    text::{StringWriter, Written},
};
use crate::EvalContext;
use volley_error::{Error, Result};
use volley_types::{Native, Type};
use volley_vector::{BooleanBuffer, Buffer, Encoding, NullBuffer, Rows, Values, Vector};

/// A marker of values that can be collected one after the other.
pub trait Collected: SqlType {
    /// What collects them.
    type Builder: Builder;
}

/// Collects values one after the other. A value is begun, written and closed, or abandoned.
pub trait Builder: Sized + 'static {
    /// What a closure writes one value with.
    type Writer;

    /// An empty builder for a call with these arguments.
    fn new(sources: &[Source<'_>]) -> Self;

    /// Makes room for this many values.
    fn reserve(&mut self, _count: usize) {}

    /// The writer of the next value.
    fn writer(&mut self) -> &mut Self::Writer;

    /// Begins the values of a row of the call.
    fn begin_row(&mut self, _sources: &[Source<'_>], _row: usize) {}

    /// The number of values that are closed.
    fn len(&self) -> usize;

    /// Whether no value is closed.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the value that is being written.
    fn close(&mut self);

    /// Forgets the value that is being written.
    fn abandon(&mut self);

    /// Appends a null.
    fn push_null(&mut self);

    /// Appends values that do not matter, until there are `len`.
    fn pad(&mut self, len: usize);

    /// Forgets all but the first `len` values, and the one that is being written.
    fn truncate(&mut self, len: usize);

    /// Whether something is missing of what was written, because the query may not have the memory
    /// or a text is too long. The call fails then.
    fn is_refused(&self) -> bool;

    /// The values.
    ///
    /// # Errors
    ///
    /// A text that is too long; more elements than a vector can have; internal, when `data_type`
    /// has another layout.
    fn finish(self, data_type: &Type) -> Result<Vector>;
}

/// A writer that a closure may have as its last parameter.
pub trait Writer: Sized + 'static {
    /// What it belongs to.
    type Builder: Builder<Writer = Self>;
    /// The SQL type of the results.
    type Marker: SqlType;
}

/// A builder that takes values of type `V`.
pub trait Push<V> {
    /// Appends a value.
    fn push_value(&mut self, value: V);
}

impl<V, B: Push<V> + Builder> Push<Option<V>> for B {
    #[inline(always)]
    fn push_value(&mut self, value: Option<V>) {
        match value {
            Some(value) => self.push_value(value),
            None => self.push_null(),
        }
    }
}

/// Which of the collected values are null.
#[derive(Default)]
struct NullPositions(Vec<usize>);

impl NullPositions {
    /// Whether `position` could be added.
    #[inline(always)]
    fn add(&mut self, position: usize, growth: &mut Growth) -> bool {
        let has_room = growth.has_room(&mut self.0);
        if has_room {
            self.0.push(position);
        }
        has_room
    }

    fn truncate(&mut self, len: usize) {
        while self.0.last().is_some_and(|it| *it >= len) {
            self.0.pop();
        }
    }

    fn finish(&self, len: usize) -> Option<NullBuffer> {
        if self.0.is_empty() {
            return None;
        }
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        self.0.iter().for_each(|at| words[at / 64] &= !(1 << (at % 64)));
        let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, len);
        Some(NullBuffer::new(bits))
    }
}

fn flat(data_type: &Type, values: Values, nulls: &NullPositions) -> Result<Vector> {
    let nulls = nulls.finish(values.len());
    super::column::finish(data_type, values, nulls)
}

/// Collects fixed-width values.
pub struct NativeBuilder<T> {
    values: Vec<T>,
    nulls: NullPositions,
    growth: Growth,
}

impl<T> NativeBuilder<T> {
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        if self.growth.has_room(&mut self.values) {
            self.values.push(value);
        }
    }
}

impl<T: Native> Builder for NativeBuilder<T> {
    type Writer = Self;

    fn new(_sources: &[Source<'_>]) -> Self {
        let (values, nulls) = (Vec::new(), NullPositions::default());
        NativeBuilder { values, nulls, growth: Growth::new() }
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.values.len()
    }

    fn close(&mut self) {}

    fn abandon(&mut self) {}

    #[inline(always)]
    fn push_null(&mut self) {
        if self.nulls.add(self.values.len(), &mut self.growth) {
            self.push(T::default());
        }
    }

    fn pad(&mut self, len: usize) {
        self.values.resize(len, T::default());
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }

    #[inline(always)]
    fn is_refused(&self) -> bool {
        self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        flat(data_type, Values::from_native::<T>(self.values.into()), &self.nulls)
    }
}

impl<A: Contiguous + SqlType> Collected for A {
    type Builder = NativeBuilder<A::Element>;
}

/// Collects booleans.
pub struct BooleanBuilder {
    values: Vec<bool>,
    nulls: NullPositions,
    growth: Growth,
}

impl Builder for BooleanBuilder {
    type Writer = Self;

    fn new(_sources: &[Source<'_>]) -> Self {
        let (values, nulls) = (Vec::new(), NullPositions::default());
        BooleanBuilder { values, nulls, growth: Growth::new() }
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn close(&mut self) {}

    fn abandon(&mut self) {}

    fn push_null(&mut self) {
        if self.nulls.add(self.values.len(), &mut self.growth) {
            self.push_value(false);
        }
    }

    fn pad(&mut self, len: usize) {
        self.values.resize(len, false);
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }

    fn is_refused(&self) -> bool {
        self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        flat(data_type, Values::Boolean(BooleanBuffer::from(self.values)), &self.nulls)
    }
}

impl Push<bool> for BooleanBuilder {
    fn push_value(&mut self, value: bool) {
        if self.growth.has_room(&mut self.values) {
            self.values.push(value);
        }
    }
}

impl Collected for bool {
    type Builder = BooleanBuilder;
}

/// Collects strings.
pub struct TextBuilder {
    writer: StringWriter,
    views: Vec<u128>,
    nulls: NullPositions,
    growth: Growth,
}

impl TextBuilder {
    #[inline]
    fn push_view(&mut self, view: u128) {
        if self.growth.has_room(&mut self.views) {
            self.views.push(view);
        }
    }
}

impl Builder for TextBuilder {
    type Writer = StringWriter;

    fn new(_sources: &[Source<'_>]) -> Self {
        TextBuilder {
            writer: StringWriter::new(),
            views: Vec::new(),
            nulls: NullPositions::default(),
            growth: Growth::new(),
        }
    }

    fn reserve(&mut self, count: usize) {
        self.views.reserve(count);
    }

    fn writer(&mut self) -> &mut StringWriter {
        &mut self.writer
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.views.len()
    }

    #[inline]
    fn close(&mut self) {
        let view = self.writer.end();
        self.push_view(view);
    }

    fn abandon(&mut self) {
        self.writer.abandon();
    }

    fn push_null(&mut self) {
        if self.nulls.add(self.views.len(), &mut self.growth) {
            self.push_view(0);
        }
    }

    fn pad(&mut self, len: usize) {
        self.views.resize(len, 0);
    }

    fn truncate(&mut self, len: usize) {
        self.abandon();
        self.views.truncate(len);
        self.nulls.truncate(len);
    }

    #[inline(always)]
    fn is_refused(&self) -> bool {
        self.writer.is_refused() || self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        let strings = self.writer.finish(self.views)?;
        flat(data_type, Values::View(strings), &self.nulls)
    }
}

impl Push<&str> for TextBuilder {
    #[inline]
    fn push_value(&mut self, value: &str) {
        self.push_value(value.as_bytes());
    }
}

impl Push<String> for TextBuilder {
    fn push_value(&mut self, value: String) {
        self.push_value(value.as_bytes());
    }
}

impl Push<&[u8]> for TextBuilder {
    #[inline]
    fn push_value(&mut self, value: &[u8]) {
        let view = self.writer.store(value);
        self.push_view(view);
    }
}

impl Collected for Varchar {
    type Builder = TextBuilder;
}

impl Collected for Varbinary {
    type Builder = TextBuilder;
}

impl Writer for StringWriter {
    type Builder = TextBuilder;
    type Marker = Varchar;
}

/// Computes a function that writes its results, inside a vectorized function; `T` is the tuple of
/// the arguments' markers.
///
/// # Errors
///
/// Internal, when an argument or the result has another layout than its marker.
#[inline(always)]
pub fn map_written<T: Args, W: Writer, O: Written>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>, &mut W) -> O,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    write_inputs::<T, W, O>(&Inputs::new::<T>(rows, args, ctx)?, result_type, ctx, f)
}

/// What `f` writes for the rows of `inputs`.
#[inline(always)]
pub(super) fn write_inputs<T: Args, W: Writer, O: Written>(
    inputs: &Inputs,
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>, &mut W) -> O,
) -> Result<Vector> {
    let rows = &inputs.rows;
    let mut builder = W::Builder::new(&inputs.sources);
    builder.reserve(rows.len());
    let readers = T::open(&inputs.sources)?;
    let nulls = NullRows::default();
    let mut writing = Writing::<T, W, _> { inputs, readers, f, builder, nulls };
    let borrowed = BorrowedReservation::of(ctx);
    let written = if rows.is_all() {
        // A loop of its own, which the function is inlined into.
        (0..rows.len()).try_for_each(|row| writing.write_row(row, ctx))
    } else {
        rows.try_for_each(|row| writing.write_row(row, ctx))
    };
    let Writing { mut builder, nulls, .. } = writing;
    let vector = match written {
        Ok(()) => {
            builder.pad(rows.len());
            builder.finish(result_type)
        }
        // What it was follows.
        Err(Refused) => Err(Error::internal("refused")),
    };
    let vector = vector.and_then(|vector| {
        let vector = with_nulls(vector, inputs.result_nulls(nulls.finish(rows.len())));
        super::map_keys::reject_bad_keys(&vector, rows, ctx)?;
        Ok(vector)
    });
    borrowed.return_to(ctx)?;
    vector
}

/// The rows of a call while they are written.
struct Writing<'i, 'v, T: Args, W: Writer, F> {
    inputs: &'i Inputs<'v>,
    readers: T::Readers<'i>,
    f: F,
    builder: W::Builder,
    nulls: NullRows,
}

/// Something was refused: the call fails.
struct Refused;

impl<'i, T: Args, W: Writer, F> Writing<'i, '_, T, W, F> {
    #[inline(always)]
    fn write_row<O: Written>(&mut self, row: usize, ctx: &mut EvalContext) -> Result<(), Refused>
    where
        F: Fn(T::Values<'i>, &mut W) -> O,
    {
        let builder = &mut self.builder;
        if builder.len() < row {
            builder.pad(row);
        }
        builder.begin_row(&self.inputs.sources, row);
        match (self.f)(T::get(&self.readers, row), builder.writer()).outcome() {
            Ok(true) => builder.close(),
            Ok(false) => {
                builder.abandon();
                self.nulls.add(row, self.inputs.rows.len());
            }
            Err(error) => {
                builder.abandon();
                ctx.fail(row, || error);
            }
        }
        if builder.is_refused() || !keeps_going_after(row) { Err(Refused) } else { Ok(()) }
    }
}

/// The vector with more null rows.
pub(crate) fn with_nulls(vector: Vector, added: Option<NullBuffer>) -> Vector {
    let nulls = NullBuffer::union(vector.null_buffer(), added.as_ref());
    match vector.encoding() {
        Encoding::Flat(values) => Vector::flat(vector.data_type().clone(), values.clone(), nulls),
        Encoding::Dictionary { codes, base } => {
            Vector::dictionary(codes.clone(), base.clone(), nulls)
        }
        // All null already.
        _ => vector,
    }
}
