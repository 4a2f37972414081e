//! Reads a column without lists: one value or null per row, also where rows are around it.

use crate::{
    accumulator::{Accumulator, empty_values},
    error::corrupt,
    levels::Levels,
    page_values::PageValues,
    pages::Pages,
    validity::Validity,
};
use std::borrow::Cow;
use volley_error::Result;
use volley_vector::Vector;

/// A column chunk of a flat column, read forward.
pub(crate) struct FlatReader {
    pub pages: Pages,
    page: Option<FlatPage>,
    /// Rows to pass over before the next read; whole pages are never decompressed.
    rows_to_skip: usize,
}

struct FlatPage {
    rows_left: usize,
    defs: Option<Levels>,
    /// The definition level of values; those of nulls are less.
    def_max: u16,
    values: PageValues,
}

impl FlatReader {
    pub fn new(pages: Pages) -> FlatReader {
        FlatReader { pages, page: None, rows_to_skip: 0 }
    }

    /// Passes over rows, when rows after them are read.
    pub fn skip(&mut self, rows: usize) {
        self.rows_to_skip += rows;
    }

    /// What each of the next `rows` rows takes in pages, as far as that is known; looked at closely
    /// where the column has more than `bytes`.
    pub fn row_bytes(&mut self, rows: usize, bytes: usize) -> usize {
        let rows = if self.pages.may_have_wide_rows(bytes) { rows } else { 0 };
        self.pages.row_bytes(self.page.as_ref().map_or(0, |it| it.rows_left), rows)
    }

    /// Reads the next `rows` rows, or those of them at `selection` (ascending).
    pub fn read(&mut self, rows: usize, selection: Option<&[u32]>) -> Result<Vector> {
        self.settle()?;
        self.pages.release();
        let leaf = self.pages.leaf.clone();
        let mut accumulator = Accumulator::for_chunk(&leaf, self.pages.rows);
        let mut validity = Validity::default();
        let (mut begin, mut selected) = (0, selection.unwrap_or_default());
        while begin < rows {
            if self.page.is_none() && selection.is_some() {
                let page_rows = self.pages.peek()?.values;
                let first = selected.first().map_or(rows, |it| *it as usize);
                if page_rows <= first - begin && page_rows <= rows - begin {
                    self.pages.skip()?;
                    begin += page_rows;
                    continue;
                }
            }
            let page = load(&mut self.page, &mut self.pages)?;
            let taken = page.rows_left.min(rows - begin);
            if selection.is_none() {
                page.read(taken, &mut accumulator, &mut validity)?;
            } else {
                let here = selected.partition_point(|it| (*it as usize) < begin + taken);
                let (now, later) = selected.split_at(here);
                page.read_at(taken, begin, now, &mut accumulator, &mut validity)?;
                selected = later;
            }
            begin += taken;
            self.drop_finished();
        }
        if validity.rows() == 0 {
            return Ok(empty_values(&leaf));
        }
        accumulator.finish(validity.finish())
    }

    /// Passes over what is to be skipped.
    fn settle(&mut self) -> Result<()> {
        while self.rows_to_skip > 0 {
            if self.page.is_none() {
                self.rows_to_skip -= self.pages.jump(self.rows_to_skip);
                if self.rows_to_skip == 0 {
                    break;
                }
            }
            if self.page.is_none() && self.pages.peek()?.values <= self.rows_to_skip {
                self.rows_to_skip -= self.pages.peek()?.values;
                self.pages.skip()?;
                continue;
            }
            let page = load(&mut self.page, &mut self.pages)?;
            let taken = page.rows_left.min(self.rows_to_skip);
            // The rest of a page need not be decoded to be dropped.
            if taken < page.rows_left {
                page.skip(taken)?;
            } else {
                page.rows_left = 0;
            }
            self.rows_to_skip -= taken;
            self.drop_finished();
            self.pages.release();
        }
        Ok(())
    }

    fn drop_finished(&mut self) {
        self.page.take_if(|it| it.rows_left == 0);
    }
}

/// The current page; decompresses the next one when there is none.
fn load<'a>(page: &'a mut Option<FlatPage>, pages: &mut Pages) -> Result<&'a mut FlatPage> {
    while page.is_none() {
        let next = pages.next()?;
        if next.values == 0 {
            continue;
        }
        if next.values > pages.rows {
            return Err(corrupt("page with more values than its row group has rows"));
        }
        let values = PageValues::new(pages, next.encoding, next.bytes, next.values)?;
        let def_max = pages.leaf.def_max;
        *page = Some(FlatPage { rows_left: next.values, defs: next.defs, def_max, values });
    }
    page.as_mut().ok_or_else(|| corrupt("column ends early"))
}

impl FlatPage {
    fn read(
        &mut self,
        rows: usize,
        accumulator: &mut Accumulator,
        validity: &mut Validity,
    ) -> Result<()> {
        self.rows_left -= rows;
        let start = validity.rows();
        let valid = match &mut self.defs {
            Some(defs) => defs.read_valid(rows, self.def_max, validity)?,
            None => validity.append_valid(rows),
        };
        accumulator.append(&mut self.values, valid)?;
        if valid < rows {
            accumulator.spread(start, validity);
        }
        Ok(())
    }

    /// Reads the rows at `selected`, which count from `begin` rows before the next one.
    fn read_at(
        &mut self,
        rows: usize,
        begin: usize,
        selected: &[u32],
        accumulator: &mut Accumulator,
        validity: &mut Validity,
    ) -> Result<()> {
        if selected.is_empty() && rows == self.rows_left {
            self.rows_left = 0;
            return Ok(());
        }
        if selected.len() == rows {
            return self.read(rows, accumulator, validity);
        }
        self.rows_left -= rows;
        let start = validity.rows();
        let local: Cow<[u32]> = match begin as u32 {
            0 => Cow::Borrowed(selected),
            begin => selected.iter().map(|it| it - begin).collect(),
        };
        let mut all = Validity::default();
        let valid = match &mut self.defs {
            Some(defs) => defs.read_valid(rows, self.def_max, &mut all)?,
            None => rows,
        };
        if valid == rows {
            validity.append_valid(selected.len());
            return accumulator.append_at(&mut self.values, rows, &local);
        }
        let (mut positions, mut rank, mut row) = (Vec::with_capacity(selected.len()), 0, 0);
        for &wanted in &*local {
            while row < wanted {
                rank += u32::from(all.is_valid(row as usize));
                row += 1;
            }
            let is_valid = all.is_valid(wanted as usize);
            validity.push(is_valid);
            if is_valid {
                positions.push(rank);
            }
        }
        accumulator.append_at(&mut self.values, valid, &positions)?;
        if positions.len() < selected.len() {
            accumulator.spread(start, validity);
        }
        Ok(())
    }

    fn skip(&mut self, rows: usize) -> Result<()> {
        self.rows_left -= rows;
        let valid = match &mut self.defs {
            Some(defs) => defs.read_valid(rows, self.def_max, &mut Validity::default())?,
            None => rows,
        };
        self.values.skip(valid)
    }
}
