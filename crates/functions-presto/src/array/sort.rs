//! Sorting: `array_sort`, `array_sort_desc`, `array_top_n`.

use super::doc;
use std::{cmp::Ordering, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    ArgumentType, BindHigherOrder, BoundHigherOrder, EvalContext, LambdaType, Package, Registry,
    simple::{
        Any, Array, ArrayView, ArrayWriter, LambdaView, Orderable, OrderableValue, map_written,
        sorted,
    },
};
use volley_types::Type;
use volley_vector::{Rows, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.array_sort",
        doc(
            "array_sort(array) -> array",
            "The elements in ascending order, nulls last.",
            &[("array_sort(ARRAY[2, NULL, 1])", "[1, 2, NULL]")],
        ),
        |array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<Any<0>>| {
            write_sorted(array, usize::MAX, Ord::cmp, out);
        },
    );
    registry.share_with_lambdas(Package::Presto, "array_sort", "array_sort");
    registry.simple(
        "presto.array_sort_desc",
        doc(
            "array_sort_desc(array) -> array",
            "The elements in descending order, nulls last.",
            &[("array_sort_desc(ARRAY[1, NULL, 2])", "[2, 1, NULL]")],
        ),
        |array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<Any<0>>| {
            write_sorted(array, usize::MAX, |a, b| b.cmp(a), out);
        },
    );
    registry.simple(
        "presto.array_sort_desc",
        doc(
            "array_sort_desc(array, x -> key) -> array",
            "The elements in descending order of what the lambda makes of them, those with a null \
             last. Elements with equal keys keep their order.",
            &[(
                "array_sort_desc(ARRAY['cat', 'leopard', 'mouse'], x -> length(x))",
                "[leopard, mouse, cat]",
            )],
        ),
        |array: ArrayView<Any<0>>,
         keys: LambdaView<Orderable<1>>,
         out: &mut ArrayWriter<Any<0>>| {
            let pairs = keys.iter().zip(array.iter());
            // A key that is there is greater than one that is not.
            if let Some(mut pairs) = sorted(array.len(), pairs, |a, b| b.0.cmp(&a.0)) {
                out.extend(pairs.drain(..).map(|it| it.1));
            }
        },
    );
    register_top(registry);
}

fn register_top(registry: &mut Registry) {
    registry.simple(
        "presto.array_top_n",
        doc(
            "array_top_n(array, n) -> array",
            "The n greatest elements in descending order, nulls last.",
            &[("array_top_n(ARRAY[1, 100, 2, 5, 3], 3)", "[100, 5, 3]")],
        ),
        |array: ArrayView<Orderable<0>>, n: i64, out: &mut ArrayWriter<Any<0>>| -> Result<()> {
            write_sorted(array, count_of(n)?, |a, b| b.cmp(a), out);
            Ok(())
        },
    );
    let sort = ComparisonSort::of(registry);
    registry.add_higher_order(
        "presto.array_top_n",
        doc(
            "array_top_n(array, n, (a, b) -> comparison) -> array",
            "The last n elements in the order that the lambda says, in reverse; it answers -1, 0 \
             or 1, as for array_sort.",
            &[(
                "array_top_n(ARRAY[1, 3, 2], 2, (a, b) -> IF(a < b, 1, IF(a = b, 0, -1)))",
                "[1, 2]",
            )],
        ),
        Arc::new(move |args: &[ArgumentType]| bind_top_n(&sort, args)),
    );
}

/// The requested number of elements.
fn count_of(n: i64) -> Result<usize> {
    usize::try_from(n).map_err(|_| {
        Error::invalid_value(format!("the parameter n of array_top_n is negative: {n}"))
    })
}

/// The first `count` elements in the order of `compare`, nulls last.
fn write_sorted<'a>(
    array: ArrayView<'a, Orderable<0>>,
    count: usize,
    compare: impl Fn(&OrderableValue<'a, 0>, &OrderableValue<'a, 0>) -> Ordering,
    out: &mut ArrayWriter<Any<0>>,
) {
    let values = array.iter().flatten();
    let Some(mut values) = sorted(array.len(), values, compare) else { return };
    let nulls = array.len() - values.len();
    let missing = count.saturating_sub(values.len()).min(nulls);
    out.extend(values.drain(..).take(count));
    (0..missing).for_each(|_| out.push_null());
}

fn bind_top_n(sort: &ComparisonSort, args: &[ArgumentType]) -> Option<BoundHigherOrder> {
    let [array, _, ArgumentType::Lambda(lambda)] = args else { return None };
    let element = match array.value()? {
        Type::Array(element) => element.as_ref().clone(),
        Type::Unknown => Type::Unknown,
        _ => return None,
    };
    let sort = sort.bind(&element, lambda)?;
    let array = Type::array(element);
    let args = vec![
        ArgumentType::Value(array.clone()),
        ArgumentType::Value(Type::BigInt),
        sort.args.get(1)?.clone(),
    ];
    let (result, traits) = (array, sort.traits);
    Some(BoundHigherOrder::of_closure(args, result, traits, move |rows, args, lambdas, to, ctx| {
        let sorted = sort.function.evaluate(rows, &args[..1], lambdas, to, ctx)?;
        take_from_end(rows, &[sorted, args[1].clone()], count_of, to, ctx)
    }))
}

/// For arrays and numbers: this number of last elements of the array, in reverse.
///
/// # Errors
///
/// Only what fails the whole query.
pub(crate) fn take_from_end(
    rows: &Rows,
    args: &[Vector],
    count_of: impl Fn(i64) -> Result<usize>,
    to: &Type,
    ctx: &mut EvalContext,
) -> Result<Vector> {
    type Args = (Array<Any<0>>, i64);
    map_written::<Args, ArrayWriter<Any<0>>, Result<()>>(rows, args, to, ctx, |(array, n), out| {
        out.extend(array.iter().rev().take(count_of(n)?));
        Ok(())
    })
}

/// `array_sort` with a comparison as a step of other functions: the core's.
#[derive(Clone)]
pub(crate) struct ComparisonSort(Vec<BindHigherOrder>);

impl ComparisonSort {
    /// That of a registry which has the core's functions.
    pub(crate) fn of(registry: &Registry) -> ComparisonSort {
        let entry = registry.higher_order().get("array_sort");
        ComparisonSort(entry.map(|it| it.overloads.clone()).unwrap_or_default())
    }

    /// The function that sorts arrays of such elements by `lambda`, which compares two of them;
    /// its arguments are an array and the lambda.
    pub(crate) fn bind(&self, element: &Type, lambda: &LambdaType) -> Option<BoundHigherOrder> {
        if lambda.parameters.len() != 2 {
            return None;
        }
        let array = ArgumentType::Value(Type::array(element.clone()));
        let args = [array, ArgumentType::Lambda(lambda.clone())];
        self.0.iter().find_map(|bind| bind(&args))
    }
}
