//! Functions that write strings, or answer a part of an argument.

use super::{
    args::{Arg, Source, Varchar},
    bind,
    column::{CHARGED_BYTES, finish},
    map::{Args, Inputs},
    output::NullRows,
    pattern::SqlType,
    vectorized,
};
use crate::{BindScalar, EvalContext, ScalarTraits};
use std::{fmt, ops::Range};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{INLINE_BYTES, Rows, StringBuilder, StringValues, StringView, Values, Vector};

/// Where a closure writes its result: text by `push_str`, `push` and `write!`, bytes by
/// `push_bytes`.
#[derive(Debug)]
pub struct StringWriter {
    pub(super) builder: StringBuilder,
}

impl StringWriter {
    pub(super) fn new() -> StringWriter {
        StringWriter { builder: StringBuilder::with_capacity(0) }
    }

    /// Appends text.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.builder.write(text.as_bytes());
    }

    /// Appends a character.
    #[inline]
    pub fn push(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.push_str(character.encode_utf8(&mut buffer));
    }

    /// Appends bytes; for a VARCHAR result they must make valid UTF-8 in the end.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.builder.write(bytes);
    }

    /// Appends ASCII bytes mapped to ASCII; to map a byte twice must be the same as once.
    #[inline]
    pub fn push_mapped(&mut self, bytes: &[u8], map: impl Fn(u8) -> u8) {
        self.builder.write_mapped(bytes, map);
    }

    /// Appends single bytes; see [`StringWriter::push_bytes`].
    #[inline]
    pub fn push_each(&mut self, bytes: impl Iterator<Item = u8>) {
        self.builder.write_each(bytes);
    }

    /// Makes room for `bytes` more bytes.
    pub fn reserve(&mut self, bytes: usize) {
        self.builder.reserve(bytes);
    }

    /// Bytes written for this row.
    pub fn len(&self) -> usize {
        self.builder.written()
    }

    /// Whether nothing is written for this row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Write for StringWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// What a writing closure answers: `()`, `Option<()>` (`None` is null), `Result<()>` or
/// `Result<Option<()>>`.
pub trait Written {
    /// Whether a row can fail.
    const FALLIBLE: bool;

    /// `Ok(false)`: null.
    ///
    /// # Errors
    ///
    /// The row's error.
    fn outcome(self) -> Result<bool>;
}

impl Written for () {
    const FALLIBLE: bool = false;

    fn outcome(self) -> Result<bool> {
        Ok(true)
    }
}

impl Written for Option<()> {
    const FALLIBLE: bool = false;

    fn outcome(self) -> Result<bool> {
        Ok(self.is_some())
    }
}

impl Written for Result<()> {
    const FALLIBLE: bool = true;

    fn outcome(self) -> Result<bool> {
        self.map(|()| true)
    }
}

impl Written for Result<Option<()>> {
    const FALLIBLE: bool = true;

    fn outcome(self) -> Result<bool> {
        self.map(|it| it.is_some())
    }
}

/// Computes a function that writes a string, inside a vectorized function; `T` is the tuple of the
/// arguments' markers.
///
/// # Errors
///
/// Internal, when an argument or the result has another layout than its marker.
pub fn map_text<T: Args, W: Written>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>, &mut StringWriter) -> W,
) -> Result<Vector> {
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    let inputs = Inputs::new::<T>(rows, args)?;
    write_rows::<T, W>(&inputs, result_type, ctx, f)
}

/// The strings that `f` writes for the rows of `inputs`.
pub(super) fn write_rows<T: Args, W: Written>(
    inputs: &Inputs,
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>, &mut StringWriter) -> W,
) -> Result<Vector> {
    let len = inputs.rows.len();
    let readers = T::open(&inputs.sources)?;
    let mut views = vec![0u128; len];
    let mut writer = StringWriter::new();
    let mut nulls = NullRows::default();
    let mut uncharged = 0;
    inputs.rows.try_for_each(|row| {
        match f(T::get(&readers, row), &mut writer).outcome() {
            Ok(true) => {
                uncharged += writer.len();
                views[row] = writer.builder.end();
                if uncharged >= CHARGED_BYTES {
                    ctx.charge(std::mem::take(&mut uncharged))?;
                }
            }
            Ok(false) => {
                writer.builder.abandon();
                nulls.add(row, len);
            }
            Err(error) => {
                writer.builder.abandon();
                ctx.fail(row, || error);
            }
        }
        Ok::<_, Error>(())
    })?;
    let added = nulls.finish(len);
    let strings = writer.builder.finish_with_views(views);
    finish(result_type, Values::View(strings), inputs.result_nulls(added))
}

pub(super) fn written<W: Written>(propagates_nulls: bool) -> ScalarTraits {
    ScalarTraits { propagates_nulls, infallible: !W::FALLIBLE, ..ScalarTraits::DEFAULT }
}

/// A function of one argument that writes a string; `R` is [`Varchar`] or VARBINARY's marker.
pub fn text_unary<A: SqlType, R: SqlType, W: Written + 'static>(
    f: impl Fn(A::Value<'_>, &mut StringWriter) -> W + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        map_text::<(A,), W>(rows, args, to, ctx, |(a,), out| f(a, out))
    });
    bind(vec![A::pattern()], R::pattern(), written::<W>(A::PROPAGATES), function)
}

/// A function of two arguments that writes a string.
pub fn text_binary<A: SqlType, B: SqlType, R: SqlType, W: Written + 'static>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, &mut StringWriter) -> W + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        map_text::<(A, B), W>(rows, args, to, ctx, |(a, b), out| f(a, b, out))
    });
    let traits = written::<W>(A::PROPAGATES && B::PROPAGATES);
    bind(vec![A::pattern(), B::pattern()], R::pattern(), traits, function)
}

/// A function of three arguments that writes a string.
pub fn text_ternary<A, B, C, R, W>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>, &mut StringWriter) -> W + Send + Sync + 'static,
) -> BindScalar
where
    A: SqlType,
    B: SqlType,
    C: SqlType,
    R: SqlType,
    W: Written + 'static,
{
    let function = vectorized(move |rows, args, to, ctx| {
        map_text::<(A, B, C), W>(rows, args, to, ctx, |(a, b, c), out| f(a, b, c, out))
    });
    let traits = written::<W>(A::PROPAGATES && B::PROPAGATES && C::PROPAGATES);
    let args = vec![A::pattern(), B::pattern(), C::pattern()];
    bind(args, R::pattern(), traits, function)
}

/// A function of four arguments that writes a string.
pub fn text_quaternary<A, B, C, D, R, W>(
    f: impl Fn(A::Value<'_>, B::Value<'_>, C::Value<'_>, D::Value<'_>, &mut StringWriter) -> W
    + Send
    + Sync
    + 'static,
) -> BindScalar
where
    A: SqlType,
    B: SqlType,
    C: SqlType,
    D: SqlType,
    R: SqlType,
    W: Written + 'static,
{
    let function = vectorized(move |rows, args, to, ctx| {
        map_text::<(A, B, C, D), W>(rows, args, to, ctx, |(a, b, c, d), out| f(a, b, c, d, out))
    });
    let traits = written::<W>(A::PROPAGATES && B::PROPAGATES && C::PROPAGATES && D::PROPAGATES);
    let args = vec![A::pattern(), B::pattern(), C::pattern(), D::pattern()];
    bind(args, R::pattern(), traits, function)
}

/// A VARCHAR function that answers a part of its argument, without copying it.
pub fn slice_unary(f: impl for<'a> Fn(&'a str) -> &'a str + Send + Sync + 'static) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        map_slice::<(), _>(rows, args, to, ctx, |text, ()| Ok(f(text)))
    });
    bind(vec![Varchar::pattern()], Varchar::pattern(), ScalarTraits::INFALLIBLE, function)
}

/// A VARCHAR function that answers a part of its first argument, without copying it.
pub fn slice_binary<B: SqlType>(
    f: impl for<'a> Fn(&'a str, B::Value<'_>) -> &'a str + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        map_slice::<(B,), _>(rows, args, to, ctx, |text, (b,)| Ok(f(text, b)))
    });
    let args = vec![Varchar::pattern(), B::pattern()];
    bind(args, Varchar::pattern(), ScalarTraits::INFALLIBLE, function)
}

/// A VARCHAR function that answers a part of its first argument, without copying it.
pub fn slice_ternary<B: SqlType, C: SqlType>(
    f: impl for<'a> Fn(&'a str, B::Value<'_>, C::Value<'_>) -> &'a str + Send + Sync + 'static,
) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        map_slice::<(B, C), _>(rows, args, to, ctx, |text, (b, c)| Ok(f(text, b, c)))
    });
    let args = vec![Varchar::pattern(), B::pattern(), C::pattern()];
    bind(args, Varchar::pattern(), ScalarTraits::INFALLIBLE, function)
}

/// Computes a function that answers a part of its first argument (or a string of at most 12 bytes),
/// without copying it; `T` is the tuple of the other arguments' markers.
///
/// # Errors
///
/// Internal, when an argument has another layout than its marker, or a long answer is not a part of
/// the argument.
pub fn map_slice<T: SliceArgs, F>(
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    ctx: &mut EvalContext,
    f: F,
) -> Result<Vector>
where
    F: for<'a> Fn(&'a str, T::Values<'_>) -> Result<&'a str>,
{
    if rows.is_empty() {
        return Ok(Vector::nulls(result_type.clone(), rows.len()));
    }
    let inputs = Inputs::new::<T::WithText>(rows, args)?;
    slice_rows::<T, F>(&inputs, result_type, ctx, f)
}

/// The parts that `f` answers for the rows of `inputs`.
pub(super) fn slice_rows<T: SliceArgs, F>(
    inputs: &Inputs,
    result_type: &Type,
    ctx: &mut EvalContext,
    f: F,
) -> Result<Vector>
where
    F: for<'a> Fn(&'a str, T::Values<'_>) -> Result<&'a str>,
{
    let mut views = vec![0u128; inputs.rows.len()];
    let rest = T::open(inputs.sources.get(1..).unwrap_or(&[]))?;
    let strings = inputs.sources.first().and_then(Source::strings);
    let strings = strings.ok_or_else(|| Error::internal("argument with an unexpected layout"))?;
    let mut misplaced = false;
    inputs.rows.for_each(|row| {
        let index = inputs.sources[0].index(row);
        match f(strings.text(index), T::get(&rest, row)) {
            Ok(part) => match part_view(strings, index, part.as_bytes()) {
                Some(view) => views[row] = view,
                None => misplaced = true,
            },
            Err(error) => ctx.fail(row, || error),
        }
    });
    if misplaced {
        return Err(Error::internal("answer is not a part of the argument"));
    }
    let values = strings.with_views(views.into());
    finish(result_type, Values::View(values), inputs.nulls.clone())
}

/// The parts whose bytes `f` answers for the lengths of the texts of `inputs`.
pub(super) fn range_rows<T: SliceArgs>(
    inputs: &Inputs,
    result_type: &Type,
    f: impl Fn(usize, T::Values<'_>) -> Range<usize>,
) -> Result<Vector> {
    let mut views = vec![0u128; inputs.rows.len()];
    let rest = T::open(inputs.sources.get(1..).unwrap_or(&[]))?;
    let source = inputs.sources.first();
    let strings = source.and_then(|it| Some((it, it.strings()?)));
    let (source, strings) =
        strings.ok_or_else(|| Error::internal("argument with an unexpected layout"))?;
    inputs.rows.for_each(|row| {
        let index = source.index(row);
        let range = f(StringView::len_of(strings.views[index]), T::get(&rest, row));
        views[row] = range_view(strings, index, range);
    });
    let values = strings.with_views(views.into());
    finish(result_type, Values::View(values), inputs.nulls.clone())
}

/// The view of the bytes `range` of string `index`.
#[inline]
fn range_view(strings: &StringValues, index: usize, range: Range<usize>) -> u128 {
    let view = strings.views[index];
    let len = range.len();
    if StringView::len_of(view) <= INLINE_BYTES {
        let bytes = (view >> 32 >> (range.start * 8)) & low_bytes(len);
        return bytes << 32 | len as u128;
    }
    let (buffer, offset) = StringView::position(view);
    let whole = strings.buffers[buffer as usize].as_slice();
    let start = offset as usize + range.start;
    match whole[start..].first_chunk() {
        // One load instead of a loop over bytes; what follows the string is cut off.
        Some(bytes) if len <= INLINE_BYTES => {
            (u64_and_u32(bytes) & low_bytes(len)) << 32 | len as u128
        }
        _ => StringView::new(&whole[start..start + len], buffer, start as u32),
    }
}

/// The view of `part`, which lies within string `index`.
#[inline(always)]
pub(super) fn part_view(strings: &StringValues, index: usize, part: &[u8]) -> Option<u128> {
    let view = strings.views[index];
    let whole = strings.bytes(index);
    let place = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize);
    match place.filter(|start| start + part.len() <= whole.len()) {
        Some(start) if whole.len() <= INLINE_BYTES => {
            let bytes = (view >> 32 >> (start * 8)) & low_bytes(part.len());
            Some(bytes << 32 | part.len() as u128)
        }
        Some(start) if part.len() <= INLINE_BYTES => Some(match whole[start..].first_chunk() {
            // One load instead of a loop over bytes.
            Some(bytes) => {
                let bytes = u64_and_u32(bytes) & low_bytes(part.len());
                bytes << 32 | part.len() as u128
            }
            None => StringView::inline(part),
        }),
        Some(start) => {
            let (buffer, offset) = StringView::position(view);
            Some(StringView::new(part, buffer, offset + start as u32))
        }
        None if part.len() <= INLINE_BYTES => Some(StringView::inline(part)),
        None => None,
    }
}

/// The mask of the first `count` bytes, at most 12.
#[inline(always)]
fn low_bytes(count: usize) -> u128 {
    (1u128 << (count * 8)) - 1
}

#[inline(always)]
fn u64_and_u32(bytes: &[u8; INLINE_BYTES]) -> u128 {
    let mut wide = [0; 16];
    wide[..INLINE_BYTES].copy_from_slice(bytes);
    u128::from_le_bytes(wide)
}

/// The markers of the arguments after the first of [`map_slice`].
pub trait SliceArgs: Args {
    /// With the first argument.
    #[doc(hidden)]
    type WithText: Args;
}

impl SliceArgs for () {
    type WithText = (Varchar,);
}

impl<B: Arg> SliceArgs for (B,) {
    type WithText = (Varchar, B);
}

impl<B: Arg, C: Arg> SliceArgs for (B, C) {
    type WithText = (Varchar, B, C);
}
