//! Versions of functions for constant arguments after the first one, which have loops over the
//! first one alone.

use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    Argument, BindScalar, EvalContext, ScalarFunction,
    simple::{self, IntoSimple},
};
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// What makes the function of the first argument from the constants after it; `None` where there is
/// none, such as for constants with which each row fails.
type Make = dyn Fn(&[Value]) -> Option<Arc<dyn ScalarFunction>> + Send + Sync;

/// The binding of a function of several arguments, with the version that `make` makes where all but
/// the first argument are constant.
pub(crate) fn for_constants<M>(
    plain: impl IntoSimple<M>,
    make: impl Fn(&[Value]) -> Option<Arc<dyn ScalarFunction>> + Send + Sync + 'static,
) -> BindScalar {
    let (bind, make): (_, Arc<Make>) = (simple::scalar(plain).into_bind(), Arc::new(make));
    Arc::new(move |types: &[Type]| {
        let mut bound = bind(types)?;
        let (plain, make) = (bound.function, Arc::clone(&make));
        bound.function = Arc::new(ForConstants { plain, make });
        Some(bound)
    })
}

/// The loop of a closure of one argument of a type.
pub(crate) fn loop_of<M>(
    closure: impl IntoSimple<M>,
    argument: &Type,
) -> Option<Arc<dyn ScalarFunction>> {
    let bound = simple::scalar(closure).into_bind()(std::slice::from_ref(argument));
    bound.map(|it| it.function)
}

struct ForConstants {
    plain: Arc<dyn ScalarFunction>,
    make: Arc<Make>,
}

impl ScalarFunction for ForConstants {
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
        let constants = args.iter().skip(1).map(|it| it.constant.clone());
        let Some(constants) = constants.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Some(made) = (self.make)(&constants) else { return Ok(None) };
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            made.evaluate(rows, args.get(..1).unwrap_or(args), to, ctx)
        })))
    }
}
