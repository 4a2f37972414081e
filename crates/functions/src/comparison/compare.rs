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
        _ => {
            return by_order(comparison, rows, |row| a[left.index(row)].order(b[right.index(row)]));
        }
    }
    words
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
