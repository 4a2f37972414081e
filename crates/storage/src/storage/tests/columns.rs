//! Propagation of modified columns.

use super::*;
use crate::{Due, SegmentVersion};

/// The texts of some rows change.
fn modify(storage: &Arc<Storage>, table: TableId, step: usize, text: &str) {
    let names = rows(storage, table);
    let changed = names.iter().step_by(step);
    commit(storage, |it| changed.for_each(|row| change_row(it, table, row.0, Some(text)))).unwrap();
}

fn texts(storage: &Storage, table: TableId) -> Vec<String> {
    rows(storage, table).into_iter().map(|it| it.1).collect()
}

/// The only segment with rows.
fn segment(storage: &Storage, table: TableId) -> Arc<SegmentVersion> {
    let version = storage.snapshot();
    let segments = &version.table(table).unwrap().segments;
    Arc::clone(segments.iter().find(|it| it.segment.rows() > 0).unwrap())
}

/// Files of the blocks of the columns k and t.
fn block_files(storage: &Storage, table: TableId) -> [u32; 2] {
    let segment = &segment(storage, table).segment;
    [0, 1].map(|column| segment.block_file(column, 0))
}

fn propagate(storage: &Storage, table: TableId) {
    storage.propagate(table, segment(storage, table).segment.id()).unwrap();
    assert!(segment(storage, table).is_clean());
}

/// A table of one segment with `count` rows.
fn with_segment(folder: &Path, count: i64) -> (Arc<Storage>, TableId) {
    let storage = open(folder);
    let table = create(&storage, "t");
    commit(&storage, |it| insert(it, table, &batch(0..count))).unwrap();
    storage.propagate(table, rows(&storage, table)[0].0.segment).unwrap();
    (storage, table)
}

#[test]
fn only_modified_columns_are_written() {
    for count in [1, 3, 2500] {
        let folder = tempdir().unwrap();
        let (storage, table) = with_segment(folder.path(), count);
        let before = block_files(&storage, table);
        for (number, step) in [(1, 7), (2, 3)] {
            modify(&storage, table, step, &format!("changed {number}"));
            let expected = texts(&storage, table);
            propagate(&storage, table);
            let after = block_files(&storage, table);
            assert!(after[0] == before[0] && after[1] != before[1], "{before:?} {after:?}");
            assert!(!segment(&storage, table).segment.has_own_blocks());
            assert_eq!(texts(&storage, table), expected);
            assert!(storage.check().unwrap().findings.is_empty());
        }
        let expected = texts(&storage, table);
        drop(storage);
        // From the log, which this opening writes to a manifest, and from the manifest.
        for _ in 0..2 {
            let storage = open(folder.path());
            assert_eq!(texts(&storage, table), expected);
            assert!(!segment(&storage, table).segment.has_own_blocks());
            assert!(storage.check().unwrap().findings.is_empty());
        }
        // Bounds are those of the new values.
        let storage = open(folder.path());
        let bounds = segment(&storage, table).segment.bounds(1);
        let is_new = |it: &Value| it.as_str().is_some_and(|it| it.starts_with("changed"));
        assert!(bounds.min.as_ref().is_some_and(is_new), "{bounds:?}");
        // All blocks are written again where rows vanish.
        let first = rows(&storage, table)[0].0;
        if count > 1 {
            commit(&storage, |it| change_row(it, table, first, None)).unwrap();
            propagate(&storage, table);
            assert!(segment(&storage, table).segment.has_own_blocks());
            assert_eq!(texts(&storage, table), expected[1..]);
        }
    }
}

#[test]
fn columns_and_whole_segments_are_propagated_to_the_same_rows() {
    let [by_column, whole] = [0, 1].map(|_| tempdir().unwrap());
    let (a, table) = with_segment(by_column.path(), 3000);
    let (b, _) = with_segment(whole.path(), 3000);
    for step in [11, 2, 1] {
        modify(&a, table, step, "other");
        modify(&b, table, step, "other");
        propagate(&a, table);
        b.run(Due::Merge(table, vec![segment(&b, table).segment.id()])).unwrap();
        assert!(!segment(&a, table).segment.has_own_blocks());
        assert!(segment(&b, table).segment.has_own_blocks());
        assert_eq!(texts(&a, table), texts(&b, table));
        let types: Vec<Type> = columns().types().cloned().collect();
        let zones = [&a, &b].map(|it| segment(it, table).segment.zones(&types).unwrap());
        assert_eq!(format!("{:?}", zones[0]), format!("{:?}", zones[1]));
    }
}

#[test]
fn a_transaction_goes_on_while_columns_are_propagated() {
    let folder = tempdir().unwrap();
    let (storage, table) = with_segment(folder.path(), 10);
    let names = rows(&storage, table);
    let transaction = storage.begin();
    let mut changes = Changes::new(Arc::clone(transaction.version()));
    change_row(&mut changes, table, names[7].0, Some("late"));
    change_row(&mut changes, table, names[8].0, None);
    let other = storage.begin();
    let mut conflicting = Changes::new(Arc::clone(other.version()));
    change_row(&mut conflicting, table, names[2].0, Some("conflict"));
    commit(&storage, |it| change_row(it, table, names[2].0, Some("first"))).unwrap();
    propagate(&storage, table);
    assert!(!segment(&storage, table).segment.has_own_blocks());
    transaction.commit(changes).unwrap();
    let error = other.commit(conflicting).unwrap_err();
    assert!(error.to_string().contains("conflicts"), "{error}");
    let after = texts(&storage, table);
    assert!(after.len() == 9 && after[7].contains("late") && after[2].contains("first"));
    drop(storage);
    assert_eq!(texts(&open(folder.path()), table), after);
}

#[test]
fn blocks_that_were_written_for_another_segment_are_damage() {
    let folder = tempdir().unwrap();
    let (storage, table) = with_segment(folder.path(), 100);
    modify(&storage, table, 5, "changed");
    propagate(&storage, table);
    let segment = segment(&storage, table);
    // Without its origins, the segment expects blocks of its own.
    let types: Vec<Type> = columns().types().cloned().collect();
    let mut output = volley_pdt::bytes::Output::default();
    segment.segment.write(&types, &mut output).unwrap();
    let mut input = volley_pdt::bytes::Input::new(&output.bytes, "segment");
    let read = crate::Segment::read(&mut input, table, &types, storage.files()).unwrap();
    let error = read.open_from_file(0, 0, &Type::BigInt).err().unwrap();
    assert!(error.to_string().contains("another block is in its place"), "{error}");
    assert_eq!(read.open_from_file(1, 0, &Type::Varchar).unwrap().rows(), 100);
}
