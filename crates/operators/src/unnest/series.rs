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
        if let (Some(series), Some(value)) = (series, self.next)
            && let Some(last) = fill(series, value, rows, &mut self.values)
        {
            self.next = series.after(last);
        }
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

/// Appends the values of a series with a constant step from `value`, one of them, on, at most
/// `rows` of them; returns the last one. `None` for steps that are not constant.
fn fill(series: Series, value: i64, rows: usize, values: &mut Vec<i64>) -> Option<i64> {
    let SeriesStep::By(step) = series.step else { return None };
    let left = Series { start: value, ..series }.count();
    let count = i64::try_from(left.min(rows as u64)).ok().filter(|it| *it > 0)?;
    // No value overflows: all of them are within the series.
    values.extend((0..count).map(|it| value.wrapping_add(it.wrapping_mul(step))));
    values.last().copied()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn series(start: i64, end: i64, step: SeriesStep, includes_end: bool) -> Series {
        Series { start, end, step, includes_end }
    }

    #[test]
    fn filled_values_equal_those_found_one_by_one() {
        let cases = [
            (0, 10, 1),
            (0, 10, 3),
            (10, -10, -4),
            (i64::MAX - 5, i64::MAX, 2),
            (i64::MIN, i64::MIN + 3, 1),
            (i64::MIN, i64::MAX, i64::MAX),
            (5, 5, 1),
        ];
        for (start, end, step) in cases {
            for includes_end in [false, true] {
                let series = series(start, end, SeriesStep::By(step), includes_end);
                let mut expected = Vec::new();
                let mut next = series.first();
                while let Some(value) = next {
                    expected.push(value);
                    next = series.after(value);
                }
                for rows in [1, 3, 100] {
                    let mut values = Vec::new();
                    let mut next = series.first();
                    while let Some(value) = next {
                        let last = fill(series, value, rows, &mut values).expect("constant step");
                        next = series.after(last);
                    }
                    assert_eq!(values, expected, "{start} {end} {step} {includes_end}");
                }
            }
        }
    }

    #[test]
    fn months_are_found_one_by_one() {
        let months = series(0, i64::MAX / 2, SeriesStep::Months(1, 0), false);
        let mut values = Vec::new();
        assert!(fill(months, 0, 10, &mut values).is_none() && values.is_empty());
    }
}
