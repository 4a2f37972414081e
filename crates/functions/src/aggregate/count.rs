//! `count(*)` and `count(x)`.

use super::{
    bound,
    typed::{TypedAggregate, arg, native_column, native_of},
};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{Type, Value};
use volley_vector::{Decoded, Rows, Vector};

/// Registers `count`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "count(*) or count(x) -> bigint",
        "The number of rows, or of rows where x is not null.",
        "aggregate",
        &[("count(*) FROM (VALUES (1), (NULL)) v(x)", "2")],
    );
    let bind = Arc::new(|args: &[Type]| match args {
        [] => Some(bound::<Count<false>>(vec![], Type::BigInt, Type::BigInt, Count)),
        [one] => Some(bound(vec![one.clone()], Type::BigInt, Type::BigInt, Count::<true>)),
        _ => None,
    });
    registry.add_aggregate("count", doc, bind);
}

/// Counts rows; with an argument, those where it is not null.
struct Count<const IGNORES_NULLS: bool>;

impl<const IGNORES_NULLS: bool> TypedAggregate for Count<IGNORES_NULLS> {
    type State = i64;
    type Input<'a> = ();
    type Partial<'a> = &'a [i64];
    const IGNORES_NULLS: &'static [bool] = &[IGNORES_NULLS];

    fn empty(&self) -> i64 {
        0
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<()> {
        if IGNORES_NULLS {
            arg(args, 0)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn add(&self, state: &mut i64, _input: &(), _row: usize, _index: usize) -> Result<()> {
        *state += 1;
        Ok(())
    }

    fn add_all(&self, state: &mut i64, _input: &(), len: usize) -> Result<()> {
        *state += len as i64;
        Ok(())
    }

    fn add_repeated(&self, state: &mut i64, _input: &(), rows: &Rows, _index: usize) -> Result<()> {
        *state += rows.count() as i64;
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<&'a [i64]> {
        native_of(arg(partial, 0)?)
    }

    #[inline(always)]
    fn merge(&self, state: &mut i64, partial: &&[i64], index: usize) -> Result<()> {
        *state += partial[index];
        Ok(())
    }

    fn lift(&self, args: &[Vector], rows: usize) -> Result<Option<Vector>> {
        let nulls = match args.first().filter(|_| IGNORES_NULLS) {
            Some(arg) => Decoded::new(arg)?.nulls(),
            None => None,
        };
        Ok(Some(match nulls {
            None => Vector::constant(Type::BigInt, &Value::BigInt(1), rows),
            Some(nulls) => {
                let counts: Vec<i64> = nulls.iter().map(i64::from).collect();
                Vector::native::<i64>(Type::BigInt, counts, None)
            }
        }))
    }

    fn partial(&self, states: &mut TypedSlots<'_, i64>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, i64>) -> Result<Vector> {
        Ok(native_column(Type::BigInt, states, |state| Some(*state)))
    }
}
