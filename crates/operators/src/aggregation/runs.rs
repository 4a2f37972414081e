//! Runs: neighboring rows with equal keys.

use volley_error::Result;
use volley_types::{PhysicalType, match_integer};
use volley_vector::{Decoded, Indices, Vector, comparator};

/// The runs of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runs {
    /// The first row of each.
    pub(super) starts: Vec<u32>,
    /// Of each row, its run.
    pub(super) of_rows: Vec<u32>,
}

impl Runs {
    /// Each of `rows` rows as a run of its own.
    pub(super) fn separate(rows: usize) -> Runs {
        let all: Vec<u32> = (0..rows as u32).collect();
        Runs { starts: all.clone(), of_rows: all }
    }

    /// The runs of `rows` rows; `None` where keys are not compared row by row (nested ones).
    ///
    /// # Errors
    ///
    /// What a lazy key's loader reports.
    pub(super) fn find(keys: &[Vector], rows: usize) -> Result<Option<Runs>> {
        let is_nested = |it: &Vector| it.data_type().physical().is_by_reference();
        if rows == 0 || keys.iter().any(is_nested) {
            return Ok(None);
        }
        let mut begins = vec![false; rows];
        begins[0] = true;
        for key in keys {
            mark_begins(key, &mut begins)?;
        }
        let mut starts = vec![0; rows];
        let mut of_rows = Vec::with_capacity(rows);
        let mut count = 0;
        for (row, begins) in begins.into_iter().enumerate() {
            starts[count.min(rows - 1)] = row as u32;
            count += usize::from(begins);
            of_rows.push(count as u32 - 1);
        }
        starts.truncate(count);
        Ok(Some(Runs { starts, of_rows }))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }
}

/// Marks the rows whose key differs from that of the row before.
fn mark_begins(key: &Vector, begins: &mut [bool]) -> Result<()> {
    let decoded = Decoded::new(key)?;
    if matches!(decoded.indices(), Indices::Constant(_)) && !decoded.has_nulls() {
        return Ok(());
    }
    let physical = decoded.values().physical();
    let is_integer = matches!(
        physical,
        PhysicalType::I8 | PhysicalType::I16 | PhysicalType::I32 | PhysicalType::I64
    );
    if !is_integer || decoded.has_nulls() {
        return mark_by_comparing(key, begins);
    }
    let begins = &mut begins[1..];
    match_integer!(physical, T => {
        let values = decoded.native::<T>();
        match decoded.indices() {
            Indices::Codes(codes) => {
                let pairs = begins.iter_mut().zip(codes.windows(2));
                pairs.for_each(|(it, at)| *it |= values[at[0] as usize] != values[at[1] as usize]);
            }
            _ => {
                let pairs = begins.iter_mut().zip(values.windows(2));
                pairs.for_each(|(it, pair)| *it |= pair[0] != pair[1]);
            }
        }
    }, else {});
    Ok(())
}

fn mark_by_comparing(key: &Vector, begins: &mut [bool]) -> Result<()> {
    let key = key.loaded()?;
    let neighbors = comparator(&key, &key)?;
    for (row, begins) in begins.iter_mut().enumerate().skip(1) {
        *begins = *begins || !neighbors.is_equal(row - 1, row);
    }
    Ok(())
}
