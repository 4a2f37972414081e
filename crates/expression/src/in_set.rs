//! Constant IN lists: hashed once, one probe per row.

use std::{collections::HashSet, hash::Hash};
use volley_error::{Error, Result};
use volley_kernels::order::Ordered;
use volley_types::Native;
use volley_vector::{
    BooleanBuffer, Buffer, Comparator, Decoded, NullBuffer, Rows, Values, Vector, comparator,
};

/// Lists up to this length are searched one by one, which vectorizes.
const LINEAR_MAX: usize = 8;

type Set<T> = HashSet<T, foldhash::fast::FixedState>;

/// The values of a constant IN list.
pub(crate) struct InSet {
    values: InValues,
    /// Whether NULL is in the list: what is not found is null then.
    has_null: bool,
}

/// The distinct values that are not null, by layout.
enum InValues {
    Boolean([bool; 2]),
    I8(Members<i8>),
    I16(Members<i16>),
    I32(Members<i32>),
    I64(Members<i64>),
    I128(Members<i128>),
    F32(Members<f32>),
    F64(Members<f64>),
    Strings(Set<Box<[u8]>>),
    /// Ascending, distinct.
    Sorted(Vector),
}

/// Fixed-width members.
enum Members<T> {
    Few(Vec<T>),
    Many(Set<Key<T>>),
}

/// A value that is hashed as SQL compares it.
#[derive(Clone, Copy)]
struct Key<T>(T);

impl<T: Ordered> PartialEq for Key<T> {
    fn eq(&self, other: &Key<T>) -> bool {
        self.0.same(other.0)
    }
}

impl<T: Ordered> Eq for Key<T> {}

impl<T: Ordered> Hash for Key<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.key_bits().hash(state);
    }
}

impl<T: Ordered + Native> Members<T> {
    fn new(values: &[T]) -> Members<T> {
        if values.len() <= LINEAR_MAX {
            return Members::Few(values.to_vec());
        }
        Members::Many(values.iter().copied().map(Key).collect())
    }

    #[inline]
    fn contains(&self, value: T) -> bool {
        match self {
            Members::Few(members) => members.iter().any(|it| it.same(value)),
            Members::Many(members) => members.contains(&Key(value)),
        }
    }

    fn find(&self, decoded: &Decoded, rows: &Rows) -> Vec<u64> {
        let values = decoded.native::<T>();
        match self {
            Members::Few(members) => found(rows, |row| {
                let value = values[decoded.index(row)];
                members.iter().any(|it| it.same(value))
            }),
            Members::Many(_) => found(rows, |row| self.contains(values[decoded.index(row)])),
        }
    }
}

impl InSet {
    /// The set of all values of `list`, of one type.
    ///
    /// # Errors
    ///
    /// What copying reports.
    pub(crate) fn new(list: &Vector) -> Result<InSet> {
        let list = &list.comparison_keys()?;
        let decoded = Decoded::new(list)?;
        let valid: Vec<u32> =
            (0..list.len()).filter(|row| !decoded.is_null(*row)).map(|it| it as u32).collect();
        let has_null = valid.len() < list.len();
        let members = list.gather(&valid)?;
        let values = match members.flat_values() {
            Some(Values::Boolean(bits)) => {
                InValues::Boolean([bits.iter().any(|it| !it), bits.iter().any(|it| it)])
            }
            Some(Values::I8(values)) => InValues::I8(Members::new(values)),
            Some(Values::I16(values)) => InValues::I16(Members::new(values)),
            Some(Values::I32(values)) => InValues::I32(Members::new(values)),
            Some(Values::I64(values)) => InValues::I64(Members::new(values)),
            Some(Values::I128(values)) => InValues::I128(Members::new(values)),
            Some(Values::F32(values)) => InValues::F32(Members::new(values)),
            Some(Values::F64(values)) => InValues::F64(Members::new(values)),
            Some(Values::View(strings)) => {
                InValues::Strings((0..valid.len()).map(|it| strings.bytes(it).into()).collect())
            }
            _ => InValues::Sorted(sorted(&members)?),
        };
        Ok(InSet { values, has_null })
    }

    /// `input IN list` for `rows`.
    ///
    /// # Errors
    ///
    /// Internal, when the layouts differ.
    pub(crate) fn evaluate(&self, input: &Vector, rows: &Rows) -> Result<Vector> {
        let input = &input.comparison_keys()?;
        let decoded = Decoded::new(input)?;
        let nulls = decoded.nulls();
        let mut rows = rows.clone();
        if let Some(nulls) = &nulls {
            rows.subtract_nulls(nulls);
        }
        let words = if rows.is_empty() {
            vec![0; rows.words().len()]
        } else {
            self.find(input, &decoded, &rows)?
        };
        let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, rows.len());
        let nulls = match self.has_null {
            // Not found means null; found rows are not null.
            true => Some(NullBuffer::new(bits.clone())),
            false => nulls,
        };
        Ok(Vector::boolean(bits, nulls))
    }

    fn find(&self, input: &Vector, decoded: &Decoded, rows: &Rows) -> Result<Vec<u64>> {
        Ok(match (&self.values, decoded.values()) {
            (InValues::Boolean([has_false, has_true]), Values::Boolean(_)) => {
                found(rows, |row| if decoded.boolean(row) { *has_true } else { *has_false })
            }
            (InValues::I8(members), Values::I8(_)) => members.find(decoded, rows),
            (InValues::I16(members), Values::I16(_)) => members.find(decoded, rows),
            (InValues::I32(members), Values::I32(_)) => members.find(decoded, rows),
            (InValues::I64(members), Values::I64(_)) => members.find(decoded, rows),
            (InValues::I128(members), Values::I128(_)) => members.find(decoded, rows),
            (InValues::F32(members), Values::F32(_)) => members.find(decoded, rows),
            (InValues::F64(members), Values::F64(_)) => members.find(decoded, rows),
            (InValues::Strings(members), Values::View(_)) => {
                found(rows, |row| members.contains(decoded.bytes(row)))
            }
            (InValues::Sorted(members), _) => {
                let order = comparator(input, members)?;
                found(rows, |row| search(&order, row, members.len()))
            }
            _ => return Err(Error::internal("IN list of another layout than its input")),
        })
    }
}

/// The bitmap of the rows for which `f` holds.
fn found(rows: &Rows, f: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut words = vec![0u64; rows.words().len()];
    rows.for_each(|row| words[row / 64] |= u64::from(f(row)) << (row % 64));
    words
}

/// Whether row `row` on the left is among the `len` ascending rows on the right.
fn search(order: &Comparator, row: usize, len: usize) -> bool {
    let (mut start, mut end) = (0, len);
    while start < end {
        let middle = start + (end - start) / 2;
        match order.compare(row, middle) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => end = middle,
            std::cmp::Ordering::Greater => start = middle + 1,
        }
    }
    false
}

fn sorted(members: &Vector) -> Result<Vector> {
    let order = comparator(members, members)?;
    let mut rows: Vec<u32> = (0..members.len() as u32).collect();
    rows.sort_by(|a, b| order.compare(*a as usize, *b as usize));
    rows.dedup_by(|a, b| order.is_equal(*a as usize, *b as usize));
    members.gather(&rows)
}
