//! Vectors that are decoded on first use.

use crate::Vector;
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

    /// Rows `codes` of a lazy vector of `data_type`, itself lazy: decodes only the rows that codes
    /// name when nobody else holds the values.
    pub(crate) fn wrap(&self, data_type: &Type, codes: &ScalarBuffer<u32>) -> Vector {
        let loader = WrappedLoader { inner: self.clone(), codes: codes.clone() };
        Vector::lazy(data_type.clone(), codes.len(), Box::new(loader))
    }

    fn run_loader(&self, rows: Option<&[u32]>) -> Result<Vector> {
        let loader = self.0.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut loader = loader.ok_or_else(|| Error::internal("lazy vector loaded twice"))?;
        let vector = loader.load(rows)?;
        if vector.is_lazy() { vector.loaded() } else { Ok(vector) }
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
        let shared = Arc::strong_count(&self.inner.0) > 1;
        if shared || self.inner.0.loaded.get().is_some() {
            return Ok(self.inner.load()?.wrap(&wanted.into(), &mut Vec::new()));
        }
        if wanted.is_sorted_by(|a, b| a < b) {
            return self.inner.run_loader(Some(&wanted));
        }
        let mut distinct = wanted.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let base = self.inner.run_loader(Some(&distinct))?;
        let codes: Vec<u32> =
            wanted.iter().map(|row| distinct.partition_point(|it| it < row) as u32).collect();
        Ok(base.wrap(&codes.into(), &mut Vec::new()))
    }
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(vector) => write!(f, "Lazy({vector:?})"),
            None => f.write_str("Lazy(not loaded)"),
        }
    }
}
