//! Functions with a shorter way for ASCII text.
//!
//! Each takes two closures: one for any text, one for text that is all ASCII, where bytes are code
//! points. A column knows whether all of its text is ASCII ([`StringValues::is_ascii`], asked
//! once); where it is, the second closure runs on all rows. Otherwise every row is inspected by
//! itself. With [`EvalContext::general_text`] the first closure runs on all rows.
//!
//! [`preserving_ascii`] declares that ASCII arguments give ASCII results, which need not be looked
//! at again.

use super::{
    args::{Source, Varchar},
    bind,
    column::ResultType,
    map::{Args, Inputs, map_inputs},
    output::Output,
    pattern::SqlType,
    text::{SliceArgs, StringWriter, Written, range_rows, slice_rows, write_rows, written},
    vectorized,
    writer::{Writer, write_inputs},
};
use crate::{BindScalar, BoundScalar, EvalContext, ScalarFunction, ScalarTraits};
use std::{ops::Range, sync::Arc};
use volley_error::Result;
use volley_types::Type;
use volley_vector::{Decoded, Encoding, Rows, StringValues, Values, Vector};

/// Which closure runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextMode {
    /// All text is ASCII.
    Ascii,
    /// Row by row what fits.
    Mixed,
    /// The one for any text.
    General,
}

impl TextMode {
    /// The mode for arguments of which `active` rows are used.
    fn of(sources: &[Source<'_>], active: usize, ctx: &EvalContext) -> TextMode {
        if ctx.general_text {
            return TextMode::General;
        }
        let is_ascii = |strings: &StringValues| {
            // To look at much more than will be used does not pay.
            let is_small = strings.len() <= 2 * active;
            strings.knows_ascii().unwrap_or_else(|| is_small && strings.is_ascii())
        };
        let texts = sources.iter().filter(|it| it.is_text);
        let mut strings = texts.filter_map(|source| source.strings());
        if strings.all(is_ascii) { TextMode::Ascii } else { TextMode::Mixed }
    }
}

/// A function of one argument.
pub fn ascii_unary<A, R, O>(
    general: impl Fn(A::Value<'_>) -> O + Send + Sync + 'static,
    ascii: impl Fn(A::Value<'_>) -> O + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    R: SqlType + ResultType,
    O: Output<R::Column> + 'static,
{
    let function = vectorized(move |rows, args, to, ctx| {
        map_ascii::<(A,), R, O>(rows, args, to, ctx, |(a,)| general(a), |(a,)| ascii(a))
    });
    let traits = super::traits::<R, O>(A::PROPAGATES);
    bind(vec![A::pattern()], R::pattern(), traits, function)
}

/// A function of one argument that writes a string.
pub fn ascii_text_unary<A: SqlType, R: SqlType, W: Written + 'static>(
    general: impl Fn(A::Value<'_>, &mut StringWriter) -> W + Send + Sync + 'static,
    ascii: impl Fn(A::Value<'_>, &mut StringWriter) -> W + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        if rows.is_empty() {
            return Ok(Vector::nulls(to.clone(), rows.len()));
        }
        let inputs = Inputs::new::<(A,)>(rows, args, ctx)?;
        match TextMode::of(&inputs.sources, inputs.rows.count(), ctx) {
            TextMode::Ascii => write_rows::<(A,), W>(&inputs, to, ctx, |(a,), out| ascii(a, out)),
            TextMode::Mixed => write_rows::<(A,), W>(&inputs, to, ctx, |(a,), out| {
                if A::is_ascii(a) { ascii(a, out) } else { general(a, out) }
            }),
            TextMode::General => {
                write_rows::<(A,), W>(&inputs, to, ctx, |(a,), out| general(a, out))
            }
        }
    });
    bind(vec![A::pattern()], R::pattern(), written::<W>(A::PROPAGATES), function)
}

/// A VARCHAR function that answers a part of its first argument, without copying it. `ascii` gets
/// the text's length and answers the bytes of the part.
pub fn ascii_slice_binary<B: SqlType>(
    general: impl for<'a> Fn(&'a str, B::Value<'_>) -> &'a str + Send + Sync + 'static,
    ascii: impl Fn(usize, B::Value<'_>) -> Range<usize> + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let (general, ascii) = (&general, &ascii);
        slice_ascii::<(B,)>(
            rows,
            args,
            to,
            ctx,
            |text, (b,)| general(text, b),
            |len, (b,)| ascii(len, b),
        )
    });
    let args = vec![Varchar::pattern(), B::pattern()];
    bind(args, Varchar::pattern(), ScalarTraits::INFALLIBLE, function)
}

/// Like [`ascii_slice_binary`], of one more argument.
pub fn ascii_slice_ternary<B, C>(
    f: impl for<'a> Fn(&'a str, B::Value<'_>, C::Value<'_>) -> &'a str + Send + Sync + 'static,
    ascii: impl Fn(usize, B::Value<'_>, C::Value<'_>) -> Range<usize> + Send + Sync + 'static,
) -> BindScalar
where
    B: SqlType,
    C: SqlType,
{
    let function = vectorized(move |rows, args, to, ctx| {
        let (general, ascii) = (&f, &ascii);
        slice_ascii::<(B, C)>(
            rows,
            args,
            to,
            ctx,
            |text, (b, c)| general(text, b, c),
            |len, (b, c)| ascii(len, b, c),
        )
    });
    let args = vec![Varchar::pattern(), B::pattern(), C::pattern()];
    bind(args, Varchar::pattern(), ScalarTraits::INFALLIBLE, function)
}

/// Computes a function with two closures that write, inside a vectorized function.
pub(super) fn write_ascii<T: Args, W: Writer, O: Written>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    general: impl Fn(T::Values<'_>, &mut W) -> O,
    ascii: impl Fn(T::Values<'_>, &mut W) -> O,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    let inputs = Inputs::new::<T>(rows, args, ctx)?;
    match TextMode::of(&inputs.sources, inputs.rows.count(), ctx) {
        TextMode::Ascii => write_inputs::<T, W, O>(&inputs, result_type, ctx, ascii),
        TextMode::Mixed => write_inputs::<T, W, O>(&inputs, result_type, ctx, |values, out| {
            if T::are_ascii(values) { ascii(values, out) } else { general(values, out) }
        }),
        TextMode::General => write_inputs::<T, W, O>(&inputs, result_type, ctx, general),
    }
}

/// Computes a function with two closures, inside a vectorized function.
pub(super) fn map_ascii<T: Args, R: ResultType, O: Output<R::Column>>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    general: impl Fn(T::Values<'_>) -> O,
    ascii: impl Fn(T::Values<'_>) -> O,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    let inputs = Inputs::new::<T>(rows, args, ctx)?;
    match TextMode::of(&inputs.sources, inputs.rows.count(), ctx) {
        TextMode::Ascii => map_inputs::<T, R, O>(&inputs, result_type, ctx, ascii),
        TextMode::Mixed => map_inputs::<T, R, O>(&inputs, result_type, ctx, |values| {
            if T::are_ascii(values) { ascii(values) } else { general(values) }
        }),
        TextMode::General => map_inputs::<T, R, O>(&inputs, result_type, ctx, general),
    }
}

fn slice_ascii<T: SliceArgs>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    general: impl for<'a> Fn(&'a str, T::Values<'_>) -> &'a str,
    ascii: impl Fn(usize, T::Values<'_>) -> Range<usize>,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    let inputs = Inputs::new::<T::WithText>(rows, args, ctx)?;
    match TextMode::of(&inputs.sources[..1], inputs.rows.count(), ctx) {
        TextMode::Ascii => range_rows::<T>(&inputs, result_type, ascii),
        TextMode::Mixed => slice_rows::<T, _>(&inputs, result_type, ctx, |text, rest| {
            Ok(match text.is_ascii() {
                true => &text[ascii(text.len(), rest)],
                false => general(text, rest),
            })
        }),
        TextMode::General => {
            slice_rows::<T, _>(&inputs, result_type, ctx, |text, rest| Ok(general(text, rest)))
        }
    }
}

/// The same function, whose results are ASCII when its VARCHAR arguments are.
pub fn preserving_ascii(bind: BindScalar) -> BindScalar {
    Arc::new(move |types: &[Type]| {
        let bound = bind(types)?;
        let function = preserving(Arc::clone(&bound.function));
        Some(BoundScalar { function, ..bound })
    })
}

/// The same function, whose results are ASCII when its text is.
pub(super) fn preserving(function: Arc<dyn ScalarFunction>) -> Arc<dyn ScalarFunction> {
    Arc::new(PreservingAscii(function))
}

struct PreservingAscii(Arc<dyn ScalarFunction>);

impl ScalarFunction for PreservingAscii {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let result = self.0.evaluate(rows, args, result_type, ctx)?;
        let texts = args.iter().filter(|it| it.data_type().physical() == Type::Varchar.physical());
        for text in texts {
            let decoded = Decoded::new(text)?;
            let Values::View(strings) = decoded.values() else { return Ok(result) };
            if strings.knows_ascii() != Some(true) {
                return Ok(result);
            }
        }
        Ok(match result.encoding() {
            Encoding::Flat(Values::View(strings)) => {
                let strings = strings.clone().known_ascii();
                Vector::strings(result_type.clone(), strings, result.null_buffer().cloned())
            }
            _ => result,
        })
    }
}
