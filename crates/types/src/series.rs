//! Series: integers or timestamps at a constant step.

use crate::{Interval, civil};
use volley_error::{Error, Result};

/// The values from a start on, a step apart, up to an end: numbers, or microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// The first value.
    pub start: i64,
    /// No value goes beyond it.
    pub end: i64,
    /// How far values are apart.
    pub step: SeriesStep,
    /// Whether the end itself may be a value.
    pub includes_end: bool,
}

/// How far the values of a series are apart.
#[derive(Clone, Copy, Debug)]
pub enum SeriesStep {
    /// This far.
    By(i64),
    /// Months, each to the same day or the month's last, and microseconds; of one sign.
    Months(i64, i64),
}

impl Series {
    /// How many values there are: none where the step goes away from the end, or nowhere.
    pub fn count(&self) -> u64 {
        let SeriesStep::By(step) = self.step else { return self.count_months() };
        if step == 0 || !self.contains(self.start) {
            return 0;
        }
        let distance = self.start.abs_diff(self.end);
        let steps = distance / step.unsigned_abs();
        let ends_on_step = distance.is_multiple_of(step.unsigned_abs());
        if ends_on_step && !self.includes_end { steps } else { steps.saturating_add(1) }
    }

    /// At most all months between the first and the last timestamp.
    fn count_months(&self) -> u64 {
        let (mut count, mut next) = (0, self.first());
        while let Some(value) = next {
            count += 1;
            next = self.after(value);
        }
        count
    }

    /// The first value, if there is one.
    pub fn first(&self) -> Option<i64> {
        Some(self.start).filter(|it| !self.step.is_zero() && self.contains(*it))
    }

    /// The value after another one, if there is one.
    pub fn after(&self, value: i64) -> Option<i64> {
        self.step.after(value).filter(|it| self.contains(*it))
    }

    /// Whether a value is before the end, in the direction of the step.
    pub fn contains(&self, value: i64) -> bool {
        let is_before = if self.step.is_negative() { value > self.end } else { value < self.end };
        is_before || (self.includes_end && value == self.end)
    }
}

impl SeriesStep {
    /// A step of months, days and nanoseconds, all of one sign.
    ///
    /// # Errors
    ///
    /// Parts of different signs, days beyond the range of timestamps.
    pub fn of_interval(interval: Interval) -> Result<SeriesStep> {
        let (months, days) = (i64::from(interval.months), i64::from(interval.days));
        let micros = interval.nanoseconds / 1000;
        let signs = [months.signum(), days.signum(), micros.signum()];
        if signs.contains(&1) && signs.contains(&-1) {
            let error = Error::invalid_value("step of a series has parts of different signs");
            return Err(error.hint("use a step that goes one way"));
        }
        let micros = days.checked_mul(civil::MICROS_PER_DAY).and_then(|it| it.checked_add(micros));
        let micros = micros.ok_or_else(|| Error::invalid_value("step of a series out of range"))?;
        Ok(if months == 0 { SeriesStep::By(micros) } else { SeriesStep::Months(months, micros) })
    }

    /// Whether it goes nowhere.
    pub fn is_zero(self) -> bool {
        matches!(self, SeriesStep::By(0))
    }

    fn is_negative(self) -> bool {
        let (SeriesStep::By(by) | SeriesStep::Months(by, _)) = self;
        by < 0
    }

    /// The value a step later, unless there is none.
    fn after(self, value: i64) -> Option<i64> {
        match self {
            SeriesStep::By(step) => value.checked_add(step),
            SeriesStep::Months(months, micros) => {
                let (day, time) = civil::split_timestamp(value);
                let day = civil::add_months(day, months)?;
                civil::timestamp_of(day, time)?.checked_add(micros)
            }
        }
    }
}
