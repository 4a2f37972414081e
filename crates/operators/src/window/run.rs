//! Sorted rows: the input, an order, and the columns that calls read in that order.

use std::ops::Range;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation};
use volley_state::{BatchCharge, StateSizes};
use volley_vector::{Batch, Vector};

/// Rows in the order of their partitions, of which each is whole.
pub(super) struct Run {
    rows: usize,
    /// The input row at each place; `None` where rows stay in their order.
    order: Option<Vec<u32>>,
    /// Per input column: its values in order, where calls read them.
    arranged: Vec<Option<Vector>>,
    sizes: StateSizes,
    charge: BatchCharge,
    _order_charge: Reservation,
}

/// Gathers columns in order, some rows per step.
pub(super) struct Arranging {
    run: Run,
    wanted: Vec<bool>,
    column: usize,
    parts: Vec<Vector>,
}

impl Run {
    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Where state works in another way.
    pub(super) fn sizes(&self) -> StateSizes {
        self.sizes
    }

    /// How many rows are worked on in one step.
    pub(super) fn step_rows(&self) -> usize {
        self.sizes.window_step_rows
    }

    /// An input column in order.
    pub(super) fn column(&self, column: usize) -> Result<&Vector> {
        let arranged = self.arranged.get(column).and_then(Option::as_ref);
        arranged.ok_or_else(|| Error::internal("a column that was not arranged"))
    }

    /// Input columns in order.
    pub(super) fn columns(&self, columns: &[usize]) -> Result<Vec<Vector>> {
        columns.iter().map(|it| self.column(*it).cloned()).collect()
    }

    /// Some input columns at some places.
    pub(super) fn output(
        &self,
        input: &Batch,
        columns: &[usize],
        places: Range<usize>,
    ) -> Result<Vec<Vector>> {
        let column = |index: usize| match (&self.arranged[index], &self.order) {
            (Some(column), _) => Ok(column.slice(places.start, places.len())),
            (None, Some(order)) => input.column(index).gather(&order[places.clone()]),
            (None, None) => Ok(input.column(index).slice(places.start, places.len())),
        };
        columns.iter().map(|it| column(*it)).collect()
    }
}

impl Arranging {
    /// Arranges the `wanted` columns of `rows` input rows; `order` has each of its rows.
    pub(super) fn new(
        rows: usize,
        order: Option<Vec<u32>>,
        wanted: Vec<bool>,
        (sizes, pool): (&StateSizes, &Pool),
    ) -> Result<Arranging> {
        let mut order_charge = pool.reservation();
        order_charge.resize(order.as_ref().map_or(0, |it| it.capacity() * size_of::<u32>()))?;
        let run = Run {
            rows,
            order,
            arranged: vec![None; wanted.len()],
            sizes: *sizes,
            charge: BatchCharge::new(pool),
            _order_charge: order_charge,
        };
        Ok(Arranging { run, wanted, column: 0, parts: Vec::new() })
    }

    /// Goes on with some rows; true at the end.
    pub(super) fn step(&mut self, input: &Batch) -> Result<bool> {
        while self.wanted.get(self.column) == Some(&false) {
            self.column += 1;
        }
        if self.column >= self.wanted.len() {
            return Ok(true);
        }
        let column = input.column(self.column);
        let arranged = match &self.run.order {
            None => Some(column.clone()),
            Some(order) => {
                let step_rows = self.run.step_rows();
                let done = self.parts.len() * step_rows;
                let end = (done + step_rows).min(order.len());
                self.parts.push(column.gather(&order[done..end])?);
                match end == order.len() {
                    true => Some(Vector::concat(column.data_type(), &self.parts)?),
                    false => None,
                }
            }
        };
        if let Some(arranged) = arranged {
            self.parts.clear();
            if self.run.order.is_some() {
                self.run.charge.add(&Batch::new(vec![arranged.clone()], arranged.len()))?;
            }
            self.run.arranged[self.column] = Some(arranged);
            self.column += 1;
        }
        Ok(false)
    }

    /// The rows, when all columns are arranged.
    pub(super) fn finish(self) -> Run {
        self.run
    }
}
