//! Inserted rows between base rows, for scans that keep the order.
//!
//! The runs of base rows and inserted rows are found once per range; then each column is copied run
//! by run. A batch that is one run is a slice.

use super::RangeChanges;
use crate::plan::{InsertRun, Path};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder};
use std::ops::Range;
use volley_error::Result;
use volley_types::{PhysicalType, match_width};
use volley_vector::{
    Batch, Buffer, BufferList, NullBuffer, ScalarBuffer, StringValues, Values, Vector,
};

/// Consecutive rows of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SourceRun {
    /// 0: the base batch; otherwise 1 + a number among the sources.
    source: usize,
    start: usize,
    rows: usize,
}

impl RangeChanges<'_> {
    /// The rows of the range in order: base rows with inserts before them. `base` has the base rows
    /// `rows` that exist and are wanted (ascending, counted from the start of the range; `None`:
    /// all of the range), with modified values. `columns` are those of `base` in the table. The
    /// batches have at most `batch_rows` rows.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports; strings or elements beyond the layout's 32 bits.
    pub fn interleave(
        &self,
        base: Batch,
        rows: Option<&[u32]>,
        columns: &[usize],
        batch_rows: usize,
    ) -> Result<Vec<Batch>> {
        if self.runs.is_empty() {
            return Ok(if base.rows() == 0 { Vec::new() } else { vec![base] });
        }
        let base = base.loaded()?;
        let runs = self.source_runs(&base, rows);
        let mut sources = vec![base];
        let mut numbers = vec![0; self.plan.chunks.len()];
        let runs: Vec<SourceRun> = runs
            .into_iter()
            .map(|(chunk, start, rows)| {
                let source = chunk.map_or(0, |chunk| {
                    if numbers[chunk] == 0 {
                        numbers[chunk] = sources.len();
                        sources.push(self.plan.chunks[chunk].rows.project(columns));
                    }
                    numbers[chunk]
                });
                SourceRun { source, start, rows }
            })
            .collect();
        let batches = cut(&runs, batch_rows.max(1));
        batches.iter().map(|runs| self.join(&sources, runs)).collect()
    }

    /// The rows in order: the chunk, or `None` for the base; the first row; how many.
    fn source_runs(
        &self,
        base: &Batch,
        rows: Option<&[u32]>,
    ) -> Vec<(Option<usize>, usize, usize)> {
        let mut runs = Vec::with_capacity(2 * self.runs.len() + 1);
        let mut done = 0;
        for InsertRun { key, chunk, row, rows: count, .. } in self.runs {
            let before = key.sid() - self.sids.start;
            let end = match rows {
                None => before as usize,
                Some(rows) => done + super::partition(&rows[done..], |it| *it < before),
            };
            if done < end {
                runs.push((None, done, end - done));
            }
            done = end;
            runs.push((Some(*chunk as usize), *row as usize, *count as usize));
        }
        if done < base.rows() {
            runs.push((None, done, base.rows() - done));
        }
        runs
    }

    fn join(&self, sources: &[Batch], runs: &[SourceRun]) -> Result<Batch> {
        if let [run] = runs {
            return Ok(sources[run.source].slice(run.start, run.rows));
        }
        self.plan.count(Path::Copied);
        let rows = runs.iter().map(|it| it.rows).sum();
        let columns = (0..sources[0].columns().len()).map(|column| {
            let vectors: Vec<&Vector> = sources.iter().map(|it| it.column(column)).collect();
            join_column(&vectors, runs, rows)
        });
        Ok(Batch::new(columns.collect::<Result<_>>()?, rows))
    }
}

/// The runs of batches of at most `batch_rows` rows.
fn cut(runs: &[SourceRun], batch_rows: usize) -> Vec<Vec<SourceRun>> {
    let (mut batches, mut current, mut room) = (Vec::new(), Vec::new(), batch_rows);
    for run in runs {
        let mut run = *run;
        while run.rows > 0 {
            let rows = run.rows.min(room);
            current.push(SourceRun { rows, ..run });
            run.start += rows;
            run.rows -= rows;
            room -= rows;
            if room == 0 {
                batches.push(std::mem::take(&mut current));
                room = batch_rows;
            }
        }
    }
    if !current.is_empty() {
        batches.push(current);
    }
    batches
}

/// The rows of `runs`, flat. Sources without a run may be of any encoding.
fn join_column(sources: &[&Vector], runs: &[SourceRun], rows: usize) -> Result<Vector> {
    let mut flat: Vec<Option<Vector>> = vec![None; sources.len()];
    for run in runs {
        if flat[run.source].is_none() {
            flat[run.source] = Some(sources[run.source].flatten()?);
        }
    }
    let data_type = sources[0].data_type();
    let values: Vec<Option<&Values>> =
        flat.iter().map(|it| it.as_ref().and_then(Vector::flat_values)).collect();
    let joined = match data_type.physical() {
        PhysicalType::View => join_strings(&values, runs, rows)?,
        physical => match_width!(physical, T => join_words::<T>(&values, runs, rows)
            .and_then(|it| Values::from_fixed_bytes(physical, it)), else None),
    };
    let Some(joined) = joined else {
        let slices = runs
            .iter()
            .filter_map(|it| flat[it.source].as_ref().map(|flat| flat.slice(it.start, it.rows)));
        return Vector::concat(data_type, &slices.collect::<Vec<_>>());
    };
    Ok(Vector::flat(data_type.clone(), joined, join_nulls(&flat, runs, rows)))
}

fn range(run: &SourceRun) -> Range<usize> {
    run.start..run.start + run.rows
}

/// Elements of fixed width; `None` when a source has another layout.
fn join_words<T: ArrowNativeType>(
    values: &[Option<&Values>],
    runs: &[SourceRun],
    rows: usize,
) -> Option<Buffer> {
    let sources: Vec<&[T]> = values
        .iter()
        .map(|it| it.map_or(Some(&[][..]), |it| it.width::<T>()))
        .collect::<Option<_>>()?;
    let mut joined: Vec<T> = Vec::with_capacity(rows);
    for run in runs {
        joined.extend_from_slice(&sources[run.source][range(run)]);
    }
    Some(Buffer::from_vec(joined))
}

/// Strings: views move behind the buffers of all sources, bytes stay where they are.
fn join_strings(
    values: &[Option<&Values>],
    runs: &[SourceRun],
    rows: usize,
) -> Result<Option<Values>> {
    let mut buffers = BufferList::default();
    let mut sources = Vec::with_capacity(values.len());
    for it in values {
        sources.push(match it {
            Some(Values::View(strings)) => Some((&strings.views, buffers.add(strings)?)),
            Some(_) => return Ok(None),
            None => None,
        });
    }
    let mut joined: Vec<u128> = Vec::with_capacity(rows);
    for run in runs {
        let Some((views, renumbered)) = &sources[run.source] else { continue };
        joined.extend(views[range(run)].iter().map(|it| renumbered.view(*it)));
    }
    let views = ScalarBuffer::new(Buffer::from_vec(joined), 0, rows);
    Ok(Some(Values::View(StringValues::new(views, buffers.finish()))))
}

fn join_nulls(sources: &[Option<Vector>], runs: &[SourceRun], rows: usize) -> Option<NullBuffer> {
    let nulls: Vec<Option<&NullBuffer>> =
        sources.iter().map(|it| it.as_ref().and_then(Vector::null_buffer)).collect();
    nulls.iter().flatten().next()?;
    let mut bits = BooleanBufferBuilder::new(rows);
    for run in runs {
        match nulls[run.source] {
            Some(nulls) => bits.append_buffer(&nulls.inner().slice(run.start, run.rows)),
            None => bits.append_n(run.rows, true),
        }
    }
    Some(NullBuffer::new(bits.finish()))
}
