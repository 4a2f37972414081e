//! The simple interface of an aggregate: Rust values in, Rust values out.
//!
//! ```text
//! State            what is kept per group, inside its row of the hash table
//! add              a row's arguments ──> State
//! partial, merge   State ──> intermediate value ──> another State
//! result           State ──> the group's result
//!
//! argument columns ── Inputs: a marker or a tuple ──> values ── add ──> State
//! intermediate column (ROW of a tuple) <── Outputs ── partial / merge ──> State
//! ```
//!
//! Encodings are inspected once per batch; the loop over rows is compiled for each aggregate and
//! for each frequent shape of the arguments. Rows where an argument is null do not count, unless
//! its marker is [`Nullable`](crate::simple::Nullable).

mod columns;
mod adapter;

pub use columns::{Answer, InputTypes, Inputs, OutputTypes, Outputs, Write, WrittenColumn};

use super::{BoundAggregate, typed};
use crate::BindAggregate;
use adapter::Adapter;
use std::sync::Arc;
use volley_error::Result;
use volley_types::{Type, implicit_cast_cost};

/// The arguments of a row of `A`.
pub type ArgsOf<'a, A> = <<A as SimpleAggregate>::Args as Inputs>::Values<'a>;

/// The intermediate values that `A` merges.
pub type PartialOf<'a, A> = <<A as SimpleAggregate>::Partial as Inputs>::Values<'a>;

/// The intermediate values that `A` makes.
pub type PartialItems<'a, A> = <<A as SimpleAggregate>::Partial as Outputs>::Items<'a>;

/// The result that `A` makes.
pub type ResultItems<'a, A> = <<A as SimpleAggregate>::Result as Outputs>::Items<'a>;

/// An aggregate function with the simple interface.
///
/// SQL types are named by the markers of [`crate::simple`]: one of them, or a tuple of up to four.
/// Values are what the marker says (`i64` for `BigInt`, `&str` for `Varchar`); text results are
/// `Cow<str>`, so that a state can return a reference, and arrays, maps and rows as a [`Write`]: a
/// boxed closure that gets the writer that simple functions have. A tuple as `Partial` becomes a
/// ROW.
///
/// The engine calls `add` for rows and `result` at the end, or, with several threads, `add` and
/// `partial` in each and then `merge` and `result`. Both ways must give the same result. `result`
/// is also called for groups without rows. The engine implements DISTINCT, ORDER BY and FILTER.
///
/// Errors of any method fail the query.
///
/// # Examples
///
/// The longest text, and how often it occurs:
///
/// ```
/// use std::borrow::Cow;
/// use volley_error::Result;
/// use volley_function::{FunctionDoc, Registry, aggregate::simple::{self, SimpleAggregate}};
/// use volley_function::simple::{BigInt, Varchar};
///
/// struct Longest;
///
/// // Small and without pointers where possible: it lives in the rows of the hash table.
/// #[derive(Clone, Default)]
/// struct State {
///     text: String,
///     count: i64,
/// }
///
/// impl State {
///     fn put(&mut self, text: &str, count: i64) {
///         if self.count == 0 || text.len() > self.text.len() {
///             *self = State { text: text.to_owned(), count };
///         } else if *text == self.text {
///             self.count += count;
///         }
///     }
/// }
///
/// impl SimpleAggregate for Longest {
///     type State = State;
///     type Args = Varchar;
///     type Partial = (Varchar, BigInt);
///     type Result = Varchar;
///
///     fn add(&self, state: &mut State, text: &str) -> Result<()> {
///         state.put(text, 1);
///         Ok(())
///     }
///
///     fn merge(&self, state: &mut State, (text, count): (&str, i64)) -> Result<()> {
///         state.put(text, count);
///         Ok(())
///     }
///
///     // `None` where there was no row: it is not merged.
///     fn partial<'s>(&self, state: &'s State) -> Result<Option<(Cow<'s, str>, i64)>> {
///         Ok((state.count > 0).then(|| (state.text.as_str().into(), state.count)))
///     }
///
///     // `None` is null.
///     fn result<'s>(&self, state: &'s State) -> Result<Option<Cow<'s, str>>> {
///         let text = || format!("{} ({}x)", state.text, state.count).into();
///         Ok((state.count > 0).then(text))
///     }
///
///     // What the state holds beside itself, so that memory limits hold.
///     fn external_state_bytes(&self, state: &State) -> usize {
///         state.text.capacity()
///     }
/// }
///
/// let mut registry = Registry::new();
/// registry.add_aggregate("longest", FunctionDoc::default(), simple::bind(Longest));
/// let bound = registry.resolve_aggregate("longest", &[volley_types::Type::Varchar])?;
/// assert_eq!(bound.intermediate.to_string(), "ROW(f0 VARCHAR, f1 BIGINT)");
/// # Ok::<(), volley_error::Error>(())
/// ```
///
/// The least and the greatest of some numbers, as an array:
///
/// ```
/// use volley_error::Result;
/// use volley_function::aggregate::simple::{self, SimpleAggregate, Write};
/// use volley_function::simple::{Array, ArrayView, ArrayWriter, BigInt};
///
/// struct Extremes;
///
/// impl SimpleAggregate for Extremes {
///     type State = Option<(i64, i64)>;
///     type Args = BigInt;
///     type Partial = Array<BigInt>;
///     type Result = Array<BigInt>;
///
///     fn add(&self, state: &mut Self::State, x: i64) -> Result<()> {
///         let (least, greatest) = state.unwrap_or((x, x));
///         *state = Some((least.min(x), greatest.max(x)));
///         Ok(())
///     }
///
///     fn merge(&self, state: &mut Self::State, both: ArrayView<'_, BigInt>) -> Result<()> {
///         both.iter().flatten().try_for_each(|it| self.add(state, it))
///     }
///
///     fn partial<'s>(
///         &self,
///         state: &'s Self::State,
///     ) -> Result<Option<Write<'s, ArrayWriter<BigInt>>>> {
///         self.result(state)
///     }
///
///     fn result<'s>(
///         &self,
///         state: &'s Self::State,
///     ) -> Result<Option<Write<'s, ArrayWriter<BigInt>>>> {
///         let Some((least, greatest)) = state else { return Ok(None) };
///         Ok(Some(Box::new(|out| out.extend([*least, *greatest]))))
///     }
/// }
///
/// let bound = simple::bind(Extremes)(&[volley_types::Type::BigInt]).expect("it takes BIGINT");
/// assert_eq!(bound.result.to_string(), "ARRAY(BIGINT)");
/// # Ok::<(), volley_error::Error>(())
/// ```
pub trait SimpleAggregate: Send + Sync + 'static {
    /// The state of a group. The default is the state of an empty group, and holds no memory
    /// outside the row: a `Vec::new()` or an `Option<Box<...>>`, but no `Box`. At most 16 bytes
    /// aligned.
    type State: Default + Clone + Send + 'static;
    /// The markers of the arguments: one, a tuple, or `()`.
    type Args: Inputs;
    /// The markers of the intermediate value: one, or a tuple.
    type Partial: Inputs + Outputs;
    /// The marker of the result, or a tuple.
    type Result: Outputs;

    /// Whether the order of the rows makes a difference; then they are added by one thread.
    const ORDER_SENSITIVE: bool = false;

    /// Adds a row.
    fn add(&self, state: &mut Self::State, args: ArgsOf<'_, Self>) -> Result<()>;

    /// Adds the same row `times` times.
    fn add_repeated(
        &self,
        state: &mut Self::State,
        args: ArgsOf<'_, Self>,
        times: usize,
    ) -> Result<()> {
        (0..times).try_for_each(|_| self.add(state, args))
    }

    /// Adds what another state holds, as [`SimpleAggregate::partial`] told it.
    fn merge(&self, state: &mut Self::State, partial: PartialOf<'_, Self>) -> Result<()>;

    /// What the state holds; `None` when there is nothing to merge.
    fn partial<'s>(&self, state: &'s Self::State) -> Result<Option<PartialItems<'s, Self>>>;

    /// The result; `None` is null.
    fn result<'s>(&self, state: &'s Self::State) -> Result<Option<ResultItems<'s, Self>>>;

    /// Bytes that the state holds outside the row, which the query is charged with.
    fn external_state_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}

/// The binding of an aggregate to the types of its markers and to those that implicitly convert to
/// them, for [`Registry::add_aggregate`](crate::Registry::add_aggregate).
pub fn bind<A: SimpleAggregate>(aggregate: A) -> BindAggregate
where
    A::Args: InputTypes,
    A::Partial: OutputTypes,
    A::Result: OutputTypes,
{
    let types = A::Args::types();
    let (partial, result) = (A::Partial::data_type(), A::Result::data_type());
    let bound = bound(types, partial, result, aggregate);
    Arc::new(move |given: &[Type]| {
        let mut pairs = given.iter().zip(&bound.args);
        let fits = given.len() == bound.args.len()
            && pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some());
        fits.then(|| bound.clone())
    })
}

/// An aggregate bound to types that have the layouts of its markers, for functions whose types
/// follow from their arguments' (decimals; see [`Physical`](crate::simple::Physical)).
pub fn bound<A: SimpleAggregate>(
    args: Vec<Type>,
    partial: Type,
    result: Type,
    aggregate: A,
) -> BoundAggregate {
    let types = (partial.clone(), result.clone());
    let bound = typed::bound(args, partial, result, Adapter { aggregate, types });
    BoundAggregate { order_sensitive: A::ORDER_SENSITIVE, ..bound }
}
