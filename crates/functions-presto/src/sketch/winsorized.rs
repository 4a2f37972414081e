//! `approx_winsorized_mean`: a mean with the tails brought in, by a T-digest.

use super::{TDigest, t_digest::DEFAULT_COMPRESSION};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, FunctionDoc, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow, elements};
use volley_types::{Field, Type, Value, implicit_cast_cost};

/// Registers `approx_winsorized_mean`.
pub(super) fn register(registry: &mut Registry) {
    let doc = FunctionDoc::new(
        "approx_winsorized_mean(x, low, high[, compression]) -> double",
        "The mean of the values that are not null, those outside of two quantiles from 0 to 1 \
         replaced by about the values there, by a T-digest of the compression, 100 when left out.",
        "aggregate",
        &[("approx_winsorized_mean(x, 0.0, 1.0) FROM (VALUES (1), (2), (6)) t(x)", "3.0")],
    );
    registry.add_aggregate("presto.approx_winsorized_mean", doc, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let is_double = |it: &Type| implicit_cast_cost(it, &Type::Double).is_some();
    if !matches!(args.len(), 3 | 4) || !args.iter().all(is_double) {
        return None;
    }
    let partial = Type::row([
        Field::new("low", Type::Double),
        Field::new("high", Type::Double),
        Field::new("digest", Type::Varbinary),
    ]);
    let types = vec![Type::Double; args.len()];
    Some(value_aggregate::bound(types, partial, Type::Double, WinsorizedMean))
}

struct WinsorizedMean;

/// A digest and the quantiles that are asked for.
#[derive(Clone)]
struct Asked {
    low: f64,
    high: f64,
    digest: TDigest,
}

impl Asked {
    fn of(row: ValueRow<'_>) -> Result<Asked> {
        let number = |argument: usize| row.number(argument).unwrap_or(f64::NAN);
        let (low, high) = (number(1), number(2));
        if !(0.0 <= low && low <= high && high <= 1.0) {
            let message = format!("quantiles must be in order and from 0 to 1: {low}, {high}");
            return Err(Error::invalid_value(message));
        }
        let digest = TDigest::new(row.number(3).unwrap_or(DEFAULT_COMPRESSION));
        Ok(Asked { low, high, digest })
    }
}

impl ValueAggregate for WinsorizedMean {
    type State = Option<Box<Asked>>;

    fn add(&self, state: &mut Self::State, row: ValueRow<'_>) -> Result<()> {
        let asked = match state {
            Some(asked) => asked,
            None => state.insert(Box::new(Asked::of(row)?)),
        };
        let value = row.number(0).unwrap_or(f64::NAN);
        if !value.is_finite() {
            let message = format!("approx_winsorized_mean takes finite numbers: {value}");
            return Err(Error::invalid_value(message));
        }
        asked.digest.add(value, 1.0);
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, partial: &Value) -> Result<()> {
        let [Value::Double(low), Value::Double(high), Value::Varbinary(bytes)] = elements(partial)
        else {
            return Ok(());
        };
        let malformed = || Error::internal("malformed partial result of approx_winsorized_mean");
        let digest = TDigest::from_bytes(bytes).ok_or_else(malformed)?;
        match state {
            Some(asked) => asked.digest.merge(&digest),
            None => *state = Some(Box::new(Asked { low: *low, high: *high, digest })),
        }
        Ok(())
    }

    fn partial(&self, state: &Self::State) -> Result<Value> {
        let Some(asked) = state else { return Ok(Value::Null) };
        let digest = Value::Varbinary(asked.digest.to_bytes().into());
        let fields = [Value::Double(asked.low), Value::Double(asked.high), digest];
        Ok(Value::Row(fields.into()))
    }

    fn result(&self, state: &Self::State) -> Result<Value> {
        let Some(asked) = state else { return Ok(Value::Null) };
        let mean = asked.digest.compressed().winsorized_mean(asked.low, asked.high);
        Ok(mean.map_or(Value::Null, Value::Double))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |it| size_of::<Asked>() + it.digest.heap_bytes())
    }
}
