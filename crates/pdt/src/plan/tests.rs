use super::*;
use crate::{Budget, Layers, Pdt, RowName, Stamp};
use volley_error::ErrorKind;
use volley_memory::Pool;
use volley_types::{Type, Value};

fn layers(base_rows: Sid, budget: &Arc<Budget>) -> Layers {
    let types: Arc<[Type]> = [Type::Integer].into();
    Layers::new(Pdt::new(types, base_rows, Arc::clone(budget)).unwrap())
}

fn numbers(from: i32, rows: i32) -> Batch {
    let values: Vec<Value> = (from..from + rows).map(Value::Integer).collect();
    Batch::new(vec![Vector::from_values(Type::Integer, &values)], values.len())
}

#[test]
fn neighbors_are_joined_and_blocks_say_where_they_begin() {
    let layers = layers(5000, &Budget::unlimited());
    let mut own = layers.transaction().unwrap();
    own.delete_range(&layers, 100..200).unwrap();
    let layers = layers.apply(&own, Stamp(1)).unwrap();
    let mut own = layers.transaction().unwrap();
    own.delete_range(&layers, 150..300).unwrap();
    own.delete(&layers, &[RowName::Base(4999)]).unwrap();
    own.modify(&layers, &[RowName::Base(2048)], &[0], &numbers(7, 1)).unwrap();
    own.insert(5000, &numbers(0, 10)).unwrap();
    let plan = MergePlan::new(layers.with(&own)).unwrap();
    let ranges: Vec<_> = plan.deleted.iter().map(|it| (it.start, it.end, it.before)).collect();
    assert_eq!(ranges, [(100, 300, 0), (4999, 5000, 200)]);
    assert_eq!((plan.rows(), plan.modified_values(), plan.inserted_rows()), (4809, 1, 10));
    let starts: Vec<_> = plan.blocks.iter().map(|it| (it.deleted, it.run, it.rows)).collect();
    let expected = [(0, 0, 0), (1, 0, 824), (1, 0, 1848), (1, 0, 2872), (1, 0, 3896), (2, 1, 4799)];
    assert_eq!(starts, expected);
    let changed = |block: u32| plan.has_changed_block(block * 1024, block * 1024 + 1024);
    assert_eq!([0, 1, 2, 3, 4].map(changed), [true, false, true, false, true]);
    assert!(plan.modifies(0) && !plan.modifies(1) && !plan.is_clean());
}

#[test]
fn inserts_of_large_chunks_are_not_copied() {
    let layers = layers(0, &Budget::unlimited());
    let mut own = layers.transaction().unwrap();
    own.insert(0, &numbers(0, 5000)).unwrap();
    let address = |own: &Pdt| {
        let chunk = own.values().inserts.get(0).unwrap();
        chunk.rows.column(0).flat_values().unwrap().native::<i32>().unwrap().as_ptr()
    };
    let inserted = address(&own);
    let layers = layers.apply(&own, Stamp(1)).unwrap();
    assert_eq!(address(&layers.write), inserted);
    let plan = MergePlan::new(layers.view()).unwrap();
    let batches: Vec<Batch> = plan.inserted(&[0]).collect();
    assert_eq!(batches.len(), 1);
    let values = batches[0].column(0).flat_values().unwrap().native::<i32>().unwrap();
    assert_eq!((values.as_ptr(), values.len()), (inserted, 5000));
    // Removed rows leave a selection over the same values.
    let mut own = layers.transaction().unwrap();
    own.delete(&layers, &[RowName::Inserted(7)]).unwrap();
    let plan = MergePlan::new(layers.with(&own)).unwrap();
    let batch = plan.inserted(&[0]).next().unwrap();
    assert_eq!(batch.rows(), 4999);
    assert!(batch.column(0).flat_values().is_none());
    assert_eq!(batch.column(0).value(7).unwrap(), Value::Integer(8));
}

#[test]
fn memory_is_charged_bounded_and_freed() {
    let pool = Pool::root("test", None);
    let (budget, cache) = (Budget::new(&pool, 512 << 10), Budget::new(&pool, 64 << 20));
    let mut layers = layers(1 << 20, &budget);
    let (mut errors, mut runs) = (Vec::new(), Vec::new());
    for number in 0..60_000u32 {
        let row = RowName::Base(number * 17);
        let change = |layers: &Layers| {
            let mut own = layers.transaction()?;
            own.modify(layers, &[row], &[0], &numbers(number as i32, 1))?;
            layers.apply(&own, Stamp(number.into()))
        };
        layers = change(&layers).unwrap_or_else(|error| {
            // Deltas that are larger than memory are frozen, and the change is made again.
            errors.push(error);
            let frozen = layers.freeze(Stamp(number.into()), &cache).unwrap();
            assert!(frozen.layers.write.is_empty());
            runs.push(frozen.bytes.len());
            layers = frozen.layers;
            change(&layers).unwrap()
        });
        assert!(budget.used_bytes() <= 576 << 10);
        assert!(pool.stats().bytes <= 65 << 20);
    }
    assert!(errors.len() > 1, "{}", errors.len());
    let error = errors.pop().unwrap();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.to_string().contains("memory for deltas exceeded"), "{error}");
    assert!(runs.is_sorted() && runs.iter().all(|it| *it < 400_000), "{runs:?}");
    assert_eq!(layers.view().rows(), 1 << 20);
    drop(layers);
    assert_eq!((budget.used_bytes(), cache.used_bytes()), (0, 0));
}
