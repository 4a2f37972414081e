//! Colors of terminals: `color`, `rgb`, `render`, `bar`.
//!
//! A color is stored as INTEGER: 256 shades each of red, green and blue as `0xRRGGBB`, or a color
//! of the terminal, 0 to 7, as its number below -1. Terminals show one of 216 shades.

use crate::{cast::push_double, sketch::bind_values};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry};
use volley_functions::value_aggregate::ValueRow;
use volley_types::{
    Type, Value,
    custom::{Custom, CustomType},
};

/// The colors of a terminal, in order of their numbers.
const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

const RESET: &str = "\u{1b}[0m";

/// The widest bar.
const WIDTH_MAX: i64 = 1 << 20;

/// The type COLOR.
#[derive(Debug)]
struct Color;

impl Color {
    fn data_type() -> Type {
        Type::Custom(Custom::new(Color))
    }
}

impl CustomType for Color {
    fn name(&self) -> &str {
        "COLOR"
    }

    fn storage(&self) -> &Type {
        &Type::Integer
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::Integer(color) = stored else { return };
        match usize::try_from(-1 - i64::from(*color)).ok().and_then(|it| NAMES.get(it)) {
            Some(name) => out.push_str(name),
            None => out.push_str(&format!("#{color:06x}")),
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let color = color_of(text).or_else(|| {
            let digits = text.strip_prefix('#').filter(|it| it.len() == 6)?;
            i32::from_str_radix(digits, 16).ok().filter(|it| *it >= 0)
        });
        color.map(Value::Integer)
    }
}

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    registry.types_mut().add_plain(Color);
    register_colors(registry);
    register_texts(registry);
}

fn doc(signature: &str, description: &str, example: (&str, &str)) -> FunctionDoc {
    FunctionDoc::new(signature, description, "color", &[example])
}

fn add(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    types: &[Type],
    result: &Type,
    function: fn(ValueRow<'_>) -> Result<Value>,
) {
    let (types, result) = (types.to_vec(), result.clone());
    let bind = move |args: &[Type]| bind_values(args, types.clone(), result.clone(), function);
    registry.add_scalar(&format!("presto.{name}"), doc, Arc::new(bind));
}

fn register_colors(registry: &mut Registry) {
    let color = Color::data_type();
    let none = FunctionDoc::default;
    let described = doc(
        "color(name) -> color, color(fraction, color, color) -> color, color(value, low, high, \
         color, color) -> color",
        "The color of a name, such as red, or of `#rgb`; or the color between two at a fraction \
         from 0 to 1, or at the place of a value between two others.",
        ("CAST(color('#f00') AS VARCHAR)", "#ff0000"),
    );
    add(registry, "color", described, &[Type::Varchar], &color, |row| {
        let text = row.value(0);
        let text = text.as_str().unwrap_or_default();
        let invalid = || Error::invalid_value(format!("invalid color: '{text}'"));
        color_of(text).map(Value::Integer).ok_or_else(invalid)
    });
    let two = [color.clone(), color.clone()];
    let of_fraction = [&[Type::Double][..], &two].concat();
    add(registry, "color", none(), &of_fraction, &color, |row| {
        between(row.number(0).unwrap_or(f64::NAN), color_in(row, 1), color_in(row, 2))
    });
    let of_value = [&[Type::Double, Type::Double, Type::Double][..], &two].concat();
    add(registry, "color", none(), &of_value, &color, |row| {
        let number = |argument| row.number(argument).unwrap_or(f64::NAN);
        let fraction = (number(0) - number(1)) / (number(2) - number(1));
        between(fraction, color_in(row, 3), color_in(row, 4))
    });
    let described = doc(
        "rgb(red, green, blue) -> color",
        "The color of shades of red, green and blue, each from 0 to 255.",
        ("CAST(rgb(255, 0, 16) AS VARCHAR)", "#ff0010"),
    );
    let three = [Type::BigInt, Type::BigInt, Type::BigInt];
    add(registry, "rgb", described, &three, &color, |row| {
        let mut color = 0;
        for (argument, name) in ["red", "green", "blue"].into_iter().enumerate() {
            let shade = row.integer(argument).and_then(|it| u8::try_from(it).ok());
            let message = || Error::invalid_value(format!("{name} must be between 0 and 255"));
            color = color << 8 | i32::from(shade.ok_or_else(message)?);
        }
        Ok(Value::Integer(color))
    });
}

fn register_texts(registry: &mut Registry) {
    let color = Color::data_type();
    let none = FunctionDoc::default;
    let described = doc(
        "render(value, color) -> varchar, render(boolean) -> varchar",
        "A number or text in a color, as terminals show it; true as a green and false as a red \
         mark.",
        ("length(render('x', color('red')))", "14"),
    );
    let text = Type::Varchar;
    add(registry, "render", described, &[Type::Varchar, color.clone()], &text, |row| {
        let value = row.value(0);
        Ok(rendered(value.as_str().unwrap_or_default(), color_in(row, 1)))
    });
    add(registry, "render", none(), &[Type::BigInt, color.clone()], &text, |row| {
        let number = row.integer(0).unwrap_or_default();
        Ok(rendered(&number.to_string(), color_in(row, 1)))
    });
    add(registry, "render", none(), &[Type::Double, color.clone()], &text, |row| {
        let mut written = String::new();
        push_double(&mut written, row.number(0).unwrap_or(f64::NAN));
        Ok(rendered(&written, color_in(row, 1)))
    });
    add(registry, "render", none(), &[Type::Boolean], &text, |row| {
        Ok(match row.value(0).as_bool() {
            Some(true) => rendered("✓", -3),
            _ => rendered("✗", -2),
        })
    });
    let described = doc(
        "bar(fraction, width[, low color, high color]) -> varchar",
        "A bar of blocks up to a fraction of the width, from the low color to the high one: red \
         and green if left out.",
        ("length(bar(0.5, 4))", "30"),
    );
    add(registry, "bar", described, &[Type::Double, Type::BigInt], &text, |row| {
        bar(row, 0xff0000, 0x00ff00)
    });
    let types = [Type::Double, Type::BigInt, color.clone(), color];
    add(registry, "bar", none(), &types, &text, |row| bar(row, color_in(row, 2), color_in(row, 3)));
}

fn color_in(row: ValueRow<'_>, argument: usize) -> i32 {
    row.integer(argument).and_then(|it| i32::try_from(it).ok()).unwrap_or_default()
}

/// The color of a name or of `#rgb`.
fn color_of(text: &str) -> Option<i32> {
    if let Some(digits) = text.strip_prefix('#').filter(|it| it.len() == 3) {
        let digits = digits.chars().map(|it| it.to_digit(16)).collect::<Option<Vec<u32>>>()?;
        // A digit stands for itself twice.
        let color = digits.iter().fold(0, |color, it| color << 8 | it * 0x11);
        return i32::try_from(color).ok();
    }
    let number = NAMES.iter().zip(1..).find(|it| it.0.eq_ignore_ascii_case(text))?.1;
    Some(-number)
}

fn between(fraction: f64, low: i32, high: i32) -> Result<Value> {
    for (color, name) in [(low, "lowColor"), (high, "highColor")] {
        if color < 0 {
            return Err(Error::invalid_value(format!("{name} not a valid RGB color")));
        }
    }
    // NaN stays, as in Java.
    let fraction = if fraction.is_nan() { fraction } else { fraction.clamp(0.0, 1.0) };
    Ok(Value::Integer(interpolated(fraction as f32, low, high)))
}

/// The color between two, by hue, saturation and brightness.
fn interpolated(fraction: f32, low: i32, high: i32) -> i32 {
    let (low, high) = (hue_of(low), hue_of(high));
    let at = |it: usize| fraction * (high[it] - low[it]) + low[it];
    color_of_hue(at(0), at(1), at(2))
}

fn shades(color: i32) -> [f32; 3] {
    [16, 8, 0].map(|it| ((color >> it) & 0xff) as f32)
}

/// Hue, saturation and brightness, each from 0 to 1.
fn hue_of(color: i32) -> [f32; 3] {
    let [red, green, blue] = shades(color);
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    let saturation = if most == 0.0 { 0.0 } else { (most - least) / most };
    if saturation == 0.0 {
        return [0.0, saturation, most / 255.0];
    }
    let [red_part, green_part, blue_part] =
        [red, green, blue].map(|it| (most - it) / (most - least));
    let hue = if red == most {
        blue_part - green_part
    } else if green == most {
        2.0 + red_part - blue_part
    } else {
        4.0 + green_part - red_part
    } / 6.0;
    [if hue < 0.0 { hue + 1.0 } else { hue }, saturation, most / 255.0]
}

fn color_of_hue(hue: f32, saturation: f32, brightness: f32) -> i32 {
    let shade = |it: f32| (it * 255.0 + 0.5) as i32;
    let of = |red, green, blue| (shade(red) << 16 | shade(green) << 8 | shade(blue)) & 0xff_ffff;
    if saturation == 0.0 {
        return of(brightness, brightness, brightness);
    }
    let sector = (hue - hue.floor()) * 6.0;
    let part = sector - sector.floor();
    let falling = brightness * (1.0 - saturation * part);
    let rising = brightness * (1.0 - saturation * (1.0 - part));
    let none = brightness * (1.0 - saturation);
    match sector as i32 {
        0 => of(brightness, rising, none),
        1 => of(falling, brightness, none),
        2 => of(none, brightness, rising),
        3 => of(none, falling, brightness),
        4 => of(rising, none, brightness),
        _ => of(brightness, none, falling),
    }
}

/// What makes a terminal write in a color.
fn escape(color: i32) -> String {
    let number = match color < 0 {
        true => -1 - color,
        false => {
            let [red, green, blue] = shades(color).map(|it| it as i32 * 6 / 256);
            16 + red * 36 + green * 6 + blue
        }
    };
    format!("\u{1b}[38;5;{number}m")
}

fn rendered(text: &str, color: i32) -> Value {
    Value::text(format!("{}{text}{RESET}", escape(color)))
}

fn bar(row: ValueRow<'_>, low: i32, high: i32) -> Result<Value> {
    let (fraction, width) = (row.number(0).unwrap_or(f64::NAN), row.integer(1).unwrap_or_default());
    if width > WIDTH_MAX {
        let message = format!("a bar has at most {WIDTH_MAX} characters, not {width}");
        return Err(Error::invalid_value(message));
    }
    let filled = ((fraction * width as f64) as i64).min(width).max(0);
    if filled > 0 && (low < 0 || high < 0) {
        return Err(Error::invalid_value("color is not a valid rgb value"));
    }
    let mut out = String::new();
    for at in 0..filled {
        let color = interpolated((at as f64 / (width - 1) as f64) as f32, low, high);
        out.push_str(&escape(color));
        out.push('█');
    }
    out.push_str(RESET);
    out.extend(std::iter::repeat_n(' ', usize::try_from(width - filled).unwrap_or_default()));
    Ok(Value::text(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_have_names_and_shades() {
        for (text, color) in [
            ("red", Some(-2)),
            ("WHITE", Some(-8)),
            ("#f0a", Some(0xff00aa)),
            ("#FFF", Some(0xffffff)),
            ("#ff", None),
            ("#ggg", None),
            ("#äb", None),
            ("pink", None),
            ("", None),
        ] {
            assert_eq!(color_of(text), color, "{text}");
        }
        for (text, shown) in [("blue", "blue"), ("#f0a", "#ff00aa"), ("#012345", "#012345")] {
            let value = Color.parse(text).expect(text);
            let mut out = String::new();
            CustomType::push(&Color, &mut out, &value);
            assert_eq!(out, shown);
        }
    }

    #[test]
    fn shades_between_two_pass_through_the_hues() {
        assert_eq!(interpolated(0.0, 0xff0000, 0x00ff00), 0xff0000);
        assert_eq!(interpolated(1.0, 0xff0000, 0x00ff00), 0x00ff00);
        assert_eq!(interpolated(0.5, 0xff0000, 0x00ff00), 0xffff00);
        assert_eq!(interpolated(0.5, 0x000000, 0xffffff), 0x808080);
        for color in [0x123456, 0xabcdef, 0x00ffff, 0x7f0001] {
            let [hue, saturation, brightness] = hue_of(color);
            assert_eq!(color_of_hue(hue, saturation, brightness), color, "{color:x}");
        }
        assert!(between(0.5, -1, 0).is_err() && between(0.5, 0, -2).is_err());
    }

    #[test]
    fn escapes_are_those_of_terminals() {
        assert_eq!(escape(-5), "\u{1b}[38;5;4m");
        assert_eq!(escape(0xff0000), "\u{1b}[38;5;196m");
        assert_eq!(escape(0x030c0c), "\u{1b}[38;5;16m");
    }
}
