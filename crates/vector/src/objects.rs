//! The elements of opaque columns.

use std::{collections::HashSet, sync::Arc};
use volley_types::Object;

/// References to objects, one per row; `None` in null rows only.
#[derive(Clone, Debug)]
pub struct Objects {
    all: Arc<[Option<Object>]>,
    offset: usize,
    len: usize,
}

impl Objects {
    /// The rows, as a slice.
    pub fn as_slice(&self) -> &[Option<Object>] {
        &self.all[self.offset..self.offset + self.len]
    }

    /// The object of `row`.
    #[inline]
    pub fn get(&self, row: usize) -> Option<&Object> {
        self.as_slice()[row].as_ref()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows from `offset` on, `len` of them, sharing storage.
    pub(crate) fn slice(&self, offset: usize, len: usize) -> Objects {
        assert!(offset + len <= self.len, "slice beyond the objects");
        Objects { all: Arc::clone(&self.all), offset: self.offset + offset, len }
    }

    /// The position of the references: slices and clones are at the same place.
    pub fn address(&self) -> usize {
        self.all.as_ptr() as usize
    }

    /// Bytes of memory kept alive: the references, and each object once.
    pub fn retained_bytes(&self) -> usize {
        let mut seen = HashSet::new();
        let objects = self.all.iter().flatten().filter(|it| seen.insert(it.address()));
        size_of_val(&*self.all) + objects.map(Object::bytes).sum::<usize>()
    }
}

impl FromIterator<Option<Object>> for Objects {
    fn from_iter<I: IntoIterator<Item = Option<Object>>>(objects: I) -> Objects {
        let all: Arc<[Option<Object>]> = objects.into_iter().collect();
        Objects { offset: 0, len: all.len(), all }
    }
}
