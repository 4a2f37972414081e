//! Functions that run on blocks of rows, for nested calls.
//!
//! Called one after the other, functions write whole columns that the next function reads again. A
//! function with a [`BlockFunction`] can also run block by block, so that intermediate results stay
//! in the first-level cache.

use std::{any::Any, marker::PhantomData, sync::Arc};
use volley_error::Result;
use volley_kernels::cpu::{self, Kernel};
use volley_types::{Native, Type, match_native};
use volley_vector::{
    Encoding, NullBuffer, Recycler, Rows, Values, Vector, native_slice, native_slice_mut,
};

/// Rows per block: a few columns of 8 bytes fit the first-level cache.
pub const BLOCK_ROWS: usize = 1024;

/// An argument's block, as the bytes of its fixed-width elements: one per row, or a single one for
/// all rows.
#[derive(Clone, Copy, Debug)]
pub struct BlockArg<'a>(pub &'a [u8]);

/// A scalar function of fixed-width arguments, for whole blocks of rows.
///
/// Rows of a block may hold anything where an argument is null; they must not be a reason to fail.
pub trait BlockFunction: Any + Send + Sync {
    /// Computes the elements of `out`, one per row. False when some row may have failed: nothing
    /// of the result counts then, and the function is called the ordinary way.
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool;

    /// Both functions in one loop: this one, with the results of `inner` as argument number `arg`.
    /// The arguments are this function's, with argument `arg` replaced by those of `inner`;
    /// `is_constant` marks the constant ones. `None`: no such loop exists.
    fn over(
        &self,
        _arg: usize,
        _inner: &dyn BlockFunction,
        _is_constant: &[bool],
    ) -> Option<Arc<dyn BlockFunction>> {
        None
    }
}

/// Computes a function of flat and constant arguments block by block; `None` for other encodings,
/// for few active rows, and when some row may have failed.
///
/// # Errors
///
/// What decoding reports.
pub(crate) fn in_blocks(
    function: &dyn BlockFunction,
    rows: &Rows,
    args: &[Vector],
    result_type: &Type,
    recycler: &mut Recycler,
) -> Result<Option<Vector>> {
    let width = match_native!(result_type.physical(), T => size_of::<T>(), else return Ok(None));
    if rows.count() * 2 < rows.len() {
        return Ok(None);
    }
    let mut nulls = None;
    let mut inputs = Vec::with_capacity(args.len());
    for arg in args {
        let Some(input) = BlockInput::of(arg) else { return Ok(None) };
        nulls = NullBuffer::union(nulls.as_ref(), arg.null_buffer());
        inputs.push(input);
    }
    let mut result = recycler.take(rows.len() * width);
    let mut parts = vec![BlockArg(&[]); inputs.len()];
    for start in (0..rows.len()).step_by(BLOCK_ROWS) {
        let count = BLOCK_ROWS.min(rows.len() - start);
        parts.iter_mut().zip(&inputs).for_each(|(part, it)| *part = it.part(start, count));
        let out = &mut result[start * width..(start + count) * width];
        if !function.run(&parts, out) {
            return Ok(None);
        }
    }
    let result = result.into();
    recycler.keep(&result);
    let values = Values::from_fixed_bytes(result_type.physical(), result);
    Ok(values.map(|it| Vector::flat(result_type.clone(), it, nulls)))
}

/// A column of fixed-width elements that blocks are cut from.
#[derive(Clone, Copy, Debug)]
pub enum BlockInput<'v> {
    /// The bytes of all rows, and those of one element.
    Rows(&'v [u8], usize),
    /// The bytes of one element, for all rows.
    Constant(&'v [u8]),
}

impl<'v> BlockInput<'v> {
    /// A flat or constant vector; `None` for others. A constant is not null.
    pub fn of(vector: &'v Vector) -> Option<BlockInput<'v>> {
        match vector.encoding() {
            Encoding::Flat(values) => {
                let width = match_native!(values.physical(), T => size_of::<T>(), else return None);
                Some(BlockInput::Rows(values.fixed_bytes()?, width))
            }
            Encoding::Constant(base) => BlockInput::of_constant(base),
            _ => None,
        }
    }

    /// The single row of `base`, for all rows; `None` when it is null.
    pub fn of_constant(base: &'v Vector) -> Option<BlockInput<'v>> {
        if base.null_buffer().is_some() {
            return None;
        }
        Some(BlockInput::Constant(base.flat_values()?.fixed_bytes()?))
    }

    /// The block of `count` rows from `start` on.
    pub fn part(self, start: usize, count: usize) -> BlockArg<'v> {
        BlockArg(match self {
            BlockInput::Rows(bytes, width) => &bytes[start * width..(start + count) * width],
            BlockInput::Constant(bytes) => bytes,
        })
    }
}

/// A block function of one argument; `f` gives a value and whether it is invalid.
pub fn block_unary<A: Native, R: Native>(
    f: impl Fn(A) -> (R, bool) + Send + Sync + 'static,
) -> impl BlockFunction {
    Unary { f, types: PhantomData::<fn(A) -> R> }
}

struct Unary<F, T> {
    f: F,
    types: PhantomData<T>,
}

impl<A: Native, R: Native, F> BlockFunction for Unary<F, fn(A) -> R>
where
    F: Fn(A) -> (R, bool) + Send + Sync + 'static,
{
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        let [a] = args else { return false };
        let (a, out) = (native_slice::<A>(a.0), native_slice_mut::<R>(out));
        match a {
            _ if a.len() == out.len() => cpu::dispatch(UnaryLoop { a, out, f: &self.f }),
            &[a] => {
                let (value, is_invalid) = (self.f)(a);
                out.fill(value);
                !is_invalid
            }
            _ => false,
        }
    }
}

/// The loop over a block.
struct UnaryLoop<'a, A, R, F> {
    a: &'a [A],
    out: &'a mut [R],
    f: &'a F,
}

impl<A: Native, R: Native, F: Fn(A) -> (R, bool)> Kernel for UnaryLoop<'_, A, R, F> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let mut any_invalid = false;
        for (out, a) in self.out.iter_mut().zip(self.a) {
            let (value, is_invalid) = (self.f)(*a);
            *out = value;
            any_invalid |= is_invalid;
        }
        !any_invalid
    }
}

/// A block function of two arguments; `f` gives a value and whether it is invalid.
pub fn block_binary<A: Native, B: Native, R: Native>(
    f: impl Fn(A, B) -> (R, bool) + Send + Sync + 'static,
) -> impl BlockFunction {
    Binary { f, types: PhantomData::<fn(A, B) -> R> }
}

struct Binary<F, T> {
    f: F,
    types: PhantomData<T>,
}

impl<A: Native, B: Native, R: Native, F> BlockFunction for Binary<F, fn(A, B) -> R>
where
    F: Fn(A, B) -> (R, bool) + Send + Sync + 'static,
{
    fn run(&self, args: &[BlockArg<'_>], out: &mut [u8]) -> bool {
        let [a, b] = args else { return false };
        let (a, b) = (native_slice::<A>(a.0), native_slice::<B>(b.0));
        cpu::dispatch(BinaryLoop { a, b, out: native_slice_mut::<R>(out), f: &self.f })
    }
}

/// The loop over a block.
struct BinaryLoop<'a, A, B, R, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [R],
    f: &'a F,
}

impl<A: Native, B: Native, R: Native, F: Fn(A, B) -> (R, bool)> Kernel
    for BinaryLoop<'_, A, B, R, F>
{
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let BinaryLoop { a, b, out, f } = self;
        let len = out.len();
        let mut any_invalid = false;
        let mut set = |out: &mut R, (value, is_invalid): (R, bool)| {
            *out = value;
            any_invalid |= is_invalid;
        };
        if a.len() == len && b.len() == len {
            out.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| set(out, f(*a, *b)));
        } else if let (&[a], true) = (a, b.len() == len) {
            out.iter_mut().zip(b).for_each(|(out, b)| set(out, f(a, *b)));
        } else if let (true, &[b]) = (a.len() == len, b) {
            out.iter_mut().zip(a).for_each(|(out, a)| set(out, f(*a, b)));
        } else if let (&[a], &[b]) = (a, b) {
            out.iter_mut().for_each(|out| set(out, f(a, b)));
        } else {
            return false;
        }
        !any_invalid
    }
}
