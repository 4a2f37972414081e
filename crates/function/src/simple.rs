//! The simple API: scalar functions as closures of one row.
//!
//! ```text
//! registry.add_scalar("plus", doc, simple::binary::<BigInt, BigInt, BigInt, _>(|a, b| {
//!     a.checked_add(b).ok_or_else(overflow)
//! }));
//!
//! closure of one row ─> Args (how arguments are read)   ─┐
//!                       Output (value, null or error)    ─┼─> one loop per shape of the arguments
//!                       Column (where results go)        ─┘
//! ```
//!
//! A closure sees plain values: numbers, `&str`, `&[u8]`. It returns `T` (never fails),
//! `Option<T>` (may be null), `Result<T>` or `Result<Option<T>>`. Encodings and nulls are handled
//! here, once: rows with a null argument are null and the closure's result for them is not used,
//! unless the argument's marker is [`Nullable`], which passes an `Option`.
//!
//! A closure that returns `T` or `Option<T>` over fixed-width arguments may also be called for rows
//! that are not active, because a loop without a branch is faster; so it must be total. A closure
//! that returns a `Result` is called for active rows only. [`checked_binary`] joins both: values
//! and overflow flags of all rows in a tight loop, errors only for active rows.
//!
//! Functions whose types follow from bind time (decimals) use [`Physical`] markers and
//! [`function1`], [`function2`], ... or, inside a vectorized function, [`map1`], [`map2`], ...

mod args;
mod ascii;
mod column;
mod map;
mod output;
mod text;
#[cfg(test)]
mod tests;

pub use args::{
    Arg, BigInt, Boolean, Date, Double, HugeInt, Integer, Interval, Nullable, Physical, Real,
    SmallInt, Source, Sql, SqlType, Time, Timestamp, TinyInt, Varbinary, Varchar,
};
pub use ascii::{
    ascii_binary, ascii_slice_binary, ascii_slice_ternary, ascii_text_unary, ascii_unary,
    preserving_ascii,
};
pub use column::{BooleanColumn, Column, NativeColumn, ResultType, StringColumn};
pub(crate) use map::{Args, RowLoop, Work};
pub use map::{
    function1, function2, function3, function4, map_checked1, map_checked2, map1, map2, map3, map4,
};
pub(crate) use output::NullRows;
pub use output::{Output, Plain, Stored};
pub use text::{
    StringWriter, Written, map_slice, slice_binary, slice_ternary, slice_unary, text_binary,
    text_quaternary, text_ternary, text_unary,
};

use crate::{
    BindScalar, BlockFunction, BoundScalar, EvalContext, QueryConstants, ScalarFunction,
    ScalarTraits,
};
use std::sync::Arc;
use volley_error::Result;
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// A function without arguments: the same value for every row, from the query's constants.
pub fn nullary<R: SqlType + ResultType, O: Output<R::Column> + 'static>(
    f: impl Fn(&QueryConstants) -> O + Send + Sync + 'static,
) -> BindScalar {
    let function = ForRows(move |rows: &Rows, _: &[Vector], to: &Type, ctx: &mut EvalContext| {
        let query = Arc::clone(&ctx.query);
        let first = Rows::from_indices(rows.len(), (!rows.is_empty()).then(|| rows.begin()));
        let (column, nulls) = O::fill(&first, false, ctx, |_| f(&query));
        let vector = column.finish(to, nulls)?;
        if rows.is_empty() {
            return Ok(vector);
        }
        Ok(Vector::repeat(vector.slice(rows.begin(), 1), rows.len()))
    });
    bind(vec![], R::data_type(), traits::<R, O>(true), Arc::new(function))
}

/// A function of one argument.
pub fn unary<A, R, O>(f: impl Fn(A::Value<'_>) -> O + Send + Sync + 'static) -> BindScalar
where
    A: SqlType,
    R: SqlType + ResultType,
    O: Output<R::Column> + 'static,
{
    let traits = traits::<R, O>(A::PROPAGATES);
    bind(vec![A::data_type()], R::data_type(), traits, function1::<A, R, O>(f))
}

/// A function of two arguments.
pub fn binary<A, B, R, O>(
    f: impl Fn(A::Value<'_>, B::Value<'_>) -> O + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    B: SqlType,
    R: SqlType + ResultType,
    O: Output<R::Column> + 'static,
{
    let traits = traits::<R, O>(A::PROPAGATES && B::PROPAGATES);
    let args = vec![A::data_type(), B::data_type()];
    bind(args, R::data_type(), traits, function2::<A, B, R, O>(f))
}

/// A function of three arguments.
pub fn ternary<A, B, C, R, O>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>) -> O + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    B: SqlType,
    C: SqlType,
    R: SqlType + ResultType,
    O: Output<R::Column> + 'static,
{
    let traits = traits::<R, O>(A::PROPAGATES && B::PROPAGATES && C::PROPAGATES);
    let args = vec![A::data_type(), B::data_type(), C::data_type()];
    bind(args, R::data_type(), traits, function3::<A, B, C, R, O>(f))
}

/// A function of four arguments.
pub fn quaternary<A, B, C, D, R, O>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>, D::Value<'_>) -> O + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    B: SqlType,
    C: SqlType,
    D: SqlType,
    R: SqlType + ResultType,
    O: Output<R::Column> + 'static,
{
    let traits = traits::<R, O>(A::PROPAGATES && B::PROPAGATES && C::PROPAGATES && D::PROPAGATES);
    let args = vec![A::data_type(), B::data_type(), C::data_type(), D::data_type()];
    bind(args, R::data_type(), traits, function4::<A, B, C, D, R, O>(f))
}

/// A function of two fixed-width arguments that may overflow: `f` gives the value and whether it is
/// invalid, and runs in a loop without branches; `error` explains an active row that is invalid.
pub fn checked_binary<A, B, R, T>(
    f: impl Fn(A::Value<'_>, B::Value<'_>) -> (T, bool) + Send + Sync + 'static,
    error: impl Fn(A::Value<'_>, B::Value<'_>) -> volley_error::Error + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    B: SqlType,
    R: SqlType + ResultType,
    T: Stored<R::Column> + 'static,
{
    let function =
        ForRows(move |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
            map_checked2::<A, B, R, T>(rows, args, to, ctx, &f, &error)
        });
    let args = vec![A::data_type(), B::data_type()];
    bind(args, R::data_type(), ScalarTraits::DEFAULT, Arc::new(function))
}

/// A function of one fixed-width argument that may overflow; see [`checked_binary`].
pub fn checked_unary<A, R, T>(
    f: impl Fn(A::Value<'_>) -> (T, bool) + Send + Sync + 'static,
    error: impl Fn(A::Value<'_>) -> volley_error::Error + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    R: SqlType + ResultType,
    T: Stored<R::Column> + 'static,
{
    let function =
        ForRows(move |rows: &Rows, args: &[Vector], to: &Type, ctx: &mut EvalContext| {
            map_checked1::<A, R, T>(rows, args, to, ctx, &f, &error)
        });
    bind(vec![A::data_type()], R::data_type(), ScalarTraits::DEFAULT, Arc::new(function))
}

/// A vectorized function from a closure.
pub fn vectorized(
    f: impl Fn(&Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector> + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    Arc::new(ForRows(f))
}

/// The same function, which `block` computes for blocks of rows.
pub fn with_block(
    function: Arc<dyn ScalarFunction>,
    block: impl BlockFunction + 'static,
) -> Arc<dyn ScalarFunction> {
    Arc::new(WithBlock(function, block))
}

struct WithBlock<B>(Arc<dyn ScalarFunction>, B);

impl<B: BlockFunction> ScalarFunction for WithBlock<B> {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.0.evaluate(rows, args, result_type, ctx)
    }

    fn block(&self) -> Option<&dyn BlockFunction> {
        Some(&self.1)
    }
}

/// The binding of one signature: the given types or those that implicitly convert to them.
pub fn bind(
    args: Vec<Type>,
    result: Type,
    traits: ScalarTraits,
    function: Arc<dyn ScalarFunction>,
) -> BindScalar {
    Arc::new(move |given: &[Type]| {
        let fits = given.len() == args.len()
            && given
                .iter()
                .zip(&args)
                .all(|(from, to)| volley_types::implicit_cast_cost(from, to).is_some());
        fits.then(|| BoundScalar {
            name: String::new(),
            args: args.clone(),
            result: result.clone(),
            traits,
            function: Arc::clone(&function),
        })
    })
}

fn traits<R: ResultType, O: Output<R::Column>>(propagates_nulls: bool) -> ScalarTraits {
    ScalarTraits { propagates_nulls, infallible: !O::FALLIBLE, ..ScalarTraits::DEFAULT }
}

/// A closure as a vectorized function.
struct ForRows<F>(F);

impl<F> ScalarFunction for ForRows<F>
where
    F: Fn(&Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector> + Send + Sync,
{
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        (self.0)(rows, args, result_type, ctx)
    }
}
