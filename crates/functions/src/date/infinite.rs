//! Infinite dates and timestamps: their fields and differences are null.

use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    Argument, BindScalar, BlockFunction, BoundScalar, EvalContext, ScalarFunction,
};
use volley_types::{
    Type, Value,
    civil::{is_infinite_date, is_infinite_timestamp},
};
use volley_vector::{Decoded, Patch, Rows, Values, Vector};

/// The same function, null where an argument is an infinite date or timestamp.
pub(crate) fn null_of_infinite(bind: BindScalar) -> BindScalar {
    Arc::new(move |types| {
        let bound = bind(types)?;
        let is_point =
            |it: &Type| matches!(it.storage(), Type::Date | Type::Timestamp | Type::BigInt);
        if !bound.args.iter().any(|it| is_point(it) && *it != Type::BigInt) {
            return Some(bound);
        }
        let function = Arc::new(NullOfInfinite { inner: bound.function });
        Some(BoundScalar { function, ..bound })
    })
}

struct NullOfInfinite {
    inner: Arc<dyn ScalarFunction>,
}

impl ScalarFunction for NullOfInfinite {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        to: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let infinite = infinite_rows(rows, args)?;
        if infinite.is_empty() {
            return self.inner.evaluate(rows, args, to, ctx);
        }
        // The other arguments of those rows are still looked at: a part that does not exist is an
        // error. Other points in time are replaced, too: their distance is none.
        let args: Vec<Vector> =
            args.iter().map(|it| with_epoch(it, &infinite)).collect::<Result<_>>()?;
        let result = self.inner.evaluate(rows, &args, to, ctx)?;
        let nulls = Vector::nulls(Type::Unknown, 1);
        let mut patch = Patch::new(nulls);
        patch.rows = infinite.to_indices();
        patch.positions = vec![0; patch.rows.len()];
        result.patched(&[patch])
    }

    fn result_for(&self, args: &[(&Type, Option<&Value>)]) -> Result<Option<Type>> {
        self.inner.result_for(args)
    }

    fn specialize(&self, args: &[Argument]) -> Result<Option<Arc<dyn ScalarFunction>>> {
        let inner = self.inner.specialize(args)?;
        Ok(inner.map(|inner| Arc::new(NullOfInfinite { inner }) as _))
    }

    /// Blocks of functions of this chapter report an infinite argument as a row that may have
    /// failed, so that such rows are evaluated here.
    fn block(&self) -> Option<Arc<dyn BlockFunction>> {
        self.inner.block()
    }
}

/// The argument with 1970-01-01 in some rows, if it is a date or a timestamp.
fn with_epoch(arg: &Vector, rows: &Rows) -> Result<Vector> {
    let data_type = arg.data_type().clone();
    let epoch = match data_type.storage() {
        Type::Date => Vector::native::<i32>(data_type, vec![0], None),
        Type::Timestamp => Vector::native::<i64>(data_type, vec![0], None),
        _ => return Ok(arg.clone()),
    };
    let mut patch = Patch::new(epoch);
    patch.rows = rows.to_indices();
    patch.positions = vec![0; patch.rows.len()];
    arg.patched(&[patch])
}

/// The active rows in which an argument is infinite.
fn infinite_rows(rows: &Rows, args: &[Vector]) -> Result<Rows> {
    let mut infinite = Rows::none(rows.len());
    for arg in args {
        let data_type = arg.data_type();
        if !matches!(data_type, Type::Date | Type::Timestamp | Type::Custom(_)) {
            continue;
        }
        let decoded = Decoded::new(arg)?;
        // Of most vectors no value is infinite, whatever rows they have.
        let has_infinite = match decoded.values() {
            Values::I32(values) => values.iter().any(|it| is_infinite_date(*it)),
            Values::I64(values) => values.iter().any(|it| is_infinite_timestamp(*it)),
            _ => false,
        };
        if !has_infinite {
            continue;
        }
        let mut found = Vec::new();
        rows.for_each(|row| {
            let is_infinite = !decoded.is_null(row)
                && match decoded.values() {
                    Values::I32(values) => {
                        values.get(decoded.index(row)).is_some_and(|it| is_infinite_date(*it))
                    }
                    Values::I64(values) => {
                        values.get(decoded.index(row)).is_some_and(|it| is_infinite_timestamp(*it))
                    }
                    _ => false,
                };
            if is_infinite {
                found.push(row);
            }
        });
        infinite.union(&Rows::from_indices(rows.len(), found));
    }
    Ok(infinite)
}

#[cfg(test)]
mod tests {
    use volley_function::{BlockArg, Registry};
    use volley_types::Type;

    #[test]
    fn fields_of_dates_run_in_blocks_that_report_infinite_dates() {
        let mut registry = Registry::new();
        crate::register(&mut registry);
        for name in ["year", "month", "day", "quarter"] {
            let bound = registry.resolve_scalar(name, &[Type::Date]).unwrap();
            let block = bound.function.block().unwrap();
            let run = |days: [i32; 2]| {
                let bytes: Vec<u8> = days.iter().flat_map(|it| it.to_ne_bytes()).collect();
                block.run(&[BlockArg(&bytes)], &mut [0; 16])
            };
            assert!(run([0, 20_000]), "{name}");
            assert!(!run([0, i32::MAX]) && !run([-i32::MAX, 1]), "{name}");
        }
    }
}
