//! Results that are arrays, maps and rows.

use super::{
    super::{
        args::Source,
        memory::{CHECK_STEPS, Growth},
        view::{Array, FieldTypes, Map, Row, element_type},
    },
    Builder, Collected, NullPositions, Push, Writer, flat,
};
use std::ops::ControlFlow;
use volley_error::{Error, ErrorKind, Result};
use volley_types::Type;
use volley_vector::{Nested, Values, Vector};

/// Writes arrays whose elements have the marker `R`.
pub struct ArrayWriter<R: Collected> {
    elements: R::Builder,
    offsets: Vec<i32>,
    sizes: Vec<i32>,
    /// Where the elements of the array begin that is being written.
    begun: usize,
    nulls: NullPositions,
    growth: Growth,
}

impl<R: Collected> ArrayWriter<R> {
    /// Appends an element: a value, or an `Option` of one.
    #[inline(always)]
    pub fn push<V>(&mut self, value: V)
    where
        R::Builder: Push<V>,
    {
        self.elements.push_value(value);
    }

    /// Appends a null element.
    #[inline(always)]
    pub fn push_null(&mut self) {
        self.elements.push_null();
    }

    /// Appends elements; does not even make the rest of many once they are refused.
    #[inline]
    pub fn extend<V>(&mut self, values: impl IntoIterator<Item = V>)
    where
        R::Builder: Push<V>,
    {
        let (mut left, mut before) = (CHECK_STEPS, self.elements.len());
        let _ = values.into_iter().try_for_each(|it| {
            self.elements.push_value(it);
            left -= 1;
            if left == 0 {
                // What is refused is not there.
                let len = self.elements.len();
                if len - before < CHECK_STEPS {
                    return ControlFlow::Break(());
                }
                (left, before) = (CHECK_STEPS, len);
            }
            ControlFlow::Continue(())
        });
    }

    /// Appends an element that is written itself: text, an array, a map or a row.
    #[inline]
    pub fn push_with<T>(
        &mut self,
        write: impl FnOnce(&mut <R::Builder as Builder>::Writer) -> T,
    ) -> T {
        let answer = write(self.elements.writer());
        self.elements.close();
        answer
    }

    /// The number of elements written for this array.
    pub fn len(&self) -> usize {
        self.elements.len() - self.begun
    }

    /// Whether no element is written for this array.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<R: Collected> Builder for ArrayWriter<R> {
    type Writer = Self;

    fn new(sources: &[Source<'_>]) -> Self {
        ArrayWriter {
            elements: R::Builder::new(sources),
            offsets: Vec::new(),
            sizes: Vec::new(),
            begun: 0,
            nulls: NullPositions::default(),
            growth: Growth::new(),
        }
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    fn begin_row(&mut self, sources: &[Source<'_>], row: usize) {
        self.elements.begin_row(sources, row);
    }

    fn len(&self) -> usize {
        self.sizes.len()
    }

    #[inline]
    fn close(&mut self) {
        let end = self.elements.len();
        if self.growth.has_room(&mut self.offsets) && self.growth.has_room(&mut self.sizes) {
            self.offsets.push(self.begun as i32);
            self.sizes.push((end - self.begun) as i32);
        }
        self.begun = end;
    }

    fn abandon(&mut self) {
        self.elements.truncate(self.begun);
    }

    fn push_null(&mut self) {
        if self.nulls.add(self.sizes.len(), &mut self.growth) {
            self.close();
        }
    }

    fn pad(&mut self, len: usize) {
        self.offsets.resize(len, 0);
        self.sizes.resize(len, 0);
    }

    fn truncate(&mut self, len: usize) {
        if let Some(first) = self.offsets.get(len) {
            self.begun = *first as usize;
        }
        self.abandon();
        self.offsets.truncate(len);
        self.sizes.truncate(len);
        self.nulls.truncate(len);
    }

    #[inline(always)]
    fn is_refused(&self) -> bool {
        self.elements.is_refused() || self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        check_elements(self.elements.len())?;
        let elements = self.elements.finish(element_type(data_type))?;
        let (offsets, sizes) = (self.offsets.into(), self.sizes.into());
        let nested = Nested { offsets, sizes, elements: elements.into() };
        flat(data_type, Values::Array(nested), &self.nulls)
    }
}

/// Offsets of elements have 31 bits.
fn check_elements(count: usize) -> Result<()> {
    if i32::try_from(count).is_ok() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::OutOfMemory, "too many array elements in one vector")
        .hint("use a smaller batch_rows"))
}

impl<R: Collected> Collected for Array<R> {
    type Builder = ArrayWriter<R>;
}

impl<R: Collected> Writer for ArrayWriter<R> {
    type Builder = Self;
    type Marker = Array<R>;
}

/// Writes maps. A map with a null key, or with a key twice, fails its row.
pub struct MapWriter<K: Collected, V: Collected> {
    keys: ArrayWriter<K>,
    values: ArrayWriter<V>,
}

impl<K: Collected, V: Collected> MapWriter<K, V> {
    /// Appends an entry: a key and a value, or an `Option` of one.
    #[inline]
    pub fn push<A, B>(&mut self, key: A, value: B)
    where
        K::Builder: Push<A>,
        V::Builder: Push<B>,
    {
        self.keys.push(key);
        self.values.push(value);
    }

    /// Appends an entry whose value is written itself.
    pub fn push_with<A, T>(
        &mut self,
        key: A,
        write: impl FnOnce(&mut <V::Builder as Builder>::Writer) -> T,
    ) -> T
    where
        K::Builder: Push<A>,
    {
        self.keys.push(key);
        self.values.push_with(write)
    }

    /// The number of entries written for this map.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no entry is written for this map.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl<K: Collected, V: Collected> Builder for MapWriter<K, V> {
    type Writer = Self;

    fn new(sources: &[Source<'_>]) -> Self {
        MapWriter { keys: ArrayWriter::new(sources), values: ArrayWriter::new(sources) }
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    fn begin_row(&mut self, sources: &[Source<'_>], row: usize) {
        self.keys.begin_row(sources, row);
        self.values.begin_row(sources, row);
    }

    fn len(&self) -> usize {
        Builder::len(&self.keys)
    }

    fn close(&mut self) {
        self.keys.close();
        self.values.close();
    }

    fn abandon(&mut self) {
        self.keys.abandon();
        self.values.abandon();
    }

    fn push_null(&mut self) {
        Builder::push_null(&mut self.keys);
        self.values.close();
    }

    fn pad(&mut self, len: usize) {
        self.keys.pad(len);
        self.values.pad(len);
    }

    fn truncate(&mut self, len: usize) {
        self.keys.truncate(len);
        self.values.truncate(len);
    }

    fn is_refused(&self) -> bool {
        self.keys.is_refused() || self.values.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        let Type::Map(entry) = data_type else {
            return Err(Error::internal(format!("a map as a result of type {data_type}")));
        };
        check_elements(self.keys.elements.len())?;
        let keys = self.keys.elements.finish(&entry.0)?;
        let values = self.values.elements.finish(&entry.1)?;
        let (len, children) = (keys.len(), [keys, values]);
        let entries = Values::Row { children: children.into(), len };
        let elements = Vector::flat(data_type.entry_type(), entries, None);
        let (offsets, sizes) = (self.keys.offsets.into(), self.keys.sizes.into());
        let nested = Nested { offsets, sizes, elements: elements.into() };
        flat(data_type, Values::Map(nested), &self.keys.nulls)
    }
}

impl<K: Collected, V: Collected> Collected for Map<K, V> {
    type Builder = MapWriter<K, V>;
}

impl<K: Collected, V: Collected> Writer for MapWriter<K, V> {
    type Builder = Self;
    type Marker = Map<K, V>;
}

/// Markers of the fields of a row that is written, as a tuple.
pub trait WrittenFields: FieldTypes {
    /// The builders of the fields, as a tuple.
    type Builders: 'static;

    /// Empty builders.
    #[doc(hidden)]
    fn builders(sources: &[Source<'_>]) -> Self::Builders;

    /// Does something with each builder.
    #[doc(hidden)]
    fn each(builders: &mut Self::Builders, work: &mut impl EachField);

    /// Whether something is missing in one of them.
    #[doc(hidden)]
    fn are_refused(builders: &Self::Builders) -> bool;

    /// The columns of the fields.
    #[doc(hidden)]
    fn finish(builders: Self::Builders, types: &[Type]) -> Result<Vec<Vector>>;
}

/// What is done with the builder of each field.
#[doc(hidden)]
pub trait EachField {
    /// Does it.
    fn run<B: Builder>(&mut self, builder: &mut B);
}

/// Writes rows.
pub struct RowWriter<F: WrittenFields> {
    pub(in super::super) fields: F::Builders,
    /// Whether the fields of the row that is being written are there.
    is_set: bool,
    len: usize,
    nulls: NullPositions,
    growth: Growth,
}

impl<F: WrittenFields> RowWriter<F> {
    /// Makes `fields` the row: a tuple of values or `Option`s. The row is null where nothing is
    /// set.
    #[inline]
    pub fn set<V>(&mut self, fields: V)
    where
        Self: Push<V>,
    {
        self.abandon();
        self.push_fields(fields);
        self.is_set = true;
    }

    #[inline]
    fn push_fields<V>(&mut self, fields: V)
    where
        Self: Push<V>,
    {
        self.push_value(fields);
        // `push_value` counts a row of its own.
        self.len -= 1;
    }

    /// Counts a row whose fields were appended.
    pub(in super::super) fn count(&mut self) {
        self.len += 1;
    }
}

/// Cuts or fills the fields to a length, or appends nulls.
enum FieldWork<'a, 's> {
    Truncate(usize),
    Pad(usize),
    Null,
    Begin(&'a [Source<'s>], usize),
}

impl EachField for FieldWork<'_, '_> {
    fn run<B: Builder>(&mut self, builder: &mut B) {
        match self {
            FieldWork::Truncate(len) => builder.truncate(*len),
            FieldWork::Pad(len) => builder.pad(*len),
            FieldWork::Null => builder.push_null(),
            FieldWork::Begin(sources, row) => builder.begin_row(sources, *row),
        }
    }
}

impl<F: WrittenFields> Builder for RowWriter<F> {
    type Writer = Self;

    fn new(sources: &[Source<'_>]) -> Self {
        let (nulls, growth) = (NullPositions::default(), Growth::new());
        RowWriter { fields: F::builders(sources), is_set: false, len: 0, nulls, growth }
    }

    fn writer(&mut self) -> &mut Self {
        self
    }

    fn begin_row(&mut self, sources: &[Source<'_>], row: usize) {
        F::each(&mut self.fields, &mut FieldWork::Begin(sources, row));
    }

    fn len(&self) -> usize {
        self.len
    }

    fn close(&mut self) {
        if std::mem::take(&mut self.is_set) {
            self.len += 1;
        } else {
            self.push_null();
        }
    }

    fn abandon(&mut self) {
        self.is_set = false;
        F::each(&mut self.fields, &mut FieldWork::Truncate(self.len));
    }

    fn push_null(&mut self) {
        self.nulls.add(self.len, &mut self.growth);
        F::each(&mut self.fields, &mut FieldWork::Null);
        self.len += 1;
    }

    fn pad(&mut self, len: usize) {
        F::each(&mut self.fields, &mut FieldWork::Pad(len));
        self.len = len;
    }

    fn truncate(&mut self, len: usize) {
        self.len = len;
        self.nulls.truncate(len);
        self.abandon();
    }

    fn is_refused(&self) -> bool {
        F::are_refused(&self.fields) || self.growth.is_refused()
    }

    fn finish(self, data_type: &Type) -> Result<Vector> {
        let Type::Row(fields) = data_type else {
            return Err(Error::internal(format!("a row as a result of type {data_type}")));
        };
        let types: Vec<Type> = fields.iter().map(|it| it.data_type.clone()).collect();
        let children = F::finish(self.fields, &types)?.into();
        flat(data_type, Values::Row { children, len: self.len }, &self.nulls)
    }
}

impl<F: WrittenFields> Collected for Row<F> {
    type Builder = RowWriter<F>;
}

impl<F: WrittenFields> Writer for RowWriter<F> {
    type Builder = Self;
    type Marker = Row<F>;
}
