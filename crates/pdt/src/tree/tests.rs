use super::*;
use crate::{Change, Stamp};
use std::collections::BTreeMap;

fn entry(number: u32, rows: u32) -> Entry {
    let change = match number % 3 {
        0 => Change::Insert { rows },
        1 => Change::Delete { rows },
        _ => Change::Modify { column: number % 5, value: rows },
    };
    let key =
        if number.is_multiple_of(3) { Key::new(number * 8, 0) } else { Key::base(number * 8) };
    Entry::new(key, change, Stamp(number.into()))
}

/// The tree has what the map has, and answers the same.
fn check(tree: &Tree, model: &BTreeMap<Position, Entry>, probes: &[u32]) {
    tree.check();
    assert!(tree.iter().eq(model.values()));
    assert_eq!(tree.len(), model.len());
    assert_eq!(tree.delta(), model.values().map(Entry::delta).sum::<i64>());
    for probe in probes {
        let position = entry(*probe, 1).position();
        assert_eq!(tree.get(position), model.get(&position));
        assert_eq!(tree.before(position), model.range(..position).next_back().map(|it| it.1));
        assert!(tree.from(position).eq(model.range(position..).map(|it| it.1)));
        let prefix = tree.prefix(position);
        let delta = prefix.delta + prefix.last.map_or(0, Entry::delta);
        assert_eq!(delta, model.range(..position).map(|it| it.1.delta()).sum::<i64>());
    }
}

#[test]
fn a_tree_is_a_sorted_map_and_old_versions_stay() {
    for seed in 0..40 {
        let mut random = fastrand::Rng::with_seed(seed);
        let budget = Budget::unlimited();
        let (mut tree, mut model) = (Tree::new(Arc::clone(&budget)), BTreeMap::new());
        let mut versions = Vec::new();
        let size = [10, 100, 1000, 20_000][seed as usize % 4];
        for round in 0..12 {
            // Growing, then shrinking to nothing.
            let removes = if round < 6 { 1 } else { 9 };
            for _ in 0..random.u32(..size) {
                let entry = entry(random.u32(..size), random.u32(1..8));
                if random.u32(..10) < removes {
                    let removed = model.remove(&entry.position()).is_some();
                    assert_eq!(tree.remove(entry.position()), removed);
                } else {
                    tree.put(entry);
                    model.insert(entry.position(), entry);
                }
            }
            versions.push((tree.clone(), model.clone()));
        }
        for position in model.keys().copied().collect::<Vec<_>>() {
            assert!(tree.remove(position));
        }
        versions.push((tree, BTreeMap::new()));
        let probes: Vec<u32> = (0..40).map(|_| random.u32(..size)).collect();
        for (tree, model) in &versions {
            check(tree, model, &probes);
        }
        drop(versions);
        assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn entries_in_order_fill_their_leaves() {
    let budget = Budget::unlimited();
    let mut tree = Tree::new(Arc::clone(&budget));
    for number in 0..10_000 {
        tree.put(entry(number, 1));
    }
    tree.check();
    assert!(tree.height() == 3, "{}", tree.height());
    assert!(tree.retained_bytes() < 10_000 * 28, "{}", tree.retained_bytes());
    assert_eq!(tree.retained_bytes(), budget.used_bytes());
}

#[test]
fn a_change_of_a_version_copies_one_path() {
    let budget = Budget::unlimited();
    let mut tree = Tree::new(Arc::clone(&budget));
    for number in 0..100_000 {
        tree.put(entry(number * 2, 1));
    }
    let (before, version) = (budget.used_bytes(), tree.clone());
    tree.put(entry(77_777, 1));
    assert!(budget.used_bytes() - before <= tree.change_bytes());
    // A second change of the same path copies nothing.
    let before = budget.used_bytes();
    tree.put(entry(77_779, 1));
    assert_eq!(budget.used_bytes(), before);
    assert!(version.get(entry(77_777, 1).position()).is_none());
}

#[test]
fn few_entries_are_one_array() {
    let mut tree = Tree::new(Budget::unlimited());
    for number in (0..LEAF_MAX as u32).rev() {
        tree.put(entry(number, 1));
    }
    assert_eq!((tree.height(), tree.len()), (1, LEAF_MAX));
}
