//! `greatest` and `least` of any number of values; nulls do not count.

use crate::{
    documentation::doc,
    order::{SqlOrder, compare_values},
};
use std::{cmp::Ordering, sync::Arc};
use volley_error::Result;
use volley_function::{BoundScalar, EvalContext, Registry, ScalarTraits, simple};
use volley_types::{CustomOrder, Native, PhysicalType, Type, common_type, match_native};
use volley_vector::{Decoded, NullBuffer, Rows, Vector};

/// Registers `greatest` and `least`.
pub(super) fn register(registry: &mut Registry) {
    let greatest = doc(
        "greatest(x, ...) -> the common type",
        "The greatest value that is not null; null when all are.",
        "math",
        &[("greatest(1, NULL, 3)", "3")],
    );
    let least = doc(
        "least(x, ...) -> the common type",
        "The least value that is not null; null when all are.",
        "math",
        &[("least(1, NULL, 3)", "1")],
    );
    registry.add_scalar(
        "greatest",
        greatest,
        Arc::new(|args: &[Type]| bind(args, Ordering::Greater)),
    );
    registry.add_scalar("least", least, Arc::new(|args: &[Type]| bind(args, Ordering::Less)));
}

fn bind(args: &[Type], wanted: Ordering) -> Option<BoundScalar> {
    let (first, rest) = args.split_first()?;
    let common = rest.iter().try_fold(first.clone(), |a, b| common_type(&a, b))?;
    if common.order() < CustomOrder::Ordered {
        return None;
    }
    let function = simple::vectorized(move |rows, args, to, _: &mut EvalContext| {
        choose(rows, args, to, wanted)
    });
    Some(BoundScalar::new(vec![common.clone(); args.len()], common, TRAITS, function))
}

const TRAITS: ScalarTraits =
    ScalarTraits { propagates_nulls: false, associative: true, ..ScalarTraits::INFALLIBLE };

fn choose(rows: &Rows, args: &[Vector], to: &Type, wanted: Ordering) -> Result<Vector> {
    match choose_values(args, to, wanted)? {
        Some(chosen) => Ok(chosen),
        None => choose_rows(rows, args, to, wanted),
    }
}

/// Chooses among values of a fixed width that are compared as they are stored; `None` for others.
/// Inactive rows get values, too.
fn choose_values(args: &[Vector], to: &Type, wanted: Ordering) -> Result<Option<Vector>> {
    if matches!(to, Type::Custom(_)) || !args.iter().all(|it| it.data_type() == to) {
        return Ok(None);
    }
    let decoded = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
    Ok(match_native!(to.physical(), T => {
        let (values, nulls) = match wanted {
            Ordering::Less => fold::<T>(&decoded, |new, best| new.sql_cmp(best).is_lt()),
            _ => fold::<T>(&decoded, |new, best| new.sql_cmp(best).is_gt()),
        };
        Some(Vector::native::<T>(to.clone(), values, nulls))
    }, else None))
}

/// Takes a value of a later argument where it is better than the best one so far.
fn fold<T: Native>(
    args: &[Decoded<'_>],
    is_better: impl Fn(&T, &T) -> bool,
) -> (Vec<T>, Option<NullBuffer>) {
    let Some((first, others)) = args.split_first() else { return (Vec::new(), None) };
    let len = first.len();
    let values = first.native::<T>();
    let mut best: Vec<T> = (0..len).map(|row| values[first.index(row)]).collect();
    let mut nulls = first.nulls();
    for arg in others {
        let values = arg.native::<T>();
        let new_nulls = arg.nulls();
        let rows = best.iter_mut().enumerate();
        match (&nulls, &new_nulls) {
            (None, None) => rows.for_each(|(row, best)| {
                let new = values[arg.index(row)];
                *best = if is_better(&new, best) { new } else { *best };
            }),
            (best_nulls, new_nulls) => {
                let is_valid = |nulls: &Option<NullBuffer>, row| {
                    nulls.as_ref().is_none_or(|it| it.is_valid(row))
                };
                rows.for_each(|(row, best)| {
                    let new = values[arg.index(row)];
                    let is_first = !is_valid(best_nulls, row);
                    if is_valid(new_nulls, row) && (is_first || is_better(&new, best)) {
                        *best = new;
                    }
                });
                nulls = valid_in_either(best_nulls, new_nulls);
            }
        }
    }
    (best, nulls)
}

/// The nulls of rows that are null in both.
fn valid_in_either(a: &Option<NullBuffer>, b: &Option<NullBuffer>) -> Option<NullBuffer> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    Some(NullBuffer::new(a.inner() | b.inner()))
}

/// Chooses an argument for each active row.
fn choose_rows(rows: &Rows, args: &[Vector], to: &Type, wanted: Ordering) -> Result<Vector> {
    let keys = args.iter().map(Vector::comparison_keys).collect::<Result<Vec<_>>>()?;
    let decoded = keys.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
    let key_type = keys.first().map_or(to, Vector::data_type);
    let chosen = match_native!(key_type.physical(), T => {
        let values: Vec<&[T]> = decoded.iter().map(Decoded::native::<T>).collect();
        choices(rows, &decoded, wanted, |(a, i), (b, j)| {
            values[a][decoded[a].index(i)].sql_cmp(&values[b][decoded[b].index(j)])
        })
    }, else match key_type.physical() {
        PhysicalType::View => choices(rows, &decoded, wanted, |(a, i), (b, j)| {
            decoded[a].bytes(i).cmp(decoded[b].bytes(j))
        }),
        _ => {
            let values = keys.iter().map(Vector::to_values).collect::<Result<Vec<_>>>()?;
            choices(rows, &decoded, wanted, |(a, i), (b, j)| {
                compare_values(&values[a][i], &values[b][j])
            })
        }
    });
    // The rows of all arguments are stored one after the other.
    let len = rows.len() as u32;
    let indices: Vec<u32> = (0..len).zip(&chosen).map(|(row, arg)| arg * len + row).collect();
    Vector::concat(to, args)?.gather(&indices)
}

/// Which argument each row takes; all null: the first.
fn choices(
    rows: &Rows,
    args: &[Decoded<'_>],
    wanted: Ordering,
    compare: impl Fn((usize, usize), (usize, usize)) -> Ordering,
) -> Vec<u32> {
    let mut chosen = vec![0; rows.len()];
    rows.for_each(|row| {
        let mut best: Option<usize> = None;
        for (index, arg) in args.iter().enumerate() {
            let better = |best: usize| compare((index, row), (best, row)) == wanted;
            if !arg.is_null(row) && best.is_none_or(better) {
                best = Some(index);
            }
        }
        chosen[row] = best.unwrap_or(0) as u32;
    });
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use volley_types::Value;

    /// A flat column, a dictionary and a constant of the values, with and without nulls.
    fn columns(data_type: &Type, values: &[Value], rows: usize) -> Vec<Vector> {
        let cycle = |offset: usize| -> Vec<Value> {
            (0..rows).map(|it| values[(it * 7 + offset) % values.len()].clone()).collect()
        };
        let flat = |values: &[Value]| Vector::from_values(data_type.clone(), values);
        let codes: Vec<u32> = (0..rows).map(|it| (it * 5 % values.len()) as u32).collect();
        let valid: Vec<Value> = cycle(1).into_iter().filter(|it| !it.is_null()).collect();
        let valid: Vec<Value> = valid.iter().cycle().take(rows).cloned().collect();
        vec![
            flat(&cycle(0)),
            Vector::dictionary(codes.into(), Arc::new(flat(values)), None),
            Vector::constant(data_type.clone(), &values[0], rows),
            flat(&valid),
            flat(&valid.iter().rev().cloned().collect::<Vec<_>>()),
        ]
    }

    fn check(data_type: &Type, values: &[Value]) {
        for rows in [1, 3, 200] {
            let columns = columns(data_type, values, rows);
            for wanted in [Ordering::Less, Ordering::Greater] {
                for picked in [&[0, 1, 2][..], &[3, 4], &[4, 0], &[1], &[2, 3, 0, 4]] {
                    let args: Vec<Vector> = picked.iter().map(|it| columns[*it].clone()).collect();
                    let all = Rows::all(rows);
                    let plain = choose_rows(&all, &args, data_type, wanted).unwrap();
                    let plain = format!("{:?}", plain.to_values().unwrap());
                    let chosen = choose_values(&args, data_type, wanted).unwrap();
                    let chosen = chosen.expect("values of a fixed width");
                    assert_eq!(format!("{:?}", chosen.to_values().unwrap()), plain);
                }
            }
        }
    }

    #[test]
    fn values_are_chosen_as_rows_are() {
        let integers = [3, -7, i64::MAX, i64::MIN, 0].map(Value::BigInt);
        check(&Type::BigInt, &[&integers[..], &[Value::Null]].concat());
        let doubles = [f64::NAN, -0.0, 0.0, f64::INFINITY, -1.5].map(Value::Double);
        check(&Type::Double, &[&doubles[..], &[Value::Null]].concat());
        check(&Type::Date, &[Value::Date(5), Value::Date(-5), Value::Null]);
    }

    #[test]
    fn texts_are_chosen_row_by_row() {
        let text = Vector::from_values(Type::Varchar, &[Value::text("a")]);
        assert!(choose_values(&[text], &Type::Varchar, Ordering::Less).unwrap().is_none());
    }
}
