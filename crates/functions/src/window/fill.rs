//! `fill`: values in place of nulls, on the line through the nearest others.
//!
//! ```text
//! t       1   2   3   4   5      the window's order key
//! x           5       9
//! fill(x) 3   5   7   9   11     between two values, or beyond the last two
//! ```

use crate::documentation::doc;
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{BoundWindow, Registry, WindowFunction, WindowRows};
use volley_types::{
    Native, PhysicalType, Type, civil::MICROS_PER_DAY, custom::TimestampTz, match_integer,
};
use volley_vector::{BooleanBuffer, Decoded, NullBuffer, Values, Vector};

/// Registers `fill`. The binder adds the order key as the second argument.
pub(super) fn register(registry: &mut Registry) {
    let fill = doc(
        "fill(x) -> as x",
        "x, and where it is null the value on the line through the nearest rows before and after \
         that have one, or through the nearest two on one side; the only value of a partition \
         fills all of it. The line is over the window's ORDER BY, which has one key. x and the key \
         are numbers, dates, times or timestamps; rows where one of them is infinite or NaN do not \
         count. What does not fit the type of x stays null.",
        "window",
        &[(
            "fill(x) OVER (ORDER BY t) FROM (VALUES (1, NULL), (2, 5), (3, NULL), (4, 9)) v(t, x)",
            "3\n5\n7\n9",
        )],
    );
    registry.add_window("fill", fill, Arc::new(bind));
}

fn bind(args: &[Type]) -> Option<BoundWindow> {
    let is_line = |it: &Type| {
        it.is_numeric()
            || matches!(it, Type::Date | Type::Time | Type::Timestamp)
            || TimestampTz::is(it)
    };
    let [value, key] = args else { return None };
    let fits = is_line(value) && is_line(key);
    fits.then(|| BoundWindow {
        uses_peers: false,
        ..BoundWindow::new(args.to_vec(), value.clone(), Fill)
    })
}

struct Fill;

impl WindowFunction for Fill {
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
        let [values, keys] = window.args else {
            return Err(Error::internal("fill takes a value and an order key"));
        };
        let (column, keys) = (Decoded::new(values)?, Decoded::new(keys)?);
        let points = Points { values: &column, keys: &keys };
        let mut nearest = Nearest::default();
        let filled = window.rows.clone().zip(window.partitions.iter()).map(|(row, partition)| {
            let partition = partition.0 as usize..partition.1 as usize;
            nearest.go_to(row, partition, &points);
            match column.is_null(row) {
                true => nearest.value(row, &points),
                false => points.value(row),
            }
        });
        let filled: Vec<Option<Number>> = filled.collect();
        vector_of(&filled, values.data_type())
    }
}

/// A number, or what is stored as one.
#[derive(Clone, Copy)]
enum Number {
    Whole(i128),
    Float(f64),
}

impl Number {
    fn is_finite(self) -> bool {
        !matches!(self, Number::Float(it) if !it.is_finite())
    }

    fn as_f64(self) -> f64 {
        match self {
            Number::Whole(it) => it as f64,
            Number::Float(it) => it,
        }
    }

    /// How far another one is.
    fn distance_to(self, other: Number) -> f64 {
        match (self, other) {
            (Number::Whole(from), Number::Whole(to)) => to.saturating_sub(from) as f64,
            _ => other.as_f64() - self.as_f64(),
        }
    }

    /// The number on the way to another one, which is at 1; cut off toward zero.
    fn on_the_way(self, to: Number, place: f64) -> Option<Number> {
        let (Number::Whole(from), Number::Whole(to)) = (self, to) else {
            return Some(Number::Float(self.as_f64() + place * self.distance_to(to)));
        };
        let way = place * to.checked_sub(from)? as f64;
        if way.is_nan() || way.abs() >= i128::MAX as f64 {
            return None;
        }
        let whole = from.checked_add(way.trunc() as i128)?;
        let rest = way.fract();
        Some(Number::Whole(match whole {
            1.. if rest < 0.0 => whole - 1,
            ..=-1 if rest > 0.0 => whole + 1,
            _ => whole,
        }))
    }
}

/// The rows of a window as points.
struct Points<'a> {
    values: &'a Decoded<'a>,
    keys: &'a Decoded<'a>,
}

impl Points<'_> {
    fn value(&self, row: usize) -> Option<Number> {
        number_at(self.values, row)
    }

    fn key(&self, row: usize) -> Option<Number> {
        number_at(self.keys, row).filter(|it| it.is_finite())
    }

    /// Whether a line may go through the point of the row.
    fn counts(&self, row: usize) -> bool {
        self.value(row).is_some_and(Number::is_finite) && self.key(row).is_some()
    }

    /// The value at the key of `row` on the line through two rows, or of the first of them if they
    /// have the same key.
    fn on_line(&self, row: usize, from: usize, to: usize) -> Option<Number> {
        let (start, end) = (self.key(from)?, self.key(to)?);
        let (way, done) = (start.distance_to(end), start.distance_to(self.key(row)?));
        let (low, high) = (self.value(from)?, self.value(to)?);
        if way == 0.0 {
            return Some(low);
        }
        let exact = whole_on_line([start, self.key(row)?, end], [low, high]);
        exact.or_else(|| low.on_the_way(high, done / way))
    }
}

/// What [`Points::on_line`] finds, of whole numbers that are not too large.
fn whole_on_line(keys: [Number; 3], values: [Number; 2]) -> Option<Number> {
    let [Number::Whole(start), Number::Whole(at), Number::Whole(end)] = keys else { return None };
    let [Number::Whole(low), Number::Whole(high)] = values else { return None };
    let (way, done) = (end.checked_sub(start)?, at.checked_sub(start)?);
    let risen = done.checked_mul(high.checked_sub(low)?)?;
    low.checked_mul(way)?.checked_add(risen)?.checked_div(way).map(Number::Whole)
}

fn number_at(column: &Decoded<'_>, row: usize) -> Option<Number> {
    if column.is_null(row) {
        return None;
    }
    let index = column.index(row);
    Some(match column.values() {
        Values::I8(values) => Number::Whole(values[index].into()),
        Values::I16(values) => Number::Whole(values[index].into()),
        Values::I32(values) => Number::Whole(values[index].into()),
        Values::I64(values) => Number::Whole(values[index].into()),
        Values::I128(values) => Number::Whole(values[index]),
        Values::F32(values) => Number::Float(values[index].into()),
        Values::F64(values) => Number::Float(values[index]),
        _ => return None,
    })
}

/// The rows nearest to one that count.
#[derive(Default)]
struct Nearest {
    /// The next row to go to.
    next: usize,
    partition: Range<usize>,
    /// The last one before it, and the one before that.
    before: [Option<usize>; 2],
    /// The first one after it, and the one after that; the end of the partition for none.
    after: [usize; 2],
}

impl Nearest {
    fn go_to(&mut self, row: usize, partition: Range<usize>, points: &Points<'_>) {
        if self.partition != partition || self.next != row {
            let mut earlier = (partition.start..row).rev().filter(|it| points.counts(*it));
            self.before = [earlier.next(), earlier.next()];
            self.after = [row; 2];
            self.partition = partition;
        } else if row > self.partition.start && points.counts(row - 1) {
            self.before = [Some(row - 1), self.before[0]];
        }
        self.next = row + 1;
    }

    /// The value of `row`, the one gone to last.
    fn value(&mut self, row: usize, points: &Points<'_>) -> Option<Number> {
        points.key(row)?;
        let after = self.first_after(0, row, points);
        match (self.before, after) {
            ([Some(before), _], Some(after)) => points.on_line(row, before, after),
            ([Some(last), Some(first)], None) => points.on_line(row, first, last),
            ([Some(only), None], None) => points.value(only),
            ([None, _], Some(first)) => match self.first_after(1, first, points) {
                Some(second) => points.on_line(row, first, second),
                None => points.value(first),
            },
            ([None, _], None) => None,
        }
    }

    /// The first row after `row` that counts; what was found is kept at `place`.
    fn first_after(&mut self, place: usize, row: usize, points: &Points<'_>) -> Option<usize> {
        let end = self.partition.end;
        if self.after[place] <= row {
            let found = (row + 1..end).find(|it| points.counts(*it));
            self.after[place] = found.unwrap_or(end);
        }
        Some(self.after[place]).filter(|it| *it < end)
    }
}

/// Numbers as values of a type; those that do not fit are null.
fn vector_of(numbers: &[Option<Number>], data_type: &Type) -> Result<Vector> {
    fn native<T: Native + Default>(
        data_type: &Type,
        values: impl Iterator<Item = Option<T>>,
    ) -> Vector {
        let values: Vec<Option<T>> = values.collect();
        let valid = BooleanBuffer::collect_bool(values.len(), |row| values[row].is_some());
        let nulls = Some(NullBuffer::new(valid)).filter(|it| it.null_count() > 0);
        let values: Vec<T> = values.into_iter().map(Option::unwrap_or_default).collect();
        Vector::native::<T>(data_type.clone(), values, nulls)
    }
    let floats = || numbers.iter().map(|it| it.map(Number::as_f64));
    let bounds = match data_type {
        Type::Decimal { precision, .. } => {
            let end = 10_i128.pow(u32::from(*precision));
            1 - end..=end - 1
        }
        Type::Time => 0..=MICROS_PER_DAY.into(),
        _ => i128::MIN..=i128::MAX,
    };
    let whole = |it: &Option<Number>| match it {
        Some(Number::Whole(it)) => Some(*it).filter(|it| bounds.contains(it)),
        _ => None,
    };
    Ok(match data_type.physical() {
        PhysicalType::F32 => native::<f32>(data_type, floats().map(|it| it.map(|it| it as f32))),
        PhysicalType::F64 => native::<f64>(data_type, floats()),
        other => match_integer!(other, T => {
            let values = numbers.iter().map(|it| T::try_from(whole(it)?).ok());
            native::<T>(data_type, values)
        }, else return Err(Error::internal("fill of another type"))),
    })
}
