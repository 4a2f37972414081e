//! KHYPERLOGLOG: for a sample of the values of a column, how many identities each is found with
//! (Chia, Desfontaines and others: "KHyperLogLog: estimating reidentifiability and joinability of
//! large data at scale", 2019), in Presto's bytes.
//!
//! ```text
//! byte 0     1, the version
//! 1..13      the most values, buckets of a HyperLogLog, the number of values: 32-bit integers
//! 13..17     the bytes of all HyperLogLogs, a 32-bit integer
//! then       the bytes of each HyperLogLog: 32-bit integers | the hashes of the values, ascending:
//!            64-bit integers | the HyperLogLogs
//! ```
//!
//! The values are those with the least hashes. All numbers are little-endian.

use super::{
    aggregate::{self, Sketch, merge_row},
    approx_set::hash_of,
    hyper_log_log::HyperLogLog,
    scalar::{self, bytes_of, malformed},
    types::SketchKind,
};
use std::{collections::BTreeMap, sync::Arc};
use twox_hash::XxHash64;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, FunctionDoc, Registry};
use volley_functions::{
    kll::take,
    value_aggregate::{ValueRow, elements},
};
use volley_types::{Type, Value};

const VERSION: u8 = 1;
const VALUES_MAX: usize = 4096;
const BUCKETS: usize = 256;

/// The most buckets of a histogram.
const HISTOGRAM_MAX: i64 = 1 << 20;

/// A sketch.
#[derive(Clone, Debug)]
pub(super) struct KeyHyperLogLog {
    values_max: usize,
    bits: u32,
    identities: BTreeMap<i64, HyperLogLog>,
}

impl KeyHyperLogLog {
    fn new(values_max: usize, bits: u32) -> KeyHyperLogLog {
        KeyHyperLogLog { values_max, bits, identities: BTreeMap::new() }
    }

    /// Adds the hashes of a value and of an identity.
    fn add(&mut self, value: u64, identity: u64) {
        let value = value as i64;
        let is_beyond = self.identities.last_key_value().is_none_or(|last| value >= *last.0);
        if !self.is_exact() && is_beyond && !self.identities.contains_key(&value) {
            return;
        }
        let bits = self.bits;
        self.identities.entry(value).or_insert_with(|| HyperLogLog::new(bits)).add(identity);
        self.remove_overflow();
    }

    fn remove_overflow(&mut self) {
        while self.identities.len() > self.values_max {
            self.identities.pop_last();
        }
    }

    /// Whether it holds all values.
    fn is_exact(&self) -> bool {
        self.identities.len() < self.values_max
    }

    /// The union of two, of as many values as the one with fewer may hold; `None` if their
    /// HyperLogLogs have other numbers of buckets.
    fn merged(self, other: &KeyHyperLogLog) -> Option<KeyHyperLogLog> {
        let (mut into, from) = match self.values_max <= other.values_max {
            true => (self, other.clone()),
            false => (other.clone(), self),
        };
        for (value, identities) in from.identities {
            match into.identities.get_mut(&value) {
                Some(found) => {
                    if !found.merge(&identities) {
                        return None;
                    }
                }
                None => {
                    into.identities.insert(value, identities);
                }
            }
        }
        into.remove_overflow();
        Some(into)
    }

    /// About how many values there are.
    fn cardinality(&self) -> i64 {
        let values = self.identities.len() as u64;
        match self.identities.last_key_value() {
            Some((last, _)) if !self.is_exact() && values > 1 => {
                let range = last.wrapping_sub(i64::MIN) as u64;
                let half_density = (range / (values - 1)) as f64 / 2.0;
                (i64::MAX as f64 / half_density) as i64
            }
            _ => values as i64,
        }
    }

    fn jaccard_index(&self, other: &KeyHyperLogLog) -> f64 {
        let smaller = self.identities.len().min(other.identities.len());
        let (mut ours, mut theirs) =
            (self.identities.keys().peekable(), other.identities.keys().peekable());
        let (mut seen, mut both) = (0, 0);
        while seen < smaller {
            match (ours.peek(), theirs.peek()) {
                (Some(left), Some(right)) if left == right => {
                    both += 1;
                    ours.next();
                    theirs.next();
                }
                (Some(left), Some(right)) if left < right => {
                    ours.next();
                }
                (_, Some(_)) => {
                    theirs.next();
                }
                (_, None) => {
                    ours.next();
                }
            }
            seen += 1;
        }
        f64::from(both) / smaller as f64
    }

    fn intersection_cardinality(&self, other: &KeyHyperLogLog) -> Option<i64> {
        if self.is_exact() && other.is_exact() {
            let both = self.identities.keys().filter(|it| other.identities.contains_key(it));
            return Some(both.count() as i64);
        }
        let smaller = self.cardinality().min(other.cardinality());
        let union = self.clone().merged(other)?.cardinality() as f64;
        Some(((self.jaccard_index(other) * union).round() as i64).min(smaller))
    }

    /// The share of values with at most that many identities.
    fn reidentification_potential(&self, identities_max: i64) -> f64 {
        let few = self.identities.values().filter(|it| it.estimate() <= identities_max);
        few.count() as f64 / self.identities.len() as f64
    }

    /// The shares of values by their number of identities, from 1 to `buckets`, the last with all
    /// that have more.
    fn uniqueness(&self, buckets: i64) -> BTreeMap<i64, f64> {
        let mut shares: BTreeMap<i64, f64> = (1..=buckets).map(|it| (it, 0.0)).collect();
        let share = 1.0 / self.identities.len() as f64;
        for identities in self.identities.values() {
            *shares.entry(identities.estimate().min(buckets)).or_default() += share;
        }
        shares
    }
}

impl Sketch for KeyHyperLogLog {
    fn read(bytes: &[u8]) -> Option<KeyHyperLogLog> {
        let mut rest = bytes;
        let [VERSION] = take(&mut rest)? else { return None };
        let number = |rest: &mut &[u8]| usize::try_from(i32::from_le_bytes(take(rest)?)).ok();
        let (values_max, buckets) = (number(&mut rest)?, number(&mut rest)?);
        let (values, total) = (number(&mut rest)?, number(&mut rest)?);
        let is_valid = values_max > 0 && values <= values_max && buckets.is_power_of_two();
        if !is_valid || rest.len() < values.checked_mul(12)? {
            return None;
        }
        let bits = buckets.ilog2();
        let sizes = (0..values).map(|_| number(&mut rest)).collect::<Option<Vec<usize>>>()?;
        let hashes = (0..values).map(|_| Some(i64::from_le_bytes(take(&mut rest)?)));
        let hashes = hashes.collect::<Option<Vec<i64>>>()?;
        if rest.len() != total || !hashes.is_sorted_by(|left, right| left < right) {
            return None;
        }
        let mut sketch = KeyHyperLogLog::new(values_max, bits);
        for (hash, size) in hashes.into_iter().zip(sizes) {
            let (bytes, behind) = rest.split_at_checked(size)?;
            rest = behind;
            let identities = HyperLogLog::from_bytes(bytes).filter(|it| it.bits() == bits)?;
            sketch.identities.insert(hash, identities);
        }
        rest.is_empty().then_some(sketch)
    }

    fn write(&self) -> Vec<u8> {
        let sketches: Vec<Vec<u8>> = self.identities.values().map(HyperLogLog::to_bytes).collect();
        let total: usize = sketches.iter().map(Vec::len).sum();
        let mut bytes = vec![VERSION];
        let numbers = [self.values_max, 1 << self.bits, sketches.len(), total];
        let sizes = sketches.iter().map(Vec::len);
        numbers.into_iter().chain(sizes).for_each(|it| bytes.extend((it as i32).to_le_bytes()));
        self.identities.keys().for_each(|it| bytes.extend(it.to_le_bytes()));
        sketches.iter().for_each(|it| bytes.extend(it));
        bytes
    }

    fn absorb(&mut self, other: &KeyHyperLogLog) -> Result<()> {
        *self = self.clone().merged(other).ok_or_else(other_buckets)?;
        Ok(())
    }

    fn bytes(&self) -> usize {
        // Sketches of few identities, which are most, take about this much.
        const ENTRY_BYTES: usize = size_of::<(i64, HyperLogLog)>() + 64;
        self.identities.len() * ENTRY_BYTES
    }
}

fn other_buckets() -> Error {
    Error::invalid_value("cannot merge sketches with different numbers of buckets")
}

fn sketch_type() -> Type {
    SketchKind::Keys.of(&Type::BigInt)
}

/// Registers the functions of the type.
pub(super) fn register(registry: &mut Registry) {
    aggregate::add(
        registry,
        ("khyperloglog_agg", "khyperloglog_agg(x, identity) -> khyperloglog"),
        "A sketch of how many identities, integers or texts, each value is found with; rows with a \
         null do not count.",
        "uniqueness_distribution(khyperloglog_agg(x, u)) FROM (VALUES (1, 1), (1, 2), (2, 1)) t(x, \
         u)",
        "{1=0.5, 2=0.5}",
        bind_make,
    );
    // Described with `merge` of other sketches.
    let merge = |args: &[Type]| {
        let fits = *args == [sketch_type()];
        fits.then(|| aggregate::bound::<KeyHyperLogLog>(args.to_vec(), sketch_type(), merge_row))
    };
    registry.add_aggregate("presto.merge", FunctionDoc::default(), Arc::new(merge));
    register_sets(registry);
    register_identities(registry);
}

fn sketch(row: ValueRow<'_>, argument: usize) -> Result<KeyHyperLogLog> {
    let value = row.value(argument);
    bytes_of(&value).and_then(KeyHyperLogLog::read).ok_or_else(malformed)
}

/// Functions that sketches of sets have, too; they are described there.
fn register_sets(registry: &mut Registry) {
    let mut add = |name: &str, arguments: usize, result: Type, function: OfSketches| {
        let types = vec![sketch_type(); arguments];
        let bind =
            move |args: &[Type]| scalar::bound(args, types.clone(), result.clone(), function);
        registry.add_scalar(&format!("presto.{name}"), FunctionDoc::default(), Arc::new(bind));
    };
    add("cardinality", 1, Type::BigInt, |row| Ok(Value::BigInt(sketch(row, 0)?.cardinality())));
    add("jaccard_index", 2, Type::Double, |row| {
        Ok(Value::Double(sketch(row, 0)?.jaccard_index(&sketch(row, 1)?)))
    });
    add("intersection_cardinality", 2, Type::BigInt, |row| {
        let both = sketch(row, 0)?.intersection_cardinality(&sketch(row, 1)?);
        both.map(Value::BigInt).ok_or_else(other_buckets)
    });
}

type OfSketches = fn(ValueRow<'_>) -> Result<Value>;

fn register_identities(registry: &mut Registry) {
    const FROM: &str = "FROM (SELECT khyperloglog_agg(x, u) FROM (VALUES (1, 1), (1, 2), (2, 1)) \
                        t(x, u)) s(k)";
    scalar::add(
        registry,
        ("merge_khll", "merge_khll(array(khyperloglog)) -> khyperloglog"),
        "The sketch of the rows of all the sketches; null if there is none.",
        (&format!("cardinality(merge_khll(ARRAY[k, NULL])) {FROM}"), "2"),
        |args| {
            scalar::bound(args, vec![Type::array(sketch_type())], sketch_type(), |row| {
                let sketches = row.value(0);
                let mut union: Option<KeyHyperLogLog> = None;
                for bytes in elements(&sketches).iter().filter_map(bytes_of) {
                    let other = KeyHyperLogLog::read(bytes).ok_or_else(malformed)?;
                    union = Some(match union {
                        Some(union) => union.merged(&other).ok_or_else(other_buckets)?,
                        None => other,
                    });
                }
                Ok(union.map_or(Value::Null, |it| Value::Varbinary(it.write().into())))
            })
        },
    );
    scalar::add(
        registry,
        ("reidentification_potential", "reidentification_potential(khyperloglog, n) -> double"),
        "The share of values that are found with at most n identities.",
        (&format!("reidentification_potential(k, 1) {FROM}"), "0.5"),
        |args| {
            scalar::bound(args, vec![sketch_type(), Type::BigInt], Type::Double, |row| {
                let identities_max = row.integer(1).unwrap_or_default();
                Ok(Value::Double(sketch(row, 0)?.reidentification_potential(identities_max)))
            })
        },
    );
    scalar::add(
        registry,
        (
            "uniqueness_distribution",
            "uniqueness_distribution(khyperloglog[, n]) -> map(bigint, double)",
        ),
        "The shares of values by their number of identities from 1 to n, the last one with all \
         that have more; n is the number of values if left out.",
        (&format!("uniqueness_distribution(k) {FROM}"), "{1=0.5, 2=0.5}"),
        |args| {
            let types = [sketch_type(), Type::BigInt];
            let types = types.get(..args.len())?.to_vec();
            let result = Type::map(Type::BigInt, Type::Double);
            let has_buckets = args.len() > 1;
            scalar::bound(args, types, result, move |row| {
                let sketch = sketch(row, 0)?;
                let buckets = match has_buckets {
                    true => row.integer(1).unwrap_or_default(),
                    false => sketch.identities.len() as i64,
                };
                if buckets > HISTOGRAM_MAX {
                    let message = format!("a histogram has at most {HISTOGRAM_MAX} buckets");
                    return Err(Error::invalid_value(message));
                }
                let shares = sketch.uniqueness(buckets).into_iter();
                Ok(Value::Map(
                    shares.map(|(it, share)| (Value::BigInt(it), Value::Double(share))).collect(),
                ))
            })
        },
    );
}

fn bind_make(args: &[Type]) -> Option<BoundAggregate> {
    let hashed = |it: &Type| match it {
        integer if integer.is_integer() => Some(Type::BigInt),
        Type::Real | Type::Double | Type::Decimal { .. } => Some(Type::Double),
        Type::Varchar | Type::Varbinary => Some(it.clone()),
        _ => None,
    };
    let [value, identity] = args else { return None };
    let types = vec![hashed(value)?, hashed(identity)?];
    Some(aggregate::bound::<KeyHyperLogLog>(types, sketch_type(), |state, row| {
        let value = hash_of(&row.value(0)).ok_or_else(unsupported)?;
        let identity = match row.value(1) {
            Value::Varchar(text) => XxHash64::oneshot(0, text.as_bytes()) as i64,
            Value::Varbinary(bytes) => XxHash64::oneshot(0, &bytes) as i64,
            Value::BigInt(number) => number,
            _ => return Err(unsupported()),
        };
        let identity = hash_of(&Value::BigInt(identity)).ok_or_else(unsupported)?;
        let new = || Box::new(KeyHyperLogLog::new(VALUES_MAX, BUCKETS.ilog2()));
        state.get_or_insert_with(new).add(value, identity);
        Ok(())
    }))
}

fn unsupported() -> Error {
    Error::invalid_value("input types for khyperloglog_agg are not supported")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sketch of values, each with as many identities as its number modulo 7, plus 1.
    fn sketch_of(values: std::ops::Range<i64>, values_max: usize) -> KeyHyperLogLog {
        let mut sketch = KeyHyperLogLog::new(values_max, 8);
        let hash = |it: i64| hash_of(&Value::BigInt(it)).expect("a hash");
        for value in values {
            (0..=value % 7).for_each(|it| sketch.add(hash(value), hash(it)));
        }
        sketch
    }

    #[test]
    fn values_and_identities_are_counted() {
        let sketch = sketch_of(0..700, 4096);
        assert_eq!(sketch.cardinality(), 700);
        let shares = sketch.uniqueness(3);
        assert!((shares[&1] - 1.0 / 7.0).abs() < 1e-9 && (shares[&3] - 5.0 / 7.0).abs() < 1e-9);
        assert!((sketch.reidentification_potential(2) - 2.0 / 7.0).abs() < 1e-9);
        let other = sketch_of(350..1_050, 4096);
        assert_eq!(sketch.intersection_cardinality(&other), Some(350));
        assert!((sketch.jaccard_index(&other) - 1.0 / 3.0).abs() < 0.1);
    }

    #[test]
    fn large_sets_are_estimated() {
        let (left, right) = (sketch_of(0..20_000, 1024), sketch_of(10_000..30_000, 1024));
        let near = |found: i64, wanted: i64| (found - wanted).abs() < wanted / 10;
        assert!(near(left.cardinality(), 20_000), "{}", left.cardinality());
        let both = left.intersection_cardinality(&right).expect("sketches of one kind");
        assert!(near(both, 10_000), "{both}");
        let union = left.clone().merged(&right).expect("sketches of one kind");
        assert!(near(union.cardinality(), 30_000), "{}", union.cardinality());
        assert!(left.merged(&KeyHyperLogLog::new(4096, 8)).is_some());
    }

    #[test]
    fn bytes_come_back_and_malformed_ones_are_refused() {
        for values in [0, 1, 5, 50] {
            let bytes = sketch_of(0..values, 4096).write();
            let back = KeyHyperLogLog::read(&bytes).expect("its own bytes");
            assert_eq!(back.write(), bytes);
            for len in 0..bytes.len() {
                assert!(KeyHyperLogLog::read(&bytes[..len]).is_none(), "{values}: {len} bytes");
            }
            for at in 0..bytes.len() {
                let mut wrong = bytes.clone();
                wrong[at] ^= 0x81;
                // Another sketch or none; neither fails in use.
                if let Some(other) = KeyHyperLogLog::read(&wrong) {
                    let _ = (other.cardinality(), other.uniqueness(5), other.jaccard_index(&back));
                    let _ = back.intersection_cardinality(&other);
                }
            }
        }
    }
}
