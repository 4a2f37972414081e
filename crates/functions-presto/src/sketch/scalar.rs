//! Scalar functions of sketches of numbers.

use super::{
    Kll, TDigest,
    aggregate::Sketch,
    kll_bytes::StoredItem,
    quantile_digest::{DigestNumber, QuantileDigest},
    t_digest::Centroid,
    types::SketchKind,
};
use crate::aggregate::{Number, weights_overflow};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, FunctionDoc, Package, Registry, ScalarTraits, simple};
use volley_functions::value_aggregate::{ValueRow, elements};
use volley_types::{Field, Type, Value, implicit_cast_cost};
use volley_vector::{Decoded, Vector};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    register_quantiles(registry);
    register_t_digest(registry);
    register_kll(registry);
    let q_digest = "qdigest_agg(x) FROM (VALUES (1), (2), (9)) t(x)";
    add(
        registry,
        ("scale_qdigest", "scale_qdigest(qdigest(T), factor) -> qdigest(T)"),
        "The digest with all weights multiplied with a factor above 0.",
        (
            &format!("value_at_quantile(scale_qdigest(d, 2.0), 0.5) FROM (SELECT {q_digest}) s(d)"),
            "2",
        ),
        |args| {
            let digest = args.first()?.clone();
            SketchKind::QDigest.element_of(&digest)?;
            bound(args, vec![digest.clone(), Type::Double], digest, |row| {
                let mut digest: QuantileDigest = sketch(row)?;
                digest.scale(factor_of(row)?);
                let is_finite = digest.total().is_finite();
                let bytes = is_finite.then(|| digest.write()).ok_or_else(weights_overflow)?;
                Ok(Value::Varbinary(bytes.into()))
            })
        },
    );
}

pub(super) type Bind = fn(&[Type]) -> Option<BoundScalar>;

pub(super) fn add(
    registry: &mut Registry,
    (name, signature): (&str, &str),
    description: &str,
    example: (&str, &str),
    bind: Bind,
) {
    let doc = FunctionDoc::new(signature, description, "sketch", &[example]);
    registry.add_scalar(&format!("{}{name}", Package::Presto.prefix()), doc, Arc::new(bind));
}

/// The binding of a function of values, if the arguments become `types`.
pub(crate) fn bound(
    args: &[Type],
    types: Vec<Type>,
    result: Type,
    function: impl Fn(ValueRow<'_>) -> Result<Value> + Send + Sync + 'static,
) -> Option<BoundScalar> {
    let mut pairs = args.iter().zip(&types);
    let fits =
        args.len() == types.len() && pairs.all(|(from, to)| implicit_cast_cost(from, to).is_some());
    let vectorized = simple::vectorized(move |rows, args, to, ctx| {
        let decoded = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let columns: Vec<&Decoded<'_>> = decoded.iter().collect();
        let mut results = vec![Value::Null; rows.len()];
        rows.for_each(|row| match function(ValueRow::new(&columns, row)) {
            Ok(value) => results[row] = value,
            Err(error) => ctx.fail(row, || error),
        });
        Ok(Vector::from_values(to.clone(), &results))
    });
    fits.then(|| BoundScalar::new(types, result, ScalarTraits::DEFAULT, vectorized))
}

/// A function of KLL sketches of items of a type.
type OfItems = fn(ValueRow<'_>) -> Result<Value>;

/// One of four functions by the type of items: BIGINT, DOUBLE, VARCHAR or BOOLEAN.
fn by_item(element: &Type, functions: [OfItems; 4]) -> OfItems {
    let [bigint, double, varchar, boolean] = functions;
    match element {
        Type::BigInt => bigint,
        Type::Varchar => varchar,
        Type::Boolean => boolean,
        _ => double,
    }
}

pub(super) fn bytes_of(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Varbinary(bytes) => Some(bytes),
        _ => None,
    }
}

pub(super) fn malformed() -> Error {
    Error::invalid_value("bytes are no sketch of the type")
}

fn sketch<S: Sketch>(row: ValueRow<'_>) -> Result<S> {
    let value = row.value(0);
    bytes_of(&value).and_then(S::read).ok_or_else(malformed)
}

/// Numbers from 0 to 1, of a number or an array.
fn fractions(value: &Value) -> Result<Vec<f64>> {
    let fraction = |it: &Value| {
        let number = f64::of(it).filter(|it| (0.0..=1.0).contains(it));
        number.ok_or_else(|| {
            Error::invalid_value(format!("a quantile must be from 0 to 1: {}", text_of(it)))
        })
    };
    match value {
        Value::Array(values) => values.iter().map(fraction).collect(),
        other => Ok(vec![fraction(other)?]),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Double(number) => number.to_string(),
        _ => "null".to_owned(),
    }
}

fn number(row: ValueRow<'_>, argument: usize) -> f64 {
    row.number(argument).unwrap_or(f64::NAN)
}

pub(super) fn optional(number: Option<f64>) -> Value {
    number.map_or(Value::Null, Value::Double)
}

/// An array, or one value; null when there is none.
fn shaped(asked: &Value, values: Option<Vec<Value>>) -> Value {
    match (asked, values) {
        (_, None) => Value::Null,
        (Value::Array(_), Some(values)) => Value::Array(values.into()),
        (_, Some(mut values)) => values.pop().unwrap_or(Value::Null),
    }
}

fn register_quantiles(registry: &mut Registry) {
    let digest = "FROM (SELECT tdigest_agg(x) FROM (VALUES (1), (2), (9)) t(x)) s(d)";
    add(
        registry,
        ("value_at_quantile", "value_at_quantile(digest, quantile) -> as the digest's values"),
        "The value at a quantile from 0 to 1 of a tdigest or qdigest.",
        (&format!("value_at_quantile(d, 0.5) {digest}"), "2.0"),
        |args| bind_quantile(args, false),
    );
    add(
        registry,
        ("values_at_quantiles", "values_at_quantiles(digest, array(double)) -> array"),
        "The values at quantiles from 0 to 1 of a tdigest or qdigest.",
        (&format!("values_at_quantiles(d, ARRAY[0.0, 1.0]) {digest}"), "[1.0, 9.0]"),
        |args| bind_quantile(args, true),
    );
    add(
        registry,
        ("quantile_at_value", "quantile_at_value(digest, value) -> double"),
        "The share of values at or below a value in a tdigest, or below it in a qdigest; null \
         outside of its range.",
        (&format!("quantile_at_value(d, 9) {digest}"), "1.0"),
        bind_rank,
    );
    add(
        registry,
        ("quantiles_at_values", "quantiles_at_values(tdigest, array(double)) -> array(double)"),
        "For each value the share of values at or below it; null outside of the digest's range.",
        (&format!("quantiles_at_values(d, ARRAY[0, 9]) {digest}"), "[NULL, 1.0]"),
        |args| {
            let types = vec![SketchKind::TDigest.of(&Type::Double), Type::array(Type::Double)];
            bound(args, types, Type::array(Type::Double), |row| {
                let digest: TDigest = sketch(row)?;
                let values = row.value(1);
                let rank = |it: &Value| optional(f64::of(it).and_then(|it| rank_in(&digest, it)));
                Ok(Value::Array(elements(&values).iter().map(rank).collect()))
            })
        },
    );
}

fn bind_quantile(args: &[Type], is_array: bool) -> Option<BoundScalar> {
    let digest = args.first()?.clone();
    let shape = |it: Type| if is_array { Type::array(it) } else { it };
    let types = vec![digest.clone(), shape(Type::Double)];
    if SketchKind::TDigest.element_of(&digest).is_some() {
        return bound(args, types, shape(Type::Double), |row| {
            let (digest, asked): (TDigest, _) = (sketch(row)?, row.value(1));
            let found = fractions(&asked)?;
            let found = found.iter().map(|it| digest.quantile(*it).map(Value::Double));
            Ok(shaped(&asked, found.collect()))
        });
    }
    let element = SketchKind::QDigest.element_of(&digest)?;
    let encoding = DigestNumber::of(&element);
    bound(args, types, shape(element), move |row| {
        let (digest, asked): (QuantileDigest, _) = (sketch(row)?, row.value(1));
        let found = digest.quantiles(&fractions(&asked)?);
        Ok(shaped(&asked, Some(found.into_iter().map(|it| encoding.decode(it)).collect())))
    })
}

fn rank_in(digest: &TDigest, value: f64) -> Option<f64> {
    let [_, min, max, _] = digest.statistics();
    digest.rank(value).filter(|_| (min..=max).contains(&value))
}

fn bind_rank(args: &[Type]) -> Option<BoundScalar> {
    let digest = args.first()?.clone();
    if SketchKind::TDigest.element_of(&digest).is_some() {
        return bound(args, vec![digest, Type::Double], Type::Double, |row| {
            let digest: TDigest = sketch(row)?;
            Ok(optional(rank_in(&digest, number(row, 1))))
        });
    }
    let element = SketchKind::QDigest.element_of(&digest)?;
    let encoding = DigestNumber::of(&element);
    bound(args, vec![digest, element], Type::Double, move |row| {
        let digest: QuantileDigest = sketch(row)?;
        Ok(optional(encoding.encode(&row.value(1)).and_then(|it| digest.rank(it))))
    })
}

fn factor_of(row: ValueRow<'_>) -> Result<f64> {
    let factor = number(row, 1);
    let is_allowed = factor > 0.0 && factor.is_finite();
    let message = || Error::invalid_value(format!("a scale factor must be above 0: {factor}"));
    is_allowed.then_some(factor).ok_or_else(message)
}

fn t_digest() -> Type {
    SketchKind::TDigest.of(&Type::Double)
}

fn register_t_digest(registry: &mut Registry) {
    let digest = "FROM (SELECT tdigest_agg(x) FROM (VALUES (1), (2), (9)) t(x)) s(d)";
    add(
        registry,
        ("scale_tdigest", "scale_tdigest(tdigest, factor) -> tdigest"),
        "The digest with all weights multiplied with a factor above 0.",
        (&format!("value_at_quantile(scale_tdigest(d, 2.0), 0.5) {digest}"), "2.0"),
        |args| {
            bound(args, vec![t_digest(), Type::Double], t_digest(), |row| {
                let mut digest: TDigest = sketch(row)?;
                digest.scale(factor_of(row)?);
                let is_finite = digest.total().is_finite();
                let bytes = is_finite.then(|| digest.to_bytes()).ok_or_else(weights_overflow)?;
                Ok(Value::Varbinary(bytes.into()))
            })
        },
    );
    for (name, what, example, mean) in [
        (
            "trimmed_mean",
            "The mean of the values between two quantiles.",
            "4.0",
            TDigest::trimmed_mean as fn(&TDigest, f64, f64) -> Option<f64>,
        ),
        (
            "winsorized_mean",
            "The mean of the values, those outside of two quantiles replaced by the values there.",
            "4.0",
            TDigest::winsorized_mean,
        ),
    ] {
        let call = format!("{name}(d, 0.0, 1.0) {digest}");
        let signature = format!("{name}(tdigest, low, high) -> double");
        let doc = FunctionDoc::new(&signature, what, "sketch", &[(&call, example)]);
        let bind = move |args: &[Type]| {
            let types = vec![t_digest(), Type::Double, Type::Double];
            bound(args, types, Type::Double, move |row| {
                let low = fractions(&row.value(1))?.first().copied().unwrap_or(0.0);
                let high = fractions(&row.value(2))?.first().copied().unwrap_or(1.0);
                if low > high {
                    let message = format!("quantiles out of order: {low}, {high}");
                    return Err(Error::invalid_value(message));
                }
                Ok(optional(mean(&sketch(row)?, low, high)))
            })
        };
        registry.add_scalar(&format!("presto.{name}"), doc, Arc::new(bind));
    }
    register_parts(registry, digest);
}

fn register_parts(registry: &mut Registry, digest: &str) {
    add(
        registry,
        (
            "destructure_tdigest",
            "destructure_tdigest(tdigest) -> row(centroid_means, centroid_weights, compression, \
             min, max, sum, count)",
        ),
        "The parts of a digest; weights are rounded to integers.",
        (
            &format!("destructure_tdigest(d) {digest}"),
            "{'centroid_means': [1.0, 2.0, 9.0], 'centroid_weights': [1, 1, 1], 'compression': \
             100.0, 'min': 1.0, 'max': 9.0, 'sum': 12.0, 'count': 3}",
        ),
        |args| bound(args, vec![t_digest()], parts_type(), |row| Ok(parts_of(&sketch(row)?))),
    );
    add(
        registry,
        (
            "construct_tdigest",
            "construct_tdigest(means, weights, compression, min, max, sum, count) -> tdigest",
        ),
        "The digest of these parts: means in ascending order, weights above 0 with the count as \
         their sum.",
        (
            "value_at_quantile(construct_tdigest(ARRAY[1, 9], ARRAY[1, 1], 100, 1, 9, 10, 2), 1)",
            "9.0",
        ),
        |args| {
            let (double, doubles) = (|| Type::Double, || Type::array(Type::Double));
            let stats = [double(), double(), double(), double(), Type::BigInt];
            let types = [doubles(), doubles()].into_iter().chain(stats).collect();
            bound(args, types, t_digest(), construct)
        },
    );
    add(
        registry,
        ("merge_tdigest", "merge_tdigest(array(tdigest)) -> tdigest"),
        "The digest of what all the digests were made of; null if there is none.",
        (&format!("value_at_quantile(merge_tdigest(ARRAY[d, d]), 1.0) {digest}"), "9.0"),
        |args| {
            bound(args, vec![Type::array(t_digest())], t_digest(), |row| {
                let digests = row.value(0);
                let mut merged: Option<TDigest> = None;
                for bytes in elements(&digests).iter().filter_map(bytes_of) {
                    let digest = TDigest::from_bytes(bytes).ok_or_else(malformed)?;
                    match &mut merged {
                        Some(merged) => merged.merge(&digest),
                        None => merged = Some(digest),
                    }
                }
                let bytes = merged.map(|it| Value::Varbinary(it.to_bytes().into()));
                Ok(bytes.unwrap_or(Value::Null))
            })
        },
    );
}

fn parts_type() -> Type {
    let number = |name: &str| Field::new(name, Type::Double);
    Type::row([
        Field::new("centroid_means", Type::array(Type::Double)),
        Field::new("centroid_weights", Type::array(Type::Integer)),
        number("compression"),
        number("min"),
        number("max"),
        number("sum"),
        Field::new("count", Type::BigInt),
    ])
}

fn parts_of(digest: &TDigest) -> Value {
    let means = digest.centroids().iter().map(|it| Value::Double(it.mean)).collect();
    // Conversions of floats to integers saturate.
    let weight = |it: &Centroid| Value::Integer(it.weight.round() as i32);
    let weights = digest.centroids().iter().map(weight).collect();
    let stats = digest.statistics().map(Value::Double);
    let count = Value::BigInt(digest.total().round() as i64);
    let arrays = [Value::Array(means), Value::Array(weights)];
    Value::Row(arrays.into_iter().chain(stats).chain([count]).collect())
}

fn construct(row: ValueRow<'_>) -> Result<Value> {
    let invalid = || Error::invalid_value("parts that make no T-digest");
    let numbers = |argument: usize| {
        let array = row.value(argument);
        elements(&array)
            .iter()
            .map(|it| f64::of(it).ok_or_else(invalid))
            .collect::<Result<Vec<_>>>()
    };
    let (means, weights) = (numbers(0)?, numbers(1)?);
    let count = row.integer(6).unwrap_or(0) as f64;
    if means.len() != weights.len() || (weights.iter().sum::<f64>() - count).abs() > 0.5 {
        return Err(invalid());
    }
    let pairs = means.into_iter().zip(weights);
    let centroids = pairs.map(|(mean, weight)| Centroid { mean, weight }).collect();
    let stats = [number(row, 3), number(row, 4), number(row, 5)];
    let digest = TDigest::from_parts(number(row, 2), stats, centroids).ok_or_else(invalid)?;
    Ok(Value::Varbinary(digest.to_bytes().into()))
}

fn register_kll(registry: &mut Registry) {
    let of = "FROM (SELECT sketch_kll(x) FROM (VALUES (1), (2), (9)) t(x)) s(k)";
    add(
        registry,
        ("sketch_kll_quantile", "sketch_kll_quantile(kllsketch(T), rank[, inclusive]) -> T"),
        "The least value with at least that share, from 0 to 1, of the values at or below it, or \
         more than that share when not inclusive.",
        (&format!("sketch_kll_quantile(k, 1.0) {of}"), "9"),
        |args| {
            let element = SketchKind::Kll.element_of(args.first()?)?;
            let types = [args.first()?.clone(), Type::Double, Type::Boolean];
            let types = types.get(..args.len())?.to_vec();
            let result = element.clone();
            let function = by_item(
                &element,
                [
                    kll_quantile::<i64>,
                    kll_quantile::<f64>,
                    kll_quantile::<String>,
                    kll_quantile::<bool>,
                ],
            );
            bound(args, types, result, function)
        },
    );
    add(
        registry,
        ("sketch_kll_rank", "sketch_kll_rank(kllsketch(T), value[, inclusive]) -> double"),
        "The share of values at or below a value, or below it when not inclusive.",
        (&format!("sketch_kll_rank(k, 9, false) {of}"), "0.6666666666666666"),
        |args| {
            let element = SketchKind::Kll.element_of(args.first()?)?;
            let types = [args.first()?.clone(), element.clone(), Type::Boolean];
            let types = types.get(..args.len())?.to_vec();
            let function = by_item(
                &element,
                [kll_rank::<i64>, kll_rank::<f64>, kll_rank::<String>, kll_rank::<bool>],
            );
            bound(args, types, Type::Double, function)
        },
    );
}

fn is_inclusive(row: ValueRow<'_>) -> bool {
    row.value(2).as_bool() != Some(false)
}

fn kll_quantile<T: StoredItem>(row: ValueRow<'_>) -> Result<Value> {
    let kll: Kll<T> = sketch(row)?;
    let fraction = fractions(&row.value(1))?.first().copied().unwrap_or(0.0);
    let found = kll.quantile(fraction, is_inclusive(row));
    Ok(found.map_or(Value::Null, T::into_value))
}

fn kll_rank<T: StoredItem>(row: ValueRow<'_>) -> Result<Value> {
    let kll: Kll<T> = sketch(row)?;
    let rank = T::of_value(&row.value(1)).and_then(|it| kll.rank(&it, is_inclusive(row)));
    Ok(optional(rank))
}
