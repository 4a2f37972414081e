//! The tiles that a circle touches.
//!
//! ```text
//!         top
//!       ┌──┬──┬──┐    The row and the column of the center are in the circle. Of each corner
//!       │  │##│  │    of the rectangle, a tile is if its corner next to the center is, and all
//!  left │##│##│##│ right        between it and the center.
//!       │  │##│  │
//!       └──┴──┴──┘    The row may go across the 180th meridian.
//!        bottom
//! ```

use super::{LATITUDE_MAX, Tile};
use crate::math::{EARTH_RADIUS_KM, distance};
use volley_error::{Error, Result};

const RADIUS_KM_MAX: f64 = 1000.0;

/// The most tiles of the rectangle around the circle.
const TILES_MAX: u64 = 1_000_000;

/// The tiles of a zoom around a point that are within a distance in kilometers, in Presto's order.
///
/// # Errors
///
/// Invalid value: no such point or radius, or too many tiles.
pub(super) fn tiles_around(
    latitude: f64,
    longitude: f64,
    zoom: u32,
    radius: f64,
) -> Result<Vec<Tile>> {
    if radius.is_nan() || radius < 0.0 {
        return Err(Error::invalid_value("Radius must be >= 0"));
    }
    if radius > RADIUS_KM_MAX {
        return Err(Error::invalid_value("Radius must be <= 1,000 km"));
    }
    let circle = Circle { latitude, longitude, radius };
    let center = Tile::at(latitude, longitude, zoom)?;
    let top = Tile::at(circle.latitude_at(1.0), longitude, zoom)?.y;
    let bottom = Tile::at(circle.latitude_at(-1.0), longitude, zoom)?.y;
    let left = Tile::at(latitude, circle.longitude_at(-1.0), zoom)?.x;
    let right = Tile::at(latitude, circle.longitude_at(1.0), zoom)?.x;
    let size = 1u32 << zoom;
    let columns = if right < left { right + size - left } else { right - left } + 1;
    let rows = bottom.saturating_sub(top) + 1;
    if u64::from(columns) * u64::from(rows) > TILES_MAX {
        let message = "The number of tiles covering the input rectangle exceeds the limit of 1M";
        return Err(Error::invalid_value(message));
    }
    let tile = |x: u32, y: u32| Tile { x, y, zoom };
    let mut tiles: Vec<Tile> = (0..columns).map(|it| tile((left + it) % size, center.y)).collect();
    let column = (top..=bottom).filter(|it| *it != center.y);
    tiles.extend(column.map(|y| tile(center.x, y)));
    // From the edges to the center; the corners of tiles next to it are at their other side.
    let from_right = steps(right, center.x, size, size - 1).map(|x| (x, 0));
    let from_left = steps(left, center.x, size, 1).map(|x| (x, 1));
    for (x, side) in from_right.chain(from_left) {
        let touches = |y: u32, below: u32| circle.has(Tile::corner(x + side, y + below, zoom));
        let mut is_inside = false;
        for y in top..center.y {
            is_inside = is_inside || touches(y, 1)?;
            if is_inside {
                tiles.push(tile(x, y));
            }
        }
        is_inside = false;
        for y in (center.y + 1..=bottom).rev() {
            is_inside = is_inside || touches(y, 0)?;
            if is_inside {
                tiles.push(tile(x, y));
            }
        }
    }
    Ok(tiles)
}

/// Columns from `first` until before `end`, each `by` columns to the right in a ring of `size`.
fn steps(first: u32, end: u32, size: u32, by: u32) -> impl Iterator<Item = u32> {
    let next = move |it: &u32| Some((it + by) % size);
    std::iter::successors(Some(first), next).take_while(move |it| *it != end)
}

struct Circle {
    latitude: f64,
    longitude: f64,
    radius: f64,
}

impl Circle {
    /// The latitude at the top (1) or bottom (-1), within the map.
    fn latitude_at(&self, direction: f64) -> f64 {
        let (sine, cosine) = self.latitude.to_radians().sin_cos();
        let (angle_sine, angle_cosine) = (self.radius / EARTH_RADIUS_KM).sin_cos();
        let latitude = (sine * angle_cosine + cosine * angle_sine * direction).asin().to_degrees();
        latitude.clamp(-LATITUDE_MAX, LATITUDE_MAX)
    }

    /// The longitude at the right (1) or left (-1).
    fn longitude_at(&self, direction: f64) -> f64 {
        let (sine, cosine) = self.latitude.to_radians().sin_cos();
        let (angle_sine, angle_cosine) = (self.radius / EARTH_RADIUS_KM).sin_cos();
        let across = (direction * angle_sine * cosine).atan2(angle_cosine - sine * sine);
        let longitude = (self.longitude.to_radians() + across).to_degrees();
        if longitude > 180.0 {
            longitude - 360.0
        } else if longitude < -180.0 {
            longitude + 360.0
        } else {
            longitude
        }
    }

    /// Whether a point is in the circle.
    fn has(&self, (latitude, longitude): (f64, f64)) -> Result<bool> {
        Ok(distance(self.latitude, self.longitude, latitude, longitude)? <= self.radius)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(latitude: f64, longitude: f64, zoom: u32, radius: f64) -> Vec<(u32, u32)> {
        let tiles = tiles_around(latitude, longitude, zoom, radius).unwrap();
        tiles.iter().map(|it| (it.x, it.y)).collect()
    }

    #[test]
    fn tiles_are_those_of_presto() {
        let across = [(32767, 13506), (0, 13506), (0, 13507), (32767, 13507)];
        assert_eq!(found(30.12, -180.0, 15, 0.5), across);
        let expected = [(21844, 13506), (21845, 13506), (21845, 13507)];
        assert_eq!(found(30.12, 60.0, 15, 0.5), expected);
        assert_eq!(found(-85.0, -180.0, 1, 0.5), [(1, 1), (0, 1)]);
        assert_eq!(found(-85.0, 60.0, 1, 0.5), [(1, 1)]);
        assert_eq!(found(30.12, 60.0, 15, 0.0), [(21845, 13506)]);
    }

    #[test]
    fn all_tiles_touch_the_circle_and_none_is_twice() {
        for (latitude, longitude) in [(0.0, 0.0), (52.5, 13.4), (-33.9, 179.9), (80.0, -179.9)] {
            let tiles = found(latitude, longitude, 8, 300.0);
            let mut unique = tiles.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), tiles.len());
            assert!(tiles.len() > 9, "{tiles:?}");
        }
    }

    #[test]
    fn circles_out_of_range_are_refused() {
        let is_refused = |zoom, radius| tiles_around(30.0, 60.0, zoom, radius).is_err();
        assert!(is_refused(5, -1.0) && is_refused(5, 1000.5) && is_refused(5, f64::NAN));
        assert!(is_refused(20, 1000.0));
        assert!(!is_refused(5, 1000.0));
    }
}
