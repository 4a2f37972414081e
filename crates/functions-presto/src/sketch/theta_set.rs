//! Functions of theta sketches, which are VARBINARY: `sketch_theta`, `sketch_theta_estimate`,
//! `sketch_theta_summary`.

use super::{
    aggregate,
    approx_set::hashed_bytes,
    scalar::{self, bytes_of, malformed},
    theta::ThetaSketch,
};
use volley_error::Result;
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{self, ValueAggregate, ValueRow};
use volley_types::{Field, Type, Value};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    aggregate::add(
        registry,
        ("sketch_theta", "sketch_theta(x) -> varbinary"),
        "A theta sketch, in the bytes of DataSketches, of the set of values that are not null.",
        "sketch_theta_estimate(sketch_theta(x)) FROM (VALUES (1), (2), (2)) t(x)",
        "2.0",
        bind,
    );
    let of = "FROM (SELECT sketch_theta(x) FROM (VALUES (1), (2), (2)) t(x)) v(s)";
    scalar::add(
        registry,
        ("sketch_theta_estimate", "sketch_theta_estimate(varbinary) -> double"),
        "About how many different values a theta sketch was made of.",
        (&format!("sketch_theta_estimate(s) {of}"), "2.0"),
        |args| {
            scalar::bound(args, vec![Type::Varbinary], Type::Double, |row| {
                Ok(Value::Double(sketch(row)?.summary().estimate))
            })
        },
    );
    scalar::add(
        registry,
        (
            "sketch_theta_summary",
            "sketch_theta_summary(varbinary) -> row(estimate, theta, upper_bound_std, \
             lower_bound_std, retained_entries)",
        ),
        "What a theta sketch tells: about how many different values there are, the share of their \
         hashes that it holds, the bounds of one standard deviation, and how many hashes it holds.",
        (
            &format!("sketch_theta_summary(s) {of}"),
            "{'estimate': 2.0, 'theta': 1.0, 'upper_bound_std': 2.0, 'lower_bound_std': 2.0, \
             'retained_entries': 2}",
        ),
        |args| scalar::bound(args, vec![Type::Varbinary], summary_type(), summary),
    );
}

fn summary_type() -> Type {
    let number = |name: &str| Field::new(name, Type::Double);
    Type::row([
        number("estimate"),
        number("theta"),
        number("upper_bound_std"),
        number("lower_bound_std"),
        Field::new("retained_entries", Type::Integer),
    ])
}

fn summary(row: ValueRow<'_>) -> Result<Value> {
    let found = sketch(row)?.summary();
    let numbers = [found.estimate, found.theta, found.upper, found.lower].map(Value::Double);
    // Below 2^26.
    let hashes = Value::Integer(found.hashes as i32);
    Ok(Value::Row(numbers.into_iter().chain([hashes]).collect()))
}

fn sketch(row: ValueRow<'_>) -> Result<ThetaSketch> {
    let value = row.value(0);
    bytes_of(&value).and_then(ThetaSketch::from_bytes).ok_or_else(malformed)
}

fn bind(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    let is_hashed = (value.is_integer() && *value != Type::HugeInt)
        || matches!(
            value,
            Type::Real
                | Type::Double
                | Type::Varchar
                | Type::Varbinary
                | Type::Date
                | Type::Time
                | Type::Timestamp
        );
    let types = || args.to_vec();
    is_hashed.then(|| value_aggregate::bound(types(), Type::Varbinary, Type::Varbinary, ThetaSet))
}

/// Makes sketches of rows; of no rows, that of the empty set.
struct ThetaSet;

impl ValueAggregate for ThetaSet {
    type State = ThetaSketch;
    const IGNORES_NULLS: &'static [bool] = &[true];

    fn add(&self, state: &mut ThetaSketch, row: ValueRow<'_>) -> Result<()> {
        if let Some(bytes) = hashed_bytes(&row.value(0)) {
            state.add(&bytes);
        }
        Ok(())
    }

    fn merge(&self, state: &mut ThetaSketch, partial: &Value) -> Result<()> {
        if let Some(bytes) = bytes_of(partial) {
            state.merge(&ThetaSketch::from_bytes(bytes).ok_or_else(malformed)?);
        }
        Ok(())
    }

    fn partial(&self, state: &ThetaSketch) -> Result<Value> {
        Ok(Value::Varbinary(state.to_bytes().into()))
    }

    fn result(&self, state: &ThetaSketch) -> Result<Value> {
        self.partial(state)
    }

    fn external_state_bytes(&self, state: &ThetaSketch) -> usize {
        state.heap_bytes()
    }
}
