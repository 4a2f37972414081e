//! Functions of SETDIGEST: `make_set_digest`, `merge_set_digest`, `hash_counts`, `jaccard_index`,
//! `intersection_cardinality`, `cardinality`.

use super::{
    SetDigest,
    aggregate::{self, Sketch, merge_row},
    approx_set::hash_of,
    scalar::{self, bytes_of, malformed},
    types::SketchKind,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundAggregate, FunctionDoc, Registry};
use volley_functions::value_aggregate::{Keys, ValueRow};
use volley_types::{CustomOrder, Type, Value};

/// The sets of the examples.
const SETS: &str = "FROM (SELECT make_set_digest(x), make_set_digest(y) FROM (VALUES (1, 2), (2, \
                    3), (2, 4)) t(x, y)) s(a, b)";

/// Registers them.
pub(super) fn register(registry: &mut Registry) {
    aggregate::add(
        registry,
        ("make_set_digest", "make_set_digest(x) -> setdigest"),
        "A digest of the set of values that are not null, exact for fewer than 8192 of them.",
        "cardinality(make_set_digest(x)) FROM (VALUES (1), (2), (2)) t(x)",
        "2",
        bind_make,
    );
    aggregate::add(
        registry,
        ("merge_set_digest", "merge_set_digest(setdigest) -> setdigest"),
        "The digest of the union of the sets.",
        "cardinality(merge_set_digest(d)) FROM (SELECT make_set_digest(x) FROM (VALUES (1), (2)) \
         t(x) GROUP BY x) s(d)",
        "2",
        |args| {
            let fits = *args == [set()];
            fits.then(|| aggregate::bound::<SetDigest>(args.to_vec(), set(), merge_row))
        },
    );
    register_scalars(registry);
}

fn register_scalars(registry: &mut Registry) {
    scalar::add(
        registry,
        ("jaccard_index", "jaccard_index(setdigest, setdigest) -> double"),
        "About which share of the union of two sets is in both, by as many of its least hashes as \
         the smaller one has.",
        (&format!("jaccard_index(a, b) {SETS}"), "0.5"),
        |args| {
            scalar::bound(args, vec![set(), set()], Type::Double, |row| {
                Ok(Value::Double(digest(row, 0)?.jaccard_index(&digest(row, 1)?)))
            })
        },
    );
    scalar::add(
        registry,
        ("intersection_cardinality", "intersection_cardinality(setdigest, setdigest) -> bigint"),
        "About how many values are in both sets.",
        (&format!("intersection_cardinality(a, b) {SETS}"), "1"),
        |args| {
            scalar::bound(args, vec![set(), set()], Type::BigInt, |row| {
                let both = digest(row, 0)?.intersection_cardinality(&digest(row, 1)?);
                both.map(Value::BigInt).ok_or_else(other_buckets)
            })
        },
    );
    scalar::add(
        registry,
        ("hash_counts", "hash_counts(setdigest) -> map(bigint, smallint)"),
        "The hashes that the digest keeps, and how often a value with each came, at most 32767.",
        (&format!("map_values(hash_counts(b)) {SETS}"), "[1, 1, 1]"),
        |args| {
            scalar::bound(args, vec![set()], Type::map(Type::BigInt, Type::SmallInt), |row| {
                let entry =
                    |(hash, count): (i64, i16)| (Value::BigInt(hash), Value::SmallInt(count));
                Ok(Value::Map(digest(row, 0)?.counts().map(entry).collect()))
            })
        },
    );
    let cardinality = FunctionDoc::new(
        "cardinality(setdigest) -> bigint",
        "About how many different values were added to the digest.",
        "sketch",
        &[("cardinality(presto.make_set_digest(x)) FROM (VALUES (1), (1)) t(x)", "1")],
    );
    let bind = |args: &[Type]| {
        scalar::bound(args, vec![set()], Type::BigInt, |row| {
            Ok(Value::BigInt(digest(row, 0)?.cardinality()))
        })
    };
    registry.add_scalar("cardinality", cardinality, Arc::new(bind));
}

fn set() -> Type {
    SketchKind::Set.of(&Type::BigInt)
}

fn digest(row: ValueRow<'_>, argument: usize) -> Result<SetDigest> {
    let value = row.value(argument);
    bytes_of(&value).and_then(SetDigest::from_bytes).ok_or_else(malformed)
}

fn other_buckets() -> Error {
    Error::invalid_value("cannot merge digests with different numbers of buckets")
}

fn bind_make(args: &[Type]) -> Option<BoundAggregate> {
    let [value] = args else { return None };
    if value.order() < CustomOrder::Equality {
        return None;
    }
    let keys = Keys::of(value);
    Some(aggregate::bound::<SetDigest>(args.to_vec(), set(), move |state, row| {
        let value = row.value(0);
        let hash = hash_of(&value).unwrap_or_else(|| keys.hash(&value));
        state.get_or_insert_default().add(hash);
        Ok(())
    }))
}

impl Sketch for SetDigest {
    fn read(bytes: &[u8]) -> Option<SetDigest> {
        SetDigest::from_bytes(bytes)
    }

    fn write(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn absorb(&mut self, other: &SetDigest) -> Result<()> {
        if self.merge(other) { Ok(()) } else { Err(other_buckets()) }
    }

    fn bytes(&self) -> usize {
        self.heap_bytes()
    }
}
