//! RLE: runs of equal values.
//!
//! ```text
//! runs    u32: how many
//! ends    integers (crate::integers): the row after each run, ascending
//! values  column of one row per run, with nulls
//! ```
//!
//! It wins where equal values are next to each other: sorted columns, and those that depend on a
//! sorted one. Rows are read as a run-length vector. Null rows are runs, too, and so the column has
//! no validity of its own.

use crate::{
    VECTOR_ROWS,
    column::{Body, ColumnReader, Context, Level, Read, Source, write_column},
    distinct::run_starts,
    input::{Input, corruption, put},
    integers,
    marks::{self, Mark},
    vectors,
};
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_kernels::select_packed::VECTOR_WORDS;
use volley_types::Type;
use volley_vector::{BooleanBuffer, ColumnTest, Vector};

/// Picked rows come one by one when no more than this many are in a run on average.
const SHORT_RUN: usize = 4;

/// Appends the column.
pub(crate) fn encode(source: &Source, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let starts = run_starts(source)?;
    let mut ends = starts.get(1..).unwrap_or_default().to_vec();
    ends.extend((!starts.is_empty()).then_some(source.rows() as u32));
    put(out, ends.len() as u32);
    integers::encode(&ends, out);
    write_column(&source.vector().gather(&starts)?, context.at(Level::Inner), out)
}

pub(crate) fn open(
    input: &mut Input,
    data_type: &Type,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let runs = input.integer::<u32>()? as usize;
    if runs > rows {
        return Err(corruption("more runs than rows"));
    }
    let ends = vectors::read(integers::open::<u32>(input, runs)?.as_ref(), 0..runs, None)?;
    let ascend = ends.is_sorted_by(|a, b| a < b) && ends.first() != Some(&0);
    if !ascend || ends.last().map_or(0, |it| *it as usize) != rows {
        return Err(corruption("ends of runs"));
    }
    let values = ColumnReader::read_from(input, data_type, depth)?;
    if values.rows() != runs {
        return Err(corruption("values of runs"));
    }
    Ok(Box::new(Runs { ends, values, tested: None }))
}

struct Runs {
    ends: Vec<u32>,
    values: ColumnReader,
    /// The last test, and the runs that pass.
    tested: Option<(ColumnTest, BooleanBuffer)>,
}

impl Runs {
    /// The run that has a row.
    fn run_of(&self, row: usize) -> usize {
        self.ends.partition_point(|end| *end as usize <= row)
    }

    /// The runs of rows.
    fn runs_of(&self, rows: &Range<usize>) -> Range<usize> {
        if rows.is_empty() { 0..0 } else { self.run_of(rows.start)..self.run_of(rows.end - 1) + 1 }
    }

    fn values_of(&mut self, runs: Range<usize>) -> Result<Vector> {
        self.values.read_rows(runs, None)
    }
}

/// The runs that have any of the ascending positions `pick`: how many positions are in all up to
/// each, and which of the runs that end at `ends` it is.
fn picked_runs(ends: impl Iterator<Item = u32>, pick: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let (mut picked, mut codes, mut rest) = (Vec::new(), Vec::new(), pick);
    for (code, end) in (0..).zip(ends) {
        if rest.is_empty() {
            break;
        }
        let rows = rest.partition_point(|it| *it < end);
        if rows == 0 {
            continue;
        }
        rest = rest.get(rows..).unwrap_or_default();
        picked.push((pick.len() - rest.len()) as u32);
        codes.push(code);
    }
    (picked, codes)
}

impl Body for Runs {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let runs = self.runs_of(&rows);
        let ends = self.ends[runs.clone()]
            .iter()
            .map(|end| (*end as usize).min(rows.end).saturating_sub(rows.start) as u32);
        let len = pick.map_or(rows.len(), <[u32]>::len);
        let (ends, values) = match pick {
            None => (ends.collect(), self.values_of(runs)?),
            Some(pick) => {
                let (ends, codes) = picked_runs(ends, pick);
                if ends.len() * SHORT_RUN >= len {
                    let rows_of = |(code, rows): (&u32, u32)| vec![*code; rows as usize];
                    let starts = [0].iter().chain(&ends);
                    let rows = ends.iter().zip(starts).map(|(end, start)| end - start);
                    let codes: Vec<u32> = codes.iter().zip(rows).flat_map(rows_of).collect();
                    return Ok(Read::Whole(self.values_of(runs)?.gather(&codes)?));
                }
                (ends, self.values_of(runs)?.gather(&codes)?)
            }
        };
        marks::hit(Mark::Runs);
        Ok(Read::Whole(match ends.len() {
            1 => Vector::repeat(values, len),
            _ => Vector::run_length(ends.into(), Arc::new(values)),
        }))
    }

    fn select(&mut self, index: usize, test: &ColumnTest) -> Result<Option<[u64; VECTOR_WORDS]>> {
        if self.tested.as_ref().is_none_or(|it| it.0 != *test) {
            marks::hit(Mark::RunTest);
            let runs = self.ends.len();
            let passing = test.matches(&self.values_of(0..runs)?)?;
            self.tested = Some((test.clone(), passing));
        }
        let Some((_, passing)) = &self.tested else { return Ok(None) };
        let first = index * VECTOR_ROWS;
        let rows = self.ends.last().map_or(0, |it| *it as usize);
        let end = rows.min(first + VECTOR_ROWS);
        let (mut words, mut start) = ([0u64; VECTOR_WORDS], first);
        for run in self.runs_of(&(first..end)) {
            let run_end = (self.ends[run] as usize).min(end);
            if passing.value(run) {
                (start - first..run_end - first)
                    .for_each(|row| words[row / 64 % VECTOR_WORDS] |= 1 << (row % 64));
            }
            start = run_end;
        }
        Ok(Some(words))
    }
}
