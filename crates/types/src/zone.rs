//! Time zones: conversion between instants and local times.
//!
//! Instants and local times are microseconds since 1970-01-01 00:00:00, in UTC or in the zone.
//! Zones are those of the IANA database, which is built in; rules beyond the years -9999 to 9999
//! are those of these years.

use crate::{
    ZoneId,
    civil::{MICROS_PER_SECOND, is_infinite_timestamp},
};
use jiff::{
    Timestamp,
    tz::{AmbiguousOffset, Offset, TimeZone},
};
use std::fmt;

/// A time zone. Cheap to clone; UTC by default.
#[derive(Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// Looks up many offsets in a zone: caches the last period between two changes.
pub struct Clock<'a> {
    zone: &'a TimeZone,
    /// Instants from `start` to before `end` have the offset, in microseconds.
    start: i64,
    end: i64,
    offset: i64,
}

/// Offsets are smaller than this, so local times this far from a change are not ambiguous.
const OFFSET_MAX: i64 = 26 * 3600 * MICROS_PER_SECOND;

impl Default for Zone {
    fn default() -> Zone {
        Zone(TimeZone::UTC)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Zone {
    /// The zone of an IANA name, ignoring case, such as `Europe/Berlin`; `None` when there is none.
    pub fn find(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("UTC") {
            return Some(Zone::default());
        }
        TimeZone::get(name).ok().map(Zone)
    }

    /// The zone with a constant offset from UTC in seconds; UTC if the offset is out of range.
    pub(crate) fn fixed(seconds: i32) -> Zone {
        Offset::from_seconds(seconds).map_or_else(|_| Zone::default(), |it| Zone(it.to_time_zone()))
    }

    /// The names of the IANA database.
    pub(crate) fn names() -> Vec<String> {
        jiff::tz::db().available().map(|it| it.to_string()).collect()
    }

    /// The zone of the machine; UTC when it is not known.
    pub fn of_machine() -> Zone {
        let zone = TimeZone::try_system().ok().filter(|it| it.iana_name().is_some());
        zone.map_or_else(Zone::default, Zone)
    }

    /// Its IANA name, or its offset from UTC such as `+05:30`.
    pub fn name(&self) -> &str {
        if let Some(name) = self.0.iana_name() {
            return name;
        }
        let offset = self.0.to_fixed_offset().map_or(0, |it| it.seconds() / 60);
        ZoneId::of_offset(offset.into()).map_or("UTC", ZoneId::offset_name)
    }

    /// Looks up offsets.
    pub fn clock(&self) -> Clock<'_> {
        let fixed = self.0.to_fixed_offset().ok();
        let (start, end, offset) = match fixed {
            Some(offset) => (i64::MIN, i64::MAX, micros_of(offset)),
            None => (0, 0, 0),
        };
        Clock { zone: &self.0, start, end, offset }
    }
}

impl Clock<'_> {
    /// How much the zone's clocks are ahead of UTC at an instant, in microseconds.
    #[inline]
    pub fn offset_at(&mut self, instant: i64) -> i64 {
        if instant < self.start || instant >= self.end {
            self.look_up(instant);
        }
        self.offset
    }

    /// What the zone's clocks show at an instant.
    #[inline]
    pub fn local_of(&mut self, instant: i64) -> i64 {
        if is_infinite_timestamp(instant) {
            return instant;
        }
        instant.saturating_add(self.offset_at(instant))
    }

    /// The instant at which the zone's clocks show `local`: the later one where they show it
    /// twice; where they skip it, the one at which they would show it had they not been changed.
    #[inline]
    pub fn instant_of(&mut self, local: i64) -> i64 {
        if is_infinite_timestamp(local) {
            return local;
        }
        let guess = local.saturating_sub(self.offset);
        // Clocks that never change have no borders, and no ambiguous times.
        let is_fixed = self.start == i64::MIN && self.end == i64::MAX;
        let is_within = guess >= self.start.saturating_add(OFFSET_MAX)
            && guess < self.end.saturating_sub(OFFSET_MAX);
        if is_fixed || is_within {
            return guess;
        }
        let (offset, _) = self.offsets_of(local);
        let instant = local.saturating_sub(offset);
        self.offset_at(instant);
        instant
    }

    /// What people call the zone's time at an instant, such as CEST; an offset where it has no
    /// name.
    pub fn abbreviation_at(&self, instant: i64) -> String {
        self.zone.to_offset_info(nearest(instant)).abbreviation().to_owned()
    }

    /// Like [`Clock::instant_of`], but the earlier instant where the clocks show `local` twice.
    pub fn first_instant_of(&mut self, local: i64) -> i64 {
        let instant = self.instant_of(local);
        let is_fixed = self.start == i64::MIN && self.end == i64::MAX;
        let is_within = instant >= self.start.saturating_add(OFFSET_MAX)
            && instant < self.end.saturating_sub(OFFSET_MAX);
        if is_fixed || is_within {
            return instant;
        }
        match self.offsets_of(local) {
            (_, Some(earlier)) => local.saturating_sub(earlier),
            _ => instant,
        }
    }

    /// What the clocks show at an instant, if local times compare with that as their instants do
    /// with this one: if clocks are not changed around it.
    pub fn comparable_local(&mut self, instant: i64) -> Option<i64> {
        let local = self.local_of(instant);
        let is_fixed = self.start == i64::MIN && self.end == i64::MAX;
        let is_within = instant >= self.start.saturating_add(2 * OFFSET_MAX)
            && instant < self.end.saturating_sub(2 * OFFSET_MAX);
        (is_fixed || is_within).then_some(local)
    }

    /// Like [`Clock::instant_of`], but of two instants the one at which clocks are `offset` ahead.
    pub fn instant_near(&mut self, local: i64, offset: i64) -> i64 {
        match self.offsets_of(local) {
            (_, Some(earlier)) if earlier == offset => local.saturating_sub(offset),
            (chosen, _) => local.saturating_sub(chosen),
        }
    }

    /// The offset at which the clocks show a local time; and the earlier one, where they show it
    /// twice.
    fn offsets_of(&self, local: i64) -> (i64, Option<i64>) {
        let shown = Offset::UTC.to_datetime(nearest(local));
        match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => (micros_of(offset), None),
            AmbiguousOffset::Gap { before, .. } => (micros_of(before), None),
            AmbiguousOffset::Fold { before, after } => (micros_of(after), Some(micros_of(before))),
        }
    }

    #[cold]
    fn look_up(&mut self, instant: i64) {
        let at = nearest(instant);
        self.offset = micros_of(self.zone.to_offset(at));
        // The change at the instant itself counts as one before it.
        let after = at.checked_add(jiff::SignedDuration::from_micros(1)).unwrap_or(at);
        let before = self.zone.preceding(after).next();
        let next = self.zone.following(at).next();
        self.start = before.map_or(i64::MIN, |it| it.timestamp().as_microsecond());
        self.end = next.map_or(i64::MAX, |it| it.timestamp().as_microsecond());
    }
}

fn micros_of(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * MICROS_PER_SECOND
}

/// The instant, or the first or last one that the database knows.
fn nearest(micros: i64) -> Timestamp {
    let or = if micros < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(micros).unwrap_or(or)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{parse_timestamp, push_timestamp};

    fn micros(text: &str) -> i64 {
        parse_timestamp(text).unwrap()
    }

    /// `cases`: what clocks show, and the instant in UTC.
    #[track_caller]
    fn check(zone: &str, cases: &[(&str, &str)]) {
        let zone = Zone::find(zone).unwrap();
        let mut warm = zone.clock();
        for _ in 0..2 {
            for (local, utc) in cases {
                let mut text = String::new();
                push_timestamp(&mut text, zone.clock().instant_of(micros(local)));
                assert_eq!(text, *utc, "{local}");
                assert_eq!(warm.instant_of(micros(local)), micros(utc), "{local}");
            }
        }
    }

    #[test]
    fn local_times_that_are_skipped_or_shown_twice_mean_one_instant() {
        check(
            "europe/berlin",
            &[
                ("2021-01-01 00:00:00", "2020-12-31 23:00:00"),
                ("2021-07-01 00:00:00", "2021-06-30 22:00:00"),
                ("2021-03-28 01:59:59", "2021-03-28 00:59:59"),
                ("2021-03-28 02:30:00", "2021-03-28 01:30:00"),
                ("2021-03-28 03:00:00", "2021-03-28 01:00:00"),
                ("2021-10-31 01:59:59", "2021-10-30 23:59:59"),
                ("2021-10-31 02:30:00", "2021-10-31 01:30:00"),
                ("2021-10-31 03:00:00", "2021-10-31 02:00:00"),
                ("1800-01-01 00:00:00", "1799-12-31 23:06:32"),
            ],
        );
        check("UTC", &[("2021-03-28 02:30:00", "2021-03-28 02:30:00")]);
        check("Etc/GMT+3", &[("2021-03-28 02:30:00", "2021-03-28 05:30:00")]);
        assert!(Zone::find("Europe/Nowhere").is_none());
    }

    #[test]
    fn a_clock_agrees_with_the_database_around_every_change() {
        for name in ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"] {
            let zone = Zone::find(name).unwrap();
            let mut clock = zone.clock();
            let changes = zone.0.following(nearest(micros("1900-01-01 00:00:00"))).take(200);
            for change in changes {
                let change = change.timestamp().as_microsecond();
                for step in [-3_600_000_000, -1, 0, 1, 3_600_000_000] {
                    let instant = change + step;
                    let expected = micros_of(zone.0.to_offset(nearest(instant)));
                    assert_eq!(clock.offset_at(instant), expected, "{name} {instant}");
                    let local = clock.local_of(instant);
                    let back = clock.instant_near(local, expected);
                    assert_eq!(back, instant, "{name} {instant}");
                }
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_have_offsets() {
        let zone = Zone::find("America/New_York").unwrap();
        for instant in [i64::MIN, i64::MAX, micros("200000-01-01 00:00:00")] {
            let local = zone.clock().local_of(instant);
            assert!(local.abs_diff(instant) < OFFSET_MAX as u64);
            zone.clock().instant_of(instant);
        }
    }
}
