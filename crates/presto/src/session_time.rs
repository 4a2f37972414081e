//! TIMESTAMP and TIME of a session in a time zone.
//!
//! ```text
//! Presto, with legacy_timestamp   the instant at which clocks of the session's zone show it
//! here                            what clocks show
//! ```
//!
//! Values are converted where a plan's constants and timestamps of tables are read, where tables
//! are written, and where the last fragment writes pages for the coordinator; between workers they
//! are what clocks show. A time of day is one of 1970-01-01. Presto without `legacy_timestamp` has
//! what clocks show, too.

use volley_error::{Error, Result};
use volley_types::{Type, Value, Zone, civil::MICROS_PER_DAY};
use volley_vector::{Batch, Decoded, Vector};

/// How values of a session are converted.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionTime {
    /// The zone, if values must be converted.
    zone: Option<Zone>,
}

impl SessionTime {
    /// Of a session with `legacy_timestamp` in this zone.
    pub(crate) fn in_zone(zone: &Zone) -> SessionTime {
        let is_utc = ["UTC", "Etc/UTC", "GMT"].contains(&zone.name());
        SessionTime { zone: (!is_utc).then(|| zone.clone()) }
    }

    /// A value of Presto's as it is here.
    pub(crate) fn value_from_presto(&self, value: Value) -> Value {
        let Some(zone) = &self.zone else { return value };
        mapped(value, &|it| match it {
            Value::Timestamp(instant) => Value::Timestamp(zone.clock().local_of(instant)),
            Value::Time(instant) => {
                let local = instant + offset_of_times(zone);
                Value::Time(local.rem_euclid(MICROS_PER_DAY))
            }
            other => other,
        })
    }

    /// The zone between whose clocks and UTC the values of a column of a table must be
    /// converted; `None` if they stay as they are.
    ///
    /// # Errors
    ///
    /// Unsupported: times in nested values, and times of day.
    pub(crate) fn zone_of_stored(&self, data_type: &Type) -> Result<Option<&Zone>> {
        match &self.zone {
            Some(zone) if *data_type == Type::Timestamp => Ok(Some(zone)),
            Some(zone) if has_times(data_type) => {
                let message = format!("columns of type {data_type} of tables in the time zone");
                let error = Error::unsupported(format!("{message} {}", zone.name()));
                Err(error.hint("start the query in the time zone UTC"))
            }
            _ => Ok(None),
        }
    }

    /// Whether values of a type must be converted.
    pub(crate) fn converts(&self, data_type: &Type) -> bool {
        self.zone.is_some() && has_times(data_type)
    }

    /// The rows as Presto has them.
    ///
    /// # Errors
    ///
    /// What a lazy column reports.
    pub(crate) fn batch_to_presto(&self, batch: Batch) -> Result<Batch> {
        let Some(zone) = &self.zone else { return Ok(batch) };
        let rows = batch.rows();
        let mut columns = Vec::with_capacity(batch.columns().len());
        for column in batch.columns() {
            columns.push(match has_times(column.data_type()) {
                true => column_to_presto(column, zone)?,
                false => column.clone(),
            });
        }
        Ok(Batch::new(columns, rows))
    }
}

fn column_to_presto(column: &Vector, zone: &Zone) -> Result<Vector> {
    let data_type = column.data_type();
    if *data_type == Type::Timestamp {
        let decoded = Decoded::new(column)?;
        let values = decoded.native::<i64>();
        let mut clock = zone.clock();
        let mut instant = |row| match decoded.is_null(row) {
            true => 0,
            false => clock.first_instant_of(values[decoded.index(row)]),
        };
        let instants: Vec<i64> = (0..column.len()).map(&mut instant).collect();
        return Ok(Vector::native::<i64>(Type::Timestamp, instants, decoded.nulls()));
    }
    let values = column.to_values()?.into_iter().map(|value| {
        mapped(value, &|it| match it {
            Value::Timestamp(local) => Value::Timestamp(zone.clock().first_instant_of(local)),
            Value::Time(local) => Value::Time(local - offset_of_times(zone)),
            other => other,
        })
    });
    Ok(Vector::from_values(data_type.clone(), &values.collect::<Vec<Value>>()))
}

/// How far clocks are ahead of UTC on the day of times, in microseconds.
fn offset_of_times(zone: &Zone) -> i64 {
    zone.clock().local_of(0)
}

fn has_times(data_type: &Type) -> bool {
    match data_type {
        Type::Timestamp | Type::Time => true,
        Type::Array(element) => has_times(element),
        Type::Map(entry) => has_times(&entry.0) || has_times(&entry.1),
        Type::Row(fields) => fields.iter().any(|it| has_times(&it.data_type)),
        _ => false,
    }
}

/// The value with all values in it that are no nested ones changed.
fn mapped(value: Value, change: &impl Fn(Value) -> Value) -> Value {
    let each = |it: &Value| mapped(it.clone(), change);
    match value {
        Value::Array(elements) => Value::Array(elements.iter().map(each).collect()),
        Value::Row(fields) => Value::Row(fields.iter().map(each).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (each(key), each(value))).collect())
        }
        other => change(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn zone(name: &str) -> SessionTime {
        SessionTime::in_zone(&Zone::find(name).expect("a zone"))
    }

    fn check(name: &str, presto: Value, here: Value, data_type: &Type) {
        let time = zone(name);
        assert_eq!(time.value_from_presto(presto.clone()), here, "{name}");
        let batch =
            Batch::new(vec![Vector::from_values(data_type.clone(), &[here, Value::Null])], 2);
        let written = time.batch_to_presto(batch).expect("times");
        assert_eq!(written.column(0).to_values().expect("values"), [presto, Value::Null]);
    }

    #[test]
    fn timestamps_are_instants_in_presto() {
        let timestamp = |hours: i64| Value::Timestamp(hours * HOUR);
        check("UTC", timestamp(5), timestamp(5), &Type::Timestamp);
        check("Etc/GMT-2", timestamp(5), timestamp(7), &Type::Timestamp);
        check("America/Los_Angeles", timestamp(0), timestamp(-8), &Type::Timestamp);
        let nested = |hours| Value::Array([timestamp(hours), Value::Null].into());
        check("Etc/GMT-2", nested(5), nested(7), &Type::array(Type::Timestamp));
        let entry = |hours| Value::Map([(timestamp(hours), Value::BigInt(hours))].into());
        let time = zone("Etc/GMT-2");
        let Value::Map(found) = time.value_from_presto(entry(1)) else { panic!("no map") };
        assert_eq!(found[0], (timestamp(3), Value::BigInt(1)));
    }

    #[test]
    fn times_of_day_are_those_of_the_first_day() {
        check("Etc/GMT-2", Value::Time(5 * HOUR), Value::Time(7 * HOUR), &Type::Time);
        check("Etc/GMT-2", Value::Time(-HOUR), Value::Time(HOUR), &Type::Time);
        check("Etc/GMT+8", Value::Time(29 * HOUR), Value::Time(21 * HOUR), &Type::Time);
    }

    #[test]
    fn times_of_tables_are_converted_or_refused() {
        let nested = Type::array(Type::Timestamp);
        assert!(zone("UTC").zone_of_stored(&nested).expect("no zone").is_none());
        let berlin = zone("Europe/Berlin");
        assert!(berlin.zone_of_stored(&Type::Date).expect("a date").is_none());
        let found = berlin.zone_of_stored(&Type::Timestamp).expect("a timestamp");
        assert_eq!(found.map(Zone::name), Some("Europe/Berlin"));
        assert!(berlin.converts(&nested) && !berlin.converts(&Type::Date));
        let error = berlin.zone_of_stored(&nested).unwrap_err();
        assert!(error.message().contains("Europe/Berlin"), "{error}");
    }

    #[test]
    fn other_values_stay() {
        check("Etc/GMT-2", Value::BigInt(5), Value::BigInt(5), &Type::BigInt);
        check("Etc/GMT-2", Value::text("5"), Value::text("5"), &Type::Varchar);
    }
}
