//! `greatest` and `least` of any number of values; nulls do not count.

use crate::{
    documentation::doc,
    order::{SqlOrder, compare_values},
};
use std::{cmp::Ordering, sync::Arc};
use volley_error::Result;
use volley_function::{BoundScalar, EvalContext, Registry, ScalarTraits, simple};
use volley_types::{CustomOrder, PhysicalType, Type, common_type, match_native};
use volley_vector::{Decoded, Rows, Vector};

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
