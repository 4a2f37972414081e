//! Reads a nested column: assembles levels and values of its leaves into arrays, maps and rows.
//!
//! Each leaf yields entries: a definition level, a repetition level and, at the highest definition
//! level, a value. A node's slots are the entries of its first leaf that begin a new one there:
//!
//! ```text
//! entries of the node = those with rep <= the node's repetition level and
//!                                  def >= the level at which its parent's element exists
//! row:    null where def < its own level; children have the same slots
//! list:   null likewise; elements = the entries up to the next slot with def >= element_def
//! leaf:   null where def < the highest level; values in order elsewhere
//! ```

use crate::{
    accumulator::{Accumulator, empty_values},
    error::corrupt,
    page_values::PageValues,
    pages::Pages,
    schema::{Node, NodeKind},
    validity::Validity,
};
use arrow_buffer::NullBuffer;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Nested, Values, Vector};

/// The column chunks of a nested column, read forward.
pub(crate) struct NestedReader {
    node: Node,
    pub leaves: Vec<LeafReader>,
}

/// One leaf's column chunk.
pub(crate) struct LeafReader {
    pub pages: Pages,
    page: Option<LeafPage>,
}

/// A page with its levels decoded.
struct LeafPage {
    reps: EntryLevels,
    defs: EntryLevels,
    /// Entries taken.
    at: usize,
    values: PageValues,
}

impl LeafPage {
    /// The rows that begin in what is left.
    fn rows_left(&self) -> usize {
        match self.reps.each_from(self.at) {
            None => self.reps.len - self.at,
            Some(reps) => reps.iter().filter(|it| **it == 0).count(),
        }
    }

    /// The number of entries left that belong to rows: those that have begun, and new ones until
    /// `begun` is `rows`.
    fn entries_of(&self, rows: usize, begun: &mut usize) -> Result<usize> {
        let Some(reps) = self.reps.each_from(self.at) else {
            let taken = (self.reps.len - self.at).min(rows - *begun);
            *begun += taken;
            return Ok(taken);
        };
        for (taken, rep) in reps.iter().enumerate() {
            if *rep == 0 {
                if *begun == rows {
                    return Ok(taken);
                }
                *begun += 1;
            } else if *begun == 0 {
                return Err(corrupt("column begins within a row"));
            }
        }
        Ok(reps.len())
    }
}

/// The levels of entries.
struct EntryLevels {
    /// `None`: all entries have the level `usual`.
    each: Option<Vec<u32>>,
    usual: u32,
    len: usize,
}

impl EntryLevels {
    /// No levels yet; most will be `usual`.
    fn new(usual: u32) -> EntryLevels {
        EntryLevels { each: None, usual, len: 0 }
    }

    /// These levels; they are not kept if all are `usual`.
    fn of(each: Vec<u32>, usual: u32) -> EntryLevels {
        let len = each.len();
        let is_usual = each.iter().fold(true, |all, it| all & (*it == usual));
        EntryLevels { each: (!is_usual).then_some(each), usual, len }
    }

    /// `len` times the level `usual`.
    fn repeated(usual: u32, len: usize) -> EntryLevels {
        EntryLevels { each: None, usual, len }
    }

    fn each_from(&self, start: usize) -> Option<&[u32]> {
        self.each.as_ref().map(|it| it.get(start..).unwrap_or_default())
    }

    /// Whether all entries have the usual level.
    fn is_usual(&self) -> bool {
        self.each.is_none()
    }

    fn get(&self, entry: usize) -> u32 {
        match &self.each {
            Some(each) => each.get(entry).copied().unwrap_or(self.usual),
            None => self.usual,
        }
    }

    /// How many of the entries `start..start + count` have this level.
    fn count(&self, start: usize, count: usize, level: u32) -> usize {
        match &self.each {
            Some(each) => {
                let part = each.get(start..start + count).unwrap_or_default();
                part.iter().filter(|it| **it == level).count()
            }
            None if self.usual == level => count,
            None => 0,
        }
    }

    /// Appends the entries `start..start + count` of levels with the same usual one.
    fn append(&mut self, other: &EntryLevels, start: usize, count: usize) {
        if let Some(new) = &other.each {
            let (usual, len) = (self.usual, self.len);
            let each = self.each.get_or_insert_with(|| vec![usual; len]);
            each.extend_from_slice(new.get(start..start + count).unwrap_or_default());
        } else if let Some(each) = &mut self.each {
            each.resize(each.len() + count, self.usual);
        }
        self.len += count;
    }
}

/// The entries of some rows.
struct Entries {
    /// The usual level is 0: an entry that begins a row.
    reps: EntryLevels,
    /// The usual level is the highest: an entry with a value.
    defs: EntryLevels,
    /// The values that are not null.
    values: Vector,
}

impl NestedReader {
    /// A reader of `node`; `pages`: one per leaf, in order.
    pub fn new(node: Node, pages: Vec<Pages>) -> NestedReader {
        let leaves = pages.into_iter().map(|pages| LeafReader { pages, page: None });
        NestedReader { node, leaves: leaves.collect() }
    }

    /// Passes over rows.
    pub fn skip(&mut self, rows: usize) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        self.leaves.iter_mut().try_for_each(|it| it.skip(rows))
    }

    /// Reads the next `rows` rows.
    pub fn read(&mut self, rows: usize) -> Result<Vector> {
        let mut entries = Vec::with_capacity(self.leaves.len());
        for leaf in &mut self.leaves {
            entries.push(leaf.read(rows)?);
        }
        let vector = assemble(&self.node, &mut entries.iter(), Place { rep: 0, parent_def: 0 })?;
        if vector.len() != rows {
            return Err(corrupt("rows of a nested column do not match"));
        }
        Ok(vector)
    }
}

impl LeafReader {
    fn read(&mut self, rows: usize) -> Result<Entries> {
        let leaf = self.pages.leaf.clone();
        let mut accumulator = Accumulator::new(&leaf);
        let (reps, defs) = self.rows(rows, Some(&mut accumulator))?;
        let values = if defs.count(0, defs.len, u32::from(leaf.def_max)) > 0 {
            accumulator.finish(None)?
        } else {
            empty_values(&leaf)
        };
        Ok(Entries { reps, defs, values })
    }

    /// Skips rows: whole pages without decompression if an index locates them.
    fn skip(&mut self, mut rows: usize) -> Result<()> {
        if self.pages.is_indexed() {
            let left = self.page.as_ref().map_or(0, LeafPage::rows_left);
            if left <= rows {
                self.page = None;
                rows -= left;
                rows -= self.pages.jump(rows);
            }
        }
        if rows > 0 {
            self.rows(rows, None)?;
        }
        Ok(())
    }

    /// Takes the entries of the next `rows` rows; values go to `accumulator`, or are dropped.
    fn rows(
        &mut self,
        rows: usize,
        mut accumulator: Option<&mut Accumulator>,
    ) -> Result<(EntryLevels, EntryLevels)> {
        let def_max = u32::from(self.pages.leaf.def_max);
        let (mut reps, mut defs, mut begun) = (EntryLevels::new(0), EntryLevels::new(def_max), 0);
        self.pages.release();
        loop {
            if self.page.as_ref().is_none_or(|it| it.at == it.reps.len) {
                // The last row ends with the column, or where the next page begins a row.
                if begun == rows && self.at_end()? {
                    break;
                }
                self.page = Some(load(&mut self.pages)?);
            }
            let Some(page) = &mut self.page else { break };
            let taken = page.entries_of(rows, &mut begun)?;
            let is_done = page.at + taken < page.reps.len;
            let values = page.defs.count(page.at, taken, def_max);
            match &mut accumulator {
                Some(accumulator) => {
                    self.pages.charge_entries(taken)?;
                    reps.append(&page.reps, page.at, taken);
                    defs.append(&page.defs, page.at, taken);
                    accumulator.append(&mut page.values, values)?;
                }
                None => {
                    page.values.skip(values)?;
                    self.pages.release();
                }
            }
            page.at += taken;
            if is_done {
                break;
            }
        }
        Ok((reps, defs))
    }

    fn at_end(&mut self) -> Result<bool> {
        let is_row_end = self.pages.leaf.rep_max == 0 || self.pages.is_indexed();
        Ok(is_row_end || self.pages.is_at_end()?)
    }
}

fn load(pages: &mut Pages) -> Result<LeafPage> {
    loop {
        let page = pages.next()?;
        if page.values == 0 {
            continue;
        }
        let (rep_max, def_max) = (pages.leaf.rep_max, pages.leaf.def_max);
        let read = |levels: Option<_>, usual: u32, max: u16| {
            let Some(mut levels): Option<crate::levels::Levels> = levels else {
                return Ok(EntryLevels::repeated(usual, page.values));
            };
            let mut each = Vec::new();
            levels.read(page.values, &mut each)?;
            if each.len() != page.values {
                return Err(corrupt("fewer levels than entries"));
            }
            match each.iter().all(|it| *it <= u32::from(max)) {
                true => Ok(EntryLevels::of(each, usual)),
                false => Err(corrupt("level beyond the schema's")),
            }
        };
        let reps = read(page.reps, 0, rep_max)?;
        let defs = read(page.defs, def_max.into(), def_max)?;
        let rows = reps.count(0, reps.len, 0);
        if pages.indexed_rows().is_some_and(|it| it != rows || reps.get(0) != 0) {
            return Err(corrupt("page index that does not fit the pages"));
        }
        let values = PageValues::new(pages, page.encoding, page.bytes, page.values)?;
        return Ok(LeafPage { reps, defs, at: 0, values });
    }
}

/// The position of a node among lists.
#[derive(Clone, Copy)]
struct Place {
    /// Lists around it.
    rep: u32,
    /// The definition level from which on its parent's element exists.
    parent_def: u32,
}

impl Place {
    fn has_slot(self, rep: u32, def: u32) -> bool {
        rep <= self.rep && def >= self.parent_def
    }
}

/// The vector of a node; takes its leaves' entries off `leaves`.
fn assemble<'a>(
    node: &Node,
    leaves: &mut (impl Iterator<Item = &'a Entries> + Clone),
    place: Place,
) -> Result<Vector> {
    let first = leaves.clone().next().ok_or_else(|| Error::internal("node without leaves"))?;
    match &node.kind {
        NodeKind::Leaf(leaf) => {
            leaves.next();
            assemble_leaf(u32::from(leaf.def_max), first, place)
        }
        NodeKind::Row(children) => {
            let nulls = nulls_of(first, place, node);
            let len = slot_count(first, place);
            let parts = children.iter().map(|child| assemble(child, leaves, place));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            if parts.iter().any(|it| it.len() != len) {
                return Err(corrupt("fields of a row have different lengths"));
            }
            let values = Values::Row { children: parts.into(), len };
            Ok(Vector::flat(node.data_type.clone(), values, nulls))
        }
        NodeKind::List { element, element_def } => {
            let nulls = nulls_of(first, place, node);
            let inner = Place { rep: place.rep + 1, parent_def: u32::from(*element_def) };
            let (offsets, sizes) = list_bounds(first, place, inner)?;
            let elements = Arc::new(assemble(element, leaves, inner)?);
            let total = sizes.iter().map(|it| *it as usize).sum::<usize>();
            if elements.len() != total {
                return Err(corrupt("parts of a list have different lengths"));
            }
            let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
            let values = match node.data_type {
                Type::Map(_) => Values::Map(nested),
                _ => Values::Array(nested),
            };
            Ok(Vector::flat(node.data_type.clone(), values, nulls))
        }
    }
}

/// The definition level of each slot.
fn slots(entries: &Entries, place: Place) -> impl Iterator<Item = u32> + '_ {
    let levels = (0..entries.reps.len).map(|it| (entries.reps.get(it), entries.defs.get(it)));
    levels.filter(move |(rep, def)| place.has_slot(*rep, *def)).map(|(_, def)| def)
}

/// How many slots a node has.
fn slot_count(entries: &Entries, place: Place) -> usize {
    match entries.defs.is_usual() && entries.reps.is_usual() {
        true => entries.reps.len,
        false => slots(entries, place).count(),
    }
}

/// The nulls of a row or a list.
fn nulls_of(entries: &Entries, place: Place, node: &Node) -> Option<NullBuffer> {
    // An entry with a value is within all nodes around it.
    if entries.defs.is_usual() {
        return None;
    }
    let mut validity = Validity::default();
    slots(entries, place).for_each(|def| validity.push(def >= u32::from(node.def)));
    validity.finish()
}

/// Where the elements of each slot begin, and how many there are.
fn list_bounds(entries: &Entries, place: Place, inner: Place) -> Result<(Vec<i32>, Vec<i32>)> {
    match (&entries.reps.each, entries.defs.is_usual()) {
        (Some(reps), true) => full_list_bounds(reps, place, inner),
        _ => any_list_bounds(entries, place, inner),
    }
}

/// The bounds of lists without null and empty ones: all entries are within an element, and the
/// repetition levels alone tell where lists and elements begin.
fn full_list_bounds(reps: &[u32], place: Place, inner: Place) -> Result<(Vec<i32>, Vec<i32>)> {
    if reps.first().is_some_and(|it| *it > place.rep) {
        return Err(corrupt("element outside of a list"));
    }
    let lists = reps.iter().filter(|it| **it <= place.rep).count();
    let mut offsets = Vec::with_capacity(lists);
    let mut total = 0usize;
    for rep in reps {
        if *rep <= place.rep {
            offsets.push(total as i32);
        }
        total += usize::from(*rep <= inner.rep);
    }
    let end = i32::try_from(total).map_err(|_| corrupt("too many elements"))?;
    let ends = offsets.iter().skip(1).chain([&end]);
    let sizes = offsets.iter().zip(ends).map(|(start, end)| end - start).collect();
    Ok((offsets, sizes))
}

/// The bounds of any lists.
fn any_list_bounds(entries: &Entries, place: Place, inner: Place) -> Result<(Vec<i32>, Vec<i32>)> {
    let (mut offsets, mut sizes, mut total) = (Vec::new(), Vec::new(), 0);
    for entry in 0..entries.reps.len {
        let (rep, def) = (entries.reps.get(entry), entries.defs.get(entry));
        if place.has_slot(rep, def) {
            offsets.push(total);
            sizes.push(0);
        }
        if inner.has_slot(rep, def) {
            let size = sizes.last_mut().ok_or_else(|| corrupt("element outside of a list"))?;
            *size += 1;
            total = i32::checked_add(total, 1).ok_or_else(|| corrupt("too many elements"))?;
        }
    }
    Ok((offsets, sizes))
}

fn assemble_leaf(def_max: u32, entries: &Entries, place: Place) -> Result<Vector> {
    let values = &entries.values;
    if entries.defs.is_usual() && entries.reps.len == values.len() {
        return Ok(values.clone());
    }
    let (mut validity, mut codes, mut next) = (Validity::default(), Vec::new(), 0);
    for def in slots(entries, place) {
        let is_valid = def == def_max;
        validity.push(is_valid);
        codes.push(if is_valid { next } else { 0 });
        next += u32::from(is_valid);
    }
    if next as usize != values.len() {
        return Err(corrupt("values of a nested column do not match its levels"));
    }
    if !validity.has_nulls() {
        return Ok(values.clone());
    }
    if values.is_empty() {
        return Ok(Vector::nulls(values.data_type().clone(), codes.len()));
    }
    Ok(Vector::dictionary(codes.into(), Arc::new(values.clone()), validity.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(reps: &[u32], defs: &[u32], def_max: u32) -> Entries {
        Entries {
            reps: EntryLevels::of(reps.to_vec(), 0),
            defs: EntryLevels::of(defs.to_vec(), def_max),
            values: Vector::nulls(Type::BigInt, 0),
        }
    }

    #[test]
    fn levels_are_what_was_appended() {
        let pages: [&[u32]; 5] = [&[2, 2], &[], &[2, 0, 1], &[2], &[1]];
        let mut levels = EntryLevels::new(2);
        let mut expected = Vec::new();
        for page in pages {
            levels.append(&EntryLevels::of(page.to_vec(), 2), 0, page.len());
            expected.extend_from_slice(page);
            assert_eq!(levels.is_usual(), expected.iter().all(|it| *it == 2));
            let found: Vec<u32> = (0..levels.len).map(|it| levels.get(it)).collect();
            assert_eq!(found, expected);
            for level in 0..3 {
                let count = expected.iter().filter(|it| **it == level).count();
                assert_eq!(levels.count(0, expected.len(), level), count);
            }
        }
        let mut part = EntryLevels::new(2);
        part.append(&levels, 1, 3);
        assert_eq!((0..part.len).map(|it| part.get(it)).collect::<Vec<_>>(), [2, 2, 0]);
    }

    #[test]
    fn bounds_of_full_lists_equal_those_of_any() {
        // Lists of lists, seen from outside and from within.
        let places = [(0, 1), (1, 2)].map(|(outer, inner)| {
            (Place { rep: outer, parent_def: 0 }, Place { rep: inner, parent_def: 1 })
        });
        for reps in [&[0][..], &[0, 0, 0], &[0, 1, 2, 0, 2, 2, 1], &[0, 2, 2, 2, 0, 1]] {
            let entries = entries(reps, &vec![3; reps.len()], 3);
            assert!(entries.defs.is_usual());
            for (place, inner) in places {
                let full = full_list_bounds(reps, place, inner).unwrap();
                assert_eq!(full, any_list_bounds(&entries, place, inner).unwrap(), "{reps:?}");
                assert_eq!(list_bounds(&entries, place, inner).unwrap(), full);
            }
        }
        let (place, inner) = places[0];
        assert!(full_list_bounds(&[1, 0], place, inner).is_err());
        assert!(any_list_bounds(&entries(&[1, 0], &[3, 3], 3), place, inner).is_err());
    }

    #[test]
    fn empty_lists_and_nulls_are_bounded_entry_by_entry() {
        let (place, inner) = (Place { rep: 0, parent_def: 0 }, Place { rep: 1, parent_def: 2 });
        // [1, 2], null, [], [3]
        let entries = entries(&[0, 1, 0, 0, 0], &[2, 2, 0, 1, 2], 2);
        let bounds = list_bounds(&entries, place, inner).unwrap();
        assert_eq!(bounds, (vec![0, 2, 2, 2], vec![2, 0, 0, 1]));
    }
}
