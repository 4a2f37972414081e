//! Distances on the Earth, as a sphere.

use super::doc;
use volley_error::{Error, Result};
use volley_function::Registry;

/// The radius that Presto takes.
pub(crate) const EARTH_RADIUS_KM: f64 = 6371.01;

/// Registers `great_circle_distance`.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.great_circle_distance",
        doc(
            "great_circle_distance(latitude1, longitude1, latitude2, longitude2) -> double",
            "The distance in kilometers of two points on the Earth, given in degrees.",
            &[("round(great_circle_distance(36.12, -86.67, 33.94, -118.40), 3)", "2886.449")],
        ),
        distance,
    );
}

/// The distance of two points in kilometers, by Vincenty's formula for a sphere.
///
/// # Errors
///
/// Invalid value: a latitude or longitude that is out of range.
pub(crate) fn distance(
    latitude: f64,
    longitude: f64,
    other_latitude: f64,
    other_longitude: f64,
) -> Result<f64> {
    check(latitude, 90.0, "latitude")?;
    check(other_latitude, 90.0, "latitude")?;
    check(longitude, 180.0, "longitude")?;
    check(other_longitude, 180.0, "longitude")?;
    let (sin, cos) = latitude.to_radians().sin_cos();
    let (other_sin, other_cos) = other_latitude.to_radians().sin_cos();
    let (sin_between, cos_between) = (longitude - other_longitude).to_radians().sin_cos();
    let across = other_cos * sin_between;
    let along = cos * other_sin - sin * other_cos * cos_between;
    let inner = sin * other_sin + cos * other_cos * cos_between;
    Ok(across.hypot(along).atan2(inner) * EARTH_RADIUS_KM)
}

fn check(degrees: f64, most: f64, what: &str) -> Result<()> {
    if degrees.abs() <= most {
        return Ok(());
    }
    let message = format!("a {what} must be from -{most} to {most} degrees: {degrees}");
    Err(Error::invalid_value(message))
}
