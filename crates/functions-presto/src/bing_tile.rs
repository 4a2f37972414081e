//! Tiles of Bing maps: the map of the world in 2^zoom by 2^zoom squares.
//!
//! ```text
//! 63  58 55            32 31    26 23             0
//! [ 0  ][ x            ][ zoom   ][ y             ]
//! ```
//!
//! A tile at zoom 0 has all of the world; each tile has four at the next zoom. A quad key has a
//! digit for each zoom from 1 on: 1 for the right half, plus 2 for the lower one. Values are stored
//! as BIGINT, in Presto's bits.

mod circle;

use crate::sketch::bind_values;
use std::{f64::consts::PI, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundScalar, FunctionDoc, Registry};
use volley_functions::value_aggregate::ValueRow;
use volley_types::{
    Field, Type, Value,
    custom::{Custom, CustomType},
};

const ZOOM_MAX: u32 = 23;
const ZOOM_OFFSET: u32 = 26;
const ZOOM_BITS: i64 = 63;
const Y_BITS: i64 = (1 << 24) - 1;
const X_OFFSET: u32 = 32;

/// Pixels of a tile in each direction.
const TILE_PIXELS: i64 = 256;

/// Beyond this latitude the map has no places.
const LATITUDE_MAX: f64 = 85.05112878;

/// The most zooms between a tile and those it is divided into: 4^10 tiles.
const LEVELS_MAX: u32 = 10;

/// A tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    x: u32,
    y: u32,
    zoom: u32,
}

impl Tile {
    /// The tile at a position.
    ///
    /// # Errors
    ///
    /// Invalid value: no such zoom or position.
    fn new(x: i64, y: i64, zoom: i64) -> Result<Tile> {
        let zoom = zoom_of(zoom)?;
        let size = 1i64 << zoom;
        if !(0..size).contains(&x) || !(0..size).contains(&y) {
            let message = format!(
                "XY coordinates for a Bing tile at zoom level {zoom} must be within [0, {size}) \
                 range"
            );
            return Err(Error::invalid_value(message));
        }
        // Below 2^23.
        Ok(Tile { x: x as u32, y: y as u32, zoom })
    }

    fn of_stored(stored: i64) -> Tile {
        let zoom = (stored >> ZOOM_OFFSET & ZOOM_BITS) as u32;
        Tile { x: (stored >> X_OFFSET & Y_BITS) as u32, y: (stored & Y_BITS) as u32, zoom }
    }

    fn stored(self) -> i64 {
        i64::from(self.x) << X_OFFSET | i64::from(self.zoom) << ZOOM_OFFSET | i64::from(self.y)
    }

    fn value(self) -> Value {
        Value::BigInt(self.stored())
    }

    fn of_quad_key(key: &str) -> Result<Tile> {
        let zoom = u32::try_from(key.len()).unwrap_or(u32::MAX);
        let digit = |it: u8| (b'0'..=b'3').contains(&it).then(|| u32::from(it - b'0'));
        let digits: Option<Vec<u32>> = key.bytes().map(digit).collect();
        let invalid = || Error::invalid_value(format!("invalid QuadKey digit sequence: {key}"));
        let digits = digits.ok_or_else(invalid)?;
        if zoom > ZOOM_MAX {
            return Err(Error::invalid_value("QuadKey must be 23 characters or less"));
        }
        let bits = |bit: u32| digits.iter().fold(0, |sum, it| sum << 1 | (it >> bit & 1));
        Ok(Tile { x: bits(0), y: bits(1), zoom })
    }

    fn quad_key(self) -> String {
        let digit = |level: u32| (self.x >> level & 1) + 2 * (self.y >> level & 1);
        (0..self.zoom).rev().filter_map(|it| char::from_digit(digit(it), 4)).collect()
    }

    /// The tile at a point.
    fn at(latitude: f64, longitude: f64, zoom: u32) -> Result<Tile> {
        if !(-LATITUDE_MAX..=LATITUDE_MAX).contains(&latitude) {
            let message = "Latitude must be between -85.05112878 and 85.05112878";
            return Err(Error::invalid_value(message));
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(Error::invalid_value("Longitude must be between -180.0 and 180.0"));
        }
        let size = TILE_PIXELS << zoom;
        let place = |share: f64| {
            let pixel = (share * size as f64).clamp(0.0, (size - 1) as f64) as i64;
            (pixel / TILE_PIXELS) as u32
        };
        let sine = (latitude * PI / 180.0).sin();
        let y = 0.5 - ((1.0 + sine) / (1.0 - sine)).ln() / (4.0 * PI);
        Ok(Tile { x: place((longitude + 180.0) / 360.0), y: place(y), zoom })
    }

    /// The latitude and longitude of the upper left corner of the tile at a position, which may be
    /// one beyond the last.
    fn corner(x: u32, y: u32, zoom: u32) -> (f64, f64) {
        let share = |it: u32| f64::from(it) / (1u64 << zoom) as f64;
        let latitude = 90.0 - 360.0 * (-(0.5 - share(y)) * 2.0 * PI).exp().atan() / PI;
        (latitude, 360.0 * (share(x) - 0.5))
    }

    fn parent(self, zoom: u32) -> Tile {
        let shift = self.zoom - zoom;
        Tile { x: self.x >> shift, y: self.y >> shift, zoom }
    }

    /// The tiles of a further zoom in this one, row by row.
    fn children(self, zoom: u32) -> impl Iterator<Item = Tile> {
        let shift = zoom - self.zoom;
        let (x, y) = (self.x << shift, self.y << shift);
        (0..1 << shift)
            .flat_map(move |down| (0..1 << shift).map(move |right| (x + right, y + down)))
            .map(move |(x, y)| Tile { x, y, zoom })
    }
}

/// The type BINGTILE.
#[derive(Debug)]
struct BingTile;

impl BingTile {
    fn data_type() -> Type {
        Type::Custom(Custom::new(BingTile))
    }
}

impl CustomType for BingTile {
    fn name(&self) -> &str {
        "BINGTILE"
    }

    fn storage(&self) -> &Type {
        &Type::BigInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::BigInt(stored) = stored {
            let Tile { x, y, zoom } = Tile::of_stored(*stored);
            out.push_str(&format!("{{x={x}, y={y}, zoom_level={zoom}}}"));
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        Tile::of_quad_key(text).ok().map(Tile::value)
    }
}

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    registry.types_mut().add_plain(BingTile);
    registry.add_casts(Arc::new(bind_cast));
    register_tiles(registry);
    register_parts(registry);
    register_zooms(registry);
}

/// BIGINT has the bits of a tile.
fn bind_cast(from: &Type, to: &Type) -> Option<BoundScalar> {
    let tile = BingTile::data_type();
    let types = vec![from.clone()];
    let bound = match (from, to) {
        (Type::BigInt, _) if *to == tile => bind_values(&types.clone(), types, tile, |row| {
            let stored = row.integer(0).unwrap_or_default();
            let tile = Tile::of_stored(stored);
            let is_tile = tile.stored() == stored
                && Tile::new(tile.x.into(), tile.y.into(), tile.zoom.into()).is_ok();
            let message =
                || Error::invalid_value(format!("invalid bigint tile encoding: {stored}"));
            is_tile.then_some(Value::BigInt(stored)).ok_or_else(message)
        }),
        (_, Type::BigInt) if *from == tile => {
            bind_values(&types.clone(), types, Type::BigInt, |row| Ok(row.value(0)))
        }
        _ => None,
    }?;
    Some(BoundScalar { name: "cast".to_owned(), ..bound })
}

fn doc(signature: &str, description: &str, example: (&str, &str)) -> FunctionDoc {
    FunctionDoc::new(signature, description, "geospatial", &[example])
}

fn add(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    types: &[Type],
    result: Type,
    function: fn(ValueRow<'_>) -> Result<Value>,
) {
    let types = types.to_vec();
    let bind = move |args: &[Type]| bind_values(args, types.clone(), result.clone(), function);
    registry.add_scalar(&format!("presto.{name}"), doc, Arc::new(bind));
}

fn integer(row: ValueRow<'_>, argument: usize) -> i64 {
    row.integer(argument).unwrap_or_default()
}

fn tile(row: ValueRow<'_>) -> Tile {
    Tile::of_stored(integer(row, 0))
}

fn zoom_of(zoom: i64) -> Result<u32> {
    if zoom < 0 {
        return Err(Error::invalid_value("Zoom level must be >= 0"));
    }
    let valid = u32::try_from(zoom).ok().filter(|it| *it <= ZOOM_MAX);
    valid.ok_or_else(|| Error::invalid_value("Zoom level must be <= 23"))
}

fn register_tiles(registry: &mut Registry) {
    let (tile_type, none) = (BingTile::data_type(), FunctionDoc::default);
    let described = doc(
        "bing_tile(x, y, zoom) -> bingtile, bing_tile(quadkey) -> bingtile",
        "The tile at a position of a zoom from 0 to 23, or of a quad key.",
        ("bing_tile_quadkey(bing_tile(3, 5, 3))", "213"),
    );
    let three = [Type::Integer, Type::Integer, Type::Integer];
    add(registry, "bing_tile", described, &three, tile_type.clone(), |row| {
        Tile::new(integer(row, 0), integer(row, 1), integer(row, 2)).map(Tile::value)
    });
    add(registry, "bing_tile", none(), &[Type::Varchar], tile_type.clone(), |row| {
        let key = row.value(0);
        Tile::of_quad_key(key.as_str().unwrap_or_default()).map(Tile::value)
    });
    let described = doc(
        "bing_tile_at(latitude, longitude, zoom) -> bingtile",
        "The tile of a zoom that has a point.",
        ("bing_tile_quadkey(bing_tile_at(30.12, 60.0, 15))", "123030123010121"),
    );
    let point = [Type::Double, Type::Double, Type::Integer];
    add(registry, "bing_tile_at", described, &point, tile_type.clone(), |row| {
        tile_at(row).map(Tile::value)
    });
    let described = doc(
        "bing_tiles_around(latitude, longitude, zoom[, radius]) -> array(bingtile)",
        "The tile of a zoom that has a point, and those next to it, or those that a circle of a \
         radius of at most 1000 km around the point touches.",
        ("cardinality(bing_tiles_around(30.12, 60.0, 1))", "4"),
    );
    let tiles = Type::array(tile_type);
    add(registry, "bing_tiles_around", described, &point, tiles.clone(), |row| {
        let center = tile_at(row)?;
        let range = |it: u32| it.saturating_sub(1)..=(it + 1).min((1 << center.zoom) - 1);
        let each = |x: u32| range(center.y).map(move |y| Tile { x, y, zoom: center.zoom });
        Ok(Value::Array(range(center.x).flat_map(each).map(Tile::value).collect()))
    });
    let circle = [Type::Double, Type::Double, Type::Integer, Type::Double];
    add(registry, "bing_tiles_around", none(), &circle, tiles, |row| {
        tile_at(row)?;
        let [latitude, longitude, radius] = [0, 1, 3].map(|it| row.number(it).unwrap_or(f64::NAN));
        let tiles = circle::tiles_around(latitude, longitude, zoom_of(integer(row, 2))?, radius)?;
        Ok(Value::Array(tiles.into_iter().map(Tile::value).collect()))
    });
}

fn tile_at(row: ValueRow<'_>) -> Result<Tile> {
    let number = |argument| row.number(argument).unwrap_or(f64::NAN);
    let zoom = zoom_of(integer(row, 2));
    match Tile::at(number(0), number(1), 0) {
        Err(error) => Err(error),
        Ok(_) => Tile::at(number(0), number(1), zoom?),
    }
}

fn register_parts(registry: &mut Registry) {
    let tile_type = [BingTile::data_type()];
    let described = doc(
        "bing_tile_coordinates(bingtile) -> row(x, y)",
        "The position of a tile at its zoom.",
        ("bing_tile_coordinates(bing_tile('213'))", "{'x': 3, 'y': 5}"),
    );
    let fields = ["x", "y"].map(|it| Field::new(it, Type::Integer));
    add(registry, "bing_tile_coordinates", described, &tile_type, Type::row(fields), |row| {
        let tile = tile(row);
        Ok(Value::Row([tile.x, tile.y].map(|it| Value::Integer(it as i32)).into()))
    });
    let described = doc(
        "bing_tile_quadkey(bingtile) -> varchar",
        "The quad key of a tile.",
        ("bing_tile_quadkey(bing_tile(1, 2, 2))", "21"),
    );
    add(registry, "bing_tile_quadkey", described, &tile_type, Type::Varchar, |row| {
        Ok(Value::text(tile(row).quad_key()))
    });
    let described = doc(
        "bing_tile_zoom_level(bingtile) -> tinyint",
        "The zoom of a tile.",
        ("bing_tile_zoom_level(bing_tile('213'))", "3"),
    );
    add(registry, "bing_tile_zoom_level", described, &tile_type, Type::TinyInt, |row| {
        Ok(Value::TinyInt(tile(row).zoom as i8))
    });
}

fn register_zooms(registry: &mut Registry) {
    let (tile_type, none) = (BingTile::data_type(), FunctionDoc::default);
    let one = [tile_type.clone()];
    let two = [tile_type.clone(), Type::Integer];
    let described = doc(
        "bing_tile_parent(bingtile[, zoom]) -> bingtile",
        "The tile of a lower zoom, the one before if left out, that has a tile.",
        ("bing_tile_quadkey(bing_tile_parent(bing_tile('213')))", "21"),
    );
    add(registry, "bing_tile_parent", described, &one, tile_type.clone(), |row| {
        let tile = tile(row);
        parent(tile, i64::from(tile.zoom) - 1)
    });
    add(registry, "bing_tile_parent", none(), &two, tile_type.clone(), |row| {
        parent(tile(row), integer(row, 1))
    });
    let described = doc(
        "bing_tile_children(bingtile[, zoom]) -> array(bingtile)",
        "The tiles of a higher zoom, the next one if left out, in a tile.",
        (
            "transform(bing_tile_children(bing_tile('21')), t -> bing_tile_quadkey(t))",
            "[210, 211, 212, 213]",
        ),
    );
    let tiles = Type::array(tile_type);
    add(registry, "bing_tile_children", described, &one, tiles.clone(), |row| {
        let tile = tile(row);
        children(tile, i64::from(tile.zoom) + 1)
    });
    add(registry, "bing_tile_children", none(), &two, tiles, |row| {
        children(tile(row), integer(row, 1))
    });
}

fn parent(tile: Tile, zoom: i64) -> Result<Value> {
    let message = if zoom < 0 {
        format!("newZoom must be greater than or equal to 0: {zoom}")
    } else if zoom > tile.zoom.into() {
        let current = tile.zoom;
        format!("newZoom must be less than or equal to current zoom {current}: {zoom}")
    } else {
        return Ok(tile.parent(zoom_of(zoom)?).value());
    };
    Err(Error::invalid_value(message))
}

fn children(tile: Tile, zoom: i64) -> Result<Value> {
    let message = if zoom > ZOOM_MAX.into() {
        format!("newZoom must be less than or equal to 23: {zoom}")
    } else if zoom < tile.zoom.into() {
        let current = tile.zoom;
        format!("newZoom must be greater than or equal to current zoom {current}: {zoom}")
    } else if zoom > (tile.zoom + LEVELS_MAX).into() {
        format!("newZoom must be at most {LEVELS_MAX} above the current zoom: {zoom}")
    } else {
        return Ok(Value::Array(tile.children(zoom_of(zoom)?).map(Tile::value).collect()));
    };
    Err(Error::invalid_value(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_have_quad_keys_and_bits() {
        for (key, x, y, zoom) in [("", 0, 0, 0), ("213", 3, 5, 3), ("0", 0, 0, 1), ("33", 3, 3, 2)]
        {
            let tile = Tile::of_quad_key(key).expect(key);
            assert_eq!(tile, Tile { x, y, zoom });
            assert_eq!((tile.quad_key().as_str(), Tile::of_stored(tile.stored())), (key, tile));
        }
        let last = "3".repeat(23);
        let tile = Tile::of_quad_key(&last).expect("a tile");
        assert_eq!((tile.x, tile.y), ((1 << 23) - 1, (1 << 23) - 1));
        assert_eq!((Tile::of_stored(tile.stored()), tile.quad_key()), (tile, last));
        for wrong in ["4", "ü", "0 1", &"0".repeat(24)] {
            assert!(Tile::of_quad_key(wrong).is_err(), "{wrong}");
        }
        assert!(Tile::new(8, 0, 3).is_err() && Tile::new(0, -1, 3).is_err());
        assert!(Tile::new(0, 0, 24).is_err() && Tile::new(0, 0, -1).is_err());
    }

    #[test]
    fn points_are_in_tiles() {
        assert_eq!(Tile::at(0.5, 0.25, 12).expect("a tile"), Tile { x: 2050, y: 2042, zoom: 12 });
        for (latitude, longitude) in [(LATITUDE_MAX, -180.0), (-LATITUDE_MAX, 180.0), (0.0, 0.0)] {
            let tile = Tile::at(latitude, longitude, 23).expect("a tile");
            assert_eq!(tile.parent(5), Tile::at(latitude, longitude, 5).expect("a tile"));
        }
        for (latitude, longitude) in [(86.0, 0.0), (0.0, 180.5), (f64::NAN, 0.0), (0.0, f64::NAN)] {
            assert!(Tile::at(latitude, longitude, 1).is_err(), "{latitude} {longitude}");
        }
    }

    #[test]
    fn children_have_their_parent() {
        let tile = Tile::of_quad_key("213").expect("a tile");
        let children: Vec<Tile> = tile.children(5).collect();
        assert_eq!(children.len(), 16);
        assert!(children.iter().all(|it| it.zoom == 5 && it.parent(3) == tile));
        assert_eq!(
            (children[0].quad_key(), children[15].quad_key()),
            ("21300".into(), "21333".into())
        );
        assert_eq!(tile.children(3).collect::<Vec<_>>(), [tile]);
        assert!(children_value_fails(tile, 2) && children_value_fails(tile, 24));
        assert!(parent(tile, 4).is_err() && parent(tile, -1).is_err());
    }

    fn children_value_fails(tile: Tile, zoom: i64) -> bool {
        children(tile, zoom).is_err()
    }
}
