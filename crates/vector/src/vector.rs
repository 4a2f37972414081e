//! The vector: one column of a batch, in some encoding.

use crate::{Deltas, Lazy, Loader, StringValues, Values};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use std::sync::Arc;
use volley_error::Result;
use volley_kernels::order::max_u32;
use volley_types::{Native, Type, Value};

/// A column of `len` values of one logical type. Cheap to clone: storage is shared.
#[derive(Clone, Debug)]
pub struct Vector {
    data_type: Type,
    len: usize,
    /// Rows that are valid, next to the nulls of a base. `None`: all of them.
    nulls: Option<NullBuffer>,
    encoding: Encoding,
}

/// How a vector's values are stored.
#[derive(Clone, Debug)]
pub enum Encoding {
    /// One element per row.
    Flat(Values),
    /// The single row of the base, repeated. The vector itself has no null bitmap.
    Constant(Arc<Vector>),
    /// Row `i` is row `codes[i]` of the base, unless the vector's own bitmap says null. Every code
    /// is below `base.len()`, also in null rows (the base of an all-null vector has one row).
    Dictionary {
        /// One per row.
        codes: ScalarBuffer<u32>,
        /// The distinct values, in any encoding but lazy.
        base: Arc<Vector>,
    },
    /// Run `k` covers the rows from `ends[k - 1]` (or 0) up to `ends[k]`.
    RunLength {
        /// Ascending; the last one is the vector's length.
        ends: ScalarBuffer<u32>,
        /// One row per run.
        base: Arc<Vector>,
    },
    /// Row `i` is `base + deltas[i]`; the type is stored as whole numbers, and every sum is one of
    /// its storage, also in null rows.
    Bias {
        /// What is added to every row.
        base: i128,
        /// One per row.
        deltas: Deltas,
    },
    /// Decoded on first use. The vector itself has no null bitmap.
    Lazy(Lazy),
}

impl Vector {
    /// A flat vector.
    ///
    /// # Panics
    ///
    /// If `values` does not have the layout of `data_type`, or `nulls` has another length.
    pub fn flat(data_type: Type, values: Values, nulls: Option<NullBuffer>) -> Vector {
        assert_eq!(data_type.physical(), values.physical(), "layout of {data_type}");
        let len = values.len();
        let nulls = nulls.filter(|it| it.null_count() > 0);
        assert!(nulls.as_ref().is_none_or(|it| it.len() == len), "null bitmap of another length");
        Vector { data_type, len, nulls, encoding: Encoding::Flat(values) }
    }

    /// A flat vector of fixed-width elements.
    pub fn native<T: Native>(
        data_type: Type,
        values: impl Into<ScalarBuffer<T>>,
        nulls: Option<NullBuffer>,
    ) -> Vector {
        Vector::flat(data_type, Values::from_native::<T>(values.into()), nulls)
    }

    /// A flat BOOLEAN vector.
    pub fn boolean(values: BooleanBuffer, nulls: Option<NullBuffer>) -> Vector {
        Vector::flat(Type::Boolean, Values::Boolean(values), nulls)
    }

    /// A flat VARCHAR or VARBINARY vector.
    pub fn strings(data_type: Type, values: StringValues, nulls: Option<NullBuffer>) -> Vector {
        Vector::flat(data_type, Values::View(values), nulls)
    }

    /// `value`, `len` times.
    ///
    /// # Panics
    ///
    /// If `value` is not of `data_type`.
    pub fn constant(data_type: Type, value: &Value, len: usize) -> Vector {
        Vector::repeat(Vector::from_values(data_type, std::slice::from_ref(value)), len)
    }

    /// The single row of `base`, `len` times.
    ///
    /// # Panics
    ///
    /// If `base` does not have one row.
    pub fn repeat(base: Vector, len: usize) -> Vector {
        assert_eq!(base.len, 1, "rows of a constant's base");
        Vector {
            data_type: base.data_type.clone(),
            len,
            nulls: None,
            encoding: Encoding::Constant(Arc::new(base)),
        }
    }

    /// NULL, `len` times.
    pub fn nulls(data_type: Type, len: usize) -> Vector {
        Vector::constant(data_type, &Value::Null, len)
    }

    /// Rows `codes` of `base`; `nulls` adds null rows.
    ///
    /// # Panics
    ///
    /// If a code is not a row of `base`.
    pub fn dictionary(
        codes: ScalarBuffer<u32>,
        base: Arc<Vector>,
        nulls: Option<NullBuffer>,
    ) -> Vector {
        let max = max_u32(&codes) as usize;
        assert!(codes.is_empty() || max < base.len, "code beyond the dictionary");
        Vector::checked_dictionary(codes, base, nulls)
    }

    /// Like [`Vector::dictionary`], where the caller has just found every code to be a row of
    /// `base`.
    ///
    /// # Panics
    ///
    /// If `base` is lazy.
    pub fn checked_dictionary(
        codes: ScalarBuffer<u32>,
        base: Arc<Vector>,
        nulls: Option<NullBuffer>,
    ) -> Vector {
        debug_assert!(
            codes.iter().all(|it| (*it as usize) < base.len),
            "code beyond the dictionary"
        );
        assert!(!matches!(base.encoding, Encoding::Lazy(_)), "lazy dictionary base");
        Vector {
            data_type: base.data_type.clone(),
            len: codes.len(),
            nulls: nulls.filter(|it| it.null_count() > 0),
            encoding: Encoding::Dictionary { codes, base },
        }
    }

    /// Runs: row `k` of `base` for the rows before `ends[k]`.
    ///
    /// # Panics
    ///
    /// If `ends` is not ascending or not as long as `base`.
    pub fn run_length(ends: ScalarBuffer<u32>, base: Arc<Vector>) -> Vector {
        assert_eq!(ends.len(), base.len, "one end per run");
        assert!(ends.is_sorted(), "run ends ascend");
        let len = ends.last().map_or(0, |it| *it as usize);
        let data_type = base.data_type.clone();
        Vector { data_type, len, nulls: None, encoding: Encoding::RunLength { ends, base } }
    }

    /// A vector whose parts may not fit each other: [`Vector::validate`] says.
    pub(crate) fn unchecked(
        data_type: Type,
        len: usize,
        nulls: Option<NullBuffer>,
        encoding: Encoding,
    ) -> Vector {
        let nulls = nulls.filter(|it| it.null_count() > 0);
        Vector { data_type, len, nulls, encoding }
    }

    /// Rows `base + deltas[i]`, which the caller knows to be in range.
    pub(crate) fn biased(
        data_type: Type,
        base: i128,
        deltas: Deltas,
        nulls: Option<NullBuffer>,
    ) -> Vector {
        let len = deltas.len();
        assert!(nulls.as_ref().is_none_or(|it| it.len() == len), "null bitmap of another length");
        let nulls = nulls.filter(|it| it.null_count() > 0);
        Vector { data_type, len, nulls, encoding: Encoding::Bias { base, deltas } }
    }

    /// A vector that `loader` decodes on first use.
    pub fn lazy(data_type: Type, len: usize, loader: Box<dyn Loader>) -> Vector {
        let encoding = Encoding::Lazy(Lazy::new(loader));
        Vector { data_type, len, nulls: None, encoding }
    }

    /// The logical type.
    pub fn data_type(&self) -> &Type {
        &self.data_type
    }

    /// The same storage under another logical type of the same layout (DECIMAL scale, DATE ...).
    ///
    /// # Panics
    ///
    /// If the layouts differ.
    pub fn with_type(&self, data_type: Type) -> Vector {
        assert_eq!(data_type.physical(), self.data_type.physical(), "layout of {data_type}");
        let encoding = match &self.encoding {
            Encoding::Flat(values) => Encoding::Flat(values.clone()),
            Encoding::Constant(base) => {
                Encoding::Constant(Arc::new(base.with_type(data_type.clone())))
            }
            Encoding::Dictionary { codes, base } => Encoding::Dictionary {
                codes: codes.clone(),
                base: Arc::new(base.with_type(data_type.clone())),
            },
            Encoding::RunLength { ends, base } => Encoding::RunLength {
                ends: ends.clone(),
                base: Arc::new(base.with_type(data_type.clone())),
            },
            Encoding::Bias { base, deltas } => {
                Encoding::Bias { base: *base, deltas: deltas.clone() }
            }
            Encoding::Lazy(lazy) => Encoding::Lazy(lazy.clone()),
        };
        Vector { data_type, len: self.len, nulls: self.nulls.clone(), encoding }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The type and the storage.
    pub(crate) fn into_encoding(self) -> (Type, Encoding) {
        (self.data_type, self.encoding)
    }

    /// The storage. A lazy vector that is loaded still answers [`Encoding::Lazy`]; call
    /// [`Vector::loaded`] first.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The vector's own null bitmap (set bits are valid). A base may have more nulls: use
    /// [`crate::Decoded`] to ask for a row.
    pub fn null_buffer(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// The elements, when the vector is flat.
    pub fn flat_values(&self) -> Option<&Values> {
        match &self.encoding {
            Encoding::Flat(values) => Some(values),
            _ => None,
        }
    }

    /// Whether the vector is lazy (loaded or not).
    pub fn is_lazy(&self) -> bool {
        matches!(self.encoding, Encoding::Lazy(_))
    }

    /// Whether every row is the same value.
    pub fn is_constant(&self) -> bool {
        matches!(self.encoding, Encoding::Constant(_))
    }

    /// Like [`Vector::loaded`], without a copy of what is not lazy.
    ///
    /// # Errors
    ///
    /// As [`Vector::loaded`].
    pub fn into_loaded(self) -> Result<Vector> {
        if self.is_lazy() { self.loaded() } else { Ok(self) }
    }

    /// This vector with its values present: itself, or what its loader decodes. Loads at most once.
    ///
    /// # Errors
    ///
    /// What the loader reports: I/O, corruption, out of memory.
    pub fn loaded(&self) -> Result<Vector> {
        match &self.encoding {
            Encoding::Lazy(lazy) => {
                let vector = lazy.load()?;
                debug_assert_eq!(vector.len, self.len, "rows of a loaded vector");
                Ok(if vector.data_type == self.data_type {
                    vector
                } else {
                    vector.with_type(self.data_type.clone())
                })
            }
            _ => Ok(self.clone()),
        }
    }

    /// The rows from `offset` on, `len` of them, sharing storage.
    ///
    /// # Panics
    ///
    /// If the range is not within the vector, or the vector is lazy.
    pub fn slice(&self, offset: usize, len: usize) -> Vector {
        assert!(offset + len <= self.len, "slice beyond the vector");
        let encoding = match &self.encoding {
            Encoding::Flat(values) => Encoding::Flat(values.slice(offset, len)),
            Encoding::Constant(base) => Encoding::Constant(Arc::clone(base)),
            Encoding::Dictionary { codes, base } => {
                Encoding::Dictionary { codes: codes.slice(offset, len), base: Arc::clone(base) }
            }
            Encoding::RunLength { ends, base } => slice_runs(ends, base, offset, len),
            Encoding::Bias { base, deltas } => {
                Encoding::Bias { base: *base, deltas: deltas.slice(offset, len) }
            }
            Encoding::Lazy(_) => panic_on_lazy(),
        };
        let nulls = self.nulls.as_ref().map(|it| it.slice(offset, len));
        let nulls = nulls.filter(|it| it.null_count() > 0);
        Vector { data_type: self.data_type.clone(), len, nulls, encoding }
    }

    /// Bytes of memory that this vector keeps alive. Shared buffers count in each holder.
    pub fn retained_bytes(&self) -> usize {
        let nulls = self.nulls.as_ref().map_or(0, |it| it.buffer().len());
        nulls
            + match &self.encoding {
                Encoding::Flat(values) => values.retained_bytes(),
                Encoding::Constant(base) => base.retained_bytes(),
                Encoding::Dictionary { codes, base } => codes.inner().len() + base.retained_bytes(),
                Encoding::RunLength { ends, base } => ends.inner().len() + base.retained_bytes(),
                Encoding::Bias { deltas, .. } => deltas.buffer().len(),
                Encoding::Lazy(lazy) => lazy.get().map_or(0, |it| it.retained_bytes()),
            }
    }
}

#[cold]
#[expect(clippy::panic, reason = "a caller forgot to load: a bug, caught at the task border")]
fn panic_on_lazy() -> ! {
    panic!("a lazy vector must be loaded first")
}

fn slice_runs(ends: &[u32], base: &Arc<Vector>, offset: usize, len: usize) -> Encoding {
    let first = ends.partition_point(|end| *end as usize <= offset);
    let last = ends.partition_point(|end| (*end as usize) < offset + len);
    let runs = if len == 0 { 0 } else { last + 1 - first };
    let ends = ends[first..first + runs]
        .iter()
        .map(|end| (*end as usize - offset).min(len) as u32)
        .collect::<Vec<_>>();
    let base = Arc::new(base.slice(first.min(base.len), runs));
    Encoding::RunLength { ends: ends.into(), base }
}
