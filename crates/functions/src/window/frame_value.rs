//! Values of certain rows of the frame: `first_value`, `last_value`, `nth_value`.

use super::{counts, is_count};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundWindow, FrameParts, FunctionDoc, Registry, WindowFunction, WindowReach, WindowRows,
    gather_or_null,
};
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Registers these functions.
pub(super) fn register(registry: &mut Registry) {
    let add = |registry: &mut Registry, name: &str, doc: FunctionDoc, which: Which| {
        registry.add_window(name, doc, Arc::new(move |args: &[Type]| bind(args, which)));
    };
    let first_value = doc(
        "first_value(x) -> as x",
        "The value of x in the first row of the frame; null when the frame is empty. With IGNORE \
         NULLS, in the first row where it is not null.",
        "window",
        &[("first_value(x) OVER (ORDER BY x) FROM (VALUES (2), (1)) v(x)", "1\n1")],
    );
    add(registry, "first_value", first_value, Which::First);
    let last_value = doc(
        "last_value(x) -> as x",
        "The value of x in the last row of the frame; null when the frame is empty. Mind that a \
         frame ends at the current row unless it says otherwise. With IGNORE NULLS, in the last \
         row where it is not null.",
        "window",
        &[(
            "last_value(x) OVER (ORDER BY x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) \
             FROM (VALUES (2), (1)) v(x)",
            "2\n2",
        )],
    );
    add(registry, "last_value", last_value, Which::Last);
    let nth_value = doc(
        "nth_value(x, n) -> as x",
        "The value of x in row n of the frame, counted from 1; null when the frame has fewer rows, \
         or n is null. With IGNORE NULLS, rows where x is null do not count.",
        "window",
        &[("nth_value(x, 2) OVER (ORDER BY x) FROM (VALUES (1), (2), (3)) v(x)", "NULL\n2\n2")],
    );
    add(registry, "nth_value", nth_value, Which::Nth);
}

fn bind(args: &[Type], which: Which) -> Option<BoundWindow> {
    let (value, args) = match (args, which) {
        ([value], Which::First | Which::Last) => (value, vec![value.clone()]),
        ([value, n], Which::Nth) if is_count(n) => (value, vec![value.clone(), Type::BigInt]),
        _ => return None,
    };
    Some(BoundWindow {
        takes_null_treatment: true,
        uses_frame: true,
        uses_peers: false,
        reach: match which {
            Which::First => WindowReach::First,
            Which::Last => WindowReach::Last,
            Which::Nth => WindowReach::Nth,
        },
        ..BoundWindow::new(args, value.clone(), which)
    })
}

#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
    Nth,
}

impl WindowFunction for Which {
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
        let Some(values) = window.args.first() else {
            return Err(Error::internal("a function of the frame without an argument"));
        };
        let nth = |frame: &FrameParts, n: usize| match window.valid {
            None => frame.nth(n),
            Some(valid) => valid.nth(frame, n),
        };
        let last = |frame: &FrameParts| match window.valid {
            None => frame.last(),
            Some(valid) => valid.last(frame),
        };
        let frames = (0..window.rows.len()).map(|it| window.frame(it));
        match self {
            Which::First => gather_or_null(values, frames.map(|it| nth(&it, 0))),
            Which::Last => gather_or_null(values, frames.map(|it| last(&it))),
            Which::Nth => {
                let Some(n) = window.args.get(1) else {
                    return Err(Error::internal("nth_value without a number"));
                };
                let n = Decoded::new(n)?;
                let n = counts(&n);
                let position = |(row, frame): (usize, FrameParts)| match n(row) {
                    None => Ok(None),
                    Some(n) if n <= 0 => {
                        let error = Error::invalid_value(format!("nth_value of row {n}"));
                        Err(error.hint("rows of the frame are counted from 1"))
                    }
                    Some(n) => Ok(nth(&frame, usize::try_from(n - 1).unwrap_or(usize::MAX))),
                };
                let rows = window.rows.clone().zip(frames);
                let positions = rows.map(position).collect::<Result<Vec<_>>>()?;
                gather_or_null(values, positions)
            }
        }
    }
}
