//! Sorted arrays: `list_sort`, `list_reverse_sort`, `list_grade_up`.

use super::{LIST_OR_ARRAY, nested_doc};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Any, ArrayView, ArrayWriter, Orderable, sorted, sorted_unstable},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    for prefix in LIST_OR_ARRAY {
        let name = format!("{prefix}_sort");
        let doc = nested_doc(
            &format!("{name}(array[, 'ASC' or 'DESC'[, 'NULLS FIRST' or 'NULLS LAST']]) -> array"),
            "The elements in ascending order with nulls last, or in the order that is asked for.",
            &[
                (&format!("{name}([2, NULL, 1])"), "[1, 2, NULL]"),
                (&format!("{name}([2, NULL, 1], 'DESC', 'NULLS FIRST')"), "[NULL, 2, 1]"),
            ],
        );
        add_sorting(registry, &name, doc, Order::ASCENDING);
        let name = format!("{prefix}_reverse_sort");
        let doc = nested_doc(
            &format!("{name}(array[, 'NULLS FIRST' or 'NULLS LAST']) -> array"),
            "The elements in descending order, with nulls last unless asked otherwise.",
            &[(&format!("{name}([2, NULL, 3])"), "[3, 2, NULL]")],
        );
        add_reversing(registry, &name, doc);
    }
    for name in ["list_grade_up", "array_grade_up", "grade_up"] {
        let doc = nested_doc(
            &format!("{name}(array[, 'ASC' or 'DESC'[, 'NULLS FIRST' or 'NULLS LAST']]) -> array"),
            "The positions, from 1, of the elements in their order.",
            &[(&format!("{name}([30, 10, 20])"), "[2, 3, 1]")],
        );
        add_grading(registry, name, doc);
    }
}

/// The order of elements.
#[derive(Clone, Copy)]
struct Order {
    is_descending: bool,
    nulls_come_first: bool,
}

impl Order {
    const ASCENDING: Order = Order { is_descending: false, nulls_come_first: false };
    const DESCENDING: Order = Order { is_descending: true, ..Order::ASCENDING };

    /// The order that a word asks for.
    fn directed(word: &str) -> Result<Order> {
        match word.to_ascii_uppercase().as_str() {
            "ASC" | "DEFAULT" => Ok(Order::ASCENDING),
            "DESC" => Ok(Order::DESCENDING),
            _ => Err(Error::invalid_value(format!("the order must be ASC or DESC: '{word}'"))),
        }
    }

    /// The same order with nulls where a phrase asks for them.
    fn with_nulls(self, phrase: &str) -> Result<Order> {
        let nulls_come_first = match phrase.to_ascii_uppercase().as_str() {
            "NULLS FIRST" => true,
            "NULLS LAST" | "DEFAULT" => false,
            _ => {
                let message = format!("nulls must be NULLS FIRST or NULLS LAST: '{phrase}'");
                return Err(Error::invalid_value(message));
            }
        };
        Ok(Order { nulls_come_first, ..self })
    }
}

/// Adds the forms without and with an order.
fn add_sorting(registry: &mut Registry, name: &str, doc: FunctionDoc, order: Order) {
    registry.simple(
        name,
        doc,
        move |array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<Any<0>>| {
            sort(array, order, out);
        },
    );
    registry.simple(
        name,
        FunctionDoc::default(),
        |array: ArrayView<Orderable<0>>, word: &str, out: &mut ArrayWriter<Any<0>>| -> Result<()> {
            sort(array, Order::directed(word)?, out);
            Ok(())
        },
    );
    registry.simple(
        name,
        FunctionDoc::default(),
        |array: ArrayView<Orderable<0>>,
         word: &str,
         nulls: &str,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> {
            sort(array, Order::directed(word)?.with_nulls(nulls)?, out);
            Ok(())
        },
    );
}

fn add_reversing(registry: &mut Registry, name: &str, doc: FunctionDoc) {
    registry.simple(name, doc, |array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<Any<0>>| {
        sort(array, Order::DESCENDING, out);
    });
    registry.simple(
        name,
        FunctionDoc::default(),
        |array: ArrayView<Orderable<0>>,
         nulls: &str,
         out: &mut ArrayWriter<Any<0>>|
         -> Result<()> {
            sort(array, Order::DESCENDING.with_nulls(nulls)?, out);
            Ok(())
        },
    );
}

fn add_grading(registry: &mut Registry, name: &str, doc: FunctionDoc) {
    registry.simple(name, doc, |array: ArrayView<Orderable<0>>, out: &mut ArrayWriter<i64>| {
        push_positions(array, Order::ASCENDING, out);
    });
    registry.simple(
        name,
        FunctionDoc::default(),
        |array: ArrayView<Orderable<0>>, word: &str, out: &mut ArrayWriter<i64>| -> Result<()> {
            push_positions(array, Order::directed(word)?, out);
            Ok(())
        },
    );
    registry.simple(
        name,
        FunctionDoc::default(),
        |array: ArrayView<Orderable<0>>,
         word: &str,
         nulls: &str,
         out: &mut ArrayWriter<i64>|
         -> Result<()> {
            push_positions(array, Order::directed(word)?.with_nulls(nulls)?, out);
            Ok(())
        },
    );
}

fn sort(array: ArrayView<'_, Orderable<0>>, order: Order, out: &mut ArrayWriter<Any<0>>) {
    // Equal elements look alike, so that their order does not matter.
    let values = array.iter().flatten();
    let Some(mut values) = sorted_unstable(array.len(), values, Ord::cmp) else { return };
    let nulls = array.len() - values.len();
    let push_nulls = |are_next: bool, out: &mut ArrayWriter<Any<0>>| {
        (0..if are_next { nulls } else { 0 }).for_each(|_| out.push_null());
    };
    push_nulls(order.nulls_come_first, out);
    match order.is_descending {
        true => out.extend(values.drain(..).rev()),
        false => out.extend(values.drain(..)),
    }
    push_nulls(!order.nulls_come_first, out);
}

/// Appends the positions of the elements from 1, in their order; equal ones in that of the array.
fn push_positions(array: ArrayView<'_, Orderable<0>>, order: Order, out: &mut ArrayWriter<i64>) {
    let positions = sorted(array.len(), 0..array.len(), |a, b| {
        let nulls = array.is_null(*b).cmp(&array.is_null(*a));
        let nulls = if order.nulls_come_first { nulls } else { nulls.reverse() };
        let values = array.get(*a).cmp(&array.get(*b));
        nulls.then(if order.is_descending { values.reverse() } else { values })
    });
    if let Some(positions) = positions {
        out.extend(positions.iter().map(|it| *it as i64 + 1));
    }
}
