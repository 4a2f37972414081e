//! The simple API: scalar functions as closures of one row.
//!
//! ```
//! # use volley_error::Error;
//! # use volley_function::{FunctionDoc, Registry};
//! # let mut registry = Registry::new();
//! # let doc = FunctionDoc::default();
//! fn overflow() -> Error {
//!     Error::invalid_value("overflow in multiply")
//! }
//! registry.simple("multiply", doc, |a: i64, b: i64| a.checked_mul(b).ok_or(overflow));
//! ```
//!
//! The closure's types determine the SQL types of the function. Encodings, inactive rows, nulls and
//! errors are handled here, once. The closure is compiled into one loop per shape of the arguments.
//!
//! ```text
//! closure of one row ─> Args (how arguments are read)      ─┐
//!                       Output (value, null or error)      ─┼─> one loop per shape of the
//!                       Column, Builder (where results go) ─┘   arguments
//! ```
//!
//! # Arguments
//!
//! | parameter | SQL type |
//! |---|---|
//! | `i8` `i16` `i32` `i64` `i128` | TINYINT to HUGEINT |
//! | `f32` `f64` `bool` | REAL, DOUBLE, BOOLEAN |
//! | `&str` `&[u8]` | VARCHAR, VARBINARY |
//! | [`DateDays`] [`TimeMicros`] [`TimestampMicros`] [`Interval`] | DATE, TIME, TIMESTAMP, INTERVAL |
//! | [`Decimal`] | DECIMAL of any precision and scale |
//! | [`ArrayView<A>`] | ARRAY, whose elements marker `A` reads |
//! | [`MapView<K, V>`] | MAP |
//! | `(Option<A>, Option<B>, ...)` | ROW with these fields |
//! | [`AnyValue<0>`], [`EquatableValue<0>`], [`OrderableValue<0>`] | type variable 0 |
//! | [`VariadicView<A>`], at the end | one or more arguments |
//! | [`LambdaView<B>`] | a lambda over the first array or map |
//! | `Option<T>` | as `T`, and the closure sees nulls |
//!
//! Views contain markers, which define how a value is read: `i64` and the other numbers are their
//! own markers. Others are [`Varchar`], [`Varbinary`], [`Array<A>`], [`Map<K, V>`],
//! [`Row<(A, B)>`](Row), [`Any<0>`], [`Equatable<0>`] and [`Orderable<0>`].
//!
//! A row with a null argument is null, and the closure is not called, unless the parameter is an
//! `Option`. Elements and fields are always `Option`s. Arguments are cast as implicit casts allow.
//!
//! ```
//! # use volley_function::{FunctionDoc, Registry, simple::*};
//! # let mut registry = Registry::new();
//! # let doc = FunctionDoc::default;
//! registry.simple("nvl", doc(), |a: Option<i64>, b: i64| a.unwrap_or(b));
//! registry.simple("month_start", doc(), |day: DateDays| DateDays(day.0 - day.0 % 30));
//! registry.simple("array_sum", doc(), |a: ArrayView<f64>| a.iter().flatten().sum::<f64>());
//! registry.simple("tag", doc(), |m: MapView<Varchar, i64>, key: &str| m.get(key));
//! registry.simple("dot", doc(), |p: (Option<f64>, Option<f64>)| p.0.zip(p.1).map(|(x, y)| x * y));
//! registry.simple("greatest", doc(), |all: VariadicView<i64>| all.iter().max());
//! // array(T), T -> boolean, for every T with an equality
//! registry.simple("contains", doc(), |a: ArrayView<Equatable<0>>, x: EquatableValue<0>| {
//!     a.iter().any(|it| it == Some(x))
//! });
//! ```
//!
//! # Results
//!
//! A closure returns `T`, `Option<T>` (`None` is null), `Result<T>` or `Result<Option<T>>` (an
//! error fails its row), where `T` is a number, `bool`, one of the types above for dates and
//! decimals, `String`, `&'static str`, `Cow<'static, str>` or `Vec<u8>`. `Result<T, E>` with a
//! function `E` that makes the error, as in `.ok_or(overflow)`, is the fastest for numbers: the
//! loop has no branch.
//!
//! Or it has a writer as its last parameter and returns `()`, `Option<()>`, `Result<()>` or
//! `Result<Option<()>>`. Writers append to the result column itself:
//!
//! | writer | result |
//! |---|---|
//! | `&mut StringWriter` | VARCHAR |
//! | `&mut PartWriter<N>` | VARCHAR that is a part of argument `N`, not copied |
//! | `&mut AnyWriter<N>` | a value of type variable `N`, not copied |
//! | `&mut ArrayWriter<R>` | ARRAY of what marker `R` stands for |
//! | `&mut MapWriter<K, V>` | MAP |
//! | `&mut RowWriter<(A, B)>` | ROW |
//!
//! [`ArrayWriter<PartOf<0>>`](PartOf) makes arrays of parts of argument 0, `ArrayWriter<Any<0>>` a
//! dictionary over elements of the arguments.
//!
//! ```
//! # use volley_function::{FunctionDoc, Registry, simple::*};
//! # use volley_types::Type;
//! # let mut registry = Registry::new();
//! # let doc = FunctionDoc::default;
//! registry.simple("twice", doc(), |text: &str, out: &mut StringWriter| {
//!     out.push_str(text);
//!     out.push_str(text);
//! });
//! registry.simple("tail", doc(), |text: &str, out: &mut PartWriter<0>| {
//!     out.set(text.get(1..).unwrap_or(""));
//! });
//! registry.simple("split", doc(), |text: &str, by: &str, out: &mut ArrayWriter<PartOf<0>>| {
//!     out.extend(text.split(by));
//! });
//! registry.simple("reverse", doc(), |a: ArrayView<Any<0>>, out: &mut ArrayWriter<Any<0>>| {
//!     out.extend(a.iter().rev());
//! });
//! registry.simple("lengths", doc(), |text: &str, out: &mut MapWriter<Varchar, i64>| {
//!     text.split(' ').for_each(|word| out.push(word, word.len() as i64));
//! });
//! registry.simple("edges", doc(), |a: ArrayView<i64>, out: &mut RowWriter<(i64, i64)>| {
//!     out.set((a.get(0), a.iter().next_back().flatten()));
//! });
//! registry.simple("pairs", doc(), |n: i64, out: &mut ArrayWriter<Array<i64>>| {
//!     (0..n.min(9)).for_each(|it| out.push_with(|pair| pair.extend([it, it + 1])));
//! });
//! registry.simple(
//!     "filter",
//!     doc(),
//!     |a: ArrayView<Any<0>>, keep: LambdaView<bool>, out: &mut ArrayWriter<Any<0>>| {
//!         out.extend(a.iter().zip(keep.iter()).filter(|it| it.1 == Some(true)).map(|it| it.0));
//!     },
//! );
//! // The scale of the result follows from that of the argument.
//! let half = scalar(|a: Decimal| Decimal { unscaled: a.unscaled * 5, scale: a.scale + 1 });
//! let half = half.returning(|args| {
//!     let (precision, scale) = args[0].decimal_shape()?;
//!     Some(Type::decimal((precision + 1).min(38), scale + 1))
//! });
//! registry.simple("half", doc(), half);
//! ```
//!
//! # Declarations
//!
//! A closure is assumed to be deterministic; [`scalar`] makes it a [`Simple`], of which more can be
//! declared. [`with_ascii`] takes a second closure for text that is all ASCII.
//!
//! ```
//! # use volley_function::{FunctionDoc, Registry, simple::*};
//! # let mut registry = Registry::new();
//! # let doc = FunctionDoc::default;
//! let dice = scalar(|sides: i64| sides.min(4)).nondeterministic();
//! registry.simple("dice", doc(), dice);
//! let length = with_ascii(|s: &str| s.chars().count() as i64, |s: &str| s.len() as i64);
//! registry.simple("length", doc(), length);
//! let reverse = with_ascii_writing(
//!     |s: &str, out: &mut StringWriter| s.chars().rev().for_each(|it| out.push(it)),
//!     |s: &str, out: &mut StringWriter| out.push_each(s.bytes().rev()),
//! );
//! registry.simple("reverse", doc(), reverse.preserving_ascii());
//! ```
//!
//! A closure that returns `T`, `Option<T>` or `Result<T, E>` with a function `E` may also be called
//! for rows that are not active, because a loop without a branch is faster; so it must be total.
//! One that returns a `Result<T>` or writes is called for active rows only, in ascending order.
//!
//! # Memory
//!
//! Writers reserve memory before they allocate it. If that is refused, they drop further values and
//! the query fails. A closure that needs much memory besides its result reserves it with
//! [`Scratch`], [`Seen`] or [`take_memory`], and may return any result if that is refused. A long
//! loop checks with [`CancelCheck`] or [`may_continue`] whether the query is cancelled.
//!
//! # Types that are known at bind time
//!
//! Where one function serves several SQL types of one layout, name the markers yourself: with
//! [`unary`], [`binary`], ... or, for results whose type is computed, [`function1`], [`function2`],
//! ... and [`Physical`]. Inside a vectorized function, [`map1`], [`map2`], ... and [`map_written`]
//! run the same loops.

mod memory;
mod args;
mod pattern;
mod generic;
mod view;
mod decimal;
mod variadic;
mod column;
mod output;
mod map;
mod text;
mod ascii;
mod writer;
mod seen;
mod sorted;
mod specialized;
mod map_keys;
mod lambda;
mod function;
mod tuples;
#[cfg(test)]
mod tests;

pub use args::{
    Arg, BigInt, Boolean, Contiguous, Date, DateDays, Double, HugeInt, Integer, Interval, Nullable,
    Physical, Real, SmallInt, Source, Sql, Time, TimeMicros, Timestamp, TimestampMicros, TinyInt,
    Varbinary, Varchar,
};
pub use ascii::{
    ascii_slice_binary, ascii_slice_ternary, ascii_text_unary, ascii_unary, preserving_ascii,
};
pub use column::{BooleanColumn, Column, NativeColumn, ResultType, StringColumn};
pub use decimal::Decimal;
pub use function::{
    IntoSimple, Parameter, Returning, Simple, Writing, scalar, with_ascii, with_ascii_writing,
};
pub use generic::{
    Any, AnyValue, Equatable, EquatableValue, Generic, GenericValue, Orderable, OrderableValue,
};
pub use lambda::{Lambda, LambdaView};
pub use map::{
    Args, function1, function2, function3, map_checked1, map_checked2, map1, map2, map3,
};
pub(crate) use map::{RowLoop, Work};
pub use map_keys::{MapKeys, reject_bad_keys};
pub use memory::{CancelCheck, Scratch, TEXT_BYTES_MAX, may_continue, take_memory, with_memory};
pub(crate) use output::NullRows;
pub use output::{Output, Plain, Returned, Stored};
pub use pattern::{Pattern, SqlType};
pub use seen::Seen;
pub use sorted::{Sorted, sorted, sorted_unstable};
pub use specialized::specialized;
pub use text::{
    StringWriter, Written, map_slice, map_text, slice_binary, slice_ternary, slice_unary,
    text_binary, text_quaternary, text_ternary, text_unary, write_texts,
};
pub use variadic::{Variadic, VariadicView};
pub use view::{Array, ArrayView, Elements, Key, Map, MapView, Row};
pub(crate) use writer::with_nulls;
pub use writer::{
    AnyBuilder as AnyWriter, ArrayWriter, Builder, Collected, MapWriter, PartBuilder as PartWriter,
    PartOf, Push, RowWriter, Writer, WrittenFields, map_written,
};

use crate::{
    BindScalar, BlockFunction, BoundScalar, EvalContext, QueryConstants, ScalarFunction,
    ScalarTraits, block::in_blocks,
};
use pattern::Variables;
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
    bind(vec![], R::pattern(), traits::<R, O>(true), Arc::new(function))
}

/// A function of one argument.
pub fn unary<A, R, O>(f: impl Fn(A::Value<'_>) -> O + Send + Sync + 'static) -> BindScalar
where
    A: SqlType,
    R: SqlType + ResultType,
    O: Output<R::Column> + 'static,
{
    let traits = traits::<R, O>(A::PROPAGATES);
    bind(vec![A::pattern()], R::pattern(), traits, function1::<A, R, O>(f))
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
    let args = vec![A::pattern(), B::pattern()];
    bind(args, R::pattern(), traits, function2::<A, B, R, O>(f))
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
    let args = vec![A::pattern(), B::pattern(), C::pattern()];
    bind(args, R::pattern(), traits, function3::<A, B, C, R, O>(f))
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
    let args = vec![A::pattern(), B::pattern()];
    bind(args, R::pattern(), ScalarTraits::DEFAULT, Arc::new(function))
}

/// A vectorized function from a closure.
pub fn vectorized(
    f: impl Fn(&Rows, &[Vector], &Type, &mut EvalContext) -> Result<Vector> + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    Arc::new(ForRows(f))
}

/// The same function, which `block` computes where `in_blocks` can.
pub fn with_block(
    function: Arc<dyn ScalarFunction>,
    block: impl BlockFunction,
) -> Arc<dyn ScalarFunction> {
    Arc::new(WithBlock(function, Arc::new(block)))
}

struct WithBlock(Arc<dyn ScalarFunction>, Arc<dyn BlockFunction>);

impl ScalarFunction for WithBlock {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        match in_blocks(&*self.1, rows, args, result_type, &mut ctx.recycler)? {
            Some(results) => Ok(results),
            None => self.0.evaluate(rows, args, result_type, ctx),
        }
    }

    fn block(&self) -> Option<Arc<dyn BlockFunction>> {
        Some(Arc::clone(&self.1))
    }
}

/// The binding of one signature: the given types or those that implicitly convert to them.
pub fn bind(
    args: Vec<Pattern>,
    result: Pattern,
    traits: ScalarTraits,
    function: Arc<dyn ScalarFunction>,
) -> BindScalar {
    Arc::new(move |given: &[Type]| {
        let (variables, types) = Variables::settle_all(&args, given)?;
        Some(BoundScalar {
            name: String::new(),
            args: types,
            result: variables.settle(&result, None)?,
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
