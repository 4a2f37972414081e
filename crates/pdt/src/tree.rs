//! A counting B+-tree of entries, copied on write.
//!
//! ```text
//! inner   up to 32 children, each with its first position, inserts - deletes, number of entries
//! leaf    up to 64 entries in order
//! ```
//!
//! A clone is another version that shares all nodes; a change copies the nodes from the root to one
//! leaf, unless no other version holds them. With up to 64 entries the tree is one sorted array.

mod node;
mod cursor;
#[cfg(test)]
mod tests;

pub use cursor::Cursor;

use crate::{Budget, Entry, Key, Position};
use node::{Inner, Leaf, Node};
use std::sync::Arc;

/// Entries of a leaf.
const LEAF_MAX: usize = 64;

/// Children of an inner node.
const INNER_MAX: usize = 32;

/// What a tree without entries allocates.
pub(crate) const EMPTY_BYTES: usize = node::NODE_BYTES;

/// Entries by position. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tree {
    root: Arc<Node>,
    budget: Arc<Budget>,
}

/// What comes before a position.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'a> {
    /// Inserts - deletes of the entries before the last one.
    pub delta: i64,
    /// The last entry before the position.
    pub last: Option<&'a Entry>,
}

impl Prefix<'_> {
    /// Inserts - deletes of rows before `key`, for which the prefix was asked.
    pub fn delta_before(&self, key: Key) -> i64 {
        self.delta + self.last.map_or(0, |it| it.delta_before(key))
    }
}

impl Tree {
    /// An empty tree, whose nodes are charged to `budget`.
    pub fn new(budget: Arc<Budget>) -> Tree {
        Tree { root: Arc::new(Node::Leaf(Leaf::new(&budget))), budget }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.root.entries() as usize
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Inserts - deletes of all entries.
    pub fn delta(&self) -> i64 {
        self.root.delta()
    }

    /// Levels of nodes, at least 1.
    pub fn height(&self) -> usize {
        self.root.height()
    }

    /// The entry at `position`.
    pub fn get(&self, position: Position) -> Option<&Entry> {
        self.from(position).next().filter(|it| it.position() == position)
    }

    /// The last entry before `position`.
    pub fn before(&self, position: Position) -> Option<&Entry> {
        self.prefix(position).last
    }

    /// What comes before `position`, in one descent.
    pub fn prefix(&self, position: Position) -> Prefix<'_> {
        let (mut node, mut delta) = (&*self.root, 0);
        loop {
            match node {
                Node::Inner(inner) => {
                    let index = inner.children.partition_point(|it| it.first() < position);
                    let Some(index) = index.checked_sub(1) else {
                        return Prefix { delta, last: None };
                    };
                    delta += inner.children.iter().take(index).map(|it| it.delta).sum::<i64>();
                    node = &inner.children[index].node;
                }
                Node::Leaf(leaf) => {
                    let end = leaf.entries.partition_point(|it| it.position() < position);
                    let Some((last, before)) = leaf.entries[..end].split_last() else {
                        return Prefix { delta, last: None };
                    };
                    delta += before.iter().map(Entry::delta).sum::<i64>();
                    return Prefix { delta, last: Some(last) };
                }
            }
        }
    }

    /// The entries from `position` on, in order.
    pub fn from(&self, position: Position) -> Cursor<'_> {
        Cursor::new(&self.root, position)
    }

    /// All entries in order.
    pub fn iter(&self) -> Cursor<'_> {
        self.from(Position::default())
    }

    /// Adds `entry`, in place of the one at its position.
    pub fn put(&mut self, entry: Entry) {
        let change = Arc::make_mut(&mut self.root).put(entry, &self.budget);
        if let Some(right) = change.split {
            let left = Arc::clone(&self.root);
            let root = Inner::new(vec![left, right], &self.budget);
            self.root = Arc::new(Node::Inner(root));
        }
    }

    /// Removes the entry at `position`; whether there was one.
    pub fn remove(&mut self, position: Position) -> bool {
        if self.get(position).is_none() {
            return false;
        }
        Arc::make_mut(&mut self.root).remove(position, &self.budget);
        while let Node::Inner(inner) = &*self.root {
            match inner.children.as_slice() {
                [] => self.root = Arc::new(Node::Leaf(Leaf::new(&self.budget))),
                [only] => self.root = Arc::clone(&only.node),
                _ => break,
            }
        }
        true
    }

    /// Bytes of nodes that this version holds, shared ones included. Visits all inner nodes.
    pub fn retained_bytes(&self) -> usize {
        self.root.retained_bytes()
    }

    /// What allocating may take for one change: a path of nodes and a second one for splits.
    pub fn change_bytes(&self) -> usize {
        self.height() * 2 * node::NODE_BYTES
    }

    /// Checks counts, order and sizes of all nodes, for tests.
    #[doc(hidden)]
    pub fn check(&self) {
        self.root.check(true);
        assert!(self.iter().is_sorted_by(|a, b| a.position() < b.position()), "order of entries");
    }
}
