//! Vectors that are decoded on first use.

use crate::{ColumnTest, Encoding, Rows, Vector};
use arrow_buffer::ScalarBuffer;
use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};
use volley_error::{Error, Result};
use volley_types::Type;

/// Decodes a lazy vector's values.
///
/// A loader runs at most once. It must run before its source is asked for the next batch: operators
/// that keep batches load them first.
pub trait Loader: Send {
    /// Decodes the rows at `rows` (strictly ascending), or all when it is `None`; the result has
    /// one row for each and is not lazy.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory; internal when the source has moved on.
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector>;

    /// Which of the rows `among` pass a test, found without decoding the values; `None` if they
    /// must be decoded for that. The loader still runs afterwards.
    ///
    /// # Errors
    ///
    /// As [`Loader::load`].
    fn select(&mut self, _test: &ColumnTest, _among: &Rows) -> Result<Option<Rows>> {
        Ok(None)
    }

    /// Decodes as [`Loader::load`] does, but hands the values to `callback` in pieces, so that they
    /// are never in memory at once. Without an implementation of its own, in one piece.
    ///
    /// # Errors
    ///
    /// As [`Loader::load`]; what the callback reports.
    fn load_into(&mut self, rows: Option<&[u32]>, callback: &mut dyn ValueCallback) -> Result<()> {
        let vector = self.load(rows)?;
        match rows {
            Some(rows) => callback.take(rows, &vector),
            None => {
                let all: Vec<u32> = (0..vector.len() as u32).collect();
                callback.take(&all, &vector)
            }
        }
    }
}

/// Takes values while they are decoded, such as to add them up.
pub trait ValueCallback {
    /// Takes the values of some rows: row `i` of `values` is that of `rows[i]` of the lazy vector.
    /// Rows ascend, also from call to call. `values` may have any encoding but lazy.
    ///
    /// # Errors
    ///
    /// Whatever ends the query.
    fn take(&mut self, rows: &[u32], values: &Vector) -> Result<()>;
}

impl<F: FnMut(&[u32], &Vector) -> Result<()>> ValueCallback for F {
    fn take(&mut self, rows: &[u32], values: &Vector) -> Result<()> {
        self(rows, values)
    }
}

impl Vector {
    /// Passes the values of `rows` to `callback`. A lazy vector that is not loaded and has no other
    /// reference decodes only these, in chunks of the loader's choice; others pass them as they
    /// are.
    ///
    /// # Errors
    ///
    /// What the loader and the callback report.
    ///
    /// # Panics
    ///
    /// If `rows` is of another length.
    pub fn load_into(self, rows: &Rows, callback: &mut dyn ValueCallback) -> Result<()> {
        assert_eq!(rows.len(), self.len(), "rows of another length");
        let wanted = rows.to_indices();
        if let Encoding::Lazy(lazy) = self.encoding()
            && lazy.is_unused()
        {
            let wanted = Some(wanted.as_slice()).filter(|_| !rows.is_all());
            return lazy.take_loader()?.load_into(wanted, callback);
        }
        let loaded = self.loaded()?;
        if rows.is_all() {
            return callback.take(&wanted, &loaded);
        }
        callback.take(&wanted, &loaded.wrap(&wanted.clone().into(), &mut Vec::new()))
    }
}

/// The storage of a lazy vector. Clones share the loaded values.
#[derive(Clone)]
pub struct Lazy(Arc<State>);

struct State {
    loaded: OnceLock<Result<Vector>>,
    loader: Mutex<Option<Box<dyn Loader>>>,
}

impl Lazy {
    /// Storage that `loader` will fill.
    pub fn new(loader: Box<dyn Loader>) -> Lazy {
        Lazy(Arc::new(State { loaded: OnceLock::new(), loader: Mutex::new(Some(loader)) }))
    }

    /// The values, if they are loaded.
    pub fn get(&self) -> Option<&Vector> {
        self.0.loaded.get().and_then(|it| it.as_ref().ok())
    }

    /// The values; decodes them on the first call, and repeats the first call's error.
    ///
    /// # Errors
    ///
    /// What the loader reports.
    pub fn load(&self) -> Result<Vector> {
        self.0.loaded.get_or_init(|| self.run_loader(None)).clone()
    }

    /// Which of the rows `among` pass a test, without decoding the values; `None` if they are
    /// decoded already, or must be for that.
    ///
    /// # Errors
    ///
    /// What the loader reports.
    pub fn select(&self, test: &ColumnTest, among: &Rows) -> Result<Option<Rows>> {
        if self.0.loaded.get().is_some() {
            return Ok(None);
        }
        let mut loader = self.0.loader.lock().unwrap_or_else(PoisonError::into_inner);
        loader.as_mut().map_or(Ok(None), |it| it.select(test, among))
    }

    /// Rows `codes` of a lazy vector of `data_type`, itself lazy: decodes only the rows of the
    /// codes if there is no other reference to the values.
    pub(crate) fn wrap(&self, data_type: &Type, codes: &ScalarBuffer<u32>) -> Vector {
        let loader = WrappedLoader { inner: self.clone(), codes: codes.clone() };
        Vector::lazy(data_type.clone(), codes.len(), Box::new(loader))
    }

    /// Whether this is the only reference to the values, loaded or not.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.0) == 1 && self.0.loaded.get().is_none()
    }

    fn take_loader(&self) -> Result<Box<dyn Loader>> {
        let loader = self.0.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        loader.ok_or_else(|| Error::internal("lazy vector loaded twice"))
    }

    fn run_loader(&self, rows: Option<&[u32]>) -> Result<Vector> {
        let vector = self.take_loader()?.load(rows)?;
        vector.into_loaded()
    }
}

/// Loads some rows of another lazy vector.
struct WrappedLoader {
    inner: Lazy,
    codes: ScalarBuffer<u32>,
}

impl WrappedLoader {
    /// The positions of the inner vector that are needed, given positions of this one.
    fn inner_rows(&self, rows: Option<&[u32]>) -> Vec<u32> {
        match rows {
            Some(rows) => rows.iter().map(|row| self.codes[*row as usize]).collect(),
            None => self.codes.to_vec(),
        }
    }
}

impl Loader for WrappedLoader {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let wanted = self.inner_rows(rows);
        if !self.inner.is_unused() {
            return Ok(self.inner.load()?.wrap(&wanted.into(), &mut Vec::new()));
        }
        if wanted.is_sorted_by(|a, b| a < b) {
            return self.inner.run_loader(Some(&wanted));
        }
        let (distinct, codes) = ranked(&wanted).unwrap_or_else(|| sorted(&wanted));
        let base = self.inner.run_loader(Some(&distinct))?;
        Ok(base.wrap(&codes.into(), &mut Vec::new()))
    }

    /// In the inner loader's pieces, when it can decode the rows in their order.
    fn load_into(&mut self, rows: Option<&[u32]>, callback: &mut dyn ValueCallback) -> Result<()> {
        let wanted = self.inner_rows(rows);
        if !self.inner.is_unused() || !wanted.is_sorted_by(|a, b| a < b) {
            let values = self.load(rows)?;
            let all = || (0..values.len() as u32).collect();
            return callback.take(&rows.map_or_else(all, <[u32]>::to_vec), &values);
        }
        let mut done = 0;
        let mut renamed = |pieces: &[u32], values: &Vector| {
            let start = done;
            done += pieces.len();
            let all = || (start as u32..done as u32).collect();
            callback.take(&rows.map_or_else(all, |it| it[start..done].to_vec()), values)
        };
        self.inner.take_loader()?.load_into(Some(&wanted), &mut renamed)
    }
}

/// The distinct rows, ascending, and for each row its position among them; by sorting.
fn sorted(rows: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut distinct = rows.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let position = |row: &u32| distinct.partition_point(|it| it < row) as u32;
    let codes = rows.iter().map(position).collect();
    (distinct, codes)
}

/// As [`sorted`], by counting bits: linear in the greatest row. `None` if that is much greater than
/// the number of rows.
fn ranked(rows: &[u32]) -> Option<(Vec<u32>, Vec<u32>)> {
    /// Words of the bitmap for each row, at most.
    const WORDS_PER_ROW: usize = 4;
    let words = *rows.iter().max()? as usize / 64 + 1;
    if words > rows.len().saturating_mul(WORDS_PER_ROW) {
        return None;
    }
    let mut bits = vec![0u64; words];
    for row in rows {
        bits[*row as usize / 64] |= 1 << (row % 64);
    }
    let mut distinct = Vec::with_capacity(rows.len());
    // How many bits are set before each word.
    let mut before = Vec::with_capacity(words);
    for (index, word) in bits.iter().enumerate() {
        before.push(distinct.len() as u32);
        let mut left = *word;
        while left != 0 {
            distinct.push(index as u32 * 64 + left.trailing_zeros());
            left &= left - 1;
        }
    }
    let code = |row: &u32| {
        let (index, below) = (*row as usize / 64, (1u64 << (row % 64)) - 1);
        before[index] + (bits[index] & below).count_ones()
    };
    Some((distinct, rows.iter().map(code).collect()))
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(vector) => write!(f, "Lazy({vector:?})"),
            None => f.write_str("Lazy(not loaded)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_by_bits_equal_those_by_sorting() {
        let step = |len: u32, by: u32| (0..len).map(|it| it * by % len).collect::<Vec<u32>>();
        // As of a LEFT join: matched rows, then the others.
        let halves = (0..1000).step_by(2).chain((1..1000).step_by(2)).collect();
        let cases: [Vec<u32>; 6] =
            [vec![0], vec![5, 5, 5], vec![200, 3, 64, 63, 3], step(64, 7), step(1000, 37), halves];
        for rows in cases {
            assert_eq!(ranked(&rows), Some(sorted(&rows)), "{rows:?}");
        }
    }

    #[test]
    fn few_rows_far_apart_are_sorted() {
        assert!(ranked(&[1_000_000, 3]).is_none());
        assert!(ranked(&[]).is_none());
        assert_eq!(sorted(&[9, 3, 9]), (vec![3, 9], vec![1, 0, 1]));
    }
}
