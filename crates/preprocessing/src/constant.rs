//! Versions of functions for constant arguments after the first one, which have loops over the
//! first one alone.

use std::sync::Arc;
use volley_function::{
    BindScalar, ScalarFunction,
    simple::{self, IntoSimple},
};
use volley_types::{Type, Value};

/// The binding of a function of several arguments, with the version that `make` makes where all but
/// the first argument are constant. `make` answers `None` for constants with which there is no such
/// version, such as those with which each row fails.
pub(crate) fn for_constants<M>(
    plain: impl IntoSimple<M>,
    make: impl Fn(&[Value]) -> Option<Arc<dyn ScalarFunction>> + Send + Sync + 'static,
) -> BindScalar {
    simple::specialized(simple::scalar(plain).into_bind(), move |args| {
        let constants = args.iter().skip(1).map(|it| it.constant.clone());
        let Some(constants) = constants.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let Some(made) = make(&constants) else { return Ok(None) };
        Ok(Some(simple::vectorized(move |rows, args, to, ctx| {
            made.evaluate(rows, args.get(..1).unwrap_or(args), to, ctx)
        })))
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
