//! The loops of comparisons: one per layout and shape of the arguments.

use std::{borrow::Cow, cmp::Ordering};
use volley_error::{Error, Result};
use volley_function::{EvalContext, ScalarFunction};
use volley_kernels::{
    compare::{Comparison, compare_columns, compare_constant},
    order::Ordered,
};
use volley_types::{Native, Type};
use volley_vector::{
    BooleanBuffer, Buffer, Decoded, Indices, NullBuffer, Rows, StringValues, StringView, Values,
    Vector, comparator,
    compare::{compare_strings, equal_strings, interval_nanos},
};

/// One of the six comparisons.
pub(super) struct Compare(pub(super) Comparison);

impl ScalarFunction for Compare {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        _result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let args = &keys_of(args)?;
        let (left, right) = two(args)?;
        let sides = (&Decoded::new(left)?, &Decoded::new(right)?);
        let nulls = NullBuffer::union(sides.0.nulls().as_ref(), sides.1.nulls().as_ref());
        let words = match &nulls {
            None => compare(self.0, sides, rows, args)?,
            Some(nulls) => {
                let mut rows = rows.clone();
                rows.subtract_nulls(nulls);
                compare(self.0, sides, &rows, args)?
            }
        };
        Ok(Vector::boolean(bits_of(words, rows.len()), nulls))
    }
}

/// IS DISTINCT FROM, or its negation.
pub(super) struct Distinct {
    pub(super) negated: bool,
}

impl ScalarFunction for Distinct {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        _result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let args = &keys_of(args)?;
        let (left, right) = two(args)?;
        let sides = (&Decoded::new(left)?, &Decoded::new(right)?);
        let all = Rows::all(rows.len());
        let (mut valid_left, mut valid_right) = (all.clone(), all.clone());
        if let Some(nulls) = sides.0.nulls() {
            valid_left.subtract_nulls(&nulls);
        }
        if let Some(nulls) = sides.1.nulls() {
            valid_right.subtract_nulls(&nulls);
        }
        let mut both = valid_left.clone();
        both.intersect(&valid_right);
        let mut active = both.clone();
        active.intersect(rows);
        let mut words = compare(Comparison::NotEqual, sides, &active, args)?;
        for (index, word) in words.iter_mut().enumerate() {
            let one_null = valid_left.words()[index] ^ valid_right.words()[index];
            *word = (*word & both.words()[index]) | one_null;
            if self.negated {
                *word = !*word & all.words()[index];
            }
        }
        Ok(Vector::boolean(bits_of(words, rows.len()), None))
    }
}

/// What the arguments are compared by.
fn keys_of(args: &[Vector]) -> Result<Cow<'_, [Vector]>> {
    if args.iter().all(|it| it.data_type().key_type().is_none()) {
        return Ok(Cow::Borrowed(args));
    }
    args.iter().map(Vector::comparison_keys).collect::<Result<_>>().map(Cow::Owned)
}

fn two(args: &[Vector]) -> Result<(&Vector, &Vector)> {
    match args {
        [left, right] => Ok((left, right)),
        _ => Err(Error::internal("comparison of other than two values")),
    }
}

fn bits_of(words: Vec<u64>, len: usize) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from_vec(words), 0, len)
}

/// The bitmap of the comparison for `rows`, none of which is null; others are unspecified.
fn compare(
    comparison: Comparison,
    (left, right): (&Decoded, &Decoded),
    rows: &Rows,
    args: &[Vector],
) -> Result<Vec<u64>> {
    if rows.is_empty() {
        return Ok(vec![0; rows.words().len()]);
    }
    let sides = (left, right);
    Ok(match (left.values(), right.values()) {
        (Values::Boolean(_), Values::Boolean(_)) => {
            by_order(comparison, rows, |row| left.boolean(row).cmp(&right.boolean(row)))
        }
        (Values::I8(_), Values::I8(_)) => compare_native::<i8>(comparison, sides, rows),
        (Values::I16(_), Values::I16(_)) => compare_native::<i16>(comparison, sides, rows),
        (Values::I32(_), Values::I32(_)) => compare_native::<i32>(comparison, sides, rows),
        (Values::I64(_), Values::I64(_)) => compare_native::<i64>(comparison, sides, rows),
        (Values::I128(_), Values::I128(_)) => compare_native::<i128>(comparison, sides, rows),
        (Values::F32(_), Values::F32(_)) => compare_native::<f32>(comparison, sides, rows),
        (Values::F64(_), Values::F64(_)) => compare_native::<f64>(comparison, sides, rows),
        (Values::Interval(a), Values::Interval(b)) => by_order(comparison, rows, |row| {
            interval_nanos(a[left.index(row)]).cmp(&interval_nanos(b[right.index(row)]))
        }),
        (Values::View(a), Values::View(b)) => compare_views(comparison, sides, (a, b), rows),
        _ => {
            let order = comparator(&args[0], &args[1])?;
            by_order(comparison, rows, |row| order.compare_valid(row, row))
        }
    })
}

fn compare_native<T: Native + Ordered>(
    comparison: Comparison,
    (left, right): (&Decoded, &Decoded),
    rows: &Rows,
) -> Vec<u64> {
    let (a, b) = (left.native::<T>(), right.native::<T>());
    let mut words = vec![0; rows.words().len()];
    match (left.indices(), right.indices()) {
        (Indices::Identity, Indices::Identity) => compare_columns(comparison, a, b, &mut words),
        (Indices::Identity, Indices::Constant(index)) => {
            compare_constant(comparison, a, b[*index as usize], &mut words);
        }
        (Indices::Constant(index), Indices::Identity) => {
            compare_constant(comparison.flipped(), b, a[*index as usize], &mut words);
        }
        _ if rows.count() * ACTIVE_SHARE >= rows.len() => {
            compare_columns(comparison, &in_rows(left, a), &in_rows(right, b), &mut words);
        }
        _ => return compare_by_index(comparison, (left, a), (right, b), rows),
    }
    words
}

/// The least share of active rows, 1 of this many, for which values are copied to be compared
/// without indices.
const ACTIVE_SHARE: usize = 4;

/// The value of each row. Null rows may have an index of no value.
fn in_rows<'a, T: Native>(side: &Decoded<'_>, values: &'a [T]) -> Cow<'a, [T]> {
    let value = |index: &u32| values.get(*index as usize).copied().unwrap_or_default();
    match side.indices() {
        Indices::Identity => Cow::Borrowed(values),
        Indices::Constant(index) => Cow::Owned(vec![value(index); side.len()]),
        Indices::Codes(codes) => Cow::Owned(codes.iter().map(value).collect()),
    }
}

/// Compares active rows alone, in any encoding.
fn compare_by_index<T: Native + Ordered>(
    comparison: Comparison,
    (left, a): (&Decoded, &[T]),
    (right, b): (&Decoded, &[T]),
    rows: &Rows,
) -> Vec<u64> {
    by_order(comparison, rows, |row| a[left.index(row)].order(b[right.index(row)]))
}

fn compare_views(
    comparison: Comparison,
    (left, right): (&Decoded, &Decoded),
    (a, b): (&StringValues, &StringValues),
    rows: &Rows,
) -> Vec<u64> {
    let equal = |row| equal_strings(a, left.index(row), b, right.index(row));
    match comparison {
        Comparison::Equal | Comparison::NotEqual => {
            let wanted = comparison == Comparison::Equal;
            match (left.indices(), right.indices()) {
                (Indices::Identity, Indices::Constant(index)) => {
                    equal_to_constant(rows, a, (b, *index as usize), wanted)
                }
                (Indices::Constant(index), Indices::Identity) => {
                    equal_to_constant(rows, b, (a, *index as usize), wanted)
                }
                _ => by_row(rows, |row| equal(row) == wanted),
            }
        }
        _ => by_order(comparison, rows, |row| {
            compare_strings(a, left.index(row), b, right.index(row))
        }),
    }
}

/// A short constant is equal exactly when the 16 bytes of the view are.
fn equal_to_constant(
    rows: &Rows,
    values: &StringValues,
    (constants, index): (&StringValues, usize),
    wanted: bool,
) -> Vec<u64> {
    let view = constants.views[index];
    if StringView::len_of(view) <= volley_vector::INLINE_BYTES {
        return by_row(rows, |row| (values.views[row] == view) == wanted);
    }
    by_row(rows, |row| equal_strings(values, row, constants, index) == wanted)
}

fn by_order(comparison: Comparison, rows: &Rows, order: impl Fn(usize) -> Ordering) -> Vec<u64> {
    match comparison {
        Comparison::Equal => by_row(rows, |row| order(row).is_eq()),
        Comparison::NotEqual => by_row(rows, |row| order(row).is_ne()),
        Comparison::Less => by_row(rows, |row| order(row).is_lt()),
        Comparison::LessOrEqual => by_row(rows, |row| order(row).is_le()),
        Comparison::Greater => by_row(rows, |row| order(row).is_gt()),
        Comparison::GreaterOrEqual => by_row(rows, |row| order(row).is_ge()),
    }
}

/// One bit per row, without a branch.
fn by_row(rows: &Rows, holds: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut words = vec![0u64; rows.words().len()];
    rows.for_each(|row| words[row / 64] |= u64::from(holds(row)) << (row % 64));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use volley_types::Value;

    #[test]
    fn copied_values_compare_as_those_read_by_index() {
        let doubles = [f64::NAN, -0.0, 0.0, f64::INFINITY, -2.5, 7.0];
        for len in [1, 3, 64, 200] {
            let codes = |step: usize| -> Vec<u32> {
                (0..len).map(|it| (it * step % doubles.len()) as u32).collect()
            };
            let base = Arc::new(Vector::native::<f64>(Type::Double, doubles.to_vec(), None));
            let dictionary = |step| Vector::dictionary(codes(step).into(), Arc::clone(&base), None);
            let flat = dictionary(5).flatten().unwrap();
            let constant = Vector::constant(Type::Double, &Value::Double(7.0), len);
            let columns = [dictionary(1), dictionary(5), flat, constant];
            let rows = Rows::all(len);
            for (left, right) in columns.iter().flat_map(|a| columns.iter().map(move |b| (a, b))) {
                let (left, right) = (Decoded::new(left).unwrap(), Decoded::new(right).unwrap());
                let (a, b) = (left.native::<f64>(), right.native::<f64>());
                for comparison in [Comparison::Equal, Comparison::Less, Comparison::GreaterOrEqual]
                {
                    let found = compare_native::<f64>(comparison, (&left, &right), &rows);
                    let plain = compare_by_index(comparison, (&left, a), (&right, b), &rows);
                    assert_eq!(found, plain);
                }
            }
        }
    }

    #[test]
    fn values_are_copied_in_the_order_of_rows() {
        let base = Arc::new(Vector::native::<i64>(Type::BigInt, vec![5, 6], None));
        let column = Vector::dictionary(vec![1, 0, 1].into(), base, None);
        let decoded = Decoded::new(&column).unwrap();
        assert_eq!(*in_rows(&decoded, decoded.native::<i64>()), [6, 5, 6]);
    }
}
