//! Series of numbers and timestamps.

use volley_error::{Error, Result};
use volley_types::{Interval, Native, Series, SeriesStep, Type};
use volley_vector::{Decoded, NullBuffer, Vector};

/// A series for each row of a batch.
pub(super) struct SeriesRows {
    data_type: Type,
    /// None where a bound is null.
    rows: Vec<Option<Series>>,
    /// The values made; anything where there is none.
    values: Vec<i64>,
    /// Whether each of them is a value, once some are not.
    present: Option<Vec<bool>>,
    /// The value after the last one made.
    next: Option<i64>,
}

impl SeriesRows {
    /// The series of `[start, end, step]`.
    pub(super) fn new(args: [&Vector; 3], includes_end: bool) -> Result<SeriesRows> {
        let data_type = args[0].data_type().clone();
        let rows = match args[2].data_type() {
            Type::Interval => {
                series_of(args, includes_end, |it: Interval| SeriesStep::of_interval(it))?
            }
            Type::BigInt => series_of(args, includes_end, |it: i64| Ok(SeriesStep::By(it)))?,
            other => return Err(Error::internal(format!("a series with steps of {other}"))),
        };
        Ok(SeriesRows { data_type, rows, values: Vec::new(), present: None, next: None })
    }

    pub(super) fn count(&self, row: usize) -> u64 {
        self.rows[row].map_or(0, |it| it.count())
    }

    pub(super) fn make(&mut self, row: usize, from: u64, rows: usize) {
        let series = self.rows[row];
        if from == 0 {
            self.next = series.and_then(|it| it.first());
        }
        let wanted = self.values.len() + rows;
        while self.values.len() < wanted
            && let (Some(series), Some(value)) = (series, self.next)
        {
            self.values.push(value);
            self.next = series.after(value);
        }
        if self.values.len() < wanted && self.present.is_none() {
            self.present = Some(vec![true; self.values.len()]);
        }
        if let Some(present) = &mut self.present {
            present.resize(self.values.len(), true);
            present.resize(wanted, false);
            self.values.resize(wanted, 0);
        }
    }

    pub(super) fn take(&mut self) -> Vector {
        let values = std::mem::take(&mut self.values);
        let nulls = self.present.take().map(NullBuffer::from);
        Vector::native::<i64>(self.data_type.clone(), values, nulls)
    }
}

/// The series of each row; `None` where a bound is null.
fn series_of<T: Native>(
    [start, end, step]: [&Vector; 3],
    includes_end: bool,
    step_of: impl Fn(T) -> Result<SeriesStep>,
) -> Result<Vec<Option<Series>>> {
    let [start, end, step] = [Decoded::new(start)?, Decoded::new(end)?, Decoded::new(step)?];
    let number = |of: &Decoded<'_>, row: usize| {
        of.native::<i64>().get(of.index(row)).copied().filter(|_| !of.is_null(row))
    };
    let one = |row: usize| {
        let by = step.native::<T>().get(step.index(row)).filter(|_| !step.is_null(row));
        let (Some(start), Some(end), Some(by)) = (number(&start, row), number(&end, row), by)
        else {
            return Ok(None);
        };
        let step = step_of(*by)?;
        if step.is_zero() {
            return Err(Error::invalid_value("step of a series is zero"));
        }
        Ok(Some(Series { start, end, step, includes_end }))
    };
    (0..start.len()).map(one).collect()
}
