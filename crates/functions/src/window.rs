//! Window functions. Aggregates are not here: each of them can be called over a window.

mod rank;
mod distribution;
mod neighbor;
mod frame_value;
mod fill;

use volley_function::Registry;
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Registers all window functions.
pub(crate) fn register(registry: &mut Registry) {
    rank::register(registry);
    distribution::register(registry);
    neighbor::register(registry);
    frame_value::register(registry);
    fill::register(registry);
}

/// Whether a value of the type can count rows.
fn is_count(data_type: &Type) -> bool {
    data_type.is_integer() || *data_type == Type::Unknown
}

/// The BIGINT of each row; null rows have none. `column` is flat.
fn counts<'a>(column: &'a Decoded<'a>) -> impl Fn(usize) -> Option<i64> + 'a {
    let values = column.values().native::<i64>().unwrap_or(&[]);
    move |row| if column.is_null(row) { None } else { values.get(row).copied() }
}

fn bigints(values: Vec<i64>) -> Vector {
    Vector::native::<i64>(Type::BigInt, values, None)
}
