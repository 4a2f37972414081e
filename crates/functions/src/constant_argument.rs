//! Functions with a faster version for a constant text among their arguments.

use std::sync::Arc;
use volley_error::Result;
use volley_function::{BindScalar, ScalarFunction, simple};
use volley_types::Value;
use volley_vector::Vector;

/// The binding `bind`, whose functions have another version where argument number `index` is a
/// constant text. `make` gets that text and returns the function of the other arguments.
pub(crate) fn for_constant_text(
    bind: BindScalar,
    index: usize,
    make: impl Fn(&str) -> Result<Arc<dyn ScalarFunction>> + Send + Sync + 'static,
) -> BindScalar {
    simple::specialized(bind, move |args| {
        let constant = args.get(index).and_then(|it| it.constant.as_ref());
        let Some(text) = constant.and_then(Value::as_str) else { return Ok(None) };
        let made = make(text)?;
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            let others = args.iter().enumerate().filter(|(it, _)| *it != index);
            let others: Vec<Vector> = others.map(|it| it.1.clone()).collect();
            made.evaluate(rows, &others, to, ctx)
        })))
    })
}
