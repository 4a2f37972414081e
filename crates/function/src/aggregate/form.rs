//! The full form of an aggregate that folds rows: states of a Rust type, batches opened as the
//! function likes, results made as vectors. The adapter to [`AggregateFunction`]:
//!
//! ```text
//! add       decode arguments once ─> drop null rows ─> one loop per kind of indices
//! add_to_one  the same; without nulls over a flat argument: one call for all rows
//! merge     decode the intermediate once ─> the same loops
//! ```

use super::{
    AggregateFunction, AggregateKind, AggregateState, BoundAggregate, CollectingFunction,
    StateLayout,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::{Slots, TypedSlots};
use volley_types::{Native, Type};
use volley_vector::{BooleanBuffer, Decoded, Indices, NullBuffer, Rows, Values, Vector};

/// An aggregate in full form. Types are settled; methods are generic, so each form gets its own
/// loops.
pub trait Form: Send + Sync + 'static {
    /// What is kept per group.
    type State: Clone + Send + 'static;
    /// The arguments of a batch, ready to be read.
    type Input<'a>;
    /// The intermediate results of a batch, ready to be read.
    type Partial<'a>;
    /// Whether rows with a null first argument do not count.
    const IGNORES_NULLS: bool = true;

    /// The state of an empty group.
    fn empty(&self) -> Self::State;

    /// Opens the arguments.
    fn open<'a>(&self, args: &'a [Decoded<'a>]) -> Result<Self::Input<'a>>;

    /// Adds a row, whose first argument's value stands at `index`.
    fn add(&self, state: &mut Self::State, input: &Self::Input<'_>, row: usize, index: usize);

    /// Adds all rows of a flat first argument of `len` rows.
    fn add_all(&self, state: &mut Self::State, input: &Self::Input<'_>, len: usize) {
        (0..len).for_each(|row| self.add(state, input, row, row));
    }

    /// Adds the value at `index` for each of `rows`.
    fn add_repeated(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        rows: &Rows,
        index: usize,
    ) {
        rows.for_each(|row| self.add(state, input, row, index));
    }

    /// Opens intermediate results.
    fn open_partial<'a>(&self, partial: &'a Decoded<'a>) -> Result<Self::Partial<'a>>;

    /// Merges the intermediate result at `index` of the base; null rows are left out.
    fn merge(&self, state: &mut Self::State, partial: &Self::Partial<'_>, index: usize);

    /// The intermediate results.
    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector>;

    /// The results.
    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector>;

    /// Bytes held outside the row.
    fn outside_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}

/// A [`Form`] as an aggregate function.
pub struct Formed<F>(pub F);

impl<F: Form> AggregateState for Formed<F> {
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

    fn outside_bytes(&self, slots: &mut Slots<'_>) -> usize {
        let mut states = slots.typed::<F::State>();
        (0..states.len()).map(|slot| self.0.outside_bytes(states.get(slot))).sum()
    }
}

impl<F: Form> AggregateFunction for Formed<F> {
    fn add(&self, slots: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let args = decode(args)?;
        let input = self.0.open(&args)?;
        let mut states = slots.typed::<F::State>();
        with_valid_rows(args.first().filter(|_| F::IGNORES_NULLS), rows, |rows| {
            for_each_index(args.first(), rows, |row, index| {
                self.0.add(states.get(row), &input, row, index);
            });
        });
        Ok(())
    }

    fn add_to_one(&self, slot: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        let args = decode(args)?;
        let input = self.0.open(&args)?;
        let mut states = slot.typed::<F::State>();
        let state = states.get(0);
        let first = args.first();
        with_valid_rows(first.filter(|_| F::IGNORES_NULLS), rows, |rows| {
            match first.map(Decoded::indices) {
                Some(Indices::Identity) if rows.is_all() => {
                    self.0.add_all(state, &input, rows.len());
                }
                Some(Indices::Constant(index)) => {
                    self.0.add_repeated(state, &input, rows, *index as usize);
                }
                _ => for_each_index(first, rows, |row, index| {
                    self.0.add(state, &input, row, index);
                }),
            }
        });
        Ok(())
    }

    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()> {
        let decoded = Decoded::new(intermediate)?;
        let partial = self.0.open_partial(&decoded)?;
        let mut states = slots.typed::<F::State>();
        with_valid_rows(Some(&decoded), rows, |rows| {
            for_each_index(Some(&decoded), rows, |row, index| {
                self.0.merge(states.get(row), &partial, index);
            });
        });
        Ok(())
    }

    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        self.0.partial(&mut slots.typed())
    }

    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        self.0.result(&mut slots.typed())
    }
}

/// The binding of a form: argument types, intermediate and result type.
pub fn bound<F: Form>(
    args: Vec<Type>,
    intermediate: Type,
    result: Type,
    form: F,
) -> BoundAggregate {
    BoundAggregate {
        name: String::new(),
        args,
        intermediate,
        result,
        order_sensitive: false,
        ignores_nulls: F::IGNORES_NULLS,
        function: AggregateKind::Folding(Arc::new(Formed(form))),
    }
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
    }
}

fn decode(args: &[Vector]) -> Result<Vec<Decoded<'_>>> {
    args.iter().map(Decoded::new).collect()
}

/// Calls `f` with the rows whose value in `nullable` is not null.
fn with_valid_rows(nullable: Option<&Decoded<'_>>, rows: &Rows, f: impl FnOnce(&Rows)) {
    match nullable.and_then(Decoded::nulls) {
        Some(nulls) => {
            let mut rows = rows.clone();
            rows.subtract_nulls(&nulls);
            f(&rows);
        }
        None => f(rows),
    }
}

/// Calls `f` with each row and its position in the base; one loop per kind of indices.
#[inline(always)]
fn for_each_index(decoded: Option<&Decoded<'_>>, rows: &Rows, mut f: impl FnMut(usize, usize)) {
    match decoded.map(Decoded::indices) {
        Some(Indices::Constant(index)) => rows.for_each(|row| f(row, *index as usize)),
        Some(Indices::Codes(codes)) => rows.for_each(|row| f(row, codes[row] as usize)),
        Some(Indices::Identity) | None => rows.for_each(|row| f(row, row)),
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
pub fn arg<'a>(args: &'a [Decoded<'a>], index: usize) -> Result<&'a Decoded<'a>> {
    args.get(index).ok_or_else(|| Error::internal("aggregate called with too few arguments"))
}

/// Field `index` of a ROW of fixed-width fields that are never null.
pub fn field_of<'a, T: Native>(decoded: &'a Decoded<'_>, index: usize) -> Result<&'a [T]> {
    let Values::Row { children, .. } = decoded.values() else {
        return Err(unexpected_layout());
    };
    let values = children.get(index).and_then(Vector::flat_values);
    values.and_then(Values::native::<T>).ok_or_else(unexpected_layout)
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
    Vector::native::<T>(data_type, values, Some(NullBuffer::from(valid)))
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
