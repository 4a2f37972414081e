//! `approx_quantile`, and `approx_percentile` of other packages, by KLL sketches.

use crate::{
    documentation::doc,
    kll::{Kll, NumberItem},
    value_aggregate::{self, ValueAggregate, ValueRow, elements},
};
use std::{marker::PhantomData, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// How far a rank may be off where nothing else is asked for.
const DEFAULT_ACCURACY: f64 = 0.0133;

/// Registers `approx_quantile`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "approx_quantile(x, fraction(s)) -> as x, or array(as x)",
        "The value at a fraction from 0 to 1 of the values that are not null, or an array of those \
         at several: by nearest rank, exact for up to 200 values, and then with a rank that is \
         wrong by at most 1.33 %. Decimals become DOUBLE.",
        "aggregate",
        &[
            ("approx_quantile(x, 0.5) FROM (VALUES (1), (2), (9)) t(x)", "2"),
            ("approx_quantile(x, [0.1, 0.9]) FROM (VALUES (1), (2), (9)) t(x)", "[1, 9]"),
        ],
    );
    let bind = |args: &[Type]| if args.len() == 2 { bind_percentile(args) } else { None };
    registry.add_aggregate("approx_quantile", doc, Arc::new(bind));
}

/// Which argument is which; the value is the first.
#[derive(Clone, Copy)]
struct Places {
    weight: Option<usize>,
    percentage: usize,
    accuracy: Option<usize>,
}

/// The binding of `(x[, weight], percentage(s)[, accuracy])`.
pub fn bind_percentile(args: &[Type]) -> Option<BoundAggregate> {
    let becomes = |from: &Type, to: &Type| implicit_cast_cost(from, to).is_some();
    let arrays = Type::array(Type::Double);
    let is_percentage = |it: &Type| becomes(it, &Type::Double) || becomes(it, &arrays);
    let value = args.first()?.clone();
    // An integer in front of another number is a weight.
    let has_weight = args.len() > 2 && becomes(args.get(1)?, &Type::BigInt);
    let percentage = if has_weight { 2 } else { 1 };
    let given = args.get(percentage).filter(|it| is_percentage(it))?;
    let is_array = !becomes(given, &Type::Double);
    let accuracy = args.get(percentage + 1);
    let has_too_many = args.len() > percentage + 2;
    if has_too_many || accuracy.is_some_and(|it| !becomes(it, &Type::Double)) {
        return None;
    }
    let mut types = vec![value.clone()];
    types.extend(has_weight.then_some(Type::BigInt));
    types.push(if is_array { arrays } else { Type::Double });
    types.extend(accuracy.map(|_| Type::Double));
    let places = Places {
        weight: has_weight.then_some(1),
        percentage,
        accuracy: accuracy.map(|_| percentage + 1),
    };
    let types = (types, value);
    match &types.1 {
        Type::TinyInt | Type::SmallInt | Type::Integer | Type::BigInt => {
            Some(bound::<i64>(types, is_array, places))
        }
        Type::Real | Type::Double => Some(bound::<f64>(types, is_array, places)),
        Type::Decimal { .. } => {
            let (mut types, _) = types;
            *types.first_mut()? = Type::Double;
            Some(bound::<f64>((types, Type::Double), is_array, places))
        }
        _ => None,
    }
}

fn bound<T: Number>(
    (types, value): (Vec<Type>, Type),
    is_array: bool,
    places: Places,
) -> BoundAggregate {
    let partial = Type::row([
        Field::new("percentages", Type::array(Type::Double)),
        Field::new("sketch", Type::Varbinary),
    ]);
    let result = if is_array { Type::array(value.clone()) } else { value.clone() };
    let aggregate = Percentile::<T> { value, is_array, places, item: PhantomData };
    value_aggregate::bound(types, partial, result, aggregate)
}

/// Numbers that sketches are made of.
pub trait Number: NumberItem {
    /// The item that a value is.
    fn of(value: &Value) -> Option<Self>;

    /// The item as a value of the type.
    fn value(self, data_type: &Type) -> Value;
}

impl Number for i64 {
    fn of(value: &Value) -> Option<i64> {
        value.as_i128().and_then(|it| it.try_into().ok())
    }

    fn value(self, data_type: &Type) -> Value {
        // Items are values of the type, so they fit.
        match data_type {
            Type::TinyInt => Value::TinyInt(self as i8),
            Type::SmallInt => Value::SmallInt(self as i16),
            Type::Integer => Value::Integer(self as i32),
            _ => Value::BigInt(self),
        }
    }
}

impl Number for f64 {
    fn of(value: &Value) -> Option<f64> {
        match value {
            Value::Real(value) => Some((*value).into()),
            Value::Double(value) => Some(*value),
            _ => None,
        }
    }

    fn value(self, data_type: &Type) -> Value {
        match data_type {
            Type::Real => Value::Real(self as f32),
            _ => Value::Double(self),
        }
    }
}

struct Percentile<T> {
    value: Type,
    is_array: bool,
    places: Places,
    item: PhantomData<fn() -> T>,
}

/// A sketch and the percentages that are asked for.
#[derive(Clone)]
struct Asked<T> {
    percentages: Box<[f64]>,
    sketch: Kll<T>,
}

impl<T: Number> Percentile<T> {
    fn start(&self, row: ValueRow<'_>) -> Result<Box<Asked<T>>> {
        let percentages = numbers(&row.value(self.places.percentage))?;
        for percentage in &percentages {
            if !(0.0..=1.0).contains(percentage) {
                let message = format!("a percentage must be from 0 to 1: {percentage}");
                return Err(Error::invalid_value(message));
            }
        }
        let accuracy = match self.places.accuracy {
            Some(at) => row.number(at).unwrap_or(f64::NAN),
            None => DEFAULT_ACCURACY,
        };
        if !(accuracy > 0.0 && accuracy < 1.0) {
            let message = format!("an accuracy must be above 0 and below 1: {accuracy}");
            return Err(Error::invalid_value(message));
        }
        let sketch = Kll::new(Kll::<T>::k_of_error(accuracy));
        Ok(Box::new(Asked { percentages: percentages.into(), sketch }))
    }
}

/// The numbers of a number or of an array.
fn numbers(value: &Value) -> Result<Vec<f64>> {
    let null = || Error::invalid_value("a percentage must not be null");
    match value {
        Value::Array(values) => values.iter().map(|it| f64::of(it).ok_or_else(null)).collect(),
        other => Ok(vec![f64::of(other).ok_or_else(null)?]),
    }
}

/// The error of weights whose sum is too large.
pub fn weights_overflow() -> Error {
    Error::invalid_value("the sum of weights is too large")
}

impl<T: Number> ValueAggregate for Percentile<T> {
    type State = Option<Box<Asked<T>>>;

    fn add(&self, state: &mut Self::State, row: ValueRow<'_>) -> Result<()> {
        let asked = match state {
            Some(asked) => asked,
            None => state.insert(self.start(row)?),
        };
        let Some(item) = T::of(&row.value(0)) else { return Ok(()) };
        let weight = match self.places.weight {
            Some(at) => match row.integer(at) {
                Some(weight) => weight,
                None => return Ok(()),
            },
            None => 1,
        };
        let weight = u64::try_from(weight)
            .ok()
            .filter(|it| *it > 0)
            .ok_or_else(|| Error::invalid_value(format!("a weight must be above 0: {weight}")))?;
        if asked.sketch.add(item, weight) { Ok(()) } else { Err(weights_overflow()) }
    }

    fn merge(&self, state: &mut Self::State, partial: &Value) -> Result<()> {
        let [percentages, Value::Varbinary(sketch)] = elements(partial) else { return Ok(()) };
        let malformed = || Error::internal("malformed intermediate result of approx_percentile");
        let sketch = Kll::from_bytes(sketch).ok_or_else(malformed)?;
        let Some(asked) = state else {
            let percentages = numbers(percentages)?.into();
            *state = Some(Box::new(Asked { percentages, sketch }));
            return Ok(());
        };
        if asked.sketch.merge(&sketch) { Ok(()) } else { Err(weights_overflow()) }
    }

    fn partial(&self, state: &Self::State) -> Result<Value> {
        let Some(asked) = state else { return Ok(Value::Null) };
        let percentages = asked.percentages.iter().copied().map(Value::Double).collect();
        let sketch = Value::Varbinary(asked.sketch.to_bytes().into());
        Ok(Value::Row([Value::Array(percentages), sketch].into()))
    }

    fn result(&self, state: &Self::State) -> Result<Value> {
        let Some(asked) = state else { return Ok(Value::Null) };
        let Some(items) = asked.sketch.quantiles(&asked.percentages) else {
            return Ok(Value::Null);
        };
        let mut values = items.into_iter().map(|it| it.value(&self.value));
        Ok(match self.is_array {
            true => Value::Array(values.collect()),
            false => values.next().unwrap_or(Value::Null),
        })
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |it| {
            size_of::<Asked<T>>() + it.percentages.len() * 8 + it.sketch.heap_bytes()
        })
    }
}
