//! Functions for TIMESTAMP, applied to the local time of an instant in the session's zone.

use super::{is_instant, to_instants, to_local};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    Argument, BindScalar, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarFunction,
};
use volley_types::{Type, Value, custom::TimestampTz, implicit_cast_cost};
use volley_vector::{Rows, Vector};

/// The functions whose result depends on the local time alone.
const OF_LOCAL: [&str; 29] = [
    "era",
    "millennium",
    "century",
    "decade",
    "year",
    "isoyear",
    "quarter",
    "month",
    "yearweek",
    "week",
    "weekofyear",
    "day",
    "dayofmonth",
    "dayofweek",
    "weekday",
    "dow",
    "isodow",
    "dayofyear",
    "doy",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "julian",
    "last_day",
    "dayname",
    "monthname",
    "age",
];

/// The functions whose result depends on the instant alone.
const OF_INSTANT: [&str; 5] = ["epoch", "epoch_us", "epoch_ms", "isinf", "isfinite"];

/// Registers an overload for each of the functions.
pub(super) fn register(registry: &mut Registry) {
    for (names, takes_local) in [(&OF_LOCAL[..], true), (&OF_INSTANT[..], false)] {
        for name in names {
            let Some(entry) = registry.scalars().get(*name) else { continue };
            let overloads = entry.overloads.clone();
            let bind = Arc::new(move |args: &[Type]| bind(&overloads, args, takes_local));
            registry.add_scalar(name, FunctionDoc::default(), bind);
        }
    }
}

/// The best overload for timestamps in place of instants.
fn bind(overloads: &[BindScalar], given: &[Type], takes_local: bool) -> Option<BoundScalar> {
    if !given.iter().any(is_instant) {
        return None;
    }
    let plain = |it: &Type| if is_instant(it) { Type::Timestamp } else { it.clone() };
    let plain: Vec<Type> = given.iter().map(plain).collect();
    let cost = |it: &BoundScalar| -> u32 {
        let casts = plain.iter().zip(&it.args);
        casts.map(|(from, to)| implicit_cast_cost(from, to).unwrap_or(1000)).sum()
    };
    let inner = overloads.iter().filter_map(|it| it(&plain)).min_by_key(cost)?;
    // Timestamps next to an instant are instants, too.
    let instant = TimestampTz::data_type();
    let instants = inner.args.iter().map(|it| match it {
        Type::Timestamp => instant.clone(),
        other => other.clone(),
    });
    Some(BoundScalar {
        name: String::new(),
        args: instants.collect(),
        result: inner.result,
        traits: inner.traits,
        function: Arc::new(Localized { inner: inner.function, takes_local }),
    })
}

/// A function for timestamps.
pub(super) struct Localized {
    pub(super) inner: Arc<dyn ScalarFunction>,
    /// Whether it takes local times, not instants as times in UTC.
    pub(super) takes_local: bool,
}

impl ScalarFunction for Localized {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let plain = |it: &Vector| match (is_instant(it.data_type()), self.takes_local) {
            (false, _) => Ok(it.clone()),
            (true, true) => to_local(it, ctx),
            (true, false) => Ok(it.with_type(Type::Timestamp)),
        };
        let args = args.iter().map(plain).collect::<Result<Vec<_>>>()?;
        if is_instant(to) {
            let local = self.inner.evaluate(rows, &args, &Type::Timestamp, ctx)?;
            return to_instants(&local, to, ctx);
        }
        self.inner.evaluate(rows, &args, to, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        // Constant instants are local times only once the session is known.
        let plain = |it: &Argument| match is_instant(&it.data_type) {
            true => Argument { data_type: Type::Timestamp, constant: None::<Value> },
            false => it.clone(),
        };
        let args: Vec<Argument> = args.iter().map(plain).collect();
        let inner = self.inner.specialize(&args)?;
        let takes_local = self.takes_local;
        Ok(inner.map(|inner| Arc::new(Localized { inner, takes_local }) as Arc<dyn ScalarFunction>))
    }
}
