//! Reading batches with deleted rows.

use volley_error::Result;
use volley_vector::{Batch, Rows, Vector};

/// The minimum mean length of runs of rows for which runs are copied. Copying a run of 8-byte
/// values costs about as much as reading 16 of them by index.
const RUN_ROWS_MIN: usize = 32;

/// Which of the rows `start..start + rows` of a batch were not deleted.
pub(crate) fn live_in(live: &Rows, start: usize, rows: usize) -> Rows {
    let words = live.words();
    let shift = start % 64;
    let mut part: Vec<u64> = Vec::with_capacity(rows.div_ceil(64));
    for index in start / 64..(start + rows).div_ceil(64) {
        if part.len() == rows.div_ceil(64) {
            break;
        }
        let low = words.get(index).copied().unwrap_or_default() >> shift;
        let next = words.get(index + 1).copied().unwrap_or_default();
        part.push(if shift == 0 { low } else { low | next << (64 - shift) });
    }
    if !rows.is_multiple_of(64)
        && let Some(last) = part.last_mut()
    {
        *last &= (1 << (rows % 64)) - 1;
    }
    Rows::from_words(part, rows)
}

/// The rows of a batch that were not deleted: long runs of values of a fixed width are copied, so
/// that later loops need no indices; other columns become dictionaries.
pub(crate) fn only(batch: &Batch, live: &Rows) -> Result<Batch> {
    if live.is_all() {
        return Ok(batch.clone());
    }
    if !batch.columns().iter().any(is_fixed) {
        return Ok(batch.select(live));
    }
    let Some(runs) = runs(live, live.count() / RUN_ROWS_MIN) else {
        return Ok(batch.select(live));
    };
    let others = match batch.columns().iter().all(is_fixed) {
        true => batch.clone(),
        false => batch.select(live),
    };
    let columns = batch.columns().iter().zip(others.columns()).map(|(column, other)| {
        if !is_fixed(column) {
            return Ok(other.clone());
        }
        let parts: Vec<Vector> =
            runs.iter().map(|it| column.slice(it.start, it.end - it.start)).collect();
        Vector::concat(column.data_type(), &parts)
    });
    Ok(Batch::new(columns.collect::<Result<Vec<_>>>()?, live.count()))
}

fn is_fixed(column: &Vector) -> bool {
    column.flat_values().is_some_and(|it| it.fixed_bytes().is_some())
}

/// The runs of selected rows; `None` if there are more than `runs_max`.
fn runs(rows: &Rows, runs_max: usize) -> Option<Vec<std::ops::Range<usize>>> {
    let mut runs = Vec::new();
    let mut row = rows.begin();
    while row < rows.end() {
        let end = first(rows, row, |word| !word).min(rows.end());
        if runs.len() == runs_max {
            return None;
        }
        runs.push(row..end);
        row = first(rows, end, |word| word);
    }
    Some(runs)
}

/// The first row from `start` on whose bit is set in the words that `of` returns; the end of the
/// rows if there is none.
fn first(rows: &Rows, start: usize, of: impl Fn(u64) -> u64) -> usize {
    let mut mask = u64::MAX << (start % 64);
    for (index, word) in rows.words().iter().enumerate().skip(start / 64) {
        let bits = of(*word) & mask;
        if bits != 0 {
            return index * 64 + bits.trailing_zeros() as usize;
        }
        mask = u64::MAX;
    }
    rows.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::{Type, Value};

    /// Sets of rows: none, all, single ones, long runs and short ones.
    fn sets(len: usize) -> Vec<Rows> {
        let keeps: [fn(usize) -> bool; 6] = [
            |_| false,
            |_| true,
            |it| it == 0,
            |it| it % 100 != 99,
            |it| it % 2 == 0,
            |it| !(60..130).contains(&it),
        ];
        let sets =
            keeps.iter().map(|keep| Rows::from_indices(len, (0..len).filter(|it| keep(*it))));
        sets.collect()
    }

    #[test]
    fn a_slice_of_live_rows_equals_one_made_row_by_row() {
        for live in sets(300) {
            for (start, rows) in
                [(0, 300), (0, 64), (1, 3), (63, 2), (64, 128), (70, 230), (300, 0)]
            {
                let expected = (0..rows).filter(|row| live.contains(start + row));
                let expected = Rows::from_indices(rows, expected);
                assert_eq!(live_in(&live, start, rows).to_indices(), expected.to_indices());
            }
        }
    }

    #[test]
    fn copied_runs_equal_selected_rows() {
        let mut copied = 0;
        for len in [1, 3, 64, 300] {
            let values: Vec<Value> = (0..len as i64)
                .map(|it| if it % 5 == 0 { Value::Null } else { Value::BigInt(it) })
                .collect();
            let texts: Vec<Value> =
                (0..len).map(|it| Value::text(format!("a long text, number {it}"))).collect();
            let numbers = Vector::from_values(Type::BigInt, &values).flatten().unwrap();
            let texts = Vector::from_values(Type::Varchar, &texts).flatten().unwrap();
            let batch = Batch::new(vec![numbers, texts], len);
            for live in sets(len) {
                let (left, plain) = (only(&batch, &live).unwrap(), batch.select(&live));
                assert_eq!(left.rows(), plain.rows());
                for (left, plain) in left.columns().iter().zip(plain.columns()) {
                    assert_eq!(left.to_values().unwrap(), plain.to_values().unwrap());
                }
                let is_flat = left.column(0).flat_values().is_some();
                copied += usize::from(is_flat && !live.is_all());
                assert!(is_flat || runs(&live, live.count() / RUN_ROWS_MIN).is_none());
                // Texts may be in many buffers.
                assert!(live.is_all() || live.is_empty() || left.column(1).flat_values().is_none());
            }
        }
        assert!(copied >= 2, "no runs were copied");
    }

    #[test]
    fn a_batch_without_columns_keeps_its_rows() {
        let batch = Batch::new(Vec::new(), 300);
        for live in sets(300) {
            assert_eq!(only(&batch, &live).unwrap().rows(), live.count());
        }
    }
}
