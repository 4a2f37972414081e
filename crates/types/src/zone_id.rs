//! Numeric ids of time zones, for values that store one, and conversions by id.
//!
//! ```text
//! 0 .. 1680     -14:00 to +14:00, minute by minute; 840 is UTC
//! 1681 ..       the zones of the IANA database, by name
//! ```
//!
//! The ids belong to one build of the database and do not leave the process. Files and Arrow
//! receive the zone's name.

use crate::{Clock, Zone, civil::MICROS_PER_SECOND};
use std::sync::OnceLock;

/// A time zone of the IANA database, or a fixed offset of whole minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZoneId(u16);

/// The bits that the number of a zone has at most.
pub const ZONE_ID_BITS: u32 = 12;

/// The largest offset, in minutes.
const OFFSET_MINUTES_MAX: i16 = 14 * 60;

/// How many numbers are those of offsets.
const OFFSETS: u16 = 2 * OFFSET_MINUTES_MAX as u16 + 1;

/// All zones that have numbers.
struct Zones {
    /// Names in order of their lower-case form.
    names: Vec<String>,
    /// By id, the zones that were looked up.
    zones: Vec<OnceLock<Zone>>,
}

impl ZoneId {
    /// UTC.
    pub const UTC: ZoneId = ZoneId(OFFSET_MINUTES_MAX as u16);

    /// The zone of an IANA name, ignoring case, or of an offset such as `+02:00`, `-0330`, `+7` or
    /// `UTC+2`; `None` when there is none.
    pub fn find(name: &str) -> Option<ZoneId> {
        if ["UTC", "Z"].iter().any(|it| it.eq_ignore_ascii_case(name)) {
            return Some(ZoneId::UTC);
        }
        let after_prefix = ["UTC", "GMT", "UT"].iter().find_map(|it| {
            let (prefix, rest) = name.split_at_checked(it.len())?;
            prefix.eq_ignore_ascii_case(it).then_some(rest)
        });
        let offset = offset_of(name).or_else(|| offset_of(after_prefix?));
        if let Some(minutes) = offset {
            return ZoneId::of_offset(minutes);
        }
        let lower = name.to_ascii_lowercase();
        let names = &zones().names;
        let index = names.binary_search_by_key(&lower, |it| it.to_ascii_lowercase()).ok()?;
        Some(ZoneId(OFFSETS + u16::try_from(index).ok()?))
    }

    /// The zone with a constant offset from UTC in minutes; `None` beyond 14 hours.
    pub fn of_offset(minutes: i64) -> Option<ZoneId> {
        let minutes = i16::try_from(minutes).ok().filter(|it| it.abs() <= OFFSET_MINUTES_MAX)?;
        u16::try_from(minutes + OFFSET_MINUTES_MAX).ok().map(ZoneId)
    }

    /// The number of a zone; UTC's where it has none.
    pub fn of(zone: &Zone) -> ZoneId {
        ZoneId::find(zone.name()).unwrap_or(ZoneId::UTC)
    }

    /// The zone that a number means; UTC where it means none.
    pub fn from_number(number: u16) -> ZoneId {
        let is_known = usize::from(number) < zones().zones.len();
        if is_known { ZoneId(number) } else { ZoneId::UTC }
    }

    /// The number, of at most `ZONE_ID_BITS` bits.
    pub fn number(self) -> u16 {
        self.0
    }

    /// Appends the zone's name: that of the database, `UTC`, or an offset as `+02:00`.
    pub fn push_name(self, out: &mut String) {
        match (self.offset_minutes(), self.iana_name()) {
            (Some(0), _) | (None, None) => out.push_str("UTC"),
            (Some(minutes), _) => {
                let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
                out.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
            }
            (None, Some(name)) => out.push_str(name),
        }
    }

    /// The zone.
    pub fn zone(self) -> Zone {
        match (self.offset_minutes(), self.iana_name()) {
            (Some(minutes), _) => Zone::fixed(i32::from(minutes) * 60),
            (None, name) => name.and_then(Zone::find).unwrap_or_default(),
        }
    }

    /// The zone's clocks.
    pub fn clock(self) -> Clock<'static> {
        static UTC: OnceLock<Zone> = OnceLock::new();
        match zones().zones.get(usize::from(self.0)) {
            Some(zone) => zone.get_or_init(|| self.zone()).clock(),
            None => UTC.get_or_init(Zone::default).clock(),
        }
    }

    /// The name of a zone with a constant offset, such as `+05:30`; `UTC` of any other.
    pub(crate) fn offset_name(self) -> &'static str {
        static NAMES: OnceLock<Vec<OnceLock<String>>> = OnceLock::new();
        let names = NAMES.get_or_init(|| (0..OFFSETS).map(|_| OnceLock::new()).collect());
        names.get(usize::from(self.0)).map_or("UTC", |name| {
            name.get_or_init(|| {
                let mut name = String::new();
                self.push_name(&mut name);
                name
            })
        })
    }

    fn offset_minutes(self) -> Option<i16> {
        (self.0 < OFFSETS).then(|| self.0 as i16 - OFFSET_MINUTES_MAX)
    }

    fn iana_name(self) -> Option<&'static str> {
        let index = self.0.checked_sub(OFFSETS)?;
        zones().names.get(usize::from(index)).map(String::as_str)
    }
}

fn zones() -> &'static Zones {
    static ZONES: OnceLock<Zones> = OnceLock::new();
    ZONES.get_or_init(|| {
        let most = (1 << ZONE_ID_BITS) - usize::from(OFFSETS);
        let mut names = Zone::names();
        names.sort_by_key(|it| it.to_ascii_lowercase());
        names.truncate(most);
        let count = usize::from(OFFSETS) + names.len();
        Zones { names, zones: (0..count).map(|_| OnceLock::new()).collect() }
    })
}

/// The minutes of an offset: a sign, hours of one or two digits, and perhaps two of minutes.
fn offset_of(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() == 4 => digits.split_at_checked(2)?,
        None => (digits, "0"),
    };
    let number = |it: &str| {
        let is_number = (1..=2).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit());
        it.parse::<i64>().ok().filter(|_| is_number)
    };
    Some(sign * (number(hours)? * 60 + number(minutes).filter(|it| *it < 60)?))
}

/// Looks up local times for values whose zone seldom changes from one to the next.
#[derive(Default)]
pub struct ZoneClocks {
    last: Option<(ZoneId, Clock<'static>)>,
}

impl ZoneClocks {
    /// The clocks of a zone.
    pub fn of(&mut self, zone: ZoneId) -> &mut Clock<'static> {
        if self.last.as_ref().is_none_or(|it| it.0 != zone) {
            self.last = None;
        }
        &mut self.last.get_or_insert_with(|| (zone, zone.clock())).1
    }

    /// What a zone's clocks show at an instant, and how many seconds they are ahead of UTC.
    pub fn shown(&mut self, instant: i64, zone: ZoneId) -> (i64, i64) {
        let offset = self.of(zone).offset_at(instant);
        (instant.saturating_add(offset), offset / MICROS_PER_SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        let mut name = String::new();
        ZoneId::find(text)?.push_name(&mut name);
        Some(name)
    }

    #[test]
    fn zones_are_found_by_name_and_by_offset() {
        assert_eq!(name("europe/berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(name("z").as_deref(), Some("UTC"));
        assert_eq!(name("+5:30").as_deref(), Some("+05:30"));
        assert_eq!(name("-0330").as_deref(), Some("-03:30"));
        assert_eq!(name("UTC+7").as_deref(), Some("+07:00"));
        assert_eq!(name("+00:00").as_deref(), Some("UTC"));
        for wrong in ["", "+", "+15:00", "+1:5", "+01:60", "Nowhere", "é"] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn clocks_follow_the_zone_asked_for() {
        let (berlin, kolkata) = (ZoneId::find("Europe/Berlin"), ZoneId::find("+05:30"));
        let mut clocks = ZoneClocks::default();
        for _ in 0..2 {
            assert_eq!(clocks.shown(0, berlin.unwrap()), (3_600_000_000, 3600));
            assert_eq!(clocks.shown(0, kolkata.unwrap()).1, 19_800);
            assert_eq!(clocks.shown(7, ZoneId::UTC), (7, 0));
        }
        assert_eq!(ZoneId::from_number(u16::MAX), ZoneId::UTC);
        for name in ["+05:30", "-03:30", "Europe/Berlin", "UTC"] {
            let id = ZoneId::find(name).unwrap();
            assert_eq!((id.zone().name(), ZoneId::of(&id.zone())), (name, id));
        }
    }
}
