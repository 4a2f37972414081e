//! Which rows of a column have the same value.

use crate::column::Source;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::hash::Hash;
use volley_error::Result;
use volley_types::{PhysicalType, match_width};

/// The distinct values of a column, by falling frequency.
pub(crate) struct Distinct {
    /// One per row; of null rows 0.
    pub(crate) codes: Vec<u32>,
    /// A row of each value.
    pub(crate) rows: Vec<u32>,
    /// Rows of each value.
    pub(crate) counts: Vec<u32>,
}

impl Distinct {
    /// The distinct values, if there are at most `values_max`. Floats are distinct by their bits.
    pub(crate) fn of(source: &Source, values_max: usize) -> Result<Option<Distinct>> {
        Ok(match source.physical() {
            PhysicalType::View => {
                let strings = source.strings()?;
                find(source, values_max, |row| source.string(strings, row))
            }
            physical => match_width!(physical, T => {
                let values = source.values()?.width::<T>().unwrap_or(&[]);
                find(source, values_max, |row| values[row])
            }, else None),
        })
    }
}

/// Rows that begin a run: their value, or that they are null, differs from the row before.
pub(crate) fn run_starts(source: &Source) -> Result<Vec<u32>> {
    Ok(match source.physical() {
        PhysicalType::View => {
            let strings = source.strings()?;
            starts(source, |row| source.string(strings, row))
        }
        physical => match_width!(physical, T => {
            let values = source.values()?.width::<T>().unwrap_or(&[]);
            starts(source, |row| values[row])
        }, else (0..source.rows() as u32).collect()),
    })
}

/// Whether all rows that are not null have the same value.
pub(crate) fn is_constant(source: &Source) -> Result<bool> {
    Ok(match source.physical() {
        PhysicalType::View => {
            let strings = source.strings()?;
            all_same(source, |row| source.string(strings, row))
        }
        physical => match_width!(physical, T => {
            let values = source.values()?.width::<T>().unwrap_or(&[]);
            all_same(source, |row| values[row])
        }, else false),
    })
}

fn all_same<K: PartialEq>(source: &Source, key: impl Fn(usize) -> K) -> bool {
    let mut keys = (0..source.rows()).filter(|row| !source.is_null(*row)).map(key);
    let first = keys.next();
    first.is_none_or(|first| keys.all(|it| it == first))
}

fn starts<K: PartialEq>(source: &Source, key: impl Fn(usize) -> K) -> Vec<u32> {
    let differs = |row: &usize| match row.checked_sub(1) {
        None => true,
        Some(before) => {
            let (was_null, is_null) = (source.is_null(before), source.is_null(*row));
            was_null != is_null || !is_null && key(before) != key(*row)
        }
    };
    (0..source.rows()).filter(differs).map(|row| row as u32).collect()
}

fn find<K: Hash + Eq>(
    source: &Source,
    values_max: usize,
    key: impl Fn(usize) -> K,
) -> Option<Distinct> {
    let mut numbers: HashMap<K, u32, FixedState> = HashMap::default();
    let (mut codes, mut found) = (vec![0; source.rows()], Vec::<(u32, u32)>::new());
    for row in (0..source.rows()).filter(|row| !source.is_null(*row)) {
        let next = found.len() as u32;
        let number = *numbers.entry(key(row)).or_insert(next);
        if number == next {
            if found.len() == values_max {
                return None;
            }
            found.push((row as u32, 0));
        }
        found[number as usize].1 += 1;
        codes[row] = number;
    }
    let mut order: Vec<u32> = (0..found.len() as u32).collect();
    order.sort_by_key(|it| std::cmp::Reverse(found[*it as usize].1));
    let mut ranks = vec![0; found.len()];
    for (rank, number) in order.iter().enumerate() {
        ranks[*number as usize] = rank as u32;
    }
    for row in (0..source.rows()).filter(|row| !source.is_null(*row)) {
        codes[row] = ranks[codes[row] as usize];
    }
    let of_rank = |number: &u32| found[*number as usize];
    let (rows, counts) = order.iter().map(of_rank).unzip();
    Some(Distinct { codes, rows, counts })
}
