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
    reps: Vec<u32>,
    defs: Vec<u32>,
    /// Entries taken.
    at: usize,
    values: PageValues,
}

impl LeafPage {
    /// The rows that begin in what is left.
    fn rows_left(&self) -> usize {
        self.reps.iter().skip(self.at).filter(|it| **it == 0).count()
    }
}

/// The entries of some rows.
struct Entries {
    reps: Vec<u32>,
    defs: Vec<u32>,
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
        let values = if defs.iter().any(|it| *it == u32::from(leaf.def_max)) {
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
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let def_max = u32::from(self.pages.leaf.def_max);
        let (mut reps, mut defs, mut begun) = (Vec::new(), Vec::new(), 0);
        self.pages.release();
        loop {
            if self.page.as_ref().is_none_or(|it| it.at == it.reps.len()) {
                // The last row ends with the column, or where the next page begins a row.
                if begun == rows && self.at_end()? {
                    break;
                }
                self.page = Some(load(&mut self.pages)?);
            }
            let Some(page) = &mut self.page else { break };
            let rest = page.reps.get(page.at..).unwrap_or_default();
            let mut taken = 0;
            for rep in rest {
                if *rep == 0 {
                    if begun == rows {
                        break;
                    }
                    begun += 1;
                } else if begun == 0 {
                    return Err(corrupt("column begins within a row"));
                }
                taken += 1;
            }
            let is_done = taken < rest.len();
            let taken_defs = page.defs.get(page.at..page.at + taken).unwrap_or_default();
            let values = taken_defs.iter().filter(|it| **it == def_max).count();
            match &mut accumulator {
                Some(accumulator) => {
                    self.pages.charge_entries(taken)?;
                    reps.extend_from_slice(rest.get(..taken).unwrap_or_default());
                    defs.extend_from_slice(taken_defs);
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
        let (mut reps, mut defs) = (Vec::new(), Vec::new());
        match page.reps {
            Some(mut levels) => levels.read(page.values, &mut reps)?,
            None => reps.resize(page.values, 0),
        }
        match page.defs {
            Some(mut levels) => levels.read(page.values, &mut defs)?,
            None => defs.resize(page.values, u32::from(pages.leaf.def_max)),
        }
        let (rep_max, def_max) = (pages.leaf.rep_max, pages.leaf.def_max);
        let fits = |levels: &[u32], max: u16| levels.iter().all(|it| *it <= u32::from(max));
        if !fits(&reps, rep_max) || !fits(&defs, def_max) {
            return Err(corrupt("level beyond the schema's"));
        }
        let rows = reps.iter().filter(|it| **it == 0).count();
        if pages.indexed_rows().is_some_and(|it| it != rows || reps.first() != Some(&0)) {
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
            let nulls = slots(first, place).map(|def| def >= u32::from(node.def));
            let nulls = null_buffer(nulls);
            let len = slots(first, place).count();
            let parts = children.iter().map(|child| assemble(child, leaves, place));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            if parts.iter().any(|it| it.len() != len) {
                return Err(corrupt("fields of a row have different lengths"));
            }
            let values = Values::Row { children: parts.into(), len };
            Ok(Vector::flat(node.data_type.clone(), values, nulls))
        }
        NodeKind::List { element, element_def } => {
            let nulls = null_buffer(slots(first, place).map(|def| def >= u32::from(node.def)));
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
    let levels = entries.reps.iter().zip(&entries.defs);
    levels.filter(move |(rep, def)| place.has_slot(**rep, **def)).map(|(_, def)| *def)
}

fn null_buffer(valid: impl Iterator<Item = bool>) -> Option<NullBuffer> {
    let mut validity = Validity::default();
    valid.for_each(|it| validity.push(it));
    validity.finish()
}

/// Where the elements of each slot begin, and how many there are.
fn list_bounds(entries: &Entries, place: Place, inner: Place) -> Result<(Vec<i32>, Vec<i32>)> {
    let (mut offsets, mut sizes, mut total) = (Vec::new(), Vec::new(), 0);
    for (rep, def) in entries.reps.iter().zip(&entries.defs) {
        if place.has_slot(*rep, *def) {
            offsets.push(total);
            sizes.push(0);
        }
        if inner.has_slot(*rep, *def) {
            let size = sizes.last_mut().ok_or_else(|| corrupt("element outside of a list"))?;
            *size += 1;
            total = i32::checked_add(total, 1).ok_or_else(|| corrupt("too many elements"))?;
        }
    }
    Ok((offsets, sizes))
}

fn assemble_leaf(def_max: u32, entries: &Entries, place: Place) -> Result<Vector> {
    let values = &entries.values;
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
