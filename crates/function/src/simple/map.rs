//! The loops: one per shape of the arguments.

use super::{
    args::{Arg, Reader, Source},
    column::{Column, ResultType},
    output::{Output, Stored},
};
use crate::{EvalContext, ScalarFunction};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{NullBuffer, Rows, Vector};

/// The arguments of a function as a tuple of readers.
pub trait Args: 'static {
    /// What the closure gets.
    type Values<'a>: Copy;
    /// How they are read.
    type Readers<'a>: Copy;
    /// All arguments are cheap to read.
    const CHEAP: bool;
    /// Which arguments make the result null.
    const PROPAGATES: &'static [bool];

    /// Readers of decoded arguments.
    ///
    /// # Errors
    ///
    /// Internal, when an argument has another layout than its marker.
    fn open<'a>(sources: &'a [Source<'_>]) -> Result<Self::Readers<'a>>;

    /// The arguments of `row`.
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a>;

    /// Computes rows, with a loop for each frequent shape of the arguments.
    fn fill<'a, C: Column, O: Output<C>>(
        readers: Self::Readers<'a>,
        work: Work,
        ctx: &mut EvalContext,
        f: impl Fn(Self::Values<'a>) -> O,
    ) -> (C, Option<NullBuffer>) {
        work.fill(ctx, |row| f(Self::get(&readers, row)))
    }
}

/// The rows to compute.
#[derive(Clone, Copy)]
pub struct Work<'r> {
    rows: &'r Rows,
    /// Others may be computed, too, where that is faster.
    dense: bool,
}

impl Work<'_> {
    #[inline(always)]
    fn fill<C: Column, O: Output<C>>(
        self,
        ctx: &mut EvalContext,
        f: impl Fn(usize) -> O,
    ) -> (C, Option<NullBuffer>) {
        O::fill(self.rows, self.dense, ctx, f)
    }
}

impl Args for () {
    type Values<'a> = ();
    type Readers<'a> = ();
    const CHEAP: bool = true;
    const PROPAGATES: &'static [bool] = &[];

    fn open<'a>(_sources: &'a [Source<'_>]) -> Result<Self::Readers<'a>> {
        Ok(())
    }

    #[inline(always)]
    fn get<'a>(_readers: &Self::Readers<'a>, _row: usize) -> Self::Values<'a> {}
}

impl<A: Arg> Args for (A,) {
    type Values<'a> = (A::Value<'a>,);
    type Readers<'a> = (Reader<'a, A>,);
    const CHEAP: bool = A::CHEAP;
    const PROPAGATES: &'static [bool] = &[A::PROPAGATES];

    fn open<'a>(sources: &'a [Source<'_>]) -> Result<Self::Readers<'a>> {
        Ok((Reader::new(source(sources, 0)?)?,))
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        (readers.0.get(row),)
    }

    fn fill<'a, C: Column, O: Output<C>>(
        readers: Self::Readers<'a>,
        work: Work,
        ctx: &mut EvalContext,
        f: impl Fn(Self::Values<'a>) -> O,
    ) -> (C, Option<NullBuffer>) {
        match readers.0 {
            Reader::Flat(base) if const { Self::CHEAP && O::BRANCH_FREE } => {
                let base = A::narrow(base, work.rows.len());
                work.fill(ctx, |row| f((A::get(base, row, row),)))
            }
            reader => work.fill(ctx, |row| f((reader.get(row),))),
        }
    }
}

impl<A: Arg, B: Arg> Args for (A, B) {
    type Values<'a> = (A::Value<'a>, B::Value<'a>);
    type Readers<'a> = (Reader<'a, A>, Reader<'a, B>);
    const CHEAP: bool = A::CHEAP && B::CHEAP;
    const PROPAGATES: &'static [bool] = &[A::PROPAGATES, B::PROPAGATES];

    fn open<'a>(sources: &'a [Source<'_>]) -> Result<Self::Readers<'a>> {
        Ok((Reader::new(source(sources, 0)?)?, Reader::new(source(sources, 1)?)?))
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        (readers.0.get(row), readers.1.get(row))
    }

    fn fill<'a, C: Column, O: Output<C>>(
        readers: Self::Readers<'a>,
        work: Work,
        ctx: &mut EvalContext,
        f: impl Fn(Self::Values<'a>) -> O,
    ) -> (C, Option<NullBuffer>) {
        if const { !(Self::CHEAP && O::BRANCH_FREE) } {
            return work.fill(ctx, |row| f(Self::get(&readers, row)));
        }
        let len = work.rows.len();
        match readers {
            (Reader::Flat(a), Reader::Flat(b)) => {
                let (a, b) = (A::narrow(a, len), B::narrow(b, len));
                work.fill(ctx, |row| f((A::get(a, row, row), B::get(b, row, row))))
            }
            (Reader::Flat(a), Reader::Constant(b)) => {
                let a = A::narrow(a, len);
                work.fill(ctx, |row| f((A::get(a, row, row), b)))
            }
            (Reader::Constant(a), Reader::Flat(b)) => {
                let b = B::narrow(b, len);
                work.fill(ctx, |row| f((a, B::get(b, row, row))))
            }
            _ => work.fill(ctx, |row| f(Self::get(&readers, row))),
        }
    }
}

impl<A: Arg, B: Arg, C: Arg> Args for (A, B, C) {
    type Values<'a> = (A::Value<'a>, B::Value<'a>, C::Value<'a>);
    type Readers<'a> = (Reader<'a, A>, Reader<'a, B>, Reader<'a, C>);
    const CHEAP: bool = A::CHEAP && B::CHEAP && C::CHEAP;
    const PROPAGATES: &'static [bool] = &[A::PROPAGATES, B::PROPAGATES, C::PROPAGATES];

    fn open<'a>(sources: &'a [Source<'_>]) -> Result<Self::Readers<'a>> {
        let (first, second) = <(A, B)>::open(sources)?;
        Ok((first, second, Reader::new(source(sources, 2)?)?))
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        (readers.0.get(row), readers.1.get(row), readers.2.get(row))
    }
}

impl<A: Arg, B: Arg, C: Arg, D: Arg> Args for (A, B, C, D) {
    type Values<'a> = (A::Value<'a>, B::Value<'a>, C::Value<'a>, D::Value<'a>);
    type Readers<'a> = (Reader<'a, A>, Reader<'a, B>, Reader<'a, C>, Reader<'a, D>);
    const CHEAP: bool = A::CHEAP && B::CHEAP && C::CHEAP && D::CHEAP;
    const PROPAGATES: &'static [bool] =
        &[A::PROPAGATES, B::PROPAGATES, C::PROPAGATES, D::PROPAGATES];

    fn open<'a>(sources: &'a [Source<'_>]) -> Result<Self::Readers<'a>> {
        let (first, second, third) = <(A, B, C)>::open(sources)?;
        Ok((first, second, third, Reader::new(source(sources, 3)?)?))
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        let (a, b, c, d) = readers;
        (a.get(row), b.get(row), c.get(row), d.get(row))
    }
}

fn source<'a, 'v>(sources: &'a [Source<'v>], index: usize) -> Result<&'a Source<'v>> {
    sources.get(index).ok_or_else(|| Error::internal("function called with too few arguments"))
}

/// Decoded arguments, the rows to compute and the nulls of the result.
pub(super) struct Inputs<'v> {
    pub(super) sources: Vec<Source<'v>>,
    pub(super) rows: Rows,
    pub(super) nulls: Option<NullBuffer>,
}

impl<'v> Inputs<'v> {
    pub(super) fn new<T: Args>(rows: &Rows, args: &'v [Vector]) -> Result<Inputs<'v>> {
        let sources = args.iter().map(Source::new).collect::<Result<Vec<_>>>()?;
        let mut nulls = None;
        for (source, propagates) in sources.iter().zip(T::PROPAGATES) {
            if *propagates {
                nulls = NullBuffer::union(nulls.as_ref(), source.nulls.as_ref());
            }
        }
        let mut rows = rows.clone();
        if let Some(nulls) = &nulls {
            rows.subtract_nulls(nulls);
        }
        Ok(Inputs { sources, rows, nulls })
    }

    /// Rows that are not active may be computed at little cost, when most are active.
    fn work<T: Args>(&self) -> Work<'_> {
        let dense = T::CHEAP && self.rows.count() * 2 >= self.rows.len();
        Work { rows: &self.rows, dense }
    }

    pub(super) fn result_nulls(&self, added: Option<NullBuffer>) -> Option<NullBuffer> {
        NullBuffer::union(self.nulls.as_ref(), added.as_ref())
    }
}

/// Computes a function of any arity whose closure takes a tuple.
pub(super) fn map<T: Args, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>) -> O,
) -> Result<Vector> {
    if rows.is_empty() {
        return R::Column::with_len(0).finish(result_type, None);
    }
    let inputs = Inputs::new::<T>(rows, args)?;
    let readers = T::open(&inputs.sources)?;
    let (column, added) = T::fill(readers, inputs.work::<T>(), ctx, f);
    column.finish(result_type, inputs.result_nulls(added))
}

/// Computes a function that gives a value and whether it is invalid: all rows without a branch,
/// and then, only if one was invalid, the active rows that are.
fn map_checked<T: Args, R: ResultType, V: Stored<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>) -> (V, bool),
    error: impl Fn(T::Values<'_>) -> Error,
) -> Result<Vector> {
    if rows.is_empty() {
        return R::Column::with_len(0).finish(result_type, None);
    }
    let inputs = Inputs::new::<T>(rows, args)?;
    let readers = T::open(&inputs.sources)?;
    let invalid = std::cell::Cell::new(false);
    let (column, _) = T::fill(readers, inputs.work::<T>(), ctx, |values| {
        let (value, is_invalid) = f(values);
        invalid.set(invalid.get() | is_invalid);
        value
    });
    if invalid.get() {
        inputs.rows.for_each(|row| {
            let values = T::get(&readers, row);
            if f(values).1 {
                ctx.fail(row, || error(values));
            }
        });
    }
    column.finish(result_type, inputs.nulls.clone())
}

/// Computes a function of one argument, inside a vectorized function.
///
/// # Errors
///
/// Internal, when an argument or the result has another layout than its marker.
pub fn map1<A: Arg, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(A::Value<'_>) -> O,
) -> Result<Vector> {
    map::<(A,), R, O>(rows, args, result_type, ctx, |(a,)| f(a))
}

/// Computes a function of two arguments; see [`map1`].
///
/// # Errors
///
/// As [`map1`].
pub fn map2<A: Arg, B: Arg, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(A::Value<'_>, B::Value<'_>) -> O,
) -> Result<Vector> {
    map::<(A, B), R, O>(rows, args, result_type, ctx, |(a, b)| f(a, b))
}

/// Computes a function of three arguments; see [`map1`].
///
/// # Errors
///
/// As [`map1`].
pub fn map3<A: Arg, B: Arg, C: Arg, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>) -> O,
) -> Result<Vector> {
    map::<(A, B, C), R, O>(rows, args, result_type, ctx, |(a, b, c)| f(a, b, c))
}

/// Computes a function of four arguments; see [`map1`].
///
/// # Errors
///
/// As [`map1`].
pub fn map4<A: Arg, B: Arg, C: Arg, D: Arg, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>, D::Value<'_>) -> O,
) -> Result<Vector> {
    map::<(A, B, C, D), R, O>(rows, args, result_type, ctx, |(a, b, c, d)| f(a, b, c, d))
}

/// Computes a function of one fixed-width argument that gives a value and whether it is invalid
/// (overflow); `f` must be total and runs in a loop without branches, `error` explains active rows
/// that are invalid.
///
/// # Errors
///
/// As [`map1`].
pub fn map_checked1<A: Arg, R: ResultType, V: Stored<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(A::Value<'_>) -> (V, bool),
    error: impl Fn(A::Value<'_>) -> Error,
) -> Result<Vector> {
    map_checked::<(A,), R, V>(rows, args, result_type, ctx, |(a,)| f(a), |(a,)| error(a))
}

/// Computes a function of two fixed-width arguments that may be invalid; see [`map_checked1`].
///
/// # Errors
///
/// As [`map1`].
pub fn map_checked2<A: Arg, B: Arg, R: ResultType, V: Stored<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(A::Value<'_>, B::Value<'_>) -> (V, bool),
    error: impl Fn(A::Value<'_>, B::Value<'_>) -> Error,
) -> Result<Vector> {
    map_checked::<(A, B), R, V>(
        rows,
        args,
        result_type,
        ctx,
        |(a, b)| f(a, b),
        |(a, b)| error(a, b),
    )
}

/// A vectorized function from a closure of one argument.
pub fn function1<A: Arg, R: ResultType, O: Output<R::Column> + 'static>(
    f: impl Fn(A::Value<'_>) -> O + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    super::vectorized(move |rows, args, to, ctx| map1::<A, R, O>(rows, args, to, ctx, &f))
}

/// A vectorized function from a closure of two arguments.
pub fn function2<A: Arg, B: Arg, R: ResultType, O: Output<R::Column> + 'static>(
    f: impl Fn(A::Value<'_>, B::Value<'_>) -> O + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    super::vectorized(move |rows, args, to, ctx| map2::<A, B, R, O>(rows, args, to, ctx, &f))
}

/// A vectorized function from a closure of three arguments.
pub fn function3<A: Arg, B: Arg, C: Arg, R: ResultType, O: Output<R::Column> + 'static>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>) -> O + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    super::vectorized(move |rows, args, to, ctx| map3::<A, B, C, R, O>(rows, args, to, ctx, &f))
}

/// A vectorized function from a closure of four arguments.
pub fn function4<A, B, C, D, R, O>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>, D::Value<'_>) -> O + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction>
where
    A: Arg,
    B: Arg,
    C: Arg,
    D: Arg,
    R: ResultType,
    O: Output<R::Column> + 'static,
{
    super::vectorized(move |rows, args, to, ctx| map4::<A, B, C, D, R, O>(rows, args, to, ctx, &f))
}
