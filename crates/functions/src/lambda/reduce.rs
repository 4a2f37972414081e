//! One value of all elements, one after the other: reduce.
//!
//! Rows advance together: step `i` runs the lambda once, on the state and on element `i` of every
//! row that has one. A row whose elements are used up leaves, so that steps get smaller. States
//! of former steps are gone: only the last ones, and those of rows that left, stay charged.

use super::{body_type, element_type, elements::Collections};
use crate::{documentation::doc, nested::gather_or_null};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Applied, ArgumentType, BoundHigherOrder, EvalContext, Lambda, LambdaType, Registry,
    ScalarTraits,
};
use volley_types::{DECIMAL_PRECISION_MAX, Type, common_type};
use volley_vector::{Rows, ScalarBuffer, Vector};

/// Nulls of the first state do not make the result null.
const TRAITS: ScalarTraits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT };

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let reduce = doc(
        "reduce(array, initial, (state, x) -> state, state -> result) -> result",
        "Goes through the elements: each makes a new state of the one before, beginning with \
         `initial`; the last one makes the result. In the form `reduce(array, (state, x) -> state\
         [, initial])` the last state is the result, and the first one is the first element when \
         none is given.",
        "lambda",
        &[
            ("reduce([1, 2, 3], 0, (s, x) -> s + x, s -> s * 10)", "60"),
            ("reduce([1, 2, 3], (s, x) -> s + x)", "6"),
        ],
    );
    registry.add_higher_order("reduce", reduce.clone(), Arc::new(bind_with_output));
    for name in ["reduce", "list_reduce", "array_reduce"] {
        registry.add_higher_order(name, reduce.clone(), Arc::new(bind_fold));
    }
}

/// `reduce(array, initial, (state, x) -> state, state -> result)`.
fn bind_with_output(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, initial, ArgumentType::Lambda(step), ArgumentType::Lambda(output)] = args else {
        return None;
    };
    let element = element_type(array)?;
    if step.parameters.len() != 2 || output.parameters.len() != 1 {
        return None;
    }
    let state = state_type(initial.value()?, step)?;
    let args = vec![
        ArgumentType::Value(Type::array(element.clone())),
        ArgumentType::Value(state.clone()),
        ArgumentType::of_lambda([state.clone(), element], Some(state.clone())),
        ArgumentType::of_lambda([state], output.result.clone()),
    ];
    let result = body_type(output);
    Some(BoundHigherOrder::of_closure(args, result, TRAITS, |rows, args, lambdas, to, ctx| {
        let arrays = Collections::new(&args[0])?;
        let active = rows_with_array(&arrays, rows);
        let [step, output] = lambdas else {
            return Err(Error::internal("reduce without its lambdas"));
        };
        let first = Start { states: args[1].clone(), skip: 0, with_index: false };
        let (states, owners) = run(&arrays, &active, first, *step, ctx)?;
        let all = Rows::all(owners.len());
        let applied = Applied { rows: &all, parameters: &[states], owners: &owners };
        let results = output.evaluate(&applied, ctx)?;
        scatter(&results, &owners, rows.len(), to)
    }))
}

/// `reduce(array, (state, x[, index]) -> state[, initial])`.
fn bind_fold(args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let (array, step, initial) = match args {
        [array, ArgumentType::Lambda(step)] => (array, step, None),
        [array, ArgumentType::Lambda(step), initial] => (array, step, Some(initial.value()?)),
        _ => return None,
    };
    let element = element_type(array)?;
    let arity = step.parameters.len();
    if !(2..=3).contains(&arity) {
        return None;
    }
    let state = state_type(initial.unwrap_or(&element), step)?;
    let mut parameters = vec![state.clone(), element.clone(), Type::BigInt];
    parameters.truncate(arity);
    // Without a first state, elements are states.
    let element = if initial.is_some() { element } else { state.clone() };
    parameters[1] = element.clone();
    let mut args = vec![
        ArgumentType::Value(Type::array(element)),
        ArgumentType::of_lambda(parameters, Some(state.clone())),
    ];
    args.extend(initial.map(|_| ArgumentType::Value(state.clone())));
    Some(BoundHigherOrder::of_closure(args, state, TRAITS, move |rows, args, lambdas, to, ctx| {
        let arrays = Collections::new(&args[0])?;
        let mut active = rows_with_array(&arrays, rows);
        let with_index = arity == 3;
        let start = match args.get(1) {
            Some(states) => Start { states: states.clone(), skip: 0, with_index },
            None => {
                let states = first_elements(&arrays, &mut active, ctx)?;
                Start { states, skip: 1, with_index }
            }
        };
        let (states, owners) = run(&arrays, &active, start, lambdas[0], ctx)?;
        scatter(&states, &owners, rows.len(), to)
    }))
}

/// The type of states that begin as `initial` and that the lambda makes.
fn state_type(initial: &Type, step: &LambdaType) -> Option<Type> {
    let Some(made) = &step.result else { return Some(initial.clone()) };
    if made == initial {
        return Some(initial.clone());
    }
    Some(match common_type(initial, made)? {
        // A sum of decimals has a digit more with each step.
        Type::Decimal { scale, .. } => Type::decimal(DECIMAL_PRECISION_MAX, scale),
        other => other,
    })
}

fn rows_with_array(arrays: &Collections<'_>, rows: &Rows) -> Rows {
    let mut with_array = Vec::with_capacity(rows.count());
    rows.for_each(|row| with_array.extend((!arrays.is_null(row)).then_some(row)));
    Rows::from_indices(rows.len(), with_array)
}

/// The first element of each row; rows without one fail.
fn first_elements(
    arrays: &Collections<'_>,
    rows: &mut Rows,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    let mut first = vec![None; rows.len()];
    let mut empty = Vec::new();
    rows.try_for_each(|row| -> Result<()> {
        first[row] = arrays.range(row)?.next().map(|it| it as u32);
        if first[row].is_none() {
            empty.push(row);
            let message = "reduce of an empty array needs an initial value";
            ctx.fail(row, || Error::invalid_value(message));
        }
        Ok(())
    })?;
    rows.subtract(&Rows::from_indices(rows.len(), empty));
    gather_or_null(&arrays.columns()?[0], &first)
}

/// Smaller states are not charged.
const CHARGED_BYTES: usize = 1 << 14;

/// How rows begin.
struct Start {
    /// One state per row of the call.
    states: Vector,
    /// How many elements are in the states already.
    skip: usize,
    /// Whether the lambda gets the element's place, from 1.
    with_index: bool,
}

/// The last states of the active rows, and the rows they belong to.
fn run(
    arrays: &Collections<'_>,
    rows: &Rows,
    start: Start,
    step: &mut dyn Lambda,
    ctx: &mut EvalContext,
) -> Result<(Vector, ScalarBuffer<u32>)> {
    let elements = arrays.columns()?.remove(0);
    let state_type = start.states.data_type().clone();
    let mut owners = rows.to_indices();
    let mut ranges = Vec::with_capacity(owners.len());
    for &row in &owners {
        let mut range = arrays.range(row as usize)?;
        range.start = range.end.min(range.start + start.skip);
        ranges.push(range);
    }
    let mut states = start.states.gather(&owners)?;
    let mut charge = StateCharge::new([elements.clone(), start.states], ctx);
    let (mut done, mut done_owners) = (Vec::new(), Vec::new());
    let mut place = start.skip;
    loop {
        let at = |wanted: bool| {
            let places = ranges.iter().enumerate();
            places.filter(|it| it.1.is_empty() == wanted).map(|it| it.0 as u32).collect::<Vec<_>>()
        };
        let (finished, rest) = (at(true), at(false));
        if !finished.is_empty() {
            let left = states.gather(&finished)?;
            charge.leave(&left, ctx)?;
            done.push(left);
            done_owners.extend(finished.iter().map(|it| owners[*it as usize]));
            states = states.gather(&rest)?;
            owners = rest.iter().map(|it| owners[*it as usize]).collect();
            ranges.retain(|it| !it.is_empty());
        }
        if owners.is_empty() {
            break;
        }
        let positions: Vec<u32> = ranges.iter().map(|it| it.start as u32).collect();
        ranges.iter_mut().for_each(|it| it.start += 1);
        let mut parameters = vec![states, elements.select(&positions)];
        if start.with_index {
            let index = vec![place as i64 + 1; owners.len()];
            parameters.push(Vector::native::<i64>(Type::BigInt, index, None));
        }
        place += 1;
        let (all, shared) = (Rows::all(owners.len()), ScalarBuffer::from(owners.clone()));
        let applied = Applied { rows: &all, parameters: &parameters, owners: &shared };
        states = step.evaluate(&applied, ctx)?;
        charge.replace(&states, ctx)?;
    }
    Ok((Vector::concat(&state_type, &done)?, done_owners.into()))
}

/// What the states of a reduction are charged.
struct StateCharge {
    /// The charge of everything before.
    before: usize,
    /// What was there before.
    known: [Vector; 2],
    /// Bytes of states of rows that left.
    left: usize,
    /// Bytes of the states of the last step.
    current: usize,
}

impl StateCharge {
    fn new(known: [Vector; 2], ctx: &EvalContext) -> StateCharge {
        StateCharge { before: ctx.charged(), known, left: 0, current: 0 }
    }

    /// Charges states that stay.
    fn leave(&mut self, states: &Vector, ctx: &mut EvalContext) -> Result<()> {
        self.left += ctx.bytes_made(states, &self.known, CHARGED_BYTES).min(self.current);
        ctx.settle(self.before, self.left + self.current)
    }

    /// Charges new states in place of the former ones.
    fn replace(&mut self, states: &Vector, ctx: &mut EvalContext) -> Result<()> {
        // The lambda has charged what it made. States hold no more than that and what they held
        // before; other allocations are captured columns.
        let most = ctx.charged().saturating_sub(self.before + self.left);
        self.current = ctx.bytes_made(states, &self.known, CHARGED_BYTES).min(most);
        ctx.settle(self.before, self.left + self.current)
    }
}

/// The values of `owners`, each in its row; other rows are null.
fn scatter(values: &Vector, owners: &[u32], len: usize, to: &Type) -> Result<Vector> {
    if values.is_empty() {
        return Ok(Vector::nulls(to.clone(), len));
    }
    let mut positions = vec![None; len];
    for (position, owner) in owners.iter().enumerate() {
        positions[*owner as usize] = Some(position as u32);
    }
    gather_or_null(values, &positions)
}
