//! LIKE with ESCAPE: the escape character must precede `%`, `_` or itself.

use super::core;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{Argument, BoundScalar, EvalContext, FunctionDoc, Registry, ScalarFunction};
use volley_types::{Type, Value};
use volley_vector::{Decoded, Rows, Vector};

/// Registers `like` with an escape character; without one it is the core's.
pub(super) fn register(registry: &mut Registry) {
    let doc = FunctionDoc::new(
        "text LIKE pattern ESCAPE character -> boolean",
        "Whether all of the text matches. The escape character makes a following `%`, `_` or \
         itself literal.",
        "comparison",
        &[("'a_c' LIKE 'a#_c' ESCAPE '#'", "true"), ("like('abc', 'a#_c', '#')", "false")],
    );
    for bind in core(registry, "like") {
        let bind = move |args: &[Type]| {
            let bound = if args.len() == 3 { bind(args)? } else { return None };
            let function = Arc::new(Escaped(bound.function));
            Some(BoundScalar { function, ..bound })
        };
        registry.add_scalar("presto.like", doc.clone(), Arc::new(bind));
    }
}

/// The core's function for patterns whose escapes are checked.
struct Escaped(Arc<dyn ScalarFunction>);

impl ScalarFunction for Escaped {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let [_, pattern, escape] = args else {
            return Err(Error::internal("LIKE with ESCAPE of other than three values"));
        };
        let (pattern, escape) = (Decoded::new(pattern)?, Decoded::new(escape)?);
        let mut well_formed = Vec::with_capacity(rows.count());
        rows.for_each(|row| match check(pattern.text(row), escape.text(row)) {
            Ok(()) => well_formed.push(row),
            Err(error) => ctx.fail(row, || error),
        });
        let rows = Rows::from_indices(rows.len(), well_formed);
        self.0.evaluate(&rows, args, result_type, ctx)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let constant = |index: usize| {
            args.get(index).and_then(|it| it.constant.as_ref()).and_then(Value::as_str)
        };
        let (Some(pattern), Some(escape)) = (constant(1), constant(2)) else { return Ok(None) };
        check(pattern, escape)?;
        self.0.specialize(args)
    }
}

fn check(pattern: &str, escape: &str) -> Result<()> {
    let mut characters = escape.chars();
    let (Some(escape), None) = (characters.next(), characters.next()) else {
        let message = format!("escape must be one character, not '{escape}'");
        return Err(Error::invalid_value(message));
    };
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let is_escape = character == escape;
        if is_escape && !characters.next().is_some_and(|it| matches!(it, '%' | '_') || it == escape)
        {
            let message = format!(
                "the escape character must stand before '%', '_' or itself, in '{pattern}'"
            );
            return Err(Error::invalid_value(message));
        }
    }
    Ok(())
}
