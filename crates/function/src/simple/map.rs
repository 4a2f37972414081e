//! The loops: one per shape of the arguments.

use super::{
    args::{Arg, Reader, Source, decode},
    column::{Column, ResultType},
    memory::{BorrowedReservation, charge_rows, with_memory},
    output::{Output, Stored},
};
use crate::{EvalContext, ScalarFunction};
use std::{marker::PhantomData, sync::Arc};
use volley_error::{Error, Result};
use volley_kernels::cpu::{self, Kernel};
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
    /// Every null argument makes the result null.
    const ALL_PROPAGATE: bool;
    /// Which null arguments do.
    const PROPAGATES: &'static [bool];
    /// The last one represents any number of arguments.
    const IS_VARIADIC: bool;

    /// The arguments, decoded.
    ///
    /// # Errors
    ///
    /// Internal, when there are too few; what a lazy vector's loader reports.
    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>>;

    /// Readers of decoded arguments.
    ///
    /// # Errors
    ///
    /// Internal, when an argument has another layout than its marker.
    fn open<'a>(sources: &'a [Source<'a>]) -> Result<Self::Readers<'a>>;

    /// The arguments of `row`.
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a>;

    /// Whether all text among the values is ASCII.
    fn are_ascii(values: Self::Values<'_>) -> bool;

    /// Runs `body`, for each frequent shape of the arguments as a loop of its own.
    #[inline(always)]
    fn run<'a, L: RowLoop<Self::Values<'a>>>(
        readers: Self::Readers<'a>,
        work: Work,
        body: L,
    ) -> L::Result {
        body.run(work, move |row| Self::get(&readers, row))
    }
}

/// What is done with the arguments of rows.
pub trait RowLoop<V> {
    /// What comes out.
    type Result;

    /// Whether the loop has no branches, so that one for each shape of the arguments pays.
    const BRANCH_FREE: bool;

    /// Computes the rows of `work`, whose arguments `values` returns.
    fn run(self, work: Work, values: impl Fn(usize) -> V) -> Self::Result;
}

/// Computes a column and the rows that became null.
struct Mapping<'c, C, F> {
    ctx: &'c mut EvalContext,
    f: F,
    column: PhantomData<C>,
}

impl<V, C: Column, O: Output<C>, F: Fn(V) -> O> RowLoop<V> for Mapping<'_, C, F> {
    type Result = (C, Option<NullBuffer>);

    const BRANCH_FREE: bool = O::BRANCH_FREE;

    #[inline(always)]
    fn run(self, work: Work, values: impl Fn(usize) -> V) -> Self::Result {
        let f = self.f;
        O::fill(work.rows, work.dense, self.ctx, move |row| f(values(row)))
    }
}

/// Computes a column, and whether any value is invalid.
struct Checking<C, F> {
    f: F,
    column: PhantomData<C>,
}

impl<V, C: Column, T: Stored<C>, F: Fn(V) -> (T, bool)> RowLoop<V> for Checking<C, F> {
    type Result = (C, bool);

    const BRANCH_FREE: bool = true;

    #[inline(always)]
    fn run(self, work: Work, values: impl Fn(usize) -> V) -> Self::Result {
        let f = self.f;
        let item = move |row| {
            let (value, is_invalid) = f(values(row));
            (value.into_item(), is_invalid)
        };
        if work.dense || work.rows.is_all() {
            return C::collect_checked(work.rows.len(), item);
        }
        let mut column = C::with_len(work.rows.len());
        let mut any_invalid = false;
        work.rows.for_each(|row| {
            let (item, is_invalid) = item(row);
            column.set(row, item);
            any_invalid |= is_invalid;
        });
        (column, any_invalid)
    }
}

/// The rows to compute.
#[derive(Clone, Copy)]
pub struct Work<'r> {
    rows: &'r Rows,
    /// Others may be computed, too, where that is faster.
    dense: bool,
}

impl<'r> Work<'r> {
    /// `rows` and no others.
    pub(crate) fn exactly(rows: &'r Rows) -> Work<'r> {
        Work { rows, dense: false }
    }

    /// The rows that must be computed.
    pub(crate) fn rows(&self) -> &'r Rows {
        self.rows
    }
}

impl Args for () {
    type Values<'a> = ();
    type Readers<'a> = ();
    const CHEAP: bool = true;
    const ALL_PROPAGATE: bool = true;
    const PROPAGATES: &'static [bool] = &[];
    const IS_VARIADIC: bool = false;

    fn decode(_args: &[Vector]) -> Result<Vec<Source<'_>>> {
        Ok(Vec::new())
    }

    fn open<'a>(_sources: &'a [Source<'a>]) -> Result<Self::Readers<'a>> {
        Ok(())
    }

    fn are_ascii(_values: Self::Values<'_>) -> bool {
        true
    }

    #[inline(always)]
    fn get<'a>(_readers: &Self::Readers<'a>, _row: usize) -> Self::Values<'a> {}
}

impl<A: Arg> Args for (A,) {
    type Values<'a> = (A::Value<'a>,);
    type Readers<'a> = (Reader<'a, A>,);
    const CHEAP: bool = A::CHEAP;
    const ALL_PROPAGATE: bool = A::PROPAGATES;
    const PROPAGATES: &'static [bool] = &[A::PROPAGATES];
    const IS_VARIADIC: bool = A::IS_VARIADIC;

    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>> {
        let mut sources = Vec::with_capacity(args.len());
        decode::<A>(args, 0, &mut sources)?;
        Ok(sources)
    }

    fn open<'a>(sources: &'a [Source<'a>]) -> Result<Self::Readers<'a>> {
        Ok((A::open(sources, 0)?,))
    }

    fn are_ascii((a,): Self::Values<'_>) -> bool {
        A::is_ascii(a)
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        (readers.0.get(row),)
    }

    #[inline(always)]
    fn run<'a, L: RowLoop<Self::Values<'a>>>(
        readers: Self::Readers<'a>,
        work: Work,
        body: L,
    ) -> L::Result {
        match readers.0 {
            Reader::Flat(base) if const { Self::CHEAP && L::BRANCH_FREE } => {
                cpu::dispatch(Flat::<A, L> { base, work, body })
            }
            reader => body.run(work, move |row| (reader.get(row),)),
        }
    }
}

impl<A: Arg, B: Arg> Args for (A, B) {
    type Values<'a> = (A::Value<'a>, B::Value<'a>);
    type Readers<'a> = (Reader<'a, A>, Reader<'a, B>);
    const CHEAP: bool = A::CHEAP && B::CHEAP;
    const ALL_PROPAGATE: bool = A::PROPAGATES && B::PROPAGATES;
    const PROPAGATES: &'static [bool] = &[A::PROPAGATES, B::PROPAGATES];
    const IS_VARIADIC: bool = B::IS_VARIADIC;

    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>> {
        let mut sources = Vec::with_capacity(args.len());
        decode::<A>(args, 0, &mut sources)?;
        decode::<B>(args, 1, &mut sources)?;
        Ok(sources)
    }

    fn open<'a>(sources: &'a [Source<'a>]) -> Result<Self::Readers<'a>> {
        Ok((A::open(sources, 0)?, B::open(sources, 1)?))
    }

    fn are_ascii((a, b): Self::Values<'_>) -> bool {
        A::is_ascii(a) && B::is_ascii(b)
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        (readers.0.get(row), readers.1.get(row))
    }

    #[inline(always)]
    fn run<'a, L: RowLoop<Self::Values<'a>>>(
        readers: Self::Readers<'a>,
        work: Work,
        body: L,
    ) -> L::Result {
        if const { !(Self::CHEAP && L::BRANCH_FREE) } {
            return body.run(work, move |row| Self::get(&readers, row));
        }
        match readers {
            (Reader::Flat(a), Reader::Flat(b)) => {
                cpu::dispatch(FlatFlat::<A, B, L> { a, b, work, body })
            }
            (Reader::Flat(a), Reader::Constant(b)) => {
                cpu::dispatch(FlatConstant::<A, B, L> { a, b, work, body })
            }
            (Reader::Constant(a), Reader::Flat(b)) => {
                cpu::dispatch(ConstantFlat::<A, B, L> { a, b, work, body })
            }
            _ => body.run(work, move |row| Self::get(&readers, row)),
        }
    }
}

/// The loop for one flat argument.
struct Flat<'a, 'r, A: Arg, L> {
    base: A::Base<'a>,
    work: Work<'r>,
    body: L,
}

impl<'a, A: Arg, L: RowLoop<(A::Value<'a>,)>> Kernel for Flat<'a, '_, A, L> {
    type Output = L::Result;

    #[inline(always)]
    fn run(self) -> L::Result {
        let base = A::narrow(self.base, self.work.rows.len());
        self.body.run(self.work, move |row| (A::get(base, row, row),))
    }
}

/// The loop for two flat arguments.
struct FlatFlat<'a, 'r, A: Arg, B: Arg, L> {
    a: A::Base<'a>,
    b: B::Base<'a>,
    work: Work<'r>,
    body: L,
}

impl<'a, A: Arg, B: Arg, L> Kernel for FlatFlat<'a, '_, A, B, L>
where
    L: RowLoop<(A::Value<'a>, B::Value<'a>)>,
{
    type Output = L::Result;

    #[inline(always)]
    fn run(self) -> L::Result {
        let len = self.work.rows.len();
        let (a, b) = (A::narrow(self.a, len), B::narrow(self.b, len));
        self.body.run(self.work, move |row| (A::get(a, row, row), B::get(b, row, row)))
    }
}

/// The loop for a flat argument and a constant.
struct FlatConstant<'a, 'r, A: Arg, B: Arg, L> {
    a: A::Base<'a>,
    b: B::Value<'a>,
    work: Work<'r>,
    body: L,
}

impl<'a, A: Arg, B: Arg, L> Kernel for FlatConstant<'a, '_, A, B, L>
where
    L: RowLoop<(A::Value<'a>, B::Value<'a>)>,
{
    type Output = L::Result;

    #[inline(always)]
    fn run(self) -> L::Result {
        let (a, b) = (A::narrow(self.a, self.work.rows.len()), self.b);
        self.body.run(self.work, move |row| (A::get(a, row, row), b))
    }
}

/// The loop for a constant and a flat argument.
struct ConstantFlat<'a, 'r, A: Arg, B: Arg, L> {
    a: A::Value<'a>,
    b: B::Base<'a>,
    work: Work<'r>,
    body: L,
}

impl<'a, A: Arg, B: Arg, L> Kernel for ConstantFlat<'a, '_, A, B, L>
where
    L: RowLoop<(A::Value<'a>, B::Value<'a>)>,
{
    type Output = L::Result;

    #[inline(always)]
    fn run(self) -> L::Result {
        let (a, b) = (self.a, B::narrow(self.b, self.work.rows.len()));
        self.body.run(self.work, move |row| (a, B::get(b, row, row)))
    }
}

impl<A: Arg, B: Arg, C: Arg> Args for (A, B, C) {
    type Values<'a> = (A::Value<'a>, B::Value<'a>, C::Value<'a>);
    type Readers<'a> = (Reader<'a, A>, Reader<'a, B>, Reader<'a, C>);
    const CHEAP: bool = A::CHEAP && B::CHEAP && C::CHEAP;
    const ALL_PROPAGATE: bool = A::PROPAGATES && B::PROPAGATES && C::PROPAGATES;
    const PROPAGATES: &'static [bool] = &[A::PROPAGATES, B::PROPAGATES, C::PROPAGATES];
    const IS_VARIADIC: bool = C::IS_VARIADIC;

    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>> {
        let mut sources = Vec::with_capacity(args.len());
        decode::<A>(args, 0, &mut sources)?;
        decode::<B>(args, 1, &mut sources)?;
        decode::<C>(args, 2, &mut sources)?;
        Ok(sources)
    }

    fn open<'a>(sources: &'a [Source<'a>]) -> Result<Self::Readers<'a>> {
        Ok((A::open(sources, 0)?, B::open(sources, 1)?, C::open(sources, 2)?))
    }

    fn are_ascii((a, b, c): Self::Values<'_>) -> bool {
        A::is_ascii(a) && B::is_ascii(b) && C::is_ascii(c)
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
    const ALL_PROPAGATE: bool = A::PROPAGATES && B::PROPAGATES && C::PROPAGATES && D::PROPAGATES;
    const PROPAGATES: &'static [bool] =
        &[A::PROPAGATES, B::PROPAGATES, C::PROPAGATES, D::PROPAGATES];
    const IS_VARIADIC: bool = D::IS_VARIADIC;

    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>> {
        let mut sources = Vec::with_capacity(args.len());
        decode::<A>(args, 0, &mut sources)?;
        decode::<B>(args, 1, &mut sources)?;
        decode::<C>(args, 2, &mut sources)?;
        decode::<D>(args, 3, &mut sources)?;
        Ok(sources)
    }

    fn open<'a>(sources: &'a [Source<'a>]) -> Result<Self::Readers<'a>> {
        Ok((A::open(sources, 0)?, B::open(sources, 1)?, C::open(sources, 2)?, D::open(sources, 3)?))
    }

    fn are_ascii((a, b, c, d): Self::Values<'_>) -> bool {
        A::is_ascii(a) && B::is_ascii(b) && C::is_ascii(c) && D::is_ascii(d)
    }

    #[inline(always)]
    fn get<'a>(readers: &Self::Readers<'a>, row: usize) -> Self::Values<'a> {
        let (a, b, c, d) = readers;
        (a.get(row), b.get(row), c.get(row), d.get(row))
    }
}

/// Decoded arguments, the rows to compute and the nulls of the result.
pub(super) struct Inputs<'v> {
    pub(super) sources: Vec<Source<'v>>,
    pub(super) rows: Rows,
    pub(super) nulls: Option<NullBuffer>,
}

impl<'v> Inputs<'v> {
    pub(super) fn new<T: Args>(
        rows: &Rows,
        args: &'v [Vector],
        ctx: &mut EvalContext,
    ) -> Result<Inputs<'v>> {
        let sources = match const { T::CHEAP } {
            true => T::decode(args)?,
            // Nested values may have to be expanded.
            false => with_memory(ctx, |_| T::decode(args))?,
        };
        let mut nulls = None;
        for source in sources.iter().filter(|it| it.propagates) {
            nulls = NullBuffer::union(nulls.as_ref(), source.nulls.as_ref());
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
#[inline(always)]
pub(super) fn map<T: Args, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>) -> O,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    map_inputs::<T, R, O>(&Inputs::new::<T>(rows, args, ctx)?, result_type, ctx, f)
}

/// Computes a function for decoded arguments.
#[inline(always)]
pub(super) fn map_inputs<T: Args, R: ResultType, O: Output<R::Column>>(
    inputs: &Inputs,
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>) -> O,
) -> Result<Vector> {
    let readers = T::open(&inputs.sources)?;
    charge_rows(ctx, inputs.rows.len(), size_of::<u64>())?;
    // What is cheap to read makes nothing large.
    let borrowed = if const { T::CHEAP } { None } else { Some(BorrowedReservation::of(ctx)) };
    let body = Mapping { ctx: &mut *ctx, f, column: PhantomData };
    let (mut column, added) = T::run(readers, inputs.work::<T>(), body);
    borrowed.map_or(Ok(()), |it| it.return_to(ctx))?;
    let nulls = inputs.result_nulls(added);
    column.check(result_type, &inputs.rows, ctx);
    column.finish(result_type, nulls)
}

/// Computes a function that gives a value and whether it is invalid: all rows without a branch,
/// and then, only if one was invalid, the active rows that are.
#[inline(always)]
fn map_checked<T: Args, R: ResultType, V: Stored<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>) -> (V, bool),
    error: impl Fn(T::Values<'_>) -> Error,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    let inputs = Inputs::new::<T>(rows, args, ctx)?;
    let readers = T::open(&inputs.sources)?;
    let body = Checking { f: &f, column: PhantomData::<R::Column> };
    let (column, any_invalid) = T::run(readers, inputs.work::<T>(), body);
    if any_invalid {
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
