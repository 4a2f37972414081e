//! Sketches as values: `approx_set` makes them of rows, `merge` of sketches; `cardinality` and
//! `empty_approx_set` are scalar functions.

use super::{
    approx_distinct::{bytes_of, estimates_of, hashes_of, sketch_bytes, sketches_of},
    bound,
    sketch::Sketch,
    typed::{TypedAggregate, arg},
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundAggregate, BoundScalar, Registry, ScalarTraits,
    simple::{self, Source},
};
use volley_memory::TypedSlots;
use volley_types::{CustomOrder, Type, Value, custom::HyperLogLog, implicit_cast_cost};
use volley_vector::{Decoded, NullBuffer, StringValues, Vector};

/// Registers the functions of HYPERLOGLOG, and its conversion from bytes.
pub(super) fn register(registry: &mut Registry) {
    let set = doc(
        "approx_set(x[, e]) -> hyperloglog",
        "A sketch of the set of values that are not null, whose `cardinality` is about their \
         number: with a standard error of at most e, from 0.0040625 to 0.26, or else of 0.8 %.",
        "aggregate",
        &[("cardinality(approx_set(x)) FROM (VALUES (1), (2), (2)) v(x)", "2")],
    );
    registry.add_aggregate("approx_set", set, Arc::new(bind_set));
    let merge = doc(
        "merge(hyperloglog) -> hyperloglog",
        "The sketch of the union of the sets.",
        "aggregate",
        &[(
            "cardinality(merge(s)) FROM (SELECT approx_set(x) AS s FROM (VALUES (1), (2)) v(x) \
             GROUP BY x)",
            "2",
        )],
    );
    registry.add_aggregate("merge", merge, Arc::new(bind_merge));
    let cardinality = doc(
        "cardinality(hyperloglog) -> bigint",
        "About how many different values were added to the sketch.",
        "aggregate",
        &[("cardinality(empty_approx_set())", "0")],
    );
    registry.add_scalar("cardinality", cardinality, Arc::new(bind_cardinality));
    let empty = doc(
        "empty_approx_set() -> hyperloglog",
        "The sketch of the empty set.",
        "aggregate",
        &[("cardinality(empty_approx_set())", "0")],
    );
    registry.add_scalar("empty_approx_set", empty, Arc::new(bind_empty));
    registry.add_casts(Arc::new(bind_bytes));
}

fn bind_set(args: &[Type]) -> Option<BoundAggregate> {
    let (of, error) = args.split_first()?;
    let has_error = match error {
        [] => false,
        [error] => implicit_cast_cost(error, &Type::Double).is_some(),
        _ => return None,
    };
    if of.order() < CustomOrder::Equality || (!error.is_empty() && !has_error) {
        return None;
    }
    let types = [of.clone()].into_iter().chain(error.iter().map(|_| Type::Double)).collect();
    let (partial, result) = (HyperLogLog::data_type(), HyperLogLog::data_type());
    Some(bound(types, partial, result, SketchOf::Values))
}

fn bind_merge(args: &[Type]) -> Option<BoundAggregate> {
    let sketch = HyperLogLog::data_type();
    let fits = *args == [sketch.clone()];
    fits.then(|| bound(args.to_vec(), sketch.clone(), sketch, SketchOf::Sketches))
}

/// The binding of `approx_distinct(x, e)`: the number of values in such a sketch.
pub(super) fn bind_count(args: &[Type]) -> Option<BoundAggregate> {
    let [of, error] = args else { return None };
    implicit_cast_cost(error, &Type::Double)?;
    if of.order() < CustomOrder::Equality {
        return None;
    }
    let types = vec![of.clone(), Type::Double];
    Some(bound(types, HyperLogLog::data_type(), Type::BigInt, SketchOf::Counted))
}

/// Makes sketches.
enum SketchOf {
    /// Values, of which only the number is told.
    Counted,
    /// Values, and for each row, if it is given, the error that the sketch may have.
    Values,
    /// Sketches, to be united.
    Sketches,
}

enum Rows<'a> {
    Values(Hashes<'a>),
    Sketches(&'a StringValues),
}

/// The hash of each value of the base, and the error that each row asks for.
struct Hashes<'a> {
    hashes: Vec<u64>,
    errors: Option<&'a Decoded<'a>>,
}

impl Hashes<'_> {
    /// The sketch of a group whose first row this is.
    fn new_sketch(&self, row: usize) -> Result<Box<Sketch>> {
        let asked = self.errors.filter(|it| !it.is_null(row));
        let Some(error) = asked.and_then(|it| it.native::<f64>().get(it.index(row)).copied())
        else {
            return Ok(Box::default());
        };
        let out_of_range = || {
            let message = format!("a sketch takes an error from 0.0040625 to 0.26: {error}");
            Error::invalid_value(message)
        };
        Sketch::of_error(error).map(Box::new).ok_or_else(out_of_range)
    }
}

impl TypedAggregate for SketchOf {
    type State = Option<Box<Sketch>>;
    type Input<'a> = Rows<'a>;
    type Partial<'a> = &'a StringValues;

    fn empty(&self) -> Self::State {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Rows<'a>> {
        let first = arg(args, 0)?;
        Ok(match self {
            SketchOf::Values | SketchOf::Counted => {
                let errors = args.get(1).map(Source::decoded);
                Rows::Values(Hashes { hashes: hashes_of(first)?, errors })
            }
            SketchOf::Sketches => Rows::Sketches(bytes_of(first)?),
        })
    }

    fn add(
        &self,
        state: &mut Self::State,
        input: &Rows<'_>,
        row: usize,
        index: usize,
    ) -> Result<()> {
        match input {
            Rows::Values(input) => {
                let sketch = match state {
                    Some(sketch) => sketch,
                    None => state.insert(input.new_sketch(row)?),
                };
                sketch.add(input.hashes[index]);
            }
            Rows::Sketches(sketches) => merge_bytes(state, sketches.bytes(index)),
        }
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<&'a StringValues> {
        bytes_of(arg(partial, 0)?)
    }

    fn merge(&self, state: &mut Self::State, partial: &&StringValues, index: usize) -> Result<()> {
        merge_bytes(state, partial.bytes(index));
        Ok(())
    }

    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        Ok(sketches_of(states, HyperLogLog::data_type()))
    }

    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        if matches!(self, SketchOf::Counted) {
            return Ok(estimates_of(states));
        }
        Ok(sketches_or_null(states))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        sketch_bytes(state)
    }
}

/// Values of the type are sketches; no bytes are no sketch.
fn merge_bytes(state: &mut Option<Box<Sketch>>, bytes: &[u8]) {
    match state {
        Some(sketch) => sketch.merge(bytes),
        None => *state = Sketch::from_bytes(bytes).map(Box::new),
    }
}

fn sketches_or_null(states: &mut TypedSlots<'_, Option<Box<Sketch>>>) -> Vector {
    let valid: Vec<bool> = (0..states.len()).map(|slot| states.get(slot).is_some()).collect();
    let sketches = sketches_of(states, HyperLogLog::data_type());
    match sketches.flat_values() {
        Some(values) => {
            let nulls = Some(NullBuffer::from(valid));
            Vector::flat(HyperLogLog::data_type(), values.clone(), nulls)
        }
        None => sketches,
    }
}

fn bind_cardinality(args: &[Type]) -> Option<BoundScalar> {
    if *args != [HyperLogLog::data_type()] {
        return None;
    }
    let function = simple::vectorized(|rows, args, to, ctx| {
        let decoded = Decoded::new(&args[0])?;
        let mut counts = vec![0i64; rows.len()];
        rows.for_each(|row| match Sketch::from_bytes(decoded.bytes(row)) {
            Some(sketch) => counts[row] = sketch.estimate(),
            None => ctx.fail(row, malformed),
        });
        Ok(Vector::native::<i64>(to.clone(), counts, decoded.nulls()))
    });
    Some(BoundScalar::new(args.to_vec(), Type::BigInt, ScalarTraits::DEFAULT, function))
}

fn bind_empty(args: &[Type]) -> Option<BoundScalar> {
    let function = simple::vectorized(|rows, _, to, _| {
        let empty = Value::Varbinary(Sketch::default().to_bytes().into());
        Ok(Vector::constant(to.clone(), &empty, rows.len()))
    });
    let result = HyperLogLog::data_type();
    args.is_empty().then(|| BoundScalar::new(vec![], result, ScalarTraits::INFALLIBLE, function))
}

/// VARBINARY as a sketch, if it is one. The other way values are what they are stored as.
fn bind_bytes(from: &Type, to: &Type) -> Option<BoundScalar> {
    if *from != Type::Varbinary || *to != HyperLogLog::data_type() {
        return None;
    }
    let function = simple::vectorized(|rows, args, to, ctx| {
        let decoded = Decoded::new(&args[0])?;
        rows.for_each(|row| {
            if !decoded.is_null(row) && !HyperLogLog::is_valid(decoded.bytes(row)) {
                ctx.fail(row, malformed);
            }
        });
        Ok(args[0].with_type(to.clone()))
    });
    let cast = BoundScalar::new(vec![from.clone()], to.clone(), ScalarTraits::DEFAULT, function);
    Some(BoundScalar { name: "cast".to_owned(), ..cast })
}

fn malformed() -> Error {
    Error::invalid_value("bytes are no HYPERLOGLOG")
}
