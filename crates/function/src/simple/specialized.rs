//! Functions with other versions for constant arguments.

use crate::{Argument, BindScalar, BoundScalar, EvalContext, ScalarFunction};
use std::sync::Arc;
use volley_error::Result;
use volley_types::{Type, Value};
use volley_vector::{Rows, Vector};

/// Makes a version for some arguments; see [`ScalarFunction::specialize`].
type Specialize = dyn Fn(&[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> + Send + Sync;

/// The binding `bind`, whose functions have the versions that `specialize` makes in place of their
/// own.
pub fn specialized(
    bind: BindScalar,
    specialize: impl Fn(&[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> + Send + Sync + 'static,
) -> BindScalar {
    let specialize: Arc<Specialize> = Arc::new(specialize);
    Arc::new(move |types: &[Type]| {
        let bound = bind(types)?;
        let (plain, specialize) = (bound.function, Arc::clone(&specialize));
        Some(BoundScalar { function: Arc::new(Specialized { plain, specialize }), ..bound })
    })
}

struct Specialized {
    plain: Arc<dyn ScalarFunction>,
    specialize: Arc<Specialize>,
}

impl ScalarFunction for Specialized {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        self.plain.evaluate(rows, args, result_type, ctx)
    }

    fn result_for(&self, args: &[(&Type, Option<&Value>)]) -> Result<Option<Type>> {
        self.plain.result_for(args)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        (self.specialize)(args)
    }
}
