//! Joining: `||`, `concat`, `concat_ws`.

use crate::documentation::doc;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{self, StringWriter, Varbinary, text_binary},
};
use volley_types::Type;
use volley_vector::{Decoded, Rows, Vector};

/// Registers `concat_op` (the operator `||`), `concat` and `concat_ws`.
pub(super) fn register(registry: &mut Registry) {
    let operator = doc(
        "x || y -> varchar, varbinary or array",
        "Both texts, one after the other; null when one is null.",
        "string",
        &[("'a' || 'b'", "ab")],
    );
    registry.add_scalar("concat_op", operator.clone(), Arc::new(bind_operator));
    let bytes = |a: &[u8], b: &[u8], out: &mut StringWriter| {
        out.push_bytes(a);
        out.push_bytes(b);
    };
    let bind = text_binary::<Varbinary, Varbinary, Varbinary, _>(bytes);
    registry.add_scalar("concat_op", operator, bind);
    let concat_doc = doc(
        "concat(x, ...) -> varchar",
        "All values as text, one after the other; nulls are left out.",
        "string",
        &[("concat('a', NULL, 1)", "a1")],
    );
    registry.add_scalar("concat", concat_doc, Arc::new(bind_concat));
    let separated = doc(
        "concat_ws(separator, x, ...) -> varchar",
        "All values as text with the separator between; nulls are left out.",
        "string",
        &[("concat_ws('-', 'a', NULL, 'b')", "a-b")],
    );
    registry.add_scalar("concat_ws", separated, Arc::new(bind_separated));
}

/// One of the operands must be text; the other one is made text. Chains become one call of many.
fn bind_operator(args: &[Type]) -> Option<BoundScalar> {
    let [left, right] = args else {
        let is_chain = args.len() > 2 && args.iter().all(|it| *it == Type::Varchar);
        return is_chain.then(|| joining(args.len(), CHAIN));
    };
    let is_plain = |it: &Type| !it.is_nested() && *it != Type::Varbinary;
    let is_text = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    if !(is_text(left) || is_text(right)) || !is_plain(left) || !is_plain(right) {
        return None;
    }
    Some(joining(2, CHAIN))
}

/// The texts of all arguments, one after the other.
fn joining(args: usize, traits: ScalarTraits) -> BoundScalar {
    let function = simple::vectorized(|rows, args, _, ctx: &mut EvalContext| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        join(rows, &args, ctx, |_| Some(""))
    });
    BoundScalar::new(vec![Type::Varchar; args], Type::Varchar, traits, function)
}

const CHAIN: ScalarTraits = ScalarTraits { associative: true, ..ScalarTraits::INFALLIBLE };

const KEEPS_NULLS: ScalarTraits =
    ScalarTraits { propagates_nulls: false, ..ScalarTraits::INFALLIBLE };

fn bind_concat(args: &[Type]) -> Option<BoundScalar> {
    if args.is_empty() || args.iter().all(|it| matches!(it, Type::Array(_))) {
        return None;
    }
    Some(joining(args.len(), ScalarTraits { associative: true, ..KEEPS_NULLS }))
}

fn bind_separated(args: &[Type]) -> Option<BoundScalar> {
    if args.len() < 2 {
        return None;
    }
    let function = simple::vectorized(|rows, args, _, ctx: &mut EvalContext| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let (separators, rest) = (&args[0], &args[1..]);
        join(rows, rest, ctx, |row| (!separators.is_null(row)).then(|| separators.text(row)))
    });
    Some(BoundScalar::new(vec![Type::Varchar; args.len()], Type::Varchar, KEEPS_NULLS, function))
}

/// The texts of each row that are not null; a row without a separator is null.
fn join<'a>(
    rows: &Rows,
    args: &[Decoded<'_>],
    ctx: &mut EvalContext,
    separator: impl Fn(usize) -> Option<&'a str>,
) -> Result<Vector> {
    let (strings, nulls) = simple::write_texts(rows, ctx, |row, out| {
        let separator = separator(row)?;
        let present = args.iter().filter(|arg| !arg.is_null(row));
        for (index, arg) in present.enumerate() {
            if index > 0 {
                out.push_str(separator);
            }
            out.push_bytes(arg.bytes(row));
        }
        Some(())
    })?;
    Ok(Vector::strings(Type::Varchar, strings, nulls))
}
