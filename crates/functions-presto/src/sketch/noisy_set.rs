//! Functions of SFMSKETCH: `noisy_approx_set_sfm`, `noisy_approx_distinct_sfm`,
//! `noisy_approx_set_sfm_from_index_and_zeros`, `noisy_empty_approx_set_sfm`, `merge`, `merge_sfm`,
//! `cardinality`.

use super::{
    aggregate::{self, Sketch, merge_row},
    approx_set::hashed_bytes,
    scalar::{self, bytes_of, malformed},
    sfm::{DEFAULT_BUCKETS, DEFAULT_LEVELS, SfmSketch, check_epsilon},
    types::SketchKind,
};
use std::sync::Arc;
use twox_hash::XxHash64;
use volley_error::Result;
use volley_function::{BoundAggregate, BoundScalar, FunctionDoc, Registry, ScalarTraits};
use volley_functions::value_aggregate::{self, Keys, ValueAggregate, ValueRow, elements};
use volley_types::{CustomOrder, Field, Type, Value, implicit_cast_cost};

/// What an aggregate adds to a sketch.
enum Elements {
    /// The hash of its first argument.
    Hashed(Keys),
    /// A bucket and a number of zeros: its first two arguments.
    Buckets,
}

/// What an aggregate returns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Sketch,
    Cardinality,
}

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let parameters = "epsilon[, buckets[, precision]]";
    let text = "A private sketch of the set of values that are not null. Each of its bits is \
                flipped with the probability 1 / (e^epsilon + 1); with an infinite epsilon none is.";
    aggregate::add(
        registry,
        ("noisy_approx_set_sfm", &format!("noisy_approx_set_sfm(x, {parameters}) -> sfmsketch")),
        text,
        "cardinality(noisy_approx_set_sfm(x, infinity())) FROM (VALUES (1), (2), (2)) t(x)",
        "2",
        |args| bind_hashed(args, Answer::Sketch),
    );
    aggregate::add(
        registry,
        (
            "noisy_approx_distinct_sfm",
            &format!("noisy_approx_distinct_sfm(x, {parameters}) -> bigint"),
        ),
        "About how many different values that are not null there are, by a private sketch as of \
         noisy_approx_set_sfm.",
        "noisy_approx_distinct_sfm(x, infinity()) FROM (VALUES (1), (2), (2)) t(x)",
        "2",
        |args| bind_hashed(args, Answer::Cardinality),
    );
    aggregate::add(
        registry,
        (
            "noisy_approx_set_sfm_from_index_and_zeros",
            "noisy_approx_set_sfm_from_index_and_zeros(index, zeros, epsilon, buckets[, precision]) \
             -> sfmsketch",
        ),
        "A private sketch of elements that are known by their bucket and the number of zeros at \
         the end of their hash.",
        "cardinality(noisy_approx_set_sfm_from_index_and_zeros(i, 0, infinity(), 16)) FROM (VALUES \
         (1), (2)) t(i)",
        "2",
        bind_buckets,
    );
    // Described with `merge` of other sketches.
    let merge = |args: &[Type]| {
        let fits = *args == [sketch()];
        fits.then(|| aggregate::bound::<SfmSketch>(args.to_vec(), sketch(), merge_row))
    };
    registry.add_aggregate("presto.merge", FunctionDoc::default(), Arc::new(merge));
    register_scalars(registry);
}

fn register_scalars(registry: &mut Registry) {
    let cardinality = |args: &[Type]| {
        scalar::bound(args, vec![sketch()], Type::BigInt, |row| {
            let found = read(bytes_of(&row.value(0)).unwrap_or_default())?;
            Ok(Value::BigInt(found.cardinality()))
        })
    };
    // Described with the core's function.
    registry.add_scalar("presto.cardinality", FunctionDoc::default(), Arc::new(cardinality));
    scalar::add(
        registry,
        (
            "noisy_empty_approx_set_sfm",
            "noisy_empty_approx_set_sfm(epsilon[, buckets[, precision]]) -> sfmsketch",
        ),
        "A private sketch of the empty set.",
        ("cardinality(noisy_empty_approx_set_sfm(infinity()))", "0"),
        |args| {
            let types = [Type::Double, Type::BigInt, Type::BigInt];
            let types = types.get(..args.len()).filter(|it| !it.is_empty())?.to_vec();
            random(scalar::bound(args, types, sketch(), |row| {
                let epsilon = row.number(0).unwrap_or(f64::NAN);
                check_epsilon(epsilon)?;
                let empty = empty(row.integer(1), row.integer(2))?;
                Ok(Value::Varbinary(empty.made_private(epsilon)?.to_bytes().into()))
            }))
        },
    );
    scalar::add(
        registry,
        ("merge_sfm", "merge_sfm(array(sfmsketch)) -> sfmsketch"),
        "The sketch of the union of the sets; null if there is none.",
        (
            "cardinality(merge_sfm(array_agg(s))) FROM (SELECT noisy_approx_set_sfm(x, infinity()) \
             FROM (VALUES (1), (2)) t(x) GROUP BY x) v(s)",
            "2",
        ),
        |args| {
            random(scalar::bound(args, vec![Type::array(sketch())], sketch(), |row| {
                let sketches = row.value(0);
                let mut union: Option<SfmSketch> = None;
                for bytes in elements(&sketches).iter().filter_map(bytes_of) {
                    let other = read(bytes)?;
                    match &mut union {
                        Some(union) => union.merge(&other)?,
                        None => union = Some(other),
                    }
                }
                Ok(union.map_or(Value::Null, |it| Value::Varbinary(it.to_bytes().into())))
            }))
        },
    );
}

/// The function as one whose equal calls may have different results.
fn random(bound: Option<BoundScalar>) -> Option<BoundScalar> {
    let traits = ScalarTraits { deterministic: false, ..ScalarTraits::DEFAULT };
    bound.map(|it| BoundScalar { traits, ..it })
}

fn sketch() -> Type {
    SketchKind::Sfm.of(&Type::BigInt)
}

fn read(bytes: &[u8]) -> Result<SfmSketch> {
    SfmSketch::from_bytes(bytes).ok_or_else(malformed)
}

fn empty(buckets: Option<i64>, levels: Option<i64>) -> Result<SfmSketch> {
    SfmSketch::new(buckets.unwrap_or(DEFAULT_BUCKETS), levels.unwrap_or(DEFAULT_LEVELS))
}

/// Whether arguments can become those types.
fn fit(args: &[Type], types: &[Type]) -> bool {
    let mut pairs = args.iter().zip(types);
    args.len() == types.len() && pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some())
}

fn bind_hashed(args: &[Type], answer: Answer) -> Option<BoundAggregate> {
    let (value, parameters) = args.split_first()?;
    let value = match value {
        Type::Decimal { .. } => Type::Double,
        other if other.order() >= CustomOrder::Equality => other.clone(),
        _ => return None,
    };
    let types = [Type::Double, Type::BigInt, Type::BigInt];
    let types = types.get(..parameters.len()).filter(|it| !it.is_empty())?;
    let keys = Keys::of(&value);
    let fits = fit(parameters, types);
    let all: Vec<Type> = [value].into_iter().chain(types.iter().cloned()).collect();
    let noisy = NoisySet { elements: Elements::Hashed(keys), answer };
    fits.then(|| noisy.bound(all))
}

fn bind_buckets(args: &[Type]) -> Option<BoundAggregate> {
    let bigint = || Type::BigInt;
    let types = [bigint(), bigint(), Type::Double, bigint(), bigint()];
    let types = types.get(..args.len()).filter(|it| it.len() >= 4)?;
    let noisy = NoisySet { elements: Elements::Buckets, answer: Answer::Sketch };
    fit(args, types).then(|| noisy.bound(types.to_vec()))
}

/// Makes sketches that become private with the result.
struct NoisySet {
    elements: Elements,
    answer: Answer,
}

#[derive(Clone)]
struct Noisy {
    sketch: SfmSketch,
    epsilon: f64,
}

impl NoisySet {
    fn bound(self, args: Vec<Type>) -> BoundAggregate {
        let partial =
            Type::row([Field::new("epsilon", Type::Double), Field::new("sketch", Type::Varbinary)]);
        let result = match self.answer {
            Answer::Sketch => sketch(),
            Answer::Cardinality => Type::BigInt,
        };
        value_aggregate::bound(args, partial, result, self)
    }

    /// The number of arguments before epsilon.
    fn element_arguments(&self) -> usize {
        match self.elements {
            Elements::Hashed(_) => 1,
            Elements::Buckets => 2,
        }
    }
}

impl ValueAggregate for NoisySet {
    type State = Option<Box<Noisy>>;
    const IGNORES_NULLS: &'static [bool] = &[true, true, true, true, true];

    fn add(&self, state: &mut Option<Box<Noisy>>, row: ValueRow<'_>) -> Result<()> {
        let noisy = match state {
            Some(noisy) => noisy,
            None => {
                let first = self.element_arguments();
                let epsilon = row.number(first).unwrap_or(f64::NAN);
                check_epsilon(epsilon)?;
                let sketch = empty(row.integer(first + 1), row.integer(first + 2))?;
                state.insert(Box::new(Noisy { sketch, epsilon }))
            }
        };
        match &self.elements {
            Elements::Buckets => {
                let [bucket, zeros] = [0, 1].map(|it| row.integer(it).unwrap_or(-1));
                noisy.sketch.add_bucket(bucket, zeros)?;
            }
            Elements::Hashed(keys) => {
                let value = row.value(0);
                let hash = match hashed_bytes(&value) {
                    Some(bytes) => XxHash64::oneshot(0, &bytes),
                    None => keys.hash(&value),
                };
                noisy.sketch.add(hash);
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut Option<Box<Noisy>>, partial: &Value) -> Result<()> {
        let [Value::Double(epsilon), Value::Varbinary(bytes)] = elements(partial) else {
            return Ok(());
        };
        let other = read(bytes)?;
        match state {
            Some(noisy) => noisy.sketch.merge(&other)?,
            None => *state = Some(Box::new(Noisy { sketch: other, epsilon: *epsilon })),
        }
        Ok(())
    }

    fn partial(&self, state: &Option<Box<Noisy>>) -> Result<Value> {
        let parts = |it: &Noisy| {
            let bytes = Value::Varbinary(it.sketch.to_bytes().into());
            Value::Row([Value::Double(it.epsilon), bytes].into())
        };
        Ok(state.as_deref().map_or(Value::Null, parts))
    }

    fn result(&self, state: &Option<Box<Noisy>>) -> Result<Value> {
        let Some(Noisy { sketch, epsilon }) = state.as_deref() else { return Ok(Value::Null) };
        let private = sketch.clone().made_private(*epsilon)?;
        Ok(match self.answer {
            Answer::Sketch => Value::Varbinary(private.to_bytes().into()),
            Answer::Cardinality => Value::BigInt(private.cardinality()),
        })
    }

    fn external_state_bytes(&self, state: &Option<Box<Noisy>>) -> usize {
        state.as_ref().map_or(0, |it| size_of::<Noisy>() + it.sketch.heap_bytes())
    }
}

impl Sketch for SfmSketch {
    fn read(bytes: &[u8]) -> Option<SfmSketch> {
        SfmSketch::from_bytes(bytes)
    }

    fn write(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn absorb(&mut self, other: &SfmSketch) -> Result<()> {
        self.merge(other)
    }

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}
