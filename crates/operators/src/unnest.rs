//! Makes rows of rows: elements of lists, series.
//!
//! Rows of the input are replicated as dictionaries over one code buffer; elements are a slice of
//! the input's where they stand next to each other, or else a dictionary over them. One row may
//! make many batches: what it makes is made batch by batch.

mod elements;
mod generator;
mod series;
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use generator::Rows;
use volley_error::Result;
use volley_exec::{OperatorContext, Transform};
use volley_plan::{Generator, UnnestNode};
use volley_state::BatchCharge;
use volley_types::Type;
use volley_vector::{Batch, NullBuffer, Vector};

/// Puts each row out once for every row that its generators make.
pub struct Unnest {
    batch_rows: usize,
    /// The input's columns that are returned.
    replicated: Vec<usize>,
    generators: Vec<Generator>,
    ordinality: bool,
    /// How often a row is returned that generates no row.
    least: u64,
    charge: BatchCharge,
    pending: Option<Pending>,
}

/// A batch whose rows are being emitted.
struct Pending {
    /// The replicated columns.
    replicated: Batch,
    generators: Vec<Rows>,
    /// How many rows are made of each row.
    counts: Vec<u64>,
    /// The row that is being emitted.
    row: usize,
    /// How many rows were made of it.
    made: u64,
    /// The input row of each row made, if columns are replicated.
    codes: Option<Vec<u32>>,
    /// The places of the rows made among what is made of their rows, from 1; 0 where nothing is.
    /// `None` if no reader needs them.
    places: Option<Vec<i64>>,
}

impl Unnest {
    /// One driver's instance for `node`.
    pub fn new(node: &UnnestNode, cx: &OperatorContext) -> Unnest {
        Unnest {
            batch_rows: cx.task.batch_rows,
            replicated: node.replicated.clone(),
            generators: node.generators.clone(),
            ordinality: node.ordinality,
            least: u64::from(node.outer),
            charge: BatchCharge::new(&cx.pool),
            pending: None,
        }
    }

    /// The columns that are needed, the replicated ones first.
    fn needed(&self, input: &Batch) -> Batch {
        let args = self.generators.iter().flat_map(|it| &it.args);
        input.project(&self.replicated.iter().chain(args).copied().collect::<Vec<_>>())
    }

    /// The generators over `needed`.
    fn generators(&self, needed: &Batch) -> Result<Vec<Rows>> {
        let mut args = needed.columns().iter().skip(self.replicated.len());
        let of = |it: &Generator| {
            let args: Vec<Vector> = args.by_ref().take(it.args.len()).cloned().collect();
            Rows::new(it.kind, &args)
        };
        self.generators.iter().map(of).collect()
    }
}

impl Pending {
    /// Makes the next rows, at most `batch_rows` of them, and returns their number. An input row
    /// makes at least `least` rows.
    fn make(&mut self, batch_rows: usize, least: u64) -> usize {
        let mut made = 0;
        while made < batch_rows {
            let Some(own) = self.counts.get(self.row).copied() else { break };
            let count = own.max(least);
            let left = count - self.made;
            let rows = left.min((batch_rows - made) as u64) as usize;
            if rows > 0 {
                for generator in &mut self.generators {
                    generator.make(self.row, self.made, rows);
                }
                if let Some(codes) = &mut self.codes {
                    codes.resize(codes.len() + rows, self.row as u32);
                }
                if let Some(places) = &mut self.places {
                    let first = if own > 0 { self.made as i64 + 1 } else { 0 };
                    places.extend(first..first + rows as i64);
                }
                self.made += rows as u64;
                made += rows;
            }
            if self.made == count {
                self.row += 1;
                self.made = 0;
            }
        }
        made
    }

    /// The columns of the rows that were made.
    fn take(&mut self) -> Vec<Vector> {
        let mut columns = match &mut self.codes {
            Some(codes) => self.replicated.wrap(&std::mem::take(codes).into()).into_columns(),
            None => Vec::new(),
        };
        for generator in &mut self.generators {
            columns.extend(generator.take());
        }
        columns.extend(self.places.as_mut().map(|it| ordinality(std::mem::take(it))));
        columns
    }

    fn is_done(&self) -> bool {
        self.row == self.counts.len()
    }
}

/// The column of places; 0 is null.
fn ordinality(places: Vec<i64>) -> Vector {
    let nulls = NullBuffer::from_iter(places.iter().map(|it| *it != 0));
    Vector::native::<i64>(Type::BigInt, places, Some(nulls))
}

impl Transform for Unnest {
    fn name(&self) -> &'static str {
        "unnest"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let rows = batch.rows();
        let mut needed = self.needed(&batch);
        let mut generators = self.generators(&needed)?;
        let mut counts = vec![0; rows];
        for generator in &generators {
            generator.raise_counts(&mut counts);
        }
        let total = counts.iter().fold(0u64, |sum, it| sum.saturating_add((*it).max(self.least)));
        if total > self.batch_rows as u64 {
            needed = self.charge.keep(needed.loaded()?)?;
            generators = self.generators(&needed)?;
        }
        let replicated = (0..self.replicated.len()).collect::<Vec<_>>();
        self.pending = Some(Pending {
            replicated: needed.project(&replicated),
            generators,
            counts,
            row: 0,
            made: 0,
            codes: (!replicated.is_empty()).then(Vec::new),
            places: self.ordinality.then(Vec::new),
        });
        self.more()
    }

    fn more(&mut self) -> Result<Option<Batch>> {
        let Some(pending) = &mut self.pending else { return Ok(None) };
        let rows = pending.make(self.batch_rows, self.least);
        let output = (rows > 0).then(|| Batch::new(pending.take(), rows));
        if output.is_none() || pending.is_done() {
            self.pending = None;
            self.charge.clear();
        }
        Ok(output)
    }
}
