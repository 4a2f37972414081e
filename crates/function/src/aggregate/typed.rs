//! The full interface of an aggregate that folds rows: states of a Rust type, batches decoded by
//! the function, results as vectors. The adapter to [`AggregateFunction`]:
//!
//! ```text
//! add       decode arguments once ─> drop null rows ─> one loop per kind of indices
//! add_to_one  the same; without nulls over a flat argument: one call for all rows
//! merge     decode the intermediate once ─> the same loops
//! ```

use super::{
    AggregateFunction, AggregateKind, AggregateState, BoundAggregate, CollectingFunction,
    RunningFrames, StateLayout,
};
use crate::simple::Source;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::{Slots, TypedSlots};
use volley_types::{Native, Type};
use volley_vector::{BooleanBuffer, Decoded, Indices, NullBuffer, Rows, Values, Vector};

/// An aggregate with the full interface. Types are resolved; methods are generic, so each aggregate
/// has its own loops. [`SimpleAggregate`](super::simple::SimpleAggregate) is shorter, and enough
/// for most.
///
/// Errors of any method fail the query.
pub trait TypedAggregate: Send + Sync + 'static {
    /// The state of a group.
    type State: Clone + Send + 'static;
    /// The arguments of a batch, ready to be read.
    type Input<'a>;
    /// The intermediate results of a batch, ready to be read.
    type Partial<'a>;
    /// For each argument, whether rows where it is null do not count; those left out count.
    const IGNORES_NULLS: &'static [bool] = &[true];

    /// The state of an empty group. It holds no memory outside the row.
    fn empty(&self) -> Self::State;

    /// Decodes the arguments, to be opened.
    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>> {
        args.iter().map(Source::new).collect()
    }

    /// Decodes intermediate results, to be opened: a flat column and after it its fields, when it
    /// is a ROW.
    fn decode_partial(column: &Vector) -> Result<Vec<Source<'_>>> {
        let mut sources = vec![Source::new(column)?];
        if let Some(Values::Row { children, .. }) = column.flat_values() {
            sources.extend(children.iter().map(Source::new).collect::<Result<Vec<_>>>()?);
        }
        Ok(sources)
    }

    /// Opens the arguments.
    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Self::Input<'a>>;

    /// Adds a row, whose first argument's value is at `index`.
    fn add(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        row: usize,
        index: usize,
    ) -> Result<()>;

    /// Adds `rows`, which is not empty and without those that do not count; slot `i` belongs to row
    /// `i`. `args`: what `input` was opened from.
    fn add_rows(
        &self,
        states: &mut TypedSlots<'_, Self::State>,
        input: &Self::Input<'_>,
        args: &[Source<'_>],
        rows: &Rows,
    ) -> Result<()> {
        for_each_index(first(args), rows, |row, index| self.add(states.get(row), input, row, index))
    }

    /// Like [`TypedAggregate::add_rows`], to one group.
    fn add_rows_to_one(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        args: &[Source<'_>],
        rows: &Rows,
    ) -> Result<()> {
        match first(args).map(Decoded::indices) {
            Some(Indices::Identity) if rows.is_all() => self.add_all(state, input, rows.len()),
            Some(Indices::Constant(index)) => {
                self.add_repeated(state, input, rows, *index as usize)
            }
            _ => for_each_index(first(args), rows, |row, index| self.add(state, input, row, index)),
        }
    }

    /// Adds all rows of a flat first argument of `len` rows.
    fn add_all(&self, state: &mut Self::State, input: &Self::Input<'_>, len: usize) -> Result<()> {
        (0..len).try_for_each(|row| self.add(state, input, row, row))
    }

    /// Adds the value at `index` for each of `rows`.
    fn add_repeated(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        rows: &Rows,
        index: usize,
    ) -> Result<()> {
        rows.try_for_each(|row| self.add(state, input, row, index))
    }

    /// Opens intermediate results, as [`TypedAggregate::decode_partial`] gave them.
    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>>;

    /// Merges the intermediate result at `index`; null rows are left out.
    fn merge(
        &self,
        state: &mut Self::State,
        partial: &Self::Partial<'_>,
        index: usize,
    ) -> Result<()>;

    /// As [`AggregateFunction::lift`].
    fn lift(&self, _args: &[Vector], _rows: usize) -> Result<Option<Vector>> {
        Ok(None)
    }

    /// The intermediate results.
    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector>;

    /// The results.
    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector>;

    /// Bytes held outside the row, which the query is charged with.
    fn external_state_bytes(&self, _state: &Self::State) -> usize {
        0
    }

    /// As [`AggregateState::result_bytes`].
    fn result_bytes(&self, state: &Self::State) -> usize {
        self.external_state_bytes(state)
    }
}

/// A [`TypedAggregate`] as an aggregate function.
pub struct Typed<F>(pub F);

impl<F: TypedAggregate> AggregateState for Typed<F> {
    fn state(&self) -> StateLayout {
        StateLayout::of::<F::State>()
    }

    fn init(&self, slots: &mut Slots<'_>) {
        let mut states = slots.typed::<F::State>();
        (0..states.len()).for_each(|slot| states.write(slot, self.0.empty()));
    }

    fn drop_states(&self, slots: &mut Slots<'_>) {
        // An empty state holds no memory outside the row, so replacing is dropping.
        let mut states = slots.typed::<F::State>();
        (0..states.len()).for_each(|slot| *states.get(slot) = self.0.empty());
    }

    fn external_state_bytes(&self, slots: &mut Slots<'_>) -> usize {
        let mut states = slots.typed::<F::State>();
        (0..states.len()).map(|slot| self.0.external_state_bytes(states.get(slot))).sum()
    }

    fn result_bytes(&self, slots: &mut Slots<'_>) -> usize {
        let mut states = slots.typed::<F::State>();
        (0..states.len()).map(|slot| self.0.result_bytes(states.get(slot))).sum()
    }
}

impl<F: TypedAggregate> AggregateFunction for Typed<F> {
    fn add(&self, slots: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let args = F::decode(args)?;
        with_valid_rows(&args, F::IGNORES_NULLS, rows, |rows| {
            let input = self.0.open(&args)?;
            self.0.add_rows(&mut slots.typed(), &input, &args, rows)
        })
    }

    fn add_to_one(&self, slot: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let args = F::decode(args)?;
        with_valid_rows(&args, F::IGNORES_NULLS, rows, |rows| {
            let input = self.0.open(&args)?;
            self.0.add_rows_to_one(slot.typed().get(0), &input, &args, rows)
        })
    }

    fn add_frames(
        &self,
        slot: &mut Slots<'_>,
        args: &[Vector],
        rows: &Rows,
        frames: RunningFrames<'_>,
        results: &mut Slots<'_>,
    ) -> Result<bool> {
        let args = F::decode(args)?;
        let input = self.0.open(&args)?;
        let (mut states, mut copies) = (slot.typed::<F::State>(), results.typed::<F::State>());
        let mut rows = rows.clone();
        let ignored = args.iter().zip(F::IGNORES_NULLS).filter(|it| *it.1);
        ignored.filter_map(|it| it.0.nulls()).for_each(|it| rows.subtract_nulls(it));
        let index = |row: usize| first(&args).map_or(row, |it| it.index(row));
        let run = Run { aggregate: &self.0, input: &input, frames };
        if rows.is_all() {
            run.copy_each(states.get(0), &mut copies, |_| true, index)?;
        } else {
            run.copy_each(states.get(0), &mut copies, |row| rows.contains(row), index)?;
        }
        Ok(true)
    }

    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()> {
        let whole = [Source::new(intermediate)?];
        let mut states = slots.typed::<F::State>();
        with_valid_rows(&whole, &[true], rows, |rows| {
            let decoded = whole[0].decoded();
            let sources = F::decode_partial(decoded.base())?;
            let partial = self.0.open_partial(&sources)?;
            for_each_index(Some(decoded), rows, |row, index| {
                self.0.merge(states.get(row), &partial, index)
            })
        })
    }

    fn lift(&self, args: &[Vector], rows: usize) -> Result<Option<Vector>> {
        self.0.lift(args, rows)
    }

    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        self.0.partial(&mut slots.typed())
    }

    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        self.0.result(&mut slots.typed())
    }
}

/// The binding of an aggregate: argument types, intermediate and result type.
pub fn bound<F: TypedAggregate>(
    args: Vec<Type>,
    intermediate: Type,
    result: Type,
    aggregate: F,
) -> BoundAggregate {
    BoundAggregate {
        name: String::new(),
        args,
        intermediate,
        result,
        order_sensitive: false,
        ignores_nulls: F::IGNORES_NULLS.first() == Some(&true),
        function: AggregateKind::Folding(Arc::new(Typed(aggregate))),
        over_rows: None,
    }
}

/// The binding of an aggregate whose states hold all values, and the same function over rows.
pub fn bound_keeping<F: TypedAggregate>(
    args: Vec<Type>,
    intermediate: Type,
    result: Type,
    aggregate: F,
    over_rows: impl CollectingFunction + 'static,
) -> BoundAggregate {
    let bound = bound(args, intermediate, result, aggregate);
    BoundAggregate { over_rows: Some(Arc::new(over_rows)), ..bound }
}

/// The binding of a function that collects rows, nulls included.
pub fn bound_collecting(
    args: Vec<Type>,
    intermediate: Type,
    result: Type,
    function: impl CollectingFunction + 'static,
) -> BoundAggregate {
    BoundAggregate {
        name: String::new(),
        args,
        intermediate,
        result,
        order_sensitive: true,
        ignores_nulls: false,
        function: AggregateKind::Collecting(Arc::new(function)),
        over_rows: None,
    }
}

/// A state's way through frames.
struct Run<'a, 'b, F: TypedAggregate> {
    aggregate: &'a F,
    input: &'a F::Input<'b>,
    frames: RunningFrames<'a>,
}

impl<F: TypedAggregate> Run<'_, '_, F> {
    /// Copies the state at the end of each frame.
    #[inline(always)]
    fn copy_each(
        &self,
        state: &mut F::State,
        copies: &mut TypedSlots<'_, F::State>,
        is_active: impl Fn(usize) -> bool,
        index: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let (mut start, mut end) = self.frames.held;
        for (frame, (frame_start, frame_end)) in self.frames.ranges.iter().enumerate() {
            if frame_start != start || frame_end < end {
                *state = self.aggregate.empty();
                (start, end) = (frame_start, frame_start);
            }
            for position in end..frame_end {
                let row = (position - self.frames.first) as usize;
                if is_active(row) {
                    self.aggregate.add(state, self.input, row, index(row))?;
                }
            }
            end = frame_end;
            copies.write(frame, state.clone());
        }
        Ok(())
    }
}

fn first<'a, 'v>(args: &'a [Source<'v>]) -> Option<&'a Decoded<'v>> {
    args.first().map(Source::decoded)
}

/// Calls `f` with the rows that count, if there are any: those where no argument that
/// `ignores_nulls` is null.
fn with_valid_rows(
    args: &[Source<'_>],
    ignores_nulls: &[bool],
    rows: &Rows,
    f: impl FnOnce(&Rows) -> Result<()>,
) -> Result<()> {
    let ignored = args.iter().zip(ignores_nulls).filter(|it| *it.1);
    let mut nulls = ignored.filter_map(|it| it.0.nulls()).peekable();
    if nulls.peek().is_none() {
        return if rows.is_empty() { Ok(()) } else { f(rows) };
    }
    let mut rows = rows.clone();
    nulls.for_each(|it| rows.subtract_nulls(it));
    if rows.is_empty() { Ok(()) } else { f(&rows) }
}

/// Calls `f` with each row and its position in the base; one loop per kind of indices.
#[inline(always)]
fn for_each_index(
    decoded: Option<&Decoded<'_>>,
    rows: &Rows,
    mut f: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    match decoded.map(Decoded::indices) {
        Some(Indices::Constant(index)) => rows.try_for_each(|row| f(row, *index as usize)),
        Some(Indices::Codes(codes)) => rows.try_for_each(|row| f(row, codes[row] as usize)),
        Some(Indices::Identity) | None => rows.try_for_each(|row| f(row, row)),
    }
}

/// The elements of a decoded vector of a fixed-width layout.
pub fn native_of<'a, T: Native>(decoded: &'a Decoded<'_>) -> Result<&'a [T]> {
    match decoded.values() {
        Values::Null(_) => Ok(&[]),
        values => values.native::<T>().ok_or_else(unexpected_layout),
    }
}

/// Argument `index`.
pub fn arg<'a>(args: &'a [Source<'a>], index: usize) -> Result<&'a Decoded<'a>> {
    let source = args.get(index).map(Source::decoded);
    source.ok_or_else(|| Error::internal("aggregate called with too few arguments"))
}

/// Field `index` of intermediate results that are a ROW of fixed-width fields, never null.
pub fn field_of<'a, T: Native>(partial: &'a [Source<'a>], index: usize) -> Result<&'a [T]> {
    let field = arg(partial, index + 1)?;
    let is_flat = matches!(field.indices(), Indices::Identity);
    field.values().native::<T>().filter(|_| is_flat).ok_or_else(unexpected_layout)
}

/// The error of a vector that does not have the layout of its type.
pub fn unexpected_layout() -> Error {
    Error::internal("aggregate got a vector of an unexpected layout")
}

/// A column of what `f` makes of each state; `None` is null.
pub fn native_column<S, T: Native>(
    data_type: Type,
    states: &mut TypedSlots<'_, S>,
    mut f: impl FnMut(&S) -> Option<T>,
) -> Vector {
    let len = states.len();
    let mut values = Vec::with_capacity(len);
    let mut valid = Vec::with_capacity(len);
    for slot in 0..len {
        let value = f(states.get(slot));
        valid.push(value.is_some());
        values.push(value.unwrap_or_default());
    }
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    Vector::native::<T>(data_type, values, nulls)
}

/// A BOOLEAN column of what `f` makes of each state.
pub fn boolean_column<S>(
    states: &mut TypedSlots<'_, S>,
    mut f: impl FnMut(&S) -> Option<bool>,
) -> Vector {
    let all: Vec<Option<bool>> = (0..states.len()).map(|slot| f(states.get(slot))).collect();
    let nulls = NullBuffer::from_iter(all.iter().map(Option::is_some));
    let bits = BooleanBuffer::from_iter(all.iter().map(|it| it.unwrap_or(false)));
    Vector::boolean(bits, Some(nulls))
}

/// A ROW column without null rows.
pub fn row_column(data_type: &Type, children: Vec<Vector>, len: usize) -> Vector {
    Vector::flat(data_type.clone(), Values::Row { children: children.into(), len }, None)
}
