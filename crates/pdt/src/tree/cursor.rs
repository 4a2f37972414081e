//! Walking over the entries of a tree in order.

use super::node::{Child, Node};
use crate::{Entry, Position};
use std::slice::Iter;

/// The entries from a position on, in order.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    /// Children that come later, by level.
    later: Vec<Iter<'a, Child>>,
    entries: Iter<'a, Entry>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(root: &'a Node, position: Position) -> Cursor<'a> {
        let mut cursor = Cursor { later: Vec::new(), entries: [].iter() };
        let mut node = root;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let start = leaf.entries.partition_point(|it| it.position() < position);
                    cursor.entries = leaf.entries[start..].iter();
                    return cursor;
                }
                Node::Inner(inner) => {
                    let after = inner.children.partition_point(|it| it.first() <= position);
                    let mut children = inner.children[after.saturating_sub(1)..].iter();
                    let Some(child) = children.next() else { return cursor };
                    cursor.later.push(children);
                    node = &child.node;
                }
            }
        }
    }

    /// Goes to the first entry below `node`.
    fn descend(&mut self, mut node: &'a Node) {
        loop {
            match node {
                Node::Leaf(leaf) => {
                    self.entries = leaf.entries.iter();
                    return;
                }
                Node::Inner(inner) => {
                    let mut children = inner.children.iter();
                    let Some(child) = children.next() else { return };
                    self.later.push(children);
                    node = &child.node;
                }
            }
        }
    }
}

impl<'a> Iterator for Cursor<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(entry);
            }
            match self.later.last_mut()?.next() {
                Some(child) => self.descend(&child.node),
                None => drop(self.later.pop()),
            }
        }
    }
}
