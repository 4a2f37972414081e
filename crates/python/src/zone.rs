//! Names of time zones of Arrow columns.
//!
//! The engine's TIMESTAMP WITH TIME ZONE has no zone. A column of Arrow that names one has a type
//! of the same name, which equals the engine's own. It travels with the types of a plan as far as
//! these are kept, and tells the zone of a result.
//!
//! Zones inside of lists and rows are not kept: they become UTC.

use arrow_array::{Array, ArrayRef, cast::AsArray, types::TimestampMicrosecondType};
use arrow_schema::{DataType, Schema as ArrowSchema, TimeUnit};
use std::sync::{Arc, Mutex, PoisonError};
use volley::{Schema, Type, Value};
use volley_types::{
    Exchange, Zone,
    custom::{Custom, CustomType, TimestampTz},
};

/// TIMESTAMP WITH TIME ZONE of a column that names its zone.
#[derive(Debug)]
struct SourceZone {
    /// What the type does.
    inner: Custom,
    name: Arc<str>,
}

/// All types of this kind, one for each name and session zone, so that the zone of a type can be
/// found.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

struct Known {
    custom: Custom,
    name: Arc<str>,
    /// The zone of the session that writes the values; `None` is UTC.
    session: Option<Zone>,
}

/// The fields of an Arrow schema, with types that know their zones.
pub(crate) fn with_source_zones(schema: Schema, arrow: &ArrowSchema) -> Schema {
    let fields = schema.fields.into_iter().zip(arrow.fields());
    let fields = fields.map(|(mut field, from)| {
        if let DataType::Timestamp(_, Some(zone)) = from.data_type()
            && &**zone != "UTC"
            && let Type::Custom(plain) = TimestampTz::data_type()
        {
            field.data_type = Type::Custom(known(zone, None, &plain));
        }
        field
    });
    Schema::new(fields.collect())
}

/// The zone that the source of a column named; `None` for other types, and for UTC.
pub(crate) fn source_zone(data_type: &Type) -> Option<Arc<str>> {
    let Type::Custom(custom) = data_type else { return None };
    let all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let address: *const dyn CustomType = &**custom;
    let found = all.iter().find(|it| {
        let known: *const dyn CustomType = &*it.custom;
        std::ptr::addr_eq(known, address)
    });
    found.map(|it| Arc::clone(&it.name))
}

/// The Arrow type of timestamps in a zone.
pub(crate) fn arrow_type(zone: &Arc<str>) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::clone(zone)))
}

/// The array as one of `to`: timestamps with another name of a zone. Others stay what they are.
pub(crate) fn in_zone_of(array: ArrayRef, to: &DataType) -> ArrayRef {
    let (DataType::Timestamp(TimeUnit::Microsecond, Some(_)), DataType::Timestamp(_, Some(zone))) =
        (array.data_type(), to)
    else {
        return array;
    };
    let timestamps = array.as_primitive::<TimestampMicrosecondType>().clone();
    Arc::new(timestamps.with_timezone(Arc::clone(zone)))
}

/// The type of a name in a session zone.
fn known(name: &str, session: Option<&Zone>, inner: &Custom) -> Custom {
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = all.iter().find(|it| &*it.name == name && it.session.as_ref() == session);
    if let Some(found) = found {
        return found.custom.clone();
    }
    let name: Arc<str> = name.into();
    let custom = Custom::new(SourceZone { inner: inner.clone(), name: Arc::clone(&name) });
    all.push(Known { custom: custom.clone(), name, session: session.cloned() });
    custom
}

impl CustomType for SourceZone {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn storage(&self) -> &Type {
        self.inner.storage()
    }

    fn push(&self, out: &mut String, stored: &Value) {
        self.inner.push(out, stored);
    }

    fn parse(&self, text: &str) -> Option<Value> {
        self.inner.parse(text)
    }

    fn exchange(&self) -> Exchange {
        self.inner.exchange()
    }

    fn absorbs(&self, other: &Type) -> bool {
        self.inner.absorbs(other)
    }

    fn in_zone(&self, zone: &Zone) -> Option<Custom> {
        let inner = self.inner.in_zone(zone)?;
        Some(known(&self.name, Some(zone), &inner))
    }
}
