//! Reads timestamps.
//!
//! ```text
//! DATA        seconds since 2015-01-01 00:00:00 in the writer's time zone
//! SECONDARY   nanoseconds: value << 3 | n, where n + 1 zeros were cut off the value, if n > 0
//! ```
//!
//! A timestamp without time zone is what clocks showed where the file was written, in the time zone
//! of the stripe's footer; one with local time zone is an instant, in UTC. Seconds of instants
//! before 1970 were rounded towards zero if there are more than 999,999 nanoseconds, and so one is
//! taken off (ORC-763); or there are less than 0 nanoseconds, as pyarrow writes. Nanoseconds are
//! cut to microseconds.

use crate::{error::out_of_range, integer_rle::IntegerRle, layout::Layout, stream::Positions};
use volley_error::Result;
use volley_types::{Type, Zone};
use volley_vector::Vector;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// Nanoseconds from which on seconds before 1970 were rounded up.
const ROUNDED_NANOS: i64 = 999_999;

/// 2015-01-01 00:00:00, in seconds since 1970.
const BASE_SECONDS: i64 = 1_420_070_400;

/// Reads timestamps or instants.
pub(crate) struct TimestampReader {
    pub seconds: IntegerRle,
    pub nanos: IntegerRle,
    /// The writer's time zone; `None`: UTC, or an instant.
    pub zone: Option<Zone>,
    pub seconds_buffer: Vec<i64>,
    pub nanos_buffer: Vec<i64>,
}

impl TimestampReader {
    pub fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        self.seconds.read(layout.stored, &mut self.seconds_buffer)?;
        self.nanos.read(layout.stored, &mut self.nanos_buffer)?;
        let micros = match &self.zone {
            None => self.micros(BASE_SECONDS, |instant| instant),
            Some(zone) => {
                let mut clock = zone.clock();
                let base = clock.instant_of(BASE_SECONDS * MICROS_PER_SECOND) / MICROS_PER_SECOND;
                self.micros(base, |instant| clock.local_of(instant))
            }
        };
        let micros = micros.ok_or_else(out_of_range)?;
        let values = match &layout.places {
            None => micros,
            Some(_) => layout.gather(&micros, |it| it),
        };
        Ok(Vector::native::<i64>(data_type.clone(), values, layout.nulls.clone()))
    }

    /// Microseconds since 1970; `None` when some are beyond 64 bits.
    fn micros(&self, base: i64, mut local: impl FnMut(i64) -> i64) -> Option<Vec<i64>> {
        let values = self.seconds_buffer.iter().zip(&self.nanos_buffer);
        values.map(|(seconds, nanos)| instant(*seconds, *nanos, base).map(&mut local)).collect()
    }

    pub fn skip(&mut self, count: usize) -> Result<()> {
        self.seconds.skip(count)?;
        self.nanos.skip(count)
    }

    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        self.seconds.seek(positions)?;
        self.nanos.seek(positions)
    }
}

/// The instant, in microseconds since 1970, of what is stored.
fn instant(seconds: i64, nanos: i64, base: i64) -> Option<i64> {
    let nanos = decode_nanos(nanos)?;
    let mut seconds = seconds.checked_add(base)?;
    if seconds < 0 && nanos > ROUNDED_NANOS {
        seconds -= 1;
    }
    seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(nanos.div_euclid(1000))
}

/// Nanoseconds from what is stored of them.
fn decode_nanos(stored: i64) -> Option<i64> {
    let (value, zeros) = (stored >> 3, stored & 7);
    let factor = if zeros == 0 { 1 } else { 10_i64.pow(zeros as u32 + 1) };
    let nanos = value.checked_mul(factor)?;
    (nanos.unsigned_abs() < 1_000_000_000).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_have_their_zeros_back() {
        // Specification, "Timestamp Columns".
        assert_eq!(decode_nanos(0x0a), Some(1000));
        assert_eq!(decode_nanos(0x0c), Some(100_000));
        assert_eq!(decode_nanos(5 << 3), Some(5));
        assert_eq!(decode_nanos(0), Some(0));
        assert_eq!(decode_nanos(1_000_000_000 << 3), None);
        // pyarrow counts from the second after, before 1970.
        assert_eq!(decode_nanos(-3 << 3 | 1), Some(-300));
        assert_eq!(decode_nanos(i64::MIN), None);
    }

    #[test]
    fn seconds_before_1970_were_rounded_towards_zero() {
        let at =
            |seconds: i64, nanos: i64| instant(seconds - BASE_SECONDS, nanos << 3, BASE_SECONDS);
        assert_eq!(at(-1, 0), Some(-1_000_000));
        assert_eq!(at(-1, 500_000_000), Some(-1_500_000));
        assert_eq!(at(-1, 999_999), Some(-999_001));
        assert_eq!(at(0, 500_000_000), Some(500_000));
        assert_eq!(at(-1, -500_000_001), Some(-1_500_001));
        assert_eq!(instant(i64::MAX, 0, BASE_SECONDS), None);
        assert_eq!(instant(i64::MAX / 1000, 0, BASE_SECONDS), None);
    }
}
