//! Presto's numbers of time zones, which its pages and sessions contain.
//!
//! ```text
//! 0             UTC
//! 1 .. 1680     -14:00 to +14:00, minute by minute, without 0
//! 1681 ..       zone_keys.txt, lines `key name`
//! ```
//!
//! The numbers are those of Presto's `zone-index.properties`, the same in 0.287 and 0.296.

use std::sync::OnceLock;
use volley_error::{Error, Result};
use volley_types::{ZoneId, custom::ZonedTimestamp};

const NAMES: &str = include_str!("zone_keys.txt");

/// The keys of offsets, and the offset before the first of them, in minutes.
const OFFSET_KEYS: std::ops::RangeInclusive<i64> = 1..=1680;
const OFFSET_MINUTES_MIN: i64 = -14 * 60;

/// The bits of a packed value that hold the key.
const KEY_BITS: u32 = 12;

/// Zones by key, and keys by the number of the zone here.
struct Keys {
    zones: Vec<Option<ZoneId>>,
    keys: Vec<Option<u16>>,
}

/// The zone of one of Presto's keys; `None` if Presto has no such key, or this system no such zone.
pub fn zone_of_key(key: i64) -> Option<ZoneId> {
    let index = usize::try_from(key).ok()?;
    keys().zones.get(index).copied().flatten()
}

/// Presto's key of a zone; `None` if it has none.
pub fn key_of_zone(zone: ZoneId) -> Option<i64> {
    keys().keys.get(usize::from(zone.number())).copied().flatten().map(i64::from)
}

/// The name of a key in Presto's list, for messages.
fn name_of_key(key: i64) -> Option<&'static str> {
    lines().find(|it| it.0 == key).map(|it| it.1)
}

fn lines() -> impl Iterator<Item = (i64, &'static str)> {
    NAMES.lines().filter_map(|line| {
        let (key, name) = line.split_once(' ')?;
        Some((key.parse().ok()?, name))
    })
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let offsets = OFFSET_KEYS.filter_map(|key| {
            let minutes = OFFSET_MINUTES_MIN + key - 1;
            let minutes = if minutes >= 0 { minutes + 1 } else { minutes };
            Some((key, ZoneId::of_offset(minutes)?))
        });
        let named = lines().filter_map(|(key, name)| Some((key, ZoneId::find(name)?)));
        let all = std::iter::once((0, ZoneId::UTC)).chain(offsets).chain(named);
        let mut keys = Keys { zones: Vec::new(), keys: Vec::new() };
        for (key, zone) in all {
            let Ok(number) = u16::try_from(key) else { continue };
            let (at, of) = (usize::from(number), usize::from(zone.number()));
            keys.zones.resize(keys.zones.len().max(at + 1), None);
            keys.keys.resize(keys.keys.len().max(of + 1), None);
            keys.zones[at] = Some(zone);
            // The first of several names, such as UTC and Etc/UTC, is written.
            keys.keys[of].get_or_insert(number);
        }
        keys
    })
}

/// A value of Presto's TIMESTAMP WITH TIME ZONE as one of ZONED_TIMESTAMP: both have the
/// milliseconds in the upper 52 bits, and numbers of the zone in the others.
pub(super) fn from_presto(packed: i64) -> Result<i64> {
    let key = packed & ((1 << KEY_BITS) - 1);
    let zone = zone_of_key(key).ok_or_else(|| match name_of_key(key) {
        Some(name) => Error::unsupported(format!("the time zone {name} of Presto")),
        None => Error::corruption(format!("a timestamp with the time zone {key} of Presto")),
    })?;
    Ok(packed - key + i64::from(zone.number()))
}

/// The other way.
pub(super) fn to_presto(stored: i64) -> Result<i64> {
    let (_, zone) = ZonedTimestamp::unpack(stored);
    let key = key_of_zone(zone).ok_or_else(|| {
        let mut name = String::new();
        zone.push_name(&mut name);
        Error::unsupported(format!("the time zone {name}, which Presto does not have"))
    })?;
    Ok(stored - (stored & ((1 << KEY_BITS) - 1)) + key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(key: i64) -> String {
        let mut name = String::new();
        zone_of_key(key).expect("a zone").push_name(&mut name);
        name
    }

    #[test]
    fn keys_are_those_of_presto() {
        for (key, name) in [
            (0, "UTC"),
            (1, "-14:00"),
            (840, "-00:01"),
            (841, "+00:01"),
            (1680, "+14:00"),
            (1681, "Africa/Abidjan"),
            (1825, "America/Los_Angeles"),
        ] {
            assert_eq!(name_of(key), name);
            assert_eq!(key_of_zone(zone_of_key(key).expect("a zone")), Some(key));
        }
        for none in [-1, 2234, 4095, i64::MAX] {
            assert_eq!(zone_of_key(none), None, "{none}");
        }
    }

    #[test]
    fn nearly_all_names_are_known() {
        let unknown: Vec<&str> =
            lines().filter(|it| zone_of_key(it.0).is_none()).map(|it| it.1).collect();
        assert!(unknown.len() <= 16, "{unknown:?}");
    }

    #[test]
    fn packed_values_keep_their_instant() {
        let packed = (1_583_000_000_123 << KEY_BITS) | 1825;
        let stored = from_presto(packed).expect("a zone");
        assert_eq!(ZonedTimestamp::unpack(stored).0, 1_583_000_000_123_000);
        assert_eq!(to_presto(stored).expect("a key"), packed);
        let before = (-5 << KEY_BITS) | 841;
        assert_eq!(to_presto(from_presto(before).expect("a zone")).expect("a key"), before);
        assert!(from_presto(4095).is_err());
    }
}
