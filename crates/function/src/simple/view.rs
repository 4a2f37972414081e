//! Arrays, maps and rows as arguments: views into the argument's own columns.
//!
//! A view is made per row without allocation. Elements are in their own column, which is decoded
//! once per batch; the view is a range of it. Views nest: the elements of `ArrayView<Array<i64>>`
//! are `ArrayView<i64>`.

use super::{
    args::{Arg, Below, ColumnRef, Contiguous, FlatColumn, Varbinary, Varchar},
    generic::Generic,
    memory::{CHECK_STEPS, keeps_going_after, may_continue},
    pattern::{Pattern, SqlType},
};
use std::marker::PhantomData;
use volley_error::{Error, Result};
use volley_kernels::order::Ordered;
use volley_types::Type;
use volley_vector::{Nested, NullBuffer, Values, Vector};

/// The marker of arrays with elements that marker `A` reads.
pub struct Array<A>(PhantomData<A>);

/// The marker of maps.
pub struct Map<K, V>(PhantomData<(K, V)>);

/// An array: a range of the elements of all rows.
pub struct ArrayView<'a, A: Arg> {
    base: A::Base<'a>,
    /// The position of the first element in `base`.
    first: usize,
    /// By position among all elements.
    nulls: Option<&'a NullBuffer>,
    /// The position of the first element among all.
    start: usize,
    len: usize,
}

impl<A: Arg> Clone for ArrayView<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arg> Copy for ArrayView<'_, A> {}

impl<'a, A: Arg> ArrayView<'a, A> {
    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the array is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether an element is null.
    pub fn has_nulls(&self) -> bool {
        self.nulls.is_some_and(|it| (self.start..self.start + self.len).any(|at| it.is_null(at)))
    }

    /// The element at `index`, from 0; `None` when it is null or there is none.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<A::Value<'a>> {
        if index >= self.len || self.is_null(index) { None } else { Some(self.value(index)) }
    }

    /// Whether the element at `index` is null.
    #[inline(always)]
    pub fn is_null(&self, index: usize) -> bool {
        self.nulls.is_some_and(|it| it.is_null(self.start + index))
    }

    /// The element at `index`, from 0; of a null element any value.
    ///
    /// # Panics
    ///
    /// It may, if there is no such element.
    #[inline(always)]
    pub fn value(&self, index: usize) -> A::Value<'a> {
        A::get(self.base, self.start + index, self.first + index)
    }

    /// The elements; nulls are `None`.
    #[inline(always)]
    pub fn iter(&self) -> Elements<'a, A> {
        Elements { view: *self, range: 0..self.len }
    }

    /// The position of the first element equal to `value`, from 0.
    #[inline(always)]
    pub fn position(&self, value: A::Value<'_>) -> Option<usize>
    where
        A: Key,
    {
        match self.nulls {
            None => A::find(self, value),
            Some(_) => self.iter().position(|it| it.is_some_and(|it| A::same(it, value))),
        }
    }

    /// The elements as a slice, when none of the column's elements is null.
    #[inline(always)]
    pub fn as_slice(&self) -> Option<&'a [A::Element]>
    where
        A: Contiguous,
    {
        if self.nulls.is_some() { None } else { Some(self.raw_slice()) }
    }

    /// The elements as a slice; those that are null may be any value.
    #[inline(always)]
    pub fn raw_slice(&self) -> &'a [A::Element]
    where
        A: Contiguous,
    {
        &A::as_slice(self.base)[self.first..self.first + self.len]
    }
}

impl<'a, A: Arg> IntoIterator for ArrayView<'a, A> {
    type Item = Option<A::Value<'a>>;
    type IntoIter = Elements<'a, A>;

    #[inline(always)]
    fn into_iter(self) -> Elements<'a, A> {
        self.iter()
    }
}

/// The elements of an array, one after the other; nulls are `None`. Of a long array it looks from
/// time to time whether anybody wants what is made of them, and ends where not: the call fails
/// then.
pub struct Elements<'a, A: Arg> {
    view: ArrayView<'a, A>,
    range: std::ops::Range<usize>,
}

impl<'a, A: Arg> Iterator for Elements<'a, A> {
    type Item = Option<A::Value<'a>>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.range.next()?;
        if !keeps_going_after(index) {
            self.range = 0..0;
            return None;
        }
        let is_null = self.view.is_null(index);
        Some(if is_null { None } else { Some(self.view.value(index)) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.range.size_hint()
    }

    /// Checks once whether there are nulls at all.
    #[inline(always)]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut f: F) -> B {
        let (view, mut rest) = (self.view, self.range);
        let mut state = init;
        while !rest.is_empty() {
            let some = rest.start..rest.end.min(rest.start + CHECK_STEPS);
            rest.start = some.end;
            state = match view.nulls {
                None => some.fold(state, |state, index| f(state, Some(view.value(index)))),
                Some(_) => some.fold(state, |state, index| f(state, view.get(index))),
            };
            if !rest.is_empty() && !may_continue() {
                break;
            }
        }
        state
    }
}

impl<A: Arg> DoubleEndedIterator for Elements<'_, A> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Self::Item> {
        let index = self.range.next_back()?;
        Some(self.view.get(index))
    }
}

impl<A: Arg> ExactSizeIterator for Elements<'_, A> {}

/// What array views are made from.
pub struct ArrayBase<'a, A: Arg> {
    offsets: &'a [i32],
    sizes: &'a [i32],
    elements: A::Base<'a>,
    nulls: Option<&'a NullBuffer>,
}

impl<A: Arg> Clone for ArrayBase<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arg> Copy for ArrayBase<'_, A> {}

impl<'a, A: Arg> ArrayBase<'a, A> {
    /// Arrays in `nested` whose elements are in `elements`.
    fn new(nested: &'a Nested, elements: ColumnRef<'a>) -> Option<Self> {
        Some(ArrayBase {
            offsets: &nested.offsets,
            sizes: &nested.sizes,
            elements: A::base(elements)?,
            nulls: elements.nulls,
        })
    }

    #[inline(always)]
    fn view(&self, index: usize) -> ArrayView<'a, A> {
        let (start, len) = (self.offsets[index] as usize, self.sizes[index] as usize);
        let (base, first) = A::window(self.elements, start, len);
        ArrayView { base, first, nulls: self.nulls, start, len }
    }
}

impl<A: Arg> Arg for Array<A> {
    type Value<'a> = ArrayView<'a, A>;
    type Base<'a> = ArrayBase<'a, A>;
    const CHEAP: bool = false;

    fn prepare(flat: &Vector) -> Result<Below> {
        let columns = match flat.flat_values() {
            Some(Values::Array(nested)) => vec![FlatColumn::new::<A>(&nested.elements)?],
            _ => Vec::new(),
        };
        Ok(Below { columns, ..Below::default() })
    }

    fn base(column: ColumnRef<'_>) -> Option<ArrayBase<'_, A>> {
        match column.values() {
            Values::Array(nested) => ArrayBase::new(nested, column.below.columns.first()?.column()),
            _ => None,
        }
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        base.view(index)
    }
}

impl<A: SqlType> SqlType for Array<A> {
    fn pattern() -> Pattern {
        Pattern::Array(Box::new(A::pattern()))
    }
}

/// A map: a range of the keys and values of all rows, which are looked for only when they are asked
/// for.
pub struct MapView<'a, K: Arg, V: Arg> {
    keys: ArrayBase<'a, K>,
    values: ArrayBase<'a, V>,
    /// The position of the map in both.
    index: usize,
}

impl<K: Arg, V: Arg> Clone for MapView<'_, K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Arg, V: Arg> Copy for MapView<'_, K, V> {}

impl<'a, K: Arg, V: Arg> MapView<'a, K, V> {
    /// The number of entries.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.keys.sizes[self.index] as usize
    }

    /// Whether the map is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys; none is null.
    #[inline(always)]
    pub fn keys(&self) -> ArrayView<'a, K> {
        self.keys.view(self.index)
    }

    /// The values, in the order of the keys.
    #[inline(always)]
    pub fn values(&self) -> ArrayView<'a, V> {
        self.values.view(self.index)
    }

    /// The entries; null values are `None`.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (K::Value<'a>, Option<V::Value<'a>>)> {
        let (keys, values) = (self.keys(), self.values());
        (0..keys.len()).map(move |index| (keys.value(index), values.get(index)))
    }

    /// The position of the key; `None` if it is not in the map.
    #[inline(always)]
    pub fn position(&self, key: K::Value<'_>) -> Option<usize>
    where
        K: Key,
    {
        self.keys().position(key)
    }

    /// The value of the key; `None` when it is null or the key is not in the map.
    #[inline(always)]
    pub fn get(&self, key: K::Value<'_>) -> Option<V::Value<'a>>
    where
        K: Key,
    {
        let position = self.position(key)?;
        self.values().get(position)
    }
}

/// A marker of values that can be looked up in a map.
pub trait Key: Arg {
    /// Whether both are the same value, as SQL has it.
    fn same(left: Self::Value<'_>, right: Self::Value<'_>) -> bool;

    /// The position of the first equal one of `values`, which are not null.
    #[inline(always)]
    fn find(values: &ArrayView<'_, Self>, wanted: Self::Value<'_>) -> Option<usize>
    where
        Self: Sized,
    {
        (0..values.len).find(|index| Self::same(values.value(*index), wanted))
    }
}

impl<K: Contiguous<Element: Ordered> + for<'a> Arg<Value<'a> = <K as Contiguous>::Element>> Key
    for K
{
    #[inline(always)]
    fn same(left: K::Element, right: K::Element) -> bool {
        left.same(right)
    }

    #[inline(always)]
    fn find(values: &ArrayView<'_, K>, wanted: K::Element) -> Option<usize> {
        values.raw_slice().iter().position(|it| it.same(wanted))
    }
}

impl Key for bool {
    #[inline(always)]
    fn same(left: bool, right: bool) -> bool {
        left == right
    }
}

impl Key for Varchar {
    #[inline(always)]
    fn same(left: &str, right: &str) -> bool {
        left == right
    }
}

impl Key for Varbinary {
    #[inline(always)]
    fn same(left: &[u8], right: &[u8]) -> bool {
        left == right
    }
}

impl<const N: usize> Key for Generic<N, 1> {
    #[inline(always)]
    fn same(left: Self::Value<'_>, right: Self::Value<'_>) -> bool {
        left == right
    }
}

impl<const N: usize> Key for Generic<N, 2> {
    #[inline(always)]
    fn same(left: Self::Value<'_>, right: Self::Value<'_>) -> bool {
        left == right
    }
}

impl<K: Arg, V: Arg> Arg for Map<K, V> {
    type Value<'a> = MapView<'a, K, V>;
    type Base<'a> = (ArrayBase<'a, K>, ArrayBase<'a, V>);
    const CHEAP: bool = false;

    fn prepare(flat: &Vector) -> Result<Below> {
        let Some(Values::Map(nested)) = flat.flat_values() else { return Ok(Below::default()) };
        let entries = nested.elements.flatten()?;
        let Some(Values::Row { children, .. }) = entries.flat_values() else {
            return Err(Error::internal("entries of a map are no rows"));
        };
        let [keys, values] = children.as_ref() else {
            return Err(Error::internal("entries of a map have other fields than key and value"));
        };
        let columns = vec![FlatColumn::new::<K>(keys)?, FlatColumn::new::<V>(values)?];
        Ok(Below { columns, ..Below::default() })
    }

    fn base(column: ColumnRef<'_>) -> Option<Self::Base<'_>> {
        let (Values::Map(nested), [keys, values]) = (column.values(), &*column.below.columns)
        else {
            return None;
        };
        Some((ArrayBase::new(nested, keys.column())?, ArrayBase::new(nested, values.column())?))
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        MapView { keys: base.0, values: base.1, index }
    }
}

impl<K: SqlType, V: SqlType> SqlType for Map<K, V> {
    fn pattern() -> Pattern {
        Pattern::Map(Box::new((K::pattern(), V::pattern())))
    }
}

/// The marker of rows whose fields the markers in the tuple `F` read; the closure gets a tuple of
/// `Option`s.
pub struct Row<F>(PhantomData<F>);

/// Markers of the fields of a row, as a tuple.
pub trait Fields: 'static {
    /// A tuple of `Option`s.
    type Values<'a>: Copy;
    /// What the fields are read from.
    type Bases<'a>: Copy;

    /// The columns of the fields, for the markers.
    #[doc(hidden)]
    fn prepare(children: &[Vector]) -> Result<Below>;

    /// What the fields are read from; `None` when they have other layouts.
    #[doc(hidden)]
    fn bases(below: &Below) -> Option<Self::Bases<'_>>;

    /// The fields of the row at `index`.
    #[doc(hidden)]
    fn get<'a>(bases: Self::Bases<'a>, index: usize) -> Self::Values<'a>;
}

/// The patterns of the fields of a row.
pub trait FieldTypes: Fields {
    /// One per field.
    fn patterns() -> Vec<Pattern>;
}

/// The column of field `at`.
pub(super) fn field<A: Arg>(children: &[Vector], at: usize) -> Result<FlatColumn> {
    let child = children.get(at);
    FlatColumn::new::<A>(child.ok_or_else(|| Error::internal("row with too few fields"))?)
}

/// A field and its nulls.
pub(super) fn field_base<A: Arg>(
    below: &Below,
    at: usize,
) -> Option<(A::Base<'_>, Option<&NullBuffer>)> {
    let column = below.columns.get(at)?.column();
    Some((A::base(column)?, column.nulls))
}

impl<F: Fields> Arg for Row<F> {
    type Value<'a> = F::Values<'a>;
    type Base<'a> = F::Bases<'a>;
    const CHEAP: bool = false;

    fn prepare(flat: &Vector) -> Result<Below> {
        match flat.flat_values() {
            Some(Values::Row { children, .. }) => F::prepare(children),
            _ => Ok(Below::default()),
        }
    }

    fn base(column: ColumnRef<'_>) -> Option<F::Bases<'_>> {
        F::bases(column.below)
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        F::get(base, index)
    }
}

impl<F: FieldTypes> SqlType for Row<F> {
    fn pattern() -> Pattern {
        Pattern::Row(F::patterns())
    }
}

/// The element type of an array type.
pub(super) fn element_type(data_type: &Type) -> &Type {
    match data_type {
        Type::Array(element) => element,
        _ => &Type::Unknown,
    }
}
