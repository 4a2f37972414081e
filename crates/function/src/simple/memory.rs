//! Memory that a call reserves while its rows are computed.
//!
//! Closures of one row, and the writers that they append to, have no context. A call therefore
//! stores its reservation in the thread while its loop runs. Code that needs much memory reserves
//! it here before it allocates:
//!
//! ```text
//! writers, builders   in steps of 1 MiB     kept until the call ends
//! closures            Scratch, Seen, Sorted released with the row
//!                     take_memory           kept until the call ends
//! ```
//!
//! A refusal is an error of the query and not of the row, so that `TRY` does not hide it. The call
//! keeps it, refuses all later requests, and ends with it. A closure that is refused may return any
//! result, soon. Cancellation ends a call in the same way.

use crate::EvalContext;
use std::cell::RefCell;
use volley_error::{Error, Result};
use volley_memory::{Reservation, check_cancelled};
use volley_vector::INLINE_BYTES;

/// Memory is reserved in steps of this many bytes; a batch of short results needs no reservation.
pub(super) const STEP_BYTES: usize = 1 << 20;

/// The granularity of reservations if there is no memory for a step.
const LEAST_BYTES: usize = 64 << 10;

/// What a closure may have for a row without asking.
const SCRATCH_FREE_BYTES: usize = 64 << 10;

/// How many steps of a loop there are between two checks for cancellation.
pub(super) const CHECK_STEPS: usize = 1 << 16;

/// The maximum number of bytes of one text.
pub const TEXT_BYTES_MAX: usize = i32::MAX as usize;

thread_local! {
    /// The innermost call whose loop this thread runs.
    static CURRENT: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// A call whose loop runs.
struct Call {
    memory: Option<Reservation>,
    /// Why the call will fail.
    refusal: Option<Error>,
}

impl Call {
    fn take(&mut self, bytes: usize) -> bool {
        if self.refusal.is_none() {
            self.refusal = check_cancelled().and_then(|()| self.grow(bytes)).err();
        }
        self.refusal.is_none()
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.memory.as_mut().map_or(Ok(()), |it| it.grow(bytes))
    }
}

/// Reserves `bytes` for the call whose loop this thread runs; must be called before they are
/// allocated. If it returns `false`, the call fails whatever the closure returns. Outside of such a
/// loop nothing is counted.
pub fn take_memory(bytes: usize) -> bool {
    CURRENT.with_borrow_mut(|it| it.as_mut().is_none_or(|it| it.take(bytes)))
}

/// Like [`take_memory`], for memory that is needed once per call: small amounts are not reserved.
pub(super) fn take_if_much(bytes: usize) -> bool {
    bytes <= STEP_BYTES || take_memory(bytes)
}

/// Like [`take_memory`], for optional memory: the call does not fail.
fn try_reserve(bytes: usize) -> bool {
    CURRENT.with_borrow_mut(|it| {
        it.as_mut().is_none_or(|it| {
            it.refusal.is_none() && check_cancelled().is_ok() && it.grow(bytes).is_ok()
        })
    })
}

/// Whether the query is neither cancelled nor refused memory. For loops that may take longer than
/// some milliseconds; if it returns `false`, the call fails whatever the closure returns.
pub fn may_continue() -> bool {
    take_memory(0)
}

/// Whether a loop over rows may continue after `row`. Checks for cancellation from time to time:
/// the elements of arrays are rows, too.
#[inline(always)]
pub(super) fn keeps_going_after(row: usize) -> bool {
    row % CHECK_STEPS != CHECK_STEPS - 1 || may_continue()
}

/// Ends the call with `error`.
pub(super) fn refuse(error: Error) {
    CURRENT.with_borrow_mut(|it| {
        if let Some(call) = it {
            call.refusal.get_or_insert(error);
        }
    });
}

/// Whether `result` is not an error. An error fails the call whatever the closure returns. For
/// errors of the query, not of a row.
pub(super) fn fail_call(result: Result<()>) -> bool {
    result.map_err(refuse).is_ok()
}

pub(super) fn text_too_long() -> Error {
    Error::invalid_value(format!("a text of more than {TEXT_BYTES_MAX} bytes"))
}

/// Reserves results of `bytes` for each of `rows`, if that is much: elements of arrays are rows,
/// too.
pub(super) fn charge_rows(ctx: &mut EvalContext, rows: usize, bytes: usize) -> Result<()> {
    let all = rows.saturating_mul(bytes);
    if all <= STEP_BYTES { Ok(()) } else { ctx.charge(all) }
}

/// The reservation of a context, stored in the thread.
pub(super) struct BorrowedReservation {
    before: Option<Call>,
}

impl BorrowedReservation {
    /// Borrows it until [`BorrowedReservation::return_to`], or until this is dropped.
    pub(super) fn of(ctx: &mut EvalContext) -> BorrowedReservation {
        let call = Call { memory: ctx.memory.take(), refusal: None };
        BorrowedReservation { before: CURRENT.replace(Some(call)) }
    }

    /// Gives it back.
    ///
    /// # Errors
    ///
    /// What the call was refused.
    pub(super) fn return_to(self, ctx: &mut EvalContext) -> Result<()> {
        let call = CURRENT.take();
        let Some(Call { memory, refusal }) = call else { return Ok(()) };
        ctx.memory = memory;
        refusal.map_or(Ok(()), Err)
    }
}

impl Drop for BorrowedReservation {
    fn drop(&mut self) {
        CURRENT.set(self.before.take());
    }
}

/// Runs `f`, which reserves memory by [`take_memory`] and the types above it instead of from the
/// context: for loops over rows in vectorized functions.
///
/// # Errors
///
/// What was refused; the errors of `f`.
pub fn with_memory<T>(
    ctx: &mut EvalContext,
    f: impl FnOnce(&mut EvalContext) -> Result<T>,
) -> Result<T> {
    let borrowed = BorrowedReservation::of(ctx);
    let answer = f(ctx);
    borrowed.return_to(ctx)?;
    answer
}

/// What the vectors of a writer hold, taken before they grow.
#[derive(Debug)]
pub(super) struct Growth {
    /// Bytes that may be used without asking.
    left: usize,
    /// Whether it ever asked; the first step is not taken before.
    has_asked: bool,
    is_refused: bool,
}

impl Growth {
    pub(super) fn new() -> Growth {
        Growth { left: STEP_BYTES, has_asked: false, is_refused: false }
    }

    /// Whether something that was to be written is missing.
    #[inline(always)]
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Whether `bytes` more may be held.
    #[inline(always)]
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        if bytes <= self.left {
            self.left -= bytes;
            return true;
        }
        self.is_refused = self.is_refused
            || !self.take_by(bytes, STEP_BYTES, try_reserve)
                && !self.take_by(bytes, LEAST_BYTES, take_memory);
        !self.is_refused
    }

    /// Whether `bytes` more may be held, for which `take` takes memory, at least `least` bytes.
    #[inline(never)]
    fn take_by(&mut self, bytes: usize, least: usize, take: fn(usize) -> bool) -> bool {
        let Some(missing) = bytes.checked_sub(self.left).filter(|it| *it > 0) else {
            self.left -= bytes;
            return true;
        };
        let first = if self.has_asked { 0 } else { STEP_BYTES };
        let more = missing.max(least);
        let is_taken = take(more.saturating_add(first));
        if is_taken {
            self.has_asked = true;
            self.left = self.left.saturating_add(more) - bytes;
        }
        is_taken
    }

    /// Grows `values` for one more; `false` if that is refused. Checks for cancellation from time
    /// to time.
    #[inline(always)]
    pub(super) fn has_room<T>(&mut self, values: &mut Vec<T>) -> bool {
        let is_due = values.len() % CHECK_STEPS == CHECK_STEPS - 1;
        values.len() < values.capacity() && !is_due || self.make_room(values, 1)
    }

    /// Grows for `more` values, and further if there is memory; `false` if it is refused, or the
    /// query is cancelled.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room<T>(&mut self, values: &mut Vec<T>, more: usize) -> bool {
        // As many as a vector begins with.
        const LEAST: usize = 8;
        let (len, capacity) = (values.len(), values.capacity());
        let needed = len.saturating_add(more);
        if needed <= capacity || self.is_refused {
            self.is_refused = self.is_refused || !may_continue();
            return !self.is_refused;
        }
        let bytes = |capacity_new: usize| (capacity_new - capacity).saturating_mul(size_of::<T>());
        let doubled = needed.max(capacity.saturating_mul(2)).max(LEAST);
        let mut capacity_new = doubled;
        if !self.take_by(bytes(doubled), STEP_BYTES, try_reserve) {
            // Less; then the next time comes sooner.
            capacity_new = doubled.min(needed.saturating_add(needed / 16));
            if !self.take(bytes(capacity_new)) {
                return false;
            }
        }
        values.reserve_exact(capacity_new - len);
        true
    }

    /// Whether a copy of `text` may be kept.
    #[inline(always)]
    pub(super) fn takes_text(&mut self, text: &[u8]) -> bool {
        if text.len() > TEXT_BYTES_MAX {
            self.refuse(text_too_long());
            return false;
        }
        // Short ones are stored in their views.
        text.len() <= INLINE_BYTES || self.take(text.len())
    }

    /// Notes that something is missing, because of `error`.
    #[cold]
    pub(super) fn refuse(&mut self, error: Error) {
        self.is_refused = true;
        refuse(error);
    }
}

/// Memory that a closure needs for one row; released when this is dropped.
#[derive(Debug, Default)]
pub struct Scratch {
    /// What was taken of the call's memory.
    taken: usize,
}

impl Scratch {
    /// `bytes`; `None` when they are refused.
    pub fn of(bytes: usize) -> Option<Scratch> {
        let mut scratch = Scratch::default();
        scratch.raise(bytes).then_some(scratch)
    }

    /// Whether all may be `bytes` in place of what it was, if that is less. What is little is not
    /// asked for.
    pub fn raise(&mut self, bytes: usize) -> bool {
        if bytes <= SCRATCH_FREE_BYTES.max(self.taken) {
            return true;
        }
        let is_taken = take_memory(bytes - self.taken);
        if is_taken {
            self.taken = bytes;
        }
        is_taken
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.taken > 0 {
            CURRENT.with_borrow_mut(|it| {
                if let Some(memory) = it.as_mut().and_then(|it| it.memory.as_mut()) {
                    memory.shrink(self.taken);
                }
            });
        }
    }
}

/// Counts the steps of a loop that may take long, and checks for cancellation from time to time.
#[derive(Debug, Default)]
pub struct CancelCheck {
    /// Since the last check.
    steps: usize,
}

impl CancelCheck {
    /// Counts `steps` more; `false` if the loop may end, because the call fails whatever it
    /// returns.
    #[inline]
    pub fn go_on(&mut self, steps: usize) -> bool {
        !self.is_due(steps) || may_continue()
    }

    /// Counts `steps` more, in a loop over rows of a vectorized function.
    ///
    /// # Errors
    ///
    /// The query was cancelled.
    #[inline]
    pub fn check(&mut self, steps: usize) -> Result<()> {
        if self.is_due(steps) { check_cancelled() } else { Ok(()) }
    }

    #[inline(always)]
    fn is_due(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps).saturating_add(1);
        let is_due = self.steps >= CHECK_STEPS;
        if is_due {
            self.steps = 0;
        }
        is_due
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use volley_error::ErrorKind;
    use volley_memory::{CancellationToken, Pool, with_cancellation};

    #[test]
    fn loops_look_now_and_then() {
        let (mut of_closure, mut of_rows) = (CancelCheck::default(), CancelCheck::default());
        with_cancellation(&CancellationToken::after_checks(0), || {
            let mut ctx = EvalContext::default();
            let ended = with_memory(&mut ctx, |_| {
                assert!(of_closure.go_on(1) && !of_closure.go_on(CHECK_STEPS));
                Ok(())
            });
            assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
            assert!(of_rows.check(1).is_ok() && of_rows.check(CHECK_STEPS).is_err());
        });
    }

    pub(in crate::simple) fn limited(bytes: usize) -> (Pool, EvalContext) {
        let pool = Pool::root("test", Some(bytes));
        let memory = Some(pool.reservation());
        (pool, EvalContext { memory, ..EvalContext::default() })
    }

    #[test]
    fn a_refusal_ends_the_call_and_nothing_is_kept() {
        let (pool, mut ctx) = limited(8 << 20);
        let borrowed = BorrowedReservation::of(&mut ctx);
        assert!(take_memory(4 << 20) && may_continue());
        assert!(!take_memory(8 << 20) && !may_continue());
        assert!(!take_memory(1));
        let error = borrowed.return_to(&mut ctx).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert_eq!(ctx.charged(), 4 << 20);
        // Outside of a call nothing is counted.
        assert!(take_memory(1 << 30));
        drop(ctx);
        assert_eq!(pool.stats().bytes, 0);
    }

    #[test]
    fn what_a_row_needs_is_given_back_with_it() {
        let (pool, mut ctx) = limited(8 << 20);
        let borrowed = BorrowedReservation::of(&mut ctx);
        for _ in 0..10 {
            let scratch = Scratch::of(5 << 20);
            assert!(scratch.is_some() && pool.stats().bytes >= 5 << 20);
        }
        assert!(Scratch::of(SCRATCH_FREE_BYTES).is_some_and(|it| it.taken == 0));
        assert!(borrowed.return_to(&mut ctx).is_ok());
        assert_eq!(ctx.charged(), 0);
    }

    #[test]
    fn calls_within_calls_have_their_own_memory() {
        let ((outer, mut outer_ctx), (inner, mut inner_ctx)) = (limited(8 << 20), limited(1 << 20));
        let borrowed = BorrowedReservation::of(&mut outer_ctx);
        let within = BorrowedReservation::of(&mut inner_ctx);
        assert!(!take_memory(2 << 20));
        assert!(within.return_to(&mut inner_ctx).is_err());
        assert!(take_memory(2 << 20));
        assert_eq!((outer.stats().bytes, inner.stats().bytes), (2 << 20, 0));
        drop(borrowed);
        assert_eq!(outer.stats().bytes, 0);
    }

    #[test]
    fn vectors_grow_only_by_what_is_taken() {
        let (pool, mut ctx) = limited(64 << 20);
        let borrowed = BorrowedReservation::of(&mut ctx);
        let (mut growth, mut values) = (Growth::new(), Vec::<u64>::new());
        while growth.has_room(&mut values) {
            values.push(0);
            let held = values.capacity() * size_of::<u64>();
            assert!(held <= pool.stats().bytes.max(STEP_BYTES), "{held}");
        }
        assert!(growth.is_refused() && values.len() > 1 << 20);
        assert!(borrowed.return_to(&mut ctx).is_err());
    }
}
