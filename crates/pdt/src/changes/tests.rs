use super::*;
use crate::{Budget, MergePlan, Stamp};
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_types::Type;
use volley_vector::random::Generator;

/// Changes of all kinds, also of the transaction's own inserts.
fn change(random: &mut Generator, types: &[Type], layers: &Layers, own: &mut Pdt) {
    for _ in 0..10 {
        let sid = random.below(own.base_rows() as usize + 1) as u32;
        own.insert(sid, &random.batch(types, random_rows(sid))).unwrap();
        let end = (sid + 3).min(own.base_rows());
        own.delete_range(layers, sid..end).unwrap();
        for _ in 0..3 {
            let rid = random.below(layers.with(own).rows() as usize) as u32;
            let row = layers.with(own).row_at(rid).unwrap();
            let column = random.below(types.len());
            let values = random.batch(&types[column..=column], 1);
            own.modify(layers, &[row], &[column as u32], &values).unwrap();
        }
        let rid = random.below(layers.with(own).rows() as usize) as u32;
        let row = layers.with(own).row_at(rid).unwrap();
        own.delete(layers, &[row]).unwrap();
    }
}

fn random_rows(sid: u32) -> usize {
    1 + sid as usize % 4
}

fn random(seed: u64) -> (Layers, Pdt) {
    let mut random = Generator::new(seed);
    let types: Arc<[Type]> = [random.data_type(2), Type::Varchar].into();
    let write = Pdt::new(Arc::clone(&types), 300, Budget::unlimited()).unwrap();
    let mut layers = Layers::new(write);
    for stamp in 1..4 {
        let mut own = layers.transaction().unwrap();
        change(&mut random, &types, &layers, &mut own);
        layers = layers.apply(&own, Stamp(stamp)).unwrap();
        if stamp == 2 {
            layers = layers.freeze(Stamp(1), &Budget::unlimited()).unwrap().layers;
        }
    }
    let mut own = layers.transaction().unwrap();
    change(&mut random, &types, &layers, &mut own);
    (layers, own)
}

/// All that a scan sees, and all names.
fn seen(layers: &Layers, own: Option<&Pdt>) -> Vec<String> {
    let view = crate::View { layers, own };
    let plan = MergePlan::new(view).unwrap();
    let mut seen: Vec<String> =
        (0..view.rows() as u32).map(|it| format!("{:?}", view.row_at(it))).collect();
    for inserted in plan.inserted_with_ids(&[0, 1]) {
        assert_eq!(inserted.rows.rows(), inserted.ids.len());
        for (row, id) in inserted.ids.iter().enumerate() {
            let key = view.live_key(RowName::Inserted(*id)).unwrap();
            let (chunk, at) = plan.inserted_at(key).unwrap();
            let value = |column: usize| inserted.rows.column(column).value(row).unwrap();
            let chunk = plan.chunks().nth(chunk).unwrap();
            assert_eq!(value(1), chunk.column(1).value(at as usize).unwrap());
            seen.push(format!("{id}: {:?} {:?}", value(0), value(1)));
        }
    }
    for column in 0..2 {
        if let Some(modified) = plan.range(0..view.base_rows()).modified(column) {
            let values = modified.values.slice(modified.first, modified.sids.len());
            seen.push(format!("{:?} {:?}", modified.sids, values.to_values().unwrap()));
        }
    }
    seen
}

#[test]
fn changes_are_the_same_after_writing_and_reading() {
    for seed in 0..40 {
        let (layers, own) = random(seed);
        let again = Pdt::from_bytes(&own.to_bytes().unwrap(), &layers).unwrap();
        assert_eq!(again.next_id(), own.next_id());
        assert!(seen(&layers, Some(&again)) == seen(&layers, Some(&own)), "seed {seed}");
        assert_eq!(again.to_bytes().unwrap(), own.to_bytes().unwrap());
        let applied = layers.apply(&own, Stamp(9)).unwrap();
        let replayed = layers.apply(&again, Stamp(9)).unwrap();
        assert!(seen(&replayed, None) == seen(&applied, None));
        assert_eq!(replayed.write.next_id(), applied.write.next_id());
    }
}

#[test]
fn no_change_is_four_zeros() {
    let (layers, _) = random(1);
    let own = layers.transaction().unwrap();
    assert_eq!(own.to_bytes().unwrap(), [0; 4]);
    assert!(Pdt::from_bytes(&[0; 4], &layers).unwrap().is_empty());
}

#[test]
fn damaged_changes_are_errors() {
    let (layers, own) = random(2);
    let bytes = own.to_bytes().unwrap();
    let is_error = |bytes: &[u8]| match Pdt::from_bytes(bytes, &layers) {
        Ok(_) => false,
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
            true
        }
    };
    for end in 0..bytes.len() {
        assert!(is_error(&bytes[..end]), "{end}");
    }
    let mut random = Generator::new(7);
    let mut errors = 0;
    for _ in 0..2000 {
        let mut damaged = bytes.clone();
        damaged[random.below(bytes.len())] ^= 1 << random.below(8);
        errors += usize::from(is_error(&damaged));
    }
    assert!(errors > 500, "{errors}");
}

#[test]
fn ids_go_on_after_changes_moved_to_a_run() {
    let (layers, own) = random(3);
    let next = layers.write.next_id();
    let frozen = layers.freeze(Stamp(8), &Budget::unlimited()).unwrap();
    let types = layers.write.types();
    let run = crate::Run::open(&frozen.bytes, types, 300, &Budget::unlimited()).unwrap();
    let write = Pdt::new(Arc::clone(types), 300, Budget::unlimited()).unwrap().with_next_id(next);
    let opened = Layers { run: Some(Arc::new(run)), write };
    let bytes = own.to_bytes().unwrap();
    let applied = layers.apply(&own, Stamp(9)).unwrap();
    let replayed = opened.apply(&Pdt::from_bytes(&bytes, &opened).unwrap(), Stamp(9)).unwrap();
    // Chunks of a run are others, in another order.
    let sorted = |layers: &Layers| {
        let mut seen = seen(layers, None);
        seen.sort();
        seen
    };
    assert!(sorted(&replayed) == sorted(&applied));
}
