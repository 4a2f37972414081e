//! `approx_distinct`: an estimate of the number of distinct values.

use super::{
    approx_set::bind_count,
    bound,
    sketch::Sketch,
    typed::{TypedAggregate, arg, native_column, unexpected_layout},
};
use crate::{documentation::doc, value_aggregate::Keys};
use std::sync::Arc;
use twox_hash::XxHash64;
use volley_error::Result;
use volley_function::{BoundAggregate, Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{CustomOrder, Type};
use volley_vector::{Decoded, StringBuilder, StringValues, Values, Vector};

/// Registers `approx_distinct` and `approx_count_distinct`.
pub(super) fn register(registry: &mut Registry) {
    let plain = doc(
        "approx_distinct(x) -> bigint",
        "About how many different values there are that are not null: exact up to 2048, then with a \
         standard error of 0.8 %.",
        "aggregate",
        &[("approx_distinct(x) FROM (VALUES (1), (2), (2)) v(x)", "2")],
    );
    registry.add_aggregate("approx_distinct", plain.clone(), Arc::new(bind));
    registry.add_aggregate("approx_count_distinct", plain, Arc::new(bind));
    let with_error = doc(
        "approx_distinct(x, e) -> bigint",
        "The same with a standard error of at most e, from 0.0040625 to 0.26: exact up to an eighth \
         of (1.04 / e)^2 values or more.",
        "aggregate",
        &[("approx_distinct(x, 0.1) FROM (VALUES (1), (2), (2)) v(x)", "2")],
    );
    for name in ["approx_distinct", "approx_count_distinct"] {
        registry.add_aggregate(name, with_error.clone(), Arc::new(bind_count));
    }
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    if arg.order() < CustomOrder::Equality {
        return None;
    }
    Some(bound(vec![arg.clone()], Type::Varbinary, Type::BigInt, ApproxDistinct))
}

struct ApproxDistinct;

impl TypedAggregate for ApproxDistinct {
    /// `None` before the first value: most groups of a wide grouping stay small.
    type State = Option<Box<Sketch>>;
    /// The hash of each value of the base.
    type Input<'a> = Vec<u64>;
    type Partial<'a> = &'a StringValues;

    fn empty(&self) -> Self::State {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Vec<u64>> {
        hashes_of(arg(args, 0)?)
    }

    fn add(
        &self,
        state: &mut Self::State,
        input: &Vec<u64>,
        _row: usize,
        index: usize,
    ) -> Result<()> {
        state.get_or_insert_default().add(input[index]);
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<&'a StringValues> {
        bytes_of(arg(partial, 0)?)
    }

    fn merge(&self, state: &mut Self::State, partial: &&StringValues, index: usize) -> Result<()> {
        state.get_or_insert_default().merge(partial.bytes(index));
        Ok(())
    }

    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        Ok(sketches_of(states, Type::Varbinary))
    }

    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        Ok(estimates_of(states))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        sketch_bytes(state)
    }
}

/// How many values the sketches are made of; 0 where there is none.
pub(super) fn estimates_of(states: &mut TypedSlots<'_, Option<Box<Sketch>>>) -> Vector {
    native_column(Type::BigInt, states, |state| {
        Some(state.as_ref().map_or(0, |sketch| sketch.estimate()))
    })
}

/// Bytes of sketches.
pub(super) fn bytes_of<'a>(decoded: &'a Decoded<'a>) -> Result<&'a StringValues> {
    match decoded.values() {
        Values::View(strings) => Ok(strings),
        _ => Err(unexpected_layout()),
    }
}

/// The sketches as bytes; of the type HYPERLOGLOG or VARBINARY. No sketch is no bytes.
pub(super) fn sketches_of(
    states: &mut TypedSlots<'_, Option<Box<Sketch>>>,
    data_type: Type,
) -> Vector {
    let mut builder = StringBuilder::with_capacity(states.len());
    for slot in 0..states.len() {
        match states.get(slot) {
            Some(sketch) => builder.push(&sketch.to_bytes()),
            None => builder.push_empty(),
        }
    }
    Vector::strings(data_type, builder.finish(), None)
}

/// Bytes on the heap behind a state.
pub(super) fn sketch_bytes(state: &Option<Box<Sketch>>) -> usize {
    state.as_ref().map_or(0, |sketch| size_of::<Sketch>() + sketch.bytes())
}

/// One hash per value of the base; equal values have equal hashes.
pub(super) fn hashes_of(decoded: &Decoded<'_>) -> Result<Vec<u64>> {
    if decoded.base().data_type().key_type().is_some() {
        let keys = decoded.base().comparison_keys()?.flatten()?;
        return hashes_of(&Decoded::new(&keys)?);
    }
    fn each<T: Copy>(values: &[T], wide: impl Fn(T) -> u64) -> Vec<u64> {
        values.iter().map(|it| mix(wide(*it))).collect()
    }
    Ok(match decoded.values() {
        Values::I8(values) => each(values, |it| it as u64),
        Values::I16(values) => each(values, |it| it as u64),
        Values::I32(values) => each(values, |it| it as u64),
        Values::I64(values) => each(values, |it| it as u64),
        Values::I128(values) => each(values, |it| mix(it as u64) ^ (it >> 64) as u64),
        Values::F32(values) => each(values, |it| float_bits(it.into())),
        Values::F64(values) => each(values, float_bits),
        Values::View(strings) => {
            (0..strings.views.len()).map(|index| hash_bytes(strings.bytes(index))).collect()
        }
        _ => {
            let keys = Keys::of(decoded.base().data_type());
            decoded.base().to_values()?.iter().map(|value| keys.hash(value)).collect()
        }
    })
}

/// One bit pattern for all NaNs and one for both zeros.
fn float_bits(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    value.to_bits()
}

/// A hash of bytes, XXH64 with the seed 0: the same in every release, since sketches keep hashes.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// SplitMix64's finalizer: every input bit changes about half of the output bits.
#[inline(always)]
pub fn mix(value: u64) -> u64 {
    let mut x = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
