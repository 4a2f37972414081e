//! Functions with a faster version for a constant text among their arguments.

use std::sync::Arc;
use volley_error::Result;
use volley_function::{Argument, BindScalar, EvalContext, ScalarFunction, simple};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// The binding `bind`, whose functions have another version where argument number `index` is a
/// constant text. `make` gets that text and returns the function of the other arguments.
pub(crate) fn for_constant_text(
    bind: BindScalar,
    index: usize,
    make: impl Fn(&str) -> Result<Arc<dyn ScalarFunction>> + Send + Sync + 'static,
) -> BindScalar {
    let make: Arc<Make> = Arc::new(make);
    Arc::new(move |args: &[Type]| {
        let mut bound = bind(args)?;
        let (plain, make) = (bound.function, Arc::clone(&make));
        bound.function = Arc::new(ForConstantText { plain, index, make });
        Some(bound)
    })
}

type Make = dyn Fn(&str) -> Result<Arc<dyn ScalarFunction>> + Send + Sync;

struct ForConstantText {
    plain: Arc<dyn ScalarFunction>,
    index: usize,
    make: Arc<Make>,
}

impl ScalarFunction for ForConstantText {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.plain.evaluate(rows, args, result_type, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let constant = args.get(self.index).and_then(|it| it.constant.as_ref());
        let Some(text) = constant.and_then(Value::as_str) else { return Ok(None) };
        let (made, index) = ((self.make)(text)?, self.index);
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            let others = args.iter().enumerate().filter(|(it, _)| *it != index);
            let others: Vec<Vector> = others.map(|it| it.1.clone()).collect();
            made.evaluate(rows, &others, to, ctx)
        })))
    }
}
