//! Where the pages of a column chunk are, and the bounds of their values.
//!
//! Both are Thrift structs. The fields read here, by number:
//!
//! ```text
//! offset index   1 pages { 1 offset in the file  2 size with the header  3 first row }
//! column index   1 whether pages are all null  2 least values  3 greatest values
//!                5 numbers of nulls  8 numbers of NaNs
//! ```
//!
//! An index that contradicts itself, the column chunk or the number of rows is ignored.

use crate::{
    bounds::{StoredBounds, bounds_of},
    leaf::{Conversion, Leaf},
    thrift::{BINARY, I32, I64, LIST, Reader, STRUCT},
};
use parquet::basic::ColumnOrder;
use std::ops::Range;
use volley_connector::Bounds;
use volley_error::Result;

/// Where the data pages of a column chunk are. There is at least one; pages begin with rows.
#[derive(Debug)]
pub(crate) struct PageLocations {
    pages: Vec<PageLocation>,
    /// Rows of the row group.
    rows: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct PageLocation {
    /// Where its header begins in the chunk.
    start: usize,
    /// With the header.
    bytes: usize,
    first_row: usize,
}

impl PageLocations {
    /// Those in `index`, of the chunk in `chunk` of the file, with `rows` rows.
    pub fn read(index: &[u8], chunk: &Range<u64>, rows: usize) -> Option<PageLocations> {
        let pages = read_locations(index, chunk.start).ok()?;
        let (mut end, mut row) = (0, 0);
        for page in &pages {
            if page.start < end || page.first_row < row || page.bytes == 0 {
                return None;
            }
            (end, row) = (page.start.checked_add(page.bytes)?, page.first_row);
        }
        let begins = pages.first().is_some_and(|it| it.first_row == 0);
        let fits = end as u64 <= chunk.end.saturating_sub(chunk.start) && row <= rows;
        (begins && fits).then_some(PageLocations { pages, rows })
    }

    /// The number of pages.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Where the first one begins in the chunk.
    pub fn start(&self) -> usize {
        self.bytes(0).map_or(0, |it| it.start)
    }

    /// Where a page is in the chunk, with its header.
    pub fn bytes(&self, page: usize) -> Option<Range<usize>> {
        self.pages.get(page).map(|it| it.start..it.start + it.bytes)
    }

    /// The first row of a page, or the row after the last.
    pub fn first_row(&self, page: usize) -> usize {
        self.pages.get(page).map_or(self.rows, |it| it.first_row)
    }

    /// The rows of a page.
    pub fn rows(&self, page: usize) -> Range<usize> {
        self.first_row(page)..self.first_row(page + 1)
    }

    /// The page that has `row`.
    pub fn page_of(&self, row: usize) -> usize {
        self.pages.partition_point(|it| it.first_row <= row).saturating_sub(1)
    }

    /// The page after all those, from `page` on, that have together at most `rows` rows.
    pub fn after(&self, page: usize, rows: usize) -> usize {
        let end = self.first_row(page).saturating_add(rows);
        if end >= self.rows {
            return self.len().max(page);
        }
        let begun = self.pages.partition_point(|it| it.first_row <= end);
        begun.saturating_sub(1).max(page)
    }

    /// The pages that have some of `rows`, which are ascending.
    fn pages_of<'a>(&'a self, rows: &'a [Range<usize>]) -> impl Iterator<Item = usize> + 'a {
        (0..self.len()).filter(|page| {
            let own = self.rows(*page);
            let next = rows.partition_point(|it| it.end <= own.start);
            rows.get(next).is_some_and(|it| it.start < own.end)
        })
    }

    /// How many pages have none of `rows`.
    pub fn count_without(&self, rows: &[Range<usize>]) -> usize {
        self.len() - self.pages_of(rows).count()
    }

    /// The bytes of the chunk that are needed for `rows`: its dictionary and the pages that have
    /// some of them.
    pub fn parts_for(&self, rows: &[Range<usize>]) -> Vec<Range<usize>> {
        let dictionary = 0..self.start();
        let mut parts = vec![dictionary];
        for bytes in self.pages_of(rows).filter_map(|it| self.bytes(it)) {
            match parts.last_mut().filter(|it| it.end == bytes.start) {
                Some(part) => part.end = bytes.end,
                None => parts.push(bytes),
            }
        }
        parts.retain(|it| !it.is_empty());
        parts
    }
}

fn read_locations(index: &[u8], chunk_start: u64) -> Result<Vec<PageLocation>> {
    let (mut reader, mut number) = (Reader { bytes: index, at: 0 }, 0);
    let mut pages = Vec::new();
    while let Some(field) = reader.field(&mut number)? {
        match (number, field) {
            (1, LIST) => {
                pages = reader.elements(|reader, field| match field {
                    STRUCT => read_location(reader, chunk_start),
                    _ => reader.skip(field, 0).map(|()| PageLocation::default()),
                })?;
            }
            _ => reader.skip(field, 0)?,
        }
    }
    Ok(pages)
}

/// A page's location; one of no bytes when it cannot be right.
fn read_location(reader: &mut Reader, chunk_start: u64) -> Result<PageLocation> {
    let (mut values, mut number) = ([-1; 3], 0);
    while let Some(field) = reader.field(&mut number)? {
        match (number, field) {
            (1..=3, I32 | I64) => values[number as usize - 1] = reader.signed()?,
            _ => reader.skip(field, 0)?,
        }
    }
    let [start, bytes, row] = values.map(|it| u64::try_from(it).ok());
    let start = start.and_then(|it| it.checked_sub(chunk_start));
    let size = |it: Option<u64>| it.and_then(|it| usize::try_from(it).ok());
    Ok(match (size(start), size(bytes), size(row)) {
        (Some(start), Some(bytes), Some(first_row)) => PageLocation { start, bytes, first_row },
        _ => PageLocation::default(),
    })
}

/// The bounds of each page of a column chunk.
pub(crate) struct PageBounds(Vec<Bounds>);

impl PageBounds {
    /// Those in `index`, of a flat column whose values the writer ordered by `order`.
    pub fn read(
        index: &[u8],
        leaf: &Leaf,
        order: ColumnOrder,
        pages: &PageLocations,
    ) -> Option<PageBounds> {
        let index = ColumnIndex::read(index).ok()?;
        let bounds = (0..pages.len()).map(|it| index.bounds(it, leaf, order, pages.rows(it).len()));
        let is_whole = index.lens().all(|it| it == pages.len());
        if is_whole { Some(PageBounds(bounds.collect::<Option<_>>()?)) } else { None }
    }

    /// Of one page.
    pub fn of(&self, page: usize) -> Bounds {
        self.0.get(page).cloned().unwrap_or_default()
    }
}

/// A column index as it is stored.
#[derive(Default)]
struct ColumnIndex<'a> {
    null_pages: Vec<bool>,
    min: Vec<&'a [u8]>,
    max: Vec<&'a [u8]>,
    nulls: Option<Vec<i64>>,
    nans: Option<Vec<i64>>,
}

impl<'a> ColumnIndex<'a> {
    fn read(bytes: &'a [u8]) -> Result<ColumnIndex<'a>> {
        let (mut reader, mut number) = (Reader { bytes, at: 0 }, 0);
        let mut index = ColumnIndex::default();
        while let Some(field) = reader.field(&mut number)? {
            match (number, field) {
                (1, LIST) => index.null_pages = reader.elements(|it, _| it.boolean())?,
                (2, LIST) => index.min = read_values(&mut reader)?,
                (3, LIST) => index.max = read_values(&mut reader)?,
                (5, LIST) => index.nulls = Some(reader.elements(|it, _| it.signed())?),
                (8, LIST) => index.nans = Some(reader.elements(|it, _| it.signed())?),
                _ => reader.skip(field, 0)?,
            }
        }
        Ok(index)
    }

    /// The lengths of its lists.
    fn lens(&self) -> impl Iterator<Item = usize> {
        let counts = [&self.nulls, &self.nans].into_iter().flatten().map(Vec::len);
        [self.null_pages.len(), self.min.len(), self.max.len()].into_iter().chain(counts)
    }

    /// Those of a page of `rows` rows; `None` where the index cannot be right.
    fn bounds(&self, page: usize, leaf: &Leaf, order: ColumnOrder, rows: usize) -> Option<Bounds> {
        let is_null = *self.null_pages.get(page)?;
        let (min, max) = (*self.min.get(page)?, *self.max.get(page)?);
        let count = |counts: &Option<Vec<i64>>| match counts {
            None => Some(None),
            Some(counts) => {
                let count = u64::try_from(*counts.get(page)?).ok()?;
                (count <= rows as u64).then_some(Some(count))
            }
        };
        let (nulls, nans) = (count(&self.nulls)?, count(&self.nans)?);
        let all = rows as u64;
        if is_null {
            let is_right = nulls.is_none_or(|it| it == all) && (leaf.def_max > 0 || rows == 0);
            return is_right.then_some(Bounds { nulls: Some(all), ..Bounds::default() });
        }
        if nulls == Some(all) && rows > 0 {
            return None;
        }
        // Where the greatest text is empty, it was most likely not noted.
        let is_noted = !max.is_empty() || !matches!(leaf.conversion, Conversion::Bytes { .. });
        let stored = StoredBounds {
            min: Some(min).filter(|_| is_noted),
            max: Some(max).filter(|_| is_noted),
            nulls,
            has_no_nan: nans == Some(0),
            ..StoredBounds::default()
        };
        Some(bounds_of(leaf, &stored, order))
    }
}

fn read_values<'a>(reader: &mut Reader<'a>) -> Result<Vec<&'a [u8]>> {
    reader.elements(|reader, field| match field {
        BINARY => reader.binary(),
        _ => reader.skip(field, 0).map(|()| &[] as &[u8]),
    })
}
