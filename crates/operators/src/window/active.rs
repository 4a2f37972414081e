//! The rows that count for an aggregate call: FILTER and DISTINCT.

use super::{
    boundaries::{Boundaries, BoundaryCursor},
    run::Run,
    spec::CallSpec,
};
use std::collections::HashMap;
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_state::hash_table::GroupTable;
use volley_types::Type;
use volley_vector::{Batch, BooleanBuffer, Rows, ScalarBuffer, Values, Vector};

/// No earlier row.
const NONE: u32 = u32::MAX;

/// Which rows count.
pub(super) struct ActiveRows {
    /// BOOLEAN, one per row; `None` when all count.
    bits: Option<BooleanBuffer>,
    /// With DISTINCT over frames that do not grow: for each row the last earlier one of its
    /// partition with the same arguments, among those that count.
    earlier: Option<Vec<u32>>,
    _charge: Reservation,
}

/// Finds out which rows count, some rows per step.
pub(super) struct FindingActive {
    filter: Option<Vector>,
    distinct: Option<FindingDistinct>,
    words: Vec<bool>,
    rows: usize,
    step_rows: usize,
    charge: Reservation,
}

struct FindingDistinct {
    args: Vec<Vector>,
    seen: GroupTable,
    cursor: BoundaryCursor,
    /// Where frames grow, only first occurrences count. Otherwise all rows do, and these are the
    /// last rows of all groups, by their address.
    last: Option<HashMap<u64, u32>>,
    earlier: Vec<u32>,
}

impl ActiveRows {
    /// Those of `start..end`, counted from `start`.
    pub(super) fn slice(&self, start: u32, end: u32) -> Rows {
        let (start, len) = (start as usize, (end - start) as usize);
        match &self.bits {
            None => Rows::all(len),
            Some(bits) => Rows::from_bits(&bits.slice(start, len)),
        }
    }

    /// Those of `rows`, counted by their positions in the list.
    pub(super) fn select(&self, rows: &[u32]) -> Rows {
        match &self.bits {
            None => Rows::all(rows.len()),
            Some(bits) => {
                Rows::from_bits(&rows.iter().map(|it| bits.value(*it as usize)).collect())
            }
        }
    }

    /// Whether a row counts.
    #[inline]
    pub(super) fn contains(&self, row: u32) -> bool {
        self.bits.as_ref().is_none_or(|it| it.value(row as usize))
    }

    /// Whether `row`, in a frame for which `is_inside` answers and which starts at `start`, is the
    /// first one of its arguments there.
    pub(super) fn is_first(&self, row: u32, start: u32, is_inside: impl Fn(u32) -> bool) -> bool {
        let Some(earlier) = &self.earlier else { return true };
        let mut other = earlier[row as usize];
        while other != NONE && other >= start {
            if is_inside(other) {
                return false;
            }
            other = earlier[other as usize];
        }
        true
    }
}

impl FindingActive {
    pub(super) fn new(
        call: &CallSpec,
        run: &Run,
        places: &Boundaries,
        pool: &Pool,
    ) -> Result<FindingActive> {
        let distinct = match call.distinct {
            true => Some(FindingDistinct {
                seen: GroupTable::new(
                    compared_types(&call.arg_types),
                    Vec::new(),
                    run.sizes(),
                    pool,
                ),
                args: run.columns(&call.args)?,
                cursor: BoundaryCursor::new(places),
                last: (!call.frames_grow()).then(HashMap::new),
                earlier: Vec::new(),
            }),
            false => None,
        };
        Ok(FindingActive {
            filter: call.filter.map(|it| run.column(it).cloned()).transpose()?,
            distinct,
            words: Vec::new(),
            rows: run.rows(),
            step_rows: run.step_rows(),
            charge: pool.reservation(),
        })
    }

    /// Goes on with some rows; true at the end.
    pub(super) fn step(&mut self, places: &Boundaries) -> Result<bool> {
        if self.filter.is_none() && self.distinct.is_none() {
            return Ok(true);
        }
        let start = self.words.len();
        let len = self.step_rows.min(self.rows - start);
        let mut rows = match &self.filter {
            Some(filter) => rows_where_true(&filter.slice(start, len)),
            None => Rows::all(len),
        };
        if let Some(distinct) = &mut self.distinct {
            rows = distinct.step(places, start, rows)?;
        }
        self.words.extend((0..len).map(|row| rows.contains(row)));
        let earlier = self.distinct.as_ref().map_or(0, FindingDistinct::bytes);
        self.charge.resize(self.words.capacity() + earlier)?;
        Ok(self.words.len() == self.rows)
    }

    /// What was found.
    pub(super) fn finish(self) -> ActiveRows {
        let any = self.filter.is_some() || self.distinct.is_some();
        ActiveRows {
            bits: any.then(|| BooleanBuffer::from(self.words)),
            earlier: self.distinct.and_then(|it| it.last.map(|_| it.earlier)),
            _charge: self.charge,
        }
    }
}

impl FindingDistinct {
    fn bytes(&self) -> usize {
        let last = self.last.as_ref().map_or(0, HashMap::capacity);
        self.earlier.capacity() * size_of::<u32>() + last * size_of::<(u64, u32)>()
    }

    /// Takes the `rows` that count from row `start` on; answers those that still do.
    fn step(&mut self, places: &Boundaries, start: usize, rows: Rows) -> Result<Rows> {
        let len = rows.len();
        let places = places.batch(&mut self.cursor, start, len);
        let partitions: Vec<i64> =
            places.partitions.starts.iter().map(|it| i64::from(*it)).collect();
        let mut columns = vec![Vector::native::<i64>(Type::BigInt, partitions, None)];
        for arg in &self.args {
            columns.push(arg.slice(start, len).comparison_keys()?);
        }
        let codes: ScalarBuffer<u32> = rows.to_indices().into();
        let counted = Batch::new(columns, len).wrap(&codes);
        if !codes.is_empty() {
            self.seen.find_or_insert(counted.columns(), codes.len())?;
        }
        let Some(last) = &mut self.last else {
            if codes.is_empty() {
                return Ok(rows);
            }
            let new_rows = self.seen.new_rows().iter();
            return Ok(Rows::from_indices(len, new_rows.map(|it| codes[*it as usize] as usize)));
        };
        self.earlier.resize(start + len, NONE);
        if !codes.is_empty() {
            for (code, group) in codes.iter().zip(self.seen.groups().pointers()) {
                let row = start as u32 + code;
                if let Some(before) = last.insert(group.expose(), row) {
                    self.earlier[row as usize] = before;
                }
            }
        }
        Ok(rows)
    }
}

/// The types of a partition's number and of what arguments are compared by.
fn compared_types(args: &[Type]) -> Vec<Type> {
    let keys = args.iter().map(|it| it.key_type().unwrap_or_else(|| it.clone()));
    std::iter::once(Type::BigInt).chain(keys).collect()
}

/// The rows where a flat BOOLEAN column is true.
pub(super) fn rows_where_true(column: &Vector) -> Rows {
    let Some(Values::Boolean(bits)) = column.flat_values() else {
        return Rows::none(column.len());
    };
    let mut rows = Rows::from_bits(bits);
    if let Some(nulls) = column.null_buffer() {
        rows.subtract_nulls(nulls);
    }
    rows
}
