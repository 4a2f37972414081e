//! Aggregates that make maps: `map_agg`, `multimap_agg`, `map_union`, `map_union_sum`.

use super::{doc, presto};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, Registry};
use volley_functions::value_aggregate::{
    self, Keys, ValueAggregate, ValueMap, ValueRow, elements, entries, value_bytes,
};
use volley_types::{CustomOrder, Type, Value};

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    let map_agg = doc(
        "map_agg(key, value) -> map(key, value)",
        "A map of the keys that are not null to the value of the first row of each; null without \
         keys.",
        &[("map_agg(k, v) FROM (VALUES ('a', 1), ('b', 2)) t(k, v)", "{a=1, b=2}")],
    );
    registry.add_aggregate(&presto("map_agg"), map_agg, Arc::new(bind_map));
    let multimap_agg = doc(
        "multimap_agg(key, value) -> map(key, array(value))",
        "A map of the keys that are not null to the values of all rows of each.",
        &[(
            "multimap_agg(k, v) FROM (VALUES ('a', 1), ('b', 2), ('a', NULL)) t(k, v)",
            "{a=[1, NULL], b=[2]}",
        )],
    );
    registry.add_aggregate(&presto("multimap_agg"), multimap_agg, Arc::new(bind_multimap));
    let map_union = doc(
        "map_union(map) -> as the argument",
        "The union of the maps; the value of a key is that of the first map that has it.",
        &[(
            "map_union(m) FROM (VALUES (MAP(ARRAY['a'], ARRAY[1])), \
             (MAP(ARRAY['a', 'b'], ARRAY[2, 3]))) t(m)",
            "{a=1, b=3}",
        )],
    );
    registry.add_aggregate(&presto("map_union"), map_union, Arc::new(bind_union));
    let map_union_sum = doc(
        "map_union_sum(map(key, number)) -> as the argument",
        "The union of the maps; the value of a key is the sum of its values, where null is 0.",
        &[(
            "map_union_sum(m) FROM (VALUES (MAP(ARRAY['a'], ARRAY[1])), \
             (MAP(ARRAY['a', 'b'], ARRAY[2, NULL]))) t(m)",
            "{a=3, b=0}",
        )],
    );
    registry.add_aggregate(&presto("map_union_sum"), map_union_sum, Arc::new(bind_union_sum));
}

fn in_order(bound: BoundAggregate) -> BoundAggregate {
    BoundAggregate { order_sensitive: true, ..bound }
}

fn bind_map(args: &[Type]) -> Option<BoundAggregate> {
    let [key, value] = args else { return None };
    if key.order() < CustomOrder::Equality {
        return None;
    }
    let map = Type::map(key.clone(), value.clone());
    let aggregate = MapOf { keys: Keys::of(key), from: From::Rows };
    Some(in_order(value_aggregate::bound(args.to_vec(), map.clone(), map, aggregate)))
}

fn bind_union(args: &[Type]) -> Option<BoundAggregate> {
    let [map @ Type::Map(types)] = args else { return None };
    let aggregate = MapOf { keys: Keys::of(&types.0), from: From::Maps };
    Some(in_order(value_aggregate::bound(args.to_vec(), map.clone(), map.clone(), aggregate)))
}

fn bind_multimap(args: &[Type]) -> Option<BoundAggregate> {
    let [key, value] = args else { return None };
    if key.order() < CustomOrder::Equality {
        return None;
    }
    let map = Type::map(key.clone(), Type::array(value.clone()));
    let aggregate = Multimap { keys: Keys::of(key) };
    Some(in_order(value_aggregate::bound(args.to_vec(), map.clone(), map, aggregate)))
}

fn bind_union_sum(args: &[Type]) -> Option<BoundAggregate> {
    let [map @ Type::Map(types)] = args else { return None };
    let is_number = types.1.is_integer() || matches!(types.1, Type::Real | Type::Double);
    if !is_number {
        return None;
    }
    let aggregate = UnionSum { keys: Keys::of(&types.0), value: types.1.clone() };
    let partial = Type::map(types.0.clone(), sum_type(&types.1));
    Some(value_aggregate::bound(args.to_vec(), partial, map.clone(), aggregate))
}

/// Where entries come from.
enum From {
    /// A key and a value.
    Rows,
    /// A map.
    Maps,
}

/// Entries, of which the first of a key counts.
struct MapOf {
    keys: Keys,
    from: From,
}

#[derive(Clone, Default)]
struct Entries {
    has_rows: bool,
    map: ValueMap<Value>,
    /// Bytes that the values hold.
    value_bytes: usize,
}

impl MapOf {
    fn put(&self, state: &mut Entries, key: Value, value: impl FnOnce() -> Value) {
        let bytes = &mut state.value_bytes;
        state.map.entry(&self.keys, key, || {
            let value = value();
            *bytes += value_bytes(&value);
            value
        });
    }

    fn put_all(&self, state: &mut Entries, map: &Value) {
        state.has_rows = true;
        for (key, value) in entries(map) {
            self.put(state, key.clone(), || value.clone());
        }
    }
}

impl ValueAggregate for MapOf {
    type State = Entries;

    fn add(&self, state: &mut Entries, row: ValueRow<'_>) -> Result<()> {
        match self.from {
            From::Rows => {
                state.has_rows = true;
                self.put(state, row.value(0), || row.value(1));
            }
            From::Maps => self.put_all(state, &row.value(0)),
        }
        Ok(())
    }

    fn merge(&self, state: &mut Entries, partial: &Value) -> Result<()> {
        self.put_all(state, partial);
        Ok(())
    }

    fn partial(&self, state: &Entries) -> Result<Value> {
        let entry = |(key, value): (&Value, &Value)| (key.clone(), value.clone());
        let map = || Value::Map(state.map.iter().map(entry).collect());
        Ok(if state.has_rows { map() } else { Value::Null })
    }

    fn result(&self, state: &Entries) -> Result<Value> {
        self.partial(state)
    }

    fn external_state_bytes(&self, state: &Entries) -> usize {
        state.map.bytes() + state.value_bytes
    }
}

/// All values of each key.
struct Multimap {
    keys: Keys,
}

#[derive(Clone, Default)]
struct Lists {
    map: ValueMap<Vec<Value>>,
    /// Bytes that the lists hold.
    list_bytes: usize,
}

impl Multimap {
    fn put(&self, state: &mut Lists, key: Value, values: &[Value]) {
        let list = state.map.entry(&self.keys, key, Vec::new);
        let room = list.capacity();
        list.extend_from_slice(values);
        state.list_bytes += (list.capacity() - room) * size_of::<Value>();
        state.list_bytes += values.iter().map(value_bytes).sum::<usize>();
    }
}

impl ValueAggregate for Multimap {
    type State = Lists;

    fn add(&self, state: &mut Lists, row: ValueRow<'_>) -> Result<()> {
        self.put(state, row.value(0), &[row.value(1)]);
        Ok(())
    }

    fn merge(&self, state: &mut Lists, partial: &Value) -> Result<()> {
        entries(partial).iter().for_each(|it| self.put(state, it.0.clone(), elements(&it.1)));
        Ok(())
    }

    fn partial(&self, state: &Lists) -> Result<Value> {
        let entry = |(key, values): (&Value, &Vec<Value>)| {
            (key.clone(), Value::Array(values.as_slice().into()))
        };
        let map = || Value::Map(state.map.iter().map(entry).collect());
        Ok(if state.map.is_empty() { Value::Null } else { map() })
    }

    fn result(&self, state: &Lists) -> Result<Value> {
        self.partial(state)
    }

    fn external_state_bytes(&self, state: &Lists) -> usize {
        state.map.bytes() + state.list_bytes
    }
}

/// What sums of a type are kept in.
pub(super) fn sum_type(value: &Type) -> Type {
    if value.is_integer() { Type::HugeInt } else { Type::Double }
}

/// A sum of numbers of one type.
#[derive(Clone, Copy, Debug)]
pub(super) enum NumberSum {
    /// Of integers, exact.
    Integers(i128),
    /// Of floats.
    Floats(f64),
}

impl NumberSum {
    /// The number that a value is; null is 0.
    pub(super) fn of(value: &Value) -> NumberSum {
        match value {
            Value::Real(value) => NumberSum::Floats((*value).into()),
            Value::Double(value) => NumberSum::Floats(*value),
            other => NumberSum::Integers(other.as_i128().unwrap_or(0)),
        }
    }

    /// The sum of both; a null among floats is an integer 0.
    pub(super) fn plus(self, other: NumberSum) -> NumberSum {
        use NumberSum::{Floats, Integers};
        match (self, other) {
            (Integers(left), Integers(right)) => Integers(left.saturating_add(right)),
            (Integers(0), Floats(sum)) | (Floats(sum), Integers(0)) => Floats(sum),
            (Integers(left), Floats(right)) | (Floats(right), Integers(left)) => {
                Floats(left as f64 + right)
            }
            (Floats(left), Floats(right)) => Floats(left + right),
        }
    }

    fn as_float(self) -> f64 {
        match self {
            NumberSum::Integers(sum) => sum as f64,
            NumberSum::Floats(sum) => sum,
        }
    }

    /// The sum as it is kept, of the type that [`sum_type`] tells.
    pub(super) fn wide(self, of: &Type) -> Value {
        match self {
            NumberSum::Integers(sum) if of.is_integer() => Value::HugeInt(sum),
            other => Value::Double(other.as_float()),
        }
    }

    /// The sum as a value of the numbers' type.
    pub(super) fn narrow(self, to: &Type) -> Result<Value> {
        let NumberSum::Integers(sum) = self else { return Ok(float(self.as_float(), to)) };
        if !to.is_integer() {
            return Ok(float(sum as f64, to));
        }
        let value = match to {
            Type::TinyInt => i8::try_from(sum).ok().map(Value::TinyInt),
            Type::SmallInt => i16::try_from(sum).ok().map(Value::SmallInt),
            Type::Integer => i32::try_from(sum).ok().map(Value::Integer),
            Type::BigInt => i64::try_from(sum).ok().map(Value::BigInt),
            _ => Some(Value::HugeInt(sum)),
        };
        value.ok_or_else(|| Error::invalid_value(format!("the sum does not fit {to}: {sum}")))
    }
}

fn float(value: f64, to: &Type) -> Value {
    match to {
        Type::Real => Value::Real(value as f32),
        _ => Value::Double(value),
    }
}

/// The sums of the values of each key.
struct UnionSum {
    keys: Keys,
    value: Type,
}

#[derive(Clone, Default)]
struct Sums {
    has_rows: bool,
    map: ValueMap<Option<NumberSum>>,
}

impl UnionSum {
    fn put_all(&self, state: &mut Sums, map: &Value) {
        state.has_rows = true;
        for (key, value) in entries(map) {
            let sum = state.map.entry(&self.keys, key.clone(), || None);
            let new = NumberSum::of(value);
            *sum = Some(sum.map_or(new, |it| it.plus(new)));
        }
    }

    fn map(&self, state: &Sums, value: impl Fn(NumberSum) -> Result<Value>) -> Result<Value> {
        if !state.has_rows {
            return Ok(Value::Null);
        }
        let sums = state.map.sorted(&self.keys).into_iter();
        let entry = |(key, sum): (&Value, &Option<NumberSum>)| {
            Ok((key.clone(), value(sum.unwrap_or(NumberSum::Integers(0)))?))
        };
        Ok(Value::Map(sums.map(entry).collect::<Result<_>>()?))
    }
}

impl ValueAggregate for UnionSum {
    type State = Sums;

    fn add(&self, state: &mut Sums, row: ValueRow<'_>) -> Result<()> {
        self.put_all(state, &row.value(0));
        Ok(())
    }

    fn merge(&self, state: &mut Sums, partial: &Value) -> Result<()> {
        self.put_all(state, partial);
        Ok(())
    }

    fn partial(&self, state: &Sums) -> Result<Value> {
        self.map(state, |sum| Ok(sum.wide(&self.value)))
    }

    fn result(&self, state: &Sums) -> Result<Value> {
        self.map(state, |sum| sum.narrow(&self.value))
    }

    fn external_state_bytes(&self, state: &Sums) -> usize {
        state.map.bytes()
    }
}
