//! One segment with transactions, next to the model; every step is taken on both.

use crate::rows::{Changed, Changes, Item, OwnInsert, Row, Uid, apply, conflict, visible};
use std::{collections::HashMap, sync::Arc};
use volley_pdt::{
    Budget, ConflictKind, Layers, MergePlan, PROVISIONAL, Pdt, RowName, Run, Stamp, Translator,
    View,
};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Transactions that are open at once.
const OPEN_MAX: usize = 4;

#[derive(Clone, Debug)]
pub enum Step {
    Begin,
    Insert {
        txn: usize,
        at: usize,
        count: usize,
    },
    Delete {
        txn: usize,
        at: usize,
    },
    DeleteRange {
        txn: usize,
        at: usize,
        rows: usize,
    },
    Modify {
        txn: usize,
        at: usize,
        column: u32,
    },
    ModifyMany {
        txn: usize,
        at: usize,
        step: usize,
    },
    Save {
        txn: usize,
    },
    RollBack {
        txn: usize,
    },
    Commit {
        txn: usize,
    },
    Abort {
        txn: usize,
    },
    /// Of what all transactions have seen.
    Freeze,
    /// Of more than that.
    FreezeLater {
        lag: usize,
    },
    StartRewrite,
    FinishRewrite,
    Check {
        batch_rows: usize,
    },
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub commits: usize,
    pub conflicts: usize,
    pub too_old: usize,
    pub freezes: usize,
    pub rewrites: usize,
    pub translations: usize,
    pub rollbacks: usize,
}

impl Seen {
    pub fn add(&mut self, other: Seen) {
        self.commits += other.commits;
        self.conflicts += other.conflicts;
        self.too_old += other.too_old;
        self.freezes += other.freezes;
        self.rewrites += other.rewrites;
        self.translations += other.translations;
        self.rollbacks += other.rollbacks;
    }
}

struct Transaction {
    snapshot: u64,
    generation: usize,
    layers: Layers,
    base: Arc<Batch>,
    items: Vec<Item>,
    own: Pdt,
    changes: Changes,
    saved: Option<(Pdt, Changes)>,
}

/// A rewrite under way.
struct Rewrite {
    layers: Layers,
    stamp: u64,
    rows: Batch,
    /// Rows of the version that is written.
    live: Vec<Uid>,
}

/// A finished rewrite.
struct Rewritten {
    translator: Translator,
    /// Of each item of the old segment in order, the base row of the new one at or after it.
    successors: HashMap<Uid, Option<Uid>>,
}

pub struct World {
    stamp: u64,
    next_uid: Uid,
    layers: Layers,
    base: Arc<Batch>,
    items: Vec<Item>,
    open: Vec<Transaction>,
    rewrite: Option<Rewrite>,
    generations: Vec<Rewritten>,
    /// Names of rows by generation.
    names: HashMap<(usize, Uid), RowName>,
    seen: Seen,
}

fn types() -> Arc<[Type]> {
    [Type::BigInt, Type::Varchar].into()
}

/// The value of a number in a column.
fn value(column: usize, number: Option<u64>) -> Value {
    match (column, number) {
        (_, None) => Value::Null,
        (0, Some(number)) => Value::BigInt(number as i64),
        (_, Some(number)) if number.is_multiple_of(2) => Value::text(format!("{number}")),
        (_, Some(number)) => Value::text(format!("a longer text of number {number}")),
    }
}

fn column(column: usize, numbers: &[Option<u64>]) -> Vector {
    let values: Vec<Value> = numbers.iter().map(|it| value(column, *it)).collect();
    Vector::from_values(types()[column].clone(), &values)
}

fn batch(rows: &[Row]) -> Batch {
    let columns = (0..2).map(|index| {
        let numbers: Vec<Option<u64>> = rows.iter().map(|it| it[index]).collect();
        column(index, &numbers)
    });
    Batch::new(columns.collect(), rows.len())
}

/// The rows of the segment in order.
fn merged(view: View<'_>, base: &Batch, batch_rows: usize) -> Batch {
    let plan = MergePlan::new(view).unwrap();
    assert_eq!(plan.rows(), view.rows());
    let mut batches = Vec::new();
    let base_rows = base.rows() as u32;
    let mut start = 0;
    loop {
        let end = (start + batch_rows as u32).min(base_rows);
        let range = plan.range(start..end);
        let live = range.live().map(|it| it.to_indices());
        let slice = base.slice(start as usize, (end - start) as usize);
        let slice = live.as_ref().map_or(slice.clone(), |live| slice.gather(live).unwrap());
        let columns = (0..)
            .zip(slice.columns())
            .map(|(index, column)| range.patch(index, column.clone(), live.as_deref()).unwrap());
        let patched = Batch::new(columns.collect(), slice.rows());
        let joined = range.interleave(patched, live.as_deref(), &[0, 1], batch_rows);
        batches.extend(joined.unwrap());
        start = end;
        if start == base_rows {
            break;
        }
    }
    assert!(batches.iter().all(|it| (1..=batch_rows).contains(&it.rows())));
    let inserted: usize = plan.inserted(&[0, 1]).map(|it| it.rows()).sum();
    assert_eq!(inserted as u64, plan.inserted_rows());
    Batch::concat(&types(), &batches).unwrap()
}

#[track_caller]
fn assert_rows(found: &Batch, expected: &[(Uid, Row)]) {
    assert_eq!(found.rows(), expected.len(), "rows");
    for index in 0..2 {
        let found = found.column(index).to_values().unwrap();
        let expected: Vec<Value> = expected.iter().map(|it| value(index, it.1[index])).collect();
        assert_eq!(found, expected, "column {index}");
    }
}

impl World {
    pub fn new(base_rows: u32) -> World {
        let items: Vec<Item> = (0..base_rows)
            .map(|uid| Item {
                uid,
                is_base: true,
                is_live: true,
                row: [Some(uid.into()), Some(uid.into())],
                changed: 0,
            })
            .collect();
        let rows: Vec<Row> = items.iter().map(|it| it.row).collect();
        let write = Pdt::new(types(), base_rows, Budget::unlimited()).unwrap();
        World {
            stamp: 0,
            next_uid: base_rows,
            layers: Layers::new(write),
            base: Arc::new(batch(&rows)),
            items,
            open: Vec::new(),
            rewrite: None,
            generations: Vec::new(),
            names: HashMap::new(),
            seen: Seen::default(),
        }
    }

    pub fn seen(&self) -> Seen {
        self.seen
    }

    pub fn take(&mut self, step: &Step) {
        match *step {
            Step::Begin => self.begin(),
            Step::Freeze => {
                let seen_by_all = self.open.iter().map(|it| it.snapshot).min();
                self.freeze(seen_by_all.unwrap_or(self.stamp));
            }
            Step::FreezeLater { lag } => self.freeze(self.stamp - lag as u64 % (self.stamp + 1)),
            Step::StartRewrite => self.start_rewrite(),
            Step::FinishRewrite => self.finish_rewrite(),
            Step::Check { batch_rows } => {
                self.check(
                    self.layers.view(),
                    &self.base,
                    &self.items,
                    &Changes::default(),
                    [1, 3, 1024][batch_rows % 3],
                );
            }
            Step::Insert { txn, .. }
            | Step::Delete { txn, .. }
            | Step::DeleteRange { txn, .. }
            | Step::Modify { txn, .. }
            | Step::ModifyMany { txn, .. }
            | Step::Save { txn }
            | Step::RollBack { txn }
            | Step::Commit { txn }
            | Step::Abort { txn } => {
                if let Some(index) = txn.checked_rem(self.open.len()) {
                    self.take_in(index, step);
                }
            }
        }
    }

    fn take_in(&mut self, index: usize, step: &Step) {
        match *step {
            Step::Insert { at, count, .. } => self.insert(index, at, count),
            Step::Delete { at, .. } => self.delete(index, at),
            Step::DeleteRange { at, rows, .. } => self.delete_range(index, at, rows),
            Step::Modify { at, column, .. } => self.modify(index, at, column),
            Step::ModifyMany { at, step, .. } => self.modify_many(index, at, step),
            Step::Save { .. } => {
                let txn = &mut self.open[index];
                txn.saved = Some((txn.own.clone(), txn.changes.clone()));
            }
            Step::RollBack { .. } => {
                let txn = &mut self.open[index];
                if let Some((own, changes)) = txn.saved.clone() {
                    (txn.own, txn.changes) = (own, changes);
                    self.seen.rollbacks += 1;
                }
            }
            Step::Commit { .. } => self.commit(index),
            _ => drop(self.open.remove(index)),
        }
        if let Some(txn) = self.open.get(index) {
            txn.own.check();
        }
    }

    fn begin(&mut self) {
        if self.open.len() == OPEN_MAX {
            return;
        }
        self.open.push(Transaction {
            snapshot: self.stamp,
            generation: self.generations.len(),
            layers: self.layers.clone(),
            base: Arc::clone(&self.base),
            items: self.items.clone(),
            own: self.layers.transaction().unwrap(),
            changes: Changes::default(),
            saved: None,
        });
    }

    fn insert(&mut self, index: usize, at: usize, count: usize) {
        let txn = &mut self.open[index];
        let bases: Vec<Uid> = txn.items.iter().filter(|it| it.is_base).map(|it| it.uid).collect();
        let at = at % (bases.len() + 1);
        let uids = self.next_uid..self.next_uid + count as u32;
        self.next_uid = uids.end;
        let rows: Vec<Row> = uids.clone().map(|it| [Some(it.into()), Some(it.into())]).collect();
        let first = txn.own.insert(at as u32, &batch(&rows)).unwrap();
        assert!(matches!(first, RowName::Inserted(id) if id >= PROVISIONAL));
        let anchor = bases.get(at).copied();
        let inserts =
            uids.zip(rows).map(|(uid, row)| OwnInsert { uid, anchor, is_live: true, row });
        txn.changes.inserts.extend(inserts);
    }

    /// The row at a position of what the transaction sees, in the delta and in the model.
    fn row(&self, index: usize, at: usize) -> Option<(RowName, Uid)> {
        let txn = &self.open[index];
        let rows = visible(&txn.items, &txn.changes);
        let at = at.checked_rem(rows.len())?;
        let name = txn.layers.with(&txn.own).row_at(at as u32).unwrap();
        Some((name, rows[at].0))
    }

    fn delete(&mut self, index: usize, at: usize) {
        let Some((name, uid)) = self.row(index, at) else { return };
        let txn = &mut self.open[index];
        assert_eq!(txn.own.delete(&txn.layers, &[name, name]).unwrap(), 1);
        assert_eq!(txn.layers.with(&txn.own).rid(name), None);
        delete_in_model(&mut txn.changes, uid);
    }

    fn delete_range(&mut self, index: usize, at: usize, rows: usize) {
        let txn = &mut self.open[index];
        let seen: Vec<Uid> = visible(&txn.items, &txn.changes).iter().map(|it| it.0).collect();
        let bases: Vec<Uid> = txn.items.iter().filter(|it| it.is_base).map(|it| it.uid).collect();
        let start = at % (bases.len() + 1);
        let end = start + rows % (bases.len() + 1 - start);
        let wanted: Vec<Uid> =
            bases[start..end].iter().filter(|it| seen.contains(it)).copied().collect();
        let count = txn.own.delete_range(&txn.layers, start as u32..end as u32).unwrap();
        assert_eq!(count, wanted.len() as u64);
        wanted.into_iter().for_each(|it| delete_in_model(&mut txn.changes, it));
    }

    fn modify(&mut self, index: usize, at: usize, column: u32) {
        let Some((name, uid)) = self.row(index, at) else { return };
        self.modify_rows(index, &[(name, uid)], column);
    }

    /// Several rows in one call, some of them twice.
    fn modify_many(&mut self, index: usize, at: usize, step: usize) {
        let rows: Vec<_> = (0..4).filter_map(|it| self.row(index, at + it * step)).collect();
        self.modify_rows(index, &rows, (at % 2) as u32);
    }

    fn modify_rows(&mut self, index: usize, rows: &[(RowName, Uid)], modified: u32) {
        let txn = &mut self.open[index];
        let numbers: Vec<Option<u64>> = (0..rows.len() as u32)
            .map(|it| Some(u64::from(self.next_uid + it)).filter(|it| it % 7 != 0))
            .collect();
        self.next_uid += rows.len() as u32;
        let names: Vec<RowName> = rows.iter().map(|it| it.0).collect();
        let values = Batch::new(vec![column(modified as usize, &numbers)], rows.len());
        let count = txn.own.modify(&txn.layers, &names, &[modified], &values).unwrap();
        assert_eq!(count, rows.len());
        for ((_, uid), number) in rows.iter().zip(numbers) {
            let modified = modified as usize;
            match txn.changes.inserts.iter_mut().find(|it| it.uid == *uid) {
                Some(insert) => insert.row[modified] = number,
                None => {
                    let changed = txn.changes.of_rows.entry(*uid).or_default();
                    changed.values[modified] = Some(number);
                }
            }
        }
    }

    fn commit(&mut self, index: usize) {
        let txn = self.open.remove(index);
        self.check(txn.layers.with(&txn.own), &txn.base, &txn.items, &txn.changes, 3);
        let snapshot = Stamp(txn.snapshot);
        let (mut own, mut changes) = (txn.own, txn.changes);
        let expected = conflict(&self.items, &changes, txn.snapshot);
        sort_inserts(&mut changes, &txn.items);
        let mut found = None;
        for rewritten in self.generations.iter().skip(txn.generation) {
            match rewritten.translator.transaction(&own, snapshot).unwrap() {
                Ok(translated) => own = translated,
                Err(conflict) => {
                    found = Some(conflict);
                    break;
                }
            }
            own.check();
            for insert in &mut changes.inserts {
                insert.anchor = insert.anchor.and_then(|it| rewritten.successors[&it]);
            }
            self.seen.translations += 1;
        }
        let found = found.or_else(|| self.layers.conflict(&own, snapshot));
        match (found, expected) {
            (Some(conflict), None) => {
                assert_eq!(conflict.kind, ConflictKind::TooOld, "{conflict}");
                self.seen.too_old += 1;
                return;
            }
            (None, Some(uid)) => panic!("no conflict, but row {uid} was changed"),
            (Some(_), Some(_)) => {
                self.seen.conflicts += 1;
                return;
            }
            (None, None) => {}
        }
        self.stamp += 1;
        self.layers = self.layers.apply(&own, Stamp(self.stamp)).unwrap();
        self.layers.write.check();
        apply(&mut self.items, &changes, self.stamp);
        self.seen.commits += 1;
    }

    fn freeze(&mut self, bound: u64) {
        if self.rewrite.is_some() {
            return;
        }
        let frozen = self.layers.freeze(Stamp(bound), &Budget::unlimited()).unwrap();
        let rows = self.base.rows() as u32;
        Run::open(&frozen.bytes, &types(), rows, &Budget::unlimited()).unwrap();
        frozen.layers.write.check();
        assert!(frozen.layers.write.tree().iter().all(|it| it.stamp > Stamp(bound)));
        self.layers = frozen.layers;
        self.seen.freezes += 1;
        self.check(self.layers.view(), &self.base, &self.items, &Changes::default(), 1024);
    }

    fn start_rewrite(&mut self) {
        let live: Vec<Uid> = self.items.iter().filter(|it| it.is_live).map(|it| it.uid).collect();
        self.rewrite.get_or_insert_with(|| Rewrite {
            layers: self.layers.clone(),
            stamp: self.stamp,
            rows: merged(self.layers.view(), &self.base, 1024),
            live,
        });
    }

    fn finish_rewrite(&mut self) {
        let Some(rewrite) = self.rewrite.take() else { return };
        let (translator, layers) =
            self.layers.translate(&rewrite.layers, Stamp(rewrite.stamp)).unwrap();
        layers.write.check();
        let mut successors = HashMap::new();
        let mut next = None;
        for item in self.items.iter().rev() {
            if rewrite.live.contains(&item.uid) {
                next = Some(item.uid);
            }
            successors.insert(item.uid, next);
        }
        let old = visible(&self.items, &Changes::default());
        let names: Vec<RowName> =
            (0..old.len() as u32).map(|it| self.layers.view().row_at(it).unwrap()).collect();
        for (rid, name) in (0..).zip(names) {
            let translated = translator.row(name).unwrap();
            assert_eq!(layers.view().rid(translated), Some(rid), "{name} is {translated}");
        }
        self.layers = layers;
        self.base = Arc::new(rewrite.rows);
        self.items.retain(|it| it.is_live || rewrite.live.contains(&it.uid));
        for item in &mut self.items {
            item.is_base = rewrite.live.contains(&item.uid);
        }
        self.generations.push(Rewritten { translator, successors });
        self.seen.rewrites += 1;
        self.check(self.layers.view(), &self.base, &self.items, &Changes::default(), 1024);
    }

    fn check(&self, view: View<'_>, base: &Batch, items: &[Item], changes: &Changes, rows: usize) {
        let expected = visible(items, changes);
        assert_rows(&merged(view, base, rows), &expected);
    }

    /// Everything that can be asked of the current version and of all transactions.
    pub fn check_all(&mut self) {
        let (layers, base, items) =
            (self.layers.clone(), Arc::clone(&self.base), self.items.clone());
        self.check(layers.view(), &base, &items, &Changes::default(), 3);
        self.check_names(layers.view(), self.generations.len(), &items, &Changes::default());
        for txn in std::mem::take(&mut self.open) {
            let view = txn.layers.with(&txn.own);
            self.check(view, &txn.base, &txn.items, &txn.changes, 1);
            self.check_names(view, txn.generation, &txn.items, &txn.changes);
        }
    }

    /// Positions and names are inverse; a row has one name while its segment exists.
    fn check_names(
        &mut self,
        view: View<'_>,
        generation: usize,
        items: &[Item],
        changes: &Changes,
    ) {
        let plan = MergePlan::new(view).unwrap();
        let rows = visible(items, changes);
        for (rid, (uid, _)) in (0..).zip(&rows) {
            let name = view.row_at(rid).unwrap();
            assert_eq!(view.rid(name), Some(rid), "{name}");
            assert_eq!(plan.row_at(rid), Some(name));
            assert_eq!(plan.rank(view.key(name).unwrap()), u64::from(rid));
            if !matches!(name, RowName::Inserted(id) if id >= PROVISIONAL) {
                let known = *self.names.entry((generation, *uid)).or_insert(name);
                assert_eq!(known, name, "the name of a row changed");
            }
        }
        assert_eq!(view.row_at(rows.len() as u32), None);
        assert_eq!(plan.row_at(rows.len() as u32), None);
    }
}

fn delete_in_model(changes: &mut Changes, uid: Uid) {
    match changes.inserts.iter_mut().find(|it| it.uid == uid) {
        Some(insert) => insert.is_live = false,
        None => {
            changes.of_rows.insert(uid, Changed { is_deleted: true, ..Changed::default() });
        }
    }
}

/// In the order of anchors: those of a rewrite may come to be the same.
fn sort_inserts(changes: &mut Changes, items: &[Item]) {
    let position = |it: &OwnInsert| {
        let anchor = items.iter().position(|item| Some(item.uid) == it.anchor);
        anchor.unwrap_or(items.len())
    };
    changes.inserts.sort_by_key(position);
}
