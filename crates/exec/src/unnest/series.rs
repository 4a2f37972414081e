//! Series of numbers and timestamps.

use crate::driver::check_stopped;
use volley_error::{Error, Result};
use volley_types::{Interval, Native, Type, civil};
use volley_vector::{Decoded, NullBuffer, Vector};

/// The most steps of months between looks at whether anybody wants the result.
const STEPS_UNCHECKED: u64 = 1 << 16;

/// A series for each row of a batch.
pub(super) struct Series {
    data_type: Type,
    rows: Vec<Option<Bounds>>,
    /// The values made; anything where there is none.
    values: Vec<i64>,
    /// Whether each of them is a value, once some are not.
    present: Option<Vec<bool>>,
    /// The value after the last one made.
    next: Option<i64>,
}

/// The values of one row: numbers, or microseconds.
#[derive(Clone, Copy)]
struct Bounds {
    start: i64,
    end: i64,
    step: Step,
    includes_end: bool,
}

/// How far values are apart.
#[derive(Clone, Copy)]
enum Step {
    By(i64),
    /// Months, each to the same day or the month's last, and microseconds; of one sign.
    Months(i64, i64),
}

impl Series {
    /// The series of `[start, end, step]`.
    pub(super) fn new(args: [&Vector; 3], includes_end: bool) -> Result<Series> {
        let [start, end, step] = args;
        let data_type = start.data_type().clone();
        let rows = match step.data_type() {
            Type::Interval => bounds(args, includes_end, step_of_interval)?,
            Type::BigInt => bounds(args, includes_end, |it: i64| Ok(Step::By(it)))?,
            other => return Err(Error::internal(format!("a series with steps of {other}"))),
        };
        debug_assert_eq!(end.data_type(), &data_type, "ends of a series");
        Ok(Series { data_type, rows, values: Vec::new(), present: None, next: None })
    }

    pub(super) fn count(&self, row: usize) -> Result<u64> {
        self.rows[row].map_or(Ok(0), |it| it.count())
    }

    pub(super) fn make(&mut self, row: usize, from: u64, rows: usize) -> Result<()> {
        let bounds = self.rows[row];
        if from == 0 {
            self.next = bounds.map(|it| it.start);
        }
        let wanted = self.values.len() + rows;
        if let Some(bounds) = bounds {
            while self.values.len() < wanted
                && let Some(value) = self.next.filter(|it| bounds.contains(*it))
            {
                self.values.push(value);
                self.next = bounds.step.after(value);
            }
        }
        if self.values.len() < wanted && self.present.is_none() {
            self.present = Some(vec![true; self.values.len()]);
        }
        if let Some(present) = &mut self.present {
            present.resize(self.values.len(), true);
            present.resize(wanted, false);
            self.values.resize(wanted, 0);
        }
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vector {
        let values = std::mem::take(&mut self.values);
        let nulls = self.present.take().map(NullBuffer::from);
        Vector::native::<i64>(self.data_type.clone(), values, nulls)
    }
}

impl Bounds {
    fn contains(&self, value: i64) -> bool {
        let is_before = if self.step.is_negative() { value > self.end } else { value < self.end };
        is_before || (self.includes_end && value == self.end)
    }

    fn count(&self) -> Result<u64> {
        let Step::By(step) = self.step else { return self.count_months() };
        if !self.contains(self.start) {
            return Ok(0);
        }
        let distance = self.start.abs_diff(self.end);
        let steps = distance / step.unsigned_abs();
        let ends_on_step = steps * step.unsigned_abs() == distance;
        let is_left_out = ends_on_step && !self.includes_end;
        Ok(if is_left_out { steps } else { steps.saturating_add(1) })
    }

    fn count_months(&self) -> Result<u64> {
        let (mut count, mut next) = (0, Some(self.start));
        while let Some(value) = next.filter(|it| self.contains(*it)) {
            count += 1;
            next = self.step.after(value);
            if count % STEPS_UNCHECKED == 0 {
                check_stopped()?;
            }
        }
        Ok(count)
    }
}

impl Step {
    /// The value a step later, unless there is none.
    fn after(self, value: i64) -> Option<i64> {
        match self {
            Step::By(step) => value.checked_add(step),
            Step::Months(months, micros) => {
                let (day, time) = civil::split_timestamp(value);
                let day = civil::add_months(day, months)?;
                civil::timestamp_of(day, time)?.checked_add(micros)
            }
        }
    }

    fn is_negative(self) -> bool {
        match self {
            Step::By(step) => step < 0,
            Step::Months(months, _) => months < 0,
        }
    }

    fn is_zero(self) -> bool {
        matches!(self, Step::By(0))
    }
}

/// The bounds of each row; `None` where one of them is null.
fn bounds<T: Native>(
    [start, end, step]: [&Vector; 3],
    includes_end: bool,
    step_of: impl Fn(T) -> Result<Step>,
) -> Result<Vec<Option<Bounds>>> {
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
        Ok(Some(Bounds { start, end, step, includes_end }))
    };
    (0..start.len()).map(one).collect()
}

/// A step of months, days and nanoseconds, all of one sign.
fn step_of_interval(interval: Interval) -> Result<Step> {
    let (months, days) = (i64::from(interval.months), i64::from(interval.days));
    let micros = interval.nanoseconds / 1000;
    let signs = [months.signum(), days.signum(), micros.signum()];
    if signs.contains(&1) && signs.contains(&-1) {
        let error = Error::invalid_value("step of a series has parts of different signs");
        return Err(error.hint("use a step that goes one way"));
    }
    let micros = days.checked_mul(civil::MICROS_PER_DAY).and_then(|it| it.checked_add(micros));
    let micros = micros.ok_or_else(|| Error::invalid_value("step of a series out of range"))?;
    Ok(if months == 0 { Step::By(micros) } else { Step::Months(months, micros) })
}
