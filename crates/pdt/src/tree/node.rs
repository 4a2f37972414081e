//! Nodes: adding and removing an entry, counts, splits and merges.

use super::{INNER_MAX, LEAF_MAX};
use crate::{Budget, Charge, Entry, Key, Position};
use std::sync::Arc;

/// Bytes of a leaf's or inner node's array, whichever is larger, and of the node itself.
pub(super) const NODE_BYTES: usize = LEAF_MAX * size_of::<Entry>() + 64;

const _: () = assert!(INNER_MAX * size_of::<Child>() <= LEAF_MAX * size_of::<Entry>());

/// A node with fewer entries or children than this part of the maximum is merged.
const SMALL_SHARE: usize = 4;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Leaf(Leaf),
    Inner(Inner),
}

#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) entries: Vec<Entry>,
    charge: Charge,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) children: Vec<Child>,
    charge: Charge,
}

/// A child, with what is below it.
#[derive(Clone, Debug)]
pub(super) struct Child {
    first_key: Key,
    /// Inserts - deletes.
    pub(super) delta: i64,
    pub(super) node: Arc<Node>,
    first_rank: u32,
    entries: u32,
}

const _: () = assert!(size_of::<Child>() == 32);

/// What adding an entry did to a node.
pub(super) struct Added {
    delta: i64,
    entries: u32,
    /// The node's right half, when it became too large.
    pub(super) split: Option<Arc<Node>>,
}

impl Clone for Leaf {
    /// With room for the change that the copy is made for.
    fn clone(&self) -> Leaf {
        let mut entries = Vec::with_capacity(LEAF_MAX);
        entries.extend_from_slice(&self.entries);
        Leaf { entries, charge: self.charge.clone() }
    }
}

impl Clone for Inner {
    fn clone(&self) -> Inner {
        let mut children = Vec::with_capacity(INNER_MAX);
        children.extend_from_slice(&self.children);
        Inner { children, charge: self.charge.clone() }
    }
}

impl Leaf {
    pub(super) fn new(budget: &Arc<Budget>) -> Leaf {
        Leaf::of(&[], budget)
    }

    fn of(from: &[Entry], budget: &Arc<Budget>) -> Leaf {
        let mut entries = Vec::with_capacity(LEAF_MAX);
        entries.extend_from_slice(from);
        Leaf { entries, charge: Charge::new(budget, NODE_BYTES) }
    }

    fn put(&mut self, entry: Entry, budget: &Arc<Budget>) -> Added {
        let position = entry.position();
        let index = self.entries.partition_point(|it| it.position() < position);
        if let Some(old) = self.entries.get_mut(index).filter(|it| it.position() == position) {
            let delta = entry.delta() - old.delta();
            *old = entry;
            return Added { delta, entries: 0, split: None };
        }
        let mut split = None;
        if self.entries.len() < LEAF_MAX {
            self.entries.insert(index, entry);
        } else {
            // Entries that come in order fill their leaves.
            let middle = if index == LEAF_MAX { LEAF_MAX } else { LEAF_MAX / 2 };
            let mut right = Leaf::of(&self.entries[middle..], budget);
            self.entries.truncate(middle);
            if index > middle || middle == LEAF_MAX {
                right.entries.insert(index - middle, entry);
            } else {
                self.entries.insert(index, entry);
            }
            split = Some(Arc::new(Node::Leaf(right)));
        }
        Added { delta: entry.delta(), entries: 1, split }
    }
}

impl Inner {
    pub(super) fn new(nodes: Vec<Arc<Node>>, budget: &Arc<Budget>) -> Inner {
        let mut children = Vec::with_capacity(INNER_MAX);
        children.extend(nodes.into_iter().map(Child::of));
        Inner { children, charge: Charge::new(budget, NODE_BYTES) }
    }

    /// The child that has, or would have, the entry at `position`.
    fn child_of(&self, position: Position) -> usize {
        self.children.partition_point(|it| it.first() <= position).saturating_sub(1)
    }

    fn put(&mut self, entry: Entry, budget: &Arc<Budget>) -> Added {
        let index = self.child_of(entry.position());
        let child = &mut self.children[index];
        let added = Arc::make_mut(&mut child.node).put(entry, budget);
        let Some(right) = added.split else {
            child.delta += added.delta;
            child.entries += added.entries;
            child.set_first(child.first().min(entry.position()));
            return added;
        };
        *child = Child::of(Arc::clone(&child.node));
        let right = Child::of(right);
        let mut split = None;
        if self.children.len() < INNER_MAX {
            self.children.insert(index + 1, right);
        } else {
            let at = index + 1;
            let middle = if at == INNER_MAX { INNER_MAX } else { INNER_MAX / 2 };
            let mut second = Inner::new(Vec::new(), budget);
            second.children.extend(self.children.drain(middle..));
            if at > middle || middle == INNER_MAX {
                second.children.insert(at - middle, right);
            } else {
                self.children.insert(at, right);
            }
            split = Some(Arc::new(Node::Inner(second)));
        }
        Added { delta: added.delta, entries: added.entries, split }
    }

    fn remove(&mut self, position: Position, budget: &Arc<Budget>) {
        let index = self.child_of(position);
        let child = &mut self.children[index];
        Arc::make_mut(&mut child.node).remove(position, budget);
        if child.node.len() == 0 {
            self.children.remove(index);
            return;
        }
        *child = Child::of(Arc::clone(&child.node));
        if child.node.is_small() {
            self.merge(index);
        }
    }

    /// Moves what the small child `index` has to a neighbor that has room.
    fn merge(&mut self, index: usize) {
        let left = if index + 1 < self.children.len() { index } else { index.saturating_sub(1) };
        let Some([first, second]) = self.children.get_mut(left..left + 2) else { return };
        if first.node.has_room_for(&second.node) {
            Arc::make_mut(&mut first.node).append(&second.node);
            *first = Child::of(Arc::clone(&first.node));
            self.children.remove(left + 1);
        }
    }
}

impl Child {
    fn of(node: Arc<Node>) -> Child {
        let first = node.first();
        Child {
            first_key: first.key,
            first_rank: first.rank,
            delta: node.delta(),
            entries: node.entries(),
            node,
        }
    }

    pub(super) fn first(&self) -> Position {
        Position { key: self.first_key, rank: self.first_rank }
    }

    fn set_first(&mut self, first: Position) {
        self.first_key = first.key;
        self.first_rank = first.rank;
    }
}

impl Node {
    pub(super) fn put(&mut self, entry: Entry, budget: &Arc<Budget>) -> Added {
        match self {
            Node::Leaf(leaf) => leaf.put(entry, budget),
            Node::Inner(inner) => inner.put(entry, budget),
        }
    }

    /// Removes the entry at `position`, which is there.
    pub(super) fn remove(&mut self, position: Position, budget: &Arc<Budget>) {
        match self {
            Node::Leaf(leaf) => leaf.entries.retain(|it| it.position() != position),
            Node::Inner(inner) => inner.remove(position, budget),
        }
    }

    fn has_room_for(&self, next: &Node) -> bool {
        let max = if matches!(self, Node::Leaf(_)) { LEAF_MAX } else { INNER_MAX };
        self.len() + next.len() <= max
    }

    /// Takes over what `next`, a node of the same level, has.
    fn append(&mut self, next: &Node) {
        match (self, next) {
            (Node::Leaf(leaf), Node::Leaf(next)) => leaf.entries.extend_from_slice(&next.entries),
            (Node::Inner(inner), Node::Inner(next)) => {
                inner.children.extend_from_slice(&next.children);
            }
            _ => debug_assert!(false, "nodes of different levels"),
        }
    }

    fn len(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.entries.len(),
            Node::Inner(inner) => inner.children.len(),
        }
    }

    fn is_small(&self) -> bool {
        match self {
            Node::Leaf(leaf) => leaf.entries.len() < LEAF_MAX / SMALL_SHARE,
            Node::Inner(inner) => inner.children.len() < INNER_MAX / SMALL_SHARE,
        }
    }

    fn first(&self) -> Position {
        match self {
            Node::Leaf(leaf) => leaf.entries.first().map(Entry::position).unwrap_or_default(),
            Node::Inner(inner) => inner.children.first().map(Child::first).unwrap_or_default(),
        }
    }

    pub(super) fn delta(&self) -> i64 {
        match self {
            Node::Leaf(leaf) => leaf.entries.iter().map(Entry::delta).sum(),
            Node::Inner(inner) => inner.children.iter().map(|it| it.delta).sum(),
        }
    }

    pub(super) fn entries(&self) -> u32 {
        match self {
            Node::Leaf(leaf) => leaf.entries.len() as u32,
            Node::Inner(inner) => inner.children.iter().map(|it| it.entries).sum(),
        }
    }

    pub(super) fn height(&self) -> usize {
        match self {
            Node::Leaf(_) => 1,
            Node::Inner(inner) => 1 + inner.children.first().map_or(0, |it| it.node.height()),
        }
    }

    pub(super) fn retained_bytes(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.charge.bytes(),
            Node::Inner(inner) => {
                let below = inner.children.iter().map(|it| it.node.retained_bytes());
                inner.charge.bytes() + below.sum::<usize>()
            }
        }
    }

    /// Asserts what holds of every node.
    pub(super) fn check(&self, is_root: bool) {
        assert!(is_root || self.len() > 0, "an empty node");
        match self {
            Node::Leaf(leaf) => assert!(leaf.entries.len() <= LEAF_MAX, "entries of a leaf"),
            Node::Inner(inner) => {
                assert!(inner.children.len() <= INNER_MAX, "children of an inner node");
                for child in &inner.children {
                    child.node.check(false);
                    assert_eq!(child.first(), child.node.first(), "first position of a child");
                    assert_eq!(child.delta, child.node.delta(), "inserts - deletes of a child");
                    assert_eq!(child.entries, child.node.entries(), "entries of a child");
                    let height = inner.children[0].node.height();
                    assert_eq!(child.node.height(), height, "heights of children");
                }
            }
        }
    }
}
