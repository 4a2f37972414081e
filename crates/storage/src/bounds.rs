//! Bounds of the values of rows: the least, the greatest, how many are null.
//!
//! Bounds of text are at most 16 bytes long: a lower bound is cut, an upper one is cut and its last
//! character raised. Of types without an order, and of custom types other than unsigned integers
//! and timestamps, bounds are unknown.

use std::cmp::Ordering;
use volley_codec::{ColumnReader, Options, encode};
use volley_connector::{Bounds, is_ordered};
use volley_error::Result;
use volley_pdt::bytes::{Input, Output};
use volley_types::{PhysicalType, Type, Value, custom::TimestampUnit, match_integer};
use volley_vector::{Buffer, Values, Vector};

/// The longest bound of text, in bytes.
const TEXT_BYTES_MAX: usize = 16;

/// The bounds of the values of a flat vector.
///
/// # Errors
///
/// Internal: a value that cannot be read.
pub fn bounds_of(vector: &Vector) -> Result<Bounds> {
    let nulls = vector.null_buffer().map_or(0, |it| it.null_count());
    let mut bounds = Bounds { nulls: Some(nulls as u64), ..Bounds::default() };
    let data_type = vector.data_type();
    let is_known = !matches!(data_type, Type::Custom(_))
        || data_type.unsigned().is_some()
        || TimestampUnit::of(data_type).is_some();
    if !is_ordered(data_type) || !is_known {
        return Ok(bounds);
    }
    if let Some((least, greatest)) = extremes(vector) {
        bounds.min = short_lower(vector.value(least)?);
        bounds.max = short_upper(vector.value(greatest)?);
    }
    Ok(bounds)
}

/// Bounds of the rows of both. Rows that are all null have no values to bound.
pub fn union(a: &Bounds, a_rows: u64, b: &Bounds, b_rows: u64) -> Bounds {
    let nulls = a.nulls.zip(b.nulls).map(|(a, b)| a + b);
    if a.nulls == Some(a_rows) {
        return Bounds { nulls, ..b.clone() };
    }
    if b.nulls == Some(b_rows) {
        return Bounds { nulls, ..a.clone() };
    }
    Bounds { nulls, ..a.union(b) }
}

/// The rows with the least and the greatest value that is not null.
fn extremes(vector: &Vector) -> Option<(usize, usize)> {
    let values = vector.flat_values()?;
    let nulls = vector.null_buffer();
    let rows = (0..vector.len()).filter(|row| nulls.is_none_or(|it| it.is_valid(*row)));
    match values {
        Values::View(strings) => extreme_rows(rows, |a, b| strings.bytes(a).cmp(strings.bytes(b))),
        Values::Boolean(bits) => extreme_rows(rows, |a, b| bits.value(a).cmp(&bits.value(b))),
        _ => match values.physical() {
            PhysicalType::F32 => {
                let values = values.native::<f32>()?;
                extreme_rows(rows, |a, b| compare_floats(values[a].into(), values[b].into()))
            }
            PhysicalType::F64 => {
                let values = values.native::<f64>()?;
                extreme_rows(rows, |a, b| compare_floats(values[a], values[b]))
            }
            physical => match_integer!(physical, T => {
                let values = values.native::<T>()?;
                extreme_rows(rows, |a, b| values[a].cmp(&values[b]))
            }, else None),
        },
    }
}

/// NaN is the greatest.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn extreme_rows(
    mut rows: impl Iterator<Item = usize>,
    compare: impl Fn(usize, usize) -> Ordering,
) -> Option<(usize, usize)> {
    let first = rows.next()?;
    let (mut least, mut greatest) = (first, first);
    for row in rows {
        if compare(row, least).is_lt() {
            least = row;
        } else if compare(row, greatest).is_gt() {
            greatest = row;
        }
    }
    Some((least, greatest))
}

fn short_lower(value: Value) -> Option<Value> {
    match &value {
        Value::Varchar(text) if text.len() > TEXT_BYTES_MAX => Some(Value::text(prefix(text))),
        Value::Varbinary(bytes) if bytes.len() > TEXT_BYTES_MAX => None,
        _ => Some(value),
    }
}

fn short_upper(value: Value) -> Option<Value> {
    match &value {
        Value::Varchar(text) if text.len() > TEXT_BYTES_MAX => {
            let mut characters: Vec<char> = prefix(text).chars().collect();
            // A greater last character makes a text greater than all with the prefix.
            while let Some(last) = characters.pop() {
                if let Some(next) = char::from_u32(last as u32 + 1) {
                    characters.push(next);
                    return Some(Value::text(characters.iter().collect::<String>()));
                }
            }
            None
        }
        Value::Varbinary(bytes) if bytes.len() > TEXT_BYTES_MAX => None,
        _ => Some(value),
    }
}

/// The first characters of a text, of at most [`TEXT_BYTES_MAX`] bytes.
fn prefix(text: &str) -> &str {
    let end = (0..=TEXT_BYTES_MAX).rev().find(|it| text.is_char_boundary(*it));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// Writes the bounds of a column in several ranges of rows: a column of lower bounds and one of
/// upper ones, one after the other, then the numbers of nulls.
pub(crate) fn write_bounds(bounds: &[Bounds], data_type: &Type, output: &mut Output) -> Result<()> {
    let value = |it: &Option<Value>| it.clone().unwrap_or(Value::Null);
    let lower = bounds.iter().map(|it| value(&it.min));
    let values: Vec<Value> = lower.chain(bounds.iter().map(|it| value(&it.max))).collect();
    let is_known = values.iter().any(|it| !it.is_null());
    let values = Vector::from_values(data_type.clone(), &values);
    let bytes = is_known.then(|| encode(&values, Options::default())).transpose()?;
    output.count(bounds.len());
    output.optional(bytes, |it, output| output.block(&it));
    for bounds in bounds {
        output.number(bounds.nulls.unwrap_or_default());
    }
    Ok(())
}

/// Reads what [`write_bounds`] wrote.
pub(crate) fn read_bounds(input: &mut Input<'_>, data_type: &Type) -> Result<Vec<Bounds>> {
    let count = input.count()?;
    let bytes = input.optional(Input::block)?;
    let values = match bytes {
        Some(bytes) => {
            let mut reader = ColumnReader::open(Buffer::from(bytes), data_type)?;
            if reader.rows() != 2 * count {
                return Err(input.corrupt("bounds of another number of rows"));
            }
            reader.read(0..2 * count as u32, None)?.to_values()?
        }
        None => vec![Value::Null; 2 * count],
    };
    let known = |it: &Value| (!it.is_null()).then(|| it.clone());
    let (lower, upper) = values.split_at(count);
    let values = lower.iter().zip(upper);
    values
        .map(|(min, max)| {
            let nulls = Some(input.number()?);
            Ok(Bounds { min: known(min), max: known(max), nulls, distinct: None })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_connector::compare_values;
    use volley_types::custom::UnsignedInteger;

    fn contains(bounds: &Bounds, value: &Value) -> bool {
        let is = |bound: &Option<Value>, order| {
            bound.as_ref().is_some_and(|it| compare_values(value, it) == Some(order))
        };
        !is(&bounds.min, Ordering::Less) && !is(&bounds.max, Ordering::Greater)
    }

    fn check(data_type: &Type, values: &[Value]) -> Bounds {
        let bounds = bounds_of(&Vector::from_values(data_type.clone(), values)).unwrap();
        let nulls = values.iter().filter(|it| it.is_null()).count() as u64;
        assert_eq!(bounds.nulls, Some(nulls));
        for value in values.iter().filter(|it| !it.is_null()) {
            assert!(contains(&bounds, value), "{value:?} not within {bounds:?}");
        }
        let mut output = Output::default();
        let list = [bounds.clone(), Bounds { nulls: Some(0), ..Bounds::default() }];
        write_bounds(&list, data_type, &mut output).unwrap();
        let mut input = Input::new(&output.bytes, "bounds");
        assert_eq!(
            format!("{:?}", read_bounds(&mut input, data_type).unwrap()),
            format!("{list:?}")
        );
        input.finish().unwrap();
        bounds
    }

    #[test]
    fn bounds_hold_all_values() {
        let integers = [3, -7, 12].map(Value::BigInt);
        let bounds = check(&Type::BigInt, &integers);
        assert_eq!((bounds.min, bounds.max), (Some(Value::BigInt(-7)), Some(Value::BigInt(12))));
        check(&Type::BigInt, &[Value::Null, Value::BigInt(1)]);
        assert_eq!(check(&Type::BigInt, &[Value::Null]).min, None);
        check(&Type::BigInt, &[]);
        let doubles = [0.0, -0.0, f64::NAN, f64::INFINITY].map(Value::Double);
        assert!(
            matches!(check(&Type::Double, &doubles).max, Some(Value::Double(it)) if it.is_nan())
        );
        check(&Type::Real, &[Value::Real(-1.5), Value::Real(2.5)]);
        let unsigned = UnsignedInteger::UBigInt;
        let numbers = [0, 1 << 63, u64::MAX.into(), 5].map(|it| unsigned.store(it).unwrap());
        let bounds = check(&unsigned.data_type(), &numbers);
        assert_eq!((bounds.min, bounds.max), (unsigned.store(0), unsigned.store(u64::MAX.into())));
        check(&Type::Boolean, &[Value::Boolean(true), Value::Boolean(false)]);
        let decimal = Type::Decimal { precision: 30, scale: 2 };
        check(&decimal, &[Value::Decimal(-5), Value::Decimal(i128::MAX / 7)]);
    }

    #[test]
    fn bounds_of_text_are_short() {
        let texts = ["abc", "zzzzzzzzzzzzzzzzzzzzzzz", "äöüäöüäöüäöüäöü", ""].map(Value::text);
        let bounds = check(&Type::Varchar, &texts);
        assert!(bounds.max.unwrap().as_str().unwrap().len() <= 20);
        let last = "\u{10ffff}".repeat(9);
        assert_eq!(check(&Type::Varchar, &[Value::text(&last)]).max, None);
        let bytes = Value::Varbinary(vec![255; 40].into());
        assert_eq!(check(&Type::Varbinary, &[bytes]).max, None);
    }

    #[test]
    fn rows_that_are_all_null_do_not_widen() {
        let some = Bounds {
            min: Some(Value::BigInt(1)),
            max: Some(Value::BigInt(2)),
            nulls: Some(0),
            distinct: None,
        };
        let none = Bounds { nulls: Some(5), ..Bounds::default() };
        for union in [union(&some, 3, &none, 5), union(&none, 5, &some, 3)] {
            assert_eq!(union, Bounds { nulls: Some(5), ..some.clone() });
        }
        let unknown = Bounds { nulls: Some(1), ..Bounds::default() };
        assert_eq!(union(&some, 3, &unknown, 5).min, None);
    }
}
