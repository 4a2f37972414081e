//! Runs aggregates without a plan, in all combinations of steps. Unit tests of the crate use it,
//! too.

use std::sync::Arc;
use volley_function::{AggregateFunction, AggregateKind, BoundAggregate, CollectingFunction};
use volley_memory::Slots;
use volley_types::Value;
use volley_vector::{Decoded, Rows, ScalarBuffer, Vector};

/// Raw rows that hold one state each.
pub(crate) struct States {
    memory: Vec<u128>,
    rows: Vec<*mut u8>,
    aggregate: BoundAggregate,
}

impl States {
    /// Of this number of groups without rows.
    pub(crate) fn new(aggregate: &BoundAggregate, groups: usize) -> States {
        let words = folding(aggregate).state().bytes.div_ceil(16).max(1);
        let mut memory = vec![0u128; words * groups];
        let base = memory.as_mut_ptr();
        let rows = (0..groups).map(|it| base.wrapping_add(it * words).cast()).collect();
        let mut states = States { memory, rows, aggregate: aggregate.clone() };
        let groups: Vec<usize> = (0..groups).collect();
        states.with(&groups, |it, slots| folding(it).init(slots));
        states
    }

    /// Calls `f` with the slots of groups.
    pub(crate) fn with<R>(
        &mut self,
        groups: &[usize],
        f: impl FnOnce(&BoundAggregate, &mut Slots<'_>) -> R,
    ) -> R {
        let rows: Vec<*mut u8> = groups.iter().map(|it| self.rows[*it]).collect();
        let type_id = folding(&self.aggregate).state().type_id;
        // SAFETY: each row has room for the state, aligned to 16 bytes, and lives in `memory`.
        let mut slots = unsafe { Slots::new(&rows, 0, type_id) };
        f(&self.aggregate, &mut slots)
    }

    /// All groups.
    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.rows.len()).collect()
    }
}

impl Drop for States {
    fn drop(&mut self) {
        let all = self.all();
        self.with(&all, |it, slots| folding(it).drop_states(slots));
        assert!(!self.memory.is_empty() || all.is_empty());
    }
}

/// What keeps a state per group.
pub(crate) fn folding(aggregate: &BoundAggregate) -> &Arc<dyn AggregateFunction> {
    match &aggregate.function {
        AggregateKind::Folding(function) => function,
        AggregateKind::Collecting(_) => panic!("{aggregate:?} collects"),
    }
}

/// Every way to the result: one state, groups, merged partial results; flat, dictionary, constant.
pub(crate) fn run_bound(aggregate: &BoundAggregate, args: &[Vector]) -> Vec<Value> {
    let rows = args.first().map_or(0, Vector::len);
    let mut results = Vec::new();
    let dictionary: Vec<Vector> = args
        .iter()
        .map(|it| {
            let codes: ScalarBuffer<u32> = (0..rows as u32).collect();
            Vector::dictionary(codes, it.clone().into(), None)
        })
        .collect();
    if let AggregateKind::Collecting(function) = &aggregate.function {
        return run_collecting(aggregate, function.as_ref(), args);
    }
    for args in [args.to_vec(), dictionary] {
        let mut one = States::new(aggregate, 1);
        one.with(&[0], |it, slot| folding(it).add_to_one(slot, &args, &Rows::all(rows)).unwrap());
        results.push(finish(&mut one));

        let mut grouped = States::new(aggregate, 1);
        let groups = vec![0; rows];
        grouped.with(&groups, |it, slots| folding(it).add(slots, &args, &Rows::all(rows)).unwrap());
        results.push(finish(&mut grouped));

        // Two partial states of the rows before and after the middle, and an empty one.
        let mut partial = States::new(aggregate, 3);
        let groups: Vec<usize> = (0..rows).map(|row| usize::from(row >= rows / 2)).collect();
        partial.with(&groups, |it, slots| folding(it).add(slots, &args, &Rows::all(rows)).unwrap());
        let all = partial.all();
        let intermediate =
            partial.with(&all, |it, slots| folding(it).extract_intermediate(slots).unwrap());
        assert_eq!(intermediate.data_type(), &aggregate.intermediate);
        let mut merged = States::new(aggregate, 1);
        merged.with(&[0, 0, 0], |it, slots| {
            folding(it).merge(slots, &intermediate, &Rows::all(3)).unwrap();
        });
        results.push(finish(&mut merged));
        results.extend(run_lifted(aggregate, &args, rows));
    }
    results
}

/// The way by intermediate results that are made without states, where there is one.
fn run_lifted(aggregate: &BoundAggregate, args: &[Vector], rows: usize) -> Option<Value> {
    let lifted = folding(aggregate).lift(args, rows).unwrap()?;
    assert_eq!(lifted.data_type(), &aggregate.intermediate);
    assert_eq!(lifted.len(), rows);
    let mut merged = States::new(aggregate, 1);
    let groups = vec![0; rows];
    merged.with(&groups, |it, slots| {
        folding(it).merge(slots, &lifted, &Rows::all(rows)).unwrap();
    });
    Some(finish(&mut merged))
}

/// As [`run_bound`]: all rows at once, and by way of intermediate results of their halves and of no
/// row.
fn run_collecting(
    aggregate: &BoundAggregate,
    function: &dyn CollectingFunction,
    args: &[Vector],
) -> Vec<Value> {
    let mut rows = Rows::all(args[0].len());
    if aggregate.ignores_nulls {
        let nulls = Decoded::new(&args[0]).unwrap().nulls();
        nulls.iter().for_each(|it| rows.subtract_nulls(it));
    }
    let rows = rows.to_indices();
    let args: Vec<Vector> = args.iter().map(|it| it.gather(&rows).unwrap()).collect();
    let end = rows.len() as u32;
    let whole = function.results(&args, &[end]).unwrap();
    assert_eq!(whole.data_type(), &aggregate.result);

    let parts = function.intermediate(&args, &[end / 2, end, end]).unwrap();
    assert_eq!(parts.data_type(), &aggregate.intermediate);
    let expanded = function.expand(&parts, &Rows::all(3)).unwrap();
    assert!(expanded.sources.is_sorted() && !expanded.sources.contains(&2));
    assert_eq!(expanded.args.len(), args.len());
    let end = expanded.sources.len() as u32;
    let merged = function.results(&expanded.args, &[end]).unwrap();
    [whole, merged].map(|it| it.value(0).unwrap()).to_vec()
}

/// The result of the only state.
pub(crate) fn finish(states: &mut States) -> Value {
    let all = states.all();
    let result = states.with(&all, |it, slots| folding(it).extract(slots).unwrap());
    assert_eq!(result.data_type(), &states.aggregate.result);
    assert!(Decoded::new(&result).is_ok());
    result.value(0).unwrap()
}
