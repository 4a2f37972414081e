//! Constant IN lists: a few values compared with all at once, a bitmap of a narrow range, or a hash
//! table of buckets; text of up to 12 bytes is hashed as its view.

mod table;

use std::collections::HashSet;
use table::Table;
use volley_error::{Error, Result};
use volley_kernels::{bits, membership::Key, order::Ordered};
use volley_types::Native;
use volley_vector::{
    BooleanBuffer, Buffer, Comparator, Decoded, INLINE_BYTES, Indices, NullBuffer, Rows,
    StringValues, StringView, Values, Vector, comparator,
};

/// The values of a constant IN list.
pub(crate) struct InSet {
    values: InValues,
    /// Whether NULL is in the list: what is not found is null then.
    has_null: bool,
}

/// The distinct values that are not null, by layout.
enum InValues {
    /// Nothing but nulls.
    None,
    Boolean([bool; 2]),
    /// Integers as such, floats by bits that are equal for equal values.
    Numbers(Numbers),
    Wide(Table<u128>),
    Strings(Strings),
    /// Ascending, distinct.
    Sorted(Vector),
}

/// Values of up to 64 bits.
enum Numbers {
    Hashed(Table<u64>),
    /// Bits of the numbers from `min` on.
    Bitmap {
        min: i64,
        bits: Vec<u64>,
    },
}

/// Text or bytes.
struct Strings {
    /// Views of those of up to 12 bytes.
    short: Option<Table<u128>>,
    long: HashSet<Box<[u8]>, foldhash::fast::FixedState>,
}

impl Numbers {
    /// A bitmap of up to this size fits the second level of the cache.
    const SMALL_BITMAP_BITS: u64 = 1 << 19;
    /// About what a member takes in a hash table.
    const HASHED_BITS: u64 = 128;

    /// The set of `values`; `None` when there are none.
    fn new<T: Ordered + Native>(values: &[T], is_integer: bool) -> Option<Numbers> {
        let keys: Vec<u64> = values.iter().map(|it| it.key_bits()).collect();
        let numbers = || keys.iter().map(|it| *it as i64);
        let (min, max) = (numbers().min()?, numbers().max()?);
        let range = max.wrapping_sub(min) as u64;
        let worth = Numbers::SMALL_BITMAP_BITS.max(keys.len() as u64 * Numbers::HASHED_BITS);
        if is_integer && keys.len() > u64::FEW && range < worth {
            let mut bits = vec![0; range as usize / 64 + 1];
            for number in numbers() {
                let place = number.wrapping_sub(min) as usize;
                bits[place / 64] |= 1 << (place % 64);
            }
            return Some(Numbers::Bitmap { min, bits });
        }
        Table::new(&keys).map(Numbers::Hashed)
    }

    fn find<T: Ordered + Native>(&self, decoded: &Decoded, rows: &Rows) -> Vec<u64> {
        match self {
            Numbers::Hashed(table) => table.find::<T>(decoded, rows, T::key_bits),
            Numbers::Bitmap { min, bits } => find_in(
                decoded,
                rows,
                |values: &[T], words| {
                    let number = |it: T| it.key_bits() as i64;
                    volley_kernels::membership::find_in_bitmap(values, number, *min, bits, words);
                },
                |value| {
                    let place = (value.key_bits() as i64).wrapping_sub(*min) as u64;
                    let word = bits.get(usize::try_from(place / 64).unwrap_or(usize::MAX));
                    word.is_some_and(|word| word >> (place % 64) & 1 == 1)
                },
            ),
        }
    }
}

impl Strings {
    fn new(strings: &StringValues) -> Strings {
        let is_short = |view: &u128| StringView::len_of(*view) <= INLINE_BYTES;
        let short: Vec<u128> = strings.views.iter().copied().filter(is_short).collect();
        let long = (0..strings.len()).filter(|row| !is_short(&strings.views[*row]));
        Strings {
            short: Table::new(&short),
            long: long.map(|row| strings.bytes(row).into()).collect(),
        }
    }

    fn find(&self, strings: &StringValues, decoded: &Decoded, rows: &Rows) -> Vec<u64> {
        let mut words = match &self.short {
            Some(table) => table.find::<u128>(decoded, rows, |view| view),
            None => vec![0; rows.words().len()],
        };
        if self.long.is_empty() {
            return words;
        }
        rows.for_each(|row| {
            let index = decoded.index(row);
            if StringView::len_of(strings.views[index]) > INLINE_BYTES {
                let is_member = self.long.contains(strings.bytes(index));
                words[row / 64] |= u64::from(is_member) << (row % 64);
            }
        });
        words
    }
}

/// The bitmap of the rows whose value `contains` knows; `find_all` does it for all values at once.
fn find_in<T: Native>(
    decoded: &Decoded,
    rows: &Rows,
    find_all: impl FnOnce(&[T], &mut [u64]),
    contains: impl Fn(T) -> bool,
) -> Vec<u64> {
    let Some(values) = decoded.values().native::<T>() else {
        return vec![0; rows.words().len()];
    };
    let is_flat = matches!(decoded.indices(), Indices::Identity);
    if !is_flat || rows.count() * 4 < rows.len() {
        return found(rows, |row| contains(values[decoded.index(row)]));
    }
    let mut words = vec![0; rows.words().len()];
    find_all(&values[..rows.len()], &mut words);
    words.iter_mut().zip(rows.words()).for_each(|(found, active)| *found &= active);
    words
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
            Some(Values::I8(values)) => numbers(values, true),
            Some(Values::I16(values)) => numbers(values, true),
            Some(Values::I32(values)) => numbers(values, true),
            Some(Values::I64(values)) => numbers(values, true),
            Some(Values::F32(values)) => numbers(values, false),
            Some(Values::F64(values)) => numbers(values, false),
            Some(Values::I128(values)) => {
                let keys: Vec<u128> = values.iter().map(|it| *it as u128).collect();
                Table::new(&keys).map_or(InValues::None, InValues::Wide)
            }
            Some(Values::View(strings)) => InValues::Strings(Strings::new(strings)),
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
            (InValues::Numbers(numbers), Values::I8(_)) => numbers.find::<i8>(decoded, rows),
            (InValues::Numbers(numbers), Values::I16(_)) => numbers.find::<i16>(decoded, rows),
            (InValues::Numbers(numbers), Values::I32(_)) => numbers.find::<i32>(decoded, rows),
            (InValues::Numbers(numbers), Values::I64(_)) => numbers.find::<i64>(decoded, rows),
            (InValues::Numbers(numbers), Values::F32(_)) => numbers.find::<f32>(decoded, rows),
            (InValues::Numbers(numbers), Values::F64(_)) => numbers.find::<f64>(decoded, rows),
            (InValues::Wide(table), Values::I128(_)) => {
                table.find::<i128>(decoded, rows, |it| it as u128)
            }
            (InValues::Strings(members), Values::View(strings)) => {
                members.find(strings, decoded, rows)
            }
            (InValues::None, _) => vec![0; rows.words().len()],
            (InValues::Sorted(members), _) => {
                let order = comparator(input, members)?;
                found(rows, |row| search(&order, row, members.len()))
            }
            _ => return Err(Error::internal("IN list of another layout than its input")),
        })
    }
}

fn numbers<T: Ordered + Native>(values: &[T], is_integer: bool) -> InValues {
    Numbers::new(values, is_integer).map_or(InValues::None, InValues::Numbers)
}

/// The bitmap of the rows for which `f` holds.
fn found(rows: &Rows, f: impl Fn(usize) -> bool) -> Vec<u64> {
    if rows.is_all() {
        let word = |start: usize| bits::word((rows.len() - start).min(64), |row| f(start + row));
        return (0..rows.len()).step_by(64).map(word).collect();
    }
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
