//! Functions of any number of arguments.

use super::{
    args::{Arg, ColumnRef, Reader, Source},
    pattern::{Pattern, SqlType},
};
use std::marker::PhantomData;
use volley_error::Result;
use volley_vector::Vector;

/// The marker of all arguments from its place on, which marker `A` reads; at least one.
pub struct Variadic<A>(PhantomData<A>);

/// The arguments from some place on, of one row.
pub struct VariadicView<'a, A> {
    sources: &'a [Source<'a>],
    row: usize,
    marker: PhantomData<A>,
}

impl<A> Clone for VariadicView<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for VariadicView<'_, A> {}

impl<'a, A: Arg> VariadicView<'a, A> {
    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The argument at `index`, from 0; `None` when there is none. With
    /// [`crate::simple::Nullable`] arguments it is an `Option` itself.
    #[inline]
    pub fn get(&self, index: usize) -> Option<A::Value<'a>> {
        let source = self.sources.get(index)?;
        // The layout was looked at when the function was called.
        Some(A::get(A::base(source.column())?, self.row, source.index(self.row)))
    }

    /// The arguments.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = A::Value<'a>> {
        let view = *self;
        (0..self.len()).filter_map(move |index| view.get(index))
    }
}

impl<A: Arg> Arg for Variadic<A> {
    type Value<'a> = VariadicView<'a, A>;
    type Base<'a> = &'a [Source<'a>];
    const CHEAP: bool = false;
    const PROPAGATES: bool = A::PROPAGATES;
    const IS_TEXT: bool = A::IS_TEXT;
    const IS_VARIADIC: bool = true;

    fn is_ascii(value: VariadicView<'_, A>) -> bool {
        value.iter().all(A::is_ascii)
    }

    fn prepare(flat: &Vector) -> Result<super::args::Below> {
        A::prepare(flat)
    }

    fn base(_column: ColumnRef<'_>) -> Option<Self::Base<'_>> {
        None
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, row: usize, _index: usize) -> Self::Value<'a> {
        VariadicView { sources: base, row, marker: PhantomData }
    }

    fn open<'a>(sources: &'a [Source<'a>], at: usize) -> Result<Reader<'a, Self>> {
        (at..sources.len()).try_for_each(|at| A::open(sources, at).map(|_| ()))?;
        Ok(Reader::Flat(sources.get(at..).unwrap_or(&[])))
    }
}

impl<A: SqlType> SqlType for Variadic<A> {
    fn pattern() -> Pattern {
        A::pattern()
    }
}
