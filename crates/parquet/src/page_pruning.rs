//! Decides from page indexes which rows of a row group may satisfy the conditions of a scan.
//!
//! ```text
//! IndexReads   which parts of the indexes are worth reading
//! evaluate     each condition, for the rows between all borders of pages of its columns
//! GroupPages   rows that may match; where the pages of all columns are
//! look_again   the bounds of ORDER BY with LIMIT, for the rows that are left when these change
//! ```
//!
//! Pages of different columns hold different rows: a condition on several columns is tested with
//! the bounds of the page of each that has the rows in question.

use crate::{
    file::{ParquetFile, chunk_range},
    leaf::Leaf,
    page_index::{PageBounds, PageLocations},
    schema::NodeKind,
};
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;
use std::{collections::BTreeMap, ops::Range, sync::Arc};
use volley_connector::{Bounding, Bounds, Conditions, may_join, may_match};
use volley_error::Result;
use volley_expression::{Expr, filter::ColumnFilter};

/// Larger indexes, of hundreds of thousands of pages, are not read.
const INDEX_BYTES_MAX: u64 = 4 << 20;

/// What a byte of a column index becomes, at most: three make the bounds of a page.
const BYTES_PER_COLUMN_INDEX_BYTE: usize = 64;

/// What a byte of an offset index becomes, at most: seven make a location.
const BYTES_PER_OFFSET_INDEX_BYTE: usize = 8;

/// A condition is left alone when its size times the number of ranges is more: some milliseconds.
const TESTS_MAX: usize = 1 << 18;

/// The parts of page indexes to read for a row group.
pub(crate) struct IndexReads {
    leaves: Vec<LeafReads>,
    pub ranges: Vec<Range<u64>>,
    /// What is made of them takes at most so much memory.
    pub bytes_max: usize,
}

/// What to read for a leaf: places in [`IndexReads::ranges`].
struct LeafReads {
    leaf: Leaf,
    chunk: Range<u64>,
    offset_index: Option<usize>,
    /// With the column, by position in the table.
    column_index: Option<(usize, usize)>,
}

/// The information of page indexes on a row group.
pub(crate) struct GroupPages {
    /// The rows that may match. Ascending, with gaps between them.
    pub rows: Vec<Range<usize>>,
    /// For each leaf that is read.
    locations: Vec<Option<Arc<PageLocations>>>,
    /// For looking again.
    columns: PageColumns,
}

/// The pages of columns with a column index, by position in the table.
type PageColumns = BTreeMap<usize, (Arc<PageLocations>, PageBounds)>;

impl GroupPages {
    /// Where the pages of a leaf are, by its number among those that are read.
    pub fn locations_of(&self, leaf: usize) -> Option<Arc<PageLocations>> {
        self.locations.get(leaf)?.clone()
    }

    /// The parts of a leaf's chunk that are needed; `None` if that is all of it.
    pub fn parts_of(&self, leaf: usize) -> Option<Vec<Range<usize>>> {
        Some(self.locations.get(leaf)?.as_ref()?.parts_for(&self.rows))
    }

    /// How many pages are ruled out.
    pub fn pruned(&self) -> u64 {
        self.locations.iter().flatten().map(|it| it.count_without(&self.rows) as u64).sum()
    }

    /// How many rows are left from `row` on.
    pub fn rows_from(&self, row: usize) -> usize {
        self.rows.iter().map(|it| it.end.saturating_sub(it.start.max(row))).sum()
    }

    /// Leaves out the rows from `row` on that bounds rule out by now.
    pub fn look_again(
        &mut self,
        conditions: &Conditions,
        row: usize,
        rows: usize,
        bounds: Bounding,
    ) {
        let mut left = Matching { columns: &self.columns, bounds, rows }.rows_of_bounds(conditions);
        // What was read stays.
        left.retain(|it| it.end > row);
        match left.first_mut().filter(|it| it.start <= row) {
            Some(first) => first.start = 0,
            None => left.insert(0, 0..row),
        }
        self.rows = intersect(&self.rows, &left);
    }
}

impl IndexReads {
    /// What to read for the row group `group`; `None` without an index that may rule pages out.
    /// `columns`: those that are read, by position in the table and in the file.
    pub fn new(
        conditions: &Conditions,
        file: &ParquetFile,
        group: usize,
        columns: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Option<IndexReads>> {
        let mut reads = IndexReads { leaves: Vec::new(), ranges: Vec::new(), bytes_max: 0 };
        let file_bytes = file.file().size_bytes();
        for (column, place) in columns {
            let node = file.node(place)?;
            let is_flat = matches!(&node.kind, NodeKind::Leaf(leaf) if leaf.rep_max == 0);
            for leaf in node.leaves() {
                let chunk = file.chunk(group, leaf)?;
                let is_wanted = is_flat && conditions.is_about(column);
                reads.add(leaf, chunk, Some(column).filter(|_| is_wanted), file_bytes);
            }
        }
        let has_bounds = reads.leaves.iter().any(|it| it.column_index.is_some());
        Ok(Some(reads).filter(|_| has_bounds))
    }

    fn add(
        &mut self,
        leaf: &Leaf,
        chunk: &ColumnChunkMetaData,
        column: Option<usize>,
        file_bytes: u64,
    ) {
        let bytes = chunk_range(chunk);
        let range = |offset, length| file_range(offset, length, INDEX_BYTES_MAX, file_bytes);
        let offset_index = range(chunk.offset_index_offset(), chunk.offset_index_length());
        let column_index = range(chunk.column_index_offset(), chunk.column_index_length());
        let has_pages = offset_index.as_ref().is_some_and(|it| may_have_pages(it, bytes.start));
        let column_index = column.zip(column_index).filter(|_| has_pages);
        let mut push = |range: Range<u64>, factor: usize| {
            self.bytes_max += (range.end - range.start) as usize * factor;
            self.ranges.push(range);
            self.ranges.len() - 1
        };
        self.leaves.push(LeafReads {
            leaf: leaf.clone(),
            chunk: bytes,
            offset_index: offset_index.map(|it| push(it, BYTES_PER_OFFSET_INDEX_BYTE)),
            column_index: column_index
                .map(|(column, it)| (column, push(it, BYTES_PER_COLUMN_INDEX_BYTE))),
        });
    }

    /// Evaluates the indexes in `bytes`; `None` if all rows may match, also later. `bounds`: those
    /// of a column in the row group, by position in the table.
    pub fn evaluate(
        &self,
        conditions: &Conditions,
        bytes: &[Bytes],
        file: &ParquetFile,
        rows: usize,
        bounds: Bounding,
    ) -> Option<GroupPages> {
        let locations = |it: &LeafReads| {
            let index = bytes.get(it.offset_index?)?;
            PageLocations::read(index, &it.chunk, rows).map(Arc::new)
        };
        let mut columns = BTreeMap::new();
        for it in &self.leaves {
            let Some((column, index)) = it.column_index else { continue };
            let (Some(index), Some(pages)) = (bytes.get(index), locations(it)) else { continue };
            let order = file.column_order(&it.leaf);
            if let Some(bounds) = PageBounds::read(index, &it.leaf, order, &pages) {
                columns.insert(column, (pages, bounds));
            }
        }
        let left = Matching { columns: &columns, bounds, rows }.rows(conditions);
        let may_tell_later = conditions.has_bounds() && !columns.is_empty();
        if left == std::slice::from_ref(&(0..rows)) && !may_tell_later {
            return None;
        }
        let locations = self.leaves.iter().map(locations).collect();
        Some(GroupPages { rows: left, locations, columns })
    }
}

/// The range of something small that the footer has the place of, if it may be there.
pub(crate) fn file_range(
    offset: Option<i64>,
    length: Option<i32>,
    bytes_max: u64,
    file_bytes: u64,
) -> Option<Range<u64>> {
    let (start, len) = (u64::try_from(offset?).ok()?, u64::try_from(length?).ok()?);
    let end = start.checked_add(len).filter(|it| *it <= file_bytes)?;
    (len > 0 && len <= bytes_max).then_some(start..end)
}

/// Whether an offset index is so long that it may be about more than one page of a chunk that
/// begins at `chunk_start`.
fn may_have_pages(index: &Range<u64>, chunk_start: u64) -> bool {
    // Seven bits to a byte; one is for the sign.
    let offset_bytes = u64::from(64 - chunk_start.leading_zeros() + 1).div_ceil(7);
    // A field, a list and the end; in it, twice three fields and an end.
    index.end - index.start >= 3 + 2 * (1 + offset_bytes + 2 + 2 + 1)
}

/// Finds the rows of a row group that may match.
struct Matching<'a> {
    columns: &'a PageColumns,
    /// Of columns in the row group.
    bounds: Bounding<'a>,
    rows: usize,
}

impl Matching<'_> {
    /// The rows that may satisfy all conditions.
    fn rows(&self, conditions: &Conditions) -> Vec<Range<usize>> {
        let mut left = self.rows_of_bounds(conditions);
        for (filter, columns) in &conditions.filters {
            let test = |rows, bounds: Bounding| may_match(filter, rows, bounds);
            left = intersect(&left, &self.ranges(columns, size_of(filter), &test));
        }
        for ColumnFilter { column, filter } in &conditions.dynamic {
            let columns = std::slice::from_ref(column);
            if let Some(keys) = filter.get() {
                let test = |rows, bounds: Bounding| may_join(keys, rows, &bounds(*column));
                left = intersect(&left, &self.ranges(columns, 1, &test));
            }
        }
        left
    }

    /// The rows that bounds leave.
    fn rows_of_bounds(&self, conditions: &Conditions) -> Vec<Range<usize>> {
        let whole = 0..self.rows;
        let mut left = vec![whole];
        for filter in &conditions.dynamic {
            let Some(condition) = filter.bound_condition() else { continue };
            let test = |rows, bounds: Bounding| may_match(&condition, rows, bounds);
            let columns = std::slice::from_ref(&filter.column);
            left = intersect(&left, &self.ranges(columns, 1, &test));
        }
        left
    }

    /// The rows that may pass `test`, of the number of rows and their bounds, which uses `columns`
    /// and takes the time of `size` comparisons.
    fn ranges(
        &self,
        columns: &[usize],
        size: usize,
        test: &dyn Fn(u64, Bounding) -> bool,
    ) -> Vec<Range<usize>> {
        let whole = 0..self.rows;
        let mut borders = vec![whole.start, whole.end];
        for (pages, _) in columns.iter().filter_map(|it| self.columns.get(it)) {
            borders.extend((0..pages.len()).map(|it| pages.first_row(it)));
        }
        borders.sort_unstable();
        borders.dedup();
        if borders.len() <= 2 || borders.len().saturating_mul(size) > TESTS_MAX {
            return vec![whole];
        }
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (start, end) in borders.iter().copied().zip(borders.iter().skip(1).copied()) {
            let rows = start..end;
            if !test(rows.len() as u64, &|column| self.bounds_of(column, &rows)) {
                continue;
            }
            match ranges.last_mut().filter(|it| it.end == start) {
                Some(last) => last.end = end,
                None => ranges.push(rows),
            }
        }
        ranges
    }

    /// The bounds of a column in `rows`, which are in one page.
    fn bounds_of(&self, column: usize, rows: &Range<usize>) -> Bounds {
        let count = rows.len() as u64;
        match self.columns.get(&column) {
            None => (self.bounds)(column).narrowed(self.rows as u64, count),
            Some((pages, bounds)) => {
                let page = pages.page_of(rows.start);
                bounds.of(page).narrowed(pages.rows(page).len() as u64, count)
            }
        }
    }
}

/// The number of parts of an expression.
fn size_of(expr: &Expr) -> usize {
    1 + expr.children().iter().map(size_of).sum::<usize>()
}

/// The rows in ranges of both, which are ascending.
fn intersect(left: &[Range<usize>], right: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut both, mut left, mut right) = (Vec::new(), left.iter(), right.iter());
    let (mut a, mut b) = (left.next(), right.next());
    while let (Some(from_left), Some(from_right)) = (a, b) {
        let range = from_left.start.max(from_right.start)..from_left.end.min(from_right.end);
        both.extend(Some(range).filter(|it| !it.is_empty()));
        if from_left.end < from_right.end { a = left.next() } else { b = right.next() }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_intersect() {
        let check = |left: &[(usize, usize)], right: &[(usize, usize)], expected| {
            let ranges = |it: &[(usize, usize)]| it.iter().map(|it| it.0..it.1).collect::<Vec<_>>();
            let (left, right) = (ranges(left), ranges(right));
            let expected: &[(usize, usize)] = expected;
            assert_eq!(intersect(&left, &right), ranges(expected));
            assert_eq!(intersect(&right, &left), ranges(expected));
        };
        check(&[(0, 10)], &[], &[]);
        check(&[(0, 10)], &[(0, 3), (5, 10)], &[(0, 3), (5, 10)]);
        check(&[(0, 4), (6, 9)], &[(1, 7), (8, 20)], &[(1, 4), (6, 7), (8, 9)]);
        check(&[(0, 4)], &[(4, 6)], &[]);
    }

    #[test]
    fn one_page_is_not_worth_an_index() {
        // What the `parquet` crate writes for one page, and for two.
        assert!(!may_have_pages(&(100..117), 1 << 27));
        assert!(may_have_pages(&(100..130), 1 << 27));
    }
}
