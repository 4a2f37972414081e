use super::*;
use crate::{Budget, Key, Layer, Layers, Pdt, RowName};
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_types::Type;
use volley_vector::random::Generator;

/// A version with changes of all kinds, and the same frozen.
fn frozen(seed: u64, base_rows: Sid) -> (Layers, Vec<u8>, Run) {
    let mut random = Generator::new(seed);
    let types: Arc<[Type]> = [random.data_type(2), Type::Varchar].into();
    let write = Pdt::new(Arc::clone(&types), base_rows, Budget::unlimited()).unwrap();
    let mut layers = Layers::new(write);
    for stamp in 1..5 {
        let mut own = layers.transaction().unwrap();
        for _ in 0..20 {
            let sid = random.below(base_rows as usize + 1) as u32;
            let rows = random.batch(&types, 1 + (stamp as usize % 3));
            own.insert(sid, &rows).unwrap();
            let end = (sid + random.below(10) as u32).min(base_rows);
            own.delete_range(&layers, sid..end).unwrap();
            let rid = random.below(layers.with(&own).rows() as usize) as u32;
            let row = layers.with(&own).row_at(rid).unwrap();
            let column = random.below(2);
            let values = random.batch(&types[column..=column], 1);
            own.modify(&layers, &[row], &[column as u32], &values).unwrap();
            let rid = random.below(layers.with(&own).rows() as usize) as u32;
            let row = layers.with(&own).row_at(rid).unwrap();
            own.delete(&layers, &[row]).unwrap();
        }
        layers = layers.apply(&own, Stamp(stamp)).unwrap();
    }
    let frozen = layers.freeze(Stamp(4), &Budget::unlimited()).unwrap();
    let run = Run::open(&frozen.bytes, &types, base_rows, &Budget::unlimited()).unwrap();
    (layers, frozen.bytes, run)
}

#[test]
fn a_run_answers_as_the_tree_that_it_was() {
    for seed in 0..30 {
        let (layers, _, run) = frozen(seed, 500);
        let (tree, run) = (Layer::Tree(&layers.write), Layer::Run(&run));
        assert_eq!(run.delta(), tree.delta());
        for sid in 0..=500 {
            for key in [Key::first(sid), Key::base(sid)] {
                let before = |layer: Layer<'_>| layer.prefix(Position::row(key)).delta_before(key);
                assert_eq!(before(run), before(tree), "{key:?}");
            }
            let is_deleted = |layer: Layer<'_>| layer.row_entry(Key::base(sid)).is_some();
            assert_eq!(is_deleted(run), is_deleted(tree));
            let columns = |layer: Layer<'_>| layer.column_entries(Key::base(sid)).count();
            assert_eq!(columns(run), columns(tree));
        }
        let rows =
            |layer: Layer<'_>| layer.deleted(0..500).iter().map(|it| it.len()).sum::<usize>();
        assert_eq!(rows(run), rows(tree));
    }
}

#[test]
fn a_frozen_segment_has_no_tree_and_all_names() {
    let (layers, bytes, _) = frozen(7, 100);
    let cache = Budget::unlimited();
    let after = layers.freeze(Stamp(4), &cache).unwrap();
    assert!(after.layers.write.is_empty());
    assert!(after.bytes == bytes);
    assert_eq!(after.layers.write.next_id(), layers.write.next_id());
    for rid in 0..layers.view().rows() as u32 {
        let name = layers.view().row_at(rid);
        assert_eq!(after.layers.view().row_at(rid), name);
    }
    // Frozen again, with nothing new, it is the same.
    let again = after.layers.freeze(Stamp(3), &cache).unwrap();
    assert!(again.layers.freeze(Stamp(4), &cache).unwrap().bytes == again.bytes);
    // A row that the run changes is too late for transactions that began before its bound.
    let changed = RowName::Inserted(after.layers.view().rows() as u32 + 1_000_000);
    assert!(after.layers.changed_since(changed, Stamp(9)));
}

/// What opening changed bytes gives: an error of the right kind, or a run that keeps all promises.
fn check_hostile(bytes: &[u8], types: &[Type], base_rows: Sid) {
    let budget = Budget::unlimited();
    match Run::open(bytes, types, base_rows, &budget) {
        Err(error) => {
            assert!(
                matches!(error.kind(), ErrorKind::Corruption | ErrorKind::Unsupported),
                "{error}"
            );
        }
        Ok(run) => {
            let write = Pdt::new(types.into(), base_rows, Budget::unlimited()).unwrap();
            let layers = Layers { run: Some(Arc::new(run)), write };
            let plan = crate::MergePlan::new(layers.view()).unwrap();
            assert_eq!(plan.rows(), layers.view().rows());
            assert_eq!(plan.inserted(&[0, 1]).count(), plan.chunks.len());
        }
    }
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn hostile_bytes_are_an_error() {
    for seed in 0..6 {
        let (layers, bytes, _) = frozen(seed, 60);
        let types = Arc::clone(&layers.write.types);
        for len in 0..bytes.len() {
            let error = Run::open(&bytes[..len], &types, 60, &Budget::unlimited()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        }
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..4000 {
            let mut changed = bytes.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..changed.len());
                match random.u8(..4) {
                    0 => changed[at] ^= 1 << random.u8(..8),
                    1 => changed[at] = *random.choice(&[0, 1, 0x7f, 0x80, 0xff]).unwrap(),
                    2 => drop(changed.remove(at)),
                    _ => changed.insert(at, random.u8(..)),
                }
            }
            check_hostile(&changed, &types, 60);
        }
    }
}

#[test]
fn runs_of_other_segments_and_formats_are_refused() {
    let (layers, mut bytes, _) = frozen(1, 60);
    let types = Arc::clone(&layers.write.types);
    let open = |bytes: &[u8], types: &[Type], rows| {
        Run::open(bytes, types, rows, &Budget::unlimited()).unwrap_err()
    };
    let error = open(&bytes, &types, 61).to_string();
    assert!(error.contains("another segment's number of rows"), "{error}");
    let error = open(&bytes, &types[..1], 60).to_string();
    assert!(error.contains("another table's number of columns"), "{error}");
    bytes[4] = 2;
    let error = open(&bytes, &types, 60);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("format 2.0"), "{error}");
    bytes[0] = b'X';
    assert_eq!(open(&bytes, &types, 60).kind(), ErrorKind::Corruption);
}
