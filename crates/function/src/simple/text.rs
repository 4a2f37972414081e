//! Functions that write strings, or answer a part of an argument.

use super::{
    args::{Arg, Source, Varchar},
    bind,
    column::finish,
    map::{Args, Inputs},
    memory::{
        BorrowedReservation, Growth, TEXT_BYTES_MAX, charge_rows, keeps_going_after, may_continue,
        text_too_long,
    },
    output::NullRows,
    pattern::SqlType,
    vectorized,
};
use crate::{BindScalar, EvalContext, ScalarTraits};
use std::{fmt, ops::Range};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{
    INLINE_BYTES, NullBuffer, Rows, StringBuilder, StringValues, StringView, Values, Vector,
};

/// Bytes of a block of what is written repeatedly.
const REPEATED_BYTES: usize = 4096;

/// Such blocks between two checks for cancellation.
const REPEATED_BLOCKS: usize = 256;

/// Where a closure writes its result: text by `push_str`, `push` and `write!`, bytes by
/// `push_bytes`.
///
/// What the query has no memory for is dropped, and so is what would make a text longer than
/// [`TEXT_BYTES_MAX`]; the call fails then.
#[derive(Debug)]
pub struct StringWriter {
    builder: StringBuilder,
    growth: Growth,
    /// Bytes of this row that were dropped.
    dropped: usize,
}

impl StringWriter {
    pub(super) fn new() -> StringWriter {
        let (builder, growth) = (StringBuilder::with_capacity(0), Growth::new());
        StringWriter { builder, growth, dropped: 0 }
    }

    /// Appends text.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
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
        if self.has_room(bytes.len()) {
            self.builder.write(bytes);
        }
    }

    /// Appends the same bytes again and again, in blocks; fewer once the query is cancelled.
    pub fn push_repeated(&mut self, bytes: &[u8], count: usize) {
        let in_block = REPEATED_BYTES.checked_div(bytes.len()).unwrap_or(count).max(1);
        if in_block >= count {
            (0..count).for_each(|_| self.push_bytes(bytes));
            return;
        }
        let block = bytes.repeat(in_block);
        for number in 0..count / in_block {
            if number % REPEATED_BLOCKS == REPEATED_BLOCKS - 1 && !may_continue() {
                return;
            }
            self.push_bytes(&block);
        }
        self.push_bytes(&block[..count % in_block * bytes.len()]);
    }

    /// Appends ASCII bytes mapped to ASCII; to map a byte twice must be the same as once.
    #[inline]
    pub fn push_mapped(&mut self, bytes: &[u8], map: impl Fn(u8) -> u8) {
        if self.has_room(bytes.len()) {
            self.builder.write_mapped(bytes, map);
        }
    }

    /// Appends single bytes; see [`StringWriter::push_bytes`].
    #[inline]
    pub fn push_each(&mut self, bytes: impl Iterator<Item = u8>) {
        match bytes.size_hint().1 {
            Some(most) if self.has_room(most) => self.builder.write_each(bytes),
            Some(_) => {}
            None => bytes.for_each(|it| self.push_bytes(&[it])),
        }
    }

    /// Makes room for `bytes` more bytes.
    pub fn reserve(&mut self, bytes: usize) {
        // What is refused here would be when it is written.
        self.has_room(bytes);
    }

    /// Bytes written for this row.
    pub fn len(&self) -> usize {
        self.builder.written() + self.dropped
    }

    #[inline(always)]
    fn has_room(&mut self, bytes: usize) -> bool {
        bytes <= self.builder.room() || self.make_room(bytes)
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.len().saturating_add(bytes) > TEXT_BYTES_MAX {
            self.growth.refuse(text_too_long());
        }
        let has_room = self.growth.make_room(self.builder.open(), bytes);
        if !has_room {
            self.dropped = self.dropped.saturating_add(bytes);
        }
        has_room
    }

    /// Ends the text of a row; its view.
    #[inline(always)]
    pub(super) fn end(&mut self) -> u128 {
        self.builder.end()
    }

    /// Forgets the text of a row.
    pub(super) fn abandon(&mut self) {
        self.builder.abandon();
    }

    /// Stores a text next to the one that is written.
    #[inline]
    pub(super) fn store(&mut self, text: &[u8]) -> u128 {
        if self.growth.takes_text(text) { self.builder.store(text) } else { 0 }
    }

    /// Whether something is missing of what was written, so that the call fails whatever else is
    /// written.
    #[inline(always)]
    pub fn is_refused(&self) -> bool {
        self.growth.is_refused()
    }

    /// The texts with these views.
    ///
    /// # Errors
    ///
    /// One is too long.
    pub(super) fn finish(self, views: Vec<u128>) -> Result<StringValues> {
        if self.is_refused() {
            return Err(text_too_long());
        }
        Ok(self.builder.finish_with_views(views))
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
    let inputs = Inputs::new::<T>(rows, args, ctx)?;
    write_rows::<T, W>(&inputs, result_type, ctx, f)
}

/// The strings that `f` writes for the rows of `inputs`.
pub(super) fn write_rows<T: Args, W: Written>(
    inputs: &Inputs,
    result_type: &Type,
    ctx: &mut EvalContext,
    f: impl Fn(T::Values<'_>, &mut StringWriter) -> W,
) -> Result<Vector> {
    let readers = T::open(&inputs.sources)?;
    let (strings, added) =
        write_texts(&inputs.rows, ctx, |row, out| f(T::get(&readers, row), out))?;
    finish(result_type, Values::View(strings), inputs.result_nulls(added))
}

/// The texts that `f` writes for `rows`, and which of these are null; others are empty.
///
/// # Errors
///
/// The memory limit; a text that is too long.
#[inline(always)]
pub fn write_texts<W: Written>(
    rows: &Rows,
    ctx: &mut EvalContext,
    mut f: impl FnMut(usize, &mut StringWriter) -> W,
) -> Result<(StringValues, Option<NullBuffer>)> {
    charge_rows(ctx, rows.len(), size_of::<u128>())?;
    let mut views = vec![0u128; rows.len()];
    let mut writer = StringWriter::new();
    let mut nulls = NullRows::default();
    let borrowed = BorrowedReservation::of(ctx);
    // Ends early when something was refused; the call fails then.
    let _ = rows.try_for_each(|row| {
        match f(row, &mut writer).outcome() {
            Ok(true) => views[row] = writer.end(),
            Ok(false) => {
                writer.abandon();
                nulls.add(row, rows.len());
            }
            Err(error) => {
                writer.abandon();
                ctx.fail(row, || error);
            }
        }
        if writer.is_refused() || !keeps_going_after(row) { Err(()) } else { Ok(()) }
    });
    borrowed.return_to(ctx)?;
    Ok((writer.finish(views)?, nulls.finish(rows.len())))
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
    let inputs = Inputs::new::<T::WithText>(rows, args, ctx)?;
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
