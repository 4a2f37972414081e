//! `strftime` of instants, which knows the time zone.

use super::super::format::{Format, Shown};
use crate::constant_cache::ConstantCache;
use std::{cell::RefCell, sync::Arc};
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, Timestamp, Varchar, map_text},
};
use volley_types::{Type, civil::MICROS_PER_SECOND, custom::TimestampTz};

/// Registers an overload for each order of the arguments.
pub(super) fn register(registry: &mut Registry) {
    registry.add_scalar("strftime", FunctionDoc::default(), Arc::new(bind));
}

fn bind(given: &[Type]) -> Option<BoundScalar> {
    let is_format = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    let (args, instant_at) = match given {
        [instant, format] if super::is_instant(instant) && is_format(format) => {
            (vec![TimestampTz::data_type(), Type::Varchar], 0)
        }
        [format, instant] if super::is_instant(instant) && is_format(format) => {
            (vec![Type::Varchar, TimestampTz::data_type()], 1)
        }
        _ => return None,
    };
    Some(BoundScalar::new(args, Type::Varchar, ScalarTraits::DEFAULT, formatting(instant_at)))
}

/// The function whose argument number `instant_at` is the instant, and the other one the format.
fn formatting(instant_at: usize) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, to, ctx| {
        let query = Arc::clone(&ctx.query);
        let clock = RefCell::new(query.time_zone.clock());
        let formats = ConstantCache::default();
        let format = |(instant, format): (i64, &str), out: &mut simple::StringWriter| {
            let format = formats.get(format, Format::parse)?;
            let mut clock = clock.borrow_mut();
            let (micros, offset) =
                (clock.local_of(instant), clock.offset_at(instant) / MICROS_PER_SECOND);
            format.write(Shown { micros, offset, zone: query.time_zone.name() }, out);
            Ok(())
        };
        let args = [args[instant_at].with_type(Type::Timestamp), args[1 - instant_at].clone()];
        map_text::<(Timestamp, Varchar), Result<(), Error>>(rows, &args, to, ctx, format)
    })
}
