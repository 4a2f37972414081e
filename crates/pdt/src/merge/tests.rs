//! Plans merged into random columns, against values in a list.

use super::*;
use crate::{Budget, Layers, Pdt, RowName, Stamp, View};
use std::sync::Arc;
use volley_types::{Type, Value};
use volley_vector::{
    Batch,
    random::{Generator, Shape},
};

/// A segment: its base, its changes, and the rows that it should have.
struct Segment {
    types: Vec<Type>,
    base: Batch,
    layers: Layers,
    own: Pdt,
    /// Values of inserts by SID, then of the base row, if it exists.
    expected: Vec<(Vec<Vec<Value>>, Option<Vec<Value>>)>,
}

fn rows_of(batch: &Batch) -> Vec<Vec<Value>> {
    let columns: Vec<Vec<Value>> =
        batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
    (0..batch.rows()).map(|row| columns.iter().map(|it| it[row].clone()).collect()).collect()
}

impl Segment {
    /// Changes in a run, in the write layer, and in a transaction.
    fn random(random: &mut Generator, base_rows: usize, changes: usize) -> Segment {
        let types: Vec<Type> = (0..1 + random.below(3)).map(|_| random.data_type(2)).collect();
        let base = random.batch(&types, base_rows).loaded().unwrap();
        let mut expected: Vec<(Vec<Vec<Value>>, Option<Vec<Value>>)> =
            rows_of(&base).into_iter().map(|it| (Vec::new(), Some(it))).collect();
        expected.push((Vec::new(), None));
        let write =
            Pdt::new(types.as_slice().into(), base_rows as u32, Budget::unlimited()).unwrap();
        let own = write.transaction().unwrap();
        let mut segment = Segment { types, base, layers: Layers::new(write), own, expected };
        for layer in 0..3 {
            segment.change(random, changes);
            if layer < 2 {
                segment.layers = segment.layers.apply(&segment.own, Stamp(layer + 1)).unwrap();
                segment.own = segment.layers.transaction().unwrap();
            }
            if layer == 0 {
                segment.layers =
                    segment.layers.freeze(Stamp(1), &Budget::unlimited()).unwrap().layers;
            }
        }
        segment
    }

    fn change(&mut self, random: &mut Generator, changes: usize) {
        let base_rows = self.base.rows();
        for _ in 0..changes {
            let sid = random.below(base_rows + 1);
            match random.below(4) {
                0 => {
                    let count = random.below(4);
                    let rows = random.batch(&self.types, count);
                    self.own.insert(sid as u32, &rows).unwrap();
                    self.expected[sid].0.extend(rows_of(&rows.loaded().unwrap()));
                }
                1 => {
                    let end = (sid + random.below(5)).min(base_rows);
                    self.own.delete_range(&self.layers, sid as u32..end as u32).unwrap();
                    self.expected[sid..end].iter_mut().for_each(|it| it.1 = None);
                }
                2 if sid < base_rows && self.expected[sid].1.is_some() => {
                    let column = random.below(self.types.len());
                    let values = random.batch(&self.types[column..=column], 1).loaded().unwrap();
                    let row = [RowName::Base(sid as u32)];
                    self.own.modify(&self.layers, &row, &[column as u32], &values).unwrap();
                    self.expected[sid].1.as_mut().unwrap()[column] =
                        values.column(0).value(0).unwrap();
                }
                _ => self.change_insert(random),
            }
        }
    }

    /// Deletes or modifies a row that was inserted.
    fn change_insert(&mut self, random: &mut Generator) {
        let with_inserts: Vec<usize> =
            (0..self.expected.len()).filter(|it| !self.expected[*it].0.is_empty()).collect();
        if with_inserts.is_empty() {
            return;
        }
        let sid = *random.choose(&with_inserts);
        let number = random.below(self.expected[sid].0.len());
        let before: usize = self.expected[..sid]
            .iter()
            .map(|(inserts, base)| inserts.len() + usize::from(base.is_some()))
            .sum();
        let row = self.layers.with(&self.own).row_at((before + number) as u32).unwrap();
        assert!(matches!(row, RowName::Inserted(_)));
        let inserts = &mut self.expected[sid].0;
        if random.below(2) == 0 {
            assert_eq!(self.own.delete(&self.layers, &[row]).unwrap(), 1);
            inserts.remove(number);
            return;
        }
        let column = random.below(self.types.len());
        let values = random.batch(&self.types[column..=column], 1).loaded().unwrap();
        self.own.modify(&self.layers, &[row], &[column as u32], &values).unwrap();
        inserts[number][column] = values.column(0).value(0).unwrap();
    }

    fn view(&self) -> View<'_> {
        self.layers.with(&self.own)
    }
}

fn text(rows: &[Vec<Value>]) -> String {
    format!("{rows:?}")
}

/// Scans the segment in batches, in order, with columns encoded in `shape`.
fn check_scan(segment: &Segment, random: &mut Generator, batch_rows: usize, is_lazy: bool) {
    let plan = MergePlan::new(segment.view()).unwrap();
    let columns: Vec<usize> = (0..segment.types.len()).collect();
    let base_rows = segment.base.rows();
    let (mut ordered, mut unordered, mut start) = (Vec::new(), Vec::new(), 0);
    loop {
        let end = (start + batch_rows).min(base_rows);
        let range = plan.range(start as u32..end as u32);
        let live = range.live();
        assert_eq!(live.as_ref().map_or(end - start, Rows::count), range.live_count());
        let live = live.map(|it| it.to_indices());
        let slice = segment.base.slice(start, end - start);
        let patched = columns.iter().map(|index| {
            let base = slice.column(*index).clone();
            let base = if random.below(2) == 0 { base.flatten().unwrap() } else { base };
            let column = *index as u32;
            if is_lazy {
                let base =
                    Vector::lazy(base.data_type().clone(), base.len(), Box::new(Later(base)));
                let sids = start as u32..end as u32;
                let patched = patch_lazy(&plan, sids, column, base);
                return live
                    .as_ref()
                    .map_or(patched.clone(), |it| patched.select(it).loaded().unwrap());
            }
            let base = live.as_ref().map_or(base.clone(), |it| base.gather(it).unwrap());
            range.patch(column, base, live.as_deref()).unwrap()
        });
        let patched = Batch::new(patched.collect(), range.live_count());
        unordered.extend(rows_of(&patched.clone().loaded().unwrap()));
        for batch in range.interleave(patched, live.as_deref(), &columns, batch_rows).unwrap() {
            let batch = batch.loaded().unwrap();
            batch.validate().unwrap();
            ordered.extend(rows_of(&batch));
        }
        start = end;
        if start == base_rows {
            break;
        }
    }
    plan.inserted(&columns).for_each(|it| unordered.extend(rows_of(&it)));
    let expected: Vec<Vec<Value>> = segment
        .expected
        .iter()
        .flat_map(|(inserts, base)| inserts.iter().chain(base).cloned())
        .collect();
    assert_eq!(text(&ordered), text(&expected));
    let sorted = |rows: &[Vec<Value>]| {
        let mut texts: Vec<String> = rows.iter().map(|it| format!("{it:?}")).collect();
        texts.sort();
        texts
    };
    assert_eq!(sorted(&unordered), sorted(&expected));
}

struct Later(Vector);

impl volley_vector::Loader for Later {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        rows.map_or(Ok(self.0.clone()), |rows| self.0.gather(rows))
    }
}

#[test]
fn scans_of_any_columns_and_changes_have_the_rows_of_a_list() {
    for seed in 0..250 {
        let mut random = Generator::new(seed);
        let base_rows = *random.choose(&[0, 1, 2, 10, 100, 2100]);
        let changes = *random.choose(&[0, 1, 5, 40]);
        let segment = Segment::random(&mut random, base_rows, changes);
        for batch_rows in [1, 3, 1024] {
            if batch_rows * 300 >= base_rows {
                check_scan(&segment, &mut random, batch_rows, false);
                check_scan(&segment, &mut random, batch_rows, true);
            }
        }
    }
}

#[test]
fn columns_of_every_encoding_are_patched_and_interleaved() {
    let mut random = Generator::new(3);
    for (data_type, shape) in [Type::BigInt, Type::Varchar, Type::Boolean, Type::array(Type::Date)]
        .iter()
        .flat_map(|it| Shape::ALL.map(|shape| (it.clone(), shape)))
    {
        let mut segment = Segment::random(&mut random, 50, 0);
        segment.types = vec![data_type.clone()];
        let column = random.encoded(shape, &data_type, 50).loaded().unwrap();
        segment.base = Batch::new(vec![column], 50);
        let write = Pdt::new([data_type].into(), 50, Budget::unlimited()).unwrap();
        segment.own = write.transaction().unwrap();
        segment.layers = Layers::new(write);
        segment.expected =
            rows_of(&segment.base).into_iter().map(|it| (Vec::new(), Some(it))).collect();
        segment.expected.push((Vec::new(), None));
        segment.change(&mut random, 30);
        for batch_rows in [1, 3, 1024] {
            check_scan(&segment, &mut random, batch_rows, false);
        }
    }
}

#[test]
fn where_nothing_changed_nothing_is_copied() {
    let base_rows = 10 * 1024;
    let types = [Type::BigInt, Type::Varchar];
    let mut random = Generator::new(9);
    let base = random.batch(&types, base_rows).loaded().unwrap();
    let write = Pdt::new(types.clone().into(), base_rows as u32, Budget::unlimited()).unwrap();
    let layers = Layers::new(write);
    let mut own = layers.transaction().unwrap();
    // Block 2: deleted; block 4: column 1 modified; block 6: inserted; block 9: inserted at the
    // end.
    own.delete_range(&layers, 2100..2110).unwrap();
    let text = random.batch(&types[1..], 1);
    own.modify(&layers, &[RowName::Base(4100)], &[1], &text).unwrap();
    own.insert(6200, &random.batch(&types, 2)).unwrap();
    own.insert(base_rows as u32, &random.batch(&types, 5)).unwrap();
    let plan = MergePlan::new(layers.with(&own)).unwrap();
    for block in 0..10u32 {
        let (start, end) = (block * 1024, block * 1024 + 1024);
        let range = plan.range(start..end);
        assert_eq!(range.is_clean(), [0, 1, 3, 5, 7, 8].contains(&block), "block {block}");
        assert_eq!(range.live().is_some(), block == 2);
        assert_eq!(range.has_inserts(), [6, 9].contains(&block));
        let slice = base.slice(start as usize, 1024);
        for column in 0..2 {
            let before = slice.column(column as usize);
            let after = range.patch(column, before.clone(), None).unwrap();
            assert_eq!(is_same(before, &after), (block, column) != (4, 1), "block {block}");
        }
        if range.deleted.is_empty() {
            let batches = range.interleave(slice.clone(), None, &[0, 1], 4096).unwrap();
            assert_eq!(is_same(slice.column(0), batches[0].column(0)), ![6, 9].contains(&block));
        }
    }
    let found = plan.counts();
    assert_eq!((found.clean_ranges, found.copied_batches), (6, 2));
    assert_eq!(found.patched_columns + found.recoded_columns, 1);
    // Parts of a block with changes that have none themselves are clean, too.
    assert!(plan.range(2048..2100).is_clean() && plan.range(2110..3072).is_clean());
    assert!(plan.range(4101..5120).is_clean() && plan.range(6201..7168).is_clean());
    assert!(!plan.range(2109..2110).is_clean() && !plan.range(6200..6200 + 1).is_clean());
}

/// Whether both vectors are the same memory.
fn is_same(a: &Vector, b: &Vector) -> bool {
    a.retained_bytes_beyond(std::slice::from_ref(b)) == 0
        && b.retained_bytes_beyond(std::slice::from_ref(a)) == 0
        && std::mem::discriminant(a.encoding()) == std::mem::discriminant(b.encoding())
}

#[test]
fn codes_stay_codes_of_one_dictionary() {
    let (types, mut random) = ([Type::Varchar], Generator::new(4));
    for is_nullable in [false, true] {
        let layers =
            Layers::new(Pdt::new(types.clone().into(), 4096, Budget::unlimited()).unwrap());
        let mut own = layers.transaction().unwrap();
        let sids: Vec<u32> = (0..4096).step_by(37).collect();
        let rows: Vec<RowName> = sids.iter().map(|it| RowName::Base(*it)).collect();
        let values = random.batch(&types, rows.len()).loaded().unwrap();
        own.modify(&layers, &rows, &[0], &values).unwrap();
        let plan = MergePlan::new(layers.with(&own)).unwrap();
        let dictionary = Arc::new(random.vector(&Type::Varchar, 20).loaded().unwrap());
        let codes: Vec<u32> = (0..4096).map(|it| it * 7 % 20).collect();
        let nulls = is_nullable.then(|| (0..4096).map(|it| it % 5 > 0).collect());
        let base = Vector::dictionary(codes.into(), dictionary, nulls);
        let mut expected = base.to_values().unwrap();
        for (sid, value) in sids.iter().zip(values.column(0).to_values().unwrap()) {
            expected[*sid as usize] = value;
        }
        let mut bases = Vec::new();
        for start in (0..4096u32).step_by(1024) {
            let slice = base.slice(start as usize, 1024);
            let patched = plan.range(start..start + 1024).patch(0, slice, None).unwrap();
            patched.validate().unwrap();
            let expected = &expected[start as usize..start as usize + 1024];
            assert_eq!(patched.to_values().unwrap(), expected);
            if let volley_vector::Encoding::Dictionary { base, .. } = patched.encoding() {
                bases.push(Arc::clone(base));
            }
        }
        // The first batch does not know yet that others share its dictionary.
        let counts = plan.counts();
        assert_eq!((counts.patched_columns, counts.recoded_columns), (1, 3));
        assert!(bases.len() == 3 && bases.iter().all(|it| Arc::ptr_eq(it, &bases[0])));
    }
}

#[test]
fn runs_longer_than_a_batch_are_slices() {
    let types: Arc<[Type]> = [Type::BigInt].into();
    let write = Pdt::new(types.clone(), 10, Budget::unlimited()).unwrap();
    let layers = Layers::new(write);
    let mut own = layers.transaction().unwrap();
    let mut random = Generator::new(1);
    own.insert(5, &random.batch(&types, 1000)).unwrap();
    let plan = MergePlan::new(layers.with(&own)).unwrap();
    let base = random.batch(&types, 10).loaded().unwrap();
    let batches = plan.range(0..10).interleave(base, None, &[0], 100).unwrap();
    let rows: Vec<usize> = batches.iter().map(Batch::rows).collect();
    assert_eq!(rows, [[100; 10].as_slice(), &[10]].concat());
    // All but the first and the last batch are one run.
    assert_eq!(plan.counts().copied_batches, 2);
}
