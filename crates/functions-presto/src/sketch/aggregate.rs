//! Aggregates that make sketches of numbers, or of sketches: `tdigest_agg`, `qdigest_agg`,
//! `sketch_kll`, `sketch_kll_with_k`, `merge`.

use super::{
    Kll, TDigest,
    kll_bytes::{self, StoredItem},
    quantile_digest::{DEFAULT_ACCURACY, DigestNumber, QuantileDigest},
    t_digest::DEFAULT_COMPRESSION,
    types::SketchKind,
};
use crate::aggregate::weights_overflow;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, FunctionDoc, Package, Registry};
use volley_functions::{
    kll::{DEFAULT_K, K_MIN},
    value_aggregate::{self, ValueAggregate, ValueRow},
};
use volley_types::{Type, Value, custom::HyperLogLog, implicit_cast_cost};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    add(
        registry,
        ("tdigest_agg", "tdigest_agg(x[, weight[, compression]]) -> tdigest(double)"),
        "A T-digest of the values that are not null, each of which counts `weight` times; the \
         compression, 100 when left out, is from 10 to 1000.",
        "value_at_quantile(tdigest_agg(x), 0.5) FROM (VALUES (1), (2), (9)) t(x)",
        "2.0",
        bind_t_digest,
    );
    add(
        registry,
        ("qdigest_agg", "qdigest_agg(x[, weight[, accuracy]]) -> qdigest(as x)"),
        "A quantile digest of the values that are not null, each of which counts `weight` times; \
         ranks are wrong by at most the accuracy, 0.01 when left out.",
        "value_at_quantile(qdigest_agg(x), 0.5) FROM (VALUES (1), (2), (9)) t(x)",
        "2",
        bind_q_digest,
    );
    let kll_text = "A KLL sketch of the values that are not null: of a bigint, double, varchar or \
                    boolean.";
    add(
        registry,
        ("sketch_kll", "sketch_kll(x) -> kllsketch(as x)"),
        kll_text,
        "sketch_kll_quantile(sketch_kll(x), 0.5) FROM (VALUES (1), (2), (9)) t(x)",
        "2",
        |args| bind_kll(args, false),
    );
    add(
        registry,
        ("sketch_kll_with_k", "sketch_kll_with_k(x, k) -> kllsketch(as x)"),
        "A KLL sketch with k items, from 8 to 65535, on its top level.",
        "sketch_kll_quantile(sketch_kll_with_k(x, 50), 0.5) FROM (VALUES (1), (2), (9)) t(x)",
        "2",
        |args| bind_kll(args, true),
    );
    add(
        registry,
        ("merge", "merge(sketch) -> as the argument"),
        "The sketch of what all the sketches were made of: of tdigest, qdigest, kllsketch, \
         hyperloglog.",
        "value_at_quantile(merge(d), 1.0) FROM (SELECT tdigest_agg(x) FROM (VALUES (1), (2)) t(x) \
         GROUP BY x) s(d)",
        "2.0",
        bind_merge,
    );
    let entry = registry.aggregates().get("merge").cloned();
    for bind in entry.into_iter().flat_map(|it| it.overloads) {
        // Presto's sketches of sets have other bytes.
        if bind(&[HyperLogLog::data_type()]).is_some() {
            continue;
        }
        registry.add_aggregate("presto.merge", FunctionDoc::default(), bind);
    }
}

pub(super) fn add(
    registry: &mut Registry,
    (name, signature): (&str, &str),
    description: &str,
    call: &str,
    result: &str,
    bind: fn(&[Type]) -> Option<BoundAggregate>,
) {
    let doc = FunctionDoc::new(signature, description, "sketch", &[(call, result)]);
    let name = format!("{}{name}", Package::Presto.prefix());
    registry.add_aggregate(&name, doc, Arc::new(bind));
}

/// A sketch that is kept in a state.
pub(super) trait Sketch: Clone + Send + 'static {
    /// The sketch that bytes are; `None` when they are none.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The bytes of the sketch.
    fn write(&self) -> Vec<u8>;

    /// Adds what another sketch holds.
    ///
    /// # Errors
    ///
    /// Invalid value: it is too much, or of another kind.
    fn absorb(&mut self, other: &Self) -> Result<()>;

    /// Bytes on the heap.
    fn bytes(&self) -> usize;
}

impl Sketch for TDigest {
    fn read(bytes: &[u8]) -> Option<TDigest> {
        TDigest::from_bytes(bytes)
    }

    fn write(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn absorb(&mut self, other: &TDigest) -> Result<()> {
        self.merge(other);
        if self.total().is_finite() { Ok(()) } else { Err(weights_overflow()) }
    }

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

impl<T: StoredItem> Sketch for Kll<T> {
    fn read(bytes: &[u8]) -> Option<Kll<T>> {
        kll_bytes::read(bytes)
    }

    fn write(&self) -> Vec<u8> {
        kll_bytes::write(self)
    }

    fn absorb(&mut self, other: &Kll<T>) -> Result<()> {
        if self.merge(other) { Ok(()) } else { Err(weights_overflow()) }
    }

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}

/// How rows come into sketches.
type AddRow<S> = Box<dyn Fn(&mut Option<Box<S>>, ValueRow<'_>) -> Result<()> + Send + Sync>;

/// Makes sketches of rows.
struct SketchOf<S> {
    add: AddRow<S>,
}

/// The binding of an aggregate that makes a sketch.
pub(super) fn bound<S: Sketch>(
    args: Vec<Type>,
    result: Type,
    add: impl Fn(&mut Option<Box<S>>, ValueRow<'_>) -> Result<()> + Send + Sync + 'static,
) -> BoundAggregate {
    let aggregate = SketchOf { add: Box::new(add) };
    value_aggregate::bound(args, result.clone(), result, aggregate)
}

impl<S: Sketch> ValueAggregate for SketchOf<S> {
    type State = Option<Box<S>>;
    const IGNORES_NULLS: &'static [bool] = &[true, true, true];

    fn add(&self, state: &mut Option<Box<S>>, row: ValueRow<'_>) -> Result<()> {
        (self.add)(state, row)
    }

    fn merge(&self, state: &mut Option<Box<S>>, partial: &Value) -> Result<()> {
        merge_bytes(state, partial)
    }

    fn partial(&self, state: &Option<Box<S>>) -> Result<Value> {
        let bytes = state.as_ref().map(|it| Value::Varbinary(it.write().into()));
        Ok(bytes.unwrap_or(Value::Null))
    }

    fn result(&self, state: &Option<Box<S>>) -> Result<Value> {
        self.partial(state)
    }

    fn external_state_bytes(&self, state: &Option<Box<S>>) -> usize {
        state.as_ref().map_or(0, |it| size_of::<S>() + it.bytes())
    }
}

fn merge_bytes<S: Sketch>(state: &mut Option<Box<S>>, bytes: &Value) -> Result<()> {
    let Value::Varbinary(bytes) = bytes else { return Ok(()) };
    let malformed = || Error::invalid_value("bytes are no sketch of the type");
    let other = S::read(bytes).ok_or_else(malformed)?;
    let Some(sketch) = state else {
        *state = Some(Box::new(other));
        return Ok(());
    };
    sketch.absorb(&other)
}

/// Adds the sketch in a row.
pub(super) fn merge_row<S: Sketch>(state: &mut Option<Box<S>>, row: ValueRow<'_>) -> Result<()> {
    merge_bytes(state, &row.value(0))
}

/// The weight in the second argument, 1 when there is none.
fn weight_of(row: ValueRow<'_>) -> Result<u64> {
    let weight = row.integer(1).unwrap_or(1);
    let positive = u64::try_from(weight).ok().filter(|it| *it > 0);
    positive.ok_or_else(|| Error::invalid_value(format!("a weight must be above 0: {weight}")))
}

/// The types of arguments: `value`, a weight and a number, all.
fn types_of(args: &[Type], value: Type) -> Option<Vec<Type>> {
    let types = [value, Type::BigInt, Type::Double];
    let types = types.get(..args.len())?;
    let mut pairs = args.iter().zip(types);
    let fits = pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some());
    (fits && !args.is_empty()).then(|| types.to_vec())
}

fn bind_t_digest(args: &[Type]) -> Option<BoundAggregate> {
    let types = types_of(args, Type::Double)?;
    Some(bound::<TDigest>(types, SketchKind::TDigest.of(&Type::Double), |state, row| {
        let value = row.number(0).unwrap_or(f64::NAN);
        if !value.is_finite() {
            let message = format!("tdigest_agg takes finite numbers: {value}");
            return Err(Error::invalid_value(message));
        }
        let new = || Box::new(TDigest::new(row.number(2).unwrap_or(DEFAULT_COMPRESSION)));
        state.get_or_insert_with(new).add(value, weight_of(row)? as f64);
        Ok(())
    }))
}

fn bind_q_digest(args: &[Type]) -> Option<BoundAggregate> {
    let value = match args.first()? {
        integer if integer.is_integer() => Type::BigInt,
        Type::Real => Type::Real,
        _ => Type::Double,
    };
    let types = types_of(args, value.clone())?;
    let digest = SketchKind::QDigest.of(&value);
    let encoding = DigestNumber::of(&value);
    Some(bound::<QuantileDigest>(types, digest, move |state, row| {
        let Some(number) = encoding.encode(&row.value(0)) else { return Ok(()) };
        let accuracy = row.number(2).unwrap_or(DEFAULT_ACCURACY);
        if !(accuracy > 0.0 && accuracy < 1.0) {
            let message = format!("an accuracy must be above 0 and below 1: {accuracy}");
            return Err(Error::invalid_value(message));
        }
        let new = || Box::new(QuantileDigest::new(accuracy));
        state.get_or_insert_with(new).add(number, weight_of(row)? as f64);
        Ok(())
    }))
}

fn bind_kll(args: &[Type], has_k: bool) -> Option<BoundAggregate> {
    if args.len() != 1 + usize::from(has_k) {
        return None;
    }
    let value = match args.first()? {
        integer if integer.is_integer() => Type::BigInt,
        other @ (Type::Varchar | Type::Boolean) => other.clone(),
        _ => Type::Double,
    };
    let types = types_of(args, value.clone())?;
    let sketch = SketchKind::Kll.of(&value);
    Some(match value {
        Type::BigInt => bound::<Kll<i64>>(types, sketch, add_to_kll),
        Type::Varchar => bound::<Kll<String>>(types, sketch, add_to_kll),
        Type::Boolean => bound::<Kll<bool>>(types, sketch, add_to_kll),
        _ => bound::<Kll<f64>>(types, sketch, add_to_kll),
    })
}

fn add_to_kll<T: StoredItem>(state: &mut Option<Box<Kll<T>>>, row: ValueRow<'_>) -> Result<()> {
    let sketch = match state {
        Some(sketch) => sketch,
        None => {
            let k = row.integer(1).unwrap_or(DEFAULT_K.into());
            let allowed = u16::try_from(k).ok().filter(|it| *it >= K_MIN);
            let out_of_range = || Error::invalid_value(format!("k must be from 8 to 65535: {k}"));
            state.insert(Box::new(Kll::new(allowed.ok_or_else(out_of_range)?)))
        }
    };
    let Some(item) = T::of_value(&row.value(0)) else { return Ok(()) };
    if sketch.add(item, 1) { Ok(()) } else { Err(weights_overflow()) }
}

fn bind_merge(args: &[Type]) -> Option<BoundAggregate> {
    let [sketch] = args else { return None };
    let types = args.to_vec();
    if SketchKind::TDigest.element_of(sketch).is_some() {
        return Some(bound::<TDigest>(types, sketch.clone(), merge_row));
    }
    if SketchKind::QDigest.element_of(sketch).is_some() {
        return Some(bound::<QuantileDigest>(types, sketch.clone(), merge_row));
    }
    let result = sketch.clone();
    Some(match SketchKind::Kll.element_of(sketch)? {
        Type::BigInt => bound::<Kll<i64>>(types, result, merge_row),
        Type::Varchar => bound::<Kll<String>>(types, result, merge_row),
        Type::Boolean => bound::<Kll<bool>>(types, result, merge_row),
        _ => bound::<Kll<f64>>(types, result, merge_row),
    })
}
